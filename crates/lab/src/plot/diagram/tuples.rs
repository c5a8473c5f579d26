//! Drawings of n-tuple networks: a tuple set, a lookup, and the sizes of tables.

use afterstate::game::{Position, PowersOfTwo, Rules, Shape};
use afterstate::ntuple::{Pattern, TupleSet};

use super::Theme;
use super::canvas::{Area, Canvas, Cell, Fill, Ink, MARGIN, TOP, WIDTH, look};
use super::text::{bytes, cell_name, number, powers};
use super::worked::{self, Lookup, Lookups, TableSize};
use crate::numbers::grouped;
use crate::plot::{Plot, PlotError};

/// The tuples of a set, each on a board of its own: its cells are marked and numbered in the order
/// of the pattern. The name is in the title; patterns without a name have an empty one.
///
/// # Errors
/// When the built-in font cannot be read.
pub fn tuple_set(name: &str, tuples: &TupleSet, theme: Theme) -> Result<Plot, PlotError> {
    const SIDE: f32 = 228.0;
    const CAPTION: f32 = 62.0;
    const GAP: f32 = 40.0;
    let shape = tuples.shape();
    let patterns = tuples.patterns();
    let columns = patterns.len().clamp(1, 4);
    let rows = patterns.len().div_ceil(columns);
    let cell = SIDE / shape.rows().max(shape.cols()) as f32;
    let (wide, high) = (cell * shape.cols() as f32, cell * shape.rows() as f32);
    let height = TOP + rows as f32 * (high + CAPTION) + 6.0;
    let symmetries = if tuples.symmetry() {
        shape.symmetries().len()
    } else {
        1
    };
    let set = if name.is_empty() {
        String::new()
    } else {
        format!("{name}: ")
    };
    let title = format!(
        "{set}{} on a {shape} board",
        counted(patterns.len(), "tuple")
    );
    let about = format!(
        "{}, {}. Large: the order of the cells, lowest digit first. Small: their names.",
        counted_big(tuples.weights(), "weight"),
        counted(patterns.len() * symmetries, "lookup")
    );
    let mut canvas = Canvas::new((WIDTH, height), theme, &title, &about)?;
    for (n, pattern) in patterns.iter().enumerate() {
        let x = MARGIN + (n % columns) as f32 * (SIDE + GAP + 24.0);
        let y = TOP + (n / columns) as f32 * (high + CAPTION);
        let cells: Vec<Cell> = (0..shape.cells()).map(|i| set_cell(pattern, i)).collect();
        canvas.board((x, y), cell, shape, &cells);
        let middle = x + wide / 2.0;
        canvas.text(
            (middle, y + high + 30.0),
            &pattern.to_string(),
            look(24.0).bold().middle(),
        );
    }
    Ok(canvas.finish("tuple-set"))
}

fn counted(count: usize, what: &str) -> String {
    counted_big(count as u64, what)
}

fn counted_big(count: u64, what: &str) -> String {
    let many = if count == 1 { "" } else { "s" };
    format!("{} {what}{many}", grouped(count as f64))
}

fn set_cell(pattern: &Pattern, i: usize) -> Cell {
    let place = pattern.cells().iter().position(|&c| usize::from(c) == i);
    Cell {
        text: place.map_or(String::new(), |place| (place + 1).to_string()),
        corner: cell_name(i),
        marked: place.is_some(),
    }
}

/// A lookup on a real board: a 6-tuple, its index digit by digit, and its eight symmetries with
/// the weights that they find.
///
/// # Errors
/// When the system refuses the memory of the table.
pub fn ntuple_lookup(theme: Theme) -> Result<Plot, PlotError> {
    let example = worked::lookups()?;
    let title = format!("The lookup of the 6-tuple {}", example.pattern);
    let about = "Each tile is a digit in base 16: 0 for empty, 1 for 2, 2 for 4, ... The first cell is the lowest digit.";
    let mut canvas = Canvas::new((WIDTH, 1210.0), theme, &title, about)?;
    main_board(&mut canvas, &example);
    arithmetic(&mut canvas, &example.lookups[0]);
    symmetries(&mut canvas, &example);
    Ok(canvas.finish("ntuple-lookup"))
}

/// The cells of the board, those of a lookup marked with their order.
fn lookup_cells(example: &Lookups, lookup: &Lookup, names: bool) -> Vec<Cell> {
    let cell = |i: usize| {
        let place = lookup.digits.iter().position(|digit| digit.cell == i);
        let tile = example.board.cell(i);
        let shown = tile > 0 && (names || place.is_some());
        let order = place.map_or(String::new(), |place| (place + 1).to_string());
        Cell {
            text: if shown {
                PowersOfTwo.tile_value(tile).to_string()
            } else {
                String::new()
            },
            corner: order,
            marked: place.is_some(),
        }
    };
    (0..16).map(cell).collect()
}

fn main_board(canvas: &mut Canvas, example: &Lookups) {
    let cells = lookup_cells(example, &example.lookups[0], true);
    canvas.board((MARGIN, TOP + 18.0), 92.0, Shape::FOUR, &cells);
    let note = look(19.0).ink(Ink::Muted);
    let x = MARGIN + 4.0;
    canvas.text(
        (x, TOP + 18.0 + 368.0 + 30.0),
        "small numbers: order in the tuple",
        note,
    );
}

/// The table of digits beside the board.
fn arithmetic(canvas: &mut Canvas, lookup: &Lookup) {
    let columns = [490.0, 590.0, 682.0, 910.0, 1150.0];
    let heads = ["cell", "tile", "digit", "place", "digit × place"];
    let top = TOP + 36.0;
    let head = look(19.0).ink(Ink::Muted).end();
    for (x, text) in columns.into_iter().zip(heads) {
        canvas.text((x, top), text, head);
    }
    canvas.line(
        vec![(446.0, top + 14.0), (1152.0, top + 14.0)],
        Ink::Line,
        1.5,
    );
    for (n, digit) in lookup.digits.iter().enumerate() {
        let y = top + 46.0 + 38.0 * n as f32;
        let tile = match digit.tile {
            0 => "empty".to_owned(),
            tile => PowersOfTwo.tile_value(tile).to_string(),
        };
        let texts = [
            cell_name(digit.cell),
            tile,
            digit.tile.to_string(),
            format!("16^{{{n}}} = {}", grouped(digit.power as f64)),
            grouped(digit.product() as f64),
        ];
        for (k, (x, text)) in columns.into_iter().zip(texts).enumerate() {
            let ink = if k == 2 { Ink::Blue } else { Ink::Main };
            let style = look(22.0).end().ink(ink);
            canvas.text((x, y), &text, if k == 2 { style.bold() } else { style });
        }
    }
    let y = top + 46.0 + 38.0 * 6.0;
    canvas.line(vec![(446.0, y - 22.0), (1152.0, y - 22.0)], Ink::Line, 1.5);
    canvas.text((910.0, y + 12.0), "index", look(22.0).bold().end());
    let index = grouped(lookup.index as f64);
    canvas.text((1150.0, y + 12.0), &index, look(22.0).bold().end());
    let hex = format!(
        "in hex {:#08x}: the digits from the last cell to the first",
        lookup.index
    );
    canvas.text((1150.0, y + 46.0), &hex, look(19.0).ink(Ink::Muted).end());
    let found = format!("w[{index}] = {}", number(lookup.weight));
    canvas.text(
        (1150.0, y + 86.0),
        &found,
        look(24.0).bold().end().ink(Ink::Blue),
    );
}

/// The eight symmetries: the same table, read at eight indices.
fn symmetries(canvas: &mut Canvas, example: &Lookups) {
    let top = TOP + 456.0;
    canvas.text(
        (MARGIN, top),
        "Eight symmetries of the tuple on the same board read the same table",
        look(22.0).bold(),
    );
    for (n, lookup) in example.lookups.iter().enumerate() {
        let x = MARGIN + 42.0 + (n % 4) as f32 * 286.0;
        let y = top + 22.0 + (n / 4) as f32 * 266.0;
        canvas.board(
            (x, y),
            46.0,
            Shape::FOUR,
            &lookup_cells(example, lookup, false),
        );
        let middle = x + 92.0;
        let index = format!("index {}", grouped(lookup.index as f64));
        canvas.text((middle, y + 212.0), &index, look(19.0).middle());
        let weight = format!("w = {}", number(lookup.weight));
        canvas.text(
            (middle, y + 240.0),
            &weight,
            look(20.0).bold().middle().ink(Ink::Blue),
        );
    }
    let sum = format!(
        "V = the sum of the eight weights = {}",
        number(example.value)
    );
    let area = Area::new(MARGIN, top + 568.0, WIDTH - 2.0 * MARGIN, 52.0);
    canvas.fill(area, Fill::Blue);
    canvas.label(area.centre(), &sum, look(24.0).bold().middle());
}

/// Why a table has 16^n weights for n cells, and not one for every board.
///
/// # Errors
/// When the built-in font cannot be read.
pub fn table_sizes(theme: Theme) -> Result<Plot, PlotError> {
    let sizes = worked::table_sizes();
    let height = TOP + 62.0 * sizes.len() as f32 + 100.0;
    let title = "Why 16^{n} weights and not 16^{16}";
    let about = "A weight for each combination of 16 tiles in n cells; 4 bytes a weight. Bars are logarithmic.";
    let mut canvas = Canvas::new((WIDTH, height), theme, title, about)?;
    let (left, right) = (300.0, 690.0);
    let largest = (sizes.iter().map(TableSize::bytes).max().unwrap_or(1) as f64).log2();
    let across = |bytes: f64| left + (right - left) * (bytes.log2() / largest) as f32;
    let bottom = TOP + 62.0 * sizes.len() as f32;
    // A computer with this memory can have every table to the left of the line.
    let memory = across((16_u64 << 30) as f64);
    for (n, size) in sizes.iter().enumerate() {
        let y = TOP + 62.0 * n as f32 + 28.0;
        let whole = n + 1 == sizes.len();
        canvas.label((left - 18.0, y), &size.label, look(22.0).end());
        let end = across(size.bytes() as f64);
        let fill = if whole { Fill::Red } else { Fill::Blue };
        canvas.fill(Area::new(left, y - 18.0, end - left, 36.0), fill);
        let weights = format!("{} weights", powers(size.tables, size.cells, size.weights));
        let ink = if whole { Ink::Red } else { Ink::Main };
        canvas.label(
            (right + 150.0, y),
            &bytes(size.bytes()),
            look(22.0).bold().end().ink(ink),
        );
        let x = WIDTH - MARGIN;
        canvas.label((x, y), &weights, look(20.0).ink(Ink::Muted).end());
    }
    canvas.dashes(
        vec![(memory, TOP), (memory, bottom + 10.0)],
        Ink::Orange,
        2.0,
    );
    canvas.text(
        (memory, bottom + 38.0),
        "16 GiB: the memory of a common computer",
        look(20.0).ink(Ink::Orange).middle(),
    );
    Ok(canvas.finish("table-sizes"))
}
