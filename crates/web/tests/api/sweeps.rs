//! Sweeps, and runs of deep networks, which the program lists also where it cannot train them.

use std::fs;
use std::path::Path;

use afterstate_lab::control::Control;
use afterstate_lab::sweep::Sweep;
use serde_json::json;

use crate::Site;

/// Two variants with two seeds each.
const SWEEP: &str = include_str!("../sweep.toml");

#[tokio::test]
async fn a_sweep_has_its_runs_its_table_and_its_curves() {
    let site = Site::new();
    assert_eq!(site.get("/api/v1/sweeps").await.1, json!([]));
    let file = site.folder.path().join("rates.toml");
    fs::write(&file, SWEEP).unwrap();
    let sweep = Sweep::load(&file).unwrap();
    let out = site.folder.path().join("group/rates");
    let results = sweep.run(&out, 1, &Control::new()).unwrap().unwrap();
    // A list is used again for a moment.
    tokio::time::sleep(std::time::Duration::from_millis(600)).await;
    let (_, found) = site.get("/api/v1/sweeps").await;
    assert_eq!(found[0]["id"], "group/rates");
    assert_eq!(found[0]["heading"], json!(null), "it has no table yet");
    let summary = sweep.summary(&out, &results).unwrap();
    summary.save(&out).unwrap();
    let (_, found) = site.get("/api/v1/sweeps").await;
    let heading = found[0]["heading"].as_str().unwrap();
    assert!(
        heading.contains("2048 on 2x3, mean score of 20 games"),
        "{heading}"
    );
    for (variant, row) in found[0]["variants"]
        .as_array()
        .unwrap()
        .iter()
        .zip(&summary.variants)
    {
        assert_eq!(variant["name"], row.name.as_str());
        assert_eq!(variant["row"]["mean"].as_f64(), row.mean);
        assert_eq!(variant["runs"][1]["seed"], 2);
        assert_eq!(variant["runs"][1]["status"], "finished");
        let id = variant["runs"][1]["id"].as_str().unwrap();
        let (status, _) = site.get(&format!("/api/v1/run?id={id}")).await;
        assert_eq!(status, 200, "{id}");
    }
    // Tables of 0.1.0 called diverged seeds broken.
    let table = out.join("summary.csv");
    let text = fs::read_to_string(&table).unwrap();
    assert!(
        text.contains(",seeds,diverged,") && text.contains(",2,0,"),
        "{text}"
    );
    let former = text
        .replace(",diverged,", ",broken,")
        .replacen(",2,0,", ",1,1,", 1);
    fs::write(&table, former).unwrap();
    let (_, found) = site.get("/api/v1/sweeps").await;
    assert_eq!(found[0]["variants"][0]["row"]["diverged"], 1);
    let (_, curves) = site.get("/api/v1/sweep/curves?id=group/rates").await;
    assert_eq!(curves[1]["name"], "a hundredth");
    assert_eq!(
        (&curves[1]["seeds"], &curves[1]["points"][2]["games"]),
        (&json!(2), &json!(60))
    );
    for point in curves[1]["points"].as_array().unwrap() {
        let [low, mean, high] = ["low", "mean", "high"].map(|it| point[it].as_f64().unwrap());
        assert!(low <= mean && mean <= high, "{point}");
    }
    for id in [
        "rates",
        "group",
        "group/rates/a-tenth",
        "../group/rates",
        "",
    ] {
        let (status, _) = site.get(&format!("/api/v1/sweep/curves?id={id}")).await;
        assert_eq!(status, 404, "{id}");
    }
    assert_eq!(site.get("/api/v1/sweep/curves").await.0, 400);
}

/// A run folder of deep learning: listed, with its recipe and its blocks, in every build.
#[tokio::test]
async fn runs_of_deep_networks_are_shown() {
    let site = Site::new();
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../cli/tests/fixtures/format1/dqn");
    let to = site.folder.path().join("deep");
    fs::create_dir(&to).unwrap();
    for file in ["blocks.csv", "checkpoint.safetensors", "recipe.toml"] {
        fs::copy(from.join(file), to.join(file)).unwrap();
    }
    let (_, runs) = site.get("/api/v1/runs").await;
    assert_eq!(
        (&runs[0]["id"], &runs[0]["recipe"]),
        (&json!("deep"), &json!("dqn"))
    );
    assert_ne!(runs[0]["status"], "damaged");
    let (status, run) = site.get("/api/v1/run?id=deep").await;
    assert_eq!(status, 200, "{run}");
    assert!(run["toml"].as_str().unwrap().contains("dqn"));
    let (_, blocks) = site.get("/api/v1/run/blocks?id=deep").await;
    assert!(blocks[0]["replay"]["loss"].is_number(), "{blocks}");
    if cfg!(not(feature = "deep")) {
        let board = run["board"].as_str().unwrap();
        let game = site
            .ok("/api/v1/games", json!({ "board": board, "seed": 1 }))
            .await;
        let ask = json!({ "position": game["game"]["position"], "model": "deep" });
        let message = site.refused(400, "/api/v1/analyze", ask).await;
        assert!(message.contains("built without deep learning"), "{message}");
    }
}
