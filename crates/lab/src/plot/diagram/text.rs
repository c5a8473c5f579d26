//! Numbers and names as the drawings and pages write them.

use afterstate::game::{GridBoard, Position, PowersOfTwo, Rules, Shape};

use super::canvas::Cell;
use crate::numbers::{decimals, grouped};

/// A number with up to three decimals and a minus sign.
pub(in crate::plot) fn number(number: f32) -> String {
    plain(number).replace('-', "−")
}

/// The same with the minus sign of programs.
pub(in crate::plot) fn plain(number: f32) -> String {
    places(f64::from(number), 3)
}

/// A number with up to so many decimals.
pub(in crate::plot) fn places(number: f64, most: usize) -> String {
    let text = decimals(number, most);
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

/// The digit that names a cell in a pattern.
pub(in crate::plot) fn cell_name(cell: usize) -> String {
    let digit = u32::try_from(cell)
        .ok()
        .and_then(|cell| char::from_digit(cell, 36));
    digit.map_or(String::new(), String::from)
}

/// A number of bytes in the largest unit that leaves at least 1.
pub(in crate::plot) fn bytes(bytes: u128) -> String {
    let units = ["bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let unit = (bytes.max(1).ilog2() as usize / 10).min(units.len() - 1);
    let number = bytes as f64 / 2_f64.powi(10 * unit as i32);
    format!("{} {}", places(number, 2), units[unit])
}

/// `4 × 16^6 = 67,108,864`; numbers that no one reads are rounded.
pub(in crate::plot) fn powers(tables: usize, cells: usize, weights: u128) -> String {
    let times = if tables == 1 {
        String::new()
    } else {
        format!("{tables} × ")
    };
    let number = if weights < 1_000_000_000_000 {
        format!("= {}", grouped(weights as f64))
    } else {
        let power = (weights as f64).log10().floor();
        let front = weights as f64 / 10_f64.powf(power);
        format!("≈ {front:.1} × 10^{{{power}}}")
    };
    format!("{times}16^{{{cells}}} {number}")
}

/// The cells of a board of 2048 with the values of its tiles.
pub(in crate::plot) fn board_cells(board: GridBoard, shape: Shape) -> Vec<Cell> {
    let text = |i: usize| match board.cell(i) {
        0 => String::new(),
        tile => PowersOfTwo.tile_value(tile).to_string(),
    };
    let cell = |i| Cell {
        text: text(i),
        ..Cell::default()
    };
    (0..shape.cells()).map(cell).collect()
}

/// A board of 2048 in a line: `2 . / 4 8`.
pub(in crate::plot) fn board_line(board: GridBoard, shape: Shape) -> String {
    let cells = board_cells(board, shape);
    let text = |cell: &Cell| match cell.text.as_str() {
        "" => ".".to_owned(),
        text => text.to_owned(),
    };
    let row = |row: &[Cell]| row.iter().map(text).collect::<Vec<_>>().join(" ");
    cells
        .chunks(shape.cols())
        .map(row)
        .collect::<Vec<_>>()
        .join(" / ")
}
