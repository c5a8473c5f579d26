//! Exact values of small boards: all reachable states, on every core, within the available memory.
//!
//! `list upwards by layers of the tile sum -> evaluate downwards, once for each objective ->
//! Solution -> file`
//!
//! `afterstate::solve` has the algorithm; this module adds threads, memory limits, progress and
//! files. The values do not depend on the number of threads: layers are processed in parts of a
//! fixed size, and each number is computed by one thread in one order.

mod against;
mod agent;
mod ask;
mod estimate;
mod file;
mod layers;
mod list;
mod solution;
mod table;
#[cfg(test)]
mod tests;
mod value;
mod work;

use std::sync::Arc;
use std::time::Instant;

use afterstate::game::{Game, Shape};
use afterstate::solve::{Code, Criterion, Ending, Goal, Packed, Solver, SpawnMode};
use serde::{Deserialize, Serialize};

pub use crate::error::{FileError, SolveError};
pub use crate::run::SymmetryMode;
pub use against::{GapOptions, GapReport, measure};
pub use layers::Layers;
pub use solution::{Solution, SolutionInfo, TargetTile};

use crate::LabError;
use crate::control::{Control, Event, Job, Progress, Status, Task, Unit};
use crate::error::game_on;
use crate::games::{PackedVisitor, with_packed_game};
use crate::share::threads;
use estimate::{BoardCounts, Memory};
use work::{Work, WorkError};

/// The options of a solution.
pub struct SolveOptions<'a> {
    /// The game, by one of the names of [`crate::games::games`].
    pub game: &'a str,
    /// The board.
    pub shape: Shape,
    /// The value of the target tile.
    pub target: Option<u64>,
    /// The discount per move, from 0 to 1.
    pub discount: f64,
    /// Whether to compute the score and the probability of the target also for the worst and the
    /// best spawns.
    pub bounds: bool,
    /// The number of threads; 0 means one for each core.
    pub threads: usize,
    /// The memory limit in bytes; by default, all that is left of the budget.
    pub memory: Option<u64>,
    /// Events, cancellation and memory.
    pub control: &'a Control,
}

/// The stages of a solution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Listing all states.
    Listing,
    /// Computing the expected score of each state.
    Score,
    /// Computing the probability of reaching the target.
    Win,
    /// Computing the score with the worst spawns.
    Worst,
    /// Computing the score with the best spawns.
    Best,
    /// Computing whether the target is reached with the worst spawns.
    WorstWin,
    /// Computing whether the target is reached with the best spawns.
    BestWin,
}

impl Stage {
    /// Its name in progress events.
    fn stage(self) -> &'static str {
        match self {
            Self::Listing => "listing",
            Self::Score => "score",
            Self::Win => "probability of the target",
            Self::Worst => "score with the worst spawns",
            Self::Best => "score with the best spawns",
            Self::WorstWin => "probability of the target with the worst spawns",
            Self::BestWin => "probability of the target with the best spawns",
        }
    }
}

/// A solved game and further results.
pub struct Solved {
    /// The solution.
    pub solution: Solution,
    /// The score from the start with the worst and with the best spawns, if requested.
    pub score_bounds: Option<[f64; 2]>,
    /// The same for the probability of the target, if there is one.
    pub win_bounds: Option<[f64; 2]>,
    /// The time it took.
    pub seconds: f64,
}

/// The results of a solution; the JSON of `solve --json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SolveReport {
    /// The game.
    pub game: String,
    /// The board, as in `3x3`.
    pub board: String,
    /// The number of reachable states: positions in which the player is to move, or the game is
    /// over.
    pub states: u64,
    /// The same, with symmetric states counted once.
    pub canonical_states: u64,
    /// The expected score of optimal play.
    pub expected_score: f64,
    /// The discount per move.
    pub discount: f64,
    /// The target tile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<u64>,
    /// The probability that optimal play for the target reaches it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub win_probability: Option<f64>,
    /// Whether the solved game ends at the target; the results are then those of this shorter game.
    pub ends_at_target: bool,
    /// The score of optimal play with the worst spawns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_score: Option<f64>,
    /// The score of optimal play with the best spawns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_score: Option<f64>,
    /// The probability of reaching the target with the worst spawns and optimal play: 0 or 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_win_probability: Option<f64>,
    /// The same with the best spawns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_win_probability: Option<f64>,
    /// The time it took.
    pub seconds: f64,
}

impl Solved {
    /// Its results.
    pub fn report(&self) -> SolveReport {
        let info = self.solution.info();
        SolveReport {
            game: info.game.clone(),
            board: info.shape.to_string(),
            states: info.states,
            canonical_states: self.solution.layers().codes().len() as u64,
            expected_score: info.expected_score,
            discount: info.discount,
            target: info.target.map(|target| target.value),
            win_probability: info.target.map(|target| target.probability),
            ends_at_target: info.ends_at_target(),
            min_score: self.score_bounds.map(|[min, _]| min),
            max_score: self.score_bounds.map(|[_, max]| max),
            min_win_probability: self.win_bounds.map(|[min, _]| min),
            max_win_probability: self.win_bounds.map(|[_, max]| max),
            seconds: self.seconds,
        }
    }
}

/// Solves a game; `None` if it was cancelled.
///
/// # Errors
/// When the game is unknown, or too large for the memory: immediately if that is certain, else as
/// soon as the states listed so far predict it.
pub fn solve(options: &SolveOptions<'_>) -> Result<Option<Solved>, LabError> {
    let job = Job {
        task: Task::Solve,
        subject: game_on(options.game, options.shape),
        total: None,
        unit: Unit::Positions,
    };
    options.control.run(
        job,
        || solve_silently(options),
        |done| {
            let solved = done.as_ref().ok()?.as_ref();
            let states = solved.map_or(0, |it| it.solution.layers().codes().len() as u64);
            Some((Status::of(solved.is_some()), states))
        },
    )
}

/// The same without the events of its start and its end.
fn solve_silently(options: &SolveOptions<'_>) -> Result<Option<Solved>, LabError> {
    if !(0.0..=1.0).contains(&options.discount) {
        return Err(SolveError::Discount(options.discount).into());
    }
    let target = options
        .target
        .map(|value| tile_of(options.game, options.shape, value));
    let target = target.transpose()?;
    match with_packed_game(options.game, options.shape, Solve { options, target })? {
        Ok(solved) => Ok(Some(solved)),
        Err(SolveFailure::Stopped) => Ok(None),
        Err(SolveFailure::Failed(error)) => Err(error.into()),
    }
}

/// The index of the tile with this value.
fn tile_of(game: &str, shape: Shape, value: u64) -> Result<u8, LabError> {
    let known = with_packed_game(game, shape, TileValues)?;
    let tile = known.iter().position(|&known| known == value);
    let tile = tile.map(|tile| tile as u8 + 1);
    tile.ok_or(
        SolveError::Target {
            found: value,
            known,
        }
        .into(),
    )
}

/// The values of all tiles that a solution can hold, in ascending order.
struct TileValues;

impl PackedVisitor for TileValues {
    type Output = Vec<u64>;

    fn visit<G: Game<Board: Packed>>(self, game: G) -> Self::Output {
        let anywhere = Shape::new(5, 5).map_or(0, |shape| game.rules().largest_tile(shape));
        let most = anywhere.min(Code::LARGEST);
        (1..=most).map(|tile| game.tile_value(tile)).collect()
    }
}

/// Why there is no solution.
enum SolveFailure {
    Stopped,
    Failed(SolveError),
}

impl From<WorkError> for SolveFailure {
    fn from(error: WorkError) -> Self {
        match error {
            WorkError::Cancelled => Self::Stopped,
            WorkError::NoRoom(bytes) => Self::Failed(SolveError::NoRoom { size: bytes }),
        }
    }
}

impl From<SolveError> for SolveFailure {
    fn from(error: SolveError) -> Self {
        Self::Failed(error)
    }
}

struct Solve<'a> {
    options: &'a SolveOptions<'a>,
    target: Option<u8>,
}

impl PackedVisitor for Solve<'_> {
    type Output = Result<Solved, SolveFailure>;

    fn visit<G: Game<Board: Packed>>(self, game: G) -> Self::Output {
        let begun = Instant::now();
        let values = 1 + u64::from(self.target.is_some() || self.options.bounds);
        let budget = self.options.control.memory();
        let memory = Memory::new(budget, self.options.memory, values)?;
        let work = Work {
            threads: threads(self.options.threads),
            stop: &|| self.options.control.is_cancelled(),
        };
        let (solver, ending, boards) = self.choose(game, &memory)?;
        let (layers, states) = list::list(&solver, &work, &memory, &boards, |sum, states| {
            self.report(Stage::Listing, boards.share(sum), states);
        })?;
        let valued = |stage, spawn_mode, goal| {
            let criterion = Criterion { goal, spawn_mode };
            self.value(&solver, &layers, &work, stage, criterion)
        };
        let (for_score, for_win) = (self.score(), self.target.map(Goal::Reach));
        // The bounds come first, because only the values computed after them are stored.
        let both = |[worst, best]: [Stage; 2], goal| {
            let (min, _) = valued(worst, SpawnMode::Worst, goal)?;
            let (max, _) = valued(best, SpawnMode::Best, goal)?;
            Ok::<_, WorkError>([min, max])
        };
        let bounds = |stage, goal: Option<Goal>| {
            let asked = goal.filter(|_| self.options.bounds);
            asked.map(|goal| both(stage, goal)).transpose()
        };
        let score_bounds = bounds([Stage::Worst, Stage::Best], Some(for_score))?;
        let win_bounds = bounds([Stage::WorstWin, Stage::BestWin], for_win)?;
        let (expected_score, score) = valued(Stage::Score, SpawnMode::Mean, for_score)?;
        let win = for_win.map(|goal| valued(Stage::Win, SpawnMode::Mean, goal));
        let win = win.transpose()?;
        let target = self.target.zip(win.as_ref()).map(|(tile, win)| TargetTile {
            tile,
            value: game.tile_value(tile),
            ends: ending != Ending::Stuck,
            probability: win.0,
        });
        let info = SolutionInfo {
            game: self.options.game.to_owned(),
            shape: self.options.shape,
            discount: self.options.discount,
            target,
            states,
            expected_score,
        };
        let solution = Solution {
            info,
            code: solver.code().clone(),
            lacks_checksums: false,
            _reserved: Arc::new(memory.into_reserved(layers.codes().len() as u64)),
            layers,
            score,
            win: win.map(|(_, win)| win),
        };
        Ok(Solved {
            solution,
            score_bounds,
            win_bounds,
            seconds: begun.elapsed().as_secs_f64(),
        })
    }
}

impl Solve<'_> {
    /// The whole game, if there is no target or it certainly fits; else the game that ends at the
    /// target.
    fn choose<G: Game<Board: Packed>>(
        &self,
        game: G,
        memory: &Memory,
    ) -> Result<(Solver<G>, Ending, BoardCounts), SolveError> {
        let shape = game.shape();
        let most = Code::most_cells(game.rules());
        let solver = |ending| Solver::new(game, ending).ok_or(SolveError::Cells { shape, most });
        let whole = solver(Ending::Stuck)?;
        let holds = game.largest_tile() <= Code::LARGEST;
        match self.target {
            Some(tile) => {
                let boards = holds.then(|| BoardCounts::count(&whole, Ending::Stuck));
                if let Some(boards) = boards.filter(|boards| memory.is_sure(boards)) {
                    return Ok((whole, Ending::Stuck, boards));
                }
                let ending = Ending::Tile(tile);
                let solver = solver(ending)?;
                let boards = BoardCounts::count(&solver, ending);
                memory.hopeful(&boards)?;
                Ok((solver, ending, boards))
            }
            None if holds => {
                let boards = BoardCounts::count(&whole, Ending::Stuck);
                memory.hopeful(&boards)?;
                Ok((whole, Ending::Stuck, boards))
            }
            None => Err(SolveError::Tiles {
                shape,
                largest: game.tile_value(game.largest_tile()),
                most: game.tile_value(Code::LARGEST),
            }),
        }
    }

    /// The objective of maximising the score.
    fn score(&self) -> Goal {
        Goal::Score {
            discount: self.options.discount,
        }
    }

    /// The value of the start and of every state.
    fn value<G: Game<Board: Packed>>(
        &self,
        solver: &Solver<G>,
        layers: &Layers,
        work: &Work<'_>,
        stage: Stage,
        criterion: Criterion,
    ) -> Result<(f64, Vec<f64>), WorkError> {
        let all = layers.codes().len() as f64;
        let seen = |valued| self.report(stage, valued as f64 / all, valued);
        let values = value::values(solver, layers, criterion, work, seen)?;
        let start = value::start(solver, layers, criterion, &values);
        Ok((start, values))
    }

    fn report(&self, stage: Stage, done: f64, states: u64) {
        let stage = stage.stage();
        let progress = Progress::stage(Task::Solve, stage, done, states);
        self.options.control.emit(Event::Progress(progress));
    }
}
