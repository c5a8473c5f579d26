//! Reviews of recorded games: how good each move was, and how lucky each spawn.
//!
//! With Q(s, a) = reward + value of the move a in state s, by the values or the search of a model:
//!
//! - loss of a move: the largest Q of the state minus that of the move;
//! - share kept: Q of the move over the largest Q. A [`Grade`] is a range of it, and accuracy is its
//!   mean over all moves;
//! - luck of a spawn: the largest Q of the state that it leads to, minus the mean of the same over
//!   all spawns. Its values are those without search, of which there are up to 50 for each move. The
//!   mean of luck is 0 for any value function; z is the sum in standard deviations.
//!
//! Under an exact solution, score = value of the start + sum of luck - sum of losses. If values are the
//! chance of a target, losses and luck are percentage points, and the sum is 100 where it is reached
//! and 0 elsewhere.

mod game;
mod input;
mod result;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use afterstate::game::Direction;
use serde::{Deserialize, Serialize};

use crate::LabError;
use crate::agent::Agent;
use crate::control::{Control, Job, Status, Task, Unit};
use crate::direction_names;
use crate::evaluate::Contender;
use crate::games::{self, with_game};
use crate::grade::{Grade, GradeThresholds};
use crate::report::ModelInfo;
use game::{Grader, Reviewing};
pub use input::RecordReader;
pub(crate) use input::{Item, item};
pub use result::ReviewResult;
use result::Top;

/// The options of a review.
pub struct ReviewOptions<'a> {
    /// The shares of the best value that each grade keeps.
    pub thresholds: GradeThresholds,
    /// How many of the worst moves and of the luckiest spawns are listed.
    pub top: usize,
    /// How much of each game the review has.
    pub detail: Detail,
    /// Threads besides those of a search; 0 means one for each core. The result does not depend on it.
    pub threads: usize,
    /// Events and cancellation: a cancelled review has the games that were finished.
    pub control: &'a Control,
}

/// How much of each game a review has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// Every game, with every move and what stands out in it.
    Full,
    /// The same with the position before each move.
    Positions,
    /// This many games from the first on, without both; so the memory of a review does not grow
    /// with the file.
    FirstGames(usize),
}

/// A review of some games; the JSON of `review --json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Review {
    /// The file of the model or the solution; `None` for an agent without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelInfo>,
    /// The game.
    pub game: String,
    /// Its board, as in `4x4`.
    pub board: String,
    /// How the values of moves were found: `1ply`, `3ply`, `exact`.
    pub search: String,
    /// How the values of spawns were found.
    pub luck_search: String,
    /// The tile whose chance the values are: then losses and luck are in percentage points, otherwise
    /// in points of the score.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<u64>,
    /// The thresholds of the grades.
    pub thresholds: GradeThresholds,
    /// Whether it was cancelled before the last game.
    pub interrupted: bool,
    /// All games together.
    pub total: Total,
    /// Each game, or the first of them: see [`Detail`].
    pub games: Vec<GameReview>,
    /// How many lines could not be reviewed.
    pub fault_count: u64,
    /// The first of them.
    pub faults: Vec<ReviewFault>,
}

/// All games of a review together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Total {
    /// The number of games.
    pub games: u64,
    /// Their result.
    #[serde(flatten)]
    pub result: ReviewResult,
    /// What stands out.
    #[serde(flatten)]
    pub highlights: Highlights,
}

/// The review of one game.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GameReview {
    /// Its line in the records.
    pub line: u64,
    /// The name in its record.
    pub player: String,
    /// Its score.
    pub score: u64,
    /// Its largest tile.
    pub largest: u64,
    /// Whether the game is over at the end of the record.
    pub finished: bool,
    /// Its result.
    #[serde(flatten)]
    pub result: ReviewResult,
    /// What stands out.
    #[serde(flatten)]
    pub highlights: Highlights,
    /// Every move, if that was asked for.
    pub moves: Vec<ReviewedMove>,
    /// The position before each move and after the last one, if that was asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub positions: Vec<ReviewedPosition>,
}

/// A position of a reviewed game.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReviewedPosition {
    /// The board in one line.
    pub board: String,
    /// The score so far.
    pub score: u64,
    /// The value of the best move: what the rest of the game is expected to earn. `None` after the
    /// last move, and where the agent has no value.
    pub value: Option<f64>,
}

/// What stands out in some games.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Highlights {
    /// The moves that lost most, the worst first.
    pub worst: Vec<WorstMove>,
    /// The luckiest spawns, the best first.
    pub luckiest: Vec<SpawnLuck>,
    /// The unluckiest spawns, the worst first.
    pub unluckiest: Vec<SpawnLuck>,
}

/// The review of one move.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReviewedMove {
    /// The move.
    #[serde(with = "direction_names")]
    pub direction: Direction,
    /// The best move.
    #[serde(with = "direction_names::option")]
    pub best: Option<Direction>,
    /// The value that it lost; `None` where the agent has no value of it.
    pub loss: Option<f64>,
    /// The share of the best value that it kept.
    pub share: Option<f64>,
    /// Its grade.
    pub grade: Option<Grade>,
    /// The luck of the spawn after it; `None` where the record ends with the move, or the
    /// agent has no value of a state that a spawn may lead to.
    pub luck: Option<f64>,
}

/// One of the worst moves.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorstMove {
    /// The line of its game.
    pub line: u64,
    /// Its number in the game, from 1.
    pub number: u64,
    /// The board before it, in one line.
    pub position: String,
    /// The move.
    #[serde(with = "direction_names")]
    pub direction: Direction,
    /// The best move.
    #[serde(with = "direction_names::option")]
    pub best: Option<Direction>,
    /// The value that it lost.
    pub loss: f64,
    /// The share of the best value that it kept.
    pub share: f64,
    /// Its grade.
    pub grade: Grade,
}

/// The luck of a spawn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SpawnLuck {
    /// The line of its game.
    pub line: u64,
    /// The number of the move before it, from 1.
    pub number: u64,
    /// The tile.
    pub tile: u64,
    /// Its cell, as in `c2`: the third column from the left, the second row from the top.
    pub cell: String,
    /// The value of the state minus the mean over all spawns.
    pub luck: f64,
    /// The board with it, in one line.
    pub position: String,
}

/// A line that could not be reviewed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReviewFault {
    /// Its number.
    pub line: u64,
    /// Why not.
    pub reason: String,
}

/// Counts of all grades.
pub type GradeCounts = BTreeMap<Grade, u64>;

/// Reviews records by the values of a contender. `values` is the contender without its search, by
/// which luck is measured; the same agent for a contender that does not search. A search is called
/// from one thread, and shares the boards of a call among its own threads.
///
/// # Errors
/// When the records are of another game, cannot be read, or not one of them can be reviewed.
pub fn review(
    records: RecordReader,
    contender: &Contender,
    values: &Arc<dyn Agent>,
    options: &ReviewOptions<'_>,
) -> Result<Review, LabError> {
    let path = records.path().to_owned();
    records.check_game(contender)?;
    let job = Job {
        task: Task::Review,
        subject: path.display().to_string(),
        total: records.length(),
        unit: Unit::Bytes,
    };
    let work = || {
        let mut review = Review {
            model: contender.model.clone(),
            game: contender.game.clone(),
            board: contender.shape.to_string(),
            search: contender.agent.search().to_owned(),
            luck_search: values.search().to_owned(),
            target: target(contender)?,
            thresholds: options.thresholds,
            interrupted: false,
            total: Total {
                games: 0,
                result: ReviewResult::default(),
                highlights: Highlights::default(),
            },
            games: Vec::new(),
            fault_count: 0,
            faults: Vec::new(),
        };
        let grader = Grader {
            contender,
            values: &**values,
            searches: !Arc::ptr_eq(&contender.agent, values),
            options,
            length: records.length(),
        };
        let reviewing = Reviewing {
            grader,
            records,
            review: &mut review,
        };
        let read = with_game(&contender.game, contender.shape, reviewing)??;
        review.interrupted = options.control.is_cancelled();
        check_not_empty(&path, &review)?;
        Ok((review, read))
    };
    let done = options.control.run(job, work, |done| {
        let (review, read) = done.as_ref().ok()?;
        Some((Status::of(!review.interrupted), *read))
    });
    done.map(|(review, _)| review)
}

/// The tile whose chance the values of a contender are.
fn target(contender: &Contender) -> Result<Option<u64>, LabError> {
    let rules = games::rules(&contender.game)?;
    let target = contender.agent.target();
    Ok(target.map(|tile| rules.tile_value(tile)))
}

/// Refuses records without a game that could be reviewed.
fn check_not_empty(path: &Path, review: &Review) -> Result<(), LabError> {
    if review.total.games > 0 || review.interrupted {
        return Ok(());
    }
    Err(match review.faults.first() {
        None => LabError::NoRecords(path.to_owned()),
        Some(fault) => LabError::NothingToReview {
            path: path.to_owned(),
            line: fault.line,
            reason: fault.reason.clone(),
        },
    })
}

impl Review {
    /// Counts a game.
    fn add(&mut self, mut game: GameReview, options: &ReviewOptions<'_>) {
        self.total.games += 1;
        self.total.result.merge(&game.result);
        self.total.highlights.merge(&game.highlights, options.top);
        match options.detail {
            Detail::Full | Detail::Positions => self.games.push(game),
            Detail::FirstGames(most) if self.games.len() < most => {
                game.highlights = Highlights::default();
                self.games.push(game);
            }
            Detail::FirstGames(_) => {}
        }
    }
}

impl Highlights {
    fn merge(&mut self, other: &Self, most: usize) {
        let lists = [
            (&mut self.luckiest, &other.luckiest, 1.0),
            (&mut self.unluckiest, &other.unluckiest, -1.0),
        ];
        for (own, others, sign) in lists {
            let all = own.drain(..).chain(others.iter().cloned());
            *own = Top::of(most, all, |it| sign * it.luck);
        }
        let all = self.worst.drain(..).chain(other.worst.iter().cloned());
        self.worst = Top::of(most, all, |it| it.loss);
    }
}
