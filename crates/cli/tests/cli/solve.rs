//! `solve` and `analyze --solution`: exact values, kept in files that are whole or not there.

use std::io::Write;
use std::process::Stdio;

use serde_json::Value;

use crate::common::{Dice, Done, Lab};

fn number(json: &Value) -> f64 {
    json.as_f64().unwrap_or_else(|| panic!("a number: {json}"))
}

fn near(found: &Value, known: f64, digit: f64) {
    assert!((number(found) - known).abs() < digit, "{found}");
}

/// The known values, to all digits given.
#[test]
fn two_by_two() {
    let lab = Lab::new();
    let solve = |more: &str| {
        lab.run(&format!("solve --game 2048 --board 2x2 --json {more}"))
            .json()
    };
    let json = solve("--min-avg-max");
    near(&json["expected_score"], 66.964_149_457_10, 5e-12);
    assert_eq!(json["states"], 662);
    assert_eq!(json["canonical_states"], 110);
    assert_eq!(json["min_score"], 8.0);
    assert_eq!(json["max_score"], 180.0);
    assert_eq!(json["win_probability"], Value::Null);
    for (target, known) in [
        (8, 1.0),
        (16, 0.962_511_253_75),
        (32, 0.082_887_289_07),
        (64, 0.0),
    ] {
        let json = solve(&format!("--target {target}"));
        near(&json["win_probability"], known, 5e-12);
        near(&json["expected_score"], 66.964_149_457_10, 5e-12);
        assert_eq!(json["ends_at_target"], false);
        assert_eq!(json["target"], target);
    }
    let discounted = number(&solve("--discount 0.9")["expected_score"]);
    assert!(discounted > 10.0 && discounted < 66.0);
    let json = solve("--min-avg-max --target 32");
    assert_eq!(json["min_win_probability"], 0.0);
    assert_eq!(json["max_win_probability"], 1.0);
    let text = lab.run("solve --board 2x2 --target 2048 --min-avg-max");
    let text = text.succeeds().stdout;
    assert!(text.contains("0.00000000000  (unreachable)"), "{text}");
    assert_eq!(text.matches("with the worst spawns").count(), 2, "{text}");
    let text = lab.run("solve --board 2x2 --target 16").succeeds().stdout;
    assert!(!text.contains("unreachable"), "{text}");
    for words in ["662", "110", "66.96414945710", "0.96251125375"] {
        assert!(text.contains(words), "{words} in {text}");
    }
}

#[test]
fn threads_and_turned_boards_change_nothing() {
    let lab = Lab::new();
    let solve = |args: &str| {
        let mut json = lab.run(&format!("solve --json --target 64 {args}")).json();
        json["seconds"].take();
        json
    };
    let one = solve("--board 2x3 --threads 1");
    assert_eq!(one, solve("--board 2x3 --threads 2"));
    let turned = solve("--board 3x2");
    assert_eq!(one["states"], turned["states"]);
    near(
        &turned["expected_score"],
        number(&one["expected_score"]),
        1e-9,
    );
}

#[test]
fn what_cannot_be_solved_is_refused() {
    let lab = Lab::new();
    lab.refuses("solve --board 4x4", &["--target", "131072", "32768"]);
    lab.lacks_room("solve --board 3x4", &["memory", "--target"]);
    lab.lacks_room("solve --board 3x4 --json --out x", &["memory"]);
    lab.lacks_room("solve --board 4x4 --target 2048", &["memory"]);
    lab.refuses("solve --board 5x5 --target 8", &["16"]);
    for board in ["9x9", "0x3", "3x1", "-2x3", "6x2"] {
        lab.refuses(
            &format!("solve --board={board}"),
            &[board, "each from 2 to 5"],
        );
    }
    lab.refuses("solve --board three", &["three"]);
    lab.refuses("solve --board 2x2 --target 12", &["12", "2, 4, 8"]);
    lab.refuses("solve --board 2x2 --discount 2", &["from 0 to 1"]);
    let negative = &["invalid value '-0.1'", "from 0 to 1"];
    lab.refuses("solve --board 2x2 --discount -0.1", negative);
    lab.refuses("solve --board 2x2 --target -8", &["invalid value '-8'"]);
    lab.refuses("eval x --games -1", &["invalid value '-1'"]);
    lab.refuses("solve --board 2x2 --game chess", &["unknown game", "2048"]);
    lab.refuses("solve --board 2x2 --out missing/x", &["missing/x"]);
    lab.refuses("solve --board 2x2 --out .", &["cannot write"]);
}

#[test]
fn a_small_target_makes_a_large_board_finite() {
    let lab = Lab::new();
    let json = lab.run("solve --board 3x4 --target 8 --json").json();
    assert_eq!(json["ends_at_target"], true);
    near(&json["win_probability"], 1.0, 1e-9);
    let text = lab
        .run("solve --board 4x4 --target 8 --out s")
        .succeeds()
        .stdout;
    assert!(text.contains("the game ends at 8"), "{text}");
    let over = "analyze 8,0,0,0/0,0,0,0/0,0,0,0/2,0,0,2 --solution s";
    let text = lab.run(over).succeeds().stdout;
    assert!(text.contains("the game is over"), "{text}");
}

/// A lab with a solved 2x3 board.
fn solved() -> Lab {
    let lab = Lab::new();
    lab.run("solve --board 2x3 --target 64 --out s").succeeds();
    assert_eq!(lab.names("."), ["s"], "and nothing else");
    lab
}

#[test]
fn analyze_gives_exact_values() {
    let lab = solved();
    let board = "2,2,0/0,0,4";
    let json = lab
        .run(&format!("analyze {board} --solution s --json"))
        .json();
    let moves = json["moves"].as_array().expect("moves");
    assert_eq!(moves.len(), 4);
    let legal = moves.iter().filter(|m| m["legal"] == true);
    let best = legal.map(|m| {
        near(
            &m["total"],
            number(&m["reward"]) + number(&m["value"]),
            1e-9,
        );
        assert!((0.0..=1.0).contains(&number(&m["win_probability"])));
        number(&m["total"])
    });
    let best = best.fold(0.0, f64::max);
    assert_eq!(
        (&json["game"], &json["board"]),
        (&"2048".into(), &"2x3".into())
    );
    assert_eq!(
        (&json["discount"], &json["target"]),
        (&1.0.into(), &64.into())
    );
    assert!(json["best_for_target"].is_string(), "{json}");
    let chosen = moves.iter().find(|m| m["direction"] == json["best"]);
    near(&chosen.expect("the best")["total"], best, 1e-12);
    let text = lab
        .run(&format!("analyze {board} --solution s"))
        .succeeds()
        .stdout;
    assert!(
        text.contains("<- best") && text.contains("probability of 64"),
        "{text}"
    );
}

#[test]
fn an_answer_has_all_its_keys_when_the_game_is_over() {
    let lab = solved();
    let over = "analyze 2,4,2/4,2,4 --solution s --json";
    let json = lab.run(over).json();
    for key in ["best", "best_for_target"] {
        assert_eq!(json.get(key), Some(&Value::Null), "{json}");
    }
    lab.run("solve --board 2x3 --discount 0.5 --out half")
        .succeeds();
    let json = lab.run(&over.replace(" s ", " half ")).json();
    assert_eq!(json["discount"], 0.5);
    assert_eq!(json.get("target"), Some(&Value::Null), "{json}");
}

#[test]
fn a_board_and_its_image_are_worth_the_same() {
    let lab = solved();
    let best = |board: &str| {
        let json = lab
            .run(&format!("analyze {board} --solution s --json"))
            .json();
        let totals = json["moves"].as_array().expect("moves").iter();
        totals
            .filter_map(|m| m["total"].as_f64())
            .fold(0.0, f64::max)
    };
    assert_eq!(best("2,4,0/8,0,0"), best("0,0,8/0,4,2"));
}

fn batch(lab: &Lab, args: &str, lines: &[u8]) -> Done {
    let mut command = lab.command(args);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut running = command.stderr(Stdio::piped()).spawn().expect("the program");
    let mut input = running.stdin.take().expect("its input");
    input.write_all(lines).expect("it reads");
    drop(input);
    Done::of(args, running.wait_with_output().expect("its end"))
}

/// An analysis as a batch has it.
fn without_lines(mut analysis: Value) -> Value {
    for one in analysis["moves"].as_array_mut().expect("moves") {
        let line = one["line"].take();
        assert_eq!(line.is_string() || line.is_array(), one["legal"] == true);
    }
    analysis
}

#[test]
fn a_batch_is_answered_line_by_line() {
    let lab = solved();
    let boards = "2,2,0/0,0,4\n2,0,0/0,2,0\r\n".repeat(2000);
    let done = batch(&lab, "analyze --batch --solution s", boards.as_bytes()).succeeds();
    let answers: Vec<&str> = done.stdout.lines().collect();
    assert_eq!(answers.len(), 4000);
    let asked = lab.run("analyze 2,2,0/0,0,4 --solution s --json").json();
    let asked = without_lines(asked);
    let answer: Value = serde_json::from_str(answers[3998]).expect("JSON");
    assert_eq!(answer, asked);

    let mixed = b"2,2,0/0,0,4\n\n8,0,0/0,0,8\n\xff\xfe\n2,0,0/0,2,0";
    let done = batch(&lab, "analyze --batch --solution s", mixed).ends_with(2);
    let answers: Vec<Value> = done
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    let faults: Vec<bool> = answers.iter().map(|a| a["error"].is_string()).collect();
    assert_eq!(faults, [false, true, true, true, false]);
    assert!(done.stderr.contains("3 of 5 lines"), "{}", done.stderr);

    let long = [b"2,".repeat(100_000), b"\n2,0,0/0,2,0\n".to_vec()].concat();
    let done = batch(&lab, "analyze --batch --solution s", &long).ends_with(2);
    assert_eq!(done.stdout.lines().count(), 2);
}

/// Models answer batches, too.
#[test]
fn a_model_answers_a_batch() {
    let lab = Lab::new();
    lab.train("run", 20, "");
    let board = "2,0,0,4/0,0,8,0/0,0,0,0/0,0,0,2";
    let asked = lab
        .run(&format!("analyze {board} --model run --json"))
        .json();
    let asked = without_lines(asked);
    let done = batch(&lab, "analyze --batch --model run", board.as_bytes()).succeeds();
    let answer: Value = serde_json::from_str(&done.stdout).expect("JSON");
    assert_eq!(answer, asked);
}

#[test]
fn files_that_are_no_solutions_are_refused() {
    let lab = solved();
    let refuse = |file: &str, words: &[&str]| {
        lab.refuses(&format!("analyze 2,0,0/0,2,0 --solution {file}"), words);
        lab.refuses(&format!("analyze --batch --solution {file}"), words);
    };
    refuse("missing", &["No such file", "missing"]);
    refuse("/dev/zero", &["/dev/zero"]);
    lab.write("empty", "");
    refuse("empty", &["empty is not a usable solution"]);
    lab.train("run", 20, "--board 2x3 --set tuples=012");
    refuse(
        "run/model.safetensors",
        &["not a usable solution", "it is a model", "solve --out"],
    );
    lab.refuses(
        "eval s --against s",
        &["s is not a usable model", "it is a solution", "run folder"],
    );
    let exact = lab.run("analyze 2,0,0/0,2,0 --model s").succeeds();
    assert!(exact.stdout.contains("exact values"), "{}", exact.stdout);
    lab.refuses("analyze 8,0,0/0,8,0 --solution s", &["not in the solution"]);
    lab.refuses("analyze 2,0/0,2 --solution s", &["2 rows of 3 tiles"]);

    // Nothing that is no solution is written over; an older solution is.
    for taken in ["run/model.safetensors", "empty", "/dev/null"] {
        lab.refuses(
            &format!("solve --board 2x2 --out {taken}"),
            &[taken, "is not a solution"],
        );
    }
    lab.run("solve --board 2x2 --out t").succeeds();
    lab.run("solve --board 2x3 --out t").succeeds();
    assert_eq!(lab.bytes("t").len() % 8, 0);
    lab.run("analyze 2,0,0/0,2,0 --solution t").succeeds();

    let whole = lab.bytes("s");
    let mut dice = Dice::new(7);
    for _ in 0..20 {
        let length = dice.below(whole.len() as u64) as usize;
        lab.write("cut", &whole[..length]);
        refuse("cut", &["cut is not a usable solution"]);
    }
}

#[test]
fn a_player_is_measured_against_the_best() {
    let lab = solved();
    lab.train("run", 400, "--board 2x3 --set tuples=012345");
    let json = lab.run("eval run --against s --json").json();
    near(&json["optimum"], 480.258_271_775_96, 1e-8);
    let gap = number(&json["optimum"]) - number(&json["expected_score"]);
    near(&json["gap"], gap, 1e-9);
    near(&json["relative_gap"], gap / number(&json["optimum"]), 1e-12);
    let given_away = number(&json["mean_regret"]) * number(&json["moves"]);
    near(&json["gap"], given_away, 1e-7);
    let optimal = number(&json["optimal_moves"]);
    assert!(optimal > 0.3 && optimal < 1.0, "{json}");
    assert!(number(&json["win_probability"]) < number(&json["best_win_probability"]));
    // As many games as one could play say the same.
    let played = lab.run("eval run --games 20000 --json").json();
    let [low, high] = [0, 1].map(|end| number(&played["mean_ci95"][end]));
    let exact = number(&json["expected_score"]);
    assert!(
        exact > 2.0 * low - high && exact < 2.0 * high - low,
        "{exact}"
    );

    let text = lab.run("eval run --against s --fast").succeeds().stdout;
    for row in [
        "optimal expected score 480.258272",
        "optimal moves",
        "probability of 64",
    ] {
        assert!(text.contains(row), "{text}");
    }
}

/// A solution plays like any other agent, and nothing plays better.
#[test]
fn a_solution_is_evaluated_and_compared() {
    let lab = solved();
    let found = lab.run("eval s --games 20000 --json").json();
    let optimum = lab.run("solve --board 2x3 --json").json()["expected_score"]
        .as_f64()
        .unwrap();
    let end = |n: usize| found["mean_ci95"][n].as_f64().unwrap();
    let margin = 1.6 * (end(1) - end(0));
    let mean = found["mean"].as_f64().unwrap();
    assert!((mean - optimum).abs() < margin, "{mean} {optimum}");
    assert_eq!(found["search"], "exact");
    assert_eq!(found["model"]["path"], "s");
    assert_eq!(found["model"]["sha256"].as_str().unwrap().len(), 64);
    lab.run("solve --board 4x4 --target 8 --out short")
        .succeeds();
    lab.refuses("eval short", &["ends at 8", "whole game"]);
    let against = lab.run("compare s greedy --games 2000 --json").json();
    assert_eq!(against["better"], "a");
}

#[test]
fn players_that_cannot_be_measured_are_refused() {
    let lab = solved();
    lab.train("other", 20, "--board 3x3 --set tuples=012");
    lab.refuses("eval other --against s", &["2048 on 3x3", "2048 on 2x3"]);
    lab.train(
        "plain",
        20,
        "--board 2x3 --set tuples=012 --set symmetry=false",
    );
    lab.refuses(
        "eval plain --against s --fast",
        &["does not use symmetries"],
    );
    lab.refuses(
        "eval plain --against plain/model.safetensors",
        &["not a usable solution", "it is a model"],
    );
    lab.refuses("eval plain --against s --games 10", &["--games"]);
    lab.refuses("eval plain --fast", &["--against"]);
    lab.refuses("eval plain --keep", &["--against"]);
    lab.run("convert plain alone.safetensors").succeeds();
    let alone = "eval alone.safetensors --against s --keep";
    lab.refuses(alone, &["is not a run folder: it has no blocks.csv"]);
    lab.run("solve --board 2x3 --discount 0.5 --out half")
        .succeeds();
    lab.refuses("eval plain --against half", &["0.5", "without discount"]);
}

#[test]
fn gaps_are_kept_and_drawn() {
    let lab = solved();
    lab.train("run", 50, "--board 2x3 --set tuples=012345");
    let first = lab.run("eval run --against s --keep --json").json();
    lab.run("train --resume run --episodes 400").succeeds();
    for model in ["run", "run/model.safetensors"] {
        let text = lab
            .run(&format!("eval {model} --against s --keep"))
            .succeeds()
            .stdout;
        assert!(text.contains("trained for 400 games"), "{text}");
    }
    let kept = lab.text("run/gaps.csv");
    let lines: Vec<&str> = kept.lines().collect();
    let header = "games,expected_score,optimum,gap,relative_gap,optimal_moves,mean_regret,moves";
    assert_eq!(lines[0], format!("{header},symmetries"));
    assert_eq!(lines.len(), 3, "a line for each number of games: {kept}");
    let figures: Vec<&str> = lines[1].split(',').collect();
    assert_eq!(figures[0], "50");
    for (name, figure) in header.split(',').zip(figures).skip(1) {
        near(&first[name], figure.parse().expect("a number"), 1e-12);
    }
    assert!(lines[2].starts_with("400,"), "{kept}");
    assert!(lines[1].ends_with(",all"), "{kept}");
    lab.run("eval run --against s --fast --keep").succeeds();
    assert!(lab.text("run/gaps.csv").ends_with(",one\n"), "{kept}");

    let done = lab.run("plot run").succeeds();
    assert_eq!(done.stdout.lines().count(), 8, "{}", done.stdout);
    assert!(done.stdout.contains("run/plots/gap.png"), "{}", done.stdout);
    assert!(lab.bytes("run/plots/gap.png").len() > 1000);
    let svg = lab.text("run/plots/gap.svg");
    assert!(svg.contains(">optimality gap: "), "{svg}");

    lab.train("other", 20, "--board 2x3 --set tuples=012");
    let done = lab.run("plot run other --out both").succeeds();
    assert!(
        done.stderr.ends_with("measured them: other\n"),
        "{}",
        done.stderr
    );
    assert_eq!(lab.run("plot other").succeeds().stderr, "");
    assert_eq!(lab.names("both").len(), 8);
    lab.write("run/gaps.csv", kept.replace("\n400,", "\nmany,"));
    lab.refuses("plot run --out new", &["run/gaps.csv", "line 3"]);
    lab.refuses("eval run --against s --keep", &["run/gaps.csv", "line 3"]);
}
