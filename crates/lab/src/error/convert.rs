//! Errors of conversions.

use std::fmt;
use std::path::PathBuf;

use afterstate::format::foreign::Program;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::{Remedy, Unplayable};

/// Why a file cannot be converted.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ConvertError {
    /// A file name that does not determine the kind.
    #[error("the file name {} does not determine the output format", .0.display())]
    UnknownKind(PathBuf),
    /// An existing file that is not a weight file.
    #[error("{} already exists and is not a weight file", .0.display())]
    Taken(PathBuf),
    /// Tables that only their own format, or ours, can store.
    #[error("{} cannot be converted to a file of {kind}: {source}", path.display())]
    NoTuples {
        /// The input.
        path: PathBuf,
        /// The kind to write.
        kind: Kind,
        /// What is wrong with it.
        source: Unplayable,
    },
    /// Content that the new format cannot store.
    #[error("a file of {kind} cannot store {what} of {}{}", path.display(), because(reason))]
    NoPlace {
        /// The input.
        path: PathBuf,
        /// The kind to write.
        kind: Kind,
        /// What would be lost.
        what: String,
        /// What it keeps instead; empty where the remedy says enough.
        reason: &'static str,
        /// What to do, if anything.
        remedy: Option<Remedy>,
    },
    /// Patterns for a file that declares its own.
    #[error("{} names its own patterns; they can be given only for files of other programs", .0.display())]
    HasPatterns(PathBuf),
    /// A game for a file that declares its own.
    #[error("{} names its own game; one can be given only for files of the 2048-Framework", .0.display())]
    HasGame(PathBuf),
    /// Stages that were given for a file that declares its own.
    #[error("{} says where its own stages begin; that can be given only for files of TDL2048+", .0.display())]
    HasStages(PathBuf),
    /// A game with too many tiles for the tables of other programs.
    #[error("{game} has more kinds of tiles than the tables of {} can represent", path.display())]
    TooManyTiles {
        /// The input.
        path: PathBuf,
        /// The requested game.
        game: String,
    },
    /// A game with more tiles than the indices of its tables tell apart.
    #[error(
        "{}: tables of {base}^n weights tell {base} tiles apart, with the empty cell, and {game} has \
         more; they are for games such as threes", path.display()
    )]
    Tiles {
        /// The input.
        path: PathBuf,
        /// The number of tiles.
        base: u64,
        /// The game of the tables.
        game: String,
    },
    /// Another base for a format that has none.
    #[error("only weights.bin of the 2048-Framework has tables of {base}^n weights, not {kind}")]
    Base {
        /// The number of tiles.
        base: u64,
        /// The format to write.
        kind: Kind,
    },
    /// A number that is not finite.
    #[error(
        "{}: number {index} of `{table}`, at byte {at}, is {found}, not a finite number", path.display()
    )]
    NotFinite {
        /// The input.
        path: PathBuf,
        /// The table.
        table: String,
        /// The index in the table.
        index: u64,
        /// The offset in the file.
        at: u64,
        /// NaN or an infinity.
        found: f64,
    },
    /// A number that the new format cannot represent exactly.
    #[error(
        "{}: number {index} of `{table}` is {found}, which the four bytes of {kind} cannot hold exactly",
        path.display()
    )]
    Inexact {
        /// The input.
        path: PathBuf,
        /// The table.
        table: String,
        /// The index in the table.
        index: u64,
        /// The number.
        found: f64,
        /// The kind to write.
        kind: Kind,
    },
    /// The conversion was cancelled.
    #[error("stopped: no file was written")]
    Stopped,
}

fn because(reason: &str) -> String {
    if reason.is_empty() {
        String::new()
    } else {
        format!("; {reason}")
    }
}

/// The kind of a weight file; in JSON its [`Kind::name`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "&'static str", try_from = "String")]
pub enum Kind {
    /// One of our models.
    Native,
    /// A file of another program.
    Of(Program),
}

impl Kind {
    /// All kinds.
    const ALL: [Self; 4] = [
        Self::Native,
        Self::Of(Program::Tdl),
        Self::Of(Program::Demo),
        Self::Of(Program::Framework),
    ];

    /// Its name in one word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::Of(Program::Tdl) => "tdl",
            Self::Of(Program::Demo) => "demo",
            Self::Of(Program::Framework) => "framework",
        }
    }
}

impl From<Kind> for &'static str {
    fn from(kind: Kind) -> Self {
        kind.name()
    }
}

impl TryFrom<String> for Kind {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|kind| kind.name() == name);
        found.ok_or_else(|| format!("no format `{name}`"))
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Native => "Afterstate",
            Self::Of(program) => program.name(),
        })
    }
}
