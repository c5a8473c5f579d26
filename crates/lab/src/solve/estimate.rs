//! How much memory a solution will take, before it is begun and while it grows.
//!
//! Boards can be counted without listing them: the boards of n + 1 cells with a sum are those of n cells
//! with the sum less the face of the last tile, for each tile there is. Divided by the number of symmetries that
//! is more than play can come to, by a factor that nobody knows beforehand: most boards have tiles that
//! would have merged. So a game is refused at once only if it is too large by far. Otherwise it is listed
//! as long as there is room for it and for what the layers so far foretell: play comes to a smaller share of
//! the boards the larger their sums are, but not much smaller, so the share so far bounds what is to come.

use afterstate::game::Game;
use afterstate::solve::{Ending, Packed, Solver};

use super::value::RECENT;
use super::{Layers, SolveError, table};

/// Bytes of a code, and of a value.
const NUMBER: u64 = 8;

/// Boards for each state that play comes to, at most: from 1.2 on 2x2 to 4.1 on 3x3, and more on larger ones.
const WHOLE: f64 = 10.0;
/// The same if the game ends with a target: 5 on 2x5 to 64, 7 on 3x4 to 32, 35 on 4x4 to 16.
const ENDED: f64 = 60.0;
/// Boards for each state in a game that is sure to fit.
const SURE: f64 = 2.0;

/// States that tell enough of a game: among fewer the starts count for too much.
const ENOUGH: u64 = 100_000;
/// How much more frequent states are among the first boards than among all, at most. Measured where there are
/// [`ENOUGH`]: 2.4 on 2x4, 2.3 on 3x3, 2.5 on 2x5 to 64, 2.0 on 4x4 to 8.
const EARLY: f64 = 3.0;

/// How many boards there are by the sum of their tiles.
pub(super) struct Boards {
    /// The boards of this sum and all smaller ones, up to symmetry.
    up_to: Vec<f64>,
    /// Boards for each state, at most.
    ratio: f64,
}

impl Boards {
    pub(super) fn count<G: Game<Board: Packed>>(solver: &Solver<G>, ending: Ending) -> Self {
        let game = solver.game();
        let cells = game.shape().cells();
        let face = |tile| game.tile_value(tile) as usize;
        let (largest, last) = match ending {
            Ending::Stuck => (game.largest_tile(), None),
            Ending::Tile(tile) => (tile - 1, Some(face(tile))),
        };
        let faces: Vec<usize> = (0..=largest).map(face).collect();
        // The fullest board has each of the largest tiles once, unless the game ends before that.
        let fullest: usize = match last {
            None => faces.iter().rev().take(cells).sum(),
            Some(last) => cells * faces[faces.len() - 1] + last,
        };
        // Boards of some cells without the last tile, and with one of it: more come at once so rarely that
        // they are left out.
        let mut without = vec![0.0; fullest + 1];
        let mut with = without.clone();
        without[0] = 1.0 / solver.code().symmetries() as f64;
        for _ in 0..cells {
            let after = |ways: &[f64], sum: usize, face: usize| {
                sum.checked_sub(face).map_or(0.0, |below| ways[below])
            };
            let more = |ways: &[f64], sum: usize| -> f64 {
                faces.iter().map(|&face| after(ways, sum, face)).sum()
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

    /// How many states there are at least, if so many have this sum or a smaller one.
    pub(super) fn foretold(&self, sum: u64, states: u64) -> u64 {
        if states < ENOUGH {
            return states;
        }
        let share = self.share(sum);
        // Down to one in the end, when nothing is left to be foretold.
        let early = EARLY + (1.0 - EARLY) * share;
        states.max((states as f64 / (share * early)) as u64)
    }
}

/// The memory that a solution may take.
#[derive(Clone, Copy, Debug)]
pub(super) struct Memory {
    /// In bytes.
    pub(super) limit: u64,
    /// Values that are kept for each state.
    pub(super) values: u64,
}

impl Memory {
    /// Refuses a game that is too large by far.
    pub(super) fn hopeful(&self, boards: &Boards) -> Result<(), SolveError> {
        self.fits(self.bytes(boards.all() / boards.ratio))
    }

    /// Whether a game will fit without a doubt.
    pub(super) fn is_sure(&self, boards: &Boards) -> bool {
        self.fits(self.bytes(boards.all() / SURE)).is_ok()
    }

    /// Refuses so many states, of which the largest layer has `largest`, while so many codes more are at hand.
    pub(super) fn check(&self, states: u64, largest: u64, codes: u64) -> Result<(), SolveError> {
        // New codes are merged beside the old ones: each may be there twice, and a state has up to four
        // afterstates. Later there will be tables, for some layers and one layer's afterstates.
        let listing = 2 * NUMBER * (codes + 4 * largest);
        let valuing = table::BYTES * (RECENT as u64 + 1) * largest;
        self.fits(self.bytes(states as f64) + listing.max(valuing))
    }

    /// Refuses a game of which so many states are listed, up to a sum, if what that foretells does not fit.
    pub(super) fn foresee(&self, boards: &Boards, sum: u64, listed: u64) -> Result<(), SolveError> {
        self.fits(self.bytes(boards.foretold(sum, listed) as f64))
    }

    fn bytes(&self, states: f64) -> u64 {
        (states * (NUMBER * (1 + self.values)) as f64) as u64
    }

    fn fits(&self, needed: u64) -> Result<(), SolveError> {
        let available = self.limit;
        if needed > available {
            return Err(SolveError::Memory { needed, available });
        }
        Ok(())
    }
}

/// The states that a player may come to.
pub(super) struct Crowd {
    /// How many of them there are for one of the solution.
    pub(super) images: u64,
    /// How many of them are walked from before what comes of them is merged.
    pub(super) at_once: u64,
    /// How many come of one: two new tiles for half of the cells.
    pub(super) spawns: u64,
}

impl Crowd {
    /// The bytes that a walk through some layers takes at most: nobody knows beforehand where the player goes.
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
            let walking = self.images * here;
            let new = self.spawns * walking.min(self.at_once);
            // What is new is merged with what waits, beside both.
            let chances = walking + 2 * (self.images * above + new);
            2 * NUMBER * chances + table::BYTES * (here + above)
        };
        (0..layers.count()).map(of_layer).max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use afterstate::game::{Grid, PowersOfTwo, Shape};

    /// A board, how its game ends, how many states it has, and how many of them have some sum at most.
    type Case = (usize, usize, Ending, u64, [(u64, u64); 3]);

    /// What was listed of some games, and how many states there are in the end.
    #[test]
    fn no_more_is_foretold_than_there_is() {
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
            let boards = Boards::count(&Solver::new(game, ending).unwrap(), ending);
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
