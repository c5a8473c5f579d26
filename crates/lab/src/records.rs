//! Files of episode records: written during evaluation, and judged.
//!
//! `afterstate::format::episode` defines the format and `afterstate::judge` the checks; this module
//! handles files. Judging takes 56 to 112 bytes for each game, to find games that occur twice (and
//! half as much again while that table grows), and some megabytes for each thread, or twenty times
//! the longest line, which may have 8 MiB.

mod batch;
mod cancellable;
mod duplicates;
mod faults;
mod guess;
mod judging;
mod lines;
mod luck;
mod sealed;
mod times;
mod verdict;

use std::cell::Cell;
use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use afterstate::format::episode::EpisodeRecord;
use afterstate::game::Shape;
use afterstate::judge::SideTotals;
use afterstate::tally::Tally;
use serde::{Deserialize, Serialize};

use crate::LabError;
use crate::control::{Control, Job, Status, Task, Unit};
use crate::disk::{can_be_written, replace_with};
use crate::error::game_on;
use crate::games::{self, with_game};
use crate::recorder::{Sink, now};
use crate::run;
use crate::seal::Seal;
use crate::text::without_mark;
pub(crate) use batch::{Batch, Numbered};
pub(crate) use cancellable::Cancellable;
use faults::Faults;
pub use faults::{FaultKind, FaultReport};
pub(crate) use guess::{choose, closest as closest_game};
use judging::Judging;
pub(crate) use lines::{LONGEST as LONGEST_LINE, Lines};
pub use luck::LuckModel;
use sealed::SealCheck;
pub use sealed::SealReport;
use verdict::JudgeTotals;

/// Writes the episodes from `play` to a file, which is replaced atomically at the end. `play` can
/// check whether writing has failed, and stop.
///
/// # Errors
/// When the game is unknown, the file cannot be written, or it exists and holds something else.
pub fn write<T>(
    path: &Path,
    (game, shape): (&str, Shape),
    play: impl FnOnce(Sink<'_>, &(dyn Fn() -> bool + Sync)) -> T,
) -> Result<T, LabError> {
    let hints = games::rules(game)?.shows_hint(shape);
    check_place(path)?;
    let mut sealed = None;
    let written = replace_with(path, |file| {
        let done = write_lines(file, hints, play)?;
        // A match may have ended meanwhile.
        sealed = Seal::check_place(path).err();
        match sealed {
            None => Ok(done),
            Some(_) => Err(io::ErrorKind::AlreadyExists.into()),
        }
    });
    written.map_err(|error| sealed.unwrap_or_else(|| LabError::file("write", path)(error)))
}

/// Writes the episodes from `play` as lines.
pub(crate) fn write_lines<T>(
    file: impl Write + Send,
    hints: bool,
    play: impl FnOnce(Sink<'_>, &(dyn Fn() -> bool + Sync)) -> T,
) -> io::Result<T> {
    let out = Mutex::new((BufWriter::new(file), Ok(())));
    let failed = AtomicBool::new(false);
    let sink = |episode: &EpisodeRecord| {
        let mut out = out.lock().unwrap_or_else(PoisonError::into_inner);
        let (file, result) = &mut *out;
        if result.is_ok() {
            *result = writeln!(file, "{}", episode.line(hints));
            failed.store(result.is_err(), Ordering::Relaxed);
        }
    };
    let done = play(&sink, &|| failed.load(Ordering::Relaxed));
    let (mut file, result) = out.into_inner().unwrap_or_else(PoisonError::into_inner);
    result.and_then(|()| file.flush()).map(|()| done)
}

/// Checks that records may be written here: no other file is overwritten.
///
/// # Errors
/// When there is a file that is not one of records.
pub(crate) fn check_place(path: &Path) -> Result<(), LabError> {
    match can_be_written(path, is_records).map_err(LabError::file("write", path))? {
        true => Ok(()),
        false => Err(LabError::NotRecords(path.to_owned())),
    }
}

/// Whether a file may be overwritten by records: it holds some, or is empty.
fn is_records(path: &Path) -> bool {
    let mut begin = Vec::new();
    let read = File::open(path).and_then(|file| file.take(1 << 16).read_to_end(&mut begin));
    read.is_ok() && (begin.is_empty() || EpisodeRecord::is_begun(without_mark(&begin)))
}

/// The game and the board whose rules a record follows, those with the most probable spawns; `None`
/// if it follows none.
///
/// # Errors
/// When the rules of a game are missing in the registry.
pub fn game_of(record: &[u8]) -> Result<Option<(&'static str, Shape)>, LabError> {
    let (game, shape, fault) = closest_game(record)?;
    Ok(fault.is_none().then_some((game, shape)))
}

/// The options of a verification.
pub struct JudgeOptions<'a> {
    /// The file of records.
    pub path: &'a Path,
    /// The game, by one of the names of [`games::games`]; `None` to guess it from the records.
    pub game: Option<&'a str>,
    /// The board; `None` for 4x4, or the one that fits if the game is guessed.
    pub shape: Option<Shape>,
    /// The required number of games.
    pub games: Option<u64>,
    /// The required number of moves per second.
    pub min_speed: Option<f64>,
    /// The seal of the match, if there is one.
    pub seal: Option<&'a Seal>,
    /// By what luck is measured, in place of the built-in value function.
    pub model: Option<&'a LuckModel>,
    /// The time, in milliseconds since 1970.
    pub now: u64,
    /// Threads; 0 means one for each core.
    pub threads: usize,
    /// Events and cancellation.
    pub control: &'a Control,
}

impl<'a> JudgeOptions<'a> {
    /// A verification that requires nothing beyond the rules, and guesses the game.
    pub fn new(path: &'a Path, control: &'a Control) -> Self {
        Self {
            path,
            game: None,
            shape: None,
            games: None,
            min_speed: None,
            seal: None,
            model: None,
            now: now(),
            threads: 0,
            control,
        }
    }
}

/// The result of a verification; the JSON of `judge --json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JudgeReport {
    /// Whether everything was read and there is no fault.
    pub passed: bool,
    /// Whether it was cancelled before the end of the file.
    pub interrupted: bool,
    /// What failed, in words.
    pub failures: Vec<String>,
    /// The game.
    pub game: String,
    /// The board.
    pub board: String,
    /// Whether the game was guessed from the records.
    pub guessed: bool,
    /// Valid episodes.
    pub episodes: u64,
    /// The number of games that was asked for.
    pub games_required: Option<u64>,
    /// Valid episodes that end before the game is over.
    pub unfinished: u64,
    /// Valid episodes that are the same game as an earlier one or a mirror image of it, or begin
    /// like one.
    pub duplicates: u64,
    /// Their mean score.
    pub mean: f64,
    /// The highest score.
    pub max: u64,
    /// Moves per second by the start and end times; `None` if all times are equal.
    pub moves_per_second: Option<f64>,
    /// The speed that was asked for.
    pub min_speed: Option<f64>,
    /// Whether every action follows the rules and new tiles are those of chance, whatever the speed.
    pub actions_passed: bool,
    /// Whether it was fast enough; `None` if no speed was asked for.
    pub speed_passed: Option<bool>,
    /// The slides of the player.
    pub player: SideTotals,
    /// The new tiles of the environment.
    pub environment: SideTotals,
    /// Points: the percentage of games that reach the goal tile, and one for each further tile from
    /// the goal on; `None` for games without a goal.
    pub assessment: Option<f64>,
    /// What the points cannot be compared with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assessment_note: Option<String>,
    /// Whether there is the seal of a referee, and everything agrees with it.
    #[serde(default)]
    pub sealed: bool,
    /// What the seal says.
    #[serde(default)]
    pub seal: Option<SealReport>,
    /// Tests of the spawns.
    pub tests: Vec<NamedTest>,
    /// The model by which luck was measured; `None` for the built-in value function.
    pub luck_model: Option<String>,
    /// The number of faults.
    pub fault_count: u64,
    /// The first faults.
    pub faults: Vec<FaultReport>,
    /// What is odd, but no fault.
    pub notes: Vec<String>,
    /// What the judge cannot see.
    pub limits: String,
    /// The statistics of all games.
    pub tally: Tally,
}

/// A test of spawns.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NamedTest {
    /// What was tested.
    pub name: String,
    /// The probability that fair draws deviate at least as far, or a bound of it.
    pub p: f64,
    /// Whether that is credible.
    pub passed: bool,
    /// The number of draws.
    pub draws: u64,
    /// The test statistic of frequencies.
    pub chi_squared: Option<f64>,
    /// Its degrees of freedom.
    pub freedom: Option<usize>,
    /// The test statistic of a sum, in standard deviations.
    pub z: Option<f64>,
}

/// Fair draws have a smaller p-value in one of a million files with many games, and in up to seven
/// of a million with few.
pub const LEAST_P: f64 = 1e-6;

/// Judges a file of records.
///
/// # Errors
/// When the game is unknown, or the file cannot be read or has no records. Faults in records are
/// not errors.
pub fn judge(options: &JudgeOptions<'_>) -> Result<JudgeReport, LabError> {
    let (path, control) = (options.path, options.control);
    let (length, open) = opener(path, control);
    judge_opened(options, length, open)
}

/// Refuses a folder in place of a file of records.
pub(crate) fn check_file(path: &Path) -> Result<(), LabError> {
    match path.is_dir() {
        true => Err(LabError::RecordsFolder {
            path: path.to_owned(),
            is_run: run::exists(path),
        }),
        false => Ok(()),
    }
}

/// The length of a file, if it is known, and a function that opens it. A pipe can be cancelled while
/// it waits.
pub(crate) fn opener(
    path: &Path,
    control: &Control,
) -> (
    Option<u64>,
    impl FnOnce() -> Result<Box<dyn Read>, LabError>,
) {
    let length = fs::metadata(path).ok().filter(|about| about.is_file());
    let length = length.map(|about| about.len());
    let open = move || -> Result<Box<dyn Read>, LabError> {
        check_file(path)?;
        if length.is_some() {
            let file = File::open(path).map_err(LabError::file("read", path))?;
            return Ok(Box::new(file));
        }
        let path = path.to_owned();
        Ok(Box::new(Cancellable::new(
            move || File::open(path),
            control,
        )))
    };
    (length, open)
}

/// Judges the records of a stream, which may wait for more: another thread reads it, so that the
/// judgement can be cancelled. The path of the options names it in errors.
///
/// # Errors
/// When the game is unknown, or the stream cannot be read or has no records.
pub fn judge_stream(
    options: &JudgeOptions<'_>,
    stream: impl Read + Send + 'static,
) -> Result<JudgeReport, LabError> {
    judge_opened(options, None, || {
        let stream = Cancellable::new(move || Ok(stream), options.control);
        Ok(Box::new(stream))
    })
}

/// Judges records of `length` bytes, if that is known.
fn judge_opened(
    options: &JudgeOptions<'_>,
    length: Option<u64>,
    open: impl FnOnce() -> Result<Box<dyn Read>, LabError>,
) -> Result<JudgeReport, LabError> {
    let job = Job {
        task: Task::Judge,
        subject: options.path.display().to_string(),
        total: length,
        unit: Unit::Bytes,
    };
    let read = Cell::new(0);
    options.control.run(
        job,
        || {
            let mut lines = Lines::new(options.path, open()?);
            let first = Batch::read(&mut lines, &|| options.control.is_cancelled())?;
            let choice = choose(options, &first)?;
            if let Some(mismatch) = &choice.mismatch {
                read.set(lines.bytes);
                let mut faults = Faults::default();
                faults.of_all(FaultKind::Game, mismatch.clone());
                SealCheck::begin(options, &choice, &mut faults);
                let nothing = JudgeTotals::default();
                return Ok(verdict::report(options, &choice, &nothing, faults, false));
            }
            if let Some(model) = options.model {
                model.check(options.path, game_on(&choice.game, choice.shape))?;
            }
            let judging = Judging {
                options,
                choice: &choice,
                length: length.unwrap_or(0),
                first,
                lines,
                read: &read,
            };
            with_game(&choice.game, choice.shape, judging)?
        },
        |done| {
            let report = done.as_ref().ok()?;
            Some((Status::of(!report.interrupted), read.get()))
        },
    )
}

#[cfg(test)]
mod tests;
