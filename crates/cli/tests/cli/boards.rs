//! `analyze` of boards as people have them, with rollouts and lines.

use std::io::Write;
use std::process::Stdio;

use serde_json::Value;

use crate::common::{Done, Lab};

/// The output with a text on standard input.
fn piped(lab: &Lab, args: &str, text: &str) -> Done {
    let mut command = lab.command(args);
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut running = command.stderr(Stdio::piped()).spawn().expect("it starts");
    let mut input = running.stdin.take().expect("its input");
    // A program that refuses its input may end before all of it is written.
    let _ = input.write_all(text.as_bytes());
    drop(input);
    Done::of(args, running.wait_with_output().expect("its end"))
}

const BOARD: &str = "1024,512,8,2/256,64,4,0/2,0,0,0/0,2,0,0";

#[test]
fn a_board_is_pasted_in_ten_ways() {
    let lab = Lab::new();
    lab.train("run", 100, "");
    let asked = lab
        .run(&format!("analyze {BOARD} --model run --json"))
        .json();
    assert_eq!(asked["position"], BOARD);
    let drawn = lab.run(&format!("analyze {BOARD} --model run")).succeeds();
    for text in [
        "1k 512 8 2/256 64 4 ./2 . . ./. 2 . .",
        "1024 512 8 2; 256 64 4 0; 2 0 0 0; 0 2 0 0",
        "1024 512 8 2|256 64 4 _|2 _ _ _|_ 2 _ _",
        "[[1024,512,8,2],[256,64,4,0],[2,0,0,0],[0,2,0,0]]",
        "[[1024  512    8    2]\n [ 256   64    4    0]\n [   2    0    0    0]\n [   0    2    0    0]]",
        "1024 512 8 2 256 64 4 0 2 0 0 0 0 2 0 0",
        "a931862010000100",
        "0xa931862010000100",
        "{\"grid\": [[1024,512,8,2],[256,64,4,null],[2,null,null,null],[null,2,null,null]]}",
        "1024\t512\t8\t2\n256\t64\t4\t\n2\t\t\t\n\t2\t\t\n",
        "+----+----+----+----+\n|1024| 512|   8|   2|\n+----+----+----+----+\n| 256|  64|   4|    |\n\
         +----+----+----+----+\n|   2|    |    |    |\n|    |   2|    |    |\n+----+----+----+----+",
        &drawn.stdout,
    ] {
        let found = lab.run_with("analyze --model run --json", text).json();
        assert_eq!(found, asked, "{text}");
        for args in ["analyze - --model run --json", "analyze --model run --json"] {
            assert_eq!(piped(&lab, args, text).json(), asked, "{args}: {text}");
        }
    }
    for (text, words) in [
        (
            "1k 512 8 2/256 64 4 ./2 . . ./. 2 . x",
            "`x` in row 4, cell 4",
        ),
        ("1k 512 8 2/256 64 4 ./2 . . .", "3 rows"),
        (
            "3k 512 8 2/256 64 4 ./2 . . ./. 2 . .",
            "3k in row 1, cell 1",
        ),
        ("", "standard input is empty"),
    ] {
        piped(&lab, "analyze - --model run", text).refused(&[words]);
    }
    let endless = "2 ".repeat(1 << 20);
    piped(&lab, "analyze - --model run", &endless).refused(&["too long"]);
}

/// A board is read once, also if the model turns out to be a solution.
#[test]
fn a_solution_named_as_model_reads_standard_input() {
    let lab = Lab::new();
    lab.run("solve --board 2x2 --out 2x2.solution").succeeds();
    let found = piped(&lab, "analyze --model 2x2.solution --json", "2,2/0,4").json();
    assert_eq!(found["search"], "exact");
    assert_eq!(found["position"], "2,2/0,4");
}

#[test]
fn rollouts_give_chances_and_lines_go_on() {
    let lab = Lab::new();
    lab.train("run", 100, "--board 3x3 --set tuples=0123");
    let board = "16,2,0/0,8,0/0,0,2";
    let ask = |more: &str| {
        lab.run(&format!(
            "analyze {board} --model run --rollouts 60 {more} --json"
        ))
        .json()
    };
    let one = ask("--threads 1");
    assert_eq!(one, ask("--threads 3"));
    assert_ne!(one["moves"], ask("--seed 2")["moves"]);
    assert_eq!(one["rollouts"]["games"], 60);
    assert_eq!(one["rollouts"]["search"], "1ply");
    let deeper = ask("--search 3ply --rollout-search 2ply");
    assert_eq!(
        (&deeper["search"], &deeper["rollouts"]["search"]),
        (&"3ply".into(), &"2ply".into())
    );
    for m in one["moves"].as_array().expect("moves") {
        assert_eq!(m["chances"][0]["tile"], 32, "{m}");
        let [low, p, high] = [
            &m["chances"][0]["ci95"][0],
            &m["chances"][0]["p"],
            &m["chances"][0]["ci95"][1],
        ]
        .map(|number| number.as_f64().expect("a number"));
        assert!(low <= p && p <= high, "{m}");
        assert_eq!(m["line"][0]["direction"], m["direction"]);
        assert!(m["rest"]["mean_ci95"].is_array(), "{m}");
    }
    let text = lab
        .run(&format!("analyze {board} --model run --rollouts 60"))
        .succeeds()
        .stdout;
    for words in [
        "│  16 │",
        "chance of 32",
        "60 games for each move by 1ply",
        "best line: ",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    lab.refuses(
        &format!("analyze {board} --model run --seed 3"),
        &["--rollouts"],
    );
    lab.refuses(
        &format!("analyze {board} --model run --rollouts 0"),
        &["--rollouts"],
    );
    lab.refuses(
        &format!("analyze {board} --model run --tile 64"),
        &["--rollouts"],
    );
    lab.write("board.txt", "2 0 0 0/0 0 0 4");
    lab.refuses("analyze board.txt", &["is a file", "analyze - < board.txt"]);
}

/// An exact solution plays on as well.
#[test]
fn a_solution_has_lines_and_rollouts() {
    let lab = Lab::new();
    lab.run("solve --board 2x2 --out s").succeeds();
    let found = lab
        .run("analyze 2,0/0,4 --solution s --rollouts 50 --json")
        .json();
    assert_eq!(found["moves"][0]["chances"][0]["p"], 1.0);
    assert!(found["moves"][0]["line"].is_array());
    lab.run("solve --board 2x2 --target 8 --out t").succeeds();
    let found: Value = lab.run("analyze 2,0/0,4 --solution t --json").json();
    assert!(found["moves"][0]["legal"] == true, "{found}");
    for (more, words) in [
        ("--threads 4", "--threads"),
        ("--rollouts 5 --rollout-search 3ply", "--rollout-search"),
    ] {
        lab.refuses(&format!("analyze 2,0/0,4 --solution s {more}"), &[words]);
    }
    // A mistyped option is no board.
    for args in ["--serach 3ply 2,0/0,4", "--jsno", "--jsno --solution s"] {
        lab.refuses(&format!("analyze {args}"), &["--"]);
    }
    let found = lab.run("analyze -,2/-,4 --solution s --json").json();
    assert_eq!(found["position"], "0,2/0,4");
    // A long line is refused, and not cut off.
    let long = format!("2,0/0,4{}junk\n2,0/0,4\n", " ".repeat(5000));
    let done = piped(&lab, "analyze --batch --solution s", &long);
    let answers: Vec<&str> = done.stdout.lines().collect();
    assert_eq!(answers.len(), 2, "{answers:?}");
    assert!(answers[0].contains("too long"), "{}", answers[0]);
    assert!(answers[1].contains("\"chances\":null"), "{}", answers[1]);
}
