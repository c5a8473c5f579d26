//! A block of training: the statistics of consecutive games, by default 1,000 of them.
//!
//! [`Block`] is the only description of a block. As JSON it is what `train --json` reports; as a
//! row of `blocks.csv` its fields are columns, followed by those of [`ReplayBlock`] where the run
//! learns from a replay buffer, and by a column `ended_X` for each tile X. [`read`] and [`Columns`]
//! are the two directions. Numbers are kept as they are written, so a block that is read back is
//! equal.

mod iterations;
mod replay;
mod table;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use afterstate::tally::Tally;
use serde::{Deserialize, Deserializer, Serialize};

pub use iterations::{IterationLog, IterationRow};
pub use replay::{ReplayBlock, ReplayResult, ReplayStats, ScoreStats};
pub use table::{BlockError, Columns, read};

/// The largest count that has an exact value in a float, as plots need it.
pub(crate) const LARGEST_COUNT: u64 = 1 << 53;

/// The statistics of a block of games.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Block {
    /// Games of the run at the end of the block.
    pub games: u64,
    /// Games of the block.
    pub block_games: u64,
    /// Their mean score.
    pub mean: f64,
    /// Their highest score.
    pub max: u64,
    /// The moves of all of them.
    pub moves: u64,
    /// The time they took by the wall clock, in seconds with three decimals.
    pub seconds: f64,
    /// Moves per second of all threads together.
    pub moves_per_second: u64,
    /// The learning rate at the end of the block.
    pub learning_rate: f32,
    /// Statistics of learning, in runs that learn from a replay buffer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replay: Option<ReplayBlock>,
    /// Games that ended with this tile as their largest; no entry where there are none.
    #[serde(
        default,
        skip_serializing_if = "BTreeMap::is_empty",
        deserialize_with = "tile_counts"
    )]
    pub ended: BTreeMap<u64, u64>,
}

/// JSON has text for keys, and inside a tagged enum serde does not make numbers of it by itself.
fn tile_counts<'de, D: Deserializer<'de>>(from: D) -> Result<BTreeMap<u64, u64>, D::Error> {
    let counts = BTreeMap::<String, u64>::deserialize(from)?;
    let number = |(tile, count): (String, u64)| Some((tile.parse().ok()?, count));
    let numbers: Option<BTreeMap<u64, u64>> = counts.into_iter().map(number).collect();
    numbers.ok_or_else(|| serde::de::Error::custom("a tile is not a whole number"))
}

impl Block {
    /// The block of these games, which end with game number `games` of the run.
    pub fn new(
        games: u64,
        tally: &Tally,
        learning_rate: f32,
        replay: Option<&ReplayStats>,
    ) -> Self {
        let ended = tally.ended.iter().filter(|(_, count)| **count > 0);
        Self {
            games,
            block_games: tally.games,
            mean: tally.mean(),
            max: tally.max,
            moves: tally.moves,
            seconds: (tally.seconds * 1e3).round() / 1e3,
            moves_per_second: tally.speed().round_ties_even() as u64,
            learning_rate,
            replay: replay.map(ReplayBlock::from),
            ended: ended.map(|(&tile, &count)| (tile, count)).collect(),
        }
    }

    /// Its games as a tally, which can be merged with others.
    pub fn tally(&self) -> Tally {
        Tally {
            games: self.block_games,
            score: self.score() as u64,
            max: self.max,
            moves: self.moves,
            seconds: self.seconds,
            ended: self.ended.clone(),
            ..Tally::default()
        }
    }

    /// The sum of all scores.
    fn score(&self) -> f64 {
        (self.mean * self.block_games as f64).round()
    }

    /// What contradicts itself or cannot be counted, in words.
    fn fault(&self) -> Option<String> {
        let Self {
            games,
            block_games,
            mean,
            max,
            ..
        } = self;
        let ended: u128 = self.ended.values().copied().map(u128::from).sum();
        if ended > u128::from(*block_games) {
            let found = format!("{ended} games ended with a tile, but the block has {block_games}");
            return Some(found);
        }
        if block_games > games {
            let found = format!("a block of {block_games} games after {games} games in all");
            return Some(found);
        }
        if !mean.is_finite() || *mean < 0.0 || *mean > *max as f64 {
            return Some(format!("a mean score of {mean} with a highest of {max}"));
        }
        let numbers = [self.seconds, self.learning_rate.into()];
        if numbers.iter().any(|n| !n.is_finite() || *n < 0.0) {
            return Some("`seconds` or `learning_rate` is not a number from 0 on".to_owned());
        }
        let largest = [*games, *max, self.moves].into_iter().max();
        let countable = largest <= Some(LARGEST_COUNT) && self.score() <= LARGEST_COUNT as f64;
        (!countable).then(|| format!("a count above {LARGEST_COUNT}"))
    }
}
