//! Runs with a replay buffer: what `train` tells of them, and runs of earlier versions.

use serde_json::Value;

use crate::common::{Blocks, Lab, Tensors};

/// A small run into the folder `name`.
fn train(lab: &Lab, name: &str, more: &str) -> String {
    let small = "--board 3x3 --set block_games=20 --set learner.buffer_size=300 --out";
    let args = format!("train ntuple-replay {small} {name} {more} --set");
    lab.run_with(&args, "tuples=012 345").succeeds().stdout
}

#[test]
fn a_run_is_told_by_iterations_and_updates() {
    let lab = Lab::new();
    let more = "--set max_iterations=400 --set learning_starts=300 --set log_iterations=50";
    let told = train(&lab, "run", more);
    for part in [
        "(8,192 weights in 64.0 KiB), 400 iterations",
        "\titerations = ",
        // The buffer is full after ten iterations of 32 moves, of which the last one learns.
        "finished: 400 iterations, 1,955 updates and ",
        "highest score ",
        " at its highest (2048 experiment report: half the usual score)\nlast board:\n  ",
    ] {
        assert!(told.contains(part), "{part} in {told}");
    }
    let blocks = Blocks::of(&lab, "run");
    assert_eq!(blocks.column("iterations").last(), Some(&400.0));
    assert_eq!(blocks.column("updates").last(), Some(&1955.0));
    let rows = lab.text("run/iterations.csv");
    assert_eq!(rows.lines().count(), 9);
    assert!(rows.contains("\n400,1955,"), "{rows}");
    let done = lab.run("train --resume run").succeeds();
    assert!(
        done.stdout.contains("--set max_iterations=N"),
        "{}",
        done.stdout
    );
    // A change that has no effect is not kept.
    let before = lab.text("run/recipe.toml");
    lab.run("train --resume run --set learning_rate=0.02")
        .succeeds();
    assert_eq!(lab.text("run/recipe.toml"), before);
    let args = "train --resume run --set max_iterations=410 --json";
    let events = lab.run(args).succeeds().stdout;
    let last: Value = serde_json::from_str(events.lines().last().unwrap()).unwrap();
    assert_eq!(
        (&last["unit"], &last["done"]),
        (&"iterations".into(), &410.into())
    );
    assert_eq!(last["replay"]["updates"], 2005);
    assert_eq!(
        last["replay"]["last_board"].as_array().map(Vec::len),
        Some(3)
    );
    let listed = lab.run("runs . --json").json();
    assert_eq!(
        (&listed[0]["iterations"], &listed[0]["status"]),
        (&410.into(), &"finished".into())
    );
}

/// Earlier versions did not write iterations: such a run goes on to the same model, in the columns
/// of its file.
#[test]
fn a_run_without_a_column_of_iterations_is_resumed() {
    let lab = Lab::new();
    train(&lab, "whole", "--set max_updates=3000");
    train(&lab, "run", "--set max_updates=2000");
    let mut former = String::new();
    for line in lab.text("run/blocks.csv").lines() {
        let mut fields: Vec<&str> = line.split(',').collect();
        fields.remove(8);
        former += &(fields.join(",") + "\n");
    }
    assert!(!former.contains("iterations"), "{former}");
    lab.write("run/blocks.csv", &former);
    let path = lab.path("run/checkpoint.safetensors");
    let mut tensors = Tensors::read(&path);
    let text = tensors.meta("progress");
    let mut progress: Value = serde_json::from_str(text.as_str().unwrap()).unwrap();
    progress["blocks_bytes"] = former.len().into();
    let fields = progress.as_object_mut().unwrap();
    fields.remove("iterations_bytes").expect("a length");
    let replay = fields["replay"].as_object_mut().unwrap();
    for new in ["log", "highest_average", "highest_score"] {
        replay.remove(new).expect(new);
    }
    *text = progress.to_string().into();
    tensors.write(&path);
    let told = lab
        .run("train --resume run --set max_updates=3000")
        .succeeds()
        .stdout;
    let data = |run: &str| Tensors::read(&lab.path(&format!("{run}/model.safetensors"))).data;
    assert!(data("run") == data("whole"), "other weights");
    let (run, whole) = (Blocks::of(&lab, "run"), Blocks::of(&lab, "whole"));
    assert!(!run.header.contains(&"iterations".to_owned()));
    assert_eq!(run.column("updates").last(), whole.column("updates").last());
    // The highest score of the blocks before counts, too.
    let highest = run.column("max").into_iter().fold(0.0, f64::max);
    let digits: String = told
        .split("highest score ")
        .nth(1)
        .unwrap()
        .split(';')
        .next()
        .unwrap()
        .replace(',', "");
    assert_eq!(digits.parse(), Ok(highest));
    lab.run("plot run").succeeds();
}
