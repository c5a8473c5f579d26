//! Folders that cannot be written, disks that are full, readers that have gone, and two trainings that
//! want one folder.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use crate::common::{Done, Lab, Running, SMALL, wait_for};

#[test]
fn folders_that_cannot_be_made() {
    let lab = Lab::new();
    lab.write("file", "mine");
    let train = format!("train {SMALL} --episodes 10");
    lab.refuses(
        &format!("{train} --out file/run"),
        &["file/run", "irectory"],
    );
    lab.refuses(&format!("{train} --out file"), &["file"]);
    lab.refuses(&format!("{train} --out /proc/run"), &["/proc/run"]);
    // Where no --out is given, the folder for runs may be no folder.
    lab.write("runs", "mine");
    lab.refuses(&train, &["runs/quick"]);
    fs::remove_file(lab.path("runs")).expect("a file of ours");
    lab.train("run", 100, "");
    lab.refuses("plot run --out file/pictures", &["file/pictures"]);
}

#[test]
fn a_folder_without_write_permission() {
    let lab = Lab::new();
    fs::set_permissions(lab.path("."), fs::Permissions::from_mode(0o755)).expect("ours");
    fs::create_dir(lab.path("locked")).expect("a folder");
    fs::set_permissions(lab.path("locked"), fs::Permissions::from_mode(0o555)).expect("ours");
    let train = format!("train {SMALL} --episodes 10 --out locked/run");
    let mut command = lab.command(&train);
    if fs::create_dir(lab.path("locked/probe")).is_ok() {
        // Only root may: become nobody, to whom permissions apply.
        fs::remove_dir(lab.path("locked/probe")).expect("a folder of ours");
        command.uid(65534).gid(65534);
    }
    match command.output() {
        Ok(output) => {
            let words = [
                "locked/run",
                "ermission denied",
                "choose a writable place with `--out`",
            ];
            Done::of(&train, output).fails(3, &words);
            assert!(lab.names("locked").is_empty());
        }
        // The folder of the build may be closed to nobody.
        Err(error) => eprintln!("SKIPPED: cannot run the program as another user: {error}"),
    }
}

#[test]
fn a_run_is_not_overwritten() {
    let lab = Lab::new();
    lab.train("run", 100, "");
    let model = lab.bytes("run/model.safetensors");
    let train = format!("train {SMALL} --episodes 10 --out run");
    lab.refuses(&train, &["already contains a run", "--resume run", "--out"]);
    assert_eq!(model, lab.bytes("run/model.safetensors"));
    // Nor is half of one.
    for name in ["model.safetensors", "checkpoint.safetensors", "blocks.csv"] {
        fs::remove_file(lab.path(&format!("run/{name}"))).expect("a file of the run");
        lab.refuses(&train, &["already contains a run"]);
    }
}

#[test]
fn nothing_to_resume() {
    let lab = Lab::new();
    lab.train("run", 100, "");
    lab.refuses("train --resume missing", &["missing"]);
    fs::create_dir(lab.path("empty")).expect("a folder");
    lab.refuses("train --resume empty", &["empty", "not a run folder"]);
    lab.refuses("train --resume run/recipe.toml", &["recipe.toml"]);
}

#[test]
fn one_training_a_folder() {
    let lab = Lab::new();
    let train = format!("train {SMALL} --set checkpoint_seconds=0.05 --out run");
    let first = lab.spawn(&train);
    wait_for("a checkpoint", || lab.exists("run/checkpoint.safetensors"));
    lab.run("train --resume run")
        .refused(&["run", "in use by another process"]);
    lab.run(&train).refused(&["run"]);
    // Playing with it is allowed meanwhile.
    lab.run("eval run --games 5 --json").json();
    assert!(first.kill(), "the first went on undisturbed");

    // The lock died with its holder.
    let saved = || {
        let about = fs::metadata(lab.path("run/checkpoint.safetensors"));
        about.and_then(|about| about.modified()).ok()
    };
    let before = saved();
    let mut second = lab.spawn("train --resume run");
    wait_for("another checkpoint", || {
        saved() != before || second.has_ended()
    });
    assert!(second.kill(), "the second is at work");
}

/// Replaces a file by a link to a device on which nothing can be written.
fn redirect_to_full(lab: &Lab, name: &str) {
    let path = lab.path(name);
    if path.exists() {
        fs::remove_file(&path).expect("a file of the run");
    }
    symlink("/dev/full", &path).expect("a link");
}

const FULL: &str = "No space left on device";

/// Runs the program where no file may be longer than so many blocks of 512 bytes, so that the system
/// refuses to write more.
fn with_short_files(lab: &Lab, blocks: u64, args: &str) -> Done {
    // Without the trap, the system would end the program by a signal.
    let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" {args}");
    let mut command = Command::new("sh");
    command.args(["-c", &script, env!("CARGO_BIN_EXE_afterstate")]);
    let output = command.current_dir(lab.path(".")).output();
    Done::of(args, output.expect("a shell"))
}

const TOO_LARGE: &str = "File too large";

#[test]
fn a_disk_that_is_full_from_the_start() {
    for (blocks, file) in [(0, "recipe.toml"), (100, "checkpoint.safetensors")] {
        let lab = Lab::new();
        let train = format!("train {SMALL} --episodes 150 --set scores=true --out run");
        let done = with_short_files(&lab, blocks, &train).ends_with(3);
        for words in [TOO_LARGE, file] {
            assert!(done.stderr.contains(words), "{words}: {}", done.stderr);
        }
        let names = lab.names("run");
        assert!(
            !names.iter().any(|name| name.ends_with(".part")),
            "{names:?}"
        );
        assert!(!lab.exists("run/checkpoint.safetensors"), "{names:?}");
        assert!(!lab.exists("run/model.safetensors"), "{names:?}");
    }
}

#[test]
fn a_disk_that_fills_later() {
    let lab = Lab::new();
    lab.train("run", 100, "");
    lab.train("whole", 200, "");
    let checkpoint = lab.bytes("run/checkpoint.safetensors");
    let resume = "train --resume run --episodes 200";
    let done = with_short_files(&lab, 100, resume).ends_with(3);
    assert!(done.stderr.contains(TOO_LARGE), "{}", done.stderr);
    let kept = lab.bytes("run/checkpoint.safetensors");
    assert!(kept == checkpoint, "the last good one stays");
    assert!(lab.run("eval run --games 5 --json").json()["mean"].is_number());
    // When there is room again it goes on as if nothing had been.
    lab.run(resume).succeeds();
    assert_eq!(
        lab.bytes("run/model.safetensors"),
        lab.bytes("whole/model.safetensors")
    );
}

#[test]
fn logs_that_are_links_are_refused() {
    let lab = Lab::new();
    lab.train("run", 100, "--set scores=true");
    for log in ["blocks.csv", "scores.txt"] {
        let text = lab.text(&format!("run/{log}"));
        redirect_to_full(&lab, &format!("run/{log}"));
        lab.run("train --resume run --episodes 200")
            .refused(&[log, "it is a symbolic link"]);
        fs::remove_file(lab.path(&format!("run/{log}"))).expect("the link");
        lab.write(&format!("run/{log}"), text);
    }
    lab.run("train --resume run --episodes 200").succeeds();
}

/// A real file system of 1 MiB, in a mount namespace that ends with its shell. As root or, where that
/// is allowed, as anybody.
#[test]
fn a_small_disk_that_is_really_full() {
    let lab = Lab::new();
    fs::create_dir(lab.path("disk")).expect("a folder");
    let mount = "mount -t tmpfs -o size=1m none disk";
    let inside = |script: &str| {
        let mut command = Command::new("unshare");
        command.args(["-rm", "sh", "-c", &format!("{mount} && {script}")]);
        command.env("AFTERSTATE", env!("CARGO_BIN_EXE_afterstate"));
        command.current_dir(lab.path(".")).output()
    };
    match inside("true") {
        Ok(output) if output.status.success() => {}
        _ => {
            eprintln!("SKIPPED: mounting a small file system is not allowed here");
            return;
        }
    }
    // Nearly 4 MiB of weights for a disk with 100 KiB left.
    let train = "\"$AFTERSTATE\" train --threads 1 --set tuples=8x4 --episodes 400 --out disk/run";
    let script = format!(
        "head -c 924000 /dev/urandom >disk/other; {train}; echo status $?; ls -A disk/run; \
         rm disk/other; ls disk"
    );
    let output = inside(&script).expect("a shell");
    let done = Done::of("train on a full disk", output).succeeds();
    assert!(
        done.stdout.contains("status 3\n"),
        "{} {}",
        done.stdout,
        done.stderr
    );
    assert!(done.stderr.contains(FULL), "{}", done.stderr);
    assert!(
        !done.stdout.contains("safetensors"),
        "half a file: {}",
        done.stdout
    );

    // A good checkpoint, then a full disk, then space again.
    let train = "\"$AFTERSTATE\" train --threads 1 --board 3x3 --set tuples=0123";
    let script = format!(
        "{train} --episodes 300 --out disk/run >disk/log; echo first $?; cp disk/run/* . 2>/dev/null; \
         cat /dev/zero >disk/other 2>/dev/null; \
         \"$AFTERSTATE\" train --resume disk/run --episodes 3000; echo second $?; \
         cmp checkpoint.safetensors disk/run/checkpoint.safetensors; echo kept $?; \
         rm disk/other; \"$AFTERSTATE\" train --resume disk/run --episodes 3000 >disk/log; echo third $?"
    );
    let output = inside(&script).expect("a shell");
    let done = Done::of("train until the disk is full", output);
    for line in ["first 0\n", "second 3\n", "kept 0\n", "third 0\n"] {
        assert!(
            done.stdout.contains(line),
            "no {line} in {} {}",
            done.stdout,
            done.stderr
        );
    }
    assert!(done.stderr.contains(FULL), "{}", done.stderr);
}

#[test]
fn standard_output_on_a_full_disk() {
    let lab = Lab::new();
    lab.train("run", 100, "");
    for args in [
        "eval run --games 5 --json",
        "eval run --games 5",
        "compare run run --games 5 --json",
        "analyze 2,0,0,4/0,0,8,0/0,0,0,0/0,0,0,2 --model run --json",
        "plot run",
        "recipes",
        "recipes quick",
    ] {
        let full = fs::File::options()
            .write(true)
            .open("/dev/full")
            .expect("/dev/full");
        let output = lab
            .command(args)
            .stdout(full)
            .output()
            .expect("the program");
        Done::of(args, output).fails(3, &["standard output", FULL]);
    }
}

#[test]
fn standard_error_on_a_full_disk() {
    let lab = Lab::new();
    let full = fs::File::options()
        .write(true)
        .open("/dev/full")
        .expect("/dev/full");
    let done = lab.command("eval missing").stderr(full).status();
    assert_eq!(done.expect("the program").code(), Some(2));
}

#[test]
fn a_reader_that_has_seen_enough() {
    let lab = Lab::new();
    lab.train("run", 100, "");
    for args in [
        "recipes".to_owned(),
        "eval run --games 5".to_owned(),
        "--help".to_owned(),
        format!("train {SMALL} --episodes 300 --out other"),
    ] {
        // head -1: reads a line and goes.
        let mut command = lab.command(&args);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the program");
        let mut line = String::new();
        let mut reader = BufReader::with_capacity(16, child.stdout.take().expect("a pipe"));
        reader.read_line(&mut line).expect("a line");
        drop(reader);
        assert!(!line.is_empty());
        let output = Running::of(child).output();
        Done::of(&args, output).succeeds();
    }
    assert!(lab.exists("other/model.safetensors"), "no reader, no harm");
}

#[test]
fn a_reader_that_was_never_there() {
    let lab = Lab::new();
    lab.train("run", 100, "");
    for args in ["recipes", "eval run --games 5 --json"] {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let output = lab
            .command(args)
            .stdout(writer)
            .output()
            .expect("the program");
        let done = Done::of(args, output).succeeds();
        assert!(!done.stderr.contains("error"), "{}", done.stderr);
    }
}

/// The model of a finished run is not trained over when its checkpoint is gone.
#[test]
fn a_finished_run_without_its_checkpoint_is_left_alone() {
    let lab = Lab::new();
    lab.train("run", 50, "");
    fs::remove_file(lab.path("run/checkpoint.safetensors")).expect("a checkpoint");
    let model = fs::read(lab.path("run/model.safetensors")).expect("a model");
    lab.refuses("train --resume run", &["no checkpoint to resume from"]);
    assert_eq!(
        fs::read(lab.path("run/model.safetensors")).expect("a model"),
        model
    );
}

/// The advice names the flag that says where to write.
#[test]
fn records_that_cannot_be_written() {
    let lab = Lab::new();
    fs::set_permissions(lab.path("."), fs::Permissions::from_mode(0o755)).expect("ours");
    fs::create_dir(lab.path("locked")).expect("a folder");
    fs::set_permissions(lab.path("locked"), fs::Permissions::from_mode(0o555)).expect("ours");
    let eval = "eval random --games 2 --records locked/games.txt";
    let mut command = lab.command(eval);
    if fs::create_dir(lab.path("locked/probe")).is_ok() {
        fs::remove_dir(lab.path("locked/probe")).expect("a folder of ours");
        command.uid(65534).gid(65534);
    }
    match command.output() {
        Ok(output) => {
            let done = Done::of(eval, output).fails(3, &["locked/games.txt", "`--records`"]);
            assert!(!done.stderr.contains("--out"), "{}", done.stderr);
        }
        Err(error) => eprintln!("SKIPPED: cannot run the program as another user: {error}"),
    }
    lab.write("letter.txt", "dear\n");
    let done = lab
        .run("eval random --games 2 --records letter.txt")
        .refused(&["letter.txt already exists", "with `--records`"]);
    assert!(!done.stderr.contains("--out"), "{}", done.stderr);
}

/// A run has a folder of its own: nothing is mixed with other people's files.
#[test]
fn a_run_does_not_begin_in_a_folder_with_other_files() {
    let lab = Lab::new();
    fs::create_dir(lab.path("thesis")).expect("a folder");
    lab.write("thesis/chapter.tex", "words");
    lab.refuses(
        "train --set tuples=8x4 --episodes 10 --out thesis",
        &["thesis has other files, such as chapter.tex", "--out"],
    );
}

/// The row that is too short is named, whatever the tiles are and whether there is a model or not.
#[test]
fn a_row_that_is_too_short_is_named() {
    let lab = Lab::new();
    lab.refuses(
        "analyze 2,0,0,4/0,0,8/0,0,0,0/0,0,0,2",
        &["row 2", "has 3 cells", "4 rows of 4"],
    );
}
