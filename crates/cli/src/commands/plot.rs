//! `afterstate plot`: learning curves of runs.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use afterstate_lab::LabError;
use afterstate_lab::curve::Curve;
use afterstate_lab::plot::draw;
use afterstate_lab::run::{Gaps, curve_of, recipe_of, title};
use afterstate_lab::sweep::is_sweep;
use serde::Serialize;

use super::shown;
use crate::args::PlotArgs;
use crate::output::{print, print_json, tell};

pub fn run(args: &PlotArgs) -> anyhow::Result<()> {
    let mut curves = args
        .runs
        .iter()
        .map(|run| {
            is_no_sweep(run)?;
            Ok(curve(run)?)
        })
        .collect::<anyhow::Result<Vec<_>>>()?;
    let names: HashSet<_> = curves.iter().map(|curve| curve.label.clone()).collect();
    if names.len() < curves.len() {
        // Folders with the same name are labelled with their paths.
        for (curve, run) in curves.iter_mut().zip(&args.runs) {
            curve.label = shown(run);
        }
    }
    let (folder, title) = match &args.runs[..] {
        [run] => (run.join("plots"), title(&recipe_of(run, &[])?)),
        runs => {
            let game = one_game(runs)?;
            (PathBuf::from("plots"), format!("Learning curves: {game}"))
        }
    };
    let folder = args.out.clone().unwrap_or(folder);
    let files = draw(&curves, &title, &folder).map_err(LabError::from)?;
    tell_unmeasured(&curves);
    if args.json {
        return print_json(&Document {
            title,
            runs: &args.runs,
            files,
        });
    }
    print(
        files
            .iter()
            .map(|file| shown(file) + "\n")
            .collect::<String>(),
    )
}

/// What was drawn; the JSON of `plot --json`.
#[derive(Serialize)]
struct Document<'a> {
    title: String,
    runs: &'a [PathBuf],
    files: Vec<PathBuf>,
}

/// The game of all runs: scores and tiles of different games cannot be compared.
fn one_game(runs: &[PathBuf]) -> anyhow::Result<String> {
    let games = runs.iter().map(|run| {
        let recipe = recipe_of(run, &[])?;
        Ok(format!("{} on {}", recipe.game, recipe.board))
    });
    let games: Vec<String> = games.collect::<Result<_, LabError>>()?;
    match games.iter().find(|&game| *game != games[0]) {
        None => Ok(games[0].clone()),
        Some(other) => anyhow::bail!(
            "the runs are of {} and of {other}; only runs of one game and board can share a plot",
            games[0]
        ),
    }
}

/// Names the runs that are missing in the plot of optimality gaps, if there is one.
fn tell_unmeasured(curves: &[Curve]) {
    let (measured, others): (Vec<_>, Vec<_>) =
        curves.iter().partition(|curve| !curve.gaps.is_empty());
    if !measured.is_empty() && !others.is_empty() {
        let names: Vec<&str> = others.iter().map(|curve| curve.label.as_str()).collect();
        tell(&format!(
            "not in the plot of optimality gaps, because `eval --against --keep` has not measured them: {}",
            names.join(", ")
        ));
    }
}

/// Refuses the folder of a sweep, which has its own plots.
fn is_no_sweep(folder: &Path) -> anyhow::Result<()> {
    if is_sweep(folder) {
        let folder = shown(folder);
        anyhow::bail!(
            "{folder} is the folder of a sweep, and its plots are in {folder}/plots; to plot one of \
             its runs, name the folder of that run (see `afterstate runs {folder}`)"
        );
    }
    Ok(())
}

/// A run with its gaps, if it was measured.
fn curve(run: &Path) -> Result<Curve, LabError> {
    let gaps = Gaps::open(run)?.curve();
    Ok(Curve {
        gaps,
        ..curve_of(run)?
    })
}
