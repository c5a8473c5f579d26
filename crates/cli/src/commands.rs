//! One file a command.

pub mod analyze;
pub mod compare;
pub mod eval;
pub mod plot;
pub mod recipes;
pub mod train;

use std::path::Path;

/// Where runs are made and looked for unless told otherwise.
pub const RUNS: &str = "runs";

/// A path as the user may type it again.
pub fn shown(path: &Path) -> String {
    path.display().to_string()
}
