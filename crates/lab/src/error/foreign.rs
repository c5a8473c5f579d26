//! Errors of files of other programs.

use afterstate::format::foreign::TablePatternError;
use afterstate::ntuple::TupleSetError;
use thiserror::Error;

/// Why tables that can be read and written cannot be used to play.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Unplayable {
    /// They do not belong to tuples, or their patterns are unknown.
    #[error(transparent)]
    Meaningless(#[from] TablePatternError),
    /// Their patterns are invalid for the board.
    #[error(transparent)]
    Tuples(#[from] TupleSetError),
    /// Several stages of the game, each with its own tables.
    #[error(
        "it has tables for {0} stages of the game, and models with more than one stage are not supported"
    )]
    Stages(u64),
    /// The reason stored when it was converted.
    #[error("{0}")]
    FixedMove(String),
}

impl Unplayable {
    /// Whether the file could be used if its patterns were known.
    pub(crate) fn lacks_patterns(&self) -> bool {
        matches!(
            self,
            Self::Meaningless(TablePatternError::NoPatterns { .. })
        )
    }
}
