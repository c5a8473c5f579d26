//! Every command with games other than 2048: none of them knows a game by its name.

use crate::common::Lab;

#[test]
fn every_game_is_trained_evaluated_and_analyzed() {
    let lab = Lab::new();
    for (game, board, more) in [
        ("threes", "1,2,3,0/6,12,0,0/0,0,0,0/0,0,0,1", ""),
        (
            "threes-hint",
            "1,2,3,0/6,12,0,0/0,0,0,0/0,0,0,1+3",
            "--set hint=true",
        ),
        (
            "threes-original",
            "48,2,3,0/6,12,0,0/0,0,0,0/0,0,0,1+bonus",
            "",
        ),
        ("2584", "1,2,3,5/8,13,0,0/0,0,0,0/0,0,0,1", ""),
        ("2584-three", "1,2,3,5/8,13,2584,0/0,0,0,0/0,0,0,1", ""),
    ] {
        let args = format!(
            "train --game {game} --set tuples=0123 --episodes 300 --threads 1 --out {game} {more}"
        );
        lab.run(&args).succeeds();
        let eval = format!("eval {game} --games 50 --json");
        let first = lab.run(&eval).json();
        assert_eq!(first["game"], game);
        assert!(first["mean"].as_f64() > Some(50.0), "{first}");
        // Trained on, it plays as if it had never stopped.
        lab.run(&format!("train --resume {game} --episodes 400"))
            .succeeds();
        let analysis = lab
            .run_with(&format!("analyze --model {game} --json"), board)
            .json();
        assert!(analysis["best"].is_string(), "{analysis}");
        let compare = lab
            .run(&format!("compare {game} {game} --games 20 --json"))
            .json();
        assert_eq!(compare["difference"], 0.0);
        lab.run(&format!("plot {game}")).succeeds();
    }
    lab.refuses(
        "plot threes 2584 --out both",
        &["threes on 4x4", "can share a plot"],
    );
    lab.refuses(
        "analyze 1,2,3,0/0,0,0,0/0,0,0,0/0,0,0,0 --model threes-hint",
        &["next tile is missing", "+2"],
    );
    lab.refuses(
        "analyze 1,2,3,0/0,0,0,0/0,0,0,0/0,0,0,0+2 --model threes",
        &["does not show"],
    );
    lab.refuses(
        "analyze 1,2,4,0/0,0,0,0/0,0,0,0/0,0,0,0 --model threes",
        &["4 in row 1", "1, 2, 3, 6"],
    );
}

#[test]
fn small_boards_of_every_game_are_solved_and_measured_against() {
    let lab = Lab::new();
    let json = lab
        .run("solve --game threes --board 2x3 --min-avg-max --out s --json")
        .json();
    // Found by an independent program in another language, too.
    let found = json["expected_score"].as_f64().unwrap();
    assert!((found - 455.965_664_506_50).abs() < 5e-12, "{found}");
    assert_eq!(json["states"], 225_779);
    assert_eq!(
        (&json["min_score"], &json["max_score"]),
        (&276.0.into(), &1092.0.into())
    );
    // `b 0 0 0 0 1 0 +2` of the course: left, up and right.
    let analysis = lab.run("analyze 0,0,0/0,1,0+2 --solution s --json").json();
    let legal = |k: usize| analysis["moves"][k]["legal"] == true;
    assert_eq!([0, 1, 2, 3].map(legal), [true, true, false, true]);
    let turned = |board: &str| {
        lab.run(&format!("analyze {board} --solution s --json"))
            .json()
    };
    let (one, other) = (turned("1,0,0/0,0,0+2"), turned("0,0,0/0,0,1+2"));
    assert_eq!(one["moves"][2]["total"], other["moves"][0]["total"]);
    lab.run(
        "train --game threes --board 2x3 --set tuples=012345 --episodes 2000 --threads 1 --out run",
    )
    .succeeds();
    let against = lab.run("eval run --against s --json").json();
    let gap = against["relative_gap"].as_f64().unwrap();
    assert!(gap > 0.0 && gap < 0.9, "{against}");
    // What is worked out is what is played: 20,000 games come within four standard errors.
    let played = lab.run("eval run --games 20000 --json").json();
    let (mean, exact) = (
        played["mean"].as_f64().unwrap(),
        against["expected_score"].as_f64().unwrap(),
    );
    let half = (played["mean_ci95"][1].as_f64().unwrap() - mean) * 2.04;
    assert!((mean - exact).abs() < half, "{mean} and {exact}");
    let json = lab.run("solve --game 2584 --board 2x3 --json").json();
    assert!(json["expected_score"].as_f64() > Some(100.0), "{json}");
    lab.refuses(
        "solve --game threes --board 4x4",
        &["4x4 has too many cells", "at most 10"],
    );
    lab.refuses(
        "solve --game 2584 --board 3x3",
        &["the tile 4181", "`--target` of at most 987"],
    );
}

#[test]
fn what_a_game_does_not_have_is_refused() {
    let lab = Lab::new();
    lab.refuses(
        "train --game threes --set hint=true",
        &["does not show its next tile", "network.hint"],
    );
    lab.refuses(
        "train --game threes --set value=state",
        &["state values", "afterstate"],
    );
    lab.refuses(
        "train --game 2584 --set value=state --set tuples=0123",
        &["state values"],
    );
    lab.refuses(
        "train --game chess",
        &["chess", "2048, threes, threes-hint"],
    );
    lab.refuses("eval random --game threes --board 7x7", &["7x7"]);
    lab.refuses(
        "eval somewhere --game threes",
        &["--game", "random and greedy"],
    );
}

#[test]
fn other_programs_have_no_place_for_some_of_it() {
    let lab = Lab::new();
    let train = |game: &str, more: &str| {
        let tuples = "--set tuples=012 --episodes 100 --threads 1";
        lab.run(&format!("train --game {game} {tuples} --out {game} {more}"))
            .succeeds();
    };
    train("threes", "");
    train("threes-hint", "--set hint=true");
    train("2584", "");
    lab.refuses(
        "convert threes-hint weights.bin",
        &["for each tile that is shown"],
    );
    lab.refuses("convert 2584 weights.bin", &["more than 16 tiles"]);
    lab.refuses("convert threes threes.w", &["the game threes"]);
    // There and back in a file that names neither game nor patterns.
    lab.run("convert threes weights.bin").succeeds();
    lab.run("convert weights.bin back.safetensors --patterns 012 --game threes")
        .succeeds();
    let eval = |model: &str| lab.run(&format!("eval {model} --games 30 --json")).json();
    assert_eq!(eval("threes")["mean"], eval("back.safetensors")["mean"]);
    // The recipe of a training names both.
    let from = "train --game threes --set tuples=012 --set learning_rate=1e-9 --episodes 1";
    lab.run(&format!("{from} --from weights.bin --out from"))
        .succeeds();
    assert_eq!(eval("from")["mean"], eval("threes")["mean"]);
    lab.run("convert threes base15.bin --to framework --base 15")
        .succeeds();
    lab.refuses(
        &format!("{from} --from base15.bin --out other"),
        &["tell 15 tiles apart, and ours 16", "--patterns"],
    );
    lab.run("convert threes-hint copy.safetensors").succeeds();
    assert_eq!(
        eval("threes-hint")["mean"],
        eval("copy.safetensors")["mean"]
    );
}
