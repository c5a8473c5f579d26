//! The arguments of `afterstate tournament`.

use std::path::PathBuf;

use super::numbers::tile;
use super::referee::MatchArgs;

/// `afterstate tournament`
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  afterstate tournament players --games 100                  into players-results
  afterstate tournament players --games 100 --time 50 --with random --with greedy --out first
  afterstate tournament players --games 100 --board 3x3 --target 128 --out small --json

Players are the entries of DIR: executable files, also scripts that begin with `#!`; files that end with .py, which python3 runs; folders with an executable `player` or a `player.py`; and models of Afterstate, as run folders or files that end with .safetensors, .packed, .solution or .w. A program is started in its own folder, or in DIR if it is a file of DIR, and speaks the protocol of `afterstate referee` (docs/referee.md). Other entries are named with the reason why they do not play.

All players play the same games: game n has the same stream of new tiles for each of them, so differences are over pairs. Players play one after another, each with --jobs copies side by side. The new tiles come from one secret; its commitment is printed before the first game. The results folder has the table (results.csv), the score of every game (scores.csv), everything as JSON with the secret (results.json), and records/ with records and seals for `afterstate judge`. A player that breaks rules, or cannot be started, has a line that says so. Ctrl-C keeps the players that have played all their games; if the program is killed, only the two CSV files of these remain.")]
pub struct TournamentArgs {
    /// The folder of the players
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
    #[command(flatten)]
    pub play: MatchArgs,
    /// The tile whose rate is in the table [default: 2048, 2584, or 384 in Threes!]
    #[arg(long, value_name = "TILE", allow_negative_numbers = true, value_parser = tile)]
    pub target: Option<u64>,
    /// Another player: `random`, `greedy`, a model file, a run folder, or an exact solution; may be
    /// given several times
    #[arg(long, value_name = "MODEL")]
    pub with: Vec<PathBuf>,
    /// The folder of results, which must be new or empty, and outside of DIR [default: DIR followed
    /// by `-results`]
    #[arg(long, value_name = "FOLDER")]
    pub out: Option<PathBuf>,
}
