//! Texts that are not a board.

use std::fmt;

use afterstate::game::Shape;
use thiserror::Error;

/// A text that is not a board.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BoardError {
    /// What was found.
    pub found: BoardFault,
    /// The board that was expected; `None` if it could be of any size.
    pub expected: Option<Shape>,
}

/// What is wrong with the text of a board. Rows and cells are counted from 1.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum BoardFault {
    /// No text at all.
    #[error("the board is missing: the text is empty")]
    Missing,
    /// A text that is too long for a board: the most bytes that one has.
    #[error("the text has more than {0} bytes, which is too long for a board")]
    TooLong(usize),
    /// Too many or too few rows.
    #[error("the board has {}", counted(*.0, "row"))]
    Rows(usize),
    /// A row with too many or too few cells.
    #[error("row {row} of the board, `{text}`, has {}", counted(*found, "cell"))]
    Cells {
        /// The row.
        row: usize,
        /// Its text.
        text: String,
        /// Its cells.
        found: usize,
    },
    /// All cells in one row, but not as many as the board has.
    #[error("the board has 1 row of {}", counted(*.0, "cell"))]
    Flat(usize),
    /// All cells in one row, and several boards have that many.
    #[error("{cells} cells in one row are a board of {}", shapes(of))]
    Ambiguous {
        /// The number of cells.
        cells: usize,
        /// The boards with that many.
        of: Vec<Shape>,
    },
    /// Brackets inside some cells only.
    #[error("the brackets of the board do not enclose its rows")]
    Brackets,
    /// Text outside the brackets of a list.
    #[error("`{0}` is outside the brackets of the board")]
    Outside(String),
    /// A number of 4x4 cells for another board.
    #[error("`{0}` has the hexadecimal digits of a board of 4x4")]
    Hex(String),
    /// Text that is nearly the hexadecimal digits of a board.
    #[error(
        "`{text}` is not a board in hexadecimal digits: {}; such a board has 16 digits, one for each \
         cell of 4x4, and behind 0x zeros at the front may be left out",
        not_hex(*digits, *wrong)
    )]
    NotHex {
        /// The text.
        text: String,
        /// How many digits it has.
        digits: usize,
        /// The first letter that is no digit.
        wrong: Option<char>,
    },
    /// A cell that is not a tile.
    #[error("`{found}` in row {row}, cell {cell}, is not a tile")]
    NotTile {
        /// Its row.
        row: usize,
        /// Its place in the row.
        cell: usize,
        /// Its text.
        found: String,
    },
    /// Nothing between two commas.
    #[error("there is nothing between the commas in row {row}, cell {cell}")]
    Nothing {
        /// Its row.
        row: usize,
        /// Its place in the row.
        cell: usize,
    },
    /// A number that the game has no tile of.
    #[error(
        "{found} in row {row}, cell {cell}, is not a tile of this game, whose tiles are {}",
        list(known)
    )]
    UnknownTile {
        /// Its row.
        row: usize,
        /// Its place in the row.
        cell: usize,
        /// Its text.
        found: String,
        /// All tiles.
        known: Vec<u64>,
    },
    /// A number of thousands that stands for several tiles.
    #[error(
        "`{found}` in row {row}, cell {cell}, may be any of the tiles {}",
        list(tiles)
    )]
    Thousands {
        /// Its row.
        row: usize,
        /// Its place in the row.
        cell: usize,
        /// Its text.
        found: String,
        /// The tiles.
        tiles: Vec<u64>,
    },
}

impl std::error::Error for BoardError {}

impl fmt::Display for BoardError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; expected ", self.found)?;
        match self.expected {
            Some(shape) => {
                let (rows, cols) = (shape.rows(), shape.cols());
                let row = vec!["0"; cols].join(",");
                let last = format!("{},2", vec!["0"; cols - 1].join(","));
                let example = format!("{}/{last}", vec![row; rows - 1].join("/"));
                write!(
                    f,
                    "{rows} rows of {cols} tiles, such as `{example}` (0 is an empty cell)"
                )
            }
            None => f.write_str(
                "2 to 5 rows of 2 to 5 tiles, such as `2,0,0,4/0,0,8,0/0,0,0,0/0,0,0,2` for 4 rows of 4 \
                 (0 is an empty cell)",
            ),
        }
    }
}

fn not_hex(digits: usize, wrong: Option<char>) -> String {
    match wrong {
        Some(letter) => format!("`{letter}` is no such digit"),
        None => format!("it has {}", counted(digits, "digit")),
    }
}

fn counted(count: usize, one: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {one}{plural}")
}

fn list(numbers: &[u64]) -> String {
    let numbers: Vec<String> = numbers.iter().map(u64::to_string).collect();
    numbers.join(", ")
}

fn shapes(shapes: &[Shape]) -> String {
    let shapes: Vec<String> = shapes.iter().map(Shape::to_string).collect();
    shapes.join(" or of ")
}
