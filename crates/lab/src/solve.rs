//! Exact values of small boards: all that play can come to, on every core, within the memory there is.
//!
//! `list upwards by layers of the tile sum -> value downwards, once for each aim -> Solution -> file`
//!
//! The rules are those of `afterstate::solve`; here are threads, memory, progress and files. The values do
//! not depend on the number of threads: layers are worked on in parts of a fixed size, and every number is
//! computed by one thread in one order.

mod against;
mod ask;
mod error;
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

use std::time::Instant;

use afterstate::game::{Game, Shape};
use afterstate::solve::{Aim, Chance, Code, Ending, Goal, Packed, Solver};
use serde::{Deserialize, Serialize};

pub use crate::run::Images;
pub use against::{Comparison, Measure, measure};
pub use error::{FileError, SolveError};
pub use layers::Layers;
pub use solution::{About, Solution, Target};

use crate::LabError;
use crate::control::{Control, Event, Progress, Task};
use crate::games::{PackedVisitor, with_packed_game};
use crate::memory::available_memory;
use crate::share::threads;
use estimate::{Boards, Memory};
use work::{Stopped, Work};

/// What to solve.
pub struct Plan<'a> {
    /// The game, by one of the names of [`crate::games::games`].
    pub game: &'a str,
    /// The board.
    pub shape: Shape,
    /// The face value of a tile to reach.
    pub target: Option<u64>,
    /// What later rewards count, from 0 to 1.
    pub discount: f64,
    /// Whether to find the score, and the chance of the target, with the worst and with the best spawns, too.
    pub bounds: bool,
    /// Threads that work at once; 0 means one for each core.
    pub threads: usize,
    /// The most memory to take, in bytes; what is free if there is no limit.
    pub memory: Option<u64>,
    /// Events and cancellation.
    pub control: &'a Control,
}

/// What is done on the way to a solution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Doing {
    /// Listing all states.
    Listing,
    /// Working out what they are worth.
    Score,
    /// How likely they come to the target.
    Win,
    /// What they are worth if the worst tiles come.
    Worst,
    /// And if the best ones come.
    Best,
    /// Whether they come to the target if the worst tiles come.
    WorstWin,
    /// And if the best ones come.
    BestWin,
}

impl Doing {
    /// In words.
    fn stage(self) -> &'static str {
        match self {
            Self::Listing => "listing",
            Self::Score => "score",
            Self::Win => "chance of the target",
            Self::Worst => "score with the worst spawns",
            Self::Best => "score with the best spawns",
            Self::WorstWin => "chance of the target with the worst spawns",
            Self::BestWin => "chance of the target with the best spawns",
        }
    }
}

/// A solved game, and what else was found.
pub struct Solved {
    /// The solution.
    pub solution: Solution,
    /// The score from the start with the worst and with the best spawns, if asked for.
    pub score_bounds: Option<[f64; 2]>,
    /// The same of the chance of the target, if there is one.
    pub win_bounds: Option<[f64; 2]>,
    /// How long it took.
    pub seconds: f64,
}

/// The figures of a solution; the JSON of `solve --json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// The game.
    pub game: String,
    /// The board, as in `3x3`.
    pub board: String,
    /// States that play can come to: positions in which the player is to move, or the game is over.
    pub states: u64,
    /// The same, with all images of a board counted once.
    pub canonical_states: u64,
    /// What the best play for the score earns on average.
    pub expected_score: f64,
    /// What later rewards count.
    pub discount: f64,
    /// The tile to reach.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<u64>,
    /// How likely the best play for the target comes to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub win_probability: Option<f64>,
    /// Whether the solved game ends with the target; the figures are then those of this shorter game.
    pub ends_at_target: bool,
    /// The score if the worst tiles come, against the best play.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_score: Option<f64>,
    /// The score if the best tiles come.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_score: Option<f64>,
    /// The chance of the target if the worst tiles come, against the best play for it: 0 or 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_win_probability: Option<f64>,
    /// The same if the best tiles come.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_win_probability: Option<f64>,
    /// How long it took.
    pub seconds: f64,
}

impl Solved {
    /// The figures.
    pub fn report(&self) -> Report {
        let about = self.solution.about();
        Report {
            game: about.game.clone(),
            board: about.shape.to_string(),
            states: about.states,
            canonical_states: self.solution.layers().codes().len() as u64,
            expected_score: about.expected_score,
            discount: about.discount,
            target: about.target.map(|target| target.face),
            win_probability: about.target.map(|target| target.probability),
            ends_at_target: about.ends_at_target(),
            min_score: self.score_bounds.map(|[min, _]| min),
            max_score: self.score_bounds.map(|[_, max]| max),
            min_win_probability: self.win_bounds.map(|[min, _]| min),
            max_win_probability: self.win_bounds.map(|[_, max]| max),
            seconds: self.seconds,
        }
    }
}

/// Solves a game; `None` if it was stopped.
///
/// # Errors
/// When the game is unknown, or too large for the memory there is: at once if that is certain, else as soon
/// as the states listed so far foretell it.
pub fn solve(plan: &Plan<'_>) -> Result<Option<Solved>, LabError> {
    if !(0.0..=1.0).contains(&plan.discount) {
        return Err(SolveError::Discount(plan.discount).into());
    }
    let target = plan.target.map(|face| tile_of(plan.game, plan.shape, face));
    let target = target.transpose()?;
    match with_packed_game(plan.game, plan.shape, Solve { plan, target })? {
        Ok(solved) => Ok(Some(solved)),
        Err(Halt::Stopped) => Ok(None),
        Err(Halt::Failed(error)) => Err(error.into()),
    }
}

/// The index of the tile with this face.
fn tile_of(game: &str, shape: Shape, face: u64) -> Result<u8, LabError> {
    let known = with_packed_game(game, shape, Faces)?;
    let tile = known.iter().position(|&known| known == face);
    let tile = tile.map(|tile| tile as u8 + 1);
    tile.ok_or(SolveError::Target { found: face, known }.into())
}

/// The face values of all tiles that a solution can hold, from the smallest.
struct Faces;

impl PackedVisitor for Faces {
    type Output = Vec<u64>;

    fn visit<G: Game<Board: Packed>>(self, game: G) -> Self::Output {
        let anywhere = Shape::new(5, 5).map_or(0, |shape| game.rules().largest_tile(shape));
        let most = anywhere.min(Code::LARGEST);
        (1..=most).map(|tile| game.tile_value(tile)).collect()
    }
}

/// Why there is no solution.
enum Halt {
    Stopped,
    Failed(SolveError),
}

impl From<Stopped> for Halt {
    fn from(_: Stopped) -> Self {
        Self::Stopped
    }
}

impl From<SolveError> for Halt {
    fn from(error: SolveError) -> Self {
        Self::Failed(error)
    }
}

struct Solve<'a> {
    plan: &'a Plan<'a>,
    target: Option<u8>,
}

impl PackedVisitor for Solve<'_> {
    type Output = Result<Solved, Halt>;

    fn visit<G: Game<Board: Packed>>(self, game: G) -> Self::Output {
        let begun = Instant::now();
        let memory = Memory {
            limit: self.plan.memory.unwrap_or_else(available_memory),
            values: 1 + u64::from(self.target.is_some() || self.plan.bounds),
        };
        let work = Work {
            threads: threads(self.plan.threads),
            stop: &|| self.plan.control.is_cancelled(),
        };
        let (solver, ending, boards) = self.choose(game, &memory)?;
        let (layers, states) = list::list(&solver, &work, &memory, &boards, |sum, states| {
            self.tell(Doing::Listing, boards.share(sum), states);
        })?;
        let valued = |doing, chance, goal| {
            let aim = Aim { goal, chance };
            self.value(&solver, &layers, &work, doing, aim)
        };
        let (for_score, for_win) = (self.score(), self.target.map(Goal::Reach));
        // The values of states are only kept of what follows these.
        let both = |[worst, best]: [Doing; 2], goal| {
            let (min, _) = valued(worst, Chance::Worst, goal)?;
            let (max, _) = valued(best, Chance::Best, goal)?;
            Ok::<_, Stopped>([min, max])
        };
        let bounds = |doing, goal: Option<Goal>| {
            let asked = goal.filter(|_| self.plan.bounds);
            asked.map(|goal| both(doing, goal)).transpose()
        };
        let score_bounds = bounds([Doing::Worst, Doing::Best], Some(for_score))?;
        let win_bounds = bounds([Doing::WorstWin, Doing::BestWin], for_win)?;
        let (expected_score, score) = valued(Doing::Score, Chance::Mean, for_score)?;
        let win = for_win.map(|goal| valued(Doing::Win, Chance::Mean, goal));
        let win = win.transpose()?;
        let target = self.target.zip(win.as_ref()).map(|(tile, win)| Target {
            tile,
            face: game.tile_value(tile),
            ends: ending != Ending::Stuck,
            probability: win.0,
        });
        let about = About {
            game: self.plan.game.to_owned(),
            shape: self.plan.shape,
            discount: self.plan.discount,
            target,
            states,
            expected_score,
        };
        let solution = Solution {
            about,
            code: solver.code().clone(),
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
    /// The whole game, if there is no target or it is sure to fit; else the one that ends with the target.
    fn choose<G: Game<Board: Packed>>(
        &self,
        game: G,
        memory: &Memory,
    ) -> Result<(Solver<G>, Ending, Boards), SolveError> {
        let shape = game.shape();
        let most = Code::most_cells(game.rules());
        let solver = |ending| Solver::new(game, ending).ok_or(SolveError::Cells { shape, most });
        let whole = solver(Ending::Stuck)?;
        let holds = game.largest_tile() <= Code::LARGEST;
        match self.target {
            Some(tile) => {
                let boards = holds.then(|| Boards::count(&whole, Ending::Stuck));
                if let Some(boards) = boards.filter(|boards| memory.is_sure(boards)) {
                    return Ok((whole, Ending::Stuck, boards));
                }
                let ending = Ending::Tile(tile);
                let solver = solver(ending)?;
                let boards = Boards::count(&solver, ending);
                memory.hopeful(&boards)?;
                Ok((solver, ending, boards))
            }
            None if holds => {
                let boards = Boards::count(&whole, Ending::Stuck);
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

    /// What the player wants beside the target.
    fn score(&self) -> Goal {
        Goal::Score {
            discount: self.plan.discount,
        }
    }

    /// What the start and every state are worth.
    fn value<G: Game<Board: Packed>>(
        &self,
        solver: &Solver<G>,
        layers: &Layers,
        work: &Work<'_>,
        doing: Doing,
        aim: Aim,
    ) -> Result<(f64, Vec<f64>), Stopped> {
        let all = layers.codes().len() as f64;
        let seen = |valued| self.tell(doing, valued as f64 / all, valued);
        let values = value::values(solver, layers, aim, work, seen)?;
        let start = value::start(solver, layers, aim, &values);
        Ok((start, values))
    }

    fn tell(&self, doing: Doing, done: f64, states: u64) {
        let stage = doing.stage();
        let progress = Progress::stage(Task::Solve, stage, done, states);
        self.plan.control.emit(Event::Progress(progress));
    }
}
