//! `tournament`: a class of players, honest and hostile, in one table.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use crate::common::{Lab, wait_for};

/// A script of a shell among the players.
fn script(lab: &Lab, name: &str, lines: &str) {
    let name = format!("players/{name}");
    let folder = lab.path(&name).parent().expect("a folder").to_owned();
    fs::create_dir_all(folder).expect("a folder of ours");
    lab.write(&name, format!("#!/bin/sh\n{lines}\n"));
    let executable = fs::Permissions::from_mode(0o755);
    fs::set_permissions(lab.path(&name), executable).expect("a file of ours");
}

/// Goes left as long as that is legal.
const LEFT: &str = "read w; echo ready 1; while read w rest; do [ $w = board ] && echo left; done";

#[test]
fn tournament_grades_a_class() {
    let lab = Lab::new();
    fs::create_dir(lab.path("players")).expect("a folder");
    crate::referee::student(&lab);
    fs::copy(lab.path("student"), lab.path("players/anna")).expect("a copy");
    script(&lab, "ben/player", LEFT);
    script(&lab, "carl", LEFT);
    script(&lab, "dora", "read x; echo ready 1; sleep 100");
    lab.write("players/notes.md", "text");
    lab.train("players/net", 5, "--set tuples=0123");
    lab.run("train --threads 1 --episodes 2 --board 3x3 --set tuples=012 --out players/small")
        .succeeds();
    let done = lab
        .run("tournament players --games 5 --time 200 --with random --with greedy")
        .succeeds();
    for words in [
        "commitment ",
        "2048 on 4x4, 5 games each, 200 ms a move",
        "rank  player",
        "equal: ben and carl have the same score, moves and largest tile in every game",
        "~ not told apart from the player above",
        "BROKEN dora: timeout 5; first in game 0: timeout: no reply within 200 ms",
        "FAILED small: it plays 2048 on 3x3, not 2048 on 4x4",
        "not a player: notes.md: it is not executable",
        "table   players-results/results.csv",
    ] {
        assert!(done.stdout.contains(words), "{words} in {}", done.stdout);
    }
    let table = lab.text("players-results/results.csv");
    assert_eq!(table.lines().count(), 9, "{table}");
    assert_eq!(lab.text("players-results/scores.csv").lines().count(), 6);
    for player in ["anna", "ben", "carl", "dora", "net", "random", "greedy"] {
        let records = format!("judge players-results/records/{player}.txt --json");
        let judged = lab.run(&records).json();
        assert_eq!(judged["sealed"], true, "{player}: {judged}");
        assert_eq!(judged["seal"]["kind"], "referee");
    }
    // Results are not overwritten.
    lab.refuses(
        "tournament players --games 2",
        &["players-results", "name another folder with `--out`"],
    );
    let json = "tournament players --games 2 --time 200 --jobs 1 --target 64 --out again --json";
    let json = lab.run(json).json();
    assert_eq!(
        (&json["complete"], &json["target"]),
        (&true.into(), &64.into())
    );
    assert_eq!(json["players"].as_array().map(Vec::len), Some(5));
    assert_eq!(json["failed"][0]["name"], "small");
}

#[test]
fn tournament_refuses_wrong_usage() {
    let lab = Lab::new();
    lab.refuses("tournament", &["<DIR>"]);
    lab.refuses("tournament nowhere", &["nowhere"]);
    fs::create_dir(lab.path("players")).expect("a folder");
    lab.refuses(
        "tournament players",
        &["players has no players", "executable"],
    );
    script(&lab, "anna", LEFT);
    lab.refuses("tournament players --game chess", &["chess", "threes"]);
    lab.refuses("tournament players --games 0", &["invalid value"]);
    lab.refuses(
        "tournament players --target 3",
        &["the target 3 is not a tile"],
    );
    lab.refuses("tournament players --with nobody", &["nobody"]);
    lab.refuses(
        "tournament players --out players/results",
        &["inside the folder of the players", "`--out`"],
    );
    lab.train("small", 2, "--board 3x3 --set tuples=012");
    lab.refuses(
        "tournament players --with small",
        &["plays 2048 on 3x3 and the tournament plays 2048 on 4x4"],
    );
}

/// Ctrl-C ends the player that plays, and keeps those that have played.
#[test]
fn tournament_stops_at_ctrl_c() {
    let lab = Lab::new();
    fs::create_dir(lab.path("players")).expect("a folder");
    script(&lab, "anna", LEFT);
    script(
        &lab,
        "ben",
        "trap '' INT TERM HUP; echo $$ > ../pid; read x; echo ready 1; while :; do sleep 0.1; done",
    );
    let running = lab.spawn("tournament players --games 3 --jobs 1 --time 600000 --out results");
    wait_for("the second player", || {
        lab.exists("pid") && lab.text("pid").ends_with('\n')
    });
    let pid = lab.text("pid").trim().to_owned();
    let id = running.id().to_string();
    let sent = Command::new("kill").args(["-INT", &id]).status();
    assert!(sent.expect("kill").success());
    assert_eq!(running.wait(), Some(130));
    if cfg!(target_os = "linux") {
        let process = format!("/proc/{pid}");
        assert!(!std::path::Path::new(&process).exists(), "it was reaped");
    }
    lab.run("judge results/records/anna.txt").succeeds();
    assert!(!lab.exists("results/records/ben.txt"));
    let table = lab.text("results/results.csv");
    assert!(
        table.contains("not played: the tournament was stopped"),
        "{table}"
    );
}
