//! `afterstate pack`: packs the network of a run into a small file.

use std::fmt::Write;

use afterstate_lab::LabError;
use afterstate_lab::numbers::bytes;
use afterstate_lab::pack::{PackOptions, PackReport, pack};
use afterstate_lab::report::Evaluation;

use super::shown;
use crate::args::PackArgs;
use crate::interrupt;
use crate::output::{count, grouped, interval, note, percent, print, print_json};
use crate::progress::Display;

pub fn run(args: &PackArgs) -> anyhow::Result<()> {
    interrupt::listen()?;
    let display = Display::new();
    let report = pack(&PackOptions {
        from: &args.from,
        to: &args.to,
        limit: (args.size * f64::from(1 << 20)) as u64,
        games: args.games.unwrap_or(0),
        seed: args.seed,
        threads: args.threads,
        force: args.force,
        control: &display.control(),
    });
    display.finish();
    match report {
        Ok(report) => {
            if args.games.is_some_and(|games| games > 0) && report.packed.is_none() {
                note("stopped: the file is written, but not what the packing costs");
            } else {
                interrupt::completed();
            }
            match args.json {
                true => print_json(&report),
                false => print(summary(&report)),
            }
        }
        Err(LabError::PackStopped) => {
            note("stopped by Ctrl-C: no file was written");
            Ok(())
        }
        Err(error) => Err(error.into()),
    }
}

fn summary(report: &PackReport) -> String {
    let r = report;
    let mut text = String::new();
    // Writing to a string cannot fail.
    let mut row = |name: &str, value: String| {
        let _ = writeln!(text, "{name:<16} {value}");
    };
    row("packed", shown(&r.from));
    row("into", shown(&r.to));
    let length = grouped(r.bytes as f64);
    row("size", format!("{length} bytes ({})", bytes(r.bytes)));
    row("memory", format!("{} when it is loaded", bytes(r.memory)));
    row(
        "weights kept",
        format!(
            "{} of {} that are not 0 ({}), {:.2} bits each",
            grouped(r.kept as f64),
            grouped(r.nonzero as f64),
            percent(r.kept as f64 / r.nonzero.max(1) as f64),
            r.bits_per_kept
        ),
    );
    if r.unsummed > 0 {
        let unsummed = grouped(r.unsummed as f64);
        row(
            "without sums",
            format!("{unsummed} weights, trained before the sums of this run began"),
        );
    }
    row("sha256", r.sha256.clone());
    if let (Some(whole), Some(packed)) = (&r.whole, &r.packed) {
        row("whole network", scores(whole));
        row("packed network", scores(packed));
        let share = packed.scores.mean / whole.scores.mean;
        row("mean kept", percent(share));
    }
    text
}

fn scores(evaluation: &Evaluation) -> String {
    let e = &evaluation.scores;
    format!(
        "mean {} ({}) over {}, seed {}",
        grouped(e.mean),
        interval(e.mean_ci95),
        count(e.games, "game"),
        evaluation.seed
    )
}
