//! Errors of files of scores.

use thiserror::Error;

/// Why a text is not a list of scores.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ScoresError {
    /// A line of another form.
    #[error("line {line} is `{found}`; expected a line such as `episode : 14, score : 5512`")]
    Line {
        /// Its number, from 1.
        line: u64,
        /// Its beginning.
        found: String,
    },
    /// A game whose number is not larger than that of the game before.
    #[error("line {line} has episode {episode} after {before}; expected a larger number")]
    Order {
        /// Its number, from 1.
        line: u64,
        /// The number of the game.
        episode: u64,
        /// The number of the game before it.
        before: u64,
    },
    /// No line at all.
    #[error("it has no scores; expected lines such as `episode : 14, score : 5512`")]
    Empty,
}
