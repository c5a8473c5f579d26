//! Replays of 2048verse.com: one game of 2048 per line of text.
//!
//! The new format is `ROWSxCOLS-TEXT_` and three characters for each step, digits of base 128 with
//! 21 bits. From the lowest bit: 2 of the slide (up, down, left, right), 2 of the new tile (2, 4),
//! 3 of its column, 3 of its row, 3 and 8 of the time. The old one is `replay_`, with the board
//! where it is not 4x4, and one character for each step. In both, the first two steps are the
//! initial tiles, and their slides mean nothing. See docs/formats/verse.md for the sources.

use std::fmt;

use thiserror::Error;

use crate::format::episode::{Action, EpisodeRecord, Meta, RecordedMove};
use crate::game::{Direction, Game, Shape, Spawn};

/// The initial tiles of a game.
const INITIAL: usize = 2;
/// The most steps that are read; the longest possible game of 4x4 has about 130,000.
const MOST_STEPS: usize = 1 << 20;
/// The time of a step that was not measured: the page was closed in between.
const NO_TIME: u16 = (1 << 11) - 1;
/// The unit of each resolution of a time, in milliseconds, and the first time that uses it.
const TIMES: [(u32, u32); 8] = [
    (1, 0),
    (3, 256),
    (12, 1024),
    (48, 4096),
    (192, 16_384),
    (768, 65_536),
    (3072, 266_734),
    (12_288, 1_053_166),
];
const SLIDES: [Direction; 4] = [
    Direction::Up,
    Direction::Down,
    Direction::Left,
    Direction::Right,
];
const OLD_SLIDES: [Direction; 4] = Direction::ALL;
/// The characters of code page 850 from 0x80 on, which follow `~` in the old format.
const OLD_TAIL: &str = "ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜø£Ø×ƒá";

/// One replay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerseReplay {
    /// The board.
    pub shape: Shape,
    /// The text between `-` and `_`, whose meaning is not published.
    pub label: String,
    /// The steps; the first two are the initial tiles.
    pub steps: Vec<VerseStep>,
}

/// A slide and the tile that spawns after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VerseStep {
    /// The slide; without meaning in the first two steps.
    pub direction: Direction,
    /// The cell of the new tile, in row-major order.
    pub cell: u8,
    /// Its index: 1 for 2, 2 for 4.
    pub tile: u8,
    /// The time as it is stored: see [`VerseStep::millis`].
    time: u16,
}

impl VerseStep {
    /// A step without a time.
    pub fn new(direction: Direction, cell: u8, tile: u8) -> Self {
        Self {
            direction,
            cell,
            tile,
            time: NO_TIME,
        }
    }

    /// The milliseconds since the last step; `None` if they were not measured.
    pub fn millis(&self) -> Option<u32> {
        let (unit, from) = TIMES[usize::from(self.time & 7)];
        (self.time != NO_TIME).then(|| from + unit * u32::from(self.time >> 3))
    }
}

/// Why a line is not a replay.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum VerseError {
    /// It does not start like a replay.
    #[error("expected `4x4-`, any text and `_`, or `replay_`, at the start of a replay")]
    Header,
    /// It is not text.
    #[error("the replay is not UTF-8 text")]
    NotText,
    /// A board that is not supported.
    #[error("a board of {0}; expected 2x2 to 5x5")]
    Shape(String),
    /// Characters that are left over.
    #[error("{0} characters at the end; expected three for each step")]
    Rest(usize),
    /// A character that the format does not use.
    #[error("character {column}, `{}`, is not one of a replay", found.escape_default())]
    Character {
        /// Its place in the line, from 1.
        column: usize,
        /// The character.
        found: char,
    },
    /// A tile other than 2 and 4.
    #[error("step {step} has a new tile of kind {found}; expected 0 (a 2) or 1 (a 4)")]
    Tile {
        /// The number of the step, from 1.
        step: usize,
        /// As stored.
        found: u8,
    },
    /// A cell that the board does not have.
    #[error("step {step} has a new tile in row {row} and column {column} of a board of {shape}")]
    Cell {
        /// The number of the step, from 1.
        step: usize,
        /// From 1.
        row: u8,
        /// From 1.
        column: u8,
        /// The board.
        shape: Shape,
    },
    /// Too few steps.
    #[error("{0} steps; a game starts with two tiles")]
    NoStart(usize),
    /// Too many steps.
    #[error("more than {MOST_STEPS} steps")]
    TooLong,
}

impl VerseReplay {
    /// Whether some bytes start like a replay.
    pub fn is_begun(bytes: &[u8]) -> bool {
        let start = &bytes[..bytes.len().min(64)];
        let text = String::from_utf8_lossy(start);
        let text = text.trim_start_matches('\u{FEFF}');
        text.starts_with("replay") || sides(text).is_some()
    }

    /// Parses a line without its line break. Spaces at its end belong to it.
    ///
    /// # Errors
    /// When the line is not a replay. Whether it follows the rules is not checked.
    pub fn read(line: &[u8]) -> Result<Self, VerseError> {
        let text = std::str::from_utf8(line).map_err(|_| VerseError::NotText)?;
        let text = text.trim_start_matches('\u{FEFF}');
        if let Some((sides, rest)) = sides(text) {
            let (label, _) = rest.split_once('_').ok_or(VerseError::Header)?;
            let at = text.len() - rest.len() + label.len() + 1;
            return Self::read_new(
                shape(sides)?,
                label,
                &text[at..],
                text[..at].chars().count(),
            );
        }
        let rest = text.strip_prefix("replay").ok_or(VerseError::Header)?;
        let rest = rest.strip_prefix(['_', ':']).unwrap_or(rest);
        let board = rest.get(..3).filter(|board| {
            let bytes = board.as_bytes();
            bytes[0].is_ascii_digit() && bytes[1] == b'x' && bytes[2].is_ascii_digit()
        });
        let steps = &rest[board.map_or(0, str::len)..];
        let before = text[..text.len() - steps.len()].chars().count();
        Self::read_old(shape(board.unwrap_or("4x4"))?, steps, before)
    }

    /// Parses steps of three characters. `before` counts the characters before them.
    fn read_new(shape: Shape, label: &str, text: &str, before: usize) -> Result<Self, VerseError> {
        let mut replay = Self::empty(shape, label);
        let (mut bits, mut digits) = (0_u32, 0);
        for (n, found) in text.chars().enumerate() {
            let column = before + n + 1;
            let digit = digit(found).ok_or(VerseError::Character { column, found })?;
            bits = bits << 7 | digit;
            digits += 1;
            if digits == 3 {
                let three_bits = |shift: u32| (bits >> shift & 7) as u8;
                let place = (three_bits(7), three_bits(4));
                let direction = SLIDES[(bits & 3) as usize];
                let kind = (bits >> 2 & 3) as u8;
                replay.push(direction, kind, place, (bits >> 10) as u16)?;
                (bits, digits) = (0, 0);
            }
        }
        match digits {
            0 => replay.checked(),
            rest => Err(VerseError::Rest(rest)),
        }
    }

    /// Parses steps of one character.
    fn read_old(shape: Shape, text: &str, before: usize) -> Result<Self, VerseError> {
        let mut replay = Self::empty(shape, "");
        for (n, found) in text.chars().enumerate() {
            let column = before + n + 1;
            let number = old_number(found).filter(|&number| n >= INITIAL || number < 32);
            let number = number.ok_or(VerseError::Character { column, found })?;
            let direction = OLD_SLIDES[usize::from(number >> 5)];
            let place = (number & 3, number >> 2 & 3);
            replay.push(direction, number >> 4 & 1, place, NO_TIME)?;
        }
        replay.checked()
    }

    fn empty(shape: Shape, label: &str) -> Self {
        Self {
            shape,
            label: label.to_owned(),
            steps: Vec::new(),
        }
    }

    fn push(
        &mut self,
        direction: Direction,
        kind: u8,
        (row, column): (u8, u8),
        time: u16,
    ) -> Result<(), VerseError> {
        let (shape, step) = (self.shape, self.steps.len() + 1);
        if step > MOST_STEPS {
            return Err(VerseError::TooLong);
        }
        if kind > 1 {
            return Err(VerseError::Tile { step, found: kind });
        }
        if usize::from(row) >= shape.rows() || usize::from(column) >= shape.cols() {
            let (row, column) = (row + 1, column + 1);
            return Err(VerseError::Cell {
                step,
                row,
                column,
                shape,
            });
        }
        self.steps.push(VerseStep {
            direction,
            cell: row * shape.cols() as u8 + column,
            tile: kind + 1,
            time,
        });
        Ok(())
    }

    fn checked(self) -> Result<Self, VerseError> {
        match self.steps.len() {
            steps if steps < INITIAL => Err(VerseError::NoStart(steps)),
            _ => Ok(self),
        }
    }

    /// The same game as an episode record, with the rewards of 2048 on this board. From an illegal
    /// action on, rewards are 0; the [judge](crate::judge) finds that action.
    pub fn record<G: Game>(&self, game: &G) -> EpisodeRecord {
        let mut record = EpisodeRecord::default();
        let mut state = None;
        let mut time = 0;
        for (n, step) in self.steps.iter().enumerate() {
            let mut push = |action, reward: u32, millis| {
                record.moves.push(RecordedMove {
                    action,
                    reward: reward.into(),
                    millis,
                    column: n + 1,
                });
            };
            let after = match (n, state) {
                (0, _) => Some(game.empty()),
                (_, Some(state)) if n < INITIAL => Some(game.as_afterstate(state)),
                (_, state) => {
                    let direction = step.direction;
                    let slide = state.and_then(|state| game.slides(state).get(direction));
                    let millis = u64::from(step.millis().unwrap_or(0));
                    time += millis;
                    let reward = slide.map_or(0, |slide| slide.reward());
                    push(Action::Slide(direction), reward, millis);
                    slide.map(|slide| slide.after())
                }
            };
            let (cell, tile) = (step.cell, step.tile);
            push(
                Action::Place {
                    cell,
                    tile,
                    hint: 0,
                },
                0,
                0,
            );
            let free = after.filter(|&after| game.spawn_cells(after) >> cell & 1 == 1);
            state = free.map(|after| game.place(after, cell.into(), Spawn::of(tile)));
        }
        let meta = |at| Meta {
            tag: "2048verse".to_owned(),
            at,
        };
        (record.opened, record.closed) = (meta(0), meta(time));
        record
    }
}

/// The replay in the new format, without a line break.
impl fmt::Display for VerseReplay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}_", self.shape, self.label)?;
        let cols = self.shape.cols() as u8;
        for step in &self.steps {
            let slide = SLIDES.iter().position(|it| *it == step.direction);
            let bits = slide.unwrap_or(0) as u32
                | u32::from(step.tile.saturating_sub(1)) << 2
                | u32::from(step.cell % cols) << 4
                | u32::from(step.cell / cols) << 7
                | u32::from(step.time) << 10;
            for shift in [14, 7, 0] {
                write!(f, "{}", character(bits >> shift & 127))?;
            }
        }
        Ok(())
    }
}

/// The sides of the board of the new format, `4x4`, and what follows `-`.
fn sides(text: &str) -> Option<(&str, &str)> {
    let (sides, rest) = text.split_once('-')?;
    let (rows, cols) = sides.split_once('x')?;
    let is_number = |text: &str| {
        (1..=4).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit())
    };
    (is_number(rows) && is_number(cols)).then_some((sides, rest))
}

fn shape(sides: &str) -> Result<Shape, VerseError> {
    let parsed = sides.split_once('x').and_then(|(rows, cols)| {
        let (rows, cols) = (rows.parse().ok()?, cols.parse().ok()?);
        Shape::new(rows, cols)
    });
    parsed.ok_or_else(|| VerseError::Shape(sides.to_owned()))
}

/// A digit of the new format: `0` to `9`, `a` to `z`, `A` to `Z`, U+00C0 to U+00FF, `¤`, `¾`.
fn digit(found: char) -> Option<u32> {
    let from = |first: char| u32::from(found) - u32::from(first);
    Some(match found {
        '0'..='9' => from('0'),
        'a'..='z' => 10 + from('a'),
        'A'..='Z' => 36 + from('A'),
        'À'..='ÿ' => 62 + from('À'),
        '¤' => 126,
        '¾' => 127,
        _ => return None,
    })
}

/// The inverse of [`digit`].
fn character(digit: u32) -> char {
    let from = |first: char, number: u32| char::from_u32(u32::from(first) + number);
    let found = match digit {
        0..=9 => from('0', digit),
        10..=35 => from('a', digit - 10),
        36..=61 => from('A', digit - 36),
        62..=125 => from('À', digit - 62),
        126 => Some('¤'),
        _ => Some('¾'),
    };
    found.unwrap_or('?')
}

/// The number of a character of the old format, from 0 for a space to 127.
fn old_number(found: char) -> Option<u8> {
    if (' '..='~').contains(&found) {
        return Some(found as u8 - b' ');
    }
    let place = OLD_TAIL.chars().position(|it| it == found)?;
    Some(b'~' - b' ' + 1 + place as u8)
}

#[cfg(test)]
mod tests;
