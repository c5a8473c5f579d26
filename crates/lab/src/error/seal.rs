//! Errors of seals.

use thiserror::Error;

use crate::numbers::bytes;

/// Why a file is not a seal.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SealError {
    /// A file that is larger than any seal.
    #[error("it is larger than {}", bytes(*most))]
    TooLarge {
        /// The largest size in bytes.
        most: u64,
    },
    /// Not the JSON of a seal.
    #[error("it is not the JSON of a seal: {0}")]
    Json(#[from] serde_json::Error),
    /// An invalid value.
    #[error("`{key}` is `{found}`; expected {expected}")]
    Value {
        /// The key.
        key: &'static str,
        /// Its value.
        found: String,
        /// What is accepted.
        expected: String,
    },
}
