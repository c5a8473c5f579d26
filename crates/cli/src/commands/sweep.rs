//! `afterstate sweep`: trains variants with several seeds and compares them.

use std::error::Error;
use std::fmt;
use std::path::{Path, PathBuf};

use afterstate_lab::part::Part;
use afterstate_lab::sweep::{RunResult, Sweep, SweepRun, SweepSummary};

use super::{RUNS, shown};
use crate::args::SweepArgs;
use crate::interrupt;
use crate::output::{count, note, print, print_json, tell};
use crate::progress::Display;

/// The sweep is finished, but some runs diverged.
#[derive(Debug)]
pub struct SomeDiverged {
    diverged: usize,
    runs: usize,
}

impl Error for SomeDiverged {}

impl fmt::Display for SomeDiverged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { diverged, runs } = self;
        write!(
            f,
            "{diverged} of {runs} runs diverged: a weight became NaN or infinite. The others are \
             finished. A smaller learning rate usually helps"
        )
    }
}

pub fn run(args: &SweepArgs) -> anyhow::Result<()> {
    let sweep = Sweep::load(&args.file)?;
    let default = || Path::new(RUNS).join(&sweep.name);
    let out = args.out.clone().unwrap_or_else(default);
    let part = args.part.unwrap_or(Part::WHOLE);
    let runs = sweep.runs_of(&out, part);
    interrupt::listen()?;
    let done: Vec<bool> = runs.iter().map(|run| run.is_done(sweep.games)).collect();
    note(&introduction(&sweep, &done, &out));
    let display = Display::new();
    let results = sweep.run_part(&out, part, args.jobs, &display.control());
    display.finish();
    let Some(results) = results? else {
        tell(&stopped(args, &sweep, &runs));
        return Ok(());
    };
    interrupt::completed();
    if !part.is_whole() {
        let printed = print(format!(
            "part {part}: {} of {} runs are finished in {}. With the folders of all parts:  afterstate merge --sweep {} --out DIR PART...\n",
            runs.len(),
            sweep.runs(&out).len(),
            shown(&out),
            shown(&args.file)
        ));
        return with_divergence(printed, &results);
    }
    report(&sweep, &out, &results, args.json)
}

/// Saves and prints the summary of a sweep with these results.
pub fn report(sweep: &Sweep, out: &Path, results: &[RunResult], json: bool) -> anyhow::Result<()> {
    let summary = sweep.summary(out, results)?;
    let plots = summary.save(out)?;
    let printed = match json {
        true => print_json(&summary),
        false => print(text(&summary, out, &plots)),
    };
    with_divergence(printed, results)
}

/// The exit status reports divergence even if standard output is closed.
fn with_divergence(printed: anyhow::Result<()>, results: &[RunResult]) -> anyhow::Result<()> {
    let diverged = |result: &&RunResult| matches!(result, RunResult::Diverged(_));
    match results.iter().filter(diverged).count() {
        0 => printed,
        diverged => Err(SomeDiverged {
            diverged,
            runs: results.len(),
        }
        .into()),
    }
}

fn introduction(sweep: &Sweep, done: &[bool], out: &Path) -> String {
    let finished = match done.iter().filter(|done| **done).count() {
        0 => String::new(),
        finished => format!(", {finished} of them finished"),
    };
    format!(
        "{}: {}, {}: {}{finished}, into {}",
        sweep.name,
        count(sweep.variants.len() as u64, "variant"),
        count(sweep.seeds.len() as u64, "seed"),
        count(done.len() as u64, "run"),
        shown(out)
    )
}

/// How to continue.
fn stopped(args: &SweepArgs, sweep: &Sweep, runs: &[SweepRun]) -> String {
    let done = runs.iter().filter(|run| run.is_done(sweep.games));
    let out = args.out.as_ref();
    let out = out.map_or_else(String::new, |out| format!(" --out {}", shown(out)));
    let jobs = match args.jobs {
        0 => String::new(),
        jobs => format!(" --jobs {jobs}"),
    };
    let json = if args.json { " --json" } else { "" };
    let part = args
        .part
        .map_or_else(String::new, |part| format!(" --part {part}"));
    format!(
        "stopped and saved: {} of {} runs are finished. Continue with:  afterstate sweep {}{out}{part}{jobs}{json}",
        done.count(),
        runs.len(),
        shown(&args.file)
    )
}

fn text(summary: &SweepSummary, out: &Path, plots: &[PathBuf]) -> String {
    let out = shown(out);
    let broken = summary.variants.iter().flat_map(|row| {
        let each = row.diverged.iter();
        each.map(|run| {
            let (seed, games) = (run.seed, run.divergence.games);
            format!(
                "{}, seed {seed}: diverged after {}\n",
                row.name,
                count(games, "game")
            )
        })
    });
    let broken: String = broken.collect();
    let broken = if broken.is_empty() {
        broken
    } else {
        format!("\n{broken}")
    };
    format!(
        "{}{broken}\nThe table is in {out}/summary.md and {out}/summary.csv, {} plots are in {out}/plots.\n",
        summary.text(),
        plots.len()
    )
}
