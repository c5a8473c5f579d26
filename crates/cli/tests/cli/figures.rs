//! `eval`, `compare` and `analyze`: figures with intervals, the same for the same seed.

use serde_json::{Value, json};

use crate::common::Lab;

fn number(json: &Value) -> f64 {
    json.as_f64().unwrap_or_else(|| panic!("a number: {json}"))
}

fn interval(json: &Value) -> (f64, f64) {
    assert_eq!(json.as_array().map(Vec::len), Some(2), "{json}");
    (number(&json[0]), number(&json[1]))
}

fn without_speed(mut json: Value) -> Value {
    assert!(number(&json["moves_per_second"]) > 0.0);
    json["moves_per_second"].take();
    json
}

#[test]
fn eval_has_every_field_and_they_agree() {
    let lab = Lab::new();
    lab.train("run", 300, "");
    let json = lab.run("eval run --games 150 --seed 9 --json").json();
    assert_eq!(json["game"], "2048");
    assert_eq!(json["games"], 150);
    assert_eq!(json["seed"], 9);
    // Without a search a move is chosen by the values after it.
    assert_eq!(json["search"], "1ply");
    let (mean, (low, high)) = (number(&json["mean"]), interval(&json["mean_ci95"]));
    assert!(low < mean && mean < high && high < 2.0 * mean);
    assert!((mean - low - (high - mean)).abs() < 1e-6, "symmetric");
    let max = number(&json["max"]);
    assert!(number(&json["median"]) > 0.0 && number(&json["median"]) <= max && mean < max);
    assert!(number(&json["moves"]) > 50.0, "moves a game");

    let tiles = json["tiles"].as_array().expect("tiles");
    let mut left = 1.0;
    for (n, row) in tiles.iter().enumerate() {
        let (reach, end) = (number(&row["reach"]), number(&row["end"]));
        let (low, high) = interval(&row["reach_ci95"]);
        assert!((reach - left).abs() < 1e-9, "reached less those that ended");
        assert!(0.0 <= low && low <= reach && reach <= high && high <= 1.0 && low < high);
        let tile = row["tile"].as_u64().expect("a tile");
        assert!(tile.is_power_of_two());
        assert!(
            n == 0 || tiles[n - 1]["tile"].as_u64() < Some(tile),
            "rising"
        );
        left -= end;
    }
    assert!(
        !tiles.is_empty() && left.abs() < 1e-9,
        "every game ends somewhere"
    );
}

#[test]
fn eval_depends_on_the_seed_but_not_on_threads() {
    let lab = Lab::new();
    lab.train("run", 200, "");
    let eval = |more: &str| {
        let json = lab
            .run(&format!("eval run --games 120 --json {more}"))
            .json();
        without_speed(json)
    };
    let one = eval("--seed 4 --threads 1");
    for threads in [1, 2, 5] {
        let many = eval(&format!("--seed 4 --threads {threads}"));
        assert_eq!(one, many, "{threads} threads");
    }
    let other = eval("--seed 5 --threads 1");
    assert_ne!(
        (&one["mean"], &one["moves"]),
        (&other["mean"], &other["moves"])
    );

    let file = lab.run("eval run/model.safetensors --games 120 --json --seed 4");
    assert_eq!(without_speed(file.json()), one, "the folder is its model");
    let checkpoint = lab.run("eval run/checkpoint.safetensors --games 120 --json --seed 4");
    let without_model = |mut json: Value| {
        json["model"].take();
        json
    };
    assert_eq!(
        without_model(without_speed(checkpoint.json())),
        without_model(one),
        "a checkpoint plays, too"
    );
}

#[test]
fn eval_for_people_never_hides_the_number_of_games() {
    let lab = Lab::new();
    lab.train("run", 200, "");
    let text = lab.run("eval run --games 1234 --seed 3").succeeds().stdout;
    for part in [
        "1,234 games",
        "seed 3",
        "95%",
        "median",
        "2048 on 4x4",
        "200 games",
    ] {
        assert!(text.contains(part), "no `{part}` in {text}");
    }
}

#[test]
fn a_player_does_not_differ_from_itself() {
    let lab = Lab::new();
    lab.train("run", 50, "");
    let json = lab.run("compare run run --games 100 --json").json();
    assert_eq!(number(&json["difference"]), 0.0);
    assert_eq!(interval(&json["difference_ci95"]), (0.0, 0.0));
    assert_eq!(json["better"], Value::Null);
    assert_eq!(
        without_speed(json["a"].clone()),
        without_speed(json["b"].clone())
    );
    assert_eq!(json["identical"], true);
    let compare = |b: &str| {
        let args = format!("compare run {b} --games 100");
        lab.run(&args).succeeds().stdout
    };
    let same = "A and B are the same model: all 100 pairs of games are identical";
    let text = compare("run");
    assert!(
        text.contains(same) && !text.contains("more games"),
        "{text}"
    );
    std::fs::copy(lab.path("run/model.safetensors"), lab.path("copy")).expect("a copy");
    let text = compare("copy");
    assert!(text.contains(same), "{text}");
    // The checkpoint has other bytes, and plays the same games.
    let text = compare("run/checkpoint.safetensors");
    let alike = "A and B play alike: all 100 pairs of games are identical";
    assert!(text.contains(alike), "{text}");
    let text = lab.run("compare greedy greedy --games 9").succeeds().stdout;
    assert!(text.contains("are the same model"), "{text}");
}

#[test]
fn the_better_player_is_found() {
    let lab = Lab::new();
    lab.train("good", 1500, "");
    lab.train("bad", 1, "");
    let json = lab.run("compare good bad --games 200 --json").json();
    let (low, high) = interval(&json["difference_ci95"]);
    let difference = number(&json["difference"]);
    assert_eq!(json["better"], "a");
    assert!(0.0 < low && low < difference && difference < high);
    let means = number(&json["a"]["mean"]) - number(&json["b"]["mean"]);
    assert!((difference - means).abs() < 1e-6);

    assert_eq!(json["identical"], false);
    let text = lab.run("compare bad good --games 200").succeeds().stdout;
    assert!(
        text.contains("B is better") && text.contains("95%"),
        "{text}"
    );
}

#[test]
fn only_one_game_can_be_compared() {
    let lab = Lab::new();
    lab.train("four", 20, "");
    lab.train("three", 20, "--board 3x3 --set tuples=lines");
    lab.refuses(
        "compare four three --games 10",
        &["2048 on 4x4", "2048 on 3x3"],
    );
}

/// The move of that direction, which must be legal.
fn legal<'a>(json: &'a Value, direction: &str) -> &'a Value {
    let moves = json["moves"].as_array().expect("moves");
    let found = moves.iter().find(|m| m["direction"] == direction);
    let found = found.unwrap_or_else(|| panic!("no {direction} in {json}"));
    assert_eq!(found["legal"], true, "{json}");
    found
}

#[test]
fn analyze_has_every_field_and_they_agree() {
    let lab = Lab::new();
    lab.train("run", 200, "");
    let board = "2,2,0,4/0,0,0,0/0,0,0,0/0,0,0,0";
    let json = lab
        .run(&format!("analyze {board} --model run --json"))
        .json();
    let moves = json["moves"].as_array().expect("moves");
    assert_eq!(moves.len(), 4);
    let mut totals = Vec::new();
    for m in moves {
        let direction = m["direction"].as_str().expect("a direction");
        if direction == "up" {
            let up = json!({ "direction": "up", "legal": false, "reward": null, "value": null, "total": null });
            assert_eq!(*m, up, "the tiles are up already");
            continue;
        }
        let m = legal(&json, direction);
        let earned = if direction == "down" { 0.0 } else { 4.0 };
        assert_eq!(number(&m["reward"]), earned, "{direction}");
        let total = number(&m["total"]);
        assert!((total - earned - number(&m["value"])).abs() < 0.01);
        totals.push((total, direction));
    }
    assert_eq!(totals.len(), 3);
    let best = json["best"].as_str().expect("a direction");
    let highest = totals
        .iter()
        .map(|(total, _)| *total)
        .fold(f64::MIN, f64::max);
    assert!(totals.contains(&(highest, best)), "{json}");

    let text = lab
        .run(&format!("analyze {board} --model run"))
        .succeeds()
        .stdout;
    assert!(
        text.contains("<- best") && text.contains("illegal"),
        "{text}"
    );
}

#[test]
fn analyze_knows_the_end_of_a_game() {
    let lab = Lab::new();
    lab.train("run", 20, "");
    let over = "2,4,2,4/4,2,4,2/2,4,2,4/4,2,4,2";
    let json = lab
        .run(&format!("analyze {over} --model run --json"))
        .json();
    assert_eq!(json["best"], Value::Null);
    let moves = json["moves"].as_array().expect("moves");
    assert!(moves.len() == 4 && moves.iter().all(|m| m["legal"] == false));
    let text = lab
        .run(&format!("analyze {over} --model run"))
        .succeeds()
        .stdout;
    assert!(text.contains("the game is over"), "{text}");
}

#[test]
fn the_largest_tiles_are_scored() {
    let lab = Lab::new();
    lab.train("of-after", 20, "");
    lab.train("of-state", 20, "--set value=state");
    for model in ["of-after", "of-state"] {
        for (row, direction, reward) in [
            ("65536,65536,0,0", "left", 131_072.0),
            ("32768,32768,65536,0", "right", 65_536.0),
            ("131072,32768,0,32768", "left", 65_536.0),
        ] {
            let board = format!("{row}/0,0,0,0/2,0,0,0/0,0,0,4");
            let json = lab
                .run(&format!("analyze {board} --model {model} --json"))
                .json();
            let m = legal(&json, direction);
            assert_eq!(number(&m["reward"]), reward, "{model} {row}");
            assert!(number(&m["total"]).is_finite());
        }
    }
}

#[test]
fn analyze_asks_the_newest_run_unless_told() {
    let lab = Lab::new();
    lab.train("runs/old", 60, "");
    lab.train("runs/new", 20, "--seed 2");
    let analyze = "analyze 2,0,0,4/0,0,8,0/0,0,0,0/0,0,0,2 --json";
    let asked = lab.run(analyze).json();
    assert_eq!(
        asked,
        lab.run(&format!("{analyze} --model runs/new")).json()
    );
    assert_ne!(
        asked,
        lab.run(&format!("{analyze} --model runs/old")).json()
    );
}
