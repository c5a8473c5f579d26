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
        (&judged["passed"], &judged["sealed"]),
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
    lab.refuses("eval run --search 2ply --downgrade 3", &["3 is not a tile"]);
    lab.lacks_room("eval run --search 2ply --hash 1000000", &["table", "free"]);
}
