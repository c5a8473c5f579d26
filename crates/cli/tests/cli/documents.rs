//! JSON documents and events: each names its model or its run, and nothing else is on standard output.

use std::process::Command;

use serde_json::Value;

use crate::common::{Done, Lab, SMALL};

/// The digest by a program that others have written; none where it is not there.
fn sha256sum(lab: &Lab, file: &str) -> Option<String> {
    let output = Command::new("sha256sum")
        .arg(lab.path(file))
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).expect("text");
    text.split_whitespace().next().map(str::to_owned)
}

#[test]
fn documents_name_their_model() {
    let lab = Lab::new();
    lab.train("run", 60, "--set learning_rate=0.5");
    let board = "2,0,0,4/0,0,8,0/0,0,0,0/0,0,0,2";
    let eval = lab.run("eval run --games 5 --json").json();
    let analysis = lab
        .run(&format!("analyze {board} --model run --json"))
        .json();
    let compared = lab.run("compare run greedy --games 5 --json").json();
    for model in [&eval["model"], &analysis["model"], &compared["a"]["model"]] {
        assert_eq!(model["path"], "run/model.safetensors");
        assert_eq!(
            (&model["game"], &model["board"]),
            (&"2048".into(), &"4x4".into())
        );
        assert_eq!(model["trained"], 60);
        let recipe = model["recipe"].as_str().expect("a title");
        assert!(
            recipe.starts_with("quick (") && recipe.contains("learning_rate=0.5"),
            "{recipe}"
        );
        let digest = model["sha256"].as_str().expect("a digest");
        assert_eq!(digest.len(), 64);
        if let Some(expected) = sha256sum(&lab, "run/model.safetensors") {
            assert_eq!(digest, expected);
        }
    }
    let changed = eval["model"]["changed"].as_array().expect("a list");
    assert!(
        changed.contains(&"learner.learning_rate=0.5".into()),
        "{eval}"
    );
    let converted = lab.run("convert run run.w --json").json();
    for key in ["path", "game", "board", "recipe", "changed", "trained"] {
        assert_eq!(converted["model"][key], eval["model"][key], "{key}");
    }
    assert_eq!(converted["from"]["sha256"], eval["model"]["sha256"]);
    assert_eq!(converted["to"]["sha256"].as_str().map(str::len), Some(64));
    assert!(compared["b"]["model"].is_null(), "{compared}");
    assert_eq!(compared["b"]["player"], "greedy");

    lab.run("solve --board 2x3 --out s").succeeds();
    lab.train("small", 30, "--board 2x3 --set tuples=012");
    let against = lab.run("eval small --against s --json").json();
    assert_eq!(against["model"]["path"], "small/model.safetensors");
    assert_eq!(against["model"]["sha256"].as_str().map(str::len), Some(64));
    assert!(against["expected_score"].is_number(), "{against}");
}

/// What --set has changed is told wherever the model is named.
#[test]
fn a_changed_recipe_is_told() {
    let lab = Lab::new();
    lab.run(&format!(
        "train td-4x6 {SMALL} --episodes 50 --set learning_rate=0.5 --out run"
    ))
    .succeeds();
    let words = "run/model.safetensors: 2048 on 4x4, td-4x6 (";
    let board = "2,0,0,4/0,0,8,0/0,0,0,0/0,0,0,2";
    for args in [
        "eval run --games 5".to_owned(),
        "compare run random --games 5".to_owned(),
        format!("analyze {board} --model run"),
    ] {
        let text = lab.run(&args).succeeds().stdout;
        assert!(text.contains(words), "{args}: {text}");
        for part in ["learning_rate=0.5", "trained for 50 games"] {
            assert!(text.contains(part), "{args}: no {part} in {text}");
        }
    }
}

#[test]
fn conversions_recipes_and_plots_have_documents() {
    let lab = Lab::new();
    lab.train("run", 150, "");
    let json = lab.run("convert run out.w --json").json();
    assert_eq!(json["from"]["path"], "run");
    assert_eq!(json["from"]["format"], "native");
    assert_eq!(
        (&json["to"]["path"], &json["to"]["format"]),
        (&"out.w".into(), &"tdl".into())
    );
    assert_eq!(
        (&json["tables"], &json["weights"]),
        (&8.into(), &524_288.into())
    );
    assert_eq!(json["bytes"], lab.bytes("out.w").len());
    assert_eq!(json["unplayable"], Value::Null);

    let json = lab.run("recipes --json").json();
    let list = json.as_array().expect("a list");
    let quick = list.iter().find(|recipe| recipe["name"] == "quick");
    let quick = quick.expect("the recipe quick");
    for key in ["purpose", "result", "time", "game", "board"] {
        assert!(
            quick[key].as_str().is_some_and(|text| !text.is_empty()),
            "{quick}"
        );
    }
    let state = list.iter().find(|recipe| recipe["name"] == "state-22");
    let state = state.expect("the recipe state-22");
    assert!(
        state["bytes"].as_u64() > state["weights"].as_u64(),
        "{state}"
    );
    let recipe = lab.run("recipes quick --json").json();
    assert_eq!(recipe["episodes"], quick["episodes"]);
    assert!(recipe["learner"]["kind"].is_string(), "{recipe}");
    lab.refuses("recipes nothing --json", &["`nothing`"]);

    let json = lab.run("plot run --json").json();
    let files = json["files"].as_array().expect("files");
    assert_eq!(files.len(), 6);
    for file in files {
        assert!(lab.exists(file.as_str().expect("a path")), "{file}");
    }
    assert!(
        json["title"]
            .as_str()
            .is_some_and(|title| title.contains("2048 on 4x4"))
    );
}

/// The events on the lines of standard output.
fn events(done: &Done) -> Vec<Value> {
    let lines = done.stdout.lines();
    let event =
        |line: &str| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
    lines.map(event).collect()
}

#[test]
fn events_name_their_run() {
    let lab = Lab::new();
    let train = format!("train {SMALL} --episodes 250 --seed 3 --out run --json");
    let done = lab.run(&train).succeeds();
    let all = events(&done);
    let (first, last) = (&all[0], &all[all.len() - 1]);
    assert_eq!(
        (&first["event"], &last["event"]),
        (&"started".into(), &"finished".into())
    );
    for event in [first, last] {
        assert_eq!(event["recipe"], "quick");
        let changed = event["changed"].as_array().expect("changes");
        let changed: Vec<&str> = changed.iter().filter_map(Value::as_str).collect();
        assert!(changed.contains(&"network.tuples=8x4"), "{changed:?}");
        assert_eq!(
            (&event["game"], &event["board"]),
            (&"2048".into(), &"4x4".into())
        );
        assert_eq!(event["folder"], "run");
    }
    assert_eq!((&first["total"], &first["done"]), (&250.into(), &0.into()));
    assert_eq!(
        (&last["status"], &last["games"]),
        (&"finished".into(), &250.into())
    );
    assert_eq!(last["model"], "run/model.safetensors");
    let named = |name: &str| all.iter().filter(|event| event["event"] == name).count();
    // On a busy machine there may be more checkpoints than the last one.
    assert!(named("block") == 3 && named("checkpoint") >= 1, "{all:?}");

    // A run that is done says so in the same way.
    let again = events(&lab.run("train --resume run --json").succeeds());
    assert_eq!(again[0]["done"], 250);
    assert_eq!(again[again.len() - 1]["status"], "finished");
}

/// After an error the lines so far are whole, and the exit status says what it was.
#[test]
fn events_before_an_error_are_whole() {
    let lab = Lab::new();
    let train = "train --threads 1 --board 3x3 --set tuples=lines --set initial_value=3e38 \
                 --episodes 3000 --json";
    let done = lab.run(&format!("{train} --out diverges")).ends_with(1);
    let all = events(&done);
    assert_eq!(all[0]["event"], "started");
    assert!(all.iter().all(|event| event["event"] != "finished"));
    assert!(
        done.stderr.starts_with("error: training diverged"),
        "{}",
        done.stderr
    );

    std::fs::create_dir(lab.path("full")).expect("a folder");
    std::os::unix::fs::symlink("/dev/full", lab.path("full/blocks.csv")).expect("a link");
    let train = format!("train {SMALL} --episodes 300 --json --out full");
    let done = lab.run(&train);
    // It is refused because of the file that is there.
    done.refused(&["already contains a run"]);

    lab.train("run", 100, "");
    std::fs::remove_file(lab.path("run/blocks.csv")).expect("the blocks");
    std::os::unix::fs::symlink("/dev/full", lab.path("run/blocks.csv")).expect("a link");
    let done = lab.run("train --resume run --episodes 300 --json");
    assert!(
        [2, 3].contains(&done.status.expect("a status")),
        "{}",
        done.stderr
    );
    events(&done);
}

/// Only errors are left on standard error.
#[test]
fn quiet_and_without_progress() {
    let lab = Lab::new();
    let bench = "bench --seconds 0.2 --network 8x4 --threads 1";
    let loud = lab.run(bench).succeeds();
    assert!(loud.stderr.contains("measuring"), "{}", loud.stderr);
    for flag in ["-q", "--quiet", "--no-progress"] {
        let done = lab.run(&format!("{bench} {flag}")).succeeds();
        assert_eq!(done.stderr, "", "{flag}");
        assert!(done.stdout.contains("8x4 td"), "{flag}");
    }
    // Notes are left without progress, and errors always.
    lab.train("a", 30, "--board 2x3 --set tuples=012");
    lab.train("b", 30, "--board 2x3 --set tuples=012");
    lab.run("solve --board 2x3 --out s").succeeds();
    lab.run("eval a --against s --keep").succeeds();
    let told = "not in the plot of optimality gaps";
    let plot = "plot a b --out plots";
    let noted = lab.run(&format!("{plot} --no-progress")).succeeds();
    assert!(noted.stderr.contains(told), "{}", noted.stderr);
    assert_eq!(lab.run(&format!("-q {plot}")).succeeds().stderr, "");
    lab.run("-q eval missing").refused(&["missing"]);
}

#[test]
fn boards_as_people_write_them() {
    let lab = Lab::new();
    lab.train("run", 30, "");
    let analyze = |board: &str| lab.run_with("analyze --model run --json", board).json();
    let expected = analyze("2,0,0,4/0,0,8,0/0,0,0,0/0,0,0,2");
    for board in [
        "2 0 0 4 / 0 0 8 0 / 0 0 0 0 / 0 0 0 2",
        "2 . . 4\n. . 8 .\n. . . .\n. . . 2\n",
        "2,.,.,4/.,.,8,./.,.,.,./.,.,.,2",
    ] {
        assert_eq!(analyze(board), expected, "{board:?}");
    }
    lab.refuses_with(
        "analyze --model run",
        "2 0 0 / 0 0 8 0 / 0 0 0 0 / 0 0 0 2",
        &["row 1", "3 cells"],
    );
}
