//! Errors of parts and of their merging.

use std::path::PathBuf;

use thiserror::Error;

/// Why parts cannot be merged.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PartError {
    /// A text that names no part.
    #[error(
        "`{0}` is not a part; expected its number and the number of parts, such as `2/8`, with at \
         most a million parts"
    )]
    Notation(String),
    /// Nothing to merge.
    #[error("there are no parts to merge")]
    Nothing,
    /// A file that is no part.
    #[error(
        "{} is not a part of an evaluation or a comparison: {reason}; expected what `--part` and \
         `--json` print", path.display()
    )]
    NotAPart {
        /// The file.
        path: PathBuf,
        /// What the parser says.
        reason: String,
    },
    /// A file that is far too large.
    #[error("{} is larger than {limit}, which no part is", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// The limit in words.
        limit: String,
    },
    /// Two parts that do not belong together.
    #[error("{} and {} do not belong together: {difference}", first.display(), other.display())]
    Mismatch {
        /// One part.
        first: PathBuf,
        /// The other.
        other: PathBuf,
        /// How they differ.
        difference: PartMismatch,
    },
    /// The same part in two files.
    #[error("{} and {} are the same part, {part}", first.display(), other.display())]
    Twice {
        /// One file.
        first: PathBuf,
        /// The other.
        other: PathBuf,
        /// The part.
        part: String,
    },
    /// Parts that were not given.
    #[error("of {of} parts, {} missing: {}", are(missing), listed(missing))]
    Missing {
        /// The number of parts.
        of: u64,
        /// Those that are missing.
        missing: Vec<u64>,
    },
    /// A part that was stopped before its last game.
    #[error(
        "{} has {played} of the {expected} games of its part; play it again to its end",
        path.display()
    )]
    Incomplete {
        /// The file.
        path: PathBuf,
        /// Games in it.
        played: u64,
        /// Games of the part.
        expected: u64,
    },
    /// A part of records.
    #[error("records are sealed as a whole, so a part of them cannot be written")]
    Records,
}

/// How two parts differ.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("their {what} are {first} and {other}")]
pub struct PartMismatch {
    /// What differs, in the plural.
    pub what: &'static str,
    /// In one.
    pub first: String,
    /// In the other.
    pub other: String,
}

fn are(missing: &[u64]) -> &'static str {
    if missing.len() == 1 {
        "one is"
    } else {
        "these are"
    }
}

/// The first numbers of a list.
fn listed(numbers: &[u64]) -> String {
    const SHOWN: usize = 10;
    let shown: Vec<String> = numbers.iter().take(SHOWN).map(u64::to_string).collect();
    let more = if numbers.len() > SHOWN { ", ..." } else { "" };
    shown.join(", ") + more
}
