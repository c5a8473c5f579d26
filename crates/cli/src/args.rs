//! The arguments of every command.
//!
//! To add a command, add a variant of [`Command`], a file in `commands/` and an arm in `main.rs`.

mod analyze;
mod evaluate;
mod numbers;
mod pack;
mod play;
mod referee;
mod review;
mod search;
mod serve;
#[cfg(test)]
mod tests;
mod tournament;

use std::path::PathBuf;
use std::time::Duration;

use afterstate_lab::games::DEFAULT_GAME;
use afterstate_lab::search::SearchLimit;
use clap::{Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

use crate::exit;
use crate::output::Verbosity;
pub use analyze::AnalyzeArgs;
pub use evaluate::{CompareArgs, EvalArgs, FormatArg, GamesArgs, MergeArgs, SweepArgs};
use numbers::{
    base, count, count_from_one, games, moves_a_second, probability, range, seconds,
    table_mebibytes, threads, tile,
};
pub use pack::PackArgs;
pub use play::PlayArgs;
pub use referee::{MatchArgs, RefereeArgs};
pub use review::ReviewArgs;
pub use search::SearchArgs;
use search::limit;
pub use serve::ServeArgs;
pub use tournament::TournamentArgs;

/// Trains, evaluates and analyses players of 2048-like games with n-tuple networks.
#[derive(Debug, Parser)]
#[command(
    name = "afterstate",
    version,
    about = "Trains, evaluates and analyses players of 2048-like games with n-tuple networks",
    max_term_width = 100
)]
#[command(after_help = format!("Examples:
  afterstate train                      train on 2048 for about a minute, into runs/quick
  afterstate eval runs/quick            measure its mean score
  afterstate analyze 2,0,0,4/0,0,8,0/0,0,0,0/0,0,0,2
  afterstate play                       play with its hints, or watch it
  afterstate serve                      the app in the browser, at http://127.0.0.1:2048
  afterstate recipes                    list all recipes

Environment:
  AFTERSTATE_CPU  the instruction set: plain or avx2 [default: the fastest that this CPU supports]
  NO_COLOR        if set, help, usage errors and `play` are not coloured

{}", exit::HELP))]
pub struct Args {
    /// Print only errors on standard error: no notes, no progress
    #[arg(short, long, global = true, help_heading = "Global options")]
    quiet: bool,
    /// Do not show progress
    #[arg(long, global = true, help_heading = "Global options")]
    no_progress: bool,
    /// The command.
    #[command(subcommand)]
    pub command: Command,
}

impl Args {
    /// How much is printed on standard error.
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
    /// Train a model with a recipe, or resume a run
    Train(TrainArgs),
    /// Play games with a model and report its scores with 95% confidence intervals
    Eval(EvalArgs),
    /// Compare two models over games paired by seed
    Compare(CompareArgs),
    /// Merge the parts of an evaluation, a comparison or a sweep that several machines made
    Merge(MergeArgs),
    /// Show the value of every move on a board, its chances, and the best line
    Analyze(AnalyzeArgs),
    /// Grade the moves of recorded games, and measure the luck of their new tiles
    Review(ReviewArgs),
    /// Play in the terminal, with hints of a model, or watch it
    Play(PlayArgs),
    /// Serve the app for the browser: play, analyse, look inside, train and judge
    Serve(ServeArgs),
    /// Convert a weight file of one program to the format of another
    Convert(ConvertArgs),
    /// Pack the network of a run into a small file, and say what that costs
    Pack(PackArgs),
    /// Solve a small board exactly: the optimal score, and the probability of a tile
    Solve(SolveArgs),
    /// Verify that recorded games follow the rules
    Judge(JudgeArgs),
    /// Verify the checksums and the structure of a file, or of all files of a run
    Check(CheckArgs),
    /// Play the environment's side against another program, and seal the records
    Referee(RefereeArgs),
    /// Play all players of a folder against the referee, with the same spawns, in one table
    Tournament(TournamentArgs),
    /// Plot the learning curves of one or more runs, as PNG and SVG
    Plot(PlotArgs),
    /// Train several variants of a recipe with several seeds each, and compare them
    Sweep(SweepArgs),
    /// List runs with their status, newest first
    Runs(RunsArgs),
    /// List the built-in recipes, each with its purpose, result and training time
    Recipes(RecipesArgs),
    /// List the tuples of a set, show them on their board, and draw them
    Tuples(TuplesArgs),
    /// Measure the speed of the main networks, with one thread and with all
    Bench(BenchArgs),
    /// Print a completion script for a shell
    Completions(CompletionsArgs),
    /// Print the man page of the program, or of one command
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
  afterstate train --resume runs/quick                     resume after Ctrl-C or a crash
  afterstate train --resume runs/quick --episodes 60000    train longer
  afterstate train --resume runs/td-4x6 --set learning_rate=0.01 --episodes 120000
  afterstate train td-4x6 --from runs/quick                start with the weights of another model

For each block of games, train prints the games so far, their mean and highest score and the moves per second (ops), then for each tile the share of games that reached it and, in brackets, that ended with it as their largest. Ctrl-C saves a checkpoint and prints the command that resumes the run.")]
pub struct TrainArgs {
    /// A built-in recipe (see `afterstate recipes`) or a .toml file
    #[arg(default_value = "quick", conflicts_with = "resume")]
    pub recipe: String,
    /// Resume the run in this folder from its last checkpoint
    #[arg(long, value_name = "DIR", conflicts_with_all = ["game", "board", "seed", "out"])]
    pub resume: Option<PathBuf>,
    /// Start with the weights of this model file, run folder, or weight file of TDL2048+ or TDL2048-Demo, which must
    /// have the network of the recipe
    #[arg(long, value_name = "MODEL", conflicts_with = "resume")]
    pub from: Option<PathBuf>,
    /// The game to train on
    #[arg(long)]
    pub game: Option<String>,
    /// The rows and columns of the board, each from 2 to 5
    #[arg(long, value_name = "RxC")]
    pub board: Option<String>,
    /// The number of games to train for
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = count_from_one)]
    pub episodes: Option<u64>,
    /// The number of threads; 0 means one for each core
    #[arg(long, value_name = "T", allow_negative_numbers = true, value_parser = threads)]
    pub threads: Option<usize>,
    /// The random seed: with one thread, the same seed gives the same model
    #[arg(long, value_name = "S", allow_negative_numbers = true, value_parser = count)]
    pub seed: Option<u64>,
    /// The run folder to create [default: runs/ followed by the name of the recipe]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Override a key of the recipe; may be given several times. With --resume only the keys that
    /// do not affect the games already played: `learning_rate`, which then holds from there on,
    /// `episodes`, `threads`, `restart_length`, `restart_from`, `max_iterations`, `max_updates`,
    /// `log_iterations`, `block_games`, `checkpoint_seconds`, `tensorboard`
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Print each event as one line of JSON, and nothing else
    #[arg(long)]
    pub json: bool,
}

/// `afterstate check`
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  afterstate check runs/quick               all files of a run
  afterstate check model.safetensors
  afterstate check runs/quick/model.safetensors --json

Models, checkpoints and solutions have checksums, which are verified whenever they are read. A file without them (of an earlier version, or of another program) is verified by its structure, and a note says so. The exit status is 0 if no file has a fault, 1 if one has, and 2 if there is nothing to verify.")]
pub struct CheckArgs {
    /// A model, checkpoint, solution, weight file, recipe, file of sealed records, or run folder
    pub path: PathBuf,
    /// Print one JSON document and nothing else
    #[arg(long)]
    pub json: bool,
}

/// `afterstate judge`
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  afterstate judge games.txt                                the records of an evaluation
  afterstate judge games.txt --games 1000                   exactly 1,000 games are required
  afterstate judge threes.txt --game threes --min-speed 1000
  afterstate judge games.txt --model runs/quick             luck by the values of a model
  zcat games.gz | afterstate judge - --json

Every slide, reward and new tile is checked against the rules. Every game must be over, and none may occur twice, also not as a mirror image. New tiles are tested against chance: the frequencies of tiles and cells, cells given the tiles beside them, cells and tiles given earlier ones, and the luck of the player, which is too large if tiles were chosen for it. All tests together fail fair games about once in a million files. Times must not decrease, lie in the future or be missing. A seal beside the records (RECORDS.seal.json, written by `afterstate referee`) is verified as well: its commitment, that every new tile is the one that the secret gives, and that all games of the match are there.

Points are printed only for records that pass: the percentage of games that reach the goal tile, and a point for the goal and each larger tile; courses of other years count differently. Records without a seal do not show which games were left out, who played them, or whether a program played them at all. The exit status is 0 if the records pass, 1 if they fail, and 2 if they cannot be read.")]
pub struct JudgeArgs {
    /// A file of records, one line each; - for standard input
    pub records: PathBuf,
    /// The game that was played [default: that of the seal, or the one whose rules the records follow]
    #[arg(long)]
    pub game: Option<String>,
    /// The rows and columns of the board [default: those of the seal, or 4x4, or those that fit]
    #[arg(long, value_name = "RxC")]
    pub board: Option<String>,
    /// The required number of games
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = games)]
    pub games: Option<u64>,
    /// The measure of luck: the values of this model or exact solution [default: a simple value
    /// function]
    #[arg(long)]
    pub model: Option<PathBuf>,
    /// The seal of the records [default: RECORDS.seal.json, if it exists]
    #[arg(long, value_name = "FILE")]
    pub seal: Option<PathBuf>,
    /// The minimum speed in moves per second, by the times in the records
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = moves_a_second)]
    pub min_speed: Option<f64>,
    /// Print one JSON document and nothing else
    #[arg(long)]
    pub json: bool,
}

/// `afterstate convert`
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  afterstate convert 4x6.w model.safetensors            from TDL2048+; `eval 4x6.w` works as well
  afterstate convert runs/quick quick.w                 to TDL2048+
  afterstate convert runs/quick/checkpoint.safetensors tc.w    with the sums of TC, to continue training there
  afterstate convert 2048.bin model.safetensors         from TDL2048-Demo
  afterstate convert weights.bin model.safetensors --patterns \"012345 456789 012456 45689a\"
  afterstate convert runs/quick weights.bin --weights-only
  afterstate convert weights.bin threes.safetensors --patterns 8x4 --no-symmetry --game threes

The input format is detected from its content, the output format from the file name: .safetensors (Afterstate), .w (TDL2048+), 2048.bin (TDL2048-Demo), weights.bin (2048-Framework); for any other name give --to. A model that was converted from another program is converted back byte for byte. Tables of 15^n weights become 16^n; --base 15 writes them again. Content that the output format cannot store is an error.")]
pub struct ConvertArgs {
    /// A weight file of any supported program, or a run folder
    #[arg(value_name = "IN")]
    pub from: PathBuf,
    /// The file to write; an existing file is replaced atomically
    #[arg(value_name = "OUT")]
    pub to: PathBuf,
    /// The output format, if the name of OUT does not determine it
    #[arg(long = "to", value_name = "KIND")]
    pub kind: Option<WeightFormatArg>,
    /// The patterns of the tables of IN, in order, or the name of a set such as 4x6
    #[arg(long, value_name = "PATTERNS")]
    pub patterns: Option<String>,
    /// Where the further stages of IN begin, which a file of TDL2048+ does not say: tiles, or sums
    /// of different ones, such as 16384,32768
    #[arg(long, value_name = "TILES", value_delimiter = ',', allow_negative_numbers = true, value_parser = tile)]
    pub stages: Option<Vec<u64>>,
    /// The game of a weights.bin, which the file does not name [default: 2048]
    #[arg(long)]
    pub game: Option<String>,
    /// Each table is looked up once, not for all eight symmetries of a board
    #[arg(long)]
    pub no_symmetry: bool,
    /// Tiles that an index of a new weights.bin tells apart: 15 for tables of 15^n weights, as
    /// players of Threes! have them; such an input is detected by its size [default: 16]
    #[arg(long, value_name = "TILES", allow_negative_numbers = true, value_parser = base)]
    pub base: Option<u64>,
    /// Leave out the sums of TC, which only training needs
    #[arg(long)]
    pub weights_only: bool,
    /// Overwrite OUT even if it is not a weight file
    #[arg(long)]
    pub force: bool,
    /// Print one JSON document and nothing else
    #[arg(long)]
    pub json: bool,
}

/// The format to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum WeightFormatArg {
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
  afterstate solve --board 2x3 --out 2x3.solution      save every value, for `analyze`
  afterstate solve --board 2x2 --min-avg-max           also with the worst and the best spawns
  afterstate solve --board 3x4 --target 16             a large board, but a small tile

Positions are those in which the player is to move or the game is over. With --target, the whole game is solved if it certainly fits into memory; otherwise the game ends when the target is reached, and the report says so. A 3x3 board takes a minute or two and 1.5 GiB. A board that does not fit into memory is refused. Ctrl-C stops without writing a file.")]
pub struct SolveArgs {
    /// The game to solve
    #[arg(long, default_value = DEFAULT_GAME)]
    pub game: String,
    /// The rows and columns of the board, each from 2 to 5, at most 16 cells
    #[arg(long, value_name = "RxC")]
    pub board: String,
    /// Compute the probability of reaching this tile with the best play for it
    #[arg(long, value_name = "TILE", allow_negative_numbers = true, value_parser = tile)]
    pub target: Option<u64>,
    /// The discount factor for each move, from 0 to 1
    #[arg(
        long,
        value_name = "D",
        default_value = "1",
        allow_negative_numbers = true,
        value_parser = probability
    )]
    pub discount: f64,
    /// Also compute the score, and the probability of the target, if the worst new tile always
    /// spawns, and if the best one does
    #[arg(long)]
    pub min_avg_max: bool,
    /// Save the value of every position to this file
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// The number of threads; 0 means one for each core. The values do not depend on it
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
  afterstate plot scores.txt --every 2000 --out scores.png    every 2,000th game of a file of scores
  afterstate plot scores.txt --mean 1000 --y 0..200000    means of 1,000 games, with a y axis of your own

Runs measured by `eval --against --keep` are also drawn in a plot of the optimality gap. A note names the runs that are not in it.")]
pub struct PlotArgs {
    /// Run folders; or text files with a line `episode : N, score : S` for each game, of any program
    #[arg(required = true, value_name = "RUN|SCORES")]
    pub runs: Vec<PathBuf>,
    /// The folder for the plots [default: plots/ in the run folder, or plots/]. For scores it may also be a file
    /// whose name ends in .png or .svg
    #[arg(long, value_name = "DIR|FILE")]
    pub out: Option<PathBuf>,
    /// With scores: a dot for every K-th game; up to 200 dots are joined by a line, unless --mean is given, too
    #[arg(long, value_name = "K", allow_negative_numbers = true, value_parser = games)]
    pub every: Option<u64>,
    /// With scores: a line through the means of K games each
    #[arg(long, value_name = "K", allow_negative_numbers = true, value_parser = games)]
    pub mean: Option<u64>,
    /// With scores: the ends of the x axis, in episodes
    #[arg(long, value_name = "LOW..HIGH", value_parser = range)]
    pub x: Option<[f64; 2]>,
    /// With scores: the ends of the y axis, in points
    #[arg(long, value_name = "LOW..HIGH", value_parser = range)]
    pub y: Option<[f64; 2]>,
    /// Print one JSON document and nothing else
    #[arg(long)]
    pub json: bool,
}

/// `afterstate recipes`
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  afterstate recipes
  afterstate recipes quick > my-recipe.toml    a template for your own recipe")]
pub struct RecipesArgs {
    /// Print the file of this recipe instead of the list
    pub name: Option<String>,
    /// Print one JSON document and nothing else: the list, or all keys of the recipe NAME
    #[arg(long)]
    pub json: bool,
}

/// `afterstate runs`
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  afterstate runs
  afterstate runs runs/rates-3x3 --json      the runs of a sweep

The status is running (a process trains it), finished, stopped (resume it with `train --resume`), new (ended before its first checkpoint), diverged (a weight became NaN or infinite; resume it with a lower learning rate) or damaged. `started` is the time when the folder was created, `finished` the time when the model was saved, both in UTC (RFC 3339). The mean is the mean score of the last block of games.")]
pub struct RunsArgs {
    /// A folder that contains runs or sweeps, or a run folder [default: runs]
    #[arg(value_name = "DIR")]
    pub folder: Option<PathBuf>,
    /// Print one JSON document and nothing else
    #[arg(long)]
    pub json: bool,
}

/// `afterstate bench`
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  afterstate bench                                     the main networks, in half a minute
  afterstate bench --network 8x6 --network \"4x6 tc\"
  afterstate bench --search 2ply --search 3ply --hash 64
  afterstate bench --seconds 120 --warmup-games 20000 --json    as in the published results

A network may slow down as it learns, so each result states the number of training games before the measurement. Ctrl-C stops and prints the finished rows.")]
pub struct BenchArgs {
    /// The time for all rows together in seconds: half for training the networks, half for measuring
    #[arg(long, value_name = "S", allow_negative_numbers = true, default_value = "30", value_parser = seconds)]
    pub seconds: Duration,
    /// Train each network for exactly N games before it is measured, regardless of --seconds. The
    /// published results use 20000, which takes much longer than the default time
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = games)]
    pub warmup_games: Option<u64>,
    /// Measure this row, or all rows of a network; may be given several times. The rows are
    /// 4x6 play, 4x6 td, 4x6 tc, 8x6 td, state-6 (the default), 5x6 td, 6x6 td, 8x4 td
    #[arg(long, value_name = "NAME")]
    pub network: Vec<String>,
    /// Measure this search over the values of 4x6 instead; may be given several times
    #[arg(long, value_name = "SEARCH", conflicts_with = "network", value_parser = limit)]
    pub search: Vec<SearchLimit>,
    /// The size of the table of searched positions in MiB [default: 64]
    #[arg(long, value_name = "MIB", allow_negative_numbers = true, requires = "search", value_parser = table_mebibytes)]
    pub hash: Option<u64>,
    /// The number of threads that "all" means [default: 0, one for each core]
    #[arg(long, value_name = "T", allow_negative_numbers = true, value_parser = threads)]
    pub threads: Option<usize>,
    /// Print one JSON document and nothing else
    #[arg(long)]
    pub json: bool,
}

/// `afterstate completions`
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  afterstate completions bash > afterstate.bash     source it, for example in ~/.bashrc
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
    /// The command to describe [default: the program]
    pub command: Option<String>,
}

/// `afterstate tuples`
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  afterstate tuples 4x6
  afterstate tuples 4x6 --out 4x6.svg
  afterstate tuples state-22 --out state-22.svg
  afterstate tuples 012345 0145 1256 --out mine.png --theme dark
  afterstate tuples lines --board 3x3 --json

Named sets are 4x6, 5x6, 6x6, 8x6 and 8x4, all for 4x4 boards, and `lines`: all rows and columns of any board. A pattern names cells by rows: 0-9, then a-f (on to o on 5x5).")]
pub struct TuplesArgs {
    /// A named set, patterns, or the name of a recipe
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
