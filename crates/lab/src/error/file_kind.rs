//! The kinds of our files.

use std::fmt;

/// A kind of our files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FileKind {
    /// A model.
    Model,
    /// An exact solution.
    Solution,
    /// Tables of weights.
    Tables,
    /// A deep network.
    Deep,
}

impl fmt::Display for FileKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Model => "model",
            Self::Solution => "solution",
            Self::Tables => "table of weights",
            Self::Deep => "deep network",
        })
    }
}
