//! Model files that are none, or that were damaged: refused with a sentence, by every command.

use std::fs::{self, File};
use std::process::Command;

use serde_json::{Value, json};

use crate::common::{Dice, Lab, Tensors};

/// A small model, with the file taken apart.
fn model() -> (Lab, Tensors) {
    let lab = Lab::new();
    lab.train("run", 20, "--board 3x3 --set tuples=012");
    let tensors = Tensors::read(&lab.path("run/model.safetensors"));
    (lab, tensors)
}

/// Every command that takes a model refuses this one.
fn refused_by_all(lab: &Lab, file: &str, words: &[&str]) {
    let words: Vec<&str> = words.iter().copied().chain([file]).collect();
    lab.refuses(&format!("eval {file} --games 5"), &words);
    lab.refuses(&format!("eval {file} --games 5 --json"), &words);
    lab.refuses(&format!("compare run {file} --games 5"), &words);
    lab.refuses(&format!("compare {file} run --games 5"), &words);
    lab.refuses(&format!("analyze 2,0,0/0,0,0/0,0,2 --model {file}"), &words);
}

#[test]
fn files_that_are_not_there_or_not_files() {
    let (lab, _) = model();
    refused_by_all(&lab, "missing.safetensors", &["No such file"]);
    refused_by_all(&lab, "run/missing/deeper", &["No such file"]);
    refused_by_all(&lab, "run/recipe.toml", &["not a usable model"]);
    fs::create_dir(lab.path("empty")).expect("a folder");
    refused_by_all(&lab, "empty", &["not a run folder", "model.safetensors"]);
    fs::create_dir_all(lab.path("odd/model.safetensors")).expect("a folder");
    refused_by_all(&lab, "odd", &["model.safetensors"]);
    // Devices and pipes have no end.
    lab.refuses("eval /dev/zero --games 5", &["/dev/zero"]);
    let made = Command::new("mkfifo").arg(lab.path("pipe")).status();
    if made.is_ok_and(|status| status.success()) {
        refused_by_all(&lab, "pipe", &["cannot read"]);
    }
    lab.refuses("plot empty", &["empty", "not a run folder"]);
    lab.refuses("plot missing", &["missing"]);
}

#[test]
fn no_model_at_all() {
    let lab = Lab::new();
    lab.refuses(
        "analyze 2,0,0,4/0,0,8,0/0,0,0,2",
        &["afterstate train", "--model"],
    );
}

#[test]
fn empty_and_random_files() {
    let (lab, _) = model();
    lab.write("empty.safetensors", "");
    refused_by_all(&lab, "empty.safetensors", &["not a usable model"]);
    let mut dice = Dice::new(7);
    for size in [1, 7, 8, 9, 100, 4096, 100_000] {
        let bytes: Vec<u8> = (0..size).map(|_| dice.roll() as u8).collect();
        lab.write("random", bytes);
        lab.refuses("eval random --games 5", &["random", "not a usable model"]);
        // A plausible length, so that rubbish is met where JSON belongs.
        let mut bytes = lab.bytes("random");
        if size > 8 {
            bytes[..8].copy_from_slice(&(size as u64 - 8).to_le_bytes());
            lab.write("random", bytes);
            lab.refuses("eval random --games 5", &["random", "not a usable model"]);
        }
    }
    lab.write("zeros", vec![0; 5000]);
    lab.refuses("eval zeros --games 5", &["zeros", "not a usable model"]);
}

#[test]
fn truncated_files() {
    let (lab, _) = model();
    let whole = lab.bytes("run/model.safetensors");
    let mut dice = Dice::new(11);
    let mut lengths = vec![1, 8, 9, 4095, 4096, 4097, whole.len() - 4, whole.len() - 1];
    lengths.extend((0..30).map(|_| dice.below(whole.len() as u64) as usize));
    for length in lengths {
        lab.write("short", &whole[..length]);
        lab.refuses("eval short --games 5", &["short", "not a usable model"]);
    }
    lab.write("short", &whole[..whole.len() - 4]);
    lab.refuses("eval short --games 5", &["cut short", "its numbers should"]);
    lab.write("long", [&whole[..], b"more"].concat());
    lab.refuses("eval long --games 5", &["long", "not a usable model"]);

    // A checkpoint that was cut cannot be gone on with, and what is there stays as it is.
    let whole = lab.bytes("run/checkpoint.safetensors");
    for length in [0, 8, 5000, whole.len() - 1] {
        lab.write("run/checkpoint.safetensors", &whole[..length]);
        lab.refuses(
            "train --resume run --episodes 40",
            &["checkpoint.safetensors"],
        );
    }
}

#[test]
fn headers_that_promise_too_much() {
    let (lab, _) = model();
    for length in [1 << 60, u64::MAX, i64::MAX as u64, 1 << 32] {
        let mut bytes = lab.bytes("run/model.safetensors");
        bytes[..8].copy_from_slice(&length.to_le_bytes());
        lab.write("huge", bytes);
        lab.refuses("eval huge --games 5", &["huge", "not a usable model"]);
    }
    for numbers in [1_u64 << 60, u64::MAX, 1 << 40] {
        let mut tensors = Tensors::read(&lab.path("run/model.safetensors"));
        let end = numbers.saturating_mul(4);
        tensors.header["012"]["shape"] = json!([numbers]);
        tensors.header["012"]["data_offsets"] = json!([0, end]);
        tensors.write(&lab.path("huge"));
        lab.refuses("eval huge --games 5", &["huge", "not a usable model"]);
    }
    // Tables that no machine holds, told by the metadata: refused before they are allocated.
    let mut tensors = Tensors::read(&lab.path("run/model.safetensors"));
    *tensors.meta("tuples") = many_long_tuples(9).into();
    tensors.write(&lab.path("huge"));
    lab.lacks_room("eval huge --games 5", &["memory"]);
}

/// Hundreds of 8-tuples on a board of that many cells: terabytes.
pub fn many_long_tuples(cells: usize) -> String {
    let mut dice = Dice::new(1);
    let mut tuples: Vec<String> = Vec::new();
    while tuples.len() < 200 {
        let mut digits: Vec<char> = "0123456789abcdef".chars().take(cells).collect();
        for n in 0..8 {
            let other = n + dice.below((cells - n) as u64) as usize;
            digits.swap(n, other);
        }
        let tuple: String = digits[..8].iter().collect();
        if !tuples.contains(&tuple) {
            tuples.push(tuple);
        }
    }
    tuples.join(" ")
}

#[test]
fn a_file_larger_than_the_memory_is_refused_by_its_header() {
    let (lab, _) = model();
    let file = File::create(lab.path("sparse")).expect("a file");
    if file.set_len(4 << 40).is_err() {
        eprintln!("SKIPPED: this file system has no files of 4 TiB, not even empty ones");
        return;
    }
    lab.refuses("eval sparse --games 5", &["sparse", "not a usable model"]);
    // With a header of ours that promises as much.
    let mut bytes = lab.bytes("run/model.safetensors");
    bytes.truncate(8 + u64::from_le_bytes(bytes[..8].try_into().expect("8 bytes")) as usize);
    lab.write("sparse", bytes);
    let file = File::options().write(true).open(lab.path("sparse"));
    let grown = file.and_then(|file| file.set_len(4 << 40));
    grown.expect("a file as large as before");
    lab.refuses("eval sparse --games 5", &["sparse", "not a usable model"]);
}

/// The model with one thing changed.
fn refused_when(change: impl FnOnce(&mut Tensors), words: &[&str]) {
    let (lab, mut tensors) = model();
    change(&mut tensors);
    tensors.write(&lab.path("changed"));
    refused_by_all(&lab, "changed", words);
}

#[test]
fn safetensors_of_somebody_else() {
    let foreign = ["no metadata", "not a usable model"];
    refused_when(
        |file| {
            let header = file.header.as_object_mut().expect("a header");
            header.remove("__metadata__");
        },
        &foreign,
    );
    refused_when(
        |file| file.header["__metadata__"] = json!({ "format": "pt" }),
        &foreign,
    );
    refused_when(
        |file| {
            file.header = json!({ "conv1.weight": { "dtype": "F16", "shape": [2, 2], "data_offsets": [0, 8] } });
            file.data.truncate(8);
        },
        &foreign,
    );
}

#[test]
fn metadata_that_makes_no_sense() {
    for (key, value, words) in [
        ("afterstate", "3", ["`afterstate`", "newer"]),
        ("game", "chess", ["chess", "2048"]),
        ("board", "9x9", ["`board`", "4x4"]),
        ("board", "3x", ["`board`", "4x4"]),
        ("tuples", "", ["tuple set", "empty"]),
        ("tuples", "01z", ["01z", "cell"]),
        ("tuples", "01f", ["01f", "3x3"]),
        ("symmetry", "perhaps", ["`symmetry`", "true or false"]),
        ("value", "both", ["`value`", "afterstate or state"]),
        ("ties", "7", ["`ties`", "order or random"]),
        ("episodes", "-3", ["`episodes`", "a number"]),
    ] {
        let (lab, mut tensors) = model();
        *tensors.meta(key) = value.into();
        tensors.write(&lab.path("changed"));
        lab.refuses("eval changed --games 5", &words);
    }
    let (lab, mut tensors) = model();
    let metadata = tensors.header["__metadata__"].as_object_mut();
    metadata.expect("metadata").remove("board");
    tensors.write(&lab.path("changed"));
    refused_by_all(&lab, "changed", &["`board`"]);
}

#[test]
fn tables_that_do_not_fit() {
    refused_when(
        |file| *file.meta("tuples") = "345".into(),
        &["no tensor `345`"],
    );
    refused_when(
        |file| *file.meta("tuples") = "012 345".into(),
        &["no tensor `345`"],
    );
    refused_when(
        |file| {
            file.header["012"] =
                json!({ "dtype": "F32", "shape": [256], "data_offsets": [0, 1024] });
            file.data.truncate(1024);
        },
        &["`012`", "[256]", "4096"],
    );
    refused_when(
        |file| file.header["012"]["dtype"] = "I32".into(),
        &["`012`", "I32", "F32"],
    );
}

#[test]
fn weights_that_are_no_numbers() {
    for broken in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        refused_when(
            |file| file.data[400..404].copy_from_slice(&broken.to_le_bytes()),
            &["weight 100", "`012`", "finite"],
        );
    }
}

#[test]
fn checkpoints_whose_progress_is_garbage() {
    let (lab, _) = model();
    let path = lab.path("run/checkpoint.safetensors");
    let good = Tensors::read(&path).to_bytes();
    for garbage in [
        "",
        "garbage",
        "{}",
        "[1]",
        "null",
        "{\"games\": -1}",
        "{\"games\": \"ten\"}",
    ] {
        let mut tensors = Tensors::read(&path);
        *tensors.meta("progress") = garbage.into();
        tensors.write(&path);
        lab.refuses(
            "train --resume run --episodes 40",
            &["checkpoint.safetensors", "progress"],
        );
    }
    // A model in the place of the checkpoint.
    fs::copy(lab.path("run/model.safetensors"), &path).expect("a copy");
    lab.refuses(
        "train --resume run --episodes 40",
        &["checkpoint.safetensors", "a model instead of a checkpoint"],
    );
    // Logs that are shorter than the checkpoint remembers belong to another run.
    fs::write(&path, &good).expect("a checkpoint");
    let blocks = lab.text("run/blocks.csv");
    lab.write("run/blocks.csv", &blocks[..blocks.len() - 5]);
    lab.refuses(
        "train --resume run --episodes 40",
        &["blocks.csv", "checkpoint"],
    );
    // One that is gone is not made anew behind our back.
    fs::remove_file(lab.path("run/blocks.csv")).expect("a log");
    lab.refuses(
        "train --resume run --episodes 40",
        &["blocks.csv", "it is missing", "restore it"],
    );
    assert!(!lab.exists("run/blocks.csv"));
    lab.write("run/blocks.csv", blocks);
    lab.run("train --resume run --episodes 40").succeeds();
}

#[test]
fn a_run_whose_recipe_was_changed_is_not_gone_on_with() {
    let (lab, _) = model();
    let recipe = lab.text("run/recipe.toml");
    for (old, new) in [
        ("\"012\"", "\"345\""),
        ("\"tc\"", "\"td\""),
        ("seed = 1", "seed = 2"),
    ] {
        assert!(recipe.contains(old), "{recipe}");
        lab.write("run/recipe.toml", recipe.replace(old, new));
        lab.refuses(
            "train --resume run --episodes 40",
            &["recipe.toml", "trained with"],
        );
    }
    lab.write("run/recipe.toml", recipe.replace("\"012\"", "\"012"));
    lab.refuses("train --resume run --episodes 40", &["recipe.toml", "line"]);
    lab.write("run/recipe.toml", &recipe);
    lab.refuses("train --resume run --episodes 19", &["19", "20"]);
    lab.run("train --resume run --episodes 40").succeeds();
}

#[test]
fn curves_that_are_damaged() {
    let (lab, _) = model();
    let blocks = lab.text("run/blocks.csv");
    for damaged in [
        "",
        "games,mean\n",
        "one,two\n1,2\n",
        &blocks.replace("\n20,", "\nmany,"),
        &blocks.replace("\n20,", "\n-20,"),
        &blocks[..blocks.len() - 3],
        "\u{0}\u{1}\u{2}\n",
    ] {
        lab.write("run/blocks.csv", damaged);
        lab.refuses("plot run --out pictures", &["run"]);
    }
    lab.write("run/blocks.csv", [0xff, 0xfe, 0x00, b'\n', b'1']);
    lab.refuses("plot run --out pictures", &["run"]);
}

/// Metadata is text by the format's definition: a number there is another format.
#[test]
fn metadata_that_is_not_text() {
    refused_when(
        |file| *file.meta("episodes") = Value::from(7),
        &["not a usable model"],
    );
}
