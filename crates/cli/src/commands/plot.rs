//! `afterstate plot`: learning curves of runs.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use afterstate_lab::LabError;
use afterstate_lab::boxed;
use afterstate_lab::curve::Curve;
use afterstate_lab::finish::plots_folder;
use afterstate_lab::plot::{self, PlotReport, ScoreSeries, ScoreStyle, draw};
use afterstate_lab::run::{Gaps, curve_of, recipe_of, title};
use afterstate_lab::scores;
use afterstate_lab::sweep::is_sweep;

use super::shown;
use crate::args::PlotArgs;
use crate::output::{grouped, print, print_json, tell};

pub fn run(args: &PlotArgs) -> anyhow::Result<()> {
    // A missing path that comes with options of scores is a missing file.
    let of_scores = score_options(args).is_some();
    let is_scores = |path: &&PathBuf| path.is_file() || of_scores && !path.exists();
    let files = args.runs.iter().filter(is_scores).count();
    match files {
        0 => curves(args),
        _ if files == args.runs.len() => scores(args),
        _ => anyhow::bail!(
            "runs and files of scores have no plot in common; name only the one or the other (a run that was \
             trained with scores=true has a scores.txt)"
        ),
    }
}

/// The scores of single games, of our runs or of another program.
fn scores(args: &PlotArgs) -> anyhow::Result<()> {
    let series = args.runs.iter().map(|path| {
        Ok(ScoreSeries {
            label: shown(path),
            scores: scores::open(path)?,
        })
    });
    let series = series.collect::<Result<Vec<_>, LabError>>()?;
    let style = ScoreStyle {
        every: args.every,
        mean_of: args.mean,
        x_range: args.x,
        y_range: args.y,
    };
    let title = match &series[..] {
        [one] => {
            let games = grouped(one.scores.len() as f64);
            format!("{}: {games} games", one.label)
        }
        several => format!("Scores of {} files", several.len()),
    };
    let plot = plot::scores(&series, &style, &title).map_err(LabError::from)?;
    let out = args.out.clone().unwrap_or_else(|| PathBuf::from("plots"));
    let files = match out.extension() {
        Some(_) => plot.write(&out).map(|()| vec![out]),
        None => plot::save(&[plot], &out),
    };
    report(args, title, files.map_err(LabError::from)?)
}

/// Whether a path has the ending of a picture.
fn is_image(path: &Path) -> bool {
    let ending = path.extension().and_then(|ending| ending.to_str());
    matches!(ending, Some("png" | "svg")) && !path.is_dir()
}

/// An option that is for files of scores, if one is given.
fn score_options(args: &PlotArgs) -> Option<&'static str> {
    let options = [
        ("--every", args.every.is_some()),
        ("--mean", args.mean.is_some()),
        ("--x", args.x.is_some()),
        ("--y", args.y.is_some()),
    ];
    let given = options.into_iter().find(|(_, given)| *given);
    given.map(|(option, _)| option)
}

fn curves(args: &PlotArgs) -> anyhow::Result<()> {
    if let Some(flag) = score_options(args) {
        anyhow::bail!(
            "{flag} is for files of scores: a run that was trained with scores=true has a scores.txt"
        );
    }
    let mut curves = args
        .runs
        .iter()
        .map(|run| {
            is_no_sweep(run)?;
            anyhow::ensure!(
                boxed::named(run).is_none(),
                "{} is a network in the program, which has no learning curve; name the folder of a run",
                shown(run)
            );
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
    let title = match &args.runs[..] {
        [run] => title(&recipe_of(run, &[])?),
        runs => format!("Learning curves: {}", one_game(runs)?),
    };
    if let Some(file) = args.out.as_ref().filter(|out| is_image(out)) {
        anyhow::bail!(
            "{} is the name of a file; runs have several plots, so that --out names a folder",
            shown(file)
        );
    }
    let folder = match (&args.out, &args.runs[..]) {
        (Some(folder), _) => folder.clone(),
        (None, [run]) => plots_folder(run)?,
        (None, _) => PathBuf::from("plots"),
    };
    let files = draw(&curves, &title, &folder).map_err(LabError::from)?;
    tell_unmeasured(&curves);
    report(args, title, files)
}

/// Tells which files were written.
fn report(args: &PlotArgs, title: String, files: Vec<PathBuf>) -> anyhow::Result<()> {
    if args.json {
        return print_json(&PlotReport {
            title,
            runs: args.runs.clone(),
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
