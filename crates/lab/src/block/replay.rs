//! Statistics of runs that learn from a replay buffer.

use afterstate::replay::TrainingStats;
use afterstate::tally::Outcome;
use serde::{Deserialize, Serialize};

/// Learning from a replay buffer, as a checkpoint keeps it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ReplayStats {
    /// Of the whole run.
    pub total: TrainingStats,
    /// Of the block that is not full yet.
    pub block: TrainingStats,
    /// The running average of scores as in the report of the recipe `dqn-report`: 0.99 of
    /// itself and 0.01 of half of each score, beginning with the first.
    pub running_average: Option<f64>,
}

impl ReplayStats {
    /// Adds the statistics of some iterations and the games that ended in them.
    pub fn add(&mut self, stats: &TrainingStats, outcomes: &[Outcome]) {
        self.total.merge(stats);
        self.block.merge(stats);
        for outcome in outcomes {
            let score = outcome.score as f64 / 2.0;
            let average = self.running_average.unwrap_or(score);
            self.running_average = Some(0.99 * average + 0.01 * score);
        }
    }
}

/// The columns of a block that only runs with a replay buffer have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ReplayBlock {
    /// Updates of the run at the end of the block, each with one batch.
    pub updates: u64,
    /// The mean loss of a batch, in the network's own units.
    pub loss: f64,
    /// The mean value of a position in a batch, in the network's own units.
    pub value: f64,
    /// The mean reward of a move, in points.
    pub reward: f64,
    /// The running average at the end of the block: see [`ReplayStats::running_average`].
    pub running_average: f64,
}

impl From<&ReplayStats> for ReplayBlock {
    fn from(stats: &ReplayStats) -> Self {
        Self {
            updates: stats.total.updates,
            loss: stats.block.mean_loss(),
            value: stats.block.mean_value(),
            reward: stats.block.mean_reward(),
            running_average: stats.running_average.unwrap_or(0.0),
        }
    }
}
