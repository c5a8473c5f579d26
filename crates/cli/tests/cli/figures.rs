//! `eval`, `compare` and `analyze`: figures with intervals, the same for the same seed.

use serde_json::{Value, json};

use crate::common::{Lab, Tensors};

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
    assert_eq!(json["equal"], true);
    let same = "A and B are equal, the same player: all 100 pairs of games are identical";
    let text = compare("run");
    assert!(
        text.contains(same) && !text.contains("more games"),
        "{text}"
    );
    std::fs::copy(lab.path("run/model.safetensors"), lab.path("copy")).expect("a copy");
    let text = compare("copy");
    assert!(text.contains(same), "{text}");
    // The checkpoint and the weights of another program have other bytes, but the same weights.
    lab.run("convert run run.w").succeeds();
    for other in ["run/checkpoint.safetensors", "run.w"] {
        let text = compare(other);
        assert!(text.contains(same), "{text}");
    }
    let text = lab.run("compare greedy greedy --games 9").succeeds().stdout;
    assert!(text.contains("A and B are equal"), "{text}");
}

/// One weight that no game of these uses: the two play alike, but are not called equal.
#[test]
fn players_that_only_play_alike_are_not_equal() {
    let lab = Lab::new();
    lab.train("run", 50, "");
    let mut tensors = Tensors::read(&lab.path("run/model.safetensors"));
    let mut names = tensors.header.as_object().expect("a header").keys();
    let name = names.rfind(|name| *name != "__metadata__");
    let range = tensors.range(name.expect("a tensor"));
    // The last weight of a table is that of four tiles of 32768.
    tensors.data[range.end - 4..range.end].copy_from_slice(&7_f32.to_le_bytes());
    tensors.write(&lab.path("other.safetensors"));
    let args = "compare run other.safetensors --games 20";
    let json = lab.run(&format!("{args} --json")).json();
    assert_eq!(
        (&json["identical"], &json["equal"]),
        (&true.into(), &false.into())
    );
    let text = lab.run(args).succeeds().stdout;
    assert!(
        text.contains("A and B play alike, but are not the same"),
        "{text}"
    );
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
    let medians = number(&json["a"]["median"]) - number(&json["b"]["median"]);
    assert_eq!(number(&json["median_difference"]), medians);
    let (low, high) = interval(&json["median_difference_ci95"]);
    assert!(0.0 < low && low <= medians && medians <= high);
    win_rates_differ_as_the_tables_say(&json);

    let text = lab.run("compare bad good --games 200").succeeds().stdout;
    assert!(text.contains("A - B, games paired by seed") && text.contains("median        -"));
    assert!(
        text.contains("B is better") && text.contains("95%"),
        "{text}"
    );
}

/// Each difference of win rates is that of the two tables, and lies in its interval.
fn win_rates_differ_as_the_tables_say(json: &Value) {
    let rows = |json: &Value| json["tiles"].as_array().expect("tiles").clone();
    let reach = |side: &str, tile: f64| {
        let rows = rows(&json[side]).into_iter();
        let mut larger = rows.filter(|row| number(&row["tile"]) >= tile);
        larger.next().map_or(0.0, |row| number(&row["reach"]))
    };
    let mut largest: f64 = 0.0;
    for row in rows(json) {
        let difference = number(&row["reach_difference"]);
        let tile = number(&row["tile"]);
        assert!(
            (difference - (reach("a", tile) - reach("b", tile))).abs() < 1e-9,
            "{row}"
        );
        let (low, high) = interval(&row["reach_difference_ci95"]);
        assert!(-1.0 <= low && low <= difference && difference <= high && high <= 1.0);
        largest = largest.max(low);
    }
    assert!(largest > 0.0, "no tile tells them apart: {json}");
}

#[test]
fn without_a_model_the_network_in_the_program_or_the_newest_run_is_evaluated() {
    let lab = Lab::new();
    lab.train("runs/large", 20, "");
    lab.train("runs/small", 20, "--board 2x3 --set tuples=012");
    for (args, run) in [
        ("eval --games 2", "box:2048-4x4"),
        ("eval --games 2 --board 2x3", "runs/small"),
    ] {
        let found = lab.run(&format!("{args} --json")).json();
        let path = found["model"]["path"].as_str().expect("a model");
        assert!(path.starts_with(run), "{args}: {path}");
    }
    lab.refuses("eval --game threes-hint", &["threes-hint on 4x4"]);
    lab.refuses(
        "eval runs/small --board 2x3",
        &["has its own game and board"],
    );
}

#[test]
fn results_are_printed_for_reports() {
    let lab = Lab::new();
    lab.train("run", 50, "");
    let hostile = "my_model & 50% #1 {x} ~^|`$y";
    std::fs::rename(lab.path("run"), lab.path(hostile)).expect("another name");
    let eval = |more: &str| {
        let args = format!("eval --games 30 --seed 4 --threads 1 {more}");
        lab.run_with(&args, hostile).succeeds().stdout
    };
    let latex = eval("--format latex");
    let name =
        r"my\_model \& 50\% \#1 \{x\} \textasciitilde{}\textasciicircum{}\textbar{}\char96{}\$y";
    assert_eq!(latex.matches(name).count(), 3, "{latex}");
    for part in [
        "mean score &",
        "30 games, seed 4, 1ply",
        "-{}-format latex",
        "reached 64 &",
    ] {
        assert!(latex.contains(part), "no `{part}` in {latex}");
    }
    let markdown = eval("--format markdown");
    let rows: Vec<&str> = markdown
        .lines()
        .filter(|line| line.starts_with('|'))
        .collect();
    // A bar of the name does not end its cell.
    for row in rows {
        assert_eq!(row.replace("\\|", "").matches('|').count(), 3, "{row}");
    }
    assert!(
        markdown.contains("`` 'my_model & 50% #1 {x} ~^\\|`$y' ``"),
        "{markdown}"
    );
    assert!(markdown.contains("| mean score | ") && markdown.contains("--format markdown"));

    let table = lab.run("compare greedy random --games 50 --format markdown");
    let table = table.succeeds().stdout;
    assert!(
        table.contains("|  | `A` | `B` | `A - B` |") && table.contains("Newcombe"),
        "{table}"
    );
    let both = "eval greedy --games 5 --format latex --json";
    lab.refuses(both, &["--format", "--json"]);
    lab.refuses("eval greedy --format html", &["html", "markdown"]);
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
            let up = json!({
                "direction": "up", "legal": false, "reward": null, "value": null, "total": null, "loss": null,
                "chances": null, "rest": null, "line": null
            });
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
    // The program has no network for this board.
    let train = "train --board 3x4 --set tuples=lines --threads 1 --out runs";
    for (run, episodes) in [("old", 60), ("new", 20)] {
        lab.run(&format!("{train}/{run} --episodes {episodes}"))
            .succeeds();
    }
    let analyze = "analyze 2,0,0,4/0,0,8,0/0,0,0,2 --json";
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
