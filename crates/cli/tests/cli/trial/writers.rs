//! Several processes write one file at once: it is always the whole file of one of them.

use std::fs;

use crate::common::Lab;
use crate::trial::rounds;

#[test]
fn the_last_of_two_writers_wins_whole() {
    let lab = Lab::new();
    for (run, seed) in [("a", 1), ("b", 2)] {
        let train = "train --threads 1 --episodes 30 --set tuples=0123";
        lab.run(&format!("{train} --seed {seed} --out {run}"))
            .succeeds();
        lab.run(&format!("convert {run} {run}.w")).succeeds();
        let records = format!("eval {run} --games 20 --seed {seed} --records {run}.txt");
        lab.run(&records).succeeds();
    }
    let mut pairs = 0;
    for n in rounds(4) {
        pairs += 2;
        let converts = ["convert a x.w", "convert b x.w"];
        together(&lab, &converts);
        assert!(
            ["a.w", "b.w"]
                .iter()
                .any(|one| lab.bytes(one) == lab.bytes("x.w")),
            "try {n}: a mixture of two conversions"
        );
        let evals = [1, 2].map(|seed| {
            let run = ["a", "b"][seed - 1];
            format!("eval {run} --games 20 --seed {seed} --records x.txt")
        });
        together(&lab, &evals.each_ref().map(String::as_str));
        let judged = lab.run("judge x.txt --game 2048 --json").json();
        assert_eq!(judged["episodes"], 20, "try {n}: a mixture of records");
    }
    println!("{pairs} pairs of writers of one file");
    let leftovers: Vec<_> = fs::read_dir(lab.path(""))
        .expect("a readable folder")
        .map(|entry| entry.expect("an entry").file_name())
        .filter(|name| name.to_string_lossy().ends_with(".part"))
        .collect();
    assert!(leftovers.is_empty(), "{leftovers:?} were left");
}

#[test]
fn runs_that_begin_at_once_have_folders_of_their_own() {
    let lab = Lab::new();
    let train = "train --threads 1 --episodes 30 --set tuples=0123";
    let count = 6;
    together(&lab, &vec![train; count]);
    let runs = lab.names("runs");
    assert_eq!(runs.len(), count, "{runs:?}");
    for run in runs {
        assert!(
            lab.exists(&format!("runs/{run}/model.safetensors")),
            "{run}"
        );
    }
}

/// Runs commands side by side until all have ended well.
fn together(lab: &Lab, commands: &[&str]) {
    let running: Vec<_> = commands
        .iter()
        .map(|args| (args, lab.spawn(args)))
        .collect();
    for (args, one) in running {
        assert_eq!(one.wait(), Some(0), "{args}");
    }
}
