//! `sweep`: a table of trainings that may be stopped, gone on with and read by programs, and that tells what broke.

use std::fs;
use std::process::{Command, Stdio};

use crate::common::{Lab, Running, wait_for};

const FILE: &str = r#"
name = "small"
recipe = "quick"
set = ["board=3x3", "tuples=012 036", "episodes=200", "block_games=50"]
seeds = [1, 2]
games = 50

[[variant]]
name = "as it is"

[[variant]]
name = "TD"
set = ["rule=td", "learning_rate=0.1"]
"#;

/// Weights that begin near the largest number break at once.
const BREAKING: &str = "[[variant]]\nname = \"breaks\"\nset = [\"initial_value=3e38\"]\n";

#[test]
fn a_table_is_trained_told_and_kept() {
    let lab = Lab::new();
    lab.write("small.toml", FILE);
    let done = lab.run("sweep small.toml").succeeds();
    for part in ["2048 on 3x3", "as it is", "difference", "runs/small/plots"] {
        assert!(done.stdout.contains(part), "{part} in {}", done.stdout);
    }
    assert!(!done.stdout.contains("ended"), "no blocks: {}", done.stdout);
    let names = ["as-it-is", "plots", "summary.csv", "summary.md", "td"];
    assert_eq!(lab.names("runs/small"), names);
    // Runs are runs to every other command.
    let run = "runs/small/td/seed-2";
    lab.run(&format!("plot {run} runs/small/td/seed-1"))
        .succeeds();
    lab.run(&format!(
        "compare {run} runs/small/as-it-is/seed-2 --games 20"
    ))
    .succeeds();
    let resumed = lab.run(&format!("train --resume {run}")).succeeds();
    assert!(
        resumed.stdout.contains("already finished"),
        "{}",
        resumed.stdout
    );

    let model = lab.bytes(&format!("{run}/model.safetensors"));
    let json = lab.run("sweep small.toml --json").json();
    assert_eq!(json["metric"], "evaluated");
    let row = &json["variants"][1];
    assert_eq!(
        (row["name"].as_str(), row["folder"].as_str()),
        (Some("TD"), Some("td"))
    );
    assert_eq!(row["scores"].as_array().map(Vec::len), Some(2));
    // The mean is that of the same games by `eval`.
    let eval = lab
        .run(&format!("eval {run} --games 50 --seed 1000002 --json"))
        .json();
    assert_eq!(row["scores"][1]["score"], eval["mean"]);
    assert_eq!(row["scores"][1]["seed"], 2);
    assert_eq!(row["scores"][1]["path"], "td/seed-2");
    assert_eq!(
        (&json["game"], &json["board"]),
        (&"2048".into(), &"3x3".into())
    );
    assert!(model == lab.bytes(&format!("{run}/model.safetensors")));

    let other = lab
        .run("sweep small.toml --out elsewhere --jobs 1 --json")
        .json();
    for (one, two) in [(row, &other["variants"][1])] {
        for key in [
            "mean",
            "mean_ci95",
            "difference",
            "difference_ci95",
            "verdict",
        ] {
            assert_eq!(one[key], two[key], "{key}");
        }
    }
}

#[test]
fn what_is_wrong_is_refused_before_anything_is_trained() {
    let lab = Lab::new();
    lab.write("unknown.toml", FILE.replace("games", "gmaes"));
    lab.refuses("sweep unknown.toml", &["unknown.toml", "gmaes", "games"]);
    lab.write(
        "last.toml",
        FILE.replace("learning_rate=0.1", "learning_rate=-1"),
    );
    lab.refuses("sweep last.toml", &["variant `TD`", "rate"]);
    lab.refuses("sweep none.toml", &["none.toml"]);

    lab.write("small.toml", FILE);
    lab.run("sweep small.toml --out out").succeeds();
    lab.write(
        "small.toml",
        FILE.replace("learning_rate=0.1", "learning_rate=0.2"),
    );
    lab.refuses(
        "sweep small.toml --out out",
        &[
            "out/td/seed-1",
            "learner.learning_rate",
            "0.1",
            "0.2",
            "--out",
        ],
    );
    lab.refuses(
        "sweep small.toml --out out/td/seed-1",
        &["out/td/seed-1", "is a run folder, not", "--out"],
    );
}

#[test]
fn a_broken_training_is_told_and_the_others_are_finished() {
    let lab = Lab::new();
    lab.write("some.toml", format!("{FILE}{BREAKING}"));
    for _ in 0..2 {
        let done = lab.run("sweep some.toml").ends_with(1);
        assert!(
            done.stdout.contains("breaks, seed 2: diverged after"),
            "{}",
            done.stdout
        );
        assert!(
            done.stderr.contains("error: 2 of 6 runs diverged"),
            "{}",
            done.stderr
        );
    }
    assert!(lab.exists("runs/small/td/seed-2/model.safetensors"));
    let done = lab.run("sweep some.toml --json").ends_with(1);
    let json: serde_json::Value = serde_json::from_str(&done.stdout).expect("one document");
    assert_eq!(json["variants"][2]["diverged"][1]["seed"], 2);
    assert!(json["variants"][2]["mean"].is_null());
}

/// Ctrl-C, then a kill, then to the end: the models are those of a sweep that was left in peace.
#[cfg(unix)]
#[test]
fn stopped_and_killed_it_goes_on() {
    let lab = Lab::new();
    let long = FILE.replace("episodes=200", "episodes=6000").replace(
        "\"block_games=50\"",
        "\"block_games=500\", \"checkpoint_seconds=0.05\"",
    );
    lab.write("long.toml", long);
    lab.run("sweep long.toml --out whole").succeeds();

    let mut command = lab.command("sweep long.toml --out cut --jobs 2");
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let running = Running::of(command.spawn().expect("the program"));
    let checkpoint = "cut/as-it-is/seed-1/checkpoint.safetensors";
    wait_for("a checkpoint", || lab.exists(checkpoint));
    let id = running.id().to_string();
    let signal = Command::new("kill").args(["-INT", &id]).status();
    assert!(signal.expect("kill").success());
    let output = running.output();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(130), "{said}");
    assert!(
        said.contains("Continue with:  afterstate sweep long.toml --out cut --jobs 2"),
        "{said}"
    );
    assert!(!lab.exists("cut/summary.md"));

    let running = lab.spawn("sweep long.toml --out cut");
    let saved = || {
        fs::metadata(lab.path(checkpoint))
            .and_then(|file| file.modified())
            .ok()
    };
    let before = saved();
    wait_for("another checkpoint", || saved() != before);
    assert!(running.kill(), "the training is too short for this machine");

    lab.run("sweep long.toml --out cut").succeeds();
    for run in [
        "as-it-is/seed-1",
        "as-it-is/seed-2",
        "td/seed-1",
        "td/seed-2",
    ] {
        let model = |out: &str| lab.bytes(&format!("{out}/{run}/model.safetensors"));
        assert!(model("whole") == model("cut"), "{run}");
    }
}
