//! `runs`: every run with its status, and no training disturbed.

use std::fs;

use serde_json::Value;

use crate::common::{Lab, SMALL, wait_for};

fn statuses(list: &Value) -> Vec<(&str, &str)> {
    let list = list.as_array().expect("a list");
    let mut all: Vec<(&str, &str)> = list
        .iter()
        .map(|run| {
            let text = |key: &str| run[key].as_str().expect("text");
            (text("path"), text("status"))
        })
        .collect();
    all.sort_unstable();
    all
}

#[test]
fn runs_are_listed_with_their_status() {
    let lab = Lab::new();
    assert_eq!(lab.run("runs --json").json(), Value::Array(Vec::new()));
    let text = lab.run("runs").succeeds().stdout;
    assert_eq!(text, "no runs in runs\n");
    lab.refuses("runs missing", &["missing"]);
    lab.write("file", "");
    lab.refuses("runs file", &["file"]);

    lab.train("runs/done", 150, "--set learning_rate=0.5");
    let running = lab.spawn(&format!(
        "train {SMALL} --episodes 100000000 --set checkpoint_seconds=0.05 --out runs/busy"
    ));
    wait_for("a checkpoint", || {
        lab.exists("runs/busy/checkpoint.safetensors")
    });
    let json = lab.run("runs --json").json();
    assert_eq!(
        statuses(&json),
        [("runs/busy", "running"), ("runs/done", "finished")]
    );
    assert_eq!(json[0]["path"], "runs/busy", "newest first");
    assert!(running.kill(), "it was not disturbed");
    let json = lab.run("runs --json").json();
    assert_eq!(
        statuses(&json),
        [("runs/busy", "stopped"), ("runs/done", "finished")]
    );
    assert_eq!(json[0]["finished"], Value::Null);

    let done = &json[1];
    assert_eq!(done["recipe"], "quick");
    let changed = done["changed"].as_array().expect("changes");
    assert!(
        changed
            .iter()
            .any(|it| it == "learner.learning_rate=0.5" || it == "learning_rate=0.5")
    );
    assert_eq!(
        (&done["game"], &done["board"]),
        (&"2048".into(), &"4x4".into())
    );
    assert_eq!(
        (&done["games"], &done["updates"]),
        (&150.into(), &Value::Null)
    );
    assert!(done["mean"].as_f64() > Some(0.0));
    for key in ["started", "finished"] {
        let time = done[key].as_str().expect("a time");
        assert!(
            time.len() == 20 && time.ends_with('Z') && time.contains('T'),
            "{time}"
        );
    }
    let text = lab.run("runs").succeeds().stdout;
    for part in [
        "runs/done",
        "finished",
        "150",
        "2048 on 4x4",
        "learning_rate=0.5",
        "stopped",
    ] {
        assert!(text.contains(part), "no {part} in {text}");
    }
    let before = lab.listing();
    lab.run("runs").succeeds();
    assert_eq!(before, lab.listing(), "nothing is written");
}

#[test]
fn runs_of_a_sweep_are_found_and_its_plots_named() {
    let lab = Lab::new();
    lab.write(
        "small.toml",
        "name = \"small\"\nrecipe = \"quick\"\nseeds = [1, 2]\ngames = 10\n\
         set = [\"tuples=8x4\", \"episodes=60\", \"block_games=50\", \"threads=1\"]\n\
         [[variant]]\nname = \"one\"\n[[variant]]\nname = \"two\"\nset = [\"lambda=0\"]\n",
    );
    lab.run("sweep small.toml").succeeds();
    let json = lab.run("runs --json").json();
    assert_eq!(json.as_array().map(Vec::len), Some(4), "{json}");
    assert!(statuses(&json).contains(&("runs/small/two/seed-2", "finished")));
    let inner = lab.run("runs runs/small/one --json").json();
    assert_eq!(inner.as_array().map(Vec::len), Some(2));
    let alone = lab.run("runs runs/small/one/seed-1 --json").json();
    assert_eq!(statuses(&alone), [("runs/small/one/seed-1", "finished")]);

    lab.refuses(
        "plot runs/small",
        &[
            "the folder of a sweep",
            "runs/small/plots",
            "afterstate runs runs/small",
        ],
    );
    fs::write(
        lab.path("runs/small/one/seed-1/recipe.toml"),
        "episodes = [",
    )
    .expect("a file");
    let json = lab.run("runs --json").json();
    assert!(statuses(&json).contains(&("runs/small/one/seed-1", "damaged")));
}
