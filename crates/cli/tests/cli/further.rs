//! Runs that go on with another learning rate, and runs that start with the weights of another model.

use crate::common::{Blocks, Lab};

/// A step is added to the schedule at the game of the change; the games before stay as they were.
#[test]
fn a_run_goes_on_with_another_learning_rate() {
    let lab = Lab::new();
    lab.train("run", 200, "--seed 3 --set learning_rate=0.5");
    lab.train("same", 400, "--seed 3 --set learning_rate=0.5");
    let done = lab
        .run("train --resume run --set learning_rate=0.01 --episodes 400")
        .succeeds();
    assert!(
        done.stdout
            .contains("learning_rate=0.5, then 0.01 from game 200)"),
        "{}",
        done.stdout
    );
    let recipe = lab.text("run/recipe.toml");
    for part in ["from = 200", "learning_rate = 0.01", "learning_rate = 0.5"] {
        assert!(recipe.contains(part), "{part} in {recipe}");
    }
    let rates = Blocks::of(&lab, "run").column("learning_rate");
    assert_eq!(rates, [0.5, 0.5, 0.01, 0.01]);
    let [changed, same] = ["run", "same"].map(|run| Blocks::of(&lab, run).column("mean"));
    assert_eq!(changed[..2], same[..2]);
    assert_ne!(changed[2..], same[2..]);
    // The plot names the change, and a schedule written by hand may not touch the past.
    assert!(lab.text("run/plots/score.svg").contains("0.01"));
    lab.write(
        "run/recipe.toml",
        recipe.replace("learning_rate = 0.5", "learning_rate = 0.4"),
    );
    lab.refuses(
        "train --resume run --episodes 500",
        &["learner.learning_rate", "trained with"],
    );
}

#[test]
fn a_run_starts_with_the_weights_of_another_model() {
    let lab = Lab::new();
    lab.train("first", 300, "");
    lab.train("7", 1, "--from first --set learning_rate=1e-9");
    let mean = |run: &str| {
        let json = lab.run(&format!("eval {run} --games 200 --json")).json();
        json["mean"].as_f64().expect("a number")
    };
    // After one game at a rate of nearly 0 it plays as the first does.
    assert_eq!(mean("7"), mean("first"));
    assert!(lab.text("7/recipe.toml").contains("from = \"first\""));
    lab.train("again", 1, "--from 7 --set learning_rate=1e-9");
    lab.run("convert first first.w").succeeds();
    lab.train("theirs", 1, "--from first.w --set learning_rate=1e-9");
    assert_eq!(mean("theirs"), mean("first"));
    // A file of tables alone: the recipe names their cells.
    lab.run("convert first weights.bin").succeeds();
    lab.train("tables", 1, "--from weights.bin --set learning_rate=1e-9");
    assert_eq!(mean("tables"), mean("first"));
    lab.refuses(
        "train quick --set tuples=4x6 --out other --from weights.bin",
        &["it has 8 tables, and 4 patterns were given"],
    );
    for (more, words) in [
        ("--from first --set tuples=012", ["`tuples`", "012"]),
        (
            "--from first --board 3x3 --set tuples=lines",
            ["`game`", "2048 on 3x3"],
        ),
        ("--from first --set value=state", ["`value`", "state"]),
        ("--from missing", ["missing", "No such file"]),
    ] {
        let train = format!("train quick --set tuples=8x4 --episodes 1 --out other {more}");
        lab.refuses(&train, &words);
    }
}

/// Each published update trains, and differs from the textbook's.
#[test]
fn updates_as_published_are_trained() {
    let lab = Lab::new();
    let model = |name: &str, more: &str| {
        let train = "--seed 2 --board 3x3 --threads 1 --set tuples=lines --episodes 60";
        lab.run(&format!("train {train} --out {name} {more}"))
            .succeeds();
        lab.bytes(&format!("{name}/model.safetensors"))
    };
    let weights = |name: &str, more: &str| {
        let bytes = model(name, more);
        let length = u64::from_le_bytes(bytes[..8].try_into().expect("a header")) as usize;
        bytes[8 + length..].to_vec()
    };
    let states = "state-6 --set target=textbook --set ties=order";
    let textbook = weights("textbook", states);
    for (name, set) in [
        ("end", "end=negated"),
        ("total", "subtract=stored-total"),
        ("previous", "subtract=stored-previous"),
        ("value", "subtract=stored-value"),
    ] {
        assert_ne!(
            weights(name, &format!("{states} --set {set}")),
            textbook,
            "{name}"
        );
    }
    let replay = "ntuple-replay --set num_envs=4";
    let plain = weights("replay", replay);
    for (name, set) in [
        ("tuple", "td_error=tuple"),
        ("open", "mask_terminal=false"),
        ("sample", "spawn_value=sample"),
    ] {
        assert_ne!(
            weights(name, &format!("{replay} --set {set}")),
            plain,
            "{name}"
        );
    }
    let threes = "td-4x6 --game threes";
    let slides = weights("slides", &format!("{threes} --set spawn_rewards=false"));
    assert_ne!(slides, weights("threes", threes));
    lab.refuses(
        "train td-4x6 --set spawn_rewards=false --out other",
        &["spawn_rewards", "2048", "Threes!"],
    );
}
