//! The errors of this crate: each says what was found and what was expected. What to do about it is
//! its [`Remedy`], which every user interface words in its own terms.

mod board;
mod convert;
mod file_kind;
mod foreign;
mod part;
mod record;
mod remedy;
mod scores;
mod seal;
mod solve;
mod sweep;

use std::io;
use std::path::{Path, PathBuf};

use afterstate::environment::StepError;
use afterstate::format::native::NativeError;
use afterstate::format::scan::ScanError;
use afterstate::game::Shape;
use afterstate::ntuple::TupleSetError;
use thiserror::Error;

use crate::numbers::bytes;
use crate::plot::PlotError;
use crate::recipe::RecipeError;

pub use board::{BoardError, BoardFault};
pub use convert::{ConvertError, Kind};
pub use file_kind::FileKind;
pub use foreign::Unplayable;
pub use part::{PartError, PartMismatch};
pub use record::RecordError;
pub use remedy::{ErrorClass, Remedy};
pub use scores::ScoresError;
pub use seal::SealError;
pub use solve::{FileError, SolveError};
pub use sweep::SweepError;

/// Any error of this crate.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LabError {
    /// An invalid recipe.
    #[error(transparent)]
    Recipe(#[from] RecipeError),
    /// Parts that cannot be merged.
    #[error(transparent)]
    Part(#[from] PartError),
    /// A step of environments that was refused.
    #[error(transparent)]
    Step(#[from] StepError),
    /// Tuples that do not fit the board.
    #[error(transparent)]
    Tuples(#[from] TupleSetError),
    /// A stage that begins at no tiles of the game.
    #[error(
        "a stage of {game} cannot begin at {found}: expected the value of a tile, or the sum of \
         different ones, up to the {largest}-tile, which is the largest that tables tell apart"
    )]
    Stages {
        /// The number.
        found: u64,
        /// The game and its board.
        game: String,
        /// The largest tile.
        largest: u64,
    },
    /// An unknown game.
    #[error("unknown game `{found}`; the games are {}", known.join(", "))]
    UnknownGame {
        /// As written.
        found: String,
        /// All games.
        known: Vec<&'static str>,
    },
    /// A text that does not say how to search.
    #[error(
        "`{found}` does not say how to search; {advice}expected plies such as `3ply`, a time for each move \
         such as `100ms`, or plies by the number of empty cells, fewest first, such as \
         `empty:4=5ply,8=4ply,3ply`"
    )]
    Search {
        /// As written.
        found: String,
        /// What was probably meant, with a semicolon behind it; empty if that is not known.
        advice: String,
    },
    /// A transposition table that needs more memory than is free.
    #[error(
        "a table of searched positions of {} was requested, and {} are free; use a smaller one",
        bytes(*needed), bytes(*available)
    )]
    TableMemory {
        /// Its bytes.
        needed: u64,
        /// Bytes free.
        available: u64,
    },
    /// A player without values.
    #[error("{0} has no values of moves, so there is nothing to search")]
    NoSearch(String),
    /// A folder where a file of records is expected.
    #[error("{} is a {}; expected a file of records", path.display(), if *is_run { "run" } else { "folder" })]
    RecordsFolder {
        /// The folder.
        path: PathBuf,
        /// Whether it has a run.
        is_run: bool,
    },
    /// A file without a single record.
    #[error("{} has no records: it is empty", .0.display())]
    NoRecords(PathBuf),
    /// Records of which none can be reviewed.
    #[error("no game of {} can be reviewed; line {line}: {reason}", path.display())]
    NothingToReview {
        /// The records.
        path: PathBuf,
        /// The first line that cannot be.
        line: u64,
        /// Why not.
        reason: String,
    },
    /// A record whose positions cannot be collected.
    #[error("{}, line {line}: {reason}", path.display())]
    NoPositions {
        /// The records.
        path: PathBuf,
        /// The line.
        line: u64,
        /// Why not.
        reason: String,
    },
    /// A model of another game than the records.
    #[error("{model} plays {game}, but {} has records of {judged}", records.display())]
    OtherGame {
        /// The model.
        model: String,
        /// Its game and board.
        game: String,
        /// The records.
        records: PathBuf,
        /// Their game and board.
        judged: String,
    },
    /// A file that does not hold records is not overwritten.
    #[error("{} already exists and is not a file of records", .0.display())]
    NotRecords(PathBuf),
    /// A file that is not a seal is not overwritten.
    #[error("{} already exists and is not the seal of a match", .0.display())]
    NotSeal(PathBuf),
    /// Records of a match are not overwritten by others, which would not agree with their seal.
    #[error("{} has the sealed records of a match", .0.display())]
    Sealed(PathBuf),
    /// Records that another match writes.
    #[error("another match is writing {}; wait until it ends", .0.display())]
    RecordsInUse(PathBuf),
    /// A file that is not a valid seal.
    #[error("{} is not a usable seal: {source}", path.display())]
    Seal {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: SealError,
    },
    /// The system has no random numbers.
    #[error("the operating system gives no random numbers: {0}")]
    NoRandomness(String),
    /// A player that cannot be started.
    #[error("cannot start the player `{program}`: {source}")]
    Player {
        /// The program.
        program: String,
        /// The system's reason.
        source: io::Error,
    },
    /// A folder in which no player was found.
    #[error(
        "{} has no players: expected executable files, .py files, folders with an executable `player` \
         or a `player.py`, or models",
        .0.display()
    )]
    NoPlayers(PathBuf),
    /// Results of a tournament are not mixed with other files, nor read by its players.
    #[error("{} is inside the folder of the players", .0.display())]
    ResultsAmongPlayers(PathBuf),
    /// A port at which players cannot connect.
    #[error("cannot listen for players at 127.0.0.1:{port}: {source}")]
    Port {
        /// Its number.
        port: u16,
        /// The system's reason.
        source: io::Error,
    },
    /// Tables by hint in a game without hints.
    #[error("{0} does not show its next tile: `network.hint` must be false")]
    NoHint(String),
    /// Values of states in a game where the mean over spawns would take too long.
    #[error(
        "{0} does not support state values: its new tiles depend on more than the empty cells, or it \
         has too many kinds of tiles; set `learner.value` to \"afterstate\""
    )]
    NoStates(String),
    /// Action values from an n-tuple network.
    #[error(
        "only deep networks have action values; expected \"afterstate\" or \"state\" for n-tuple networks"
    )]
    NoActions,
    /// A deep network in a program without deep learning.
    #[error("this program was built without deep learning, which takes minutes to build")]
    NoDeep,
    /// A deep network that is too large to train.
    #[error(
        "training this network needs {} of memory, and {} are free; use fewer filters or narrower layers",
        bytes(*needed), bytes(*available)
    )]
    DeepMemory {
        /// Bytes of all copies of it.
        needed: u64,
        /// Bytes free.
        available: u64,
    },
    /// An option of a lesson that is refused.
    #[error("{0}")]
    Lesson(String),
    /// Layers that do not fit together.
    #[error("this network cannot be built: {0}")]
    Layers(String),
    /// A network that `bench` does not measure.
    #[error("unknown network `{found}`; the networks are {}", known.join(", "))]
    UnknownNetwork {
        /// As written.
        found: String,
        /// All rows of `bench`.
        known: Vec<&'static str>,
    },
    /// A replay buffer that needs more memory than is free.
    #[error(
        "a replay buffer of {transitions} transitions needs {} of memory, and {} are free; use a smaller \
         `learner.buffer_size`",
        bytes(*needed), bytes(*available)
    )]
    BufferMemory {
        /// Its transitions.
        transitions: usize,
        /// Bytes of them, and of their copies while a checkpoint is written.
        needed: u64,
        /// Bytes free.
        available: u64,
    },
    /// Tables that need more memory than is free.
    #[error(
        "the tables need {needed} of memory, and {available} are free; free some, or train a network with \
         shorter tuples or fewer of them (each cell of a tuple multiplies its table by 16, or by 32 in games with many tiles)",
        needed = bytes(*needed), available = bytes(*available)
    )]
    Memory {
        /// Bytes of all tables.
        needed: u64,
        /// Bytes free.
        available: u64,
    },
    /// The system refused the memory.
    #[error("the system refused {} of memory: {source}", bytes(*needed))]
    Refused {
        /// Bytes requested.
        needed: u64,
        /// Its reason.
        source: io::Error,
    },
    /// Reading or writing failed.
    #[error("cannot {action} {}: {source}", path.display())]
    File {
        /// "read", "write", ...
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// A file that is not a valid model.
    #[error("{} is not a usable model: {source}", path.display())]
    Model {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: NativeError,
    },
    /// A file that the original program would not read.
    #[error("{} is not a usable weight file of {program}: {source}", path.display())]
    Weights {
        /// The file.
        path: PathBuf,
        /// The program it should belong to.
        program: &'static str,
        /// What is wrong with it.
        source: ScanError,
    },
    /// Weights that cannot be used to play.
    #[error("{} cannot be used as a model: {source}", path.display())]
    Unplayable {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: Unplayable,
    },
    /// A file that cannot be packed.
    #[error(
        "{} cannot be packed: {reason}; expected a checkpoint of a run whose `learner.rule` is \
         \"tc\", because TC's sums say which weights matter", path.display()
    )]
    CannotPack {
        /// The file.
        path: PathBuf,
        /// Why not.
        reason: &'static str,
    },
    /// A name of a network in the program that there is not.
    #[error("there is no {} in the program; there are: {known}", name.display())]
    NoBox {
        /// The name.
        name: PathBuf,
        /// The names of those that there are.
        known: String,
    },
    /// A limit that no packed file keeps.
    #[error(
        "no packed file of at most {limit} bytes was found: the smallest that was tried has \
         {smallest}; allow a larger file"
    )]
    PackLimit {
        /// The bytes allowed.
        limit: u64,
        /// Those of the smallest file.
        smallest: u64,
    },
    /// Packing was cancelled.
    #[error("packing was cancelled: no file was written")]
    PackStopped,
    /// A file that is not a packed model is not overwritten.
    #[error("{} already exists and is not a packed model", .0.display())]
    NotPacked(PathBuf),
    /// A packed model where a run is to be resumed.
    #[error(
        "{} is a packed model, which cannot be resumed: it has no sums of TC and only some of the \
         weights. Resume the run that it was packed from, or start a new run with its weights",
        .0.display()
    )]
    PackedResume(PathBuf),
    /// A file that cannot be converted.
    #[error(transparent)]
    Convert(#[from] ConvertError),
    /// A game that cannot be solved, or a failed query of its solution.
    #[error(transparent)]
    Solve(#[from] SolveError),
    /// A file that is not a valid solution.
    #[error("{} is not a usable solution: {source}", path.display())]
    Solution {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: FileError,
    },
    /// One of our files, but of another kind.
    #[error("{} is not a usable {wanted}: it is a {found}; expected {expected}", path.display())]
    Kind {
        /// The file.
        path: PathBuf,
        /// The kind that was expected.
        wanted: FileKind,
        /// What it is.
        found: FileKind,
        /// What is accepted.
        expected: &'static str,
    },
    /// An invalid value in a file's metadata.
    #[error("{}: its metadata says `{key}` = `{found}`; expected {expected}", path.display())]
    Metadata {
        /// The file.
        path: PathBuf,
        /// The key.
        key: &'static str,
        /// Its value.
        found: String,
        /// What is accepted.
        expected: String,
    },
    /// A folder for a new run that has other files.
    #[error("{} has other files, such as {found}; a run needs a folder of its own", folder.display())]
    NotEmpty {
        /// The folder.
        folder: PathBuf,
        /// One of them.
        found: String,
    },
    /// A folder without a file that every run has.
    #[error("{} is not a run folder: it has no {missing}", folder.display())]
    NoRun {
        /// The folder.
        folder: PathBuf,
        /// The file.
        missing: &'static str,
    },
    /// No run of this game and board, where one was to be chosen.
    #[error("there is no model of {}", game_on(game, *shape))]
    NoModel {
        /// The game.
        game: String,
        /// The board.
        shape: Shape,
    },
    /// A folder that already has a run.
    #[error("{} already contains a run", .0.display())]
    RunExists(PathBuf),
    /// A run that another process uses.
    #[error("{} is in use by another process; wait until it ends, or choose another folder", .0.display())]
    Locked(PathBuf),
    /// A file of an unknown kind.
    #[error(
        "{} is not a model, a checkpoint, a solution, a weight file, records with a seal or a recipe",
        .0.display()
    )]
    NothingToCheck(PathBuf),
    /// A damaged file of a run, which may be what the run saved last.
    #[error(
        "{}: {source}; it may be what the run saved last{}", path.display(),
        other.as_ref().map_or_else(String::new, |other| format!(
            ". To go on with {} all the same, name that file instead of the folder",
            other.display()
        ))
    )]
    DamagedSave {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: Box<NativeError>,
        /// The other file of the run, if there is one.
        other: Option<PathBuf>,
    },
    /// A file of a run that contradicts the others.
    #[error("{}: {found}", path.display())]
    Inconsistent {
        /// The file.
        path: PathBuf,
        /// What was found.
        found: String,
    },
    /// A weight is no longer finite.
    #[error(
        "training diverged after {games} games: a weight became NaN or infinite. {}A new run with a smaller \
         learning rate (it was {learning_rate}) usually helps", if *kept { "The last good checkpoint is intact. " } else { "" }
    )]
    Diverged {
        /// Games played so far.
        games: u64,
        /// The learning rate.
        learning_rate: f32,
        /// Whether there is an earlier checkpoint.
        kept: bool,
    },
    /// An impossible board.
    #[error("{0}")]
    Board(String),
    /// A text that is not a board.
    #[error(transparent)]
    BoardText(#[from] Box<BoardError>),
    /// Models that cannot be compared.
    #[error(
        "{a} plays {game_a} and {b} plays {game_b}; only models of the same game and board can be compared"
    )]
    DifferentGames {
        /// The first model.
        a: String,
        /// Its game and board.
        game_a: String,
        /// The second model.
        b: String,
        /// Its game and board.
        game_b: String,
    },
    /// A sweep that cannot be run or resumed.
    #[error(transparent)]
    Sweep(#[from] SweepError),
    /// Rewards of spawns that are to be left out, in a game without them.
    #[error(
        "`learner.spawn_rewards` is false, but new tiles of {0} bring no points; expected true, or a game of Threes!"
    )]
    NoSpawnRewards(String),
    /// A model of another network than the recipe's.
    #[error(
        "{} cannot be trained by this recipe: `{what}` of its network is {found}; expected {expected}",
        path.display()
    )]
    OtherNetwork {
        /// The file.
        path: PathBuf,
        /// The property in which they differ.
        what: &'static str,
        /// That of the file.
        found: String,
        /// That of the recipe.
        expected: String,
    },
    /// A file that is not a list of scores.
    #[error("{} is not a list of scores", path.display())]
    Scores {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: ScoresError,
    },
    /// A recorded game that cannot be opened, or a file to which no games can be added.
    #[error("{}: {source}", path.display())]
    Record {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: Box<RecordError>,
    },
    /// A run that is saved, but whose plots could not be drawn.
    #[error(
        "{saved}, but its plots could not be drawn: {source}; resuming the run draws them again"
    )]
    Unplotted {
        /// What is saved.
        saved: String,
        /// What is wrong with the plots.
        source: Box<LabError>,
    },
    /// A plot that could not be drawn.
    #[error(transparent)]
    Plot(#[from] PlotError),
}

impl LabError {
    /// For `map_err` after an operation on a file.
    pub(crate) fn file(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::File {
            action,
            path,
            source,
        }
    }

    /// For `map_err` after reading or writing a model.
    pub(crate) fn model(action: &'static str, path: &Path) -> impl FnOnce(NativeError) -> Self {
        let path = path.to_owned();
        move |source| match source {
            NativeError::Io(source) => Self::File {
                action,
                path,
                source,
            },
            source => Self::Model { path, source },
        }
    }

    /// An error of reading a solution.
    pub(crate) fn solution(path: &Path, source: NativeError) -> Self {
        match source {
            NativeError::Io(source) => Self::file("read", path)(source),
            source => Self::Solution {
                path: path.to_owned(),
                source: source.into(),
            },
        }
    }
}

/// A game on a board, as in messages: `2048 on 4x4`.
pub fn game_on(game: &str, shape: Shape) -> String {
    format!("{game} on {shape}")
}
