//! How much memory a solution needs, estimated before it starts and while it grows.
//!
//! Boards can be counted without listing them: the boards of n + 1 cells with a given sum are those
//! of n cells with the sum minus the value of the last tile, for each possible tile. Divided by the
//! number of symmetries, this exceeds the number of reachable states by an unknown factor: most
//! boards have tiles that would have merged. So a game is refused immediately only if it is far too
//! large. Otherwise it is listed while there is memory for it and for the prediction from the
//! layers so far: the reachable share of boards falls with the sum, but only slowly, so the share
//! so far bounds the rest.

use std::sync::{Mutex, PoisonError};

use afterstate::game::Game;
use afterstate::solve::{Ending, Packed, Solver};

use super::value::RECENT;
use super::{Layers, SolveError, table};
use crate::memory::{MemoryBudget, OverBudget, Reservation};

/// Bytes of a code, and of a value.
const NUMBER: u64 = 8;

/// Boards per reachable state, at most: from 1.2 on 2x2 to 4.1 on 3x3, and more on larger ones.
const WHOLE: f64 = 10.0;
/// The same if the game ends at a target: 5 on 2x5 to 64, 7 on 3x4 to 32, 35 on 4x4 to 16.
const ENDED: f64 = 60.0;
/// Boards per state in a game that certainly fits.
const SURE: f64 = 2.0;

/// States that are enough for a prediction: among fewer the initial states have too much weight.
const ENOUGH: u64 = 100_000;
/// How much more frequent states are among the first boards than among all, at most. Measured from
/// [`ENOUGH`] states on: 2.4 on 2x4, 2.3 on 3x3, 2.5 on 2x5 to 64, 2.0 on 4x4 to 8.
const EARLY: f64 = 3.0;

/// The number of boards by tile sum.
pub(super) struct BoardCounts {
    /// The boards of this sum and all smaller ones, up to symmetry.
    up_to: Vec<f64>,
    /// Boards per state, at most.
    ratio: f64,
}

impl BoardCounts {
    pub(super) fn count<G: Game<Board: Packed>>(solver: &Solver<G>, ending: Ending) -> Self {
        let game = solver.game();
        let cells = game.shape().cells();
        let value = |tile| game.tile_value(tile) as usize;
        let (largest, last) = match ending {
            Ending::Stuck => (game.largest_tile(), None),
            Ending::Tile(tile) => (tile - 1, Some(value(tile))),
        };
        let values: Vec<usize> = (0..=largest).map(value).collect();
        // The fullest board has each of the largest tiles once, unless the game ends before that.
        let fullest: usize = match last {
            None => values.iter().rev().take(cells).sum(),
            Some(last) => cells * values[values.len() - 1] + last,
        };
        // Boards of some cells without the last tile, and with one of it: more of them occur so
        // rarely that they are ignored.
        let mut without = vec![0.0; fullest + 1];
        let mut with = without.clone();
        without[0] = 1.0 / solver.code().symmetries() as f64;
        for _ in 0..cells {
            let after = |ways: &[f64], sum: usize, value: usize| {
                sum.checked_sub(value).map_or(0.0, |below| ways[below])
            };
            let more = |ways: &[f64], sum: usize| -> f64 {
                values.iter().map(|&value| after(ways, sum, value)).sum()
            };
            let first = |sum| last.map_or(0.0, |last| after(&without, sum, last));
            with = (0..=fullest)
                .map(|sum| first(sum) + more(&with, sum))
                .collect();
            without = (0..=fullest).map(|sum| more(&without, sum)).collect();
        }
        let mut all = 0.0;
        let up_to = without.iter().zip(&with).map(|(without, with)| {
            all += without + with;
            all
        });
        Self {
            up_to: up_to.collect(),
            ratio: if last.is_some() { ENDED } else { WHOLE },
        }
    }

    fn all(&self) -> f64 {
        self.up_to.last().copied().unwrap_or(0.0)
    }

    /// The share of boards with at most this sum.
    pub(super) fn share(&self, sum: u64) -> f64 {
        let below = usize::try_from(sum)
            .ok()
            .and_then(|sum| self.up_to.get(sum));
        below.map_or(1.0, |below| below / self.all())
    }

    /// A lower bound on the number of states, if `states` have this sum or a smaller one.
    pub(super) fn foretold(&self, sum: u64, states: u64) -> u64 {
        if states < ENOUGH {
            return states;
        }
        let share = self.share(sum);
        // Falls to one at the end, when nothing remains to be predicted.
        let early = EARLY + (1.0 - EARLY) * share;
        states.max((states as f64 / (share * early)) as u64)
    }
}

/// The memory of a solution.
#[derive(Debug)]
pub(super) struct Memory {
    /// Its limit in bytes.
    limit: u64,
    /// Stored values per state.
    values: u64,
    /// What is certainly needed, as far as that is known.
    reserved: Mutex<Reservation>,
}

impl Memory {
    /// At most `limit` bytes of a budget; by default, all that is left of it.
    pub(super) fn new(
        budget: &MemoryBudget,
        limit: Option<u64>,
        values: u64,
    ) -> Result<Self, SolveError> {
        let reserved = budget.reserve(0).map_err(over)?;
        Ok(Self {
            limit: limit.unwrap_or_else(|| budget.available()),
            values,
            reserved: Mutex::new(reserved),
        })
    }

    /// The reservation for a solution of this number of states, which need no more for now.
    pub(super) fn into_reserved(self, states: u64) -> Reservation {
        let bytes = self.bytes(states as f64);
        let reserved = self.reserved.into_inner();
        let mut reserved = reserved.unwrap_or_else(PoisonError::into_inner);
        reserved.shrink(bytes);
        reserved
    }

    /// Refuses a game that is far too large.
    pub(super) fn hopeful(&self, boards: &BoardCounts) -> Result<(), SolveError> {
        self.reserve(self.bytes(boards.all() / boards.ratio))
    }

    /// Whether a game certainly fits.
    pub(super) fn is_sure(&self, boards: &BoardCounts) -> bool {
        self.fits(self.bytes(boards.all() / SURE)).is_ok()
    }

    /// Refuses `states` states, of which the largest layer has `largest`, while `codes` further
    /// codes are in memory.
    pub(super) fn check(&self, states: u64, largest: u64, codes: u64) -> Result<(), SolveError> {
        // New codes are merged in addition to the old ones, so each may exist twice, and a state
        // has up to four afterstates. Later there are hash tables for some layers and one layer's
        // afterstates.
        let listing = 2 * NUMBER * (codes + 4 * largest);
        let valuing = table::BYTES * (RECENT as u64 + 1) * largest;
        self.reserve(self.bytes(states as f64) + listing.max(valuing))
    }

    /// Refuses a game of which `listed` states are listed, up to a sum, if the predicted number
    /// does not fit.
    pub(super) fn foresee(
        &self,
        boards: &BoardCounts,
        sum: u64,
        listed: u64,
    ) -> Result<(), SolveError> {
        self.reserve(self.bytes(boards.foretold(sum, listed) as f64))
    }

    fn bytes(&self, states: f64) -> u64 {
        (states * (NUMBER * (1 + self.values)) as f64) as u64
    }

    /// Reserves what is needed in all.
    fn reserve(&self, needed: u64) -> Result<(), SolveError> {
        self.fits(needed)?;
        let mut reserved = self.reserved.lock().unwrap_or_else(PoisonError::into_inner);
        reserved.grow(needed).map_err(over)
    }

    fn fits(&self, needed: u64) -> Result<(), SolveError> {
        let available = self.limit;
        if needed > available {
            return Err(SolveError::Memory { needed, available });
        }
        Ok(())
    }
}

fn over(error: OverBudget) -> SolveError {
    SolveError::Memory {
        needed: error.needed,
        available: error.available,
    }
}

/// The states that a player may reach.
pub(super) struct ReachableStates {
    /// Symmetric states per state of the solution.
    pub(super) symmetries: u64,
    /// States that are processed before their successors are merged.
    pub(super) at_once: u64,
    /// Successors of a state: two tiles for half of the cells.
    pub(super) spawns: u64,
}

impl ReachableStates {
    /// The most bytes that a measurement needs; the states that the player will reach are not known
    /// in advance.
    pub(super) fn bytes(&self, layers: &Layers) -> u64 {
        let states = |number: usize| {
            let known = number < layers.count();
            if known {
                layers.layer(number).1.len() as u64
            } else {
                0
            }
        };
        let of_layer = |number| {
            let (here, above) = (states(number), states(number + 1) + states(number + 2));
            let walking = self.symmetries * here;
            let new = self.spawns * walking.min(self.at_once);
            // New states are merged with the waiting ones, in addition to both.
            let chances = walking + 2 * (self.symmetries * above + new);
            2 * NUMBER * chances + table::BYTES * (here + above)
        };
        (0..layers.count()).map(of_layer).max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use afterstate::game::{Grid, PowersOfTwo, Shape};

    /// A board, how its game ends, its number of states, and how many of them have some sums at
    /// most.
    type Case = (usize, usize, Ending, u64, [(u64, u64); 3]);

    /// The states listed in some games, and the final numbers.
    #[test]
    fn predictions_do_not_exceed_the_number_of_states() {
        let cases: [Case; 5] = [
            (
                2,
                4,
                Ending::Stuck,
                4_980_767,
                [(102, 235_046), (510, 2_599_648), (1020, 4_980_767)],
            ),
            (
                3,
                3,
                Ending::Stuck,
                48_713_519,
                [(104, 541_652), (410, 7_976_765), (1634, 42_126_363)],
            ),
            (
                2,
                5,
                Ending::Tile(6),
                8_850_811,
                [(42, 234_579), (84, 2_418_067), (146, 7_798_876)],
            ),
            (
                3,
                4,
                Ending::Tile(5),
                31_183_085,
                [(30, 128_666), (58, 4_010_951), (114, 30_332_675)],
            ),
            (
                4,
                4,
                Ending::Tile(3),
                515_953,
                [(28, 119_449), (40, 424_214), (52, 515_623)],
            ),
        ];
        for (rows, cols, ending, all, listed) in cases {
            let game = Grid::new(Shape::new(rows, cols).unwrap(), &PowersOfTwo);
            let boards = BoardCounts::count(&Solver::new(game, ending).unwrap(), ending);
            for (sum, states) in listed {
                let foretold = boards.foretold(sum, states);
                assert!(
                    foretold <= all,
                    "{rows}x{cols}: {foretold} of {all} at {sum}"
                );
                assert!(foretold >= states, "{rows}x{cols}: {foretold} at {sum}");
                assert!(
                    4 * foretold > all,
                    "{rows}x{cols}: {foretold} of {all} at {sum}"
                );
            }
            assert_eq!(boards.foretold(4, 2), 2, "too few to tell");
        }
    }
}
