//! The pages for teachers and students: every command of theirs is run, with fewer games.
//!
//! In these pages a fenced block without a language is a shell script; one whose first line is
//! `# NAME` is a file of that name; blocks of the language `text` show output.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::common::{Done, Lab};

/// This command is not run: it builds the program, which is here already.
const SKIPPED: &str = "cargo build";
/// What takes time, and how much of it is enough here.
const SCALED: [(&str, &str); 4] = [
    ("--games ", "12"),
    ("--episodes ", "40"),
    ("games = ", "12"),
    ("episodes=", "40"),
];

/// A fenced block: its language and its lines.
struct Block {
    language: String,
    lines: Vec<String>,
}

/// All fenced blocks of a page.
fn blocks(text: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if let Some(language) = line.strip_prefix("```") {
            let inside = lines.by_ref().take_while(|line| *line != "```");
            blocks.push(Block {
                language: language.to_owned(),
                lines: inside.map(str::to_owned).collect(),
            });
        }
    }
    blocks
}

/// The same text with small numbers of games and seeds.
fn scaled(text: &str) -> String {
    let mut text = text.replace("seeds = [1, 2, 3, 4, 5]", "seeds = [1, 2]");
    for (name, few) in SCALED {
        let mut parts = text.split(name);
        let mut short = parts.next().unwrap_or("").to_owned();
        for part in parts {
            let rest = part.trim_start_matches(|c: char| c.is_ascii_digit());
            let number = if rest.len() < part.len() { few } else { "" };
            short += &format!("{name}{number}{rest}");
        }
        text = short;
    }
    text
}

/// The commands of docs/reports.md, which train each report's recipe, draw its plots and compare the
/// twins, with small tables.
#[test]
fn every_command_that_redoes_a_report_works() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let page = fs::read_to_string(docs.join("reports.md")).expect("a page");
    let lab = Lab::new();
    // Deep learning is not built here.
    let blocks = blocks(&page).into_iter();
    let lines = blocks.flat_map(|block| {
        let script = block.lines.join("\n").replace("\\\n", " ");
        script.lines().map(str::to_owned).collect::<Vec<_>>()
    });
    let mut count = 0;
    for line in lines.filter(|line| line.starts_with("afterstate ") && !line.contains("dqn")) {
        let mut line = scaled(&line)
            .replace("--every 2000", "--every 2")
            .replace("100000..200000", "0..200000")
            .replace("max_iterations=300000", "max_iterations=400")
            .replace("max_iterations=500000", "max_iterations=500")
            .replace("max_iterations=700000", "max_iterations=700")
            .replace("max_iterations=50000", "max_iterations=300")
            .replace("--min-speed 10000", "--min-speed 1");
        if line.starts_with("afterstate train ") && !line.contains("--resume") {
            line += " --set tuples=8x4";
            let replay = line.contains("ntuple-replay");
            if replay && !line.contains("max_iterations") {
                line += " --set max_iterations=300";
            } else if !replay && !line.contains("--episodes") {
                line += " --episodes 40";
            }
        }
        shell(&lab, &line);
        count += 1;
    }
    assert!(count >= 20, "{count} commands");
}

/// Runs a line in the folder, as a shell does; the program is found by its name.
fn shell(lab: &Lab, line: &str) {
    let program = Path::new(env!("CARGO_BIN_EXE_afterstate"));
    let mut folders = vec![program.parent().expect("a folder").to_owned()];
    let path = std::env::var_os("PATH").unwrap_or_default();
    folders.extend(std::env::split_paths(&path));
    let path = std::env::join_paths(folders).expect("names of folders");
    let mut command = Command::new("sh");
    command.args(["-c", line]).current_dir(lab.path(""));
    let done = command.env("PATH", path).output().expect("a shell");
    Done::of(line, done).succeeds();
}

/// Runs a page with the files of another one beside it, and returns how many commands were run.
fn run(page: &str, files_of: &str) -> usize {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let read = |name: &str| fs::read_to_string(docs.join(name)).expect("a page");
    let lab = Lab::new();
    let others = blocks(&read(files_of));
    let others = others
        .into_iter()
        .filter(|block| !block.language.is_empty());
    let python = Command::new("python3").arg("--version").output().is_ok();
    let mut count = 0;
    for block in others.chain(blocks(&read(page))) {
        if block.language == "text" {
            continue;
        }
        if !block.language.is_empty() {
            let name = block.lines[0]
                .strip_prefix("# ")
                .expect("the name of a file");
            let text = scaled(&block.lines.join("\n"));
            lab.write(name, &text);
            if name.ends_with(".py") {
                // A class of two: a folder and a file.
                fs::create_dir_all(lab.path("players/anna")).expect("a folder");
                lab.write(&format!("players/anna/{name}"), &text);
                lab.write("players/ben.py", &text);
            }
            continue;
        }
        let script = block.lines.join("\n").replace("\\\n", " ");
        for line in script.lines() {
            assert!(
                line.starts_with("afterstate ") || line.starts_with("cargo build"),
                "{line}"
            );
            if line.starts_with(SKIPPED) {
                continue;
            }
            let needs_python = ["python3", "judge", "tournament"];
            if !python && needs_python.iter().any(|word| line.contains(word)) {
                println!("SKIPPED, because there is no python3: {line}");
                continue;
            }
            shell(&lab, &scaled(line));
            count += 1;
        }
    }
    count
}

#[test]
fn every_command_for_teachers_works() {
    assert!(run("teaching.md", "exercises/threes.md") >= 9);
}

#[test]
fn every_command_of_the_sheet_for_2048_works() {
    assert!(run("exercises/2048.md", "exercises/2048.md") >= 12);
}

#[test]
fn every_command_of_the_sheet_for_threes_works() {
    assert!(run("exercises/threes.md", "exercises/threes.md") >= 12);
}

#[test]
fn numbers_of_games_are_scaled_and_others_are_not() {
    let line = "afterstate train x --episodes 5000 --seed 7 && eval x --games 100 --games=3";
    let short = "afterstate train x --episodes 40 --seed 7 && eval x --games 12 --games=3";
    assert_eq!(scaled(line), short);
    let file = "set = [\"episodes=20000\"]\ngames = 500\nseeds = [1, 2, 3, 4, 5]";
    assert_eq!(
        scaled(file),
        "set = [\"episodes=40\"]\ngames = 12\nseeds = [1, 2]"
    );
}
