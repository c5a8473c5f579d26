//! Learning curves for plots, sweeps and servers: plain serialisable data without files or drawing.

use afterstate::tally::Tally;
use serde::{Deserialize, Serialize};

use crate::block::Block;

/// The learning curve of one run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Curve {
    /// Its name in the legend.
    pub label: String,
    /// Its blocks, by increasing number of games.
    pub points: Vec<Point>,
    /// Its optimality gaps, by increasing number of games; empty where none was measured.
    #[serde(default)]
    pub gaps: Vec<GapPoint>,
    /// Where its learning rate changed, by increasing number of games.
    #[serde(default)]
    pub rate_changes: Vec<RateChange>,
    /// Statistics of learning from a replay buffer, by increasing number of updates; empty in runs
    /// without one.
    #[serde(default)]
    pub replay: Vec<ReplayPoint>,
    /// The running average every few iterations; empty in runs that do not log it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub averages: Vec<AveragePoint>,
    /// The runs of which this curve is the mean, each with the same blocks; empty for a single run.
    /// Plots draw a band of them around the line.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub seeds: Vec<Curve>,
}

/// One block of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Games of the run at the end of the block.
    pub games: u64,
    /// The games of this block alone.
    pub tally: Tally,
}

/// Learning from a replay buffer in one block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ReplayPoint {
    /// Games of the run at the end of the block.
    pub games: u64,
    /// The mean loss of a batch, in the network's own units.
    pub loss: f64,
    /// The mean value of a position in a batch, in points.
    pub value: f64,
    /// Iterations of the run at the end of the block, where they are known.
    #[serde(default)]
    pub iterations: Option<u64>,
    /// Updates of the run at the end of the block.
    pub updates: u64,
    /// The running average of scores by then: see
    /// [`ScoreStats::running_average`](crate::block::ScoreStats::running_average).
    pub running_average: f64,
}

/// The running average after an iteration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AveragePoint {
    /// Iterations of the run.
    pub iteration: u64,
    /// The running average of scores by then.
    pub running_average: f64,
}

/// A block that began with another learning rate than the one before it ended with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RateChange {
    /// Games of the run before that block.
    pub games: u64,
    /// The new learning rate.
    pub learning_rate: f32,
}

/// How far a run was from optimal play.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GapPoint {
    /// Games it was trained for.
    pub games: u64,
    /// The difference of its expected score to the optimum, as a proportion of the optimum.
    pub relative: f64,
}

/// A score and the number of its game.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GameScore {
    /// The number of the game, from 1.
    pub episode: u64,
    /// Its score.
    pub score: u64,
}

impl Curve {
    /// The curve of these blocks, without gaps. A value of 1 of the run's network stands for
    /// `value_unit` points.
    pub fn new(label: String, blocks: &[Block], value_unit: f64) -> Self {
        let point = |block: &Block| Point {
            games: block.games,
            tally: block.tally(),
        };
        let replay = |block: &Block| {
            let replay = block.replay.as_ref()?;
            let point = ReplayPoint {
                games: block.games,
                loss: replay.loss,
                value: replay.value * value_unit,
                iterations: replay.iterations,
                updates: replay.updates,
                running_average: replay.running_average,
            };
            point.is_finite().then_some(point)
        };
        let change = |pair: &[Block]| {
            let [before, after] = [&pair[0], &pair[1]];
            (before.learning_rate != after.learning_rate).then_some(RateChange {
                games: before.games,
                learning_rate: after.learning_rate,
            })
        };
        Self {
            label,
            rate_changes: blocks.windows(2).filter_map(change).collect(),
            points: blocks.iter().map(point).collect(),
            gaps: Vec::new(),
            replay: blocks.iter().filter_map(replay).collect(),
            averages: Vec::new(),
            seeds: Vec::new(),
        }
    }
}

impl ReplayPoint {
    fn is_finite(&self) -> bool {
        let numbers = [self.loss, self.value, self.running_average];
        numbers.into_iter().all(f64::is_finite)
    }
}
