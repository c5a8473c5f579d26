//! `--part` and `merge`: work that several machines share.

use serde_json::Value;

use crate::common::Lab;

const SWEEP: &str = r#"
name = "shared"
recipe = "quick"
set = ["board=2x3", "tuples=012", "episodes=60", "block_games=20"]
seeds = [1, 2]
games = 20

[[variant]]
name = "TC"

[[variant]]
name = "TD"
set = ["rule=td", "learning_rate=0.1"]
"#;

/// A result without what depends on the clock.
fn timeless(mut result: Value) -> Value {
    fn strip(value: &mut Value) {
        if let Some(fields) = value.as_object_mut() {
            fields.remove("moves_per_second");
            fields.remove("speed");
            fields.values_mut().for_each(strip);
        }
        if let Some(values) = value.as_array_mut() {
            values.iter_mut().for_each(strip);
        }
    }
    strip(&mut result);
    result
}

/// Writes the parts of a command to files.
fn parts(lab: &Lab, command: &str, of: u64) -> String {
    let names = (1..=of).map(|number| {
        let done = lab.run(&format!("{command} --part {number}/{of} --json"));
        let name = format!("{number}-of-{of}.json");
        lab.write(&name, done.succeeds().stdout);
        name
    });
    names.collect::<Vec<_>>().join(" ")
}

#[test]
fn merged_parts_equal_the_undivided_result() {
    let lab = Lab::new();
    lab.train("run", 100, "--board 3x3 --set tuples=0123");
    for (command, of) in [
        ("eval run --games 40", 3),
        (
            "compare run run --games 30 --search 2ply --search-b 1ply",
            2,
        ),
    ] {
        let whole = lab.run(&format!("{command} --json")).json();
        let files = parts(&lab, command, of);
        let merged = lab.run(&format!("merge {files} --json")).json();
        assert_eq!(timeless(merged), timeless(whole.clone()));
        let text = lab.run(&format!("merge {files}")).succeeds().stdout;
        assert!(
            text.contains("run/model.safetensors: 2048 on 3x3, quick (")
                && text.contains("), trained for 100 games"),
            "{text}"
        );
        let table = lab.run(&format!("merge {files} --format markdown"));
        assert!(table.succeeds().stdout.contains("| mean score"));
    }
}

#[test]
fn parts_are_refused_where_they_make_no_sense() {
    let lab = Lab::new();
    lab.refuses("eval random --part 1/2", &["--json"]);
    lab.refuses(
        "eval random --part 3/2 --json",
        &["`3/2` is not a part", "2/8"],
    );
    lab.refuses(
        "eval random --part 1/2 --json --records games.txt",
        &["cannot be used"],
    );
    lab.refuses(
        "compare random greedy --sequential --part 1/2 --json",
        &["cannot be used"],
    );
    lab.refuses("compare random greedy --margin 5", &["--sequential"]);
    lab.refuses(
        "compare random greedy --sequential --margin 0",
        &["above 0"],
    );
    lab.refuses("merge nothing.json", &["nothing.json"]);
    let files = parts(&lab, "eval random --games 4", 2);
    let (first, _) = files.split_once(' ').expect("two files");
    lab.refuses(
        &format!("merge {first}"),
        &["of 2 parts, one is missing: 2"],
    );
    lab.write("empty.json", "");
    lab.refuses(
        &format!("merge {first} empty.json"),
        &["empty.json is not a part"],
    );
    lab.refuses("merge --sweep shared.toml 1-of-2.json", &["--out"]);
}

#[test]
fn a_sweep_is_shared_and_merged() {
    let lab = Lab::new();
    lab.write("shared.toml", SWEEP);
    let whole = lab.run("sweep shared.toml --out whole --json").json();
    let told = lab
        .run("sweep shared.toml --part 1/2 --out half")
        .succeeds();
    assert!(
        told.stdout.contains("part 1/2: 2 of 4 runs are finished"),
        "{}",
        told.stdout
    );
    assert_eq!(lab.names("half"), ["tc"]);
    lab.refuses(
        "merge --sweep shared.toml --out all half",
        &["not finished in any of the folders: TD, seed 1; TD, seed 2"],
    );
    assert!(!lab.exists("all"));
    lab.run("sweep shared.toml --part 2/2 --out other")
        .succeeds();
    let merged = lab
        .run("merge --sweep shared.toml --out all half other --json")
        .json();
    assert_eq!(timeless(merged), timeless(whole));
    assert_eq!(lab.names("all"), lab.names("whole"));
    assert_eq!(
        lab.bytes("all/td/seed-2/model.safetensors"),
        lab.bytes("whole/td/seed-2/model.safetensors")
    );
    // A merged sweep is a sweep like others: nothing is trained again.
    let model = lab.path("all/td/seed-2/model.safetensors");
    let modified = || {
        model
            .metadata()
            .and_then(|found| found.modified())
            .expect("a time")
    };
    let before = modified();
    lab.run("sweep shared.toml --out all").succeeds();
    assert_eq!(modified(), before);
    lab.refuses("merge --sweep shared.toml --out all nowhere", &["nowhere"]);
}

/// Greedy play on 3x3 is far better than random play: a few games show it.
#[test]
fn a_sequential_comparison_stops_when_the_verdict_is_sure() {
    let lab = Lab::new();
    let compare = |more: &str| {
        let done = lab.run(&format!("compare {more} --sequential --games 20000 --json"));
        done.json()
    };
    lab.train("run", 100, "--board 3x3 --set tuples=012");
    let found = compare("run greedy");
    assert_eq!(
        (&found["better"], &found["sequential"]["verdict"]),
        (&"a".into(), &"a".into())
    );
    assert!(found["a"]["games"].as_u64() < Some(20_000), "{found}");
    // Two players that hardly differ: after the first look, 64 pairs of games.
    lab.train("other", 100, "--board 3x3 --set tuples=012 --seed 2");
    let alike = compare("run other --margin 100000");
    assert_eq!(alike["sequential"]["verdict"], "within_margin");
    assert_eq!(
        (&alike["better"], &alike["a"]["games"]),
        (&Value::Null, &64.into())
    );
    assert_eq!(alike["median_difference_ci95"], Value::Null);
    // Of the same player twice, the first look is the last.
    let same = lab
        .run("compare run run --sequential --games 20000 --json")
        .json();
    assert_eq!(same["sequential"]["verdict"], "equal");
    assert_eq!(
        (&same["equal"], &same["a"]["games"]),
        (&true.into(), &64.into())
    );
    // Also where all games are fewer than the first look has.
    let few = "compare run run --sequential --games 10";
    let same = lab.run(&format!("{few} --json")).json();
    assert_eq!(
        (&same["equal"], &same["sequential"]["verdict"]),
        (&true.into(), &"equal".into())
    );
    let table = lab.run(&format!("{few} --format markdown")).succeeds();
    let words = "A and B are the same player: all 10 pairs of games are identical";
    assert!(table.stdout.contains(words), "{}", table.stdout);
    assert!(!table.stdout.contains("error rate"), "{}", table.stdout);
    // With a limit of time, the same games do not show the same player.
    let timed = lab.run(&format!("{few} --search 1ms --json")).json();
    assert_ne!(timed["sequential"]["verdict"], "equal");
    let text = lab.run("compare run greedy --sequential").succeeds().stdout;
    assert!(
        text.contains("A is better") && text.contains("error rate of about 5.0%"),
        "{text}"
    );
    let table = lab
        .run("compare run greedy --sequential --format latex")
        .succeeds()
        .stdout;
    assert!(
        table.contains("A is better") && !table.contains("Newcombe"),
        "{table}"
    );
    let few = lab
        .run("compare run greedy --sequential --games 10")
        .succeeds()
        .stdout;
    assert!(few.contains("undecided: 10 games are too few"), "{few}");
}
