//! What can be wrong with an episode.

use std::fmt;

use thiserror::Error;

use crate::game::Direction;

/// The first rule that an episode violates.
#[derive(Clone, Debug, PartialEq, Error)]
#[error("column {column}: {reason}")]
pub struct Fault {
    /// The number of the action in the episode, from 1; `None` if the fault concerns the whole
    /// episode.
    pub action: Option<usize>,
    /// Its column in the line, from 1.
    pub column: usize,
    /// What is wrong with it.
    pub reason: Reason,
}

/// What can be wrong with an episode.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum Reason {
    /// A slide where a new tile is due.
    #[error("a slide where a new tile is due")]
    TileDue,
    /// A new tile where a slide is due.
    #[error("a new tile where a slide is due")]
    SlideDue,
    /// The record ends before the initial tiles are complete.
    #[error("the record ends with {found} of {expected} initial tiles")]
    NoStart {
        /// The tiles in the record.
        found: usize,
        /// The number of initial tiles.
        expected: usize,
    },
    /// A slide that changes nothing.
    #[error("a slide {} changes nothing", .0.name())]
    Illegal(Direction),
    /// A reward that differs from that of the action.
    #[error("a reward of {found}, but the action earns {expected}")]
    Reward {
        /// As recorded.
        found: u64,
        /// By the rules.
        expected: u64,
    },
    /// A cell that is not empty.
    #[error("a new tile in cell {0}, which is not empty")]
    Taken(u8),
    /// A cell that the board does not have.
    #[error("a new tile in cell {0}, which is not on the board")]
    NoCell(u8),
    /// An empty cell in which no tile may spawn after this slide.
    #[error(
        "a new tile in cell {found}, but after this slide it spawns in one of {}",
        list(expected)
    )]
    Edge {
        /// As recorded.
        found: u8,
        /// By the rules.
        expected: Vec<usize>,
    },
    /// A tile that cannot spawn now.
    #[error(
        "a new tile of index {found}, but the possible ones are {}",
        list(expected)
    )]
    Tile {
        /// As recorded.
        found: u8,
        /// By the rules.
        expected: Vec<usize>,
    },
    /// A hint that cannot be shown now.
    #[error("the hint is {found}, but the possible ones are {}", list(expected))]
    Hint {
        /// As recorded.
        found: u8,
        /// By the rules.
        expected: Vec<usize>,
    },
    /// A spawn that is possible, but not the one that was drawn.
    #[error("a new tile {found}, but the one that was drawn is {expected}")]
    NotDrawn {
        /// As recorded.
        found: PlacedTile,
        /// As drawn.
        expected: PlacedTile,
    },
    /// An end time before the start time.
    #[error("closed at {closed} ms, before it was opened at {opened} ms")]
    Backwards {
        /// The start time.
        opened: u64,
        /// The end time.
        closed: u64,
    },
    /// Actions that take longer than the game.
    #[error("its actions take {actions} ms, but the game took {whole} ms")]
    TooLong {
        /// The sum of their times.
        actions: u64,
        /// From start to end.
        whole: u64,
    },
}

/// A tile in a cell, with the hint after it; 0 where the game shows none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlacedTile {
    /// The cell, in row-major order.
    pub cell: usize,
    /// The tile's index.
    pub tile: u8,
    /// The hint: see [`ChanceState::hint`](crate::game::ChanceState::hint).
    pub hint: u8,
}

impl fmt::Display for PlacedTile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "of index {} in cell {}", self.tile, self.cell)?;
        match self.hint {
            0 => Ok(()),
            hint => write!(f, " with the hint {hint}"),
        }
    }
}

fn list(numbers: &[usize]) -> String {
    let numbers: Vec<String> = numbers.iter().map(usize::to_string).collect();
    numbers.join(", ")
}
