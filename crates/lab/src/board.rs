//! Boards as text: read as people have them, and drawn.
//!
//! A text is first split into cells (`notation.rs`), then each cell becomes a tile (`cell.rs`):
//!
//! - rows by `/`, `;`, `|` or line breaks, cells by commas, spaces or tabs;
//! - lists with brackets, as Python, numpy, JSON and C print them;
//! - drawings with bars between cells, such as our own;
//! - all cells in one row, where the board has that many;
//! - 16 hexadecimal digits for a board of 4x4, each the index of a tile (1 is the smallest), from
//!   the upper left to the lower right.
//!
//! An empty cell is `0`, `.`, `_`, `-` or `null`. `1k` is 1024, `32k` is 32768, `131k` is 131072.
//! In games that show the next tile it follows the cells, as in `+2` or `+bonus`, then the bag if
//! the tiles do not determine it, as in `@1133`.

mod cell;
mod draw;
mod notation;
#[cfg(test)]
mod tests;

use std::fmt;

use afterstate::game::{ChanceState, Rules, Shape};

use crate::LabError;
use crate::error::{BoardError, BoardFault};
use crate::games;
pub use draw::cell_name;
use notation::BoardNotation;

/// The most bytes that a text of a board may have; a drawing of 5x5 has about 1,500.
pub const LONGEST: usize = 4096;

/// A board of a game, as people see it.
#[derive(Clone)]
pub struct GameBoard {
    rules: &'static dyn Rules,
    shape: Shape,
    tiles: Vec<u8>,
    chance_state: ChanceState,
}

impl fmt::Debug for GameBoard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GameBoard({})", self.text())
    }
}

impl PartialEq for GameBoard {
    fn eq(&self, other: &Self) -> bool {
        let parts = |board: &Self| (board.shape, board.tiles.clone(), board.chance_state);
        parts(self) == parts(other)
    }
}

impl GameBoard {
    /// A board with these tile indices in row-major order.
    ///
    /// # Errors
    /// When there is no such game.
    pub fn new(
        game: &str,
        shape: Shape,
        tiles: Vec<u8>,
        chance_state: ChanceState,
    ) -> Result<Self, LabError> {
        Ok(Self {
            rules: games::rules(game)?,
            shape,
            tiles,
            chance_state,
        })
    }

    /// Reads a board of a game: see the [module](self).
    ///
    /// # Errors
    /// When the text is not a board of the game, or the board is empty.
    pub fn parse(text: &str, game: &str, shape: Shape) -> Result<Self, LabError> {
        let rules = games::rules(game)?;
        let tile_values = games::tile_values(game, shape)?;
        let (tiles, chance_state) = parse(text, shape, rules, &tile_values)?;
        if tiles.iter().all(|&tile| tile == 0) {
            return Err(LabError::Board(
                "the board is empty: a game always has tiles".to_owned(),
            ));
        }
        Ok(Self {
            rules,
            shape,
            tiles,
            chance_state,
        })
    }

    /// Rows and columns.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// The tile indices in row-major order.
    pub fn tiles(&self) -> &[u8] {
        &self.tiles
    }

    /// The chance state.
    pub fn chance_state(&self) -> ChanceState {
        self.chance_state
    }

    /// The value of each cell, 0 for an empty one, in row-major order.
    pub fn values(&self) -> impl Iterator<Item = u64> + '_ {
        self.tiles.iter().map(|&tile| match tile {
            0 => 0,
            tile => self.rules.tile_value(tile),
        })
    }

    /// The board in one line, as in `2,0,0/0,4,0+2@13`.
    pub fn text(&self) -> String {
        let values: Vec<String> = self.values().map(|value| value.to_string()).collect();
        let rows = values.chunks(self.shape.cols()).map(|row| row.join(","));
        let mut text = rows.collect::<Vec<_>>().join("/");
        text += &self.chance_state.to_string();
        if self.rules.has_chance_state() {
            text = text + "@" + &self.bag();
        }
        text
    }

    /// What is left in the bag, as in `1133`.
    fn bag(&self) -> String {
        let counts = ["1", "2", "3"].into_iter().zip(self.chance_state.memory);
        counts
            .map(|(kind, count)| kind.repeat(count.into()))
            .collect()
    }
}

/// The rows and columns of the text of a board.
///
/// # Errors
/// When its rows differ in length, are too short or too long, or the text does not tell.
pub fn shape_of(text: &str) -> Result<Shape, LabError> {
    let wrong = |found| {
        let expected = None;
        Box::new(BoardError { found, expected })
    };
    check_length(text).map_err(wrong)?;
    let (cells, ..) = split_chance(text);
    let notation = BoardNotation::of(cells).map_err(wrong)?;
    Ok(notation.shape().map_err(wrong)?)
}

/// The tile indices and the chance state of the text of a board.
pub(crate) fn parse(
    text: &str,
    shape: Shape,
    rules: &dyn Rules,
    tile_values: &[u64],
) -> Result<(Vec<u8>, ChanceState), LabError> {
    check_length(text).map_err(|found| {
        let expected = Some(shape);
        Box::new(BoardError { found, expected })
    })?;
    let (cells, hint, bag) = split_chance(text);
    let tiles = parse_tiles(cells, shape, tile_values)?;
    let wrong = |found: String, expected: &str| {
        LabError::Board(format!(
            "{found}; expected {expected} after the board, as in `0,0,1,2/...+2`"
        ))
    };
    let shows = rules.shows_hint(shape);
    let hints = "the next tile, +1, +2, +3 or +bonus,";
    let hint = match hint {
        None if shows => return Err(wrong("the next tile is missing".to_owned(), hints)),
        None => 0,
        Some(text) if !shows => {
            let found = format!("this game does not show its next tile, but `+{text}` was found");
            return Err(LabError::Board(found));
        }
        Some("1") => 1,
        Some("2") => 2,
        Some("3") => 3,
        Some("bonus") => ChanceState::BONUS,
        Some(text) => return Err(wrong(format!("`+{text}` is not a valid next tile"), hints)),
    };
    let impossible = || {
        let shown = ChanceState {
            hint,
            ..ChanceState::NONE
        };
        LabError::Board(format!(
            "the board `{}{shown}` cannot occur in a game",
            cells.trim()
        ))
    };
    let mut chance_state = rules
        .chance_state_of(shape, &tiles, hint)
        .ok_or_else(impossible)?;
    if let Some(bag) = bag {
        chance_state.memory = parse_bag(bag)?;
        if !rules.has_chance_state() || !rules.is_possible(shape, &tiles, chance_state) {
            let found = format!("the bag `@{bag}` cannot occur with this board and next tile");
            return Err(LabError::Board(found));
        }
    }
    Ok((tiles, chance_state))
}

/// Refuses a text that is too long, before anything of it is cut off.
fn check_length(text: &str) -> Result<(), BoardFault> {
    match text.len() > LONGEST {
        true => Err(BoardFault::TooLong(LONGEST)),
        false => Ok(()),
    }
}

/// The cells of a text, the next tile behind `+`, and the bag behind `@`.
fn split_chance(text: &str) -> (&str, Option<&str>, Option<&str>) {
    let (text, bag) = match text.split_once('@') {
        Some((text, bag)) => (text, Some(bag.trim())),
        None => (text, None),
    };
    // The corners of a drawing are no hint, even if text follows on their line.
    let is_hint = |(at, _): &(usize, &str)| {
        let rest = text[at + 1..].trim_start_matches([' ', '\t']);
        !text[..*at].ends_with("--") && rest.starts_with(|c: char| c.is_alphanumeric())
    };
    let Some((at, _)) = text.match_indices('+').find(is_hint) else {
        return (text, None, bag);
    };
    let hint = text[at + 1..].trim().trim_end_matches("bag");
    let hint = hint.trim_end().trim_end_matches(',');
    (&text[..at], Some(hint), bag)
}

/// The number of tiles of each kind in a bag.
fn parse_bag(text: &str) -> Result<[u8; 3], LabError> {
    let mut bag = [0; 3];
    for letter in text.chars() {
        let kind = "123".find(letter).filter(|&kind| bag[kind] < 4);
        let kind = kind.ok_or_else(|| {
            LabError::Board(format!(
                "`@{text}` is not a bag; expected up to four each of 1, 2 and 3, as in `@1133`"
            ))
        })?;
        bag[kind] += 1;
    }
    Ok(bag)
}

fn parse_tiles(text: &str, shape: Shape, tile_values: &[u64]) -> Result<Vec<u8>, Box<BoardError>> {
    let wrong = |found| {
        let expected = Some(shape);
        Box::new(BoardError { found, expected })
    };
    let notation = BoardNotation::of(text).map_err(wrong)?;
    let indices = match &notation {
        BoardNotation::Hex { digits, text } if shape == Shape::FOUR => {
            let largest = tile_values.len();
            match digits.iter().position(|&tile| usize::from(tile) > largest) {
                None => return Ok(digits.to_vec()),
                Some(at) => {
                    let (row, cell) = (at / 4 + 1, at % 4 + 1);
                    let (found, known) = (text.clone(), tile_values.to_vec());
                    return Err(wrong(BoardFault::UnknownTile {
                        row,
                        cell,
                        found,
                        known,
                    }));
                }
            }
        }
        notation => notation.cells(shape).map_err(wrong)?,
    };
    let place = |at: usize| (at / shape.cols() + 1, at % shape.cols() + 1);
    let cells = indices.into_iter().enumerate();
    cells
        .map(|(at, text)| cell::tile(text, place(at), tile_values).map_err(wrong))
        .collect()
}
