//! What a training has learned from memory so far.

use afterstate::replay::TrainingStats;
use afterstate::tally::Outcome;
use serde::{Deserialize, Serialize};

/// What was learned from memory.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Studied {
    /// In all.
    pub all: TrainingStats,
    /// In the block that is not full yet.
    pub block: TrainingStats,
    /// R4's running average, in its scoring: 0.99 of itself and 0.01 of half of each score, beginning with the first.
    pub average: Option<f64>,
}

impl Studied {
    /// Adds some iterations and the games that ended in them.
    pub fn add(&mut self, study: &TrainingStats, outcomes: &[Outcome]) {
        self.all.merge(study);
        self.block.merge(study);
        for outcome in outcomes {
            let score = outcome.score as f64 / 2.0;
            let average = self.average.unwrap_or(score);
            self.average = Some(0.99 * average + 0.01 * score);
        }
    }
}
