//! Errors of exact solutions.

use std::path::PathBuf;

use afterstate::format::native::NativeError;
use afterstate::game::Shape;
use thiserror::Error;

use crate::numbers::bytes;

/// Why a game cannot be solved or queried.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SolveError {
    /// A game that needs more memory than is free.
    #[error(
        "the positions of this game need more than {} of memory, and {} are free",
        bytes(*needed), bytes(*available)
    )]
    Memory {
        /// Bytes needed at least.
        needed: u64,
        /// Bytes free.
        available: u64,
    },
    /// A vector for which the memory has no room, although it was reserved: limits of the process
    /// count the gaps between allocations.
    #[error("the memory has no room for {} in one piece", bytes(*size))]
    NoRoom {
        /// Its bytes.
        size: u64,
    },
    /// A model that may reach more states than fit into memory.
    #[error(
        "measuring this model may need {} of memory in addition to the solution, and {} are free",
        bytes(*needed), bytes(*available)
    )]
    TooManyStates {
        /// Bytes needed at most.
        needed: u64,
        /// Bytes free.
        available: u64,
        /// Whether only canonical boards are measured already.
        fast: bool,
    },
    /// More cells than fit into a number.
    #[error(
        "the board {shape} has too many cells to be solved; expected at most {most} for this game"
    )]
    Cells {
        /// The board.
        shape: Shape,
        /// The largest number of cells.
        most: usize,
    },
    /// A game that may reach tiles that do not fit into four bits.
    #[error(
        "a game on {shape} can reach the tile {largest}, and the solver supports tiles up to {most}"
    )]
    Tiles {
        /// The board.
        shape: Shape,
        /// Its largest tile.
        largest: u64,
        /// The largest that fits.
        most: u64,
    },
    /// A target that is not a tile.
    #[error(
        "the target {found} is not a tile of this game; expected one of {}",
        list(known)
    )]
    Target {
        /// The requested target.
        found: u64,
        /// The tiles.
        known: Vec<u64>,
    },
    /// A file name that is in use for something else.
    #[error("{} already exists and is not a solution", .0.display())]
    Taken(PathBuf),
    /// An invalid discount.
    #[error("the discount is {0}; expected a number from 0 to 1")]
    Discount(f64),
    /// A board that the solved game cannot reach.
    #[error(
        "the board `{board}` is not in the solution: it cannot occur in the solved game \
         (for example, every position has a tile that has just spawned{})",
        if *.has_chance_state { "; and the bag counts: it is full unless `@` lists its remaining tiles without the next tile, \
         as in `@1133`" } else { "" }
    )]
    Unknown {
        /// As written.
        board: String,
        /// Whether a position has more than its tiles.
        has_chance_state: bool,
    },
    /// A model of another game.
    #[error("the model plays {found}, but the solution is of {expected}")]
    OtherGame {
        /// What it plays.
        found: String,
        /// What was solved.
        expected: String,
    },
    /// A model without symmetries, of which only canonical boards were to be measured.
    #[error("the model does not use symmetries: it may value symmetric boards differently")]
    Asymmetric,
    /// A discounted solution, which has no undiscounted scores.
    #[error("the solution has the discount {0}; expected a solution without discount")]
    Discounted(f64),
    /// A solution that lacks a successor of one of its states.
    #[error("the solution lacks successors of its positions: the file is damaged")]
    Incomplete,
    /// A model without a move for a position of the game.
    #[error("the model has no move for a position that has legal moves")]
    NoMove,
    /// A solution of a game that ends at a target: the target.
    #[error(
        "the solution is of the game that ends at {0}, and has no values beyond; expected a solution of the whole game"
    )]
    EndsAtTarget(u64),
    /// The chance of a target that a solution does not have.
    #[error(
        "the solution has no target tile; `afterstate solve --target TILE` adds the chance of one"
    )]
    NoTarget,
    /// A game that is over at the start.
    #[error("the solved game has its target at the start: there is no move to compare")]
    NoMoves,
}

/// What is wrong with a solution file.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum FileError {
    /// Its header, or its tensors as a whole.
    #[error(transparent)]
    Native(#[from] NativeError),
    /// A file that does not fit into memory.
    #[error("it needs {} of memory, and {} are free", bytes(*size), bytes(*available))]
    Memory {
        /// Its bytes.
        size: u64,
        /// Bytes free.
        available: u64,
    },
    /// Invalid numbers.
    #[error("it is damaged: its tensors have {0}")]
    Numbers(&'static str),
}

fn list(tile_values: &[u64]) -> String {
    let tile_values: Vec<String> = tile_values.iter().map(u64::to_string).collect();
    tile_values.join(", ")
}
