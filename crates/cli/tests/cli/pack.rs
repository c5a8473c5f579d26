//! Packed models: they play wherever a model does, their bytes are verified, and what cannot be packed
//! or resumed is refused.

use std::fs;

use serde_json::Value;

use crate::common::Lab;

/// A run of TC with small tables.
fn trained() -> Lab {
    let lab = Lab::new();
    lab.train("run", 300, "");
    lab
}

fn json(lab: &Lab, args: &str) -> Value {
    lab.run(args).succeeds().json()
}

#[test]
fn a_packed_model_plays_wherever_a_model_does() {
    let lab = trained();
    let report = json(&lab, "pack run small.packed --games 200 --json");
    let bytes = lab.bytes("small.packed");
    assert_eq!(report["bytes"], bytes.len());
    assert!(report["kept"].as_u64() <= report["nonzero"].as_u64());
    assert_eq!(report["tables"], 8);
    for network in ["whole", "packed"] {
        assert_eq!(report[network]["games"], 200);
        assert!(report[network]["mean_ci95"].is_array());
    }
    // The limit of 9 MiB costs this network nothing that games show.
    let mean = |network: &str| report[network]["mean"].as_f64().unwrap();
    assert!((mean("packed") / mean("whole") - 1.0).abs() < 0.1);

    let eval = json(&lab, "eval small.packed --games 200 --json");
    assert_eq!(eval["mean"], report["packed"]["mean"]);
    assert_eq!(eval["model"]["sha256"], report["sha256"]);
    assert_eq!(eval["model"]["trained"], 300);
    assert_eq!(report["model"]["path"], "run/checkpoint.safetensors");
    assert_eq!(report["model"]["sha256"].as_str().map(str::len), Some(64));
    json(&lab, "compare small.packed run --games 50 --json");
    json(&lab, "eval small.packed --games 5 --search 2ply --json");
    let best = |model: &str| {
        json(
            &lab,
            &format!("analyze 2,4,8,0/16,2,4,0/0,0,2,0/0,0,0,0 --model {model} --json"),
        )
    };
    assert_eq!(best("small.packed")["best"], best("run")["best"]);
    lab.run("check small.packed").succeeds();
    lab.run("eval small.packed --games 20 --records games.txt")
        .succeeds();
    lab.run("review games.txt small.packed --json").succeeds();
}

/// An unpacked model plays the same games, and packing again gives the same bytes.
#[test]
fn packing_is_exact_about_what_it_keeps() {
    let lab = trained();
    lab.run("pack run a.packed --threads 1").succeeds();
    lab.run("pack run b.packed --threads 2").succeeds();
    assert_eq!(lab.bytes("a.packed"), lab.bytes("b.packed"));
    lab.run("convert a.packed whole.safetensors").succeeds();
    let games = |model: &str| {
        let mut report = json(&lab, &format!("eval {model} --games 100 --json"));
        for key in ["model", "moves_per_second"] {
            report.as_object_mut().unwrap().remove(key);
        }
        report
    };
    assert_eq!(games("a.packed"), games("whole.safetensors"));
    // A new run can start with its weights.
    lab.train("on", 20, "run/recipe.toml --from a.packed");
}

#[test]
fn the_size_has_a_limit() {
    let lab = trained();
    let mut last = u64::MAX;
    for limit in ["0.1", "0.03", "0.02"] {
        let report = json(
            &lab,
            &format!("pack run small.packed --size {limit} --json"),
        );
        let bytes = report["bytes"].as_u64().unwrap();
        let most = limit.parse::<f64>().unwrap() * f64::from(1 << 20);
        assert!(bytes as f64 <= most, "{bytes} {most}");
        assert!(bytes <= last);
        last = bytes;
    }
    lab.refuses("pack run x.packed --size 0.001", &["1048 bytes", "larger"]);
    assert!(!lab.exists("x.packed"));
}

#[test]
fn what_cannot_be_packed_is_refused() {
    let lab = trained();
    lab.refuses(
        "pack run/model.safetensors x.packed",
        &["no sums of TC", "checkpoint"],
    );
    lab.train("td", 5, "td-4x6");
    lab.refuses("pack td x.packed", &["not trained by TC", "learner.rule"]);
    lab.run("pack run x.packed").succeeds();
    lab.refuses("pack x.packed y.packed", &["packed already"]);
    lab.write("notes.txt", "mine");
    lab.refuses("pack run notes.txt", &["already exists", "--force"]);
    assert_eq!(lab.text("notes.txt"), "mine");
    lab.run("pack run notes.txt --force").succeeds();
    lab.run("pack run x.packed").succeeds();
    lab.refuses("pack run y.packed --seed 2", &["--games"]);
    lab.refuses("pack nothing y.packed", &["nothing"]);
    lab.refuses(
        "train --resume x.packed",
        &["packed model", "cannot be resumed"],
    );
}

/// A network in the program stands wherever the path of a model does.
#[test]
fn networks_in_the_program_are_named_by_every_command() {
    let lab = Lab::new();
    let checked = json(&lab, "check box:2048-4x4 --json");
    assert_eq!(checked["ok"], true);
    // It is read: only the kind of the new file is unknown.
    lab.refuses("convert box:2048-4x4 network.txt", &["network.txt"]);
    lab.refuses("pack box:2048-4x4 x.packed", &["packed already"]);
    lab.refuses(
        "plot box:2048-4x4",
        &["no learning curve", "folder of a run"],
    );
    for command in ["eval", "check", "convert x.safetensors", "pack x.packed"] {
        let (command, out) = command.split_once(' ').unwrap_or((command, ""));
        let args = format!("{command} box:chess-8x8 {out}");
        let words = ["no box:chess-8x8 in the program", "box:2048-4x4"];
        lab.refuses(args.trim_end(), &words);
    }
}

/// Weights that a phase of TD trained have no sums of TC: `pack` says so, and keeps them.
#[test]
fn weights_without_sums_are_named() {
    let lab = Lab::new();
    let phases = "--set rule=[{from=0,rule=\"td\"},{from=290,rule=\"tc\"}]";
    lab.train("run", 300, &format!("{phases} --set learning_rate=0.1"));
    let text = lab.run("pack run all.packed").succeeds().stdout;
    assert!(text.contains("without sums"), "{text}");
    let report = json(&lab, "pack run all.packed --games 200 --json");
    let [kept, nonzero, unsummed] =
        ["kept", "nonzero", "unsummed"].map(|key| report[key].as_u64().unwrap());
    assert!(unsummed > nonzero / 10, "{unsummed} of {nonzero}");
    assert!(kept > nonzero - nonzero / 10, "{kept} of {nonzero}");
}

#[test]
fn damage_is_found_wherever_it_is() {
    let lab = trained();
    lab.run("pack run good.packed").succeeds();
    let good = lab.bytes("good.packed");
    for at in [0, 9, 13, 17, 30, good.len() / 2, good.len() - 1] {
        let mut bad = good.clone();
        bad[at] ^= 1;
        fs::write(lab.path("bad.packed"), bad).unwrap();
        lab.refuses("eval bad.packed --games 1", &["bad.packed"]);
    }
    fs::write(lab.path("bad.packed"), &good[..good.len() - 100]).unwrap();
    lab.refuses("eval bad.packed --games 1", &["cut short"]);
    let found = lab.run("check bad.packed").ends_with(1).stdout;
    assert!(
        found.contains("FAULT") && found.contains("cut short"),
        "{found}"
    );
    lab.refuses("convert bad.packed x.safetensors", &["cut short"]);
}
