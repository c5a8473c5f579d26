//! Sweeps: variants of a recipe with several seeds.

use std::path::{Path, PathBuf};

use afterstate_lab::LabError;
use afterstate_lab::part::Part;
use afterstate_lab::sweep::{RunResult, Sweep, SweepSummary};
use pyo3::prelude::*;
use serde::Serialize;

use crate::convert::json;
use crate::errors::{OrRaise, Place};
use crate::work;

/// Where sweeps are by default.
const RUNS: &str = "runs";

/// A part of a sweep that is finished.
#[derive(Serialize)]
struct FinishedPart {
    part: Part,
    folder: PathBuf,
    runs: Vec<String>,
}

/// What a sweep ends with; neither, if it was cancelled.
#[derive(Serialize)]
#[serde(untagged)]
enum Swept {
    Whole(Box<SweepSummary>),
    Part(FinishedPart),
    Stopped,
}

/// A run of a sweep.
#[derive(Serialize)]
struct SweepRun {
    label: String,
    variant: String,
    seed: u64,
    /// Relative to the folder of the sweep.
    folder: PathBuf,
    /// The whole recipe, as text.
    recipe: String,
    threads: usize,
    done: bool,
}

/// A sweep and its runs, in the order of execution.
#[derive(Serialize)]
struct SweepInfo {
    name: String,
    games: u64,
    folder: PathBuf,
    runs: Vec<SweepRun>,
}

fn folder(sweep: &Sweep, out: Option<PathBuf>) -> PathBuf {
    out.unwrap_or_else(|| Path::new(RUNS).join(&sweep.name))
}

/// Saves the tables and plots.
fn report(sweep: &Sweep, out: &Path, results: &[RunResult]) -> Result<SweepSummary, LabError> {
    let summary = sweep.summary(out, results)?;
    summary.save(out)?;
    Ok(summary)
}

/// Trains the runs of a sweep that are missing, or those of a part, and summarises all.
#[pyfunction]
pub fn sweep(
    py: Python<'_>,
    file: PathBuf,
    out: Option<PathBuf>,
    part: Option<String>,
    jobs: usize,
    listener: Option<Py<PyAny>>,
) -> PyResult<String> {
    let found = work::run(py, listener, Place::Out, move |control| {
        let sweep = Sweep::load(&file)?;
        let out = folder(&sweep, out);
        let part: Part = part.as_deref().map_or(Ok(Part::WHOLE), str::parse)?;
        let Some(results) = sweep.run_part(&out, part, jobs, control)? else {
            return Ok(Swept::Stopped);
        };
        if part.is_whole() {
            let summary = report(&sweep, &out, &results)?;
            return Ok(Swept::Whole(Box::new(summary)));
        }
        let runs = sweep.runs_of(&out, part).into_iter();
        Ok(Swept::Part(FinishedPart {
            part,
            runs: runs.map(|run| run.label).collect(),
            folder: out,
        }))
    })?;
    json(&found)
}

/// The runs of a sweep, as JSON.
#[pyfunction]
pub fn sweep_runs(py: Python<'_>, file: PathBuf, out: Option<PathBuf>) -> PyResult<String> {
    let found = py.detach(|| -> Result<SweepInfo, LabError> {
        let sweep = Sweep::load(&file)?;
        let out = folder(&sweep, out);
        sweep.check(&out)?;
        let runs = sweep.runs(&out).into_iter();
        let runs = runs.map(|run| SweepRun {
            done: run.is_done(sweep.games),
            folder: run
                .folder
                .strip_prefix(&out)
                .map_or_else(|_| run.folder.clone(), Path::to_owned),
            variant: sweep.variants[run.variant].name.clone(),
            seed: run.seed,
            recipe: run.recipe.to_toml(),
            threads: run.recipe.threads,
            label: run.label,
        });
        Ok(SweepInfo {
            runs: runs.collect(),
            name: sweep.name.clone(),
            games: sweep.games,
            folder: out,
        })
    });
    json(&found.or_raise()?)
}

/// Copies the runs in the folders of parts to one folder, and summarises them.
#[pyfunction]
pub fn merge_sweep(
    py: Python<'_>,
    file: PathBuf,
    parts: Vec<PathBuf>,
    out: PathBuf,
) -> PyResult<String> {
    let found = work::run(py, None, Place::Out, move |_| {
        let sweep = Sweep::load(&file)?;
        let results = sweep.merge(&parts, &out)?;
        report(&sweep, &out, &results)
    })?;
    json(&found)
}
