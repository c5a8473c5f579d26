//! Errors of opening a recorded game, and of adding one to a file.

use std::path::PathBuf;

use afterstate::format::episode::EpisodeError;
use afterstate::judge::Fault;
use thiserror::Error;

use super::LabError;
use crate::numbers::bytes;

/// Why a recorded game cannot be opened, or games not be added to a file.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RecordError {
    /// A line that is not a record.
    #[error("column {column}: {0}", column = .0.column)]
    Text(#[from] EpisodeError),
    /// A record that violates the rules.
    #[error(transparent)]
    Rules(#[from] Fault),
    /// An unknown game.
    #[error(transparent)]
    Game(Box<LabError>),
    /// A line that is not a record, where the game is not known either.
    #[error("game {number} is not an episode record: column {}: {source}", source.column)]
    NotARecord {
        /// The number of the game, from 1.
        number: u64,
        /// What is wrong with it.
        source: EpisodeError,
    },
    /// A replay of 2048verse.com where an episode record is expected.
    #[error("game {number} is a replay of 2048verse.com; expected an episode record")]
    Verse {
        /// The file.
        path: PathBuf,
        /// The number of the game, from 1.
        number: u64,
    },
    /// A record that follows the rules of no game on any board.
    #[error(
        "game {number} follows the rules of no game on any board; those of {closest} the longest, until \
         {source}"
    )]
    NoRules {
        /// The file.
        path: PathBuf,
        /// The number of the game, from 1.
        number: u64,
        /// The game and the board.
        closest: String,
        /// The first fault.
        source: Box<RecordError>,
    },
    /// A number that no game of the file has.
    #[error("game {wanted} was asked for, and it has {found}")]
    NoGame {
        /// The number, from 1.
        wanted: u64,
        /// The number of games.
        found: u64,
    },
    /// A file that is too large to open a game of it.
    #[error("games are not opened from a file of more than {}", bytes(*most))]
    TooLargeToOpen {
        /// The most bytes.
        most: u64,
    },
    /// A line that is too long.
    #[error("game {number} is longer than {}", bytes(*most))]
    TooLong {
        /// The number of the game, from 1.
        number: u64,
        /// The most bytes.
        most: u64,
    },
    /// A file that is too large to add games to it.
    #[error("games are not added to a file of more than {}", bytes(*most))]
    TooLarge {
        /// The most bytes.
        most: u64,
    },
    /// Records with a seal, which would no longer fit.
    #[error("it has a seal, which would not fit another game")]
    Sealed,
}
