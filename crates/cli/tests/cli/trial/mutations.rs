//! Damaged files of every format: each is accepted or refused with a sentence, in bounded time and
//! memory, and a binary file of ours that differs in a single bit is refused.

use std::fs;
use std::process::Stdio;

use crate::common::{Dice, Done, Lab};
use crate::referee::student;
use crate::trial::{dice, rounds};

/// A format: the file that is damaged, the command that reads it, and whether the file has
/// checksums, so that every change must be found.
struct Format {
    file: &'static str,
    command: &'static str,
    checksums: bool,
}

const FORMATS: [Format; 15] = [
    Format {
        file: "run/model.safetensors",
        command: "eval damaged --games 2",
        checksums: true,
    },
    Format {
        file: "run/checkpoint.safetensors",
        command: "check damaged",
        checksums: true,
    },
    Format {
        file: "exact.solution",
        command: "eval run --against damaged",
        checksums: true,
    },
    Format {
        file: "small.packed",
        command: "eval damaged --games 2",
        checksums: true,
    },
    Format {
        file: "part-1.json",
        command: "merge damaged part-2.json",
        checksums: false,
    },
    Format {
        file: "own.txt.seal.json",
        command: "judge own.txt",
        checksums: false,
    },
    Format {
        file: "a.w",
        command: "eval damaged --games 2",
        checksums: false,
    },
    Format {
        file: "2048.bin",
        command: "convert damaged out.safetensors",
        checksums: false,
    },
    Format {
        file: "weights.bin",
        command: "convert damaged out.safetensors --patterns 0123",
        checksums: false,
    },
    Format {
        file: "games.txt",
        command: "judge damaged --game 2048",
        checksums: false,
    },
    Format {
        file: "run/recipe.toml",
        command: "train damaged --episodes 2 --threads 1 --out trained",
        checksums: false,
    },
    Format {
        file: "run/blocks.csv",
        command: "plot plotted",
        checksums: false,
    },
    Format {
        file: "run/scores.txt",
        command: "plot damaged --out plot.svg",
        checksums: false,
    },
    Format {
        file: "sweep.toml",
        command: "sweep damaged --out swept",
        checksums: false,
    },
    Format {
        file: "sealed.txt.seal.json",
        command: "judge sealed.txt",
        checksums: false,
    },
];

#[test]
fn damaged_files_of_every_format() {
    let lab = prepare();
    let mut dice = dice("damaged files");
    let (mut accepted, mut mutations) = (0, 0);
    for n in rounds(8 * FORMATS.len()) {
        mutations += 1;
        let format = &FORMATS[n % FORMATS.len()];
        let original = lab.bytes(format.file);
        let (damaged, what) = damage(&original, &mut dice);
        let done = read(&lab, format, &original, &damaged);
        let told = format!("{}: {what}: {}\n{}", format.file, done.what, done.stderr);
        assert!(matches!(done.status, Some(0..=3)), "{told}");
        if format.checksums && damaged != original {
            assert_ne!(done.status, Some(0), "accepted: {told}");
        }
        accepted += usize::from(done.status == Some(0));
        for folder in ["trained", "swept"] {
            let _ = fs::remove_dir_all(lab.path(folder));
        }
    }
    println!("{mutations} damaged files, {accepted} of them still usable");
}

/// A file of each format, all of a small board.
fn prepare() -> Lab {
    let lab = Lab::new();
    let small = "--board 2x2 --set tuples=0123 --set scores=true --set block_games=10";
    lab.run(&format!(
        "train --threads 1 --episodes 40 {small} --out run"
    ))
    .succeeds();
    lab.run("solve --game 2048 --board 2x2 --out exact.solution")
        .succeeds();
    lab.run("train --threads 1 --episodes 5 --set tuples=0123 --out wide")
        .succeeds();
    for file in ["a.w", "2048.bin", "weights.bin"] {
        lab.run(&format!("convert wide {file}")).succeeds();
    }
    lab.run("eval random --games 3 --records games.txt")
        .succeeds();
    lab.run("pack wide small.packed").succeeds();
    for part in 1..=2 {
        let part_of = format!("eval wide --games 4 --part {part}/2 --json");
        let result = lab.run(&part_of).succeeds().stdout;
        lab.write(&format!("part-{part}.json"), result);
    }
    lab.run("eval random --games 2 --board 2x3 --records own.txt")
        .succeeds();
    student(&lab);
    lab.run("referee --games 2 --board 2x3 --records sealed.txt -- ./student")
        .succeeds();
    let sweep = "name = \"small\"\nrecipe = \"quick\"\nseeds = [1, 2]\ngames = 2\n\
         set = [\"board=2x2\", \"tuples=0123\", \"episodes=4\"]\n\
         [[variant]]\nname = \"a\"\n[[variant]]\nname = \"b\"\nset = [\"lambda=0\"]\n";
    lab.write("sweep.toml", sweep);
    lab
}

/// Runs the command of a format on damaged bytes, with bounds of memory and time.
fn read(lab: &Lab, format: &Format, original: &[u8], damaged: &[u8]) -> Done {
    match format.file {
        "run/blocks.csv" => {
            let _ = fs::remove_dir_all(lab.path("plotted"));
            fs::create_dir(lab.path("plotted")).expect("a folder");
            let recipe = lab.bytes("run/recipe.toml");
            lab.write("plotted/recipe.toml", recipe);
            lab.write("plotted/blocks.csv", damaged);
        }
        seal if seal.ends_with(".seal.json") => lab.write(format.file, damaged),
        _ => lab.write("damaged", damaged),
    }
    let program = lab.command(format.command);
    let mut bounded = std::process::Command::new("sh");
    bounded.args([
        "-c",
        "ulimit -v 4000000; exec timeout -s KILL 30 \"$@\"",
        "sh",
    ]);
    bounded.arg(program.get_program()).args(program.get_args());
    bounded.current_dir(lab.path("")).stdin(Stdio::null());
    let done = Done::of(format.command, bounded.output().expect("a shell"));
    if format.file.ends_with(".seal.json") {
        lab.write(format.file, original);
    }
    done
}

/// Changes some bytes; also says how.
fn damage(original: &[u8], dice: &mut Dice) -> (Vec<u8>, String) {
    let mut bytes = original.to_vec();
    let place = dice.below(bytes.len().max(1) as u64) as usize;
    let what = match dice.below(6) {
        0 | 1 => {
            bytes[place] ^= 1 << dice.below(8);
            format!("a bit of byte {place}")
        }
        2 => {
            bytes.truncate(place);
            format!("cut at byte {place}")
        }
        3 => {
            let value = [0, 0xff, b'9', b'-', b'\n'][dice.below(5) as usize];
            let end = bytes.len().min(place + 1 + dice.below(8) as usize);
            bytes[place..end].fill(value);
            format!("bytes {place} to {end} are {value}")
        }
        4 => {
            let end = bytes.len().min(place + 1 + dice.below(200) as usize);
            let copied = bytes[place..end].to_vec();
            bytes.splice(place..place, copied);
            format!("bytes {place} to {end} twice")
        }
        _ => {
            let end = bytes.len().min(place + 1 + dice.below(200) as usize);
            bytes.drain(place..end);
            format!("bytes {place} to {end} removed")
        }
    };
    (bytes, what)
}
