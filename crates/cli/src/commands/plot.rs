//! `afterstate plot`: learning curves of runs.

use std::path::PathBuf;

use afterstate_lab::plot::draw;
use afterstate_lab::run::{curve_of, recipe_of};

use super::shown;
use crate::args::PlotArgs;
use crate::output::print;

pub fn run(args: &PlotArgs) -> anyhow::Result<()> {
    let curves = args
        .runs
        .iter()
        .map(|run| curve_of(run))
        .collect::<Result<Vec<_>, _>>()?;
    let (folder, title) = match &args.runs[..] {
        [run] => {
            let recipe = recipe_of(run, &[])?;
            (
                run.join("plots"),
                format!("{}: {} on {}", recipe.name, recipe.game, recipe.board),
            )
        }
        _ => (PathBuf::from("plots"), "Learning curves".to_owned()),
    };
    let folder = args.out.clone().unwrap_or(folder);
    let files = draw(&curves, &title, &folder)?;
    print(
        files
            .iter()
            .map(|file| shown(file) + "\n")
            .collect::<String>(),
    )
}
