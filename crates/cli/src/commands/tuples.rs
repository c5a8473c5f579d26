//! `afterstate tuples`: the tuples of a set, as text and as a drawing.

use std::fmt::Write;
use std::path::Path;

use afterstate::game::Shape;
use afterstate::machine::AtomicF32;
use afterstate::ntuple::{NAMED_SETS, Pattern, TupleSet, WeightTables};
use afterstate_lab::LabError;
use afterstate_lab::games::shape;
use afterstate_lab::plot::diagram::{Theme, tuple_set};
use afterstate_lab::recipe::{Recipe, parse_board};
use serde::Serialize;

use super::shown;
use crate::args::{ThemeArg, TuplesArgs};
use crate::output::{grouped, print, print_json};

/// The number of boards side by side in the terminal.
const COLUMNS: usize = 6;

pub fn run(args: &TuplesArgs) -> anyhow::Result<()> {
    let (rows, cols) = parse_board(&args.board).map_err(LabError::from)?;
    let shape = shape(rows, cols)?;
    let (name, text, symmetry) = set(&args.set)?;
    let tuples = TupleSet::parse(&text, shape, symmetry && !args.no_symmetry)?;
    let document = TuplesReport::new(name, &tuples);
    if let Some(file) = &args.out {
        let name = document.name.as_deref().unwrap_or("");
        let plot = tuple_set(name, &tuples, theme(args.theme));
        plot.and_then(|plot| plot.write(file))
            .map_err(LabError::from)?;
    }
    if args.json {
        return print_json(&document);
    }
    print(document.text(&tuples)? + &args.out.as_deref().map_or(String::new(), written))
}

/// The name of a set, or of a recipe, its patterns, and whether all symmetries share a table.
fn set(words: &[String]) -> anyhow::Result<(Option<String>, String, bool)> {
    let text = words.join(" ");
    let name = text.trim();
    if name == "lines" || NAMED_SETS.iter().any(|(known, _)| *known == name) {
        return Ok((Some(name.to_owned()), text, true));
    }
    if !Recipe::builtin().iter().any(|(known, _)| *known == name) {
        return Ok((None, text, true));
    }
    let recipe = Recipe::load(name, &[])?;
    let network = recipe.network.expect_n_tuple()?;
    let patterns = network.tuples.clone();
    Ok((Some(name.to_owned()), patterns, network.symmetry))
}

fn theme(theme: ThemeArg) -> Theme {
    match theme {
        ThemeArg::Light => Theme::Light,
        ThemeArg::Dark => Theme::Dark,
    }
}

fn written(file: &Path) -> String {
    format!("\n{}\n", shown(file))
}

/// A tuple set; the JSON of `tuples --json`.
#[derive(Serialize)]
struct TuplesReport {
    /// The name of the set or recipe, if it was given by its name.
    name: Option<String>,
    board: String,
    tuples: Vec<TupleDocument>,
    symmetries: usize,
    /// Lookups of one value: m.
    lookups: usize,
    weights: u64,
    bytes: Bytes,
}

/// One tuple.
#[derive(Serialize)]
struct TupleDocument {
    pattern: String,
    /// The cells in the order of the pattern, the lowest digit of the index first.
    cells: Vec<u8>,
    size: usize,
    lookups: usize,
    weights: u64,
}

/// The memory of all tables.
#[derive(Serialize)]
struct Bytes {
    afterstate_td: u64,
    afterstate_tc: u64,
    state_td: u64,
    state_tc: u64,
}

impl TuplesReport {
    fn new(name: Option<String>, tuples: &TupleSet) -> Self {
        let shape = tuples.shape();
        let symmetries = if tuples.symmetry() {
            shape.symmetries().len()
        } else {
            1
        };
        let tuple = |pattern: &Pattern| TupleDocument {
            pattern: pattern.to_string(),
            cells: pattern.cells().to_vec(),
            size: pattern.cells().len(),
            lookups: symmetries,
            weights: pattern.weights() as u64,
        };
        Self {
            name,
            board: shape.to_string(),
            tuples: tuples.patterns().iter().map(tuple).collect(),
            symmetries,
            lookups: tuples.patterns().len() * symmetries,
            weights: tuples.weights(),
            bytes: Bytes {
                afterstate_td: WeightTables::<AtomicF32>::bytes(tuples, false),
                afterstate_tc: WeightTables::<AtomicF32>::bytes(tuples, true),
                state_td: WeightTables::<[AtomicF32; 2]>::bytes(tuples, false),
                state_tc: WeightTables::<[AtomicF32; 2]>::bytes(tuples, true),
            },
        }
    }

    fn text(&self, tuples: &TupleSet) -> anyhow::Result<String> {
        let mut text = String::new();
        let name = self.name.as_deref().unwrap_or("patterns");
        let plural = if self.symmetries == 1 { "y" } else { "ies" };
        writeln!(
            text,
            "{name} on {}: {} tuples, {} lookups of one value ({} symmetr{plural})\n",
            self.board,
            self.tuples.len(),
            self.lookups,
            self.symmetries
        )?;
        for patterns in tuples.patterns().chunks(COLUMNS) {
            text.push_str(&boards(patterns, tuples.shape()));
        }
        text.push_str(
            "Numbers are the order of the cells; the first is the lowest digit of the index.\n\n",
        );
        let widest = self.tuples.iter().map(|tuple| tuple.pattern.len());
        let width = widest.max().unwrap_or(0).max("tuple".len());
        writeln!(
            text,
            "{:width$}  cells  lookups  {:>14}",
            "tuple", "weights"
        )?;
        let all = self.tuples.iter();
        for tuple in all {
            let weights = grouped(tuple.weights as f64);
            let TupleDocument {
                pattern,
                size,
                lookups,
                ..
            } = tuple;
            writeln!(
                text,
                "{pattern:width$}  {size:>5}  {lookups:>7}  {weights:>14}"
            )?;
        }
        let weights = grouped(self.weights as f64);
        writeln!(
            text,
            "{:width$}  {:>5}  {:>7}  {weights:>14}\n",
            "total", "", self.lookups
        )?;
        writeln!(text, "memory    {:>12}  {:>12}", "TD", "TC")?;
        let Bytes {
            afterstate_td,
            afterstate_tc,
            state_td,
            state_tc,
        } = self.bytes;
        for (value, td, tc) in [
            ("V(after)", afterstate_td, afterstate_tc),
            ("V(state)", state_td, state_tc),
        ] {
            writeln!(text, "{value:<8}  {:>12}  {:>12}", memory(td), memory(tc))?;
        }
        Ok(text)
    }
}

/// Boards side by side with their patterns above them.
fn boards(patterns: &[Pattern], shape: Shape) -> String {
    let width = (2 * shape.cols() - 1).max(Pattern::MAX_CELLS);
    let mut lines = vec![row(patterns.iter().map(ToString::to_string), width)];
    for line in 0..shape.rows() {
        let board = |pattern: &Pattern| {
            let cell = |col: usize| {
                let cell = line * shape.cols() + col;
                let place = pattern.cells().iter().position(|&c| usize::from(c) == cell);
                place.map_or(".".to_owned(), |place| (place + 1).to_string())
            };
            (0..shape.cols()).map(cell).collect::<Vec<_>>().join(" ")
        };
        lines.push(row(patterns.iter().map(board), width));
    }
    lines.join("\n") + "\n\n"
}

/// Texts in columns.
fn row(texts: impl Iterator<Item = String>, width: usize) -> String {
    let cells: Vec<String> = texts.map(|text| format!("{text:width$}")).collect();
    cells.join("    ").trim_end().to_owned()
}

/// Bytes in the unit in which they are at least 1.
fn memory(bytes: u64) -> String {
    let units = ["bytes", "KiB", "MiB", "GiB", "TiB"];
    let unit = (bytes.max(1).ilog2() as usize / 10).min(units.len() - 1);
    let number = bytes as f64 / 1024_f64.powi(unit as i32);
    let text = format!("{number:.1}");
    format!("{} {}", text.trim_end_matches(".0"), units[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boards_show_the_order_of_the_cells() {
        let set = TupleSet::parse("2104 cdef", Shape::FOUR, true).unwrap();
        let expected = "\
2104        cdef
3 2 1 .     . . . .
4 . . .     . . . .
. . . .     . . . .
. . . .     1 2 3 4

";
        assert_eq!(boards(set.patterns(), Shape::FOUR), expected);
    }

    #[test]
    fn memory_has_units() {
        for (bytes, text) in [
            (64, "64 bytes"),
            (262_144, "256 KiB"),
            (1 << 28, "256 MiB"),
            (3 << 29, "1.5 GiB"),
        ] {
            assert_eq!(memory(bytes), text);
        }
    }
}
