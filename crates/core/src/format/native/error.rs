//! What can be wrong with our files.

use std::io;

use safetensors::SafeTensorError;
use thiserror::Error;

/// What is wrong with a file, or with what should become one.
#[derive(Debug, Error)]
pub enum NativeError {
    /// Another length than it says of itself.
    #[error(
        "it is cut short, damaged or no safetensors file: its {part} should have {expected} bytes, and there are {found}"
    )]
    Length {
        /// Which part.
        part: &'static str,
        /// What it should have.
        expected: u64,
        /// What is there.
        found: u64,
    },
    /// Not safetensors, or with an inconsistent header.
    #[error("not a readable safetensors file: {0}")]
    Safetensors(#[from] SafeTensorError),
    /// A safetensors file of somebody else's.
    #[error("the file has no metadata `{0}`, which every file of this kind has")]
    Foreign(&'static str),
    /// A table is missing.
    #[error("the file has no tensor `{0}`")]
    NoTable(String),
    /// A table has another size than its pattern asks for.
    #[error("tensor `{table}` holds {found}; expected {expected}")]
    Table {
        /// Its name.
        table: String,
        /// Shape and type as found.
        found: String,
        /// How many numbers it should hold, and of which type.
        expected: String,
    },
    /// A checkpoint of a network that lies in memory in another way.
    #[error(
        "its numbers are in the order `{found}`; expected `{expected}`: another version has written it"
    )]
    Order {
        /// What the file says.
        found: String,
        /// What this version has.
        expected: String,
    },
    /// Metadata that its reader cannot go on with.
    #[error("its metadata `{key}` is damaged: {found}")]
    Metadata {
        /// The key.
        key: &'static str,
        /// What is wrong with it.
        found: String,
    },
    /// A weight that is not a number.
    #[error("weight {index} of tensor `{table}` is {found}, not a finite number")]
    NotFinite {
        /// The tensor.
        table: String,
        /// The place in it.
        index: usize,
        /// NaN or an infinity.
        found: f32,
    },
    /// Reading or writing failed.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl NativeError {
    /// A part of a file that should have so many bytes, and has others.
    pub(super) fn length(part: &'static str, expected: u64, found: u64) -> Self {
        Self::Length {
            part,
            expected,
            found,
        }
    }
}
