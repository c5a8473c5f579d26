//! The arguments of `afterstate play`.

use std::path::PathBuf;

use afterstate_lab::session::SpawnChoice;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

use super::SearchArgs;
use super::numbers::{count, count_from_one};

/// `afterstate play`
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  afterstate play                                    2048, with hints of the network in the program
  afterstate play runs/quick --watch --search 3ply   watch it
  afterstate play --game threes-hint                 Threes! with the next tile shown
  afterstate play --board 5x5 --save games.txt       every move is saved
  afterstate play --open games.txt --save games.txt  go on with the last game
  afterstate play --open games.txt --number 1        look at the first game: u and r step
  afterstate play --spawns manual                    follow a game on another device

Keys: arrows, WASD or HJKL slide; space plays the best move; i hint; v values of all moves; u undo; r redo; p autoplay; + and - speed; , and . depth; m spawns by chance or by hand; n new game; e save; ? help; q quit. See docs/play.md.

After each move a line says how good it was: best, excellent, good, inaccuracy, mistake or blunder, by the share of the value of the best move that it keeps. Without a model the game can be played by hand. The window needs 60 columns and 20 lines.")]
pub struct PlayArgs {
    /// A model file, a run folder, an exact solution, `random` or `greedy` [default: the network
    /// in the program, where it has one for the game and board, or else the newest run]
    pub model: Option<PathBuf>,
    /// The game [default: that of MODEL or of the opened record, or 2048]
    #[arg(long)]
    pub game: Option<String>,
    /// The rows and columns of the board, each from 2 to 5 [default: those of MODEL or of the opened
    /// record, or 4x4]
    #[arg(long, value_name = "RxC")]
    pub board: Option<String>,
    #[command(flatten)]
    pub search: SearchArgs,
    /// The seed of the new tiles: the games are those of `eval` with this seed [default: another one
    /// each time]
    #[arg(long, value_name = "S", allow_negative_numbers = true, value_parser = count)]
    pub seed: Option<u64>,
    /// Begin with autoplay: the model plays
    #[arg(long)]
    pub watch: bool,
    /// Where new tiles come from
    #[arg(long, value_name = "FROM", default_value = "random", value_parser = spawns())]
    pub spawns: SpawnChoice,
    /// Add the games to this file of records, and save it while playing
    #[arg(long, value_name = "FILE")]
    pub save: Option<PathBuf>,
    /// Open a game of this file of records
    #[arg(long, value_name = "FILE")]
    pub open: Option<PathBuf>,
    /// The number of the game to open, from 1 [default: the last one]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = count_from_one, requires = "open")]
    pub number: Option<u64>,
    /// Use no colours; so does the environment variable NO_COLOR
    #[arg(long)]
    pub no_color: bool,
}

/// The choices of spawns in a terminal: an agent chooses none.
fn spawns() -> impl TypedValueParser<Value = SpawnChoice> {
    let random = PossibleValue::new("random").alias("chance");
    let choices = [
        random.help("From random numbers"),
        PossibleValue::new("manual").help("You enter them"),
    ];
    PossibleValuesParser::new(choices).map(|word| match &*word {
        "manual" => SpawnChoice::Manual,
        _ => SpawnChoice::Random,
    })
}
