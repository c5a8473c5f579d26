//! Errors of sweeps. Each variant carries the facts; what to do is its [`Remedy`](crate::Remedy).

use std::path::PathBuf;

use thiserror::Error;

use super::LabError;
use crate::recipe::RecipeError;

/// Why a sweep was refused, or ended early.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SweepError {
    /// The text is not TOML, or has an unknown, missing or mistyped key.
    #[error(transparent)]
    Text(RecipeError),
    /// The file is too large to be a sweep.
    #[error("{} is not a sweep: it is larger than {limit} bytes; is it a model?", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// The largest size that is read.
        limit: usize,
    },
    /// The file is not UTF-8.
    #[error("{} is not a sweep: byte {offset} is not UTF-8 text; is it a model?", path.display())]
    NotText {
        /// The file.
        path: PathBuf,
        /// The offset of the first invalid byte.
        offset: usize,
    },
    /// An invalid value.
    #[error("{origin}: `{key}` is {found}: expected {expected}")]
    BadValue {
        /// The file.
        origin: String,
        /// The key.
        key: &'static str,
        /// The value.
        found: String,
        /// What is accepted.
        expected: String,
    },
    /// A duplicate.
    #[error("{origin}: the {what} {found} occurs twice; remove one of the two")]
    Twice {
        /// The file.
        origin: String,
        /// "seed" or "variant".
        what: &'static str,
        /// The duplicate.
        found: String,
    },
    /// Two names with the same folder.
    #[error(
        "{origin}: the variants `{first}` and `{second}` would share the folder {folder}; rename one of them"
    )]
    SameFolder {
        /// The file.
        origin: String,
        /// A variant.
        first: String,
        /// A later one.
        second: String,
        /// Their folder.
        folder: String,
    },
    /// A seed among the overrides.
    #[error(
        "{origin}: the override `{found}` sets a seed; only `seeds` does that, for all variants"
    )]
    Seed {
        /// The file.
        origin: String,
        /// The override.
        found: String,
    },
    /// Runs that are not finished, so that there is no summary.
    #[error("these runs are not finished in any of the folders: {}", .0.join("; "))]
    Unfinished(Vec<String>),
    /// A variant that cannot be trained.
    #[error("variant `{variant}`: {source}")]
    Variant {
        /// Its name.
        variant: String,
        /// What is wrong with it.
        source: Box<LabError>,
    },
    /// Variants of different games or boards.
    #[error(
        "variant `{first}` plays {game}, and variant `{second}` plays {other}; only variants of the same game and board can be compared"
    )]
    Games {
        /// The first variant.
        first: String,
        /// Its game and board.
        game: String,
        /// The variant that differs.
        second: String,
        /// Its game and board.
        other: String,
    },
    /// The folder of a run, which cannot hold a sweep.
    #[error("{} is a run folder, not the folder of a sweep", .0.display())]
    OfARun(PathBuf),
    /// A folder with the summary of another sweep, which is not overwritten.
    #[error(
        "{} has the summary of another sweep, `{found}`, of the variants {variants}",
        folder.display()
    )]
    Other {
        /// The folder.
        folder: PathBuf,
        /// Its name.
        found: String,
        /// Its variants.
        variants: String,
    },
    /// A run that was trained with another recipe than the file has now.
    #[error(
        "{} was trained with `{key}` = {trained}, but the sweep now has {wanted}",
        folder.display()
    )]
    Changed {
        /// The run folder.
        folder: PathBuf,
        /// The first key that differs.
        key: String,
        /// The value in the run.
        trained: String,
        /// The value in the file.
        wanted: String,
    },
    /// A run that ended before any of its games, and was not evaluated.
    #[error(
        "{run}: no game ended during training, so there is no score to compare; train longer, or set `games` above 0"
    )]
    NoGame {
        /// The variant and the seed.
        run: String,
    },
    /// A run that failed for another reason than divergence.
    #[error("{run}: {source}")]
    Run {
        /// The variant and the seed.
        run: String,
        /// What happened.
        source: Box<LabError>,
    },
}
