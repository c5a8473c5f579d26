//! Files of format 1 (tests/fixtures/format1, made at commit 0746aed): they resume to the tensors
//! that the program which wrote them would have reached, and are written as format 2.

use std::fs;
use std::path::Path;

use crate::common::{Blocks, Lab, Tensors};

/// A temporary folder with a copy of all fixtures.
fn fixtures() -> Lab {
    let lab = Lab::new();
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/format1");
    copy(&from, &lab.path("."));
    lab
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("the fixtures") {
        let entry = entry.expect("an entry");
        let to = to.join(entry.file_name());
        match entry.file_type().expect("its type").is_dir() {
            true => copy(&entry.path(), &to),
            false => drop(fs::copy(entry.path(), to).expect("a copy")),
        }
    }
}

/// FNV-1a, 64 bits, over the names, types, shapes and bytes of all tensors by name.
fn hash(path: &Path) -> u64 {
    let tensors = Tensors::read(path);
    let header = tensors.header.as_object().expect("a header");
    let mut names: Vec<&String> = header.keys().filter(|k| *k != "__metadata__").collect();
    names.sort();
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut add = |bytes: &[u8]| {
        for &byte in bytes {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    };
    for name in names {
        let shape = header[name]["shape"].as_array().expect("a shape");
        let shape: Vec<String> = shape.iter().map(ToString::to_string).collect();
        let kind = header[name]["dtype"].as_str().expect("a type");
        add(format!("{name} {kind} {}\n", shape.join("x")).as_bytes());
        add(&tensors.data[tensors.range(name)]);
    }
    hash
}

/// Resumes a run up to a number of games; `expected` is the hash of the model that the program of
/// format 1 made by the same command.
fn resumes(name: &str, episodes: u64, expected: u64) {
    let lab = fixtures();
    let rows = Blocks::of(&lab, name).column("games").len();
    let resume = format!("train --resume {name} --episodes {episodes}");
    let told = lab.run(&resume).succeeds().stderr;
    assert_eq!(told.matches(" has format 1;").count(), 1, "{told}");
    let model = lab.path(&format!("{name}/model.safetensors"));
    assert_eq!(
        hash(&model),
        expected,
        "{name}: other tensors than format 1"
    );
    assert_eq!(*Tensors::read(&model).meta("afterstate"), "2");
    let checkpoint = lab.path(&format!("{name}/checkpoint.safetensors"));
    assert_eq!(*Tensors::read(&checkpoint).meta("afterstate"), "2");

    let recipe = lab.text(&format!("{name}/recipe.toml"));
    assert!(recipe.contains("block_games"), "{recipe}");
    assert!(recipe.contains("changed = ["), "{recipe}");
    for old in ["[replay]", "[deep]", "figure", "result"] {
        assert!(!recipe.contains(old), "{old} in {recipe}");
    }
    let again = lab.run(&resume).succeeds();
    assert!(again.stdout.contains("already finished"));
    assert!(!again.stderr.contains("format 1"), "{}", again.stderr);
    let blocks = Blocks::of(&lab, name);
    let new = |column: &String| !["rate", "q", "average"].contains(&&**column);
    assert!(blocks.header.iter().all(new), "{:?}", blocks.header);
    assert!(blocks.header.contains(&"learning_rate".to_owned()));
    let games = blocks.column("games");
    assert!(games.len() > rows && games.last() == Some(&(episodes as f64)));
    lab.run(&format!("plot {name}")).succeeds();
    lab.run(&format!("eval {name} --games 5")).succeeds();
    // What it has written goes on as well.
    let longer = format!("train --resume {name} --episodes {}", episodes + 5);
    lab.run(&longer).succeeds();
}

#[test]
fn forward_td_of_afterstates_resumes_in_the_middle_of_a_block() {
    resumes("td", 2300, 0x82ea_0e6a_f983_3326);
}

#[test]
fn backward_tc_with_lambda_resumes() {
    resumes("tc", 100, 0x4ddf_a960_15d9_1eeb);
}

#[test]
fn state_values_resume() {
    resumes("state", 100, 0x3296_a243_69c3_5dd8);
}

#[test]
fn a_replay_buffer_in_metadata_resumes() {
    resumes("replay", 60, 0xae9b_827f_0b01_5457);
}

#[cfg(feature = "deep")]
#[test]
fn a_deep_network_resumes() {
    resumes("dqn", 40, 0xd8ca_5f11_6c63_daec);
}

/// Checkpoints and models can be played with as they are.
#[test]
fn nothing_needs_to_be_resumed_to_be_used() {
    let lab = fixtures();
    for run in ["td", "tc", "state", "replay", "gaps"] {
        lab.run(&format!("eval {run} --games 5")).succeeds();
    }
    for run in ["tc", "state", "replay", "gaps"] {
        lab.run(&format!("plot {run}")).succeeds();
    }
    assert_eq!(
        hash(&lab.path("gaps/model.safetensors")),
        0xeb8a_f4bf_11d6_b871
    );
}

/// The checkpoint counts updates under an old name.
#[test]
fn runs_lists_its_updates() {
    let lab = fixtures();
    let runs = lab.run("runs . --json").json();
    let runs = runs.as_array().expect("a list");
    let run = |name: &str| {
        let named = |run: &&serde_json::Value| {
            let folder = run["path"].as_str().expect("a path");
            Path::new(folder).file_name().is_some_and(|it| it == name)
        };
        runs.iter().find(named).expect("a run")
    };
    assert_eq!(run("replay")["updates"], 360);
    assert_eq!(run("td")["updates"], serde_json::Value::Null);
    for name in ["td", "tc", "state", "replay", "dqn"] {
        assert_ne!(run(name)["status"], "damaged", "{name}");
    }
}

#[test]
fn a_recipe_of_format_1_is_no_recipe_for_users() {
    let lab = fixtures();
    lab.refuses(
        "train td/recipe.toml --out new",
        &["td/recipe.toml", "is called `block_games` here"],
    );
}

#[test]
fn solutions_and_gaps_are_read() {
    let lab = fixtures();
    let board = lab.run("analyze 2,0/0,2 --solution solution.safetensors --json");
    assert!(board.json()["best"].is_string());
    let before = lab.text("gaps/gaps.csv");
    lab.run("eval gaps --against solution.safetensors --keep")
        .succeeds();
    let after = lab.text("gaps/gaps.csv");
    assert_eq!(after.lines().count(), before.lines().count());
    let number = |text: &str| -> f64 {
        let line = text.lines().nth(1).expect("a line");
        let field = line.split(',').nth(1).expect("a field");
        field.parse().expect("a number")
    };
    assert!((number(&before) - number(&after)).abs() < 1e-9);
}

/// Its runs are finished: nothing is trained again, and the one that diverged is known.
#[test]
fn a_sweep_is_finished() {
    let lab = fixtures();
    let models = |lab: &Lab| lab.bytes("sweep/tc/seed-2/model.safetensors");
    let before = models(&lab);
    let done = lab.run("sweep sweep.toml --out sweep --json").ends_with(1);
    let summary: serde_json::Value = serde_json::from_str(&done.stdout).expect("JSON");
    assert_eq!(summary["variants"][0]["mean"], 92.8);
    assert_eq!(models(&lab), before);
    assert!(!lab.exists("sweep/diverges/seed-2/checkpoint.safetensors"));
}
