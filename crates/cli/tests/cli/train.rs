//! `train`: what it prints, what it leaves behind, and that this can be done again.

use crate::common::{Blocks, Lab, SMALL, Tensors, scores};

const PICTURES: [&str; 3] = ["score", "win-rate", "termination-rate"];

/// A block as it was printed: its head's numbers, and the rows of tiles.
struct Printed {
    games: u64,
    mean: f64,
    max: f64,
    ops: f64,
    /// Tile, reach rate and share of ends, in percent.
    tiles: Vec<(u64, f64, f64)>,
}

/// Reads the blocks out of standard output, as strictly as a script of the year 2012 would.
fn printed(stdout: &str) -> Vec<Printed> {
    let number = |text: &str| -> f64 { text.parse().unwrap_or_else(|_| panic!("`{text}`")) };
    let mut blocks: Vec<Printed> = Vec::new();
    for line in stdout.lines() {
        let fields: Vec<&str> = line.split('\t').collect();
        match fields[..] {
            ["", tile, reach, end] => {
                let reach = reach.strip_suffix('%').expect("a percentage");
                let end = end.strip_prefix('(').and_then(|end| end.strip_suffix("%)"));
                let row = (
                    number(tile) as u64,
                    number(reach),
                    number(end.expect("brackets")),
                );
                blocks
                    .last_mut()
                    .expect("a head before its rows")
                    .tiles
                    .push(row);
            }
            [games, mean, max, ops] => {
                let value = |field: &str, name| number(field.strip_prefix(name).expect(name));
                blocks.push(Printed {
                    games: number(games) as u64,
                    mean: value(mean, "mean = "),
                    max: value(max, "max = "),
                    ops: value(ops, "ops = "),
                    tiles: Vec::new(),
                });
            }
            _ => assert!(!line.contains('\t'), "neither a block nor prose: {line}"),
        }
    }
    blocks
}

/// Checks a block's printed rows of tiles against how many of its games ended at each tile.
fn tiles_agree(tiles: &[(u64, f64, f64)], ended: &[(u64, f64)], games: f64) {
    assert_eq!(ended.iter().map(|(_, count)| count).sum::<f64>(), games);
    let kept: Vec<_> = ended.iter().filter(|(_, count)| *count > 0.0).collect();
    assert_eq!(kept.len(), tiles.len(), "a row for each largest tile");
    let mut left = games;
    for (&&(face, count), &(tile, reach, end)) in kept.iter().zip(tiles) {
        assert_eq!(tile, face);
        assert!((reach - 100.0 * left / games).abs() < 0.01, "{reach}");
        assert!((end - 100.0 * count / games).abs() < 0.01, "{end}");
        left -= count;
    }
}

#[test]
fn a_run_leaves_a_complete_folder_whose_files_agree() {
    let lab = Lab::new();
    let train = format!("train {SMALL} --seed 5 --episodes 250 --set scores=true --out run");
    let done = lab.run(&train).succeeds();
    assert_eq!(
        lab.names("run"),
        [
            "blocks.csv",
            "checkpoint.safetensors",
            "model.safetensors",
            "plots",
            "recipe.toml",
            "scores.txt"
        ]
    );
    assert!(
        done.stdout.contains("run/model.safetensors") && done.stdout.contains("run/plots"),
        "it says where things are: {}",
        done.stdout
    );

    let scores = scores(&lab, "run");
    assert_eq!(scores.len(), 250);
    let blocks = Blocks::of(&lab, "run");
    let fixed =
        "games,block_games,mean,max,moves,seconds,moves_per_second,learning_rate,ended_2,ended_4";
    assert!(
        blocks.header.join(",").starts_with(fixed),
        "{:?}",
        blocks.header
    );
    assert_eq!(
        blocks.header.last().map(String::as_str),
        Some("ended_131072")
    );
    assert_eq!(blocks.column("games"), [100.0, 200.0, 250.0]);
    assert_eq!(blocks.column("block_games"), [100.0, 100.0, 50.0]);

    let printed = printed(&done.stdout);
    assert_eq!(printed.len(), 3, "{}", done.stdout);
    for (n, (block, scores)) in printed.iter().zip(scores.chunks(100)).enumerate() {
        let mean = scores.iter().sum::<u64>() as f64 / scores.len() as f64;
        let max = *scores.iter().max().expect("scores") as f64;
        assert!((blocks.column("mean")[n] - mean).abs() < 1e-6);
        assert!((block.mean - mean).abs() <= 0.0501, "one decimal");
        assert_eq!((block.max, blocks.column("max")[n]), (max, max));
        assert_eq!(block.games as f64, blocks.column("games")[n]);
        assert_eq!(block.ops, blocks.column("moves_per_second")[n]);
        assert!(blocks.column("moves")[n] > 50.0 * scores.len() as f64);
        tiles_agree(&block.tiles, &blocks.ended()[n], scores.len() as f64);
    }
}

#[test]
fn the_pictures_are_pictures() {
    let lab = Lab::new();
    lab.train("run", 250, "");
    for name in PICTURES {
        let png = lab.bytes(&format!("run/plots/{name}.png"));
        assert!(png.starts_with(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"), "{name}");
        assert!(
            png.ends_with(b"\0\0\0\0IEND\xaeB`\x82"),
            "{name} is cut off"
        );
        let side = |at: usize| u32::from_be_bytes(png[at..at + 4].try_into().expect("4 bytes"));
        assert!(side(16) >= 600 && side(20) >= 400, "{name} can be read");
        let svg = lab.text(&format!("run/plots/{name}.svg"));
        assert!(svg.contains("<svg") && svg.trim_end().ends_with("</svg>"));
        assert!(
            svg.contains("quick (tuples=8x4, episodes=250): 2048 on 4x4"),
            "{name} has a title: {svg}"
        );
    }

    // Several runs in one picture, in a folder of the user's choice; and one run drawn again.
    lab.train("other", 100, "--seed 2");
    let done = lab.run("plot run other --out both/here").succeeds();
    assert_eq!(done.stdout.lines().count(), 6, "{}", done.stdout);
    for line in done.stdout.lines() {
        assert!(lab.bytes(line).len() > 1000, "{line}");
    }
    let both = lab.text("both/here/score.svg");
    assert!(both.contains("run") && both.contains("other"), "{both}");
    let drawn = lab.text("run/plots/score.svg");
    std::fs::remove_dir_all(lab.path("run/plots")).expect("the pictures");
    lab.run("plot run").succeeds();
    assert_eq!(lab.text("run/plots/score.svg"), drawn);
}

#[test]
fn a_recipe_and_a_seed_are_one_model() {
    let lab = Lab::new();
    lab.train("run", 150, "--seed 5 --set learner.lambda=0.7");
    let recipe = lab.text("run/recipe.toml");
    for line in ["seed = 5", "lambda = 0.7", "threads = 1", "episodes = 150"] {
        assert!(
            recipe.lines().any(|found| found == line),
            "{line} in {recipe}"
        );
    }

    lab.run("train run/recipe.toml --out again").succeeds();
    assert_eq!(lab.text("again/recipe.toml"), recipe);
    assert_eq!(
        lab.bytes("again/model.safetensors"),
        lab.bytes("run/model.safetensors")
    );

    lab.run("train run/recipe.toml --seed 6 --out other")
        .succeeds();
    assert_ne!(
        lab.bytes("other/model.safetensors"),
        lab.bytes("run/model.safetensors")
    );
}

#[test]
fn every_kind_of_learner_trains_on_every_kind_of_board() {
    let lab = Lab::new();
    let boards = ["2x2", "2x3", "3x3", "4x4", "5x5"];
    let learners = [
        "value=afterstate update=forward rule=td",
        "value=afterstate update=backward rule=tc lambda=0.5",
        "value=state update=forward rule=tc",
        "value=state update=backward rule=td target=reward-twice ties=random",
    ];
    for (b, board) in boards.iter().enumerate() {
        for (l, learner) in learners.iter().enumerate() {
            let out = format!("run-{b}-{l}");
            let sets: String = learner.split(' ').map(|s| format!(" --set {s}")).collect();
            let plain = if learner.contains("lambda") || learner.contains("forward") {
                ""
            } else {
                " --set lambda=0"
            };
            lab.run(&format!(
                "train --threads 1 --board {board} --set tuples=012 --set learning_rate=0.1{plain}{sets} \
                 --episodes 30 --set block_games=20 --out {out}"
            ))
            .succeeds();
            assert_eq!(Blocks::of(&lab, &out).column("games"), [20.0, 30.0]);
            let model = Tensors::read(&lab.path(&format!("{out}/model.safetensors")));
            let learned = model.data.iter().any(|&byte| byte != 0);
            assert!(learned, "{board} {learner}: all weights are 0");
            let json = lab.run(&format!("eval {out} --games 20 --json")).json();
            assert_eq!(
                (&json["games"], &json["board"]),
                (&20.into(), &(*board).into())
            );
        }
    }
}

#[test]
fn without_out_each_run_has_a_folder_of_its_own() {
    let lab = Lab::new();
    for _ in 0..3 {
        lab.run(&format!("train {SMALL} --episodes 30")).succeeds();
    }
    assert_eq!(lab.names("runs"), ["quick", "quick-2", "quick-3"]);
    assert_eq!(
        lab.bytes("runs/quick/model.safetensors"),
        lab.bytes("runs/quick-2/model.safetensors")
    );
    assert!(
        !lab.exists("runs/quick/scores.txt"),
        "only where asked for: quick does not"
    );
}

#[test]
fn several_threads_play_every_game() {
    let lab = Lab::new();
    let train = "train --set tuples=8x4 --set block_games=100 --set scores=true --episodes 350";
    lab.run(&format!("{train} --threads 3 --out run"))
        .succeeds();
    assert_eq!(scores(&lab, "run").len(), 350);
    assert_eq!(
        Blocks::of(&lab, "run").column("games"),
        [100.0, 200.0, 300.0, 350.0]
    );
}

#[test]
fn progress_is_on_standard_error_only() {
    let lab = Lab::new();
    let done = lab
        .run(&format!("train {SMALL} --episodes 100 --out run"))
        .succeeds();
    assert!(
        !done.stdout.contains('\r') && !done.stdout.contains('\u{1b}'),
        "no bar on standard output: {:?}",
        done.stdout
    );
    assert!(
        !done.stderr.contains('\u{1b}'),
        "no bar where there is no terminal: {:?}",
        done.stderr
    );
}
