//! Errors of packed models.

use std::io;

use thiserror::Error;

/// What is wrong with a packed file, or with the contents of a new one.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PackedError {
    /// Other first bytes.
    #[error("it is not a packed model: its first bytes are not `AFTSPACK`")]
    Magic,
    /// A version of the format that this program does not know.
    #[error(
        "it is a packed model of version {found}; this program reads version 2 (a newer file needs \
         a newer program; for an older one, pack the run again)"
    )]
    Version {
        /// The version.
        found: u32,
    },
    /// Another length than the header declares.
    #[error("it is cut short or damaged: it should have {expected} bytes, but there are {found}")]
    Length {
        /// The declared length.
        expected: u64,
        /// The actual length.
        found: u64,
    },
    /// A file longer than this program reads.
    #[error("it is a packed model of {found} bytes; this program supports at most 1073741824")]
    TooLong {
        /// The length.
        found: u64,
    },
    /// Bytes that have changed.
    #[error("it is damaged: its bytes do not have the checksum at its end")]
    Damaged,
    /// A header of an impossible length.
    #[error("its header is damaged: a length of {found} bytes, where at most {most} are possible")]
    HeaderLength {
        /// The declared length.
        found: u64,
        /// The most that it can be.
        most: u64,
    },
    /// A header that cannot be interpreted.
    #[error("its header is damaged: {0}")]
    Header(String),
    /// A table is missing.
    #[error("the file has no table `{0}`")]
    NoTable(String),
    /// A table that cannot be as it is described.
    #[error("its table `{table}` has {what} that are not possible: {found}")]
    Table {
        /// Its name.
        table: String,
        /// What is wrong.
        what: &'static str,
        /// What was found.
        found: String,
    },
    /// A weight or a sum that is not finite.
    #[error("weight {index} of table `{table}` is {found}, not a finite number")]
    NotFinite {
        /// The table.
        table: String,
        /// Its index.
        index: usize,
        /// What was found.
        found: f32,
    },
    /// A weight that is too large for the step.
    #[error(
        "weight {index} of table `{table}` is {found}: more than 32767 steps of {step}; a larger \
         step is needed"
    )]
    TooLarge {
        /// The table.
        table: String,
        /// Its index.
        index: usize,
        /// The weight.
        found: f32,
        /// The step.
        step: f32,
    },
    /// Writing failed.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl PackedError {
    pub(super) fn length(expected: u64, found: u64) -> Self {
        Self::Length { expected, found }
    }
}

/// Why coded bytes are not those of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub(super) enum Fault {
    #[error("the bytes end before the last weight")]
    Short,
    #[error("there are more bytes than weights need")]
    Long,
    #[error("a weight is out of range")]
    Range,
    #[error("there are {found} weights, where the header says {expected}")]
    Kept { found: u64, expected: u64 },
}
