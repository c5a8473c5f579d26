//! The API against its own description, by schemathesis: many requests, valid and not, and every answer
//! must be described, and none an error of the server.
//!
//! `./test` installs schemathesis, and names it in `AFTERSTATE_SCHEMATHESIS`; without it the test says
//! what is left out, and with `CI` set that is a failure.

use std::process::Command;

use afterstate_web::{Config, start};

use crate::train;

#[test]
fn every_answer_is_described() {
    let Some(schemathesis) = std::env::var_os("AFTERSTATE_SCHEMATHESIS") else {
        let what = "the API against its description: AFTERSTATE_SCHEMATHESIS names no schemathesis";
        assert!(std::env::var_os("CI").is_none(), "{what}");
        eprintln!("SKIPPED: {what}");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    // The examples of the description name a run `quick` and boards of 2x3.
    train(&folder.path().join("quick"));
    let config = Config {
        port: 0,
        ..Config::new(folder.path())
    };
    let server = start(&config).unwrap();
    let output = Command::new(schemathesis)
        // Its files of examples and reports are of this run alone.
        .current_dir(folder.path())
        .arg("run")
        .arg(format!("http://{}/api/v1/openapi.json", server.address))
        // The stream does not end, and neither would the runs that are started: see `runs.rs`.
        .args(["--exclude-path", "/api/v1/events"])
        .args(["--exclude-operation-id", "start_run"])
        .args(["--phases", "examples,coverage,fuzzing"])
        .args(["--max-examples", "5", "--seed", "1", "--workers", "2"])
        // The schema cannot say which texts are boards, searches or recipes: others are refused with 400.
        .args(["--exclude-checks", "positive_data_acceptance"])
        .args(["--request-timeout", "20", "--no-color"])
        .output()
        .unwrap();
    server.stop();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}");
}
