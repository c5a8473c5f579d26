//! `afterstate runs`: lists runs.

use std::path::Path;

use afterstate_lab::runs::{RunInfo, list_runs};

use super::{RUNS, shown};
use crate::args::RunsArgs;
use crate::output::{grouped, print, print_json};

pub fn run(args: &RunsArgs) -> anyhow::Result<()> {
    let folder = args.folder.as_deref().unwrap_or(Path::new(RUNS));
    let runs = match &args.folder {
        // Before the first training there is no folder.
        None if !folder.exists() => Vec::new(),
        _ => list_runs(folder)?,
    };
    if args.json {
        return print_json(&runs);
    }
    if runs.is_empty() {
        return print(format!("no runs in {}\n", shown(folder)));
    }
    print(table(&runs))
}

/// The columns of the table, and whether each is right-aligned.
const HEADINGS: [(&str, bool); 7] = [
    ("run", false),
    ("status", false),
    ("games", true),
    ("mean", true),
    ("started (UTC)", false),
    ("game", false),
    ("recipe", false),
];

fn table(runs: &[RunInfo]) -> String {
    let rows: Vec<[String; 7]> = runs.iter().map(row).collect();
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        let heading = HEADINGS[column].0.chars().count();
        cells.chain([heading]).max().unwrap_or(0)
    };
    let widths: [usize; 7] = std::array::from_fn(width);
    let headings = HEADINGS.map(|(heading, _)| heading.to_owned());
    let lines = std::iter::once(&headings).chain(&rows);
    let line = |row: &[String; 7]| {
        let cells = row.iter().zip(widths).zip(HEADINGS);
        let cells = cells.map(|((cell, width), (_, right))| match right {
            true => format!("{cell:>width$}"),
            false => format!("{cell:<width$}"),
        });
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned() + "\n"
    };
    lines.map(line).collect()
}

fn row(run: &RunInfo) -> [String; 7] {
    let game = match (&run.game, &run.board) {
        (Some(game), Some(board)) => format!("{game} on {board}"),
        _ => "-".to_owned(),
    };
    let started = run.started.as_deref().unwrap_or("-");
    [
        shown(&run.path),
        run.status.name().to_owned(),
        grouped(run.games as f64),
        run.mean.map_or_else(|| "-".to_owned(), grouped),
        // Without seconds and zone.
        started.get(..16).unwrap_or(started).replace('T', " "),
        game,
        match run.recipe {
            Some(_) => run.title(),
            None => "-".to_owned(),
        },
    ]
}
