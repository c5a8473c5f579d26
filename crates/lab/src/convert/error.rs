//! Why a file cannot be turned into another.

use std::path::PathBuf;

use thiserror::Error;

use super::Kind;
use crate::foreign::Unplayable;

/// Why a file cannot be turned into another.
#[derive(Debug, Error)]
pub enum ConvertError {
    /// A name that does not say what to write.
    #[error(
        "what should {} be? A name ending in .safetensors or .w, 2048.bin or weights.bin says so; for any other \
         add --to native, tdl, demo or framework", .0.display()
    )]
    UnknownKind(PathBuf),
    /// A file that was not asked to be given up.
    #[error(
        "{} is there already and is not a weight file; choose another name, or add --force to write over it",
        .0.display()
    )]
    Taken(PathBuf),
    /// Tables that only a file of their own kind, or ours, can keep.
    #[error("{} cannot become a file of {kind}: {source}", path.display())]
    NoTuples {
        /// What was read.
        path: PathBuf,
        /// What was asked for.
        kind: Kind,
        /// What is wrong with it.
        source: Unplayable,
    },
    /// Something that the other format has no place for.
    #[error("a file of {kind} cannot keep {what} of {}{}", path.display(), hint(advice))]
    NoPlace {
        /// What was read.
        path: PathBuf,
        /// What was asked for.
        kind: Kind,
        /// What would be lost.
        what: String,
        /// What to do, if anything.
        advice: &'static str,
    },
    /// Patterns for a file that has its own.
    #[error("{} names its own patterns; --patterns is for files of other programs", .0.display())]
    HasPatterns(PathBuf),
    /// A game for a file that has its own.
    #[error("{} knows its game; --game is for files of the 2048-Framework", .0.display())]
    HasGame(PathBuf),
    /// A game whose tables no other program has.
    #[error("{game} has more kinds of tiles than the tables of {} tell apart", path.display())]
    TooManyTiles {
        /// What was read.
        path: PathBuf,
        /// The game that it should be for.
        game: String,
    },
    /// Something that is not a number.
    #[error(
        "{}: number {index} of `{table}`, at byte {at}, is {found}, not a finite number", path.display()
    )]
    NotFinite {
        /// What was read.
        path: PathBuf,
        /// The table.
        table: String,
        /// The place in it.
        index: u64,
        /// The place in the file.
        at: u64,
        /// NaN or an infinity.
        found: f64,
    },
    /// A number with more digits than the other format has.
    #[error(
        "{}: number {index} of `{table}` is {found}, which the four bytes of {kind} cannot hold exactly",
        path.display()
    )]
    Inexact {
        /// What was read.
        path: PathBuf,
        /// The table.
        table: String,
        /// The place in it.
        index: u64,
        /// The number.
        found: f64,
        /// What was asked for.
        kind: Kind,
    },
    /// Somebody did not want to wait.
    #[error("stopped: nothing was written")]
    Stopped,
}

fn hint(advice: &str) -> String {
    if advice.is_empty() {
        String::new()
    } else {
        format!("; {advice}")
    }
}
