//! Files of records: written while a player plays, and judged.
//!
//! The format is `afterstate::format::episode`, the rules are `afterstate::judge`; here are the files. One of any
//! size is judged in some megabytes, or at most in twenty times its longest line, which may have 8 MiB.

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use afterstate::format::episode::{EpisodeError, EpisodeRecord};
use afterstate::game::{Game, Shape};
use afterstate::judge::{Judge, Test};
use afterstate::tally::Tally;
use serde::Serialize;

use crate::LabError;
use crate::control::{Control, Event, Progress, Task, Unit};
use crate::disk::{can_be_written, replace_with};
use crate::games::{self, GameVisitor, with_game};
use crate::recorder::Sink;

/// Writes the episodes that `play` hands over to a file, which appears when all of them are there. `play` may ask whether
/// writing has failed, and stop.
///
/// # Errors
/// When the game is unknown, or the file cannot be written or is there already and holds something else.
pub fn write<T>(
    path: &Path,
    (game, shape): (&str, Shape),
    play: impl FnOnce(Sink<'_>, &(dyn Fn() -> bool + Sync)) -> T,
) -> Result<T, LabError> {
    let hints = games::rules(game)?.shows_hint(shape);
    let free = can_be_written(path, is_records).map_err(LabError::file("write", path))?;
    if !free {
        return Err(LabError::NotRecords(path.to_owned()));
    }
    let written = replace_with(path, |file| {
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
    });
    written.map_err(LabError::file("write", path))
}

/// Whether a file may be written over by records: it holds some, or nothing.
fn is_records(path: &Path) -> bool {
    let mut begin = Vec::new();
    let read = File::open(path).and_then(|file| file.take(1 << 16).read_to_end(&mut begin));
    read.is_ok() && (begin.is_empty() || EpisodeRecord::is_begun(&begin))
}

/// What to judge.
pub struct Plan<'a> {
    /// A file of records, or `-` for standard input.
    pub path: &'a Path,
    /// The game, by one of the names of [`games::games`].
    pub game: &'a str,
    /// The board.
    pub shape: Shape,
    /// The least number of moves a second.
    pub min_speed: Option<f64>,
    /// Events and cancellation.
    pub control: &'a Control,
}

/// What the judge found; the JSON of `judge --json`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Verdict {
    /// Whether everything was read and there is no fault.
    pub passed: bool,
    /// Whether the judge was stopped before the end of the file.
    pub interrupted: bool,
    /// The game.
    pub game: String,
    /// The board.
    pub board: String,
    /// Episodes by the rules.
    pub episodes: u64,
    /// Those of them that end before the game is over.
    pub unfinished: u64,
    /// Their mean score.
    pub mean: f64,
    /// The highest score.
    pub max: u64,
    /// Moves a second, by the times of opening and closing; none if these are all the same.
    pub moves_per_second: Option<f64>,
    /// Points: the percentage of games that reach the game's own goal, and one for each step of the highest tile
    /// from there on; none for games without a goal.
    pub assessment: Option<f64>,
    /// Whether new tiles came as often as they should.
    pub tests: Vec<NamedTest>,
    /// How many faults there are.
    pub fault_count: u64,
    /// The first of them.
    pub faults: Vec<FaultReport>,
    /// All figures of the games.
    #[serde(skip)]
    pub tally: Tally,
}

/// A test of frequencies.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NamedTest {
    /// What was counted.
    pub name: &'static str,
    /// How many draws.
    pub draws: u64,
    /// How far they strayed.
    pub chi_squared: f64,
    /// Degrees of freedom.
    pub freedom: usize,
    /// How likely fair chance is to stray as far.
    pub p_value: f64,
}

/// One fault.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FaultReport {
    /// The line of the file, from 1; none if it is about all of them.
    pub line: Option<u64>,
    /// The number of the action in its episode, from 1.
    pub action: Option<usize>,
    /// Where in the line, from 1.
    pub column: Option<usize>,
    /// What is wrong.
    pub reason: String,
}

/// Faults that are told in full.
const TOLD: usize = 100;
/// Fair chance strays as far as this in one of a million files with many games, and in up to seven of a million with few.
pub const LEAST_P: f64 = 1e-6;
/// The longest line that is read: a million moves.
const LONGEST: u64 = 8 << 20;

/// Judges a file of records.
///
/// # Errors
/// When the game is unknown, or the file cannot be read or holds no records at all. Faults in records are not errors.
pub fn judge(plan: &Plan<'_>) -> Result<Verdict, LabError> {
    with_game(plan.game, plan.shape, Judging(plan))?
}

struct Judging<'a>(&'a Plan<'a>);

impl GameVisitor for Judging<'_> {
    type Output = Result<Verdict, LabError>;

    fn visit<G: Game>(self, game: G) -> Self::Output {
        let plan = self.0;
        let mut judge = Judge::new(game);
        let mut faults = Faults::default();
        let mut lines = Lines::open(plan.path)?;
        let hints = game.rules().shows_hint(plan.shape);
        let mut episode = EpisodeRecord::default();
        let mut interrupted = false;
        let stop = || plan.control.is_cancelled();
        let length = std::fs::metadata(plan.path).map_or(0, |file| file.len());
        while let Some((number, line)) = lines.next(&stop)? {
            match line {
                Line::TooLong => {
                    let most = LONGEST >> 20;
                    faults.of_line(number, None, None, format!("longer than {most} MiB"));
                }
                Line::Whole(line) => match episode.read(line, hints) {
                    Err(error) => {
                        let EpisodeError { column, .. } = error;
                        faults.of_line(number, None, Some(column), error.to_string());
                    }
                    Ok(()) => {
                        if let Err(fault) = judge.watch(&episode) {
                            let reason = fault.reason.to_string();
                            faults.of_line(number, fault.action, Some(fault.column), reason);
                        }
                    }
                },
            }
            if length > 0 {
                plan.control.emit(Event::Progress(Progress {
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
        if judge.tally().games + faults.count == 0 {
            return Err(LabError::NoRecords(plan.path.to_owned()));
        }
        Ok(verdict(plan, &judge, faults, interrupted))
    }
}

fn verdict<G: Game>(
    plan: &Plan<'_>,
    judge: &Judge<G>,
    mut faults: Faults,
    interrupted: bool,
) -> Verdict {
    let tally = judge.tally();
    let tests: Vec<NamedTest> = judge.tests().map(named).collect();
    // Of several tests, each may stray.
    let least = LEAST_P / tests.len() as f64;
    for test in tests.iter().filter(|test| test.p_value < least) {
        faults.of_all(format!(
            "{} do not come by chance: p = {:.1e} over {} draws, expected at least {least:.1e}",
            test.name, test.p_value, test.draws
        ));
    }
    let speed = (tally.seconds > 0.0).then(|| tally.speed());
    match (speed, plan.min_speed) {
        (Some(found), Some(least)) if found < least => faults.of_all(format!(
            "{found:.0} moves a second, expected at least {least:.0}"
        )),
        // Every game is over within the millisecond it was opened in: that much is known.
        (None, Some(least)) if (tally.moves as f64) < least * tally.games as f64 / 1000.0 => {
            faults.of_all(format!(
                "the times do not show the speed, expected at least {least:.0} moves a second"
            ));
        }
        _ => {}
    }
    Verdict {
        passed: faults.count == 0 && !interrupted,
        interrupted,
        game: plan.game.to_owned(),
        board: plan.shape.to_string(),
        episodes: tally.games,
        unfinished: judge.unfinished(),
        mean: tally.mean(),
        max: tally.max,
        moves_per_second: speed,
        assessment: assessment(plan, &tally),
        tests,
        fault_count: faults.count,
        faults: faults.told,
        tally,
    }
}

fn named((name, test): (&'static str, Test)) -> NamedTest {
    NamedTest {
        name,
        draws: test.draws,
        chi_squared: test.chi_squared,
        freedom: test.freedom,
        p_value: test.p_value,
    }
}

/// The percentage of games that reach the game's goal, and a point for the goal and each step beyond it.
fn assessment(plan: &Plan<'_>, tally: &Tally) -> Option<f64> {
    let rules = games::rules(plan.game).ok()?;
    let goal = rules.goal_tile()?;
    let highest = tally.ended.keys().next_back().copied().unwrap_or(0);
    let beyond =
        (goal..=rules.largest_tile(plan.shape)).filter(|&tile| rules.tile_value(tile) <= highest);
    Some(100.0 * tally.reach(rules.tile_value(goal)) + beyond.count() as f64)
}

#[derive(Default)]
struct Faults {
    count: u64,
    told: Vec<FaultReport>,
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
        if self.told.len() < TOLD {
            self.told.push(fault);
        }
    }
}

/// The lines of a file, one at a time.
struct Lines {
    file: BufReader<Box<dyn Read>>,
    path: PathBuf,
    line: Vec<u8>,
    number: u64,
    bytes: u64,
}

enum Line<'a> {
    Whole(&'a [u8]),
    TooLong,
}

impl Lines {
    fn open(path: &Path) -> Result<Self, LabError> {
        let file: Box<dyn Read> = if path == Path::new("-") {
            Box::new(io::stdin())
        } else {
            Box::new(File::open(path).map_err(LabError::file("read", path))?)
        };
        Ok(Self {
            file: BufReader::with_capacity(1 << 20, file),
            path: path.to_owned(),
            line: Vec::new(),
            number: 0,
            bytes: 0,
        })
    }

    /// The next line that is not empty, with its number. The rest of a line that is too long is passed over until `stop` says so.
    fn next(&mut self, stop: &dyn Fn() -> bool) -> Result<Option<(u64, Line<'_>)>, LabError> {
        loop {
            self.line.clear();
            let read = (&mut self.file)
                .take(LONGEST)
                .read_until(b'\n', &mut self.line);
            let read = read.map_err(LabError::file("read", &self.path))?;
            if read == 0 {
                return Ok(None);
            }
            self.number += 1;
            self.bytes += read as u64;
            if !self.line.ends_with(b"\n") && read as u64 == LONGEST {
                self.skip(stop)?;
                return Ok(Some((self.number, Line::TooLong)));
            }
            let length = self.line.trim_ascii_end().len();
            if length > 0 {
                return Ok(Some((self.number, Line::Whole(&self.line[..length]))));
            }
        }
    }

    /// Passes over the rest of a line.
    fn skip(&mut self, stop: &dyn Fn() -> bool) -> Result<(), LabError> {
        loop {
            let chunk = self
                .file
                .fill_buf()
                .map_err(LabError::file("read", &self.path))?;
            let end = chunk.iter().position(|&byte| byte == b'\n');
            let passed = end.map_or(chunk.len(), |end| end + 1);
            self.file.consume(passed);
            self.bytes += passed as u64;
            if end.is_some() || passed == 0 || stop() {
                return Ok(());
            }
        }
    }
}

#[cfg(test)]
mod tests;
