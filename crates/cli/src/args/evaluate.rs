//! The arguments of commands that play games to measure players.

use std::path::PathBuf;

use afterstate_lab::part::{Part, PartError};
use afterstate_lab::search::SearchLimit;
use clap::ValueEnum;

use super::SearchArgs;
use super::numbers::{count, games, points, threads};
use super::search::limit;

fn part(text: &str) -> Result<Part, PartError> {
    text.parse()
}

/// How many games, with which seed, on how many threads.
#[derive(Debug, clap::Args)]
pub struct GamesArgs {
    /// The number of games to play
    #[arg(long, value_name = "N", allow_negative_numbers = true, default_value = "1000", value_parser = games)]
    pub games: u64,
    /// The number of threads; 0 means one for each core. Scores do not depend on it
    #[arg(long, value_name = "T", allow_negative_numbers = true, default_value = "0", value_parser = threads)]
    pub threads: usize,
    /// The seed of the games
    #[arg(
        long,
        value_name = "S",
        allow_negative_numbers = true,
        default_value = "1",
        value_parser = count
    )]
    pub seed: u64,
    /// Play part K of N: these numbers of the games only. Several machines can share the games;
    /// `afterstate merge` joins what they print
    #[arg(long, value_name = "K/N", requires = "json", value_parser = part)]
    pub part: Option<Part>,
    /// Print the results for people, or as a table for a report
    #[arg(
        long,
        value_name = "FORMAT",
        default_value = "text",
        conflicts_with = "json"
    )]
    pub format: FormatArg,
    /// Print one JSON document and nothing else
    #[arg(long)]
    pub json: bool,
}

/// How results are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FormatArg {
    /// Aligned columns
    Text,
    /// A table in Markdown
    Markdown,
    /// A table in LaTeX, which needs no package
    Latex,
}

/// `afterstate eval`
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  afterstate eval                                             the network in the program
  afterstate eval runs/quick
  afterstate eval runs/quick/model.safetensors --games 10000 --seed 7 --json
  afterstate eval random --game threes --games 100000         a baseline: random moves
  afterstate eval runs/quick --records games.txt              for `afterstate judge`
  afterstate eval runs/small --against 2x3.solution           its exact optimality gap
  afterstate eval runs/small --against 2x3.solution --keep    also saved for `afterstate plot`
  afterstate eval 2x3.solution                                games of optimal play
  afterstate eval runs/quick --format latex                   a table for a report
  afterstate eval runs/quick --search 3ply --games 100        looks three moves ahead
  afterstate eval runs/quick --part 1/2 --json > 1.json       half of the games, for `afterstate merge`

With --against no games are played. The probability of every position that the model can reach is computed, so its expected score is exact. It is compared with the optimum, which `afterstate solve` has found.")]
pub struct EvalArgs {
    /// A model file, a run folder, a weight file of TDL2048+ or TDL2048-Demo, an exact solution, or
    /// one of the baselines `random` and `greedy` [default: the network in the program,
    /// where it has one for the game and board, or else the newest run]
    pub model: Option<PathBuf>,
    /// The game of `random`, `greedy` or the default model [default: 2048]
    #[arg(long)]
    pub game: Option<String>,
    /// The board of `random`, `greedy` or the default model [default: 4x4]
    #[arg(long, value_name = "RxC")]
    pub board: Option<String>,
    /// Compare the model with the exact solution of its game, a file written by `afterstate solve --out`
    #[arg(long, value_name = "SOLUTION", conflicts_with_all = ["games", "seed", "game", "board", "format", "part"])]
    pub against: Option<PathBuf>,
    /// Treat symmetric boards as one: up to eight times as fast. The result differs only where the
    /// model values two moves exactly equally
    #[arg(long, requires = "against")]
    pub fast: bool,
    /// Save the result to gaps.csv in the run folder, one line for each number of training games;
    /// the column `symmetries` is `all`, or `one` with --fast
    #[arg(long, requires = "against")]
    pub keep: bool,
    /// Write a record of every game to this file, one line each, for `afterstate judge`, and beside it
    /// a seal, which says that it is the player's own
    #[arg(long, value_name = "FILE", conflicts_with_all = ["against", "part"])]
    pub records: Option<PathBuf>,
    #[command(flatten)]
    pub search: SearchArgs,
    #[command(flatten)]
    pub play: GamesArgs,
}

/// `afterstate compare`
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  afterstate compare runs/state-6 runs/state-6x6 --games 10000
  afterstate compare runs/quick greedy
  afterstate compare runs/quick greedy --format markdown    a table for a report
  afterstate compare runs/quick runs/quick --search 2ply --search-b 1ply --games 100
  afterstate compare runs/quick runs/quick --search 3ply --cutoff 0.2 --plain-b
  afterstate compare runs/quick greedy --sequential           stops when the difference is shown

Game n of both players has the same random stream. All intervals are 95% intervals over these pairs: of the difference of means by Student's t, of medians by a bootstrap of 2,000 resamples with a fixed seed, of win rates by Newcombe's method 10 for paired proportions. The verdict is that of the means. With --sequential the interval of the means is wider, so that it may be looked at again and again: it is looked at after 64, 128, 256, 512 and 1,024 games and then after every 1,000, and the games end when it excludes 0 or lies within the margin. About 5% of such verdicts are wrong (asymptotically). Medians and win rates have no intervals then. Two models with the same weights are called equal.")]
pub struct CompareArgs {
    /// A model file, a run folder, a weight file of TDL2048+ or TDL2048-Demo, an exact solution, or
    /// one of the baselines `random` and `greedy`
    pub a: PathBuf,
    /// Another one of the same game and board
    pub b: PathBuf,
    /// The game of two baselines [default: 2048]
    #[arg(long)]
    pub game: Option<String>,
    /// The board of two baselines [default: 4x4]
    #[arg(long, value_name = "RxC")]
    pub board: Option<String>,
    #[command(flatten)]
    pub search: SearchArgs,
    /// How far B looks ahead, if that differs from --search
    #[arg(long, value_name = "SEARCH", value_parser = limit)]
    pub search_b: Option<SearchLimit>,
    /// B searches without --cutoff and --downgrade, so that their effect is shown
    #[arg(long)]
    pub plain_b: bool,
    /// Stop when the difference is shown, after --games at the latest: a sequential test with an error
    /// rate of about 5%
    #[arg(long, conflicts_with = "part")]
    pub sequential: bool,
    /// Also stop when the means are shown to differ by less than this
    #[arg(long, value_name = "POINTS", allow_negative_numbers = true, requires = "sequential", value_parser = points)]
    pub margin: Option<f64>,
    #[command(flatten)]
    pub play: GamesArgs,
}

/// `afterstate merge`
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  afterstate merge 1.json 2.json
  afterstate merge 1.json 2.json --json
  afterstate merge --sweep sweeps/rates-3x3.toml --out runs/all runs/half runs/other-half

Each machine plays its part: `afterstate eval MODEL --games 10000 --part 1/4 --json > 1.json`, and the same with 2/4, 3/4 and 4/4, or with compare. Game n of a seed is the same on every machine, so the merged result equals that of one machine in everything but times. Parts of different models, seeds, games or searches are refused, and so are missing, repeated and unfinished ones.")]
pub struct MergeArgs {
    /// What `eval --part --json` or `compare --part --json` printed, in any order; with --sweep, the
    /// folders of the parts of a sweep
    #[arg(required = true, value_name = "PART")]
    pub parts: Vec<PathBuf>,
    /// The file of the sweep whose parts are merged
    #[arg(long, value_name = "FILE", requires = "out")]
    pub sweep: Option<PathBuf>,
    /// The folder for the whole sweep; the runs are copied into it
    #[arg(long, value_name = "DIR", requires = "sweep")]
    pub out: Option<PathBuf>,
    /// Print the results for people, or as a table for a report
    #[arg(
        long,
        value_name = "FORMAT",
        default_value = "text",
        conflicts_with_all = ["json", "sweep"]
    )]
    pub format: FormatArg,
    /// Print one JSON document and nothing else
    #[arg(long)]
    pub json: bool,
}

/// `afterstate sweep`
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  afterstate sweep sweeps/rates-3x3.toml                   into runs/rates-3x3
  afterstate sweep sweeps/rates-3x3.toml --jobs 1 --out runs/rates --json
  afterstate sweep sweeps/rates-3x3.toml --part 1/2 --out runs/half    for `afterstate merge`

Run the same command again to continue: finished runs are kept, unfinished runs are resumed, and missing runs are started. Each run is an ordinary run folder, DIR/VARIANT/seed-N, for eval, compare, plot and train --resume. The table is also in DIR/summary.md and DIR/summary.csv, the plots are in DIR/plots.

Ctrl-C saves all active runs. If a run diverges, the others continue, and the exit status is 1.")]
pub struct SweepArgs {
    /// A .toml file with a recipe, its variants and the seeds; see docs/sweeps.md
    pub file: PathBuf,
    /// The folder for all runs [default: runs/ followed by the name of the sweep]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// The number of runs at the same time, each with the threads of its recipe, usually one; 0 means
    /// one run for each core
    #[arg(long, value_name = "N", allow_negative_numbers = true, default_value = "0", value_parser = threads)]
    pub jobs: usize,
    /// Train part K of N of the runs only, without a summary; `afterstate merge --sweep` joins the folders
    #[arg(long, value_name = "K/N", conflicts_with = "json", value_parser = part)]
    pub part: Option<Part>,
    /// Print one JSON document and nothing else
    #[arg(long)]
    pub json: bool,
}
