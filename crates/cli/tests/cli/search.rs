//! Searching from the command line.

use crate::common::Lab;

/// A small player of 3x3.
fn lab() -> Lab {
    let lab = Lab::new();
    lab.train("run", 200, "--board 3x3 --set tuples=0123");
    lab
}

#[test]
fn a_search_is_named_and_does_not_depend_on_threads() {
    let lab = lab();
    let eval = |more: &str| {
        lab.run(&format!("eval run --games 30 {more} --json"))
            .json()
    };
    let greedy = eval("");
    let one = eval("--search 3ply --threads 1");
    let two = eval("--search 3ply --threads 2 --hash 1");
    assert_eq!(
        (&greedy["search"], &one["search"]),
        (&"1ply".into(), &"3ply".into())
    );
    assert_eq!((&one["mean"], &one["tiles"]), (&two["mean"], &two["tiles"]));
    assert!(
        one["mean"].as_f64() > greedy["mean"].as_f64(),
        "{one} {greedy}"
    );
    for search in ["5ms", "empty:2=4ply,2ply"] {
        let found = lab
            .run(&format!("eval run --games 3 --search {search} --json"))
            .json();
        assert_eq!(found["search"], search);
    }
    let cut = eval("--search 3ply --cutoff 0.2");
    assert_eq!(cut["search"], "3ply, new tiles below 0.2 one ply less");
}

/// What a search plays is recorded, and the records are judged as those of any player.
#[test]
fn searched_games_are_recorded() {
    let lab = lab();
    lab.run("eval run --games 20 --search 2ply --records games.txt")
        .succeeds();
    let judged = lab.run("judge games.txt --json").json();
    assert_eq!(
        (&judged["passed"], &judged["seal"]["verified"]),
        (&true.into(), &true.into())
    );
}

#[test]
fn two_searches_are_compared() {
    let lab = lab();
    let compared = lab
        .run("compare run run --search 3ply --search-b 1ply --games 100 --json")
        .json();
    assert_eq!(compared["better"], "a");
    let words = lab
        .run("compare run run --search 2ply --games 5")
        .succeeds()
        .stdout;
    assert!(words.contains("A and B are equal"), "{words}");
}

#[test]
fn an_analysis_has_losses_and_names_its_search() {
    let lab = lab();
    let board = "2,0,4/0,8,0/2,16,2";
    let found = lab
        .run(&format!("analyze {board} --model run --search 4ply --json"))
        .json();
    assert_eq!(found["search"], "4ply");
    let moves = found["moves"].as_array().expect("moves");
    let best = moves.iter().find(|one| one["direction"] == found["best"]);
    assert_eq!(best.expect("the best move")["loss"], 0.0);
    let losses = moves.iter().filter(|one| one["legal"] == true);
    assert!(
        losses.clone().all(|one| one["loss"].as_f64() >= Some(0.0)),
        "{found}"
    );
    let text = lab
        .run(&format!("analyze {board} --model run --search 4ply"))
        .succeeds();
    assert!(
        text.stdout.contains("4ply") && text.stdout.contains("loss"),
        "{}",
        text.stdout
    );
}

#[test]
fn settings_without_an_effect_are_refused() {
    let lab = lab();
    for option in ["--hash 16", "--cutoff 0.2", "--downgrade 256"] {
        lab.refuses(
            &format!("eval run --games 2 {option}"),
            &["no effect", "--search"],
        );
    }
    lab.refuses("eval random --search 2ply", &["random", "no values"]);
    for search in ["0ply", "99ply", "ply", "0ms", "empty:3ply", "deep"] {
        lab.refuses(
            &format!("eval run --search {search}"),
            &[search, "3ply", "100ms"],
        );
    }
    lab.refuses("eval run --search 2ply --hash 0", &["0"]);
    lab.refuses("eval run --search 2ply --cutoff 2", &["0 to 1"]);
    lab.refuses(
        "eval run --search 2ply --cutoff 0.2",
        &["--cutoff has no effect on a search of 2ply", "3ply"],
    );
    lab.run("eval run --search empty:4=3ply,2ply --cutoff 0.2 --games 1")
        .succeeds();
    lab.refuses("eval run --search 2ply --downgrade 3", &["3 is not a tile"]);
    lab.lacks_room("eval run --search 2ply --hash 1000000", &["table", "free"]);
}

/// A limit of time is that of the whole answer: its search, and the searches of its lines.
#[test]
fn a_time_is_that_of_the_whole_answer() {
    let lab = lab();
    let board = "2,0,4/0,0,0/0,16,2";
    let timed = |search: &str| {
        let begun = std::time::Instant::now();
        let args = format!("analyze {board} --model run --search {search} --hash 1 --json");
        (lab.run(&args).json(), begun.elapsed())
    };
    let (_, start) = timed("1ms");
    let (found, taken) = timed("2000ms");
    assert_eq!(found["search"], "2000ms");
    assert!(found["plies"].as_u64() > Some(2), "{found}");
    let line = &found["moves"][3]["line"];
    assert_eq!(line.as_array().map(Vec::len), Some(5), "{found}");
    // Sixteen searches of two seconds each would take half a minute.
    let most = start.mul_f64(3.0) + std::time::Duration::from_secs(6);
    assert!(taken < most, "{taken:?}, {start:?}");
}

/// The values of a search that is stopped are those of its last complete ply.
#[test]
#[cfg(unix)]
fn a_search_that_is_stopped_has_its_last_complete_ply() {
    use rustix::process::{Pid, Signal, kill_process};
    use std::io::{BufRead, BufReader, Read};
    use std::process::Stdio;

    let lab = lab();
    let board = "2,0,0/0,0,0/0,0,2";
    let mut command = lab.command(&format!(
        "analyze {board} --model run --search 16ply --hash 1 --threads 1 --json"
    ));
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program");
    let mut errors = BufReader::new(child.stderr.take().expect("a pipe"));
    let mut line = String::new();
    // The first ply that is told: its number begins the line.
    errors.read_line(&mut line).expect("a line");
    let told: u64 = line
        .split("ply")
        .next()
        .and_then(|n| n.parse().ok())
        .expect(&line);
    let id = Pid::from_raw(child.id() as i32).expect("a process");
    kill_process(id, Signal::INT).expect("a process of ours");
    let mut rest = String::new();
    errors.read_to_string(&mut rest).expect("its messages");
    let output = child.wait_with_output().expect("its end");
    assert_eq!(output.status.code(), Some(130), "{rest}");
    let found: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let plies = found["plies"].as_u64().expect("a number");
    assert!(plies >= told && plies < 16, "{found}");
    assert_eq!(found["interrupted"], true);
    assert!(rest.contains(&format!("those of {plies}ply")), "{rest}");
    let whole = lab
        .run(&format!(
            "analyze {board} --model run --search {plies}ply --json"
        ))
        .json();
    for (one, other) in (0..4).map(|n| (&found["moves"][n], &whole["moves"][n])) {
        assert_eq!(one["total"], other["total"]);
    }
}

#[test]
fn baselines_and_solutions_analyse_as_well() {
    let lab = lab();
    let board = "2,4,8/8,8,2/2,16,4";
    let greedy = lab
        .run(&format!("analyze {board} --model greedy --json"))
        .json();
    assert_eq!(greedy["search"], "greedy");
    assert!(
        greedy["best"] == "right" || greedy["best"] == "left",
        "{greedy}"
    );
    assert_eq!(greedy["moves"][1]["total"], 16.0);
    lab.refuses(
        &format!("analyze {board} --model random"),
        &["no values", "--rollouts"],
    );
    let random = lab
        .run(&format!("analyze {board} --model random --rollouts 20"))
        .succeeds()
        .stdout;
    assert!(
        random.contains("chance of 32") && !random.contains("<- best"),
        "{random}"
    );
    let threes = "1,2,3/0,0,0/0,0,0+2";
    lab.run(&format!("analyze {threes} --model greedy --game threes"))
        .succeeds();
    lab.run("solve --board 2x2 --target 16 --out 2x2.solution")
        .succeeds();
    let ask = |how: &str| lab.run(&format!("analyze 2,2/0,4 {how}")).succeeds().stdout;
    let by_model = ask("--model 2x2.solution");
    assert_eq!(by_model, ask("--solution 2x2.solution"));
    assert!(
        by_model.contains("probability of 16, points lost"),
        "{by_model}"
    );
    let json = lab
        .run("analyze 2,2/0,4 --model 2x2.solution --json")
        .json();
    let moves = json["moves"].as_array().expect("moves");
    let chances = moves
        .iter()
        .filter_map(|one| one["win_probability"].as_f64());
    let most = chances.fold(0.0, f64::max);
    for one in moves.iter().filter(|one| one["legal"] == true) {
        let expected = 100.0 * (most - one["win_probability"].as_f64().expect("a number"));
        let lost = one["win_loss"].as_f64().expect("a number");
        assert!((lost - expected).abs() < 1e-9, "{one}");
    }
    lab.refuses(
        "analyze 2,2/0,4 --model 2x2.solution --game threes",
        &["2048 on 2x2"],
    );
}

/// The effect of a cut-off is shown by a comparison with the same search without it.
#[test]
fn a_search_is_compared_with_the_plain_one() {
    let lab = lab();
    let compare = "compare run run --search 3ply --cutoff 0.2 --games 20";
    let found = lab.run(&format!("{compare} --plain-b --json")).json();
    assert_eq!(
        (&found["a"]["search"], &found["b"]["search"]),
        (
            &"3ply, new tiles below 0.2 one ply less".into(),
            &"3ply".into()
        )
    );
    let plain = lab.run("eval run --search 3ply --games 20 --json").json();
    assert_eq!(found["b"]["mean"], plain["mean"]);
    lab.refuses(
        "compare run run --search 3ply --plain-b",
        &["--plain-b", "--cutoff"],
    );
}

#[test]
fn two_baselines_are_compared_in_any_game() {
    let lab = lab();
    let found = lab
        .run("compare greedy random --game threes --board 3x3 --games 40 --json")
        .json();
    assert_eq!(
        (&found["a"]["game"], &found["a"]["board"]),
        (&"threes".into(), &"3x3".into())
    );
    for option in ["--game 2048", "--board 3x3"] {
        lab.refuses(
            &format!("compare run random {option}"),
            &["--game and --board"],
        );
    }
}

#[test]
fn a_search_without_a_unit_is_advised() {
    let lab = lab();
    lab.refuses("eval run --search 3", &["`3ply`", "`3ms`"]);
    lab.refuses("eval run --search 2s", &["`2000ms`"]);
}
