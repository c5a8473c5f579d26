//! `review`: recorded games are graded.

use crate::common::Lab;

fn lab() -> Lab {
    let lab = Lab::new();
    lab.train("runs/small", 200, "--board 3x3 --set tuples=0123");
    lab.run("eval greedy --board 3x3 --games 8 --records games.txt")
        .succeeds();
    lab
}

#[test]
fn games_are_reviewed_as_text_and_json() {
    let lab = lab();
    let found = lab.run("review games.txt runs/small --json").json();
    let games = found["games"].as_array().expect("games");
    assert_eq!((games.len(), &found["total"]["games"]), (8, &8.into()));
    let mut moves = 0;
    for game in games {
        let accuracy = game["accuracy"].as_f64().expect("a number");
        assert!((0.0..=1.0).contains(&accuracy), "{game}");
        assert!(game["luck"].is_number() && game["luck_z"].is_number());
        let own = game["moves"].as_array().expect("moves");
        assert_eq!(game["move_count"], own.len());
        moves += own.len();
        for one in own {
            assert!(
                one["loss"].as_f64().is_some_and(|loss| loss >= 0.0),
                "{one}"
            );
            assert!(one["grade"].is_string(), "{one}");
        }
    }
    assert_eq!(found["total"]["move_count"], moves);
    let counts = found["total"]["grades"].as_object().expect("grades");
    let graded: u64 = counts.values().filter_map(|count| count.as_u64()).sum();
    assert_eq!(graded, moves as u64);
    assert_eq!(found["total"]["worst"].as_array().map(Vec::len), Some(3));

    // The newest model of the game is taken.
    let other = lab.run("review games.txt --json").json();
    assert_eq!(other["games"], found["games"]);
    let searched = lab.run("review games.txt --search 2ply --json").json();
    assert_eq!(
        (&searched["search"], &searched["luck_search"]),
        (&"2ply".into(), &"1ply".into())
    );
    assert_eq!(searched["total"]["luck"], found["total"]["luck"]);

    let text = lab.run("review games.txt --top 1").succeeds().stdout;
    for words in [
        "8 games of 2048 on 3x3",
        "accuracy",
        "blunder",
        "worst moves",
        "luckiest new tiles",
        "z = ",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    let strict = lab
        .run("review games.txt --thresholds 1,1,1,1 --json")
        .json();
    let grades = &strict["total"]["grades"];
    assert_eq!(
        grades["mistake"].as_u64().zip(grades["good"].as_u64()),
        Some((0, 0))
    );
}

/// Threads share a game in pieces of 256 moves, and the boards of a search.
#[test]
fn threads_do_not_matter() {
    let lab = Lab::new();
    lab.train("runs/big", 300, "");
    lab.run("eval runs/big --games 2 --records games.txt")
        .succeeds();
    for search in ["", "--search 2ply"] {
        let [one, three] = [1, 3].map(|threads| {
            let args = format!("review games.txt runs/big {search} --threads {threads} --json");
            lab.run(&args).json()
        });
        assert_eq!(one, three, "{search}");
        let moves = one["total"]["move_count"].as_u64();
        assert!(moves > Some(2 * 256), "more than one piece: {moves:?}");
    }
}

#[test]
fn what_cannot_be_reviewed_is_told() {
    let lab = lab();
    let good = lab.text("games.txt");
    lab.write("mixed.txt", format!("nonsense\n{good}"));
    let done = lab.run("review mixed.txt").succeeds();
    assert!(
        done.stderr.contains("line 1 is left out"),
        "{}",
        done.stderr
    );
    lab.write("empty.txt", "");
    lab.refuses("review empty.txt", &["no records"]);
    lab.write("bad.txt", "nonsense\n");
    lab.refuses(
        "review bad.txt runs/small",
        &["bad.txt", "line 1", "column"],
    );
    lab.refuses("review missing.txt", &["missing.txt"]);
    lab.refuses("review games.txt missing", &["missing"]);
    lab.refuses("review games.txt --thresholds 0.9", &["four shares"]);
    lab.write("replay.txt", "4x4-_¾ú0¾úg2ÅS\n");
    lab.refuses(
        "review replay.txt runs/small",
        &["2048 on 3x3", "2048 on 4x4"],
    );
    lab.train("big", 20, "");
    let replay = lab.run("review replay.txt big --json").json();
    assert_eq!(
        (
            &replay["games"][0]["score"],
            &replay["games"][0]["finished"]
        ),
        (&4.into(), &false.into())
    );
}

/// The baseline plays the game of the records.
#[test]
fn games_are_reviewed_by_rewards_alone() {
    let lab = lab();
    let found = lab.run("review games.txt greedy --json").json();
    assert_eq!(
        (&found["search"], &found["board"]),
        (&"greedy".into(), &"3x3".into())
    );
    // These games were played by it.
    let total = &found["total"];
    assert_eq!(
        (&total["accuracy"], &total["mean_loss"]),
        (&1.0.into(), &0.0.into())
    );
    assert!(total["luck_z"].is_number(), "{total}");
    lab.run("eval random --board 3x3 --games 2 --records random.txt")
        .succeeds();
    let done = lab.run("review random.txt greedy").succeeds();
    assert!(
        done.stdout.contains("reviewed by greedy, by rewards alone"),
        "{}",
        done.stdout
    );
    assert!(done.stdout.contains("loses"), "{}", done.stdout);
    lab.refuses("review games.txt random", &["no values", "`greedy`"]);
    lab.refuses("review games.txt greedy --by-chance", &["exact solution"]);
    lab.refuses("review games.txt greedy --search 2ply", &["no values"]);
}

#[test]
fn folders_are_not_records() {
    let lab = lab();
    for command in ["review", "judge"] {
        lab.refuses(
            &format!("{command} runs/small"),
            &[
                "runs/small is a run; expected a file of records",
                "`afterstate eval runs/small --records games.txt` writes one",
            ],
        );
        lab.refuses(
            &format!("{command} runs"),
            &["runs is a folder; expected a file of records", "--records"],
        );
    }
}

/// Games of another board are called that, and not broken games of this one.
#[test]
fn games_of_another_board_are_told() {
    let lab = lab();
    for (name, more) in [
        ("other", "--board 2x3"),
        ("threes", "--board 3x3 --game threes"),
    ] {
        lab.run(&format!(
            "eval greedy {more} --games 2 --records {name}.txt"
        ))
        .succeeds();
    }
    lab.refuses(
        "review other.txt runs/small",
        &["2048 on 3x3", "2048 on 2x3"],
    );
    let mixed = lab.text("games.txt") + &lab.text("other.txt") + &lab.text("threes.txt");
    lab.write("mixed.txt", mixed);
    let done = lab.run("review mixed.txt runs/small").succeeds();
    for words in [
        "line 9 is left out: a game of 2048 on 2x3, but the model plays 2048 on 3x3",
        "line 11 is left out: a game of threes on 3x3, but",
    ] {
        assert!(done.stderr.contains(words), "{words}: {}", done.stderr);
    }
    assert!(
        done.stdout.contains("8 games of 2048 on 3x3"),
        "{}",
        done.stdout
    );
}

/// With the chance of a target, losses and luck are percentage points.
#[test]
fn games_are_reviewed_by_the_chance_of_a_target() {
    let lab = lab();
    lab.run("solve --board 2x2 --target 16 --out 2x2.solution")
        .succeeds();
    lab.run("solve --board 2x2 --out score.solution").succeeds();
    lab.run("eval random --board 2x2 --games 30 --records random.txt")
        .succeeds();
    let found = lab
        .run("review random.txt 2x2.solution --by-chance --json")
        .json();
    assert_eq!(found["target"], 16);
    for game in found["games"].as_array().expect("games") {
        for one in game["moves"].as_array().expect("moves") {
            let loss = one["loss"].as_f64().expect("a number");
            assert!((0.0..=100.0).contains(&loss), "{one}");
        }
    }
    let text = lab
        .run("review random.txt 2x2.solution --by-chance")
        .succeeds();
    for words in ["percentage points of the chance of 16", "exact chances"] {
        assert!(text.stdout.contains(words), "{}", text.stdout);
    }
    lab.refuses(
        "review random.txt score.solution --by-chance",
        &["no target", "solve --target"],
    );
    lab.refuses(
        "review games.txt runs/small --by-chance",
        &["exact solution"],
    );
    lab.refuses(
        "review random.txt 2x2.solution --by-chance --search 2ply",
        &["--search"],
    );
}
