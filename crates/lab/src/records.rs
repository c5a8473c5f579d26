//! Records of games: written while a player plays, and judged.
//!
//! The format is `afterstate::format::episode`, the rules are `afterstate::judge`; here are clocks and files. A file of any
//! size is judged in the memory of its longest line.

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use afterstate::format::episode::{Action, Episode, Meta, Move};
use afterstate::game::{Game, Position, Shape};
use afterstate::judge::{Judge, Test};
use afterstate::play::{Learner, Step};
use afterstate::random::{Rng, game_rng};
use afterstate::tally::Tally;
use serde::Serialize;

use crate::LabError;
use crate::disk::replace_with;
use crate::registry::{self, OnBoard, on_board};

/// Takes finished episodes, from several threads.
pub type Sink<'a> = &'a (dyn Fn(&Episode) + Sync);

/// Notes a game down as it is played.
pub(crate) struct Recorder<'a, G: Game> {
    game: G,
    sink: Sink<'a>,
    episode: Episode,
    /// The position that the last slide led to.
    after: Option<G::After>,
    /// When the last action was done.
    last: Instant,
    /// For what the game does not tell.
    rng: Rng,
}

impl<'a, G: Game> Recorder<'a, G> {
    pub(crate) fn new(game: G, sink: Sink<'a>) -> Self {
        Self {
            game,
            sink,
            episode: Episode::default(),
            after: None,
            last: Instant::now(),
            rng: game_rng(0, 0),
        }
    }

    fn push(&mut self, action: Action, reward: u32, millis: u64) {
        self.episode.moves.push(Move {
            action,
            reward: reward.into(),
            millis,
            column: 0,
        });
    }

    /// A state of which the tiles in these cells are new, in this order.
    fn place(&mut self, state: G::State, cells: &[usize]) {
        for (n, &cell) in cells.iter().enumerate() {
            let tile = state.cell(cell);
            // Of the first tiles, each shows the one behind it.
            let next = cells.get(n + 1).map(|&next| state.cell(next));
            let action = Action::Place {
                cell: cell as u8,
                tile,
                hint: shown(&self.game, state, next),
            };
            let brought = self.game.brings(tile);
            self.push(action, brought, 0);
        }
    }

    /// The state before a slide, or at the end of a game.
    fn come_to(&mut self, state: G::State) {
        let cells = 0..self.game.shape().cells();
        match self.after.take() {
            Some(after) => {
                let new = cells.filter(|&cell| after.cell(cell) != state.cell(cell));
                self.place(state, &new.collect::<Vec<_>>());
            }
            None => {
                self.episode.opened = Meta {
                    tag: PLAYERS.to_owned(),
                    at: now(),
                };
                self.last = Instant::now();
                let cells = first_tiles(&self.game, state, &mut self.rng);
                self.place(state, &cells);
            }
        }
    }
}

/// Who plays, and who places tiles.
const PLAYERS: &str = "afterstate:place";
/// Who made the last move: the new tile after which no slide is left.
const LAST: &str = "place";

fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_millis() as u64)
}

/// The cells of the first tiles in an order in which they may have come, each of these with the same chance: the game does not
/// tell which it was, and any fixed order would look like a preference to a judge.
fn first_tiles<G: Game>(game: &G, state: G::State, rng: &mut Rng) -> Vec<usize> {
    let cells = 0..game.shape().cells();
    let mut cells: Vec<usize> = cells.filter(|&cell| state.cell(cell) != 0).collect();
    // Of nine tiles from bags of three, one order in eight is possible.
    for _ in 0..1000 {
        for last in (1..cells.len()).rev() {
            cells.swap(last, rng.below(last as u32 + 1) as usize);
        }
        if leads_to(game, state, &cells) {
            break;
        }
    }
    cells
}

/// Whether the tiles of a state may have come in this order.
fn leads_to<G: Game>(game: &G, state: G::State, cells: &[usize]) -> bool {
    let mut after = game.blank();
    for (n, &cell) in cells.iter().enumerate() {
        let next = cells.get(n + 1).map(|&next| state.cell(next));
        let hint = shown(game, state, next);
        let mut found = None;
        game.for_each_arrival(after, |arrival, _| {
            if (arrival.tile, arrival.luck.hint) == (state.cell(cell), hint) {
                found = Some(arrival);
            }
        });
        match found.map(|arrival| game.place(after, cell, arrival)) {
            None => return false,
            Some(placed) if next.is_none() => return placed == state,
            Some(placed) => after = game.unslid(placed),
        }
    }
    false
}

/// What a new tile shows if `next` comes behind it: nothing in games that do not, and what the state shows if it is the last.
fn shown<G: Game>(game: &G, state: G::State, next: Option<u8>) -> u8 {
    match game.luck(state).hint {
        0 => 0,
        hint => next.unwrap_or(hint),
    }
}

impl<G: Game> Learner<G> for Recorder<'_, G> {
    fn step(&mut self, step: &Step<G>) {
        let thought = self.last.elapsed().as_millis() as u64;
        let first = self.after.is_none();
        self.come_to(step.state);
        let action = Action::Slide(step.direction);
        self.push(action, step.reward, if first { 0 } else { thought });
        self.after = Some(step.after);
        self.last = Instant::now();
    }

    fn finish(&mut self, state: G::State, _brought: u32) {
        self.come_to(state);
        self.episode.closed = Meta {
            tag: LAST.to_owned(),
            at: now(),
        };
        (self.sink)(&self.episode);
        self.episode.moves.clear();
        self.after = None;
    }
}

/// Writes the episodes that `play` hands over to a file, which appears when all of them are there.
///
/// # Errors
/// When the game is unknown, or the file cannot be written.
pub fn write<T>(
    path: &Path,
    (game, shape): (&str, Shape),
    play: impl FnOnce(Sink<'_>) -> T,
) -> Result<T, LabError> {
    let hints = registry::rules(game)?.shows_hint(shape);
    let written = replace_with(path, |file| {
        let out = Mutex::new((BufWriter::new(file), Ok(())));
        let done = play(&|episode| {
            let mut out = out.lock().unwrap_or_else(PoisonError::into_inner);
            let (file, result) = &mut *out;
            if result.is_ok() {
                *result = writeln!(file, "{}", episode.line(hints));
            }
        });
        let (mut file, result) = out.into_inner().unwrap_or_else(PoisonError::into_inner);
        result.and_then(|()| file.flush()).map(|()| done)
    });
    written.map_err(LabError::file("write", path))
}

/// What to judge.
pub struct Plan<'a> {
    /// A file of records, or `-` for standard input.
    pub path: &'a Path,
    /// The game, by one of the names of [`registry::games`].
    pub game: &'a str,
    /// The board.
    pub shape: Shape,
    /// The least number of moves a second.
    pub min_speed: Option<f64>,
    /// Told now and then of the bytes that were read.
    pub seen: &'a dyn Fn(u64),
    /// Asked after each line: what was read until then is judged.
    pub stop: &'a dyn Fn() -> bool,
}

/// What the judge found; the JSON of `judge --json`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Verdict {
    /// Whether there is no fault.
    pub passed: bool,
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
/// Fair chance strays as far as this in one of a million files.
pub const LEAST_P: f64 = 1e-6;
/// The longest line that is read: a hundred times the longest game anybody has seen.
const LONGEST: u64 = 64 << 20;

/// Judges a file of records.
///
/// # Errors
/// When the game is unknown, or the file cannot be read or holds no records at all. Faults in records are not errors.
pub fn judge(plan: &Plan<'_>) -> Result<Verdict, LabError> {
    on_board(plan.game, plan.shape, Judging(plan))?
}

struct Judging<'a>(&'a Plan<'a>);

impl OnBoard for Judging<'_> {
    type Output = Result<Verdict, LabError>;

    fn on<G: Game>(self, game: G) -> Self::Output {
        let plan = self.0;
        let mut judge = Judge::new(game);
        let mut faults = Faults::default();
        let mut lines = Lines::open(plan.path)?;
        let hints = game.rules().shows_hint(plan.shape);
        let mut episode = Episode::default();
        while let Some((number, line)) = lines.next()? {
            let line = match line {
                Line::Whole(line) => line,
                Line::TooLong => {
                    let most = LONGEST >> 20;
                    faults.of_line(number, None, None, format!("longer than {most} MiB"));
                    continue;
                }
            };
            match episode.read(line, hints) {
                Err(error) => faults.of_line(number, None, Some(error.column), error.to_string()),
                Ok(()) => {
                    if let Err(fault) = judge.watch(&episode) {
                        let place = (Some(fault.action), Some(fault.column));
                        faults.of_line(number, place.0, place.1, fault.reason.to_string());
                    }
                }
            }
            (plan.seen)(lines.bytes);
            if (plan.stop)() {
                break;
            }
        }
        if judge.tally().games + faults.count == 0 {
            return Err(LabError::NoRecords(plan.path.to_owned()));
        }
        Ok(verdict(plan, &judge, faults))
    }
}

fn verdict<G: Game>(plan: &Plan<'_>, judge: &Judge<G>, mut faults: Faults) -> Verdict {
    let tally = judge.tally();
    let tests: Vec<NamedTest> = judge.tests().map(named).collect();
    for test in tests.iter().filter(|test| test.p_value < LEAST_P) {
        faults.of_all(format!(
            "{} do not come by chance: p = {:.1e} over {} draws, expected at least {LEAST_P:.0e}",
            test.name, test.p_value, test.draws
        ));
    }
    let speed = (tally.seconds > 0.0).then(|| tally.speed());
    let slow = speed
        .zip(plan.min_speed)
        .filter(|(found, least)| found < least);
    if let Some((found, least)) = slow {
        faults.of_all(format!(
            "{found:.0} moves a second, expected at least {least:.0}"
        ));
    }
    Verdict {
        passed: faults.count == 0,
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
    let rules = registry::rules(plan.game).ok()?;
    let goal = rules.goal_tile()?;
    let highest = tally.ended.keys().next_back().copied().unwrap_or(0);
    let beyond =
        (goal..=rules.largest_tile(plan.shape)).filter(|&tile| rules.face(tile) <= highest);
    Some(100.0 * tally.reach(rules.face(goal)) + beyond.count() as f64)
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

    /// The next line that is not empty, with its number.
    fn next(&mut self) -> Result<Option<(u64, Line<'_>)>, LabError> {
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
                self.skip()?;
                return Ok(Some((self.number, Line::TooLong)));
            }
            let length = self.line.trim_ascii_end().len();
            if length > 0 {
                return Ok(Some((self.number, Line::Whole(&self.line[..length]))));
            }
        }
    }

    /// Passes over the rest of a line.
    fn skip(&mut self) -> Result<(), LabError> {
        loop {
            let chunk = self
                .file
                .fill_buf()
                .map_err(LabError::file("read", &self.path))?;
            let end = chunk.iter().position(|&byte| byte == b'\n');
            let passed = end.map_or(chunk.len(), |end| end + 1);
            self.file.consume(passed);
            self.bytes += passed as u64;
            if end.is_some() || passed == 0 {
                return Ok(());
            }
        }
    }
}

#[cfg(test)]
mod tests;
