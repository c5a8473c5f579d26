//! The arguments of every command.

mod numbers;
#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::time::Duration;

use afterstate_lab::games::DEFAULT_GAME;
use clap::{Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

use crate::exit;
use crate::output::Verbosity;
use numbers::{count, games, moves_a_second, seconds, threads};

/// Learns, evaluates and explains 2048-like games with n-tuple networks.
#[derive(Debug, Parser)]
#[command(
    name = "afterstate",
    version,
    about = "Learns, evaluates and explains 2048-like games with n-tuple networks",
    max_term_width = 100
)]
#[command(after_help = format!("Examples:
  afterstate train                      learn 2048 in a minute or two, into runs/quick
  afterstate eval runs/quick            how good is it?
  afterstate analyze 2,0,0,4/0,0,8,0/0,0,0,0/0,0,0,2
  afterstate recipes                    what else can be trained

Environment:
  AFTERSTATE_CPU  the instructions to use: plain or avx2 [default: the fastest this CPU has]
  NO_COLOR        if set, help and usage errors have no colours

{}", exit::HELP))]
pub struct Args {
    /// Print errors alone on standard error: no notes, no progress
    #[arg(short, long, global = true)]
    quiet: bool,
    /// Do not show progress
    #[arg(long, global = true)]
    no_progress: bool,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

impl Args {
    /// How much is said on standard error.
    pub fn verbosity(&self) -> Verbosity {
        match (self.quiet, self.no_progress) {
            (true, _) => Verbosity::Quiet,
            (false, true) => Verbosity::NoProgress,
            (false, false) => Verbosity::Normal,
        }
    }
}

/// One file of `commands` each.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Train a player by a recipe, or go on with a run
    Train(TrainArgs),
    /// Play games with a model and report how good it is, with 95% intervals
    Eval(EvalArgs),
    /// Compare two models over games paired by seed
    Compare(CompareArgs),
    /// Say what every move of a board is worth
    Analyze(AnalyzeArgs),
    /// Turn a weight file of one program into that of another
    Convert(ConvertArgs),
    /// Solve a small board exactly: the best expected score, and the chance of a tile
    Solve(SolveArgs),
    /// Replay records of games and say whether everything in them was by the rules
    Judge(JudgeArgs),
    /// Draw the learning curves of one or several runs, as PNG and SVG
    Plot(PlotArgs),
    /// Train a table of variants and seeds, and say which variants are better
    Sweep(SweepArgs),
    /// List runs with their status, newest first
    Runs(RunsArgs),
    /// List every recipe, with its purpose, its result and the time it takes
    Recipes(RecipesArgs),
    /// List the tuples of a set, show them on their board, and draw them
    Tuples(TuplesArgs),
    /// Measure moves a second of the main networks, with one thread and with all
    Bench(BenchArgs),
    /// Print a completion script for a shell
    Completions(CompletionsArgs),
    /// Print the man page of the program, or of one command
    #[command(hide = true)]
    Man(ManArgs),
}

/// `afterstate train`
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  afterstate train
  afterstate train td-4x6 --threads 1 --seed 7
  afterstate train quick --set learner.lambda=0.8 --set tuples=8x6 --out runs/try
  afterstate train my-recipe.toml
  afterstate train --board 3x3 --set tuples=\"012345 036 147 258\"
  afterstate train --resume runs/quick                     go on after Ctrl-C or a crash
  afterstate train --resume runs/quick --episodes 60000    train longer

Ctrl-C saves a checkpoint and says how to go on.")]
pub struct TrainArgs {
    /// A built-in recipe (see `afterstate recipes`) or a .toml file
    #[arg(default_value = "quick", conflicts_with = "resume")]
    pub recipe: String,
    /// Go on with the run in this folder, from its last checkpoint
    #[arg(long, value_name = "DIR", conflicts_with_all = ["game", "board", "seed", "out"])]
    pub resume: Option<PathBuf>,
    /// The game to learn
    #[arg(long)]
    pub game: Option<String>,
    /// Rows and columns of its board, each from 2 to 5
    #[arg(long, value_name = "RxC")]
    pub board: Option<String>,
    /// Games to train for
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = count)]
    pub episodes: Option<u64>,
    /// Threads that play at once; 0 means one for each core
    #[arg(long, value_name = "T", allow_negative_numbers = true, value_parser = threads)]
    pub threads: Option<usize>,
    /// The seed: with one thread, the same seed gives the same model
    #[arg(long, value_name = "S", allow_negative_numbers = true, value_parser = count)]
    pub seed: Option<u64>,
    /// The run folder to make [default: runs/ and the recipe's name]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Override any key of the recipe; may be given several times. With --resume only keys
    /// that touch no game played: `max_updates`, `checkpoint_seconds`
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Print every event as a line of JSON, and nothing else
    #[arg(long)]
    pub json: bool,
}

/// How many games, with which seed, on how many threads.
#[derive(Debug, clap::Args)]
pub struct GamesArgs {
    /// Games to play
    #[arg(long, value_name = "N", allow_negative_numbers = true, default_value = "1000", value_parser = games)]
    pub games: u64,
    /// Threads that play at once; 0 means one for each core. The figures do not depend on it
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
    /// Print one JSON document and nothing else
    #[arg(long)]
    pub json: bool,
}

/// `afterstate eval`
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  afterstate eval runs/quick
  afterstate eval runs/quick/model.safetensors --games 10000 --seed 7 --json
  afterstate eval random --game threes --games 100000         who knows nothing
  afterstate eval runs/quick --records games.txt              for `afterstate judge`
  afterstate eval runs/small --against 2x3.solution           how far from perfect?
  afterstate eval runs/small --against 2x3.solution --keep    the same, for `afterstate plot`
  afterstate eval 2x3.solution                                games of optimal play

With --against no game is played. The chance of every position that the player comes to is worked out, so that its expected score is exact, as the best one is, which `afterstate solve` has found.")]
pub struct EvalArgs {
    /// A model file, a run folder, or weights of TDL2048+ or TDL2048-Demo; an exact solution; or `random` or
    /// `greedy`, players that know nothing, to compare with
    pub model: PathBuf,
    /// The game of `random` or `greedy` [default: 2048]
    #[arg(long)]
    pub game: Option<String>,
    /// The board of `random` or `greedy` [default: 4x4]
    #[arg(long, value_name = "RxC")]
    pub board: Option<String>,
    /// Compare it with the exact solution of its game, from a file that `afterstate solve --out` made
    #[arg(long, value_name = "SOLUTION", conflicts_with_all = ["games", "seed", "game", "board"])]
    pub against: Option<PathBuf>,
    /// Treat symmetric boards as one: up to eight times as fast. The result differs only where the player values two
    /// moves exactly alike
    #[arg(long, requires = "against")]
    pub fast: bool,
    /// Keep the figures in the run folder's gaps.csv, one line for each number of games it was trained
    /// for; its column `symmetries` says `all`, or `one` with --fast
    #[arg(long, requires = "against")]
    pub keep: bool,
    /// Write a record of every game to this file, a line each, as `afterstate judge` reads them
    #[arg(long, value_name = "FILE", conflicts_with = "against")]
    pub records: Option<PathBuf>,
    #[command(flatten)]
    pub play: GamesArgs,
}

/// `afterstate judge`
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  afterstate judge games.txt                                what an evaluation has recorded
  afterstate judge threes.txt --game threes --min-speed 1000
  zcat games.gz | afterstate judge - --json

Every slide, reward and new tile is checked against the rules, the frequency of new tiles and of their cells against their chances, and times must not run backwards. The exit status is 0 if there is no fault, 1 if there is one, and 2 if there was nothing to judge.")]
pub struct JudgeArgs {
    /// A file of records, a line each; - for standard input
    pub records: PathBuf,
    /// The game that was played
    #[arg(long, default_value = DEFAULT_GAME)]
    pub game: String,
    /// Rows and columns of its board
    #[arg(long, value_name = "RxC", default_value = "4x4")]
    pub board: String,
    /// The least number of moves a second, by the times in the records
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = moves_a_second)]
    pub min_speed: Option<f64>,
    /// Print one JSON document and nothing else
    #[arg(long)]
    pub json: bool,
}

/// `afterstate compare`
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  afterstate compare runs/state-6 runs/state-6x6 --games 10000
  afterstate compare runs/quick greedy")]
pub struct CompareArgs {
    /// A model file, a run folder, weights of TDL2048+ or TDL2048-Demo, or an exact solution; or `random` or
    /// `greedy`
    pub a: PathBuf,
    /// Another one, for the same game and board
    pub b: PathBuf,
    #[command(flatten)]
    pub play: GamesArgs,
}

/// `afterstate analyze`
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  afterstate analyze 2,0,0,4/0,0,8,0/0,0,0,0/0,0,0,2
  afterstate analyze 1024,512,8,2/256,64,4,0/2,0,0,0/0,0,0,0 --model runs/td-4x6 --json
  afterstate analyze \". . . 2 / . 4 . . / . . . . / 2 . . 8\"
  afterstate analyze 2,0,0/0,4,0 --solution 2x3.solution      exact values, see `afterstate solve`
  afterstate analyze --batch --solution 2x3.solution < boards.txt

With --batch a line that is no board, or not in the solution, is answered by an object with `error`; the others are answered all the same, and the exit status is 2 at the end.")]
pub struct AnalyzeArgs {
    /// Tile values by rows: commas or spaces between cells, slashes or line breaks between rows, 0 or
    /// a dot for an empty cell
    #[arg(required_unless_present = "batch", conflicts_with = "batch")]
    pub board: Option<String>,
    /// A model file, a run folder, or weights of another program [default: the newest run of the game and board under runs/]
    #[arg(long)]
    pub model: Option<PathBuf>,
    /// The game that the board is of [default: 2048, or that of --model]
    #[arg(long, conflicts_with = "solution")]
    pub game: Option<String>,
    /// Exact values from a file that `afterstate solve --out` made
    #[arg(long, value_name = "FILE", conflicts_with = "model")]
    pub solution: Option<PathBuf>,
    /// Read a board a line from standard input, and answer each with a line of JSON
    #[arg(long, conflicts_with = "json")]
    pub batch: bool,
    /// Print one JSON document and nothing else
    #[arg(long)]
    pub json: bool,
}

/// `afterstate convert`
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  afterstate convert 4x6.w model.safetensors            from TDL2048+; `eval 4x6.w` works as well
  afterstate convert runs/quick quick.w                 to TDL2048+
  afterstate convert runs/quick/checkpoint.safetensors tc.w    with the sums of TC, to go on learning there
  afterstate convert 2048.bin model.safetensors         from TDL2048-Demo
  afterstate convert weights.bin model.safetensors --patterns \"012345 456789 012456 45689a\"
  afterstate convert runs/quick weights.bin --weights-only

The input format is detected from its content, the output format from the file name: .safetensors (Afterstate), .w (TDL2048+), 2048.bin (TDL2048-Demo), weights.bin (2048-Framework); for any other name give --to. A model that came from another program is converted back byte for byte. What OUT cannot keep is an error.")]
pub struct ConvertArgs {
    /// A weight file of any kind, or a run folder
    #[arg(value_name = "IN")]
    pub from: PathBuf,
    /// The file to write; an older one is replaced atomically
    #[arg(value_name = "OUT")]
    pub to: PathBuf,
    /// What to write, if the name of OUT does not say so
    #[arg(long = "to", value_name = "KIND")]
    pub kind: Option<KindArg>,
    /// The patterns of the tables of IN, in order, or the name of a set such as 4x6
    #[arg(long, value_name = "PATTERNS")]
    pub patterns: Option<String>,
    /// The game that a weights.bin was trained for, which it does not say [default: 2048]
    #[arg(long)]
    pub game: Option<String>,
    /// The tables are looked up once each, not for all eight symmetries of a board
    #[arg(long)]
    pub no_symmetry: bool,
    /// Leave out what only learning needs: the sums of TC
    #[arg(long)]
    pub weights_only: bool,
    /// Write over OUT even if it is not a weight file
    #[arg(long)]
    pub force: bool,
    /// Print one JSON document and nothing else
    #[arg(long)]
    pub json: bool,
}

/// What to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum KindArg {
    /// A model of Afterstate: safetensors
    Native,
    /// Weights of TDL2048+
    Tdl,
    /// Weights of TDL2048-Demo
    Demo,
    /// Weights of the 2048-Framework
    Framework,
}

/// `afterstate solve`
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  afterstate solve --board 2x2
  afterstate solve --board 2x3 --target 64 --json
  afterstate solve --board 2x3 --out 2x3.solution      keep every value, for `analyze`
  afterstate solve --board 2x2 --min-avg-max           the worst and the best luck, too
  afterstate solve --board 3x4 --target 16             a large board, up to a small tile

Positions are those in which the player is to move, or the game is over. With --target the whole game is solved if it is sure to fit into memory; otherwise the game that ends with the target, and the report says so. 3x3 takes a minute or two and 1.5 GiB. What does not fit into memory is refused. Ctrl-C stops, and leaves no file.")]
pub struct SolveArgs {
    /// The game to solve
    #[arg(long, default_value = DEFAULT_GAME)]
    pub game: String,
    /// Rows and columns of its board, each from 2 to 5, up to 16 cells
    #[arg(long, value_name = "RxC")]
    pub board: String,
    /// Find the probability of this tile under the best play for it
    #[arg(long, value_name = "TILE", allow_negative_numbers = true, value_parser = count)]
    pub target: Option<u64>,
    /// What a reward one move later counts, from 0 to 1
    #[arg(
        long,
        value_name = "D",
        default_value_t = 1.0,
        allow_negative_numbers = true
    )]
    pub discount: f64,
    /// Find the score, and the chance of the target, if always the worst, and always the best, new tile
    /// comes, too
    #[arg(long)]
    pub min_avg_max: bool,
    /// Keep the value of every position in this file
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Threads that work at once; 0 means one for each core. The values do not depend on it
    #[arg(long, value_name = "T", allow_negative_numbers = true, default_value = "0", value_parser = threads)]
    pub threads: usize,
    /// Print one JSON document and nothing else
    #[arg(long)]
    pub json: bool,
}

/// `afterstate plot`
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  afterstate plot runs/quick                              into runs/quick/plots
  afterstate plot runs/quick runs/td-4x6 --out compared   several runs in one plot

Runs that `eval --against --keep` has measured also get a plot of their optimality gap; those it has not are left out of it, and named.")]
pub struct PlotArgs {
    /// Run folders
    #[arg(required = true, value_name = "RUN")]
    pub runs: Vec<PathBuf>,
    /// Where to put the plots [default: the run's own plots/, or plots/ for several]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Print one JSON document and nothing else
    #[arg(long)]
    pub json: bool,
}

/// `afterstate sweep`
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  afterstate sweep sweeps/rates-3x3.toml                   into runs/rates-3x3
  afterstate sweep sweeps/rates-3x3.toml --jobs 1 --out runs/rates --json

The same command again goes on: finished runs are kept, started ones resume, missing ones begin. Each run is an ordinary run folder, DIR/VARIANT/seed-N, for eval, compare, plot and train --resume. The table is also in DIR/summary.md and DIR/summary.csv, the plots are in DIR/plots.

Ctrl-C saves all running trainings. A training that diverges stops no other; the exit status is then 1.")]
pub struct SweepArgs {
    /// A .toml file that names a recipe, its variants and the seeds; see docs/sweeps.md
    pub file: PathBuf,
    /// The folder of all runs [default: runs/ and the name of the sweep]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Trainings at once, each on as many threads as its recipe says, mostly one; 0 means one for each core
    #[arg(long, value_name = "N", allow_negative_numbers = true, default_value = "0", value_parser = threads)]
    pub jobs: usize,
    /// Print one JSON document and nothing else
    #[arg(long)]
    pub json: bool,
}

/// `afterstate recipes`
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  afterstate recipes
  afterstate recipes quick > my-recipe.toml    a recipe to start your own from")]
pub struct RecipesArgs {
    /// Print this recipe's file instead of the list
    pub name: Option<String>,
    /// Print one JSON document and nothing else: the list, or with NAME all keys of the recipe
    #[arg(long)]
    pub json: bool,
}

/// `afterstate runs`
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  afterstate runs
  afterstate runs runs/rates-3x3 --json      the runs of a sweep

Status is running (a process trains it), finished, stopped (resume it with `train --resume`), new (ended before its first checkpoint) or damaged. Started is when the folder was created, finished is when the model was saved; both are times of RFC 3339 in UTC. The mean is that of the last block of games.")]
pub struct RunsArgs {
    /// A folder that has runs, or folders of runs such as those of a sweep, or a run
    #[arg(value_name = "DIR")]
    pub folder: Option<PathBuf>,
    /// Print one JSON document and nothing else
    #[arg(long)]
    pub json: bool,
}

/// `afterstate bench`
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  afterstate bench                                     half a minute, the main networks
  afterstate bench --network 8x6 --network \"4x6 tc\"
  afterstate bench --seconds 120 --warmup-games 20000 --json    as in our published figures

A network may slow down as it learns, so every figure says after how many games it was measured.
Ctrl-C ends with the rows that are finished.")]
pub struct BenchArgs {
    /// Time for all rows together: half of it trains the networks, half is measured
    #[arg(long, value_name = "S", allow_negative_numbers = true, default_value = "30", value_parser = seconds)]
    pub seconds: Duration,
    /// Train each network for exactly N games before it is measured, however long that takes: 20000,
    /// as in our published figures, are far more than half a minute allows
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = games)]
    pub warmup_games: Option<u64>,
    /// Measure this row, or all rows of a network; may be given several times. There are 4x6 play,
    /// 4x6 td, 4x6 tc, 8x6 td, state-6 (the main ones), 5x6 td, 6x6 td, 8x4 td
    #[arg(long, value_name = "NAME")]
    pub network: Vec<String>,
    /// How many threads "all" are [default: one for each core, as 0]
    #[arg(long, value_name = "T", allow_negative_numbers = true, value_parser = threads)]
    pub threads: Option<usize>,
    /// Print one JSON document and nothing else
    #[arg(long)]
    pub json: bool,
}

/// `afterstate completions`
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  afterstate completions bash > afterstate.bash     then `source` it, for example in ~/.bashrc
  afterstate completions zsh > _afterstate          into a folder of $fpath
  afterstate completions fish > afterstate.fish     into ~/.config/fish/completions")]
pub struct CompletionsArgs {
    /// The shell
    pub shell: Shell,
}

/// `afterstate man`
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  afterstate man > afterstate.1
  afterstate man train > afterstate-train.1")]
pub struct ManArgs {
    /// The command [default: the program]
    pub command: Option<String>,
}

/// `afterstate tuples`
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  afterstate tuples 4x6
  afterstate tuples 4x6 --out 4x6.svg
  afterstate tuples 012345 0145 1256 --out mine.png --theme dark
  afterstate tuples lines --board 3x3 --json

Named sets are 4x6, 5x6, 6x6, 8x6 and 8x4, all for 4x4 boards, and `lines`: all rows and columns of any board. A pattern names cells by rows: 0-9, then a-f (on to o on 5x5).")]
pub struct TuplesArgs {
    /// A named set, or patterns
    #[arg(required = true, value_name = "SET")]
    pub set: Vec<String>,
    /// Rows and columns of the board, each from 2 to 5
    #[arg(long, value_name = "RxC", default_value = "4x4")]
    pub board: String,
    /// The tables are looked up once each, not for all symmetries of the board
    #[arg(long)]
    pub no_symmetry: bool,
    /// Draw the set into this file, whose name ends with .svg or .png
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// The colours of the drawing
    #[arg(long, default_value = "light", requires = "out")]
    pub theme: ThemeArg,
    /// Print one JSON document and nothing else
    #[arg(long)]
    pub json: bool,
}

/// The colours of a drawing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ThemeArg {
    /// Dark on white
    Light,
    /// Light on dark
    Dark,
}
