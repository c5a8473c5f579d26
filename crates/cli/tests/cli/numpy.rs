//! Models open without us: in numpy with nothing but the format's description, and in the safetensors
//! package; and the weights found there are the ones that `analyze` adds up.
//!
//! `./test` makes a Python that has both and names it in AFTERSTATE_PYTHON. Without that variable the
//! system's python3 will do, and without the packages there the tests are skipped with a line.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::common::Lab;

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cli/open_model.py");

/// The Python to use, if there is one with the packages.
pub fn python() -> Option<String> {
    let named = std::env::var("AFTERSTATE_PYTHON")
        .ok()
        .filter(|name| !name.is_empty());
    let python = named.clone().unwrap_or_else(|| "python3".to_owned());
    let import = Command::new(&python)
        .args(["-c", "import numpy, safetensors.numpy"])
        .output();
    match import {
        Ok(output) if output.status.success() => Some(python),
        _ if named.is_some() => panic!("AFTERSTATE_PYTHON={python} has no numpy or no safetensors"),
        _ => {
            eprintln!("SKIPPED: no python3 with numpy and safetensors; `./test` makes one");
            None
        }
    }
}

/// What Python finds in a model; `asked` are weights, each as `TABLE:INDEX`.
fn open(python: &str, model: &Path, asked: &[String]) -> Value {
    let output = Command::new(python)
        .arg(SCRIPT)
        .arg(model)
        .args(asked)
        .output()
        .expect("python");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr}");
    serde_json::from_slice(&output.stdout).expect("one JSON document")
}

#[test]
fn numpy_finds_the_weights_that_analyze_adds_up() {
    let Some(python) = python() else { return };
    let lab = Lab::new();
    let train = "train --threads 1 --episodes 400 --set block_games=100 --set symmetry=false --out run --set";
    // The second tuple reads its row from the right: the order of the cells is part of the format.
    lab.run_with(train, "tuples=0123 7654").succeeds();

    // 2,2,8,4 slides left to 4,8,4,0 over a row of 0,0,2,0 that becomes 2,0,0,0: as indices 2,3,2,0
    // and 1,0,0,0. It slides right to 0,4,8,4 over 0,0,0,2.
    let board = "2,2,8,4/0,0,2,0/0,0,0,0/0,0,0,0";
    let analysis = lab
        .run(&format!("analyze {board} --model run --json"))
        .json();
    for (direction, first, second) in [
        ("left", [2, 3, 2, 0], [1, 0, 0, 0]),
        ("right", [0, 2, 3, 2], [0, 0, 0, 1]),
    ] {
        let index = |tiles: [usize; 4]| tiles.iter().rev().fold(0, |index, tile| 16 * index + tile);
        let reversed = [second[3], second[2], second[1], second[0]];
        let asked = [
            format!("0123:{}", index(first)),
            format!("7654:{}", index(reversed)),
        ];
        let found = open(&python, &lab.path("run/model.safetensors"), &asked);
        let weights: Vec<f64> = found["weights"]
            .as_array()
            .expect("weights")
            .iter()
            .map(|weight| weight.as_f64().expect("a number"))
            .collect();
        assert!(weights.iter().all(|weight| *weight != 0.0), "{weights:?}");
        let moves = analysis["moves"].as_array().expect("moves");
        let m = moves.iter().find(|m| m["direction"] == direction);
        let value = m.and_then(|m| m["value"].as_f64()).expect("a legal move");
        let sum: f64 = weights.iter().sum();
        assert!(
            (value - sum).abs() <= 1e-5 * sum.abs(),
            "{direction}: analyze says {value}, numpy {weights:?}"
        );
    }
}

#[test]
fn numpy_opens_models_and_checkpoints() {
    let Some(python) = python() else { return };
    let lab = Lab::new();
    lab.train("run", 60, "--seed 3 --set tuples=01234 --set symmetry=true");
    lab.train(
        "state",
        60,
        "--set value=state --set rule=td --board 3x3 --set tuples=012",
    );

    let found = open(&python, &lab.path("run/model.safetensors"), &[]);
    let table = &found["tables"]["01234"];
    assert_eq!(table["shape"], json!([16_usize.pow(5)]));
    assert_eq!(table["type"], "float32");
    assert!(table["used"].as_u64() > Some(500));
    assert_eq!(
        found["tables"].as_object().map(|tables| tables.len()),
        Some(1)
    );
    for (key, value) in [
        ("afterstate", "2"),
        ("game", "2048"),
        ("board", "4x4"),
        ("tuples", "01234"),
        ("symmetry", "true"),
        ("value", "afterstate"),
        ("episodes", "60"),
    ] {
        assert_eq!(found["metadata"][key], value, "{key}");
    }
    let recipe = found["metadata"]["recipe"].as_str().expect("a recipe");
    assert_eq!(recipe, lab.text("run/recipe.toml"), "it knows its recipe");

    let checkpoint = open(&python, &lab.path("run/checkpoint.safetensors"), &[]);
    let weights = 16_usize.pow(5);
    for (block, numbers) in [("cells", weights), ("sums", 2 * weights)] {
        assert_eq!(checkpoint["tables"][block]["shape"], json!([numbers]));
    }
    // The same weight in the order that it tells, the lowest digit first.
    let order = checkpoint["metadata"]["order"].as_str().expect("an order");
    let tiles = |cells: &str| {
        let tile = |cell: char| [2, 1, 3, 0, 1][cell.to_digit(16).expect("a cell") as usize];
        cells
            .chars()
            .rev()
            .fold(0, |index, cell| 16 * index + tile(cell))
    };
    let place = format!("cells:{}", tiles(order));
    let index = format!("01234:{}", tiles("01234"));
    let ours = open(&python, &lab.path("run/model.safetensors"), &[index]);
    let theirs = open(&python, &lab.path("run/checkpoint.safetensors"), &[place]);
    assert_eq!(ours["weights"], theirs["weights"]);
    assert!(ours["weights"][0].as_f64() != Some(0.0), "a weight in use");

    let state = open(&python, &lab.path("state/model.safetensors"), &[]);
    assert_eq!(state["tables"]["012"]["shape"], json!([4096]));
    assert_eq!(state["metadata"]["value"], "state");
}
