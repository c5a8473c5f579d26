//! One file a command.

pub mod analyze;
pub mod bench;
pub mod check;
pub mod compare;
pub mod convert;
pub mod document;
pub mod eval;
pub mod generated;
pub mod judge;
pub mod merge;
pub mod models;
pub mod pack;
pub mod play;
pub mod plot;
pub mod recipes;
pub mod referee;
pub mod review;
pub mod runs;
pub mod serve;
pub mod solve;
pub mod sweep;
pub mod tournament;
pub mod train;
pub mod tuples;

use std::path::Path;

/// Where runs are made and looked for unless told otherwise.
pub const RUNS: &str = "runs";

/// A path as the user may type it again in a shell.
pub fn shown(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |c: char| c.is_alphanumeric() || "/._-+=:,@%".contains(c);
    if text.chars().all(plain) {
        text
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}
