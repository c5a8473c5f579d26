//! Conversions of arguments and results.

use afterstate::game::{Direction, Shape};
use afterstate_lab::games;
use afterstate_lab::recipe::parse_board;
use pyo3::prelude::*;
use serde::Serialize;

use crate::errors::{OrRaise, input};

/// A board by its text, as in `3x4`.
pub fn shape(board: &str) -> PyResult<Shape> {
    let (rows, cols) = parse_board(board).or_raise()?;
    games::shape(rows, cols).or_raise()
}

/// A result as JSON.
pub fn json(result: &impl Serialize) -> PyResult<String> {
    serde_json::to_string(result).map_err(|error| input(&error.to_string()))
}

/// A direction by its number.
pub fn direction(number: usize) -> PyResult<Direction> {
    let wrong = || {
        input(&format!(
            "{number} is not a direction; expected 0 (up), 1 (right), 2 (down) or 3 (left)"
        ))
    };
    Direction::ALL.get(number).copied().ok_or_else(wrong)
}
