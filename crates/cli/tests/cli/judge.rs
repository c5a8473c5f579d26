//! `eval --records` and `judge`: games as text, and whether they follow the rules.

use crate::common::Lab;

const GAME: &str = "slide:place@1600000036503|C1E2#L92#D[8]A1#LA1#D[4]31|place@1600000036503\n";
/// A game on 2x2 that is over.
const OVER: &str = "slide:place@1600000036503|1131#U[4]01#D12#U[8]21#R22|place@1600000036503\n";

#[test]
fn recorded_games_pass_and_have_the_same_figures() {
    let lab = Lab::new();
    for game in ["2048", "threes", "threes-hint", "threes-original", "2584"] {
        let eval = format!("eval greedy --game {game} --games 50 --records games.txt --json");
        let played = lab.run(&eval).json();
        let judged = lab.run("judge games.txt --games 50 --json").json();
        assert_eq!(judged["game"], game, "it is guessed");
        assert_eq!(judged["passed"], true, "{judged}");
        assert_eq!(judged["episodes"], 50);
        assert_eq!(judged["unfinished"], 0);
        assert_eq!(judged["mean"], played["mean"]);
        assert_eq!(judged["max"], played["max"]);
        assert_eq!(judged["faults"].as_array().map(Vec::len), Some(0));
        assert_eq!(judged["duplicates"], 0);
        // Only points of Threes! are compared with others.
        let note = judged["assessment_note"].as_str().unwrap_or_default();
        assert_eq!(note.contains("86.9 points"), game == "threes", "{judged}");
        let told = lab.run("judge games.txt").succeeds().stdout;
        assert_eq!(
            told.contains("this one gives 97.2"),
            game == "threes",
            "{told}"
        );
        // The player's own seal, which an evaluation writes, is no referee's.
        assert_eq!(judged["sealed"], false);
        assert_eq!(judged["seal"]["verified"], true);
        assert_eq!(judged["seal"]["kind"], "own");
        let tests = judged["tests"].as_array().expect("tests");
        assert!(tests.len() >= 5, "{tests:?}");
        assert_eq!(tests[0]["name"], "cells of new tiles");
        for test in tests {
            assert!(test["p"].as_f64().expect("p") > 1e-6, "{test}");
            assert_eq!(test["passed"], true);
        }
    }
    // 2584's games are none of 2048's.
    let other = lab.run("judge games.txt --game 2048").ends_with(1);
    let words = "FAULT the records are of 2584 on 4x4, not of 2048 on 4x4";
    assert!(other.stdout.contains(words), "{}", other.stdout);
    let words = "FAULT the seal is of a match of 2584 on 4x4, expected 2048 on 4x4";
    assert!(other.stdout.contains(words), "{}", other.stdout);
    assert_eq!(other.stdout.matches("FAULT").count(), 2, "{}", other.stdout);
    assert!(other.stderr.contains("in the records"), "{}", other.stderr);
    assert_eq!(lab.names("."), ["games.txt", "games.txt.seal.json"]);
}

#[test]
fn a_verdict_is_told() {
    let lab = Lab::new();
    lab.write("games.txt", OVER);
    let text = lab.run("judge games.txt").succeeds().stdout;
    for words in [
        "2048 on 2x2, by the rules that the records follow",
        "mean = 12",
        "passed: 1 valid episode",
        "Assessment: 0.0 points",
        "moves: 4 by the player, 6 by the environment",
        "actions: passed",
        "Records do not show which games were left out, who played them",
    ] {
        assert!(text.contains(words), "{words} in {text}");
    }
    lab.write("games.txt", GAME);
    let text = lab.run("judge games.txt").ends_with(1).stdout;
    for words in [
        "unfinished games: 1",
        "FAULT line 1: the game is not over: the slides",
        "FAILED: 1 game is not over (1 valid episode)",
    ] {
        assert!(text.contains(words), "{words} in {text}");
    }
    assert!(!text.contains("Assessment"), "{text}");
    let slow = OVER.replace("|place@1600000036503", "|place@1600000037503");
    lab.write("slow.txt", slow);
    let text = lab
        .run("judge slow.txt --min-speed 100")
        .ends_with(1)
        .stdout;
    for words in [
        "4 moves per second, expected at least 100",
        "actions: passed",
        "speed: FAILED (4 moves/s; expected at least 100 moves/s)",
    ] {
        assert!(text.contains(words), "{words} in {text}");
    }
    let fast = lab.run("judge slow.txt --min-speed 3 --json").json();
    assert_eq!(
        (&fast["actions_passed"], &fast["speed_passed"]),
        (&true.into(), &true.into())
    );
    assert_eq!(fast["player"]["moves"], 4);
    // The times of the player's slides and of new tiles are apart.
    let timed = OVER
        .replace("#U[8]", "#U[8](250)")
        .replace("#D12", "#D12(500)");
    lab.write(
        "timed.txt",
        timed.replace("|place@1600000036503", "|place@1600000037503"),
    );
    let text = lab.run("judge timed.txt").succeeds().stdout;
    let words = "moves: 4 by the player (16 moves/s), 6 by the environment (12 moves/s)";
    assert!(text.contains(words), "{text}");
}

/// Whoever takes the times away does not get past a limit.
#[test]
fn an_unknown_speed_is_no_speed() {
    let lab = Lab::new();
    lab.write("games.txt", OVER);
    // Four moves in less than a millisecond.
    lab.run("judge games.txt --min-speed 3999").succeeds();
    let done = lab.run("judge games.txt --min-speed 4001").ends_with(1);
    assert!(
        done.stdout.contains("the times are too coarse"),
        "{}",
        done.stdout
    );
    for wrong in ["nan", "inf", "-1", "fast"] {
        lab.refuses(
            &format!("judge games.txt --min-speed {wrong}"),
            &["expected a number of moves"],
        );
    }
}

/// Records are written over records alone, and through links.
#[test]
fn records_replace_nothing_but_records() {
    let lab = Lab::new();
    let eval = "eval random --games 2 --records";
    lab.write("dear.txt", "a letter\n");
    lab.refuses(
        &format!("{eval} dear.txt"),
        &["dear.txt already exists", "not a file of records"],
    );
    assert_eq!(lab.text("dear.txt"), "a letter\n");
    lab.write("empty.txt", "");
    lab.run(&format!("{eval} empty.txt")).succeeds();
    lab.run(&format!("{eval} empty.txt")).succeeds();
    lab.run("judge empty.txt").succeeds();
    #[cfg(unix)]
    {
        lab.refuses(&format!("{eval} /dev/null"), &["/dev/null already exists"]);
        std::os::unix::fs::symlink(lab.path("empty.txt"), lab.path("link")).unwrap();
        lab.run(&format!("{eval} link --seed 3")).succeeds();
        assert!(lab.path("link").is_symlink() && !lab.exists("link.seal.json"));
        lab.run("judge link").succeeds();
        lab.run("judge empty.txt").succeeds();
    }
}

/// An evaluation seals its records, and says that nobody else did.
#[test]
fn records_of_an_evaluation_have_a_seal_of_the_player() {
    let lab = Lab::new();
    lab.train("model", 5, "--set tuples=0123");
    for (player, game) in [
        ("model", "2048"),
        ("random --game threes-hint", "threes-hint"),
        ("greedy --game 2584", "2584"),
    ] {
        let eval = format!("eval {player} --games 30 --seed 5 --threads 2 --records games.txt");
        lab.run(&eval).succeeds();
        let judged = lab.run("judge games.txt --json").json();
        let seal = &judged["seal"];
        assert_eq!(
            (&judged["passed"], &seal["verified"], &judged["sealed"]),
            (&true.into(), &true.into(), &false.into())
        );
        assert_eq!((&seal["kind"], &seal["seed"]), (&"own".into(), &5.into()));
        assert_eq!(
            (&judged["game"], &seal["games"]),
            (&game.into(), &30.into())
        );
    }
    let text = lab.run("judge games.txt").succeeds().stdout;
    for words in [
        "seal: passed, the player's own, 30 games of seed 5 by greedy",
        "no referee: the new tiles are those of the seed",
        "may have tried many seeds, and chose the number of games",
    ] {
        assert!(text.contains(words), "{words} in {text}");
    }
    lab.run("check games.txt").succeeds();
    let (records, seal) = (lab.text("games.txt"), lab.text("games.txt.seal.json"));
    assert!(
        seal.contains("The player's own seal, without a referee"),
        "{seal}"
    );
    // The same games under another seed, without a game, or with another one.
    let lines: Vec<&str> = records.split_inclusive('\n').collect();
    let without = [&lines[..3], &lines[4..]].concat().concat();
    let short = lines[..29].concat();
    for (records, seal, words) in [
        (
            &records,
            seal.replace("\"seed\": 5", "\"seed\": 6"),
            "but the one that was drawn is",
        ),
        (
            &without,
            seal.clone(),
            "this is game 4 of the match, expected game 3",
        ),
        (&short, seal.clone(), "the records end after game 28"),
    ] {
        lab.write("games.txt", records);
        lab.write("games.txt.seal.json", seal);
        let done = lab.run("judge games.txt").ends_with(1);
        assert!(done.stdout.contains(words), "{words} in {}", done.stdout);
        assert!(done.stdout.contains("seal: FAILED"), "{}", done.stdout);
    }
    // A crash between the records and their seal leaves the seal of other records.
    lab.run("eval greedy --games 3 --seed 9 --records games.txt")
        .succeeds();
    let stale = lab.text("games.txt.seal.json");
    lab.run("eval greedy --games 3 --seed 8 --records games.txt")
        .succeeds();
    lab.run("judge games.txt").succeeds();
    lab.write("games.txt.seal.json", stale);
    let done = lab.run("judge games.txt").ends_with(1);
    assert!(
        done.stdout.contains("the SHA-256 of the records is"),
        "{}",
        done.stdout
    );
    // Nothing but a seal of an evaluation is overwritten.
    lab.write("games.txt.seal.json", "a letter");
    lab.refuses(
        "eval greedy --games 2 --records games.txt",
        &["games.txt.seal.json already exists"],
    );
    // Lots that depend on values cannot be drawn again: there is no seal then.
    lab.train("lots", 5, "--set tuples=0123 --set learner.ties=random");
    lab.run("eval lots --games 3 --records lots.txt").succeeds();
    assert!(!lab.exists("lots.txt.seal.json"));
    lab.run("judge lots.txt").succeeds();
}

/// The same games are recorded on any number of threads, but for their order and times.
#[test]
fn records_do_not_depend_on_threads() {
    let lab = Lab::new();
    let moves = |threads: u32| {
        let args =
            format!("eval random --game threes --games 40 --threads {threads} --records games.txt");
        lab.run(&args).succeeds();
        let text = lab.text("games.txt");
        let played = |line: &str| {
            let moves = line.split('|').nth(1).expect("moves");
            let mut untimed = String::new();
            let mut in_time = false;
            for c in moves.chars() {
                in_time = c == '(' || in_time && c != ')';
                if !in_time && c != ')' {
                    untimed.push(c);
                }
            }
            untimed
        };
        let mut games: Vec<String> = text.lines().map(played).collect();
        games.sort();
        games
    };
    assert_eq!(moves(1), moves(2));
}

/// Each forgery with the words that name it.
#[test]
fn forgeries_are_named_with_their_place() {
    let lab = Lab::new();
    for (from, to, words) in [
        (
            "#D[8]",
            "#D[4]",
            [
                "line 2, action 5, column 35",
                "a reward of 4, but the action earns 8",
            ],
        ),
        (
            "#D[8]",
            "#D",
            ["line 2, action 5, column 35", "a reward of 0"],
        ),
        (
            "E2#L",
            "E2#D",
            [
                "line 2, action 3, column 31",
                "a slide down changes nothing",
            ],
        ),
        (
            "E2#L",
            "C2#L",
            ["line 2, action 2", "cell 12, which is not empty"],
        ),
        (
            "E2#L",
            "E3#L",
            [
                "line 2, action 2",
                "index 3, but the possible ones are 1, 2",
            ],
        ),
        (
            "E2#L",
            "#L#L",
            ["line 2, action 2", "a slide where a new tile is due"],
        ),
        (
            "#L92",
            "A192",
            ["line 2, action 3", "a new tile where a slide is due"],
        ),
        (
            "31|place@1600000036503",
            "31",
            ["line 2", "found the end of the line"],
        ),
        (
            "31|place@1600000036503",
            "31|place@1600000036502",
            ["line 2", "before it was opened"],
        ),
        ("C1E2", "C1", ["line 2", "a slide where a new tile is due"]),
        ("#L92", "#X92", ["line 2", "expected U, R, D or L"]),
    ] {
        let forged = GAME.replacen(from, to, 1);
        assert_ne!(forged, GAME, "{from}");
        lab.write("games.txt", format!("{GAME}{forged}"));
        let done = lab.run("judge games.txt --game 2048").ends_with(1);
        for word in words {
            assert!(done.stdout.contains(word), "{word} in {}", done.stdout);
        }
        assert!(
            done.stdout
                .contains("FAILED: 1 line is not a game by the rules; 1 game is not over"),
            "{}",
            done.stdout
        );
    }
    // What fails has no points, for a script either.
    let done = lab.run("judge games.txt --json").ends_with(1);
    let judged: serde_json::Value = serde_json::from_str(&done.stdout).expect("JSON");
    assert_eq!(judged["passed"], false);
    assert_eq!(judged["assessment"], serde_json::Value::Null);
}

#[test]
fn what_cannot_be_judged_is_refused() {
    let lab = Lab::new();
    lab.write("empty.txt", "");
    lab.write("games.txt", GAME);
    lab.refuses("judge nothing.txt", &["nothing.txt"]);
    lab.refuses("judge empty.txt", &["empty.txt", "no records"]);
    lab.refuses("judge .", &["is a folder; expected a file of records"]);
    lab.refuses("judge games.txt --game chess", &["chess", "threes", "2584"]);
    lab.refuses("judge games.txt --board 9x9", &["9x9", "from 2 to 5"]);
    lab.refuses("eval random --game chess", &["chess", "2048"]);
    lab.refuses(
        "eval random --records no/such/folder.txt",
        &["no/such/folder.txt"],
    );
    // Lines of anything at all are faults, not crashes.
    lab.write(
        "noise.txt",
        (0..=255).cycle().take(100_000).collect::<Vec<u8>>(),
    );
    let done = lab.run("judge noise.txt").ends_with(1);
    assert!(done.stdout.contains("FAILED"), "{}", done.stdout);
}

/// Forged files, each with the words that say what failed, and none with points.
#[test]
fn what_failed_is_said_in_words() {
    let lab = Lab::new();
    lab.run("eval greedy --games 30 --records games.txt")
        .succeeds();
    let text = lab.text("games.txt");
    let change_times = |from: &str| {
        let line = |line: &str| {
            let mut parts: Vec<String> = line.split('|').map(str::to_owned).collect();
            for part in [0, 2] {
                let (name, _) = parts[part].split_once('@').expect("a time");
                parts[part] = format!("{name}@{from}");
            }
            let untimed = parts[1].split('(');
            let untimed =
                untimed.map(|moves| moves.split_once(')').map_or(moves, |(_, rest)| rest));
            parts[1] = untimed.collect();
            parts.join("|") + "\n"
        };
        text.lines().map(line).collect::<String>()
    };
    for (forged, options, words) in [
        (text.repeat(2), "", "FAILED: 30 games are repeated ("),
        (
            text.clone(),
            " --games 1000",
            "FAILED: the number of games is not the required one (",
        ),
        (change_times("0"), "", "FAILED: the times cannot be true ("),
        (
            change_times("253370764800000"),
            "",
            "FAILED: the times cannot be true (",
        ),
    ] {
        lab.write("forged.txt", forged);
        let done = lab.run(&format!("judge forged.txt{options}")).ends_with(1);
        assert!(done.stdout.contains(words), "{words} in {}", done.stdout);
        assert!(!done.stdout.contains("Assessment"), "{}", done.stdout);
    }
    lab.refuses("judge games.txt --games 0", &["0"]);
    lab.refuses("judge games.txt --model nothing", &["nothing"]);
}

/// Luck by a model; one of another game is refused.
#[test]
fn luck_may_be_measured_by_a_model() {
    let lab = Lab::new();
    lab.run("train quick --episodes 100 --threads 1 --out run")
        .succeeds();
    lab.run("eval run --games 20 --records games.txt")
        .succeeds();
    let text = lab.run("judge games.txt --model run").succeeds().stdout;
    assert!(text.contains("luck of the player by run: p "), "{text}");
    lab.run("eval greedy --game threes --games 20 --records threes.txt")
        .succeeds();
    lab.refuses(
        "judge threes.txt --model run",
        &[
            "plays 2048 on 4x4",
            "threes.txt has records of threes on 4x4",
        ],
    );
}
