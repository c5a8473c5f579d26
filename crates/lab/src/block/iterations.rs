//! Statistics of iterations: what progress shows, and the rows of `iterations.csv`.
//!
//! They count every game in the iteration in which it ends. Blocks count whole games by number, so
//! that some games of an iteration may belong to the next block. For that reason the two are kept
//! apart, and rows do not depend on when checkpoints are saved.

use afterstate::replay::TrainingStats;
use afterstate::tally::Outcome;
use serde::{Deserialize, Serialize};

use super::{ReplayStats, ScoreStats};
use crate::rows;

/// The statistics of a run that change with every iteration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct IterationLog {
    /// Iterations of the run.
    pub iterations: u64,
    /// Updates of the run.
    pub updates: u64,
    /// Games that have ended.
    pub games: u64,
    /// Statistics of their scores.
    pub scores: ScoreStats,
    /// Of the iterations since the last row.
    pub since_row: TrainingStats,
}

impl IterationLog {
    /// The statistics after these games of a run, for checkpoints that did not keep them.
    pub(crate) fn after(games: u64, stats: &ReplayStats) -> Self {
        Self {
            iterations: stats.total.iterations,
            updates: stats.total.updates,
            games,
            scores: stats.scores,
            since_row: TrainingStats::default(),
        }
    }

    /// Adds an iteration and the games that ended in it. Returns a row if one is due: after every
    /// `every` iterations of the run, never with 0.
    pub fn add(
        &mut self,
        stats: &TrainingStats,
        ended: &[Outcome],
        every: u64,
    ) -> Option<IterationRow> {
        self.iterations += stats.iterations;
        self.updates += stats.updates;
        self.games += ended.len() as u64;
        ended
            .iter()
            .for_each(|outcome| self.scores.add(outcome.score));
        if every == 0 {
            self.since_row = TrainingStats::default();
            return None;
        }
        self.since_row.merge(stats);
        self.iterations.is_multiple_of(every).then(|| self.row())
    }

    fn row(&mut self) -> IterationRow {
        let since = std::mem::take(&mut self.since_row);
        let learned = since.updates > 0;
        IterationRow {
            iteration: self.iterations,
            updates: self.updates,
            games: self.games,
            loss: learned.then(|| since.mean_loss()),
            value: learned.then(|| since.mean_value()),
            reward: since.mean_reward(),
            running_average: self.scores.running_average,
            highest_score: self.scores.highest_score,
        }
    }
}

/// A row of `iterations.csv`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct IterationRow {
    /// Iterations of the run.
    pub iteration: u64,
    /// Updates of the run.
    pub updates: u64,
    /// Games that have ended.
    pub games: u64,
    /// The mean loss of a batch since the row before, in the network's own units; empty without
    /// updates.
    pub loss: Option<f64>,
    /// The mean value of a position in a batch since the row before, in the network's own units.
    pub value: Option<f64>,
    /// The mean reward of a move since the row before, in points.
    pub reward: f64,
    /// The running average: see [`ScoreStats::running_average`]; empty before the first game.
    pub running_average: Option<f64>,
    /// The highest score so far, in points; empty before the first game.
    pub highest_score: Option<u64>,
}

impl IterationRow {
    /// The first line of the file.
    ///
    /// # Errors
    /// When the CSV library fails, which it does not for these types.
    pub fn header() -> Result<String, csv::Error> {
        rows::line(&rows::columns(&Self::default())?)
    }

    /// Its line in the file.
    ///
    /// # Errors
    /// When the CSV library fails, which it does not for these types.
    pub fn line(&self) -> Result<String, csv::Error> {
        rows::line(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn iteration(updates: u64) -> TrainingStats {
        TrainingStats {
            iterations: 1,
            updates,
            loss: 0.5 * updates as f64,
            value: 3.0 * updates as f64,
            moves: 2,
            reward: 8,
        }
    }

    fn game(score: u64) -> Outcome {
        Outcome {
            score,
            ..Outcome::default()
        }
    }

    /// Two iterations that only fill the buffer, then two with five updates each.
    #[test]
    fn a_row_has_the_means_since_the_row_before() {
        let mut log = IterationLog::default();
        let mut rows = Vec::new();
        let all = [
            (0, vec![]),
            (0, vec![]),
            (5, vec![game(200), game(400)]),
            (5, vec![game(100)]),
            (5, vec![]),
        ];
        for (updates, ended) in all {
            rows.extend(log.add(&iteration(updates), &ended, 2));
        }
        let lines: String = rows.iter().map(|row| row.line().unwrap()).collect();
        // 100, then 0.99 * 100 + 0.01 * 200 = 101, then 0.99 * 101 + 0.01 * 50 = 100.49.
        assert_eq!(lines, "2,0,0,,,4.0,,\n4,10,3,0.5,3.0,4.0,100.49,400\n");
        assert_eq!(
            IterationRow::header().unwrap(),
            "iteration,updates,games,loss,value,reward,running_average,highest_score\n"
        );
        assert_eq!(log.scores.highest_average, Some(101.0));
        assert_eq!(log.since_row.updates, 5);
        assert_eq!(log.add(&iteration(5), &[], 0), None);
    }
}
