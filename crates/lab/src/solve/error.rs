//! What can go wrong with exact solutions.

use std::path::PathBuf;

use afterstate::format::native::NativeError;
use afterstate::game::Shape;
use thiserror::Error;

use crate::numbers::bytes;

/// Why there is no solution.
#[derive(Debug, Error)]
pub enum SolveError {
    /// More memory than there is.
    #[error(
        "the positions of this game need more than {} of memory, and {} are free; solve a smaller board, or \
         a smaller `--target`, with which the game ends sooner",
        bytes(*needed), bytes(*available)
    )]
    Memory {
        /// Bytes that it needs at least.
        needed: u64,
        /// Bytes free.
        available: u64,
    },
    /// A player that may come to more positions than there is room for.
    #[error(
        "to measure this player may take up to {} of memory beside the solution, and {} are free; {}",
        bytes(*needed), bytes(*available),
        if *fast { "free some, or measure it on a larger machine" } else { "measure it with `--fast`, or free some" }
    )]
    Crowd {
        /// Bytes that it needs at most.
        needed: u64,
        /// Bytes free.
        available: u64,
        /// Whether one image stands for all already.
        fast: bool,
    },
    /// More cells than a number has room for.
    #[error(
        "a board of {shape} has too many cells to be solved; expected at most {most} of this game"
    )]
    Cells {
        /// The board.
        shape: Shape,
        /// How many there may be.
        most: usize,
    },
    /// A game that may come to tiles that four bits cannot hold.
    #[error(
        "a game on {shape} may come to a tile of {largest}, and positions are kept with tiles up to {most}; \
         give a `--target` up to {most} that ends the game"
    )]
    Tiles {
        /// The board.
        shape: Shape,
        /// Its largest tile.
        largest: u64,
        /// The largest that fits.
        most: u64,
    },
    /// A target that is no tile.
    #[error(
        "the target {found} is not a tile of this game; expected one of {}",
        list(known)
    )]
    Target {
        /// As asked for.
        found: u64,
        /// The tiles.
        known: Vec<u64>,
    },
    /// A name that something else has.
    #[error("{} is there already, and no solution; name another file for `--out`", .0.display())]
    Taken(PathBuf),
    /// A discount that is none.
    #[error("the discount is {0}; expected a number from 0 to 1")]
    Discount(f64),
    /// A board that the solved game never comes to.
    #[error(
        "the board `{board}` is not in the solution: no play from the start of the solved game comes to it \
         (every position has a tile that has just entered, for one{})",
        if *.has_chance_state { "; and the bag counts, which without `@` is taken for new: `@1133` says what is left in it, without \
         the tile that is shown" } else { "" }
    )]
    Unknown {
        /// As written.
        board: String,
        /// Whether there is more to a position than its tiles.
        has_chance_state: bool,
    },
    /// A player of something else.
    #[error("the model plays {found}, and the solution is of {expected}")]
    OtherGame {
        /// What it plays.
        found: String,
        /// What was solved.
        expected: String,
    },
    /// One image of a board was to stand for all.
    #[error(
        "the model has no symmetries: it may treat the images of a board differently; measure it without `--fast`"
    )]
    NotAlike,
    /// A solution by whose values no score can be measured.
    #[error(
        "the solution counts a reward one move later {0} times; expected one that was solved without `--discount`"
    )]
    Discounted(f64),
    /// A solution without a state that follows one of its own.
    #[error("the solution lacks positions that follow those it has: its file was damaged")]
    Incomplete,
    /// A model that has no move for a position of the game.
    #[error("the model knows no move where the game has one")]
    Speechless,
    /// A game that is over when it begins.
    #[error("the solved game ends with its target at the start: there is no move to compare")]
    NoMoves,
}

/// What is wrong with a file that should be a solution.
#[derive(Debug, Error)]
pub enum FileError {
    /// Its header, or its tensors as a whole.
    #[error(transparent)]
    Native(#[from] NativeError),
    /// More than memory has room for.
    #[error("it has {}, and {} of memory are free", bytes(*size), bytes(*available))]
    Memory {
        /// Its bytes.
        size: u64,
        /// Bytes free.
        available: u64,
    },
    /// The numbers in it.
    #[error("it is damaged: its tensors have {0}")]
    Numbers(&'static str),
}

fn list(faces: &[u64]) -> String {
    let faces: Vec<String> = faces.iter().map(u64::to_string).collect();
    faces.join(", ")
}
