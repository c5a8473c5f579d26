//! `afterstate merge`: joins the parts that several machines have played or trained.

use std::path::Path;

use afterstate_lab::merge::{Merged, merge};
use afterstate_lab::report::Evaluation;
use afterstate_lab::sweep::Sweep;

use super::document::{of_comparison, of_evaluation};
use super::{compare, eval, models, sweep};
use crate::args::{FormatArg, MergeArgs};
use crate::output::{print, print_json};

pub fn run(args: &MergeArgs) -> anyhow::Result<()> {
    if let (Some(file), Some(out)) = (&args.sweep, &args.out) {
        let merged = Sweep::load(file)?;
        let results = merged.merge(&args.parts, out)?;
        return sweep::report(&merged, out, &results, args.json);
    }
    let merged = merge(&args.parts)?;
    if args.json {
        return print_json(&merged);
    }
    match (&merged, args.format) {
        (Merged::Evaluation(evaluation), FormatArg::Text) => {
            let table = eval::table(evaluation);
            print(format!("{}\n\n{table}", described(evaluation)))
        }
        (Merged::Evaluation(evaluation), format) => {
            let who = described(evaluation);
            let name = name(evaluation);
            print(of_evaluation(evaluation, Path::new(&name), &who).text(format))
        }
        (Merged::Comparison(comparison), format) => {
            let [a, b] = [&comparison.a, &comparison.b].map(described);
            print(match format {
                FormatArg::Text => compare::text(comparison, [&a, &b]),
                _ => of_comparison(comparison, [&a, &b]).text(format),
            })
        }
    }
}

/// What the search of an exact solution is called.
const EXACT: &str = "exact";

/// The path of a model, or how a baseline chooses its moves.
fn name(evaluation: &Evaluation) -> String {
    let model = evaluation.model.as_ref();
    model.map_or_else(|| evaluation.search.clone(), |model| model.path.clone())
}

/// The description of a player, as the commands that play have it.
fn described(evaluation: &Evaluation) -> String {
    let (game, board) = (&evaluation.game, &evaluation.board);
    let is_exact = evaluation.search == EXACT;
    match &evaluation.model {
        Some(model) if !is_exact => models::described(model),
        Some(model) => format!("{}: {game} on {board}, exact solution", model.path),
        None => format!("{}: {game} on {board}", name(evaluation)),
    }
}
