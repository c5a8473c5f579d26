//! `bench`: rows for one thread and for all, on standard output alone, and Ctrl-C that keeps them.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::common::{Done, Lab, Running};

#[test]
fn a_row_for_one_thread_and_one_for_all() {
    let lab = Lab::new();
    let json = lab
        .run("bench --seconds 0.3 --network 8x4 --threads 2 --json")
        .json();
    assert_eq!(json["version"], env!("CARGO_PKG_VERSION"));
    let path = json["path"].as_str().unwrap();
    assert!(["plain", "avx2"].contains(&path), "{path}");
    assert_eq!(json["seconds"], 0.3);
    assert!(json["cores"].as_u64() >= Some(1));
    assert!(json["cpu"].as_str().is_some_and(|cpu| !cpu.is_empty()));
    let rows = json["rows"].as_array().expect("rows");
    assert_eq!(rows.len(), 2);
    for (row, threads) in rows.iter().zip([1, 2]) {
        assert_eq!(row["threads"], threads);
        for (key, value) in [("network", "8x4 td"), ("tuples", "8x4"), ("mode", "train")] {
            assert_eq!(row[key], value);
        }
        assert_eq!((&row["rule"], &row["lambda"]), (&"td".into(), &0.0.into()));
        assert_eq!(row["memory_mib"], 2.0);
        assert!(row["games_before"].as_u64() > Some(0), "{row}");
        spread_holds_the_median(row);
    }
    assert_eq!(lab.listing(), [], "it leaves nothing behind");
}

fn spread_holds_the_median(row: &Value) {
    let slices = row["slices"].as_array().expect("slices");
    let slices: Vec<f64> = slices.iter().filter_map(Value::as_f64).collect();
    let median = row["moves_per_second"].as_f64().expect("a speed");
    assert!(slices.len() >= 3, "{row}");
    assert!(slices.iter().any(|&slice| slice <= median), "{row}");
    assert!(slices.iter().any(|&slice| slice >= median), "{row}");
    assert!(median > 1000.0, "{row}");
}

/// Every row is measured after exactly the games that were asked for.
#[test]
fn training_beforehand_by_games() {
    let lab = Lab::new();
    let json = lab
        .run_with(
            "bench --seconds 0.2 --warmup-games 50 --threads 1 --json --network",
            "4x6 td",
        )
        .json();
    assert_eq!(json["rows"].as_array().map(Vec::len), Some(1));
    assert_eq!(json["rows"][0]["games_before"], 50);

    let json = lab
        .run("bench --seconds 0.2 --warmup-games 50 --threads 2 --network 4x6 --json")
        .json();
    let rows = json["rows"].as_array().expect("rows");
    let names: Vec<&str> = rows
        .iter()
        .filter_map(|row| row["network"].as_str())
        .collect();
    assert_eq!(
        names,
        [
            "4x6 play", "4x6 play", "4x6 td", "4x6 td", "4x6 tc", "4x6 tc"
        ]
    );
    assert!(rows.iter().all(|row| row["games_before"] == 50), "{rows:?}");
    assert_eq!(
        (&rows[0]["mode"], &rows[0]["rule"]),
        (&"play".into(), &"td".into())
    );
    assert_eq!(
        (&rows[4]["rule"], &rows[4]["lambda"]),
        (&"tc".into(), &0.5.into())
    );
    assert_eq!(rows[4]["memory_mib"], 768.0);
}

#[test]
fn a_table_for_people_and_progress_beside_it() {
    let lab = Lab::new();
    let done = lab
        .run("bench --seconds 0.2 --network 8x4 --threads 3")
        .succeeds();
    for word in ["8x4 td", "1 thread", "3 threads", "after games", "2 MiB"] {
        assert!(done.stdout.contains(word), "no {word} in {}", done.stdout);
    }
    assert_eq!(done.stderr, "8x4 td: warming up\n8x4 td: measuring\n");
}

#[test]
fn bad_input_is_refused() {
    let lab = Lab::new();
    for time in ["0", "-1", "nan", "inf", "3601", "soon", ""] {
        lab.refuses_with(
            "bench",
            &format!("--seconds={time}"),
            &["--seconds", "3600"],
        );
    }
    let known = [
        "4x6 td", "4x6 tc", "4x6 play", "8x6 td", "state-6", "8x4 td",
    ];
    for name in ["9x9", "4x", "td", "4X6", ""] {
        lab.refuses_with("bench --network", name, &[&format!("`{name}`"), known[0]]);
    }
    lab.refuses("bench --network nothing", &known);
    lab.refuses("bench --threads 1025", &["--threads", "from 0 to 1024"]);
    lab.refuses("bench --threads 5000", &["--threads"]);
    lab.refuses("bench --warmup-games 0", &["--warmup-games", "from 1"]);
    lab.refuses("bench 4x6", &["4x6"]);
}

#[test]
fn the_path_can_be_chosen_but_not_made_up() {
    let lab = Lab::new();
    let bench = "bench --seconds 0.2 --network 8x4 --threads 1 --json";
    let with = |cpu: &str| {
        let output = lab.command(bench).env("AFTERSTATE_CPU", cpu).output();
        Done::of(bench, output.expect("the program runs"))
    };
    assert_eq!(with("plain").json()["path"], "plain");
    for cpu in ["Plain", "sse", ""] {
        with(cpu).refused(&["AFTERSTATE_CPU", &format!("`{cpu}`"), "plain"]);
    }
}

/// Ctrl-C in the second network ends at once, with the rows of the first.
#[test]
fn ctrl_c_keeps_finished_rows() {
    let lab = Lab::new();
    let bench = "bench --warmup-games 100 --seconds 3600 --network 5x6 --json";
    let begun = stopped(&lab, bench, "5x6 td: measuring");
    assert_eq!(begun["rows"], Value::Array(Vec::new()), "none is finished");

    let bench = "bench --seconds 6 --network 5x6 --network 8x4 --json";
    let first = stopped(&lab, bench, "8x4 td: warming up");
    let rows = first["rows"].as_array().expect("rows");
    assert!(!rows.is_empty() && rows.iter().all(|row| row["network"] == "5x6 td"));
}

/// The document of a measurement that was stopped when its progress came to this line.
fn stopped(lab: &Lab, bench: &str, line: &str) -> Value {
    let mut command = lab.command(bench);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program");
    let progress = BufReader::new(child.stderr.take().expect("a pipe"));
    let running = Running::of(child);
    let mut lines = progress.lines().map(|line| line.expect("text"));
    assert!(lines.any(|found| found == line), "{bench}: no `{line}`");
    let id = running.id().to_string();
    let sent = Command::new("kill").args(["-INT", &id]).status();
    assert!(sent.expect("kill").success());
    let done = Done::of(bench, running.output()).ends_with(130);
    serde_json::from_str(&done.stdout).expect("a document")
}
