//! Errors of our file formats.

use std::io;

use safetensors::SafeTensorError;
use thiserror::Error;

use crate::format::packed::PackedError;

/// What is wrong with a file, or with the contents of a new one.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum NativeError {
    /// A part whose length differs from the declared one.
    #[error(
        "it is cut short, damaged or not a safetensors file: its {part} should have {expected} bytes, but there are {found}"
    )]
    Length {
        /// Which part.
        part: &'static str,
        /// The declared length.
        expected: u64,
        /// The actual length.
        found: u64,
    },
    /// Not safetensors, or with an inconsistent header.
    #[error("not a readable safetensors file: {0}")]
    Safetensors(#[from] SafeTensorError),
    /// A safetensors file of another program.
    #[error("the file has no metadata `{0}`, which every file of this kind has")]
    Foreign(&'static str),
    /// A table is missing.
    #[error("the file has no tensor `{0}`")]
    NoTable(String),
    /// A table whose size does not match its pattern.
    #[error("tensor `{table}` holds {found}; expected {expected}")]
    Table {
        /// Its name.
        table: String,
        /// Shape and type as found.
        found: String,
        /// The expected count and type.
        expected: String,
    },
    /// A checkpoint with another memory layout.
    #[error(
        "its numbers are in the order `{found}`; expected `{expected}`: another version wrote it"
    )]
    Order {
        /// In the file.
        found: String,
        /// In this version.
        expected: String,
    },
    /// Metadata that cannot be interpreted.
    #[error("its metadata `{key}` is damaged: {found}")]
    Metadata {
        /// The key.
        key: &'static str,
        /// What is wrong with its value.
        found: String,
    },
    /// A header whose bytes have changed.
    #[error("its header is damaged: {0}")]
    Header(String),
    /// A piece whose bytes have changed.
    #[error("it is damaged: bytes {from} to {} of the file, in tensor `{tensor}`, do not have the checksum that they had", to - 1)]
    Damaged {
        /// The tensor.
        tensor: String,
        /// The offset of the piece in the file.
        from: u64,
        /// The offset after it.
        to: u64,
    },
    /// A weight that is not finite.
    #[error("weight {index} of tensor `{table}` is {found}, not a finite number")]
    NotFinite {
        /// The tensor.
        table: String,
        /// Its index in the tensor.
        index: usize,
        /// NaN or an infinity.
        found: f32,
    },
    /// A packed model that cannot be read.
    #[error(transparent)]
    Packed(#[from] PackedError),
    /// Reading or writing failed.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl NativeError {
    /// A part of a file with the wrong number of bytes.
    pub(super) fn length(part: &'static str, expected: u64, found: u64) -> Self {
        Self::Length {
            part,
            expected,
            found,
        }
    }
}
