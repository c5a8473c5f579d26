//! The arguments of `afterstate pack`.

use std::path::PathBuf;

use super::numbers::{count, games, mebibytes_of_file, threads};

/// `afterstate pack`
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  afterstate pack runs/quick quick.packed                   at most 9 MiB
  afterstate pack runs/quick quick.packed --games 2000      with the mean of both networks
  afterstate pack runs/quick small.packed --size 4.5

The weights that training updated most keep most bits; those that were hardly updated are left out. How much a weight was updated is what its sum A of TC says, so the run must have a checkpoint and a recipe with learner.rule = \"tc\". A packed model plays wherever a model does (eval, play, analyze, compare, review) and can start a new run (train --from); convert unpacks it, and check verifies it. It cannot be resumed. It takes as much memory as the whole network while it plays.")]
pub struct PackArgs {
    /// A run folder, or a checkpoint
    #[arg(value_name = "RUN")]
    pub from: PathBuf,
    /// The file to write; an existing packed model is replaced atomically
    #[arg(value_name = "OUT")]
    pub to: PathBuf,
    /// The largest size of the file in MiB
    #[arg(long, value_name = "MIB", allow_negative_numbers = true, default_value = "9", value_parser = mebibytes_of_file)]
    pub size: f64,
    /// Evaluate the whole and the packed network over this number of games each
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = games)]
    pub games: Option<u64>,
    /// The seed of these games
    #[arg(long, value_name = "S", allow_negative_numbers = true, default_value = "1", value_parser = count, requires = "games")]
    pub seed: u64,
    /// The number of threads; 0 means one for each core. The file does not depend on it
    #[arg(long, value_name = "T", allow_negative_numbers = true, default_value = "0", value_parser = threads)]
    pub threads: usize,
    /// Overwrite OUT even if it is not a packed model
    #[arg(long)]
    pub force: bool,
    /// Print one JSON document and nothing else
    #[arg(long)]
    pub json: bool,
}
