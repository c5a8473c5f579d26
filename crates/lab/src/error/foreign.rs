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
    #[error("it has tables for {0} stages of the game, and does not say where they begin")]
    Stages(u64),
    /// Another number of stages than was given.
    #[error("it has tables for {found} stages of the game; those given make {given}")]
    OtherStages {
        /// In the file.
        found: u64,
        /// Given.
        given: u64,
    },
    /// A pattern that a stage lacks.
    #[error("stage {stage} has no table for `{pattern}`, which stage 0 has")]
    NotInStage {
        /// The pattern.
        pattern: String,
        /// The stage.
        stage: u32,
    },
    /// A pattern that only a later stage has.
    #[error("stage {stage} has a table for `{pattern}`, which stage 0 lacks")]
    OnlyInStage {
        /// The pattern.
        pattern: String,
        /// The stage.
        stage: u32,
    },
    /// Indices that tell another number of tiles apart than ours.
    #[error("the indices of its tables tell {0} tiles apart, and ours 16")]
    Base(u64),
    /// The reason stored when it was converted.
    #[error("{0}")]
    FixedMove(String),
}

impl Unplayable {
    /// Whether the file could be used if it were known where its stages begin.
    pub(crate) fn lacks_stages(&self) -> bool {
        matches!(self, Self::Stages(_))
    }

    /// Whether the file could be used if its patterns were known.
    pub(crate) fn lacks_patterns(&self) -> bool {
        matches!(
            self,
            Self::Meaningless(TablePatternError::NoPatterns { .. })
        )
    }

    /// Whether the file could be used if it were converted with its patterns.
    pub(crate) fn needs_conversion(&self) -> bool {
        self.lacks_patterns() || matches!(self, Self::Base(_))
    }
}
