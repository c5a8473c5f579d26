//! Files of episode records: written during evaluation, and judged.
//!
//! `afterstate::format::episode` defines the format and `afterstate::judge` the checks; this module
//! handles files. Judging a file of any size takes some megabytes, or at most twenty times its
//! longest line, which may have 8 MiB.

mod cancellable;
mod lines;
mod sealed;

use std::cell::Cell;
use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use afterstate::format::episode::{EpisodeError, EpisodeRecord};
use afterstate::game::{Game, Shape};
use afterstate::judge::{Judge, Share, Test};
use afterstate::tally::Tally;
use serde::{Deserialize, Serialize};

use crate::LabError;
use crate::control::{Control, Event, Job, Progress, Status, Task, Unit};
use crate::disk::{can_be_written, replace_with};
use crate::games::{self, GameVisitor, with_game};
use crate::recorder::Sink;
use crate::seal::Seal;
use cancellable::Cancellable;
use lines::{LONGEST, Line, Lines};
use sealed::SealCheck;
pub use sealed::SealReport;

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
    let written = replace_with(path, |file| write_lines(file, hints, play));
    written.map_err(LabError::file("write", path))
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
    read.is_ok() && (begin.is_empty() || EpisodeRecord::is_begun(&begin))
}

/// The options of a verification.
pub struct JudgeOptions<'a> {
    /// The file of records.
    pub path: &'a Path,
    /// The game, by one of the names of [`games::games`].
    pub game: &'a str,
    /// The board.
    pub shape: Shape,
    /// The required number of moves per second.
    pub min_speed: Option<f64>,
    /// The seal of the match, if there is one.
    pub seal: Option<&'a Seal>,
    /// Events and cancellation.
    pub control: &'a Control,
}

/// The result of a verification; the JSON of `judge --json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JudgeReport {
    /// Whether everything was read and there is no fault.
    pub passed: bool,
    /// Whether it was cancelled before the end of the file.
    pub interrupted: bool,
    /// The game.
    pub game: String,
    /// The board.
    pub board: String,
    /// Valid episodes.
    pub episodes: u64,
    /// Valid episodes that end before the game is over.
    pub unfinished: u64,
    /// Their mean score.
    pub mean: f64,
    /// The highest score.
    pub max: u64,
    /// Moves per second by the start and end times; `None` if all times are equal.
    pub moves_per_second: Option<f64>,
    /// The speed that was asked for.
    pub min_speed: Option<f64>,
    /// Whether every action follows the rules, whatever its speed.
    pub actions_passed: bool,
    /// Whether it was fast enough; `None` if no speed was asked for.
    pub speed_passed: Option<bool>,
    /// The slides of the player.
    pub player: Share,
    /// The new tiles of the environment.
    pub environment: Share,
    /// Points: the percentage of games that reach the goal tile, and one for each further tile from
    /// the goal on; `None` for games without a goal.
    pub assessment: Option<f64>,
    /// Whether there is a seal, and everything agrees with it.
    #[serde(default)]
    pub sealed: bool,
    /// What the seal says.
    #[serde(default)]
    pub seal: Option<SealReport>,
    /// Tests of the spawn frequencies.
    pub tests: Vec<NamedTest>,
    /// The number of faults.
    pub fault_count: u64,
    /// The first faults.
    pub faults: Vec<FaultReport>,
    /// The statistics of all games.
    pub tally: Tally,
}

/// A test of frequencies.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NamedTest {
    /// What was counted.
    pub name: String,
    /// The number of draws.
    pub draws: u64,
    /// The test statistic.
    pub chi_squared: f64,
    /// Degrees of freedom.
    pub freedom: usize,
    /// The probability that fair draws deviate at least as far.
    pub p_value: f64,
}

/// One fault.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FaultReport {
    /// The line of the file, from 1; `None` if the fault concerns the whole file.
    pub line: Option<u64>,
    /// The number of the action in its episode, from 1.
    pub action: Option<usize>,
    /// The column in the line, from 1.
    pub column: Option<usize>,
    /// What is wrong.
    pub reason: String,
}

/// The number of faults reported in full.
const MAX_REPORTED: usize = 100;
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
    let length = fs::metadata(path).ok().filter(|about| about.is_file());
    let length = length.map(|about| about.len());
    let open = || -> Result<Box<dyn Read>, LabError> {
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
    judge_opened(options, length, open)
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
            let judging = Judging {
                options,
                length: length.unwrap_or(0),
                open,
                read: &read,
            };
            with_game(options.game, options.shape, judging)?
        },
        |done| {
            let report = done.as_ref().ok()?;
            Some((Status::of(!report.interrupted), read.get()))
        },
    )
}

struct Judging<'a, O> {
    options: &'a JudgeOptions<'a>,
    /// In bytes; 0 if it is not known.
    length: u64,
    open: O,
    /// The bytes that were read.
    read: &'a Cell<u64>,
}

impl<O: FnOnce() -> Result<Box<dyn Read>, LabError>> GameVisitor for Judging<'_, O> {
    type Output = Result<JudgeReport, LabError>;

    fn visit<G: Game>(self, game: G) -> Self::Output {
        let (options, length) = (self.options, self.length);
        let mut judge = Judge::new(game);
        let mut faults = Faults::default();
        let mut sealed = SealCheck::begin(options, &mut faults);
        let mut lines = Lines::new(options.path, (self.open)()?);
        let hints = game.rules().shows_hint(options.shape);
        let mut episode = EpisodeRecord::default();
        let mut interrupted = false;
        let stop = || options.control.is_cancelled();
        while let Some((number, line)) = lines.next(&stop)? {
            match line {
                Line::TooLong => {
                    let most = LONGEST >> 20;
                    faults.of_line(number, None, None, format!("longer than {most} MiB"));
                    sealed.as_mut().map(SealCheck::skip);
                }
                Line::Whole(line) => match episode.read(line, hints) {
                    Err(error) => {
                        let EpisodeError { column, .. } = error;
                        faults.of_line(number, None, Some(column), error.to_string());
                        sealed.as_mut().map(SealCheck::skip);
                    }
                    Ok(()) => {
                        let watched = match &mut sealed {
                            None => judge.watch(&episode).map(|_| ()),
                            Some(sealed) => {
                                sealed.watch((game, &mut judge), &episode, number, &mut faults)
                            }
                        };
                        if let Err(fault) = watched {
                            let reason = fault.reason.to_string();
                            faults.of_line(number, fault.action, Some(fault.column), reason);
                        }
                    }
                },
            }
            if length > 0 {
                options.control.emit(Event::Progress(Progress {
                    share: lines.bytes as f64 / length as f64,
                    total: Some(length),
                    unit: Unit::Bytes,
                    ..Progress::stage(Task::Judge, "judging", 0.0, lines.bytes)
                }));
            }
            if stop() {
                interrupted = true;
                break;
            }
        }
        interrupted |= stop();
        self.read.set(lines.bytes);
        if let Some(sealed) = sealed.filter(|_| !interrupted) {
            sealed.end(&lines.digest(), &mut faults);
        }
        if judge.tally().games + faults.count == 0 && !interrupted {
            return Err(LabError::NoRecords(options.path.to_owned()));
        }
        Ok(report(options, &judge, faults, interrupted))
    }
}

fn report<G: Game>(
    options: &JudgeOptions<'_>,
    judge: &Judge<G>,
    mut faults: Faults,
    interrupted: bool,
) -> JudgeReport {
    let tally = judge.tally();
    let tests: Vec<NamedTest> = judge.tests().map(named).collect();
    // Bonferroni correction for several tests.
    let least = LEAST_P / tests.len() as f64;
    for test in tests.iter().filter(|test| test.p_value < least) {
        faults.of_all(format!(
            "the frequencies of {} differ from the rules: p = {:.1e} over {} draws, expected at \
             least {least:.1e}",
            test.name, test.p_value, test.draws
        ));
    }
    let speed = (tally.seconds > 0.0).then(|| tally.speed());
    let of_actions = faults.count;
    match (speed, options.min_speed) {
        (Some(found), Some(least)) if found < least => faults.of_all(format!(
            "{found:.0} moves per second, expected at least {least:.0}"
        )),
        // Every game ends in the millisecond in which it started: this gives a lower bound.
        (None, Some(least)) if (tally.moves as f64) < least * tally.games as f64 / 1000.0 => {
            faults.of_all(format!(
                "the times are too coarse to show the speed, expected at least {least:.0} moves per \
                 second"
            ));
        }
        _ => {}
    }
    let (player, environment) = judge.shares();
    let passed = faults.count == 0 && !interrupted;
    JudgeReport {
        min_speed: options.min_speed,
        actions_passed: of_actions == 0,
        speed_passed: options.min_speed.map(|_| faults.count == of_actions),
        player,
        environment,
        passed,
        interrupted,
        game: options.game.to_owned(),
        board: options.shape.to_string(),
        episodes: tally.games,
        unfinished: judge.unfinished(),
        mean: tally.mean(),
        max: tally.max,
        moves_per_second: speed,
        assessment: assessment(options, &tally).filter(|_| passed),
        sealed: options.seal.is_some() && of_actions == 0 && !interrupted,
        seal: options.seal.map(SealReport::of),
        tests,
        fault_count: faults.count,
        faults: faults.reported,
        tally,
    }
}

fn named((name, test): (&'static str, Test)) -> NamedTest {
    NamedTest {
        name: name.to_owned(),
        draws: test.draws,
        chi_squared: test.chi_squared,
        freedom: test.freedom,
        p_value: test.p_value,
    }
}

/// The percentage of games that reach the goal tile, and a point for the goal and each tile beyond
/// it.
fn assessment(options: &JudgeOptions<'_>, tally: &Tally) -> Option<f64> {
    let rules = games::rules(options.game).ok()?;
    let goal = rules.goal_tile()?;
    let highest = tally.ended.keys().next_back().copied().unwrap_or(0);
    let beyond = (goal..=rules.largest_tile(options.shape))
        .filter(|&tile| rules.tile_value(tile) <= highest);
    Some(100.0 * tally.reach(rules.tile_value(goal)) + beyond.count() as f64)
}

#[derive(Default)]
struct Faults {
    count: u64,
    reported: Vec<FaultReport>,
}

impl Faults {
    fn of_line(&mut self, line: u64, action: Option<usize>, column: Option<usize>, reason: String) {
        self.add(FaultReport {
            line: Some(line),
            action,
            column,
            reason,
        });
    }

    fn of_all(&mut self, reason: String) {
        self.add(FaultReport {
            line: None,
            action: None,
            column: None,
            reason,
        });
    }

    fn add(&mut self, fault: FaultReport) {
        self.count += 1;
        if self.reported.len() < MAX_REPORTED {
            self.reported.push(fault);
        }
    }
}

#[cfg(test)]
mod tests;
