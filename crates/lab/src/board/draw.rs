//! Drawings of boards, which are read back.

use std::fmt::{self, Write};

use afterstate::game::Shape;

use super::GameBoard;

/// The name of a cell as in chess: a letter for the column from the left, and the number of the row
/// from the top.
pub fn cell_name(shape: Shape, cell: usize) -> String {
    let column = char::from(b'a' + (cell % shape.cols()) as u8);
    format!("{column}{}", cell / shape.cols() + 1)
}

/// The board with a box around each cell, and the names of rows and columns. The next tile and the
/// bag follow in games that have them.
impl fmt::Display for GameBoard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (rows, cols) = (self.shape.rows(), self.shape.cols());
        let values: Vec<u64> = self.values().collect();
        let widest = values.iter().map(|value| value.to_string().len()).max();
        let width = widest.unwrap_or(0).max(3);
        let border = |f: &mut fmt::Formatter<'_>, [left, middle, right]: [char; 3]| {
            let cell = "─".repeat(width + 2);
            let cells = vec![cell; cols].join(&middle.to_string());
            writeln!(f, "  {left}{cells}{right}")
        };
        f.write_str("  ")?;
        for col in 0..cols {
            write!(f, " {:>width$}  ", char::from(b'a' + col as u8))?;
        }
        f.write_char('\n')?;
        border(f, ['┌', '┬', '┐'])?;
        for (row, values) in values.chunks(cols).enumerate() {
            write!(f, "{} │", row + 1)?;
            for value in values {
                match value {
                    0 => write!(f, " {:>width$} │", "")?,
                    value => write!(f, " {value:>width$} │")?,
                }
            }
            f.write_char('\n')?;
            if row + 1 < rows {
                border(f, ['├', '┼', '┤'])?;
            }
        }
        border(f, ['└', '┴', '┘'])?;
        match (self.chance_state.hint, self.rules.has_chance_state()) {
            (0, false) => Ok(()),
            (0, true) => writeln!(f, "  bag @{}", self.bag()),
            (_, false) => writeln!(f, "  next tile {}", self.chance_state),
            (_, true) => writeln!(f, "  next tile {}, bag @{}", self.chance_state, self.bag()),
        }
    }
}
