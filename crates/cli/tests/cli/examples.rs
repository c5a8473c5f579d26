//! Every example of every help, run by a shell as it stands, but with fewer games and smaller tables: a
//! test for each command.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::common::{Done, Lab};
use crate::help::{commands, help};

/// Those of `play` need a terminal, and those of `serve` do not end: play.rs and serve.rs run them.
const ELSEWHERE: [&str; 2] = ["play", "serve"];

/// Tests for the examples of these commands.
macro_rules! tests {
    ($($name:ident)*) => {
        const TESTED: &[&str] = &[$(stringify!($name)),*];

        $(#[test]
        fn $name() {
            examples_run(stringify!($name));
        })*
    };
}

tests! {
    analyze bench check compare completions convert eval judge man merge pack plot recipes review runs
    solve sweep train tuples
}

#[cfg(unix)]
mod unix {
    use super::examples_run;

    #[test]
    fn referee() {
        examples_run("referee");
    }

    #[test]
    fn tournament() {
        examples_run("tournament");
    }
}

#[test]
fn every_command_is_tested() {
    let mut listed = commands(&help(&Lab::new(), ""));
    listed.sort();
    let mut tested = [TESTED, &ELSEWHERE, &["referee", "tournament"]].concat();
    tested.sort_unstable();
    assert_eq!(listed, tested);
}

/// Runs the examples of a command, in a folder with the files that they name.
fn examples_run(name: &str) {
    let lab = Lab::new();
    let text = help(&lab, name);
    let (_, examples) = text.split_once("Examples:\n").expect("examples");
    let calls = examples.lines().filter_map(|line| {
        let line = line.trim();
        // Remarks stand behind two spaces.
        let call = line.split("  ").next()?;
        line.starts_with("afterstate ")
            .then(|| shortened(name, call))
    });
    let calls: Vec<String> = calls.collect();
    assert!(!calls.is_empty(), "{name}");
    prepare(&lab, name, &calls.join("\n"));
    for call in calls {
        shell(&lab, &call);
    }
}

/// A call with fewer games and smaller tables.
fn shortened(name: &str, call: &str) -> String {
    let mut call = format!("{call} ")
        .replace("--games 10000", "--games 20")
        .replace("--games 100 ", "--games 5 ")
        .replace("--games 2000 ", "--games 20 ")
        .replace("--warmup-games 20000", "--warmup-games 20")
        .replace("--games 100000", "--games 20")
        .replace("judge games.txt --games 1000", "judge games.txt --games 8")
        .replace("--rollouts 1000", "--rollouts 5")
        .replace("--seconds 120", "--seconds 1")
        .replace("--episodes 60000", "--episodes 120")
        .replace("--episodes 120000", "--episodes 120")
        .replace("8x6", "8x4")
        .replace("\"012345 456789 012456 45689a\"", "8x4");
    if name == "train" && !call.contains("--resume") {
        call.push_str(" --episodes 1");
        if !call.contains("tuples=") {
            call.push_str(" --set tuples=8x4");
        }
    }
    let has_games = call.contains("--games") || call.contains("--against");
    match name {
        "referee" if !has_games => call = call.replace(" -- ", " --games 20 -- "),
        "eval" | "compare" if !has_games => call.push_str(" --games 20"),
        "bench" if !call.contains("--seconds") => call.push_str(" --seconds 1"),
        _ => {}
    }
    call
}

/// Makes the files that these calls of a command name.
fn prepare(lab: &Lab, name: &str, calls: &str) {
    let needs = |file: &str| calls.contains(file);
    for run in ["quick", "td-4x6", "state-6", "state-6x6"] {
        if needs(&format!("runs/{run}")) {
            lab.train(&format!("runs/{run}"), 100, "");
        }
    }
    if needs("runs/small") {
        lab.train("runs/small", 100, "--board 2x3 --set tuples=012");
    }
    if needs("runs/rates-3x3 ") {
        let more = "--board 3x3 --set tuples=012";
        lab.train("runs/rates-3x3/0.1/seed-1", 30, more);
    }
    if needs("my-recipe.toml") {
        let recipe = lab.run("recipes quick").succeeds().stdout;
        lab.write("my-recipe.toml", recipe);
    }
    if needs("2x3.solution") && name != "solve" {
        lab.run("solve --board 2x3 --out 2x3.solution").succeeds();
    }
    lab.write("boards.txt", "2,0,0/0,4,0\n");
    lab.write("board.txt", "2 0 0 0\n0 0 0 0\n0 0 0 0\n0 0 0 4\n");
    if needs("scores.txt") {
        let score = |n: u64| format!("episode : {n}, score : {n}\n");
        lab.write("scores.txt", (1..=4000).map(score).collect::<String>());
    }
    for (game, file) in [("2048", "games.txt"), ("threes", "threes.txt")] {
        if needs(file) && !["eval", "referee"].contains(&name) {
            lab.run(&format!(
                "eval greedy --game {game} --games 8 --records {file}"
            ))
            .succeeds();
        }
    }
    if needs("sweeps/rates-3x3.toml") {
        short_sweep(lab);
    }
    if name == "merge" {
        for (number, half) in [(1, "half"), (2, "other-half")] {
            let sweep = "sweep sweeps/rates-3x3.toml";
            lab.run(&format!("{sweep} --part {number}/2 --out runs/{half}"))
                .succeeds();
            let eval = format!("eval random --games 20 --part {number}/2 --json");
            lab.write(&format!("{number}.json"), lab.run(&eval).succeeds().stdout);
        }
    }
    if name == "convert" {
        for file in ["4x6.w", "2048.bin", "weights.bin"] {
            lab.run(&format!("convert runs/quick {file}")).succeeds();
        }
    }
    if name == "check" {
        let model = lab.path("runs/quick/model.safetensors");
        fs::copy(model, lab.path("model.safetensors")).expect("a copy");
    }
    #[cfg(unix)]
    if ["referee", "tournament"].contains(&name) {
        crate::referee::student(lab);
        fs::create_dir(lab.path("players")).expect("a folder");
        fs::copy(lab.path("student"), lab.path("players/student")).expect("a copy");
    }
}

/// The sweep that we ship, with fewer games, and small tables: those of 6-tuples are gigabytes, which
/// `merge` copies.
fn short_sweep(lab: &Lab) {
    let sweep = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../sweeps/rates-3x3.toml");
    let sweep = fs::read_to_string(sweep).expect("the sweep that we ship");
    let short = sweep
        .replace("episodes=3000", "episodes=30")
        .replace("tuples=012345 ", "tuples=")
        .replace("seeds = [1, 2, 3, 4, 5]", "seeds = [1, 2]");
    for change in ["episodes=30\"", "tuples=012 345", "seeds = [1, 2] "] {
        assert!(short.contains(change), "{change}");
    }
    fs::create_dir(lab.path("sweeps")).expect("a folder of ours");
    lab.write("sweeps/rates-3x3.toml", short);
}

/// Runs a line as a person would type it.
fn shell(lab: &Lab, line: &str) {
    let program = Path::new(env!("CARGO_BIN_EXE_afterstate"));
    let folder = program.parent().expect("its folder").display();
    let script = format!("PATH='{folder}':$PATH; {line}");
    let mut command = Command::new("sh");
    command.args(["-c", &script]).current_dir(lab.path("."));
    Done::of(line, command.output().expect("a shell")).succeeds();
}
