//! `afterstate analyze`: what is each move worth?

use std::fmt::Write;
use std::path::{Path, PathBuf};

use afterstate_lab::analyze::{Analysis, analyze};
use afterstate_lab::model::Model;
use afterstate_lab::run::newest;
use anyhow::Context;

use super::{RUNS, shown};
use crate::args::AnalyzeArgs;
use crate::output::{print, print_json};

pub fn run(args: &AnalyzeArgs) -> anyhow::Result<()> {
    let model = Model::open(&model_path(args)?)?;
    let analysis = analyze(&model, args.board.as_deref().unwrap_or_default())?;
    if args.json {
        return print_json(&analysis);
    }
    print(format!(
        "{}: {}\n\n{}",
        shown(&model.path),
        model.game(),
        table(&analysis)
    ))
}

fn model_path(args: &AnalyzeArgs) -> anyhow::Result<PathBuf> {
    let asked = args.model.clone().or_else(|| newest(Path::new(RUNS)));
    asked.context(
        "there is no model to ask: train one with `afterstate train`, or name one with `--model`",
    )
}

fn table(analysis: &Analysis) -> String {
    let mut text = format!(
        "{:<9} {:>8} {:>12} {:>12}\n",
        "move", "reward", "value", "total"
    );
    for m in &analysis.moves {
        let best = if analysis.best == Some(m.direction) {
            "  <- best"
        } else {
            ""
        };
        // Writing to a string cannot fail.
        let _ = match (m.reward, m.value, m.total) {
            (Some(reward), Some(value), Some(total)) => {
                writeln!(
                    text,
                    "{:<9} {reward:>8} {value:>12.1} {total:>12.1}{best}",
                    m.direction
                )
            }
            _ => writeln!(text, "{:<9} {:>8}", m.direction, "illegal"),
        };
    }
    if analysis.best.is_none() {
        text.push_str("no move changes this board: the game is over\n");
    }
    text
}
