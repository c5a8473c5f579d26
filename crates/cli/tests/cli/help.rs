//! `--help` and `recipes`: what exists, all of it, and nothing else.

use std::fs;
use std::path::Path;
use std::process::Command;

use afterstate_lab::recipe::Recipe;
use afterstate_lab::spec::NetworkSize;

use crate::common::{Lab, SMALL};

pub fn help(lab: &Lab, command: &str) -> String {
    let done = lab.run(&format!("{command} --help")).succeeds();
    assert_eq!(done.stderr, "");
    done.stdout
}

/// The commands that the help lists.
pub fn commands(help: &str) -> Vec<String> {
    let (_, list) = help.split_once("Commands:\n").expect("a list of commands");
    let names = list.lines().take_while(|line| !line.is_empty());
    names
        .filter_map(|line| {
            Some(
                line.strip_prefix("  ")?
                    .split_whitespace()
                    .next()?
                    .to_owned(),
            )
        })
        .filter(|name| name != "help")
        .collect()
}

#[test]
fn every_command_is_listed_works_and_has_examples() {
    let lab = Lab::new();
    let listed = commands(&help(&lab, ""));
    for name in [
        "train",
        "eval",
        "compare",
        "analyze",
        "play",
        "review",
        "serve",
        "convert",
        "pack",
        "solve",
        "judge",
        "referee",
        "tournament",
        "plot",
        "recipes",
        "bench",
        "sweep",
        "runs",
        "tuples",
        "completions",
    ] {
        assert!(
            listed.iter().any(|found| found == name),
            "{name} in {listed:?}"
        );
    }
    for name in [vec![String::new()], listed.clone()].concat() {
        let text = help(&lab, &name);
        let (options, examples) = text
            .split_once("Examples:\n")
            .unwrap_or_else(|| panic!("{name}: no examples"));
        let lower = text.to_lowercase();
        for word in [
            "todo",
            "not yet",
            "not implemented",
            "coming soon",
            "planned",
        ] {
            assert!(!lower.contains(word), "{name} --help says `{word}`");
        }
        let calls = examples
            .lines()
            .filter_map(|line| line.trim().strip_prefix("afterstate "));
        let calls: Vec<&str> = calls.collect();
        assert!(!calls.is_empty(), "{name}: no example");
        for call in calls {
            let words: Vec<&str> = call.split_whitespace().collect();
            assert!(listed.iter().any(|found| found == words[0]), "{call}");
            assert!(
                name.is_empty() || words[0] == name,
                "{call} in the help of {name}"
            );
            for option in words.iter().filter(|word| word.starts_with("--")) {
                assert!(options.contains(option), "{call}: {name} has no {option}");
            }
        }
    }
}

/// A line that was broken by hand and is too long is broken again, and leaves a word alone.
#[test]
fn no_line_of_help_is_broken_twice() {
    let lab = Lab::new();
    let names = [vec![String::new()], commands(&help(&lab, ""))].concat();
    for name in names {
        let text = help(&lab, &name);
        let lines: Vec<&str> = text.lines().collect();
        for (number, line) in lines.iter().enumerate() {
            let [next, after] = [1, 2].map(|more| *lines.get(number + more).unwrap_or(&""));
            let paragraph = [line, next, after]
                .iter()
                .all(|line| !line.starts_with(' '));
            let lonely = line.len() > 80 && (1..50).contains(&next.len()) && after.len() > 50;
            assert!(
                !(paragraph && lonely),
                "{name} --help:\n{line}\n{next}\n{after}"
            );
            assert!(line.chars().count() <= 100, "{name} --help: {line}");
        }
    }
}

#[test]
fn it_says_its_name_and_what_it_is_for() {
    let lab = Lab::new();
    let about = help(&lab, "");
    assert!(about.starts_with("Trains"), "{about}");
    let version = lab.run("--version").succeeds().stdout;
    assert_eq!(
        version,
        format!("afterstate {}\n", env!("CARGO_PKG_VERSION"))
    );
}

#[test]
fn environment_and_exit_statuses_are_told() {
    let about = help(&Lab::new(), "");
    for words in ["AFTERSTATE_CPU", "NO_COLOR", "--quiet", "--no-progress"] {
        assert!(about.contains(words), "no {words} in {about}");
    }
    let (_, statuses) = about.split_once("Exit status:\n").expect("a table");
    for status in ["0", "1", "2", "3", "129", "130", "131", "143"] {
        let mut words = statuses.split(|c: char| !c.is_ascii_digit());
        assert!(words.any(|word| word == status), "{status} in {statuses}");
    }
}

/// Each script completes the commands and flags, in the language of its shell.
#[test]
fn completions_for_every_shell() {
    let lab = Lab::new();
    for (shell, words) in [
        ("bash", &["complete -F _afterstate", "--no-progress"][..]),
        ("elvish", &["edit:completion:arg-completer[afterstate]"]),
        ("fish", &["complete -c afterstate"]),
        ("powershell", &["Register-ArgumentCompleter"]),
        ("zsh", &["#compdef afterstate"]),
    ] {
        let done = lab.run(&format!("completions {shell}")).succeeds();
        for word in words.iter().chain(&["analyze", "warmup-games"]) {
            assert!(done.stdout.contains(word), "{shell}: no {word}");
        }
        assert_eq!(done.stderr, "");
    }
    lab.refuses("completions tcsh", &["tcsh", "bash", "zsh"]);
    // What the shells are here say of their scripts.
    for (shell, arguments) in [("bash", "-n"), ("zsh", "-n"), ("fish", "--no-execute")] {
        let script = lab.run(&format!("completions {shell}")).succeeds().stdout;
        lab.write("script", script);
        let mut command = Command::new(shell);
        command.arg(arguments).arg(lab.path("script"));
        match command.output() {
            Ok(output) => assert!(output.status.success(), "{shell}: {output:?}"),
            Err(error) => eprintln!("SKIPPED: {shell}: {error}"),
        }
    }
}

#[test]
fn man_pages() {
    let lab = Lab::new();
    let page = lab.run("man").succeeds().stdout;
    assert!(page.contains(".TH afterstate 1"), "{page}");
    for word in ["AFTERSTATE_CPU", "Exit status:", "quiet", "analyze"] {
        assert!(page.contains(word), "no {word} in {page}");
    }
    for name in commands(&help(&lab, "")) {
        let page = lab.run(&format!("man {name}")).succeeds().stdout;
        assert!(page.contains(&format!(".TH afterstate-{name} 1")), "{page}");
        assert!(page.contains("Examples:"), "{name}");
    }
    lab.refuses("man nothing", &["no command `nothing`"]);
    assert!(help(&lab, "").contains("man page"), "it is listed");
}

#[test]
fn every_recipe_is_listed_with_purpose_result_and_time() {
    let lab = Lab::new();
    let list = lab.run("recipes").succeeds().stdout;
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../recipes");
    let mut count = 0;
    for entry in fs::read_dir(&folder).expect("the recipes") {
        let path = entry.expect("an entry").path();
        if path.extension().is_none_or(|extension| extension != "toml") {
            continue;
        }
        let text = fs::read_to_string(&path).expect("a recipe");
        let recipe = Recipe::load_file(&path, &[]).expect("a recipe");
        let name = recipe.name.as_str();
        assert_eq!(Some(name), path.file_stem().and_then(|stem| stem.to_str()));
        let heading = format!("{name}\n");
        let at = list
            .find(&heading)
            .unwrap_or_else(|| panic!("{name} is not listed: {list}"));
        let entry = list[at..].split("\n\n").next().expect("an entry");
        for said in [&recipe.purpose, &recipe.result, &recipe.time] {
            assert!(!said.is_empty(), "{name}: {entry}");
            assert!(entry.contains(said), "{name}: no `{said}` in {entry}");
        }
        let size = NetworkSize::of(&recipe).expect("a size").to_string();
        assert!(entry.contains(&format!("  network: {size}\n")), "{entry}");
        assert_eq!(lab.run(&format!("recipes {name}")).succeeds().stdout, text);
        count += 1;
    }
    assert!(count >= 7, "{count} recipes in {}", folder.display());
    assert_eq!(list.matches("  reaches: ").count(), count, "and no more");
}

#[test]
fn a_printed_recipe_can_be_trained_from() {
    let lab = Lab::new();
    let text = lab.run("recipes quick").succeeds().stdout;
    lab.write("my-recipe.toml", text);
    lab.run(&format!("train my-recipe.toml {SMALL} --episodes 50"))
        .succeeds();
    assert!(lab.exists("runs/quick/model.safetensors"));
    assert!(lab.text("runs/quick/recipe.toml").contains("rule = \"tc\""));
}
