//! `afterstate bench`: the speed of this machine.

use std::fmt::Write;

use afterstate_lab::bench::{BenchOptions, BenchReport, BenchRow, bench};
use afterstate_lab::search::{SearchLimit, SearchSpec};

use crate::args::BenchArgs;
use crate::interrupt;
use crate::output::{count, grouped, print, print_json};
use crate::progress::Display;

pub fn run(args: &BenchArgs) -> anyhow::Result<()> {
    interrupt::listen()?;
    let display = Display::new();
    let searches = searches(args);
    let report = bench(&BenchOptions {
        time: args.seconds,
        games: args.warmup_games,
        networks: &args.network,
        searches: &searches,
        threads: args.threads.unwrap_or(0),
        control: &display.control(),
    });
    display.finish();
    let report = report?;
    if args.json {
        return print_json(&report);
    }
    print(table(&report))
}

/// The searches to measure.
fn searches(args: &BenchArgs) -> Vec<SearchSpec> {
    let table_bytes = args.hash.map(|mebibytes| (mebibytes << 20) as usize);
    let spec = |limit: &SearchLimit| {
        let spec = SearchSpec::new(limit.clone());
        SearchSpec {
            table_bytes: table_bytes.unwrap_or(spec.table_bytes),
            ..spec
        }
    };
    args.search.iter().map(spec).collect()
}

/// The results as text: a line for each network, a column for each number of threads.
fn table(report: &BenchReport) -> String {
    let BenchReport {
        version,
        cpu,
        cores,
        path,
        rows,
        ..
    } = report;
    let cores = count(*cores as u64, "core");
    let mut text = format!("afterstate {version} ({path}) on {cpu}, {cores}\n");
    // Writing to a string cannot fail.
    let Some(first) = rows.first() else {
        let _ = writeln!(text, "stopped by Ctrl-C before the first row was finished");
        return text;
    };
    // A search makes thousands of moves per second, not millions.
    let (name, unit) = match rows.iter().any(|row| row.moves_per_second < 1e5) {
        true => ("thousand", 1e3),
        false => ("million", 1e6),
    };
    let _ = writeln!(
        text,
        "{name} moves per second: the median, and the minimum and maximum in brackets\n"
    );
    let width = rows
        .iter()
        .map(|row| row.network.len())
        .max()
        .unwrap_or(0)
        .max(8);
    let lines = || rows.chunk_by(|a, b| a.network == b.network);
    let threads = |row: &BenchRow| match row.threads {
        1 => "1 thread".to_owned(),
        threads => format!("{threads} threads"),
    };
    let _ = write!(text, "{:<width$}  {:>12}", "network", "after games");
    for row in rows.iter().take_while(|row| row.network == first.network) {
        let _ = write!(text, "  {:^25}", threads(row));
    }
    let _ = writeln!(text, "  {:>9}", "memory");
    for line in lines() {
        let row = &line[0];
        let games = grouped(row.games_before as f64);
        let _ = write!(text, "{:<width$}  {games:>12}", row.network);
        for row in line {
            let _ = write!(text, "  {:>25}", speed(row, unit));
        }
        let _ = writeln!(text, "  {:>5.0} MiB", row.memory_mib);
    }
    text
}

/// The median with its spread: 2.10 (2.05 to 2.13).
fn speed(row: &BenchRow, unit: f64) -> String {
    let in_unit = |speed: f64| speed / unit;
    let spread = |speed: Option<&u64>| in_unit(speed.copied().unwrap_or(0) as f64);
    let slices = &row.slices;
    format!(
        "{:.2} ({:.2} to {:.2})",
        in_unit(row.moves_per_second),
        spread(slices.iter().min()),
        spread(slices.iter().max()),
    )
}
