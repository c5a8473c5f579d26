//! A summary as a table: aligned text, Markdown and CSV.

use std::io;

use super::rates::OverSeeds;
use super::summary::{SummaryRow, SweepSummary, Verdict};
use crate::numbers::{decimals, percent, signed};
use crate::statistics::Interval;

/// A header and rows with the same number of cells. The first column is left-aligned, the others
/// are right-aligned.
pub(super) struct TextTable {
    header: Vec<String>,
    rows: Vec<Vec<String>>,
}

/// The table of a summary; empty columns are left out.
pub(super) fn of(summary: &SweepSummary) -> TextTable {
    let places = summary.decimals();
    let rows = &summary.variants;
    let any = |has: fn(&SummaryRow) -> bool| rows.iter().any(has);
    let unit = rows.iter().find(|row| row.speed.is_some());
    let columns: [(bool, &str, Cell<'_>); 6] = [
        (true, "seeds", &seeds),
        (true, "mean (95%)", &|row| {
            with_interval(row.mean, row.mean_ci95, |x| decimals(x, places))
        }),
        (
            any(|row| row.difference.is_some()),
            "difference (95%)",
            &|row| {
                let interval = row.difference_ci95;
                with_interval(row.difference, interval, |x| signed(x, places))
            },
        ),
        (any(|row| row.verdict.is_some()), "verdict", &|row| {
            row.verdict.map_or(NONE, Verdict::words).to_owned()
        }),
        (
            any(|row| row.average.is_some()),
            "running average (95%)",
            &|row| with_interval(row.average, row.average_ci95, |x| decimals(x, places)),
        ),
        (
            unit.is_some(),
            unit.map_or("", |row| &row.speed_unit),
            &|row| row.speed.map_or(NONE.to_owned(), speed),
        ),
    ];
    let columns = columns.iter().filter(|(shown, ..)| *shown);
    let names = columns.clone().map(|(_, name, _)| (*name).to_owned());
    let row = |row: &SummaryRow| {
        let cells = columns.clone().map(|(_, _, cell)| cell(row));
        [row.name.clone()].into_iter().chain(cells).collect()
    };
    TextTable {
        header: ["variant".to_owned()].into_iter().chain(names).collect(),
        rows: rows.iter().map(row).collect(),
    }
}

/// The table of medians and of the win rate of one tile; `None` if no variant was evaluated.
pub(super) fn of_rates(summary: &SweepSummary) -> Option<TextTable> {
    let rows = &summary.variants;
    let tile = summary.main_tile()?;
    let places = summary.decimals();
    let mut header = vec!["variant".to_owned(), "median (95%)".to_owned()];
    header.push(format!("reached {tile} (95%)"));
    let compared = rows.len() > 1;
    if compared {
        header.insert(2, "difference (95%)".to_owned());
        header.push("difference (95%)".to_owned());
    }
    let cells = |over: Option<&OverSeeds>, plain: fn(f64, usize) -> String, sign: Signed| {
        let show = |x: f64| plain(x, places);
        let mean = over.map(|over| with_interval(Some(over.mean), over.mean_ci95, show));
        let difference = over
            .map(|over| with_interval(over.difference, over.difference_ci95, |x| sign(x, places)));
        [Some(mean), compared.then_some(difference)]
            .into_iter()
            .flatten()
            .map(|cell| cell.unwrap_or_else(|| NONE.to_owned()))
            .collect::<Vec<String>>()
    };
    let row = |row: &SummaryRow| {
        let median = cells(row.median.as_ref(), decimals, signed);
        let share = |x: f64, _: usize| percent(x);
        let points = |x: f64, _: usize| signed(100.0 * x, 1) + "%";
        let reach = cells(row.rate(tile), share, points);
        let cells = [vec![row.name.clone()], median, reach];
        cells.concat()
    };
    Some(TextTable {
        header,
        rows: rows.iter().map(row).collect(),
    })
}

/// How a difference is shown, with this many decimals.
type Signed = fn(f64, usize) -> String;

/// The content of a column for a row.
type Cell<'a> = &'a dyn Fn(&SummaryRow) -> String;

/// An empty cell.
const NONE: &str = "-";

impl TextTable {
    /// As text with aligned columns.
    pub(super) fn text(&self) -> String {
        let lines = || [&self.header].into_iter().chain(&self.rows);
        let length = |text: &String| text.chars().count();
        let width = |column: usize| lines().map(|line| length(&line[column])).max().unwrap_or(0);
        let widths: Vec<usize> = (0..self.header.len()).map(width).collect();
        let line = |cells: &Vec<String>| {
            let aligned = cells.iter().zip(&widths).enumerate();
            let aligned = aligned.map(|(column, (cell, &width))| match column {
                0 => format!("{cell:<width$}"),
                _ => format!("{cell:>width$}"),
            });
            aligned.collect::<Vec<_>>().join("  ").trim_end().to_owned() + "\n"
        };
        lines().map(line).collect()
    }

    /// As Markdown.
    pub(super) fn markdown(&self) -> String {
        let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
        // A bar would end its cell.
        let harmless = |cells: &Vec<String>| -> Vec<String> {
            cells.iter().map(|cell| cell.replace('|', "\\|")).collect()
        };
        let rule = "|---".to_owned() + &"|---:".repeat(self.header.len() - 1) + "|\n";
        let rows: String = self.rows.iter().map(|row| line(&harmless(row))).collect();
        line(&self.header) + &rule + &rows
    }
}

/// The columns of a summary as CSV; the win rate is that of the tile in `tile`.
const COLUMNS: [&str; 29] = [
    "variant",
    "folder",
    "seeds",
    "diverged",
    "mean",
    "mean_low",
    "mean_high",
    "difference",
    "difference_low",
    "difference_high",
    "verdict",
    "average",
    "average_low",
    "average_high",
    "speed",
    "speed_unit",
    "median",
    "median_low",
    "median_high",
    "median_difference",
    "median_difference_low",
    "median_difference_high",
    "tile",
    "reach",
    "reach_low",
    "reach_high",
    "reach_difference",
    "reach_difference_low",
    "reach_difference_high",
];

/// Every number of a summary, a line for each variant; unknown values are empty.
pub(super) fn csv(summary: &SweepSummary) -> io::Result<Vec<u8>> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(COLUMNS)?;
    let tile = summary.main_tile();
    for row in &summary.variants {
        let number = |number: Option<f64>| number.map_or_else(String::new, |n| n.to_string());
        let ends = |interval: Option<Interval>| [0, 1].map(|end| number(interval.map(|i| i[end])));
        let [mean_low, mean_high] = ends(row.mean_ci95);
        let [difference_low, difference_high] = ends(row.difference_ci95);
        let [average_low, average_high] = ends(row.average_ci95);
        let six = |over: Option<&OverSeeds>| -> Vec<String> {
            let mean = number(over.map(|over| over.mean));
            let difference = number(over.and_then(|over| over.difference));
            let mean_ends = ends(over.and_then(|over| over.mean_ci95));
            let difference_ends = ends(over.and_then(|over| over.difference_ci95));
            let cells = [
                vec![mean],
                mean_ends.into(),
                vec![difference],
                difference_ends.into(),
            ];
            cells.concat()
        };
        let cells = [
            row.name.clone(),
            row.folder.clone(),
            row.scores.len().to_string(),
            row.diverged.len().to_string(),
            number(row.mean),
            mean_low,
            mean_high,
            number(row.difference),
            difference_low,
            difference_high,
            row.verdict.map_or("", Verdict::words).to_owned(),
            number(row.average),
            average_low,
            average_high,
            number(row.speed),
            row.speed_unit.clone(),
        ];
        let median = six(row.median.as_ref());
        let name = tile.map_or_else(String::new, |tile| tile.to_string());
        let reach = six(tile.and_then(|tile| row.rate(tile)));
        writer.write_record([&cells[..], &median, &[name], &reach].concat())?;
    }
    writer.into_inner().map_err(|error| error.into_error())
}

/// The number of seeds, and how many diverged.
fn seeds(row: &SummaryRow) -> String {
    match (row.scores.len(), row.diverged.len()) {
        (done, 0) => done.to_string(),
        (0, diverged) => format!("{diverged} diverged"),
        (done, diverged) => format!("{done}, {diverged} diverged"),
    }
}

fn with_interval(
    value: Option<f64>,
    interval: Option<Interval>,
    shown: impl Fn(f64) -> String,
) -> String {
    match (value, interval) {
        (None, _) => NONE.to_owned(),
        (Some(value), None) => shown(value),
        (Some(value), Some([low, high])) => {
            format!("{} ({} to {})", shown(value), shown(low), shown(high))
        }
    }
}

fn speed(speed: f64) -> String {
    decimals(speed, if speed < 10.0 { 1 } else { 0 })
}
