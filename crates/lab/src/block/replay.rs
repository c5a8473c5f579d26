//! Statistics of runs that learn from a replay buffer.

use afterstate::replay::TrainingStats;
use afterstate::tally::Outcome;
use serde::{Deserialize, Serialize};

use super::IterationLog;

/// Learning from a replay buffer, as a checkpoint keeps it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ReplayStats {
    /// Of the whole run.
    pub total: TrainingStats,
    /// Of the block that is not full yet.
    pub block: TrainingStats,
    /// Of the scores of all games that the run has counted.
    #[serde(flatten)]
    pub scores: ScoreStats,
    /// The statistics that change with every iteration; `None` in checkpoints before they were
    /// kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<IterationLog>,
}

/// Statistics of the scores of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ScoreStats {
    /// The running average of scores as in the report of the recipe `dqn-report`: 0.99 of
    /// itself and 0.01 of half of each score, beginning with the first.
    pub running_average: Option<f64>,
    /// The highest running average so far.
    #[serde(default)]
    pub highest_average: Option<f64>,
    /// The highest score so far, in points.
    #[serde(default)]
    pub highest_score: Option<u64>,
}

impl ReplayStats {
    /// Adds an iteration. Iterations are added one by one, never rounds of them: when a round ends
    /// depends on the clock, and a sum of floats on its order.
    pub fn add_iteration(&mut self, stats: &TrainingStats) {
        self.total.merge(stats);
        self.block.merge(stats);
    }

    /// Adds the games of a round.
    pub fn add_games(&mut self, outcomes: &[Outcome]) {
        outcomes
            .iter()
            .for_each(|outcome| self.scores.add(outcome.score));
    }
}

impl ScoreStats {
    /// Adds the score of a game.
    pub fn add(&mut self, points: u64) {
        let score = points as f64 / 2.0;
        let average = 0.99 * self.running_average.unwrap_or(score) + 0.01 * score;
        self.running_average = Some(average);
        self.raise(points, average);
    }

    /// Raises what is highest to these, if they are higher.
    pub(crate) fn raise(&mut self, points: u64, average: f64) {
        self.highest_score = self.highest_score.max(Some(points));
        let highest = self.highest_average.map_or(average, |it| it.max(average));
        self.highest_average = Some(highest);
    }
}

/// The columns of a block that only runs with a replay buffer have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ReplayBlock {
    /// Iterations of the run at the end of the block, each with a move in every environment; `None`
    /// in blocks of runs that were begun before they were written.
    #[serde(default)]
    pub iterations: Option<u64>,
    /// Updates of the run at the end of the block, each with one batch.
    pub updates: u64,
    /// The mean loss of a batch, in the network's own units.
    pub loss: f64,
    /// The mean value of a position in a batch, in the network's own units.
    pub value: f64,
    /// The mean reward of a move, in points.
    pub reward: f64,
    /// The running average at the end of the block: see [`ScoreStats::running_average`].
    pub running_average: f64,
}

impl From<&ReplayStats> for ReplayBlock {
    fn from(stats: &ReplayStats) -> Self {
        Self {
            iterations: Some(stats.total.iterations),
            updates: stats.total.updates,
            loss: stats.block.mean_loss(),
            value: stats.block.mean_value(),
            reward: stats.block.mean_reward(),
            running_average: stats.scores.running_average.unwrap_or(0.0),
        }
    }
}

/// How a run with a replay buffer ended. In JSON its fields are those of the event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReplayResult {
    /// Iterations of the run.
    pub iterations: u64,
    /// Updates of the run.
    pub updates: u64,
    /// The statistics of its scores.
    #[serde(flatten)]
    pub scores: ScoreStats,
    /// The tiles of the game that ended last, row by row, or of the first environment where no game
    /// has ended since the run was started or resumed.
    pub last_board: Vec<Vec<u64>>,
}
