//! The arguments of `afterstate analyze`.

use std::path::{Path, PathBuf};

use afterstate_lab::search::SearchLimit;

use super::numbers::{count, games, threads, tile};
use super::search::{SearchArgs, limit};

/// A board, which may begin with `-` for an empty cell, and no mistyped option.
fn board(text: &str) -> Result<String, String> {
    let name = text.strip_prefix("--").unwrap_or_default();
    if Path::new(text).is_file() {
        return Err(format!(
            "this is a file; to read a board from it: `afterstate analyze - < {text}`"
        ));
    }
    match name.starts_with(|c: char| c.is_ascii_alphabetic()) {
        true => Err("there is no such option; see `afterstate analyze --help`".to_owned()),
        false => Ok(text.to_owned()),
    }
}

/// `afterstate analyze`
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  afterstate analyze 2,0,0,4/0,0,8,0/0,0,0,0/0,0,0,2
  afterstate analyze 1k,512,8,2/256,64,4,0/2,0,0,0/0,0,0,0 --model runs/td-4x6 --json
  afterstate analyze \". . . 2 / . 4 . . / . . . . / 2 . . 8\"
  afterstate analyze 2,0,0,4/0,0,8,0/0,0,0,0/0,0,0,2 --search 3ply --rollouts 1000
  afterstate analyze 0x1002000030000001                       tile indices: 1 is 2, 2 is 4, a is 1024
  afterstate analyze - < board.txt
  afterstate analyze 2,0,0/0,4,0 --solution 2x3.solution      exact values, see `afterstate solve`
  afterstate analyze --batch --solution 2x3.solution < boards.txt

A board may be written as rows between slashes, semicolons, bars or line breaks, with commas, spaces or tabs between cells; as a list with brackets; as a drawing with bars between cells, such as the one that analyze prints; as all cells in one row; or as 16 hexadecimal digits. An empty cell is 0, a dot, _, - or null; 1k is 1024 and 32k is 32768. In games that show the next tile it follows, as in +2.

--rollouts plays games on from each legal move, the same random streams for each, and prints how often the next tiles are reached. The best line assumes the most probable new tile after each move, in the cell with the median value. See docs/analysis.md.

With --batch, a line that is not a board, or not in the solution, is answered with an object that has the key `error`. The other lines are answered as usual, without lines of play, and the exit status is 2.")]
pub struct AnalyzeArgs {
    /// Tile values by rows; - or nothing for standard input
    #[arg(conflicts_with = "batch", allow_hyphen_values = true, value_parser = board)]
    pub board: Option<String>,
    /// The player whose values are shown: a model file, a run folder, a weight file of another
    /// program, an exact solution, or one of the baselines `greedy` and `random` [default: the network
    /// in the program, where it has one for the game and board, or else the newest run]
    #[arg(long)]
    pub model: Option<PathBuf>,
    /// The game of the board [default: 2048, or the game of --model]
    #[arg(long, conflicts_with = "solution")]
    pub game: Option<String>,
    /// The same as --model, for the exact values of a file written by `afterstate solve --out`
    #[arg(long, value_name = "FILE", conflicts_with = "model")]
    pub solution: Option<PathBuf>,
    #[command(flatten)]
    pub search: SearchArgs,
    /// Play this many games on from each legal move, for the chances of the next tiles
    #[arg(long, value_name = "N", allow_negative_numbers = true, conflicts_with = "batch", value_parser = games)]
    pub rollouts: Option<u64>,
    /// Also show the chance of this tile; without it, only of the three tiles above the largest one
    #[arg(long, value_name = "TILE", allow_negative_numbers = true, requires = "rollouts", value_parser = tile)]
    pub tile: Option<u64>,
    /// How far the moves of rollouts look ahead; a search makes them much slower
    #[arg(long, value_name = "SEARCH", default_value = "1ply", requires = "rollouts", value_parser = limit)]
    pub rollout_search: SearchLimit,
    /// The seed of the rollouts
    #[arg(
        long,
        value_name = "S",
        allow_negative_numbers = true,
        default_value = "1",
        requires = "rollouts",
        value_parser = count
    )]
    pub seed: u64,
    /// The number of threads of a search or of rollouts; 0 means one for each core. Results do not depend on it
    #[arg(
        long,
        value_name = "T",
        allow_negative_numbers = true,
        default_value = "0",
        value_parser = threads
    )]
    pub threads: usize,
    /// Read one board per line from standard input, and answer each with one line of JSON
    #[arg(long, conflicts_with = "json")]
    pub batch: bool,
    /// Print one JSON document and nothing else
    #[arg(long)]
    pub json: bool,
}
