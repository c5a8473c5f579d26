//! The arguments of `afterstate referee`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use afterstate_lab::games::DEFAULT_GAME;

use super::numbers::{known_port, match_games, mebibytes, milliseconds, threads};

/// `afterstate referee`
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  afterstate referee -- ./student                           1,000 games of 2048
  afterstate referee --games 100 --time 500 --records games.txt -- ./student
  afterstate referee --games 100 --jobs 1 --json -- ./student

Each turn the program reads a line with the board, such as `board 2 0 0 4 ...`, and answers with a line `up`, `right`, `down` or `left`; docs/referee.md has the protocol on one page, examples/referee/ has players in Python, C++ and Rust. New tiles come from a secret that nobody can guess. A commitment to it is printed before the first game, the secret itself is in the seal, OUT.seal.json, and `afterstate judge` verifies both. If you run the match, this proves to you that no game was invented, changed or left out. It does not prove who played, and nothing to others: the secret is in the seal, and other games can be written for it. The program is not confined: do not run one that you do not trust.

A game in which the player breaks a rule (an illegal move, no reply in time, wrong words, an exit) counts with its score so far, and the player is started again. The exit status is 0 if all games were played by the rules, 1 if not, and 2 if the program cannot be started.")]
pub struct RefereeArgs {
    /// The program of the player with its arguments, after `--`
    #[arg(last = true, value_name = "PROGRAM", required_unless_present = "tcp")]
    pub program: Vec<OsString>,
    #[command(flatten)]
    pub play: MatchArgs,
    /// Write a record of every game to this file, and the seal beside it. The records of an earlier
    /// match are not replaced
    #[arg(long, value_name = "OUT")]
    pub records: Option<PathBuf>,
    /// Wait for players that connect to this port of 127.0.0.1, instead of starting a program; then
    /// --jobs is 1 unless it is given
    #[arg(
        long,
        value_name = "PORT",
        conflicts_with = "program",
        allow_negative_numbers = true,
        value_parser = known_port
    )]
    pub tcp: Option<u16>,
}

/// What a match and a tournament have in common.
#[derive(Debug, clap::Args)]
pub struct MatchArgs {
    /// The number of games, of each player
    #[arg(
        long,
        value_name = "N",
        allow_negative_numbers = true,
        default_value = "1000",
        value_parser = match_games
    )]
    pub games: u64,
    /// The game to play
    #[arg(long, default_value = DEFAULT_GAME)]
    pub game: String,
    /// The rows and columns of the board, each from 2 to 5
    #[arg(long, value_name = "RxC", default_value = "4x4")]
    pub board: String,
    /// The limit of a move in milliseconds
    #[arg(
        long,
        value_name = "MS",
        allow_negative_numbers = true,
        default_value = "1000",
        value_parser = milliseconds
    )]
    pub time: Duration,
    /// The most memory of each running player in MiB; 0 means no limit. Only on Linux
    #[arg(
        long,
        value_name = "MIB",
        allow_negative_numbers = true,
        default_value = "4096",
        value_parser = mebibytes
    )]
    pub memory: u64,
    /// The copies of a player side by side; 0 means one for each core. Use 1 if players have several
    /// threads
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = threads)]
    pub jobs: Option<usize>,
    /// Print one JSON document and nothing else
    #[arg(long)]
    pub json: bool,
}
