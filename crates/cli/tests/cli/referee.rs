//! `referee`: matches against programs, and what `judge` says about their seals.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::common::{Done, Lab, Running, wait_for};

/// The folder of the reference players.
fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/referee")
}

/// Compiles the Rust player into the folder, as `student`.
pub fn student(lab: &Lab) {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let mut command = Command::new(rustc);
    command.args(["-O", "-o"]).arg(lab.path("student"));
    let done = command.arg(examples().join("player.rs")).output();
    Done::of("rustc", done.expect("rustc")).succeeds();
}

/// Whether a program is here; if not, that is printed.
fn is_here(program: &str) -> bool {
    match Command::new(program).arg("--version").output() {
        Ok(_) => true,
        Err(error) => {
            println!("SKIPPED: {program}: {error}");
            false
        }
    }
}

/// Plays, and verifies the seal.
fn plays_by_the_rules(lab: &Lab, player: &str) {
    for board in ["4x4", "2x3"] {
        let referee =
            format!("referee --games 10 --board {board} --records {board}.txt --json -- {player}");
        let played = lab.run(&referee).json();
        assert_eq!(played["passed"], true, "{played}");
        assert_eq!(played["games"], 10);
        let judged = lab.run(&format!("judge {board}.txt --json")).json();
        assert_eq!(
            (&judged["passed"], &judged["sealed"]),
            (&true.into(), &true.into())
        );
        assert_eq!(judged["board"], board, "it is that of the seal");
        assert_eq!(judged["mean"], played["mean"]);
        assert_eq!(judged["unfinished"], 0);
    }
}

#[test]
fn referee_plays_with_the_reference_player_in_rust() {
    let lab = Lab::new();
    student(&lab);
    plays_by_the_rules(&lab, "./student");
}

/// The reference players know the rules of 2048 alone, and say so.
#[test]
fn referee_players_say_which_game_they_play() {
    let lab = Lab::new();
    student(&lab);
    let done = lab.run("referee --games 1 --game threes -- ./student");
    let done = done.ends_with(1);
    assert!(done.stderr.contains("plays only 2048"), "{}", done.stderr);
}

#[test]
fn referee_plays_with_the_reference_player_in_python() {
    if is_here("python3") {
        let player = examples().join("player.py");
        plays_by_the_rules(&Lab::new(), &format!("python3 {}", player.display()));
    }
}

#[test]
fn referee_plays_with_the_reference_player_in_cpp() {
    if !is_here("c++") {
        return;
    }
    let lab = Lab::new();
    let mut command = Command::new("c++");
    command.args(["-O2", "-std=c++17", "-Wall", "-Wextra", "-Werror", "-o"]);
    command.arg(lab.path("student"));
    let done = command.arg(examples().join("player.cpp")).output();
    Done::of("c++", done.expect("a compiler")).succeeds();
    plays_by_the_rules(&lab, "./student");
}

/// A program of some lines that was written after the document finds the same secret behind the
/// games.
#[test]
fn referee_seals_can_be_verified_without_us() {
    if !is_here("python3") {
        return;
    }
    let lab = Lab::new();
    student(&lab);
    lab.run("referee --games 50 --records games.txt -- ./student")
        .succeeds();
    let verify = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/verify_seal.py");
    let mut command = Command::new("python3");
    command.arg(verify).arg(lab.path("games.txt"));
    let done = Done::of("verify_seal.py", command.output().expect("python3")).succeeds();
    assert_eq!(done.stdout, "verified 50 games\n");
}

/// A program that is a shell script.
fn script(lab: &Lab, lines: &str) {
    use std::os::unix::fs::PermissionsExt;

    lab.write("player", format!("#!/bin/sh\n{lines}\n"));
    let executable = fs::Permissions::from_mode(0o755);
    fs::set_permissions(lab.path("player"), executable).expect("a file of ours");
}

/// Every game is played with the commitment already on standard output.
#[test]
fn referee_publishes_the_commitment_before_the_first_game() {
    let lab = Lab::new();
    script(
        &lab,
        "read x; while [ ! -e go ]; do sleep 0.02; done; echo ready 1; read x; echo up",
    );
    let mut command = lab.command("referee --games 1 --records games.txt -- ./player");
    command.stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().expect("the program");
    let mut stdout = BufReader::new(child.stdout.take().expect("a pipe"));
    let running = Running::of(child);
    let mut line = String::new();
    stdout.read_line(&mut line).expect("a line");
    let commitment = line
        .trim()
        .strip_prefix("commitment ")
        .expect("a commitment");
    assert_eq!(commitment.len(), 64);
    assert!(!lab.exists("games.txt"));
    lab.write("go", "");
    running.wait();
    let seal: Value = serde_json::from_str(&lab.text("games.txt.seal.json")).expect("JSON");
    assert_eq!(seal["commitment"], commitment);
}

#[test]
fn referee_reports_broken_rules() {
    let lab = Lab::new();
    script(
        &lab,
        "read x; echo ready 1; while read x; do echo sideways; done",
    );
    let done = lab
        .run("referee --games 3 --jobs 2 --records games.txt -- ./player")
        .ends_with(1);
    for words in [
        "commitment ",
        "./player: 2048 on 4x4, 3 games, 1000 ms a move",
        "mean score",
        "BROKEN game 2 after 0 moves, score 0: wrong-word: found `sideways`",
        "FAILED: the player broke the rules",
        "They do not prove who played",
    ] {
        assert!(done.stdout.contains(words), "{words} in {}", done.stdout);
    }
    assert!(
        done.stderr
            .contains("error: the player broke the rules in 3 of 3 games")
    );
    // The records are valid all the same, and say how the games ended.
    let text = lab.run("judge games.txt").succeeds().stdout;
    assert!(
        text.contains("seal: passed, a match of 3 games (3 broken off) by ./player"),
        "{text}"
    );
    assert!(text.contains("A seal does not show who played"), "{text}");
    let seal = lab.text("games.txt.seal.json");
    let broken = serde_json::from_str::<Value>(&seal).expect("JSON")["broken"].clone();
    assert_eq!(broken, serde_json::json!({"wrong-word": [0, 1, 2]}));
    let json = lab.run("referee --games 2 --json -- ./player").ends_with(1);
    let json: Value = serde_json::from_str(&json.stdout).expect("one document");
    assert_eq!(json["broken"]["wrong-word"], 2);
}

#[test]
fn referee_forgeries_are_told_by_judge() {
    let lab = Lab::new();
    student(&lab);
    lab.run("referee --games 4 --records games.txt -- ./student")
        .succeeds();
    lab.run("referee --games 4 --records other.txt -- ./student")
        .succeeds();
    let (records, seal) = (lab.text("games.txt"), lab.text("games.txt.seal.json"));
    lab.refuses(
        "eval random --games 2 --records games.txt",
        &["games.txt has the sealed records of a match", "--records"],
    );
    // The seal of the first match is the only proof of it.
    lab.refuses(
        "referee --games 4 --records games.txt -- ./student",
        &["games.txt has the sealed records of a match", "--records"],
    );
    assert_eq!(lab.text("games.txt"), records);
    lab.write("without.txt", &records);
    let plain = lab.run("judge without.txt --json").json();
    assert_eq!(
        (&plain["sealed"], &plain["seal"]),
        (&false.into(), &Value::Null)
    );
    lab.run("judge without.txt --seal games.txt.seal.json")
        .succeeds();
    let done = lab
        .run("judge games.txt --seal other.txt.seal.json")
        .ends_with(1);
    assert!(
        done.stdout.contains("but the one that was drawn is"),
        "{}",
        done.stdout
    );
    assert!(done.stdout.contains("seal: FAILED"), "{}", done.stdout);
    let done = lab.run("judge games.txt --game 2584").ends_with(1);
    let words = "the seal is of a match of 2048 on 4x4, expected 2584 on 4x4";
    assert!(done.stdout.contains(words), "{}", done.stdout);
    let short: String = records.split_inclusive('\n').take(3).collect();
    lab.write("games.txt", short);
    let done = lab.run("judge games.txt").ends_with(1);
    for words in [
        "the records end after game 2",
        "the SHA-256 of the records is",
    ] {
        assert!(done.stdout.contains(words), "{words} in {}", done.stdout);
    }
    lab.write("games.txt", &records);
    // A player of another name is not noticed, but it cannot write lines of its own.
    let named = seal.replace("\"./student\"", "\"x\\nAssessment: 99.0 points\\u001b[2J\"");
    assert_ne!(named, seal);
    lab.write("games.txt.seal.json", named);
    let text = lab.run("judge games.txt").succeeds().stdout;
    assert!(
        !text.contains("\nAssessment: 99") && !text.contains('\u{1b}'),
        "{text}"
    );
    for hostile in [
        "",
        "{}",
        "[[[[",
        "null",
        "\u{1b}[2J",
        &seal[..seal.len() / 2],
    ] {
        lab.write("games.txt.seal.json", hostile);
        lab.refuses(
            "judge games.txt",
            &["games.txt.seal.json is not a usable seal"],
        );
    }
}

#[test]
fn referee_refuses_wrong_usage() {
    let lab = Lab::new();
    lab.refuses(
        "referee -- ./nothing",
        &["cannot start the player `./nothing`", "-- python3"],
    );
    lab.write("plain.txt", "no program");
    lab.refuses(
        "referee -- ./plain.txt",
        &["cannot start", "can be executed"],
    );
    lab.refuses("referee", &["PROGRAM"]);
    lab.refuses("referee --game chess -- true", &["chess", "threes"]);
    lab.refuses("referee --board 9x9 -- true", &["9x9", "from 2 to 5"]);
    for wrong in [
        "--games 0",
        "--games 1000001",
        "--time 0",
        "--memory -1",
        "--tcp 70000",
    ] {
        lab.refuses(&format!("referee {wrong} -- true"), &["invalid value"]);
    }
    lab.refuses(
        "referee --records plain.txt -- true",
        &["not a file of records", "--records"],
    );
    lab.write("games.txt.seal.json", "a letter");
    lab.refuses(
        "referee --records games.txt -- true",
        &["not the seal of a match"],
    );
}

/// A process that leaves the group of its player ends with it all the same.
#[test]
#[cfg(target_os = "linux")]
fn referee_ends_what_a_player_leaves_behind() {
    if !is_here("setsid") {
        return;
    }
    let lab = Lab::new();
    let daemon = "setsid sh -c 'echo $$ > pid; exec sleep 1000' > /dev/null &";
    let wait = "while [ ! -s pid ]; do sleep 0.02; done";
    script(
        &lab,
        &format!("{daemon}\n{wait}\nread x; echo ready 1; read x"),
    );
    let played = lab.run("referee --games 1 --jobs 1 --time 20000 -- ./player");
    played.ends_with(1);
    let pid = lab.text("pid").trim().to_owned();
    assert!(!Path::new(&format!("/proc/{pid}")).exists(), "{pid} lives");
}

/// A process that was running before the referee, and that a shell has left to it, goes on.
#[test]
#[cfg(target_os = "linux")]
fn referee_spares_processes_from_before() {
    let lab = Lab::new();
    script(&lab, "read x; echo ready 1; read x");
    let shell = "sleep 1000 & echo $! > pid; exec \"$0\" referee --games 2 --jobs 1 -- ./player";
    let mut command = Command::new("sh");
    command.args(["-c", shell, env!("CARGO_BIN_EXE_afterstate")]);
    command.current_dir(lab.path(".")).stdout(Stdio::null());
    let status = command.stderr(Stdio::null()).status().expect("sh");
    assert_eq!(status.code(), Some(1), "the player breaks the rules");
    let ended = Command::new("kill").arg(lab.text("pid").trim()).status();
    assert!(ended.expect("kill").success(), "it was killed");
}

/// What one copy has left behind, and still uses, goes on when another copy ends.
#[test]
#[cfg(target_os = "linux")]
fn referee_spares_the_processes_of_other_copies() {
    if !is_here("setsid") {
        return;
    }
    let lab = Lab::new();
    // The first copy waits until the second has ended and a third has started.
    let helper = "(setsid sh -c 'echo $$ > helper; mv helper pid; exec sleep 1000' > /dev/null &)";
    let first = "until [ -e three ]; do sleep 0.02; done; kill -0 $(cat pid) && touch alive";
    let second = "until [ -e pid ]; do sleep 0.02; done; exit 1";
    script(
        &lab,
        &format!(
            "read x; echo ready 1\n\
             if mkdir one 2> one.txt; then {helper}\n{first}\n\
             elif mkdir two 2> two.txt; then {second}\n\
             else touch three; fi"
        ),
    );
    let played = lab.run("referee --games 3 --jobs 2 --time 20000 -- ./player");
    played.ends_with(1);
    assert!(
        lab.exists("alive"),
        "the helper of the first copy was killed"
    );
    let pid = lab.text("pid").trim().to_owned();
    assert!(!Path::new(&format!("/proc/{pid}")).exists(), "{pid} lives");
}

/// Ctrl-C ends the player, even one that ignores it, and keeps the games so far.
#[test]
fn referee_stops_at_ctrl_c() {
    let lab = Lab::new();
    script(
        &lab,
        "trap '' INT TERM HUP; echo $$ > pid; read x; echo ready 1; while :; do sleep 0.1; done",
    );
    let referee = "referee --games 5 --jobs 1 --time 600000 --records games.txt -- ./player";
    let running = lab.spawn(referee);
    wait_for("the player", || {
        lab.exists("pid") && lab.text("pid").ends_with('\n')
    });
    let pid = lab.text("pid").trim().to_owned();
    let id = running.id().to_string();
    let sent = Command::new("kill").args(["-INT", &id]).status();
    assert!(sent.expect("kill").success());
    assert_eq!(running.wait(), Some(130));
    if cfg!(target_os = "linux") {
        assert!(
            !Path::new(&format!("/proc/{pid}")).exists(),
            "the player was reaped"
        );
    }
    // A match that was cut short does not pass.
    assert!(lab.text("games.txt").is_empty());
    let done = lab.run("judge games.txt").ends_with(1);
    let words = "the records have no game, but the match has games 0 to 4";
    assert!(done.stdout.contains(words), "{}", done.stdout);
}
