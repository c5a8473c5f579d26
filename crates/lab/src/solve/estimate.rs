//! How much memory a solution will take, before it is begun and while it grows.
//!
//! Boards can be counted without listing them: the boards of n + 1 cells with a sum are those of n cells
//! with the sum less the face of the last tile, for each tile there is. Divided by the number of symmetries that
//! is more than play can come to, by a factor that nobody knows beforehand: most boards have tiles that
//! would have merged. So a game is refused at once only if it is too large by far, and otherwise listed
//! as long as there is room.

use afterstate::game::Game;
use afterstate::solve::{Ending, Packed, Solver};

use super::value::RECENT;
use super::{SolveError, table};

/// Bytes of a code, and of a value.
const NUMBER: u64 = 8;

/// Boards for each state that play comes to, at most: from 1.2 on 2x2 to 4.1 on 3x3, and more on larger ones.
const WHOLE: f64 = 10.0;
/// The same if the game ends with a target: 5 on 2x5 to 64, 7 on 3x4 to 32, 35 on 4x4 to 16.
const ENDED: f64 = 60.0;
/// Boards for each state in a game that is sure to fit.
const SURE: f64 = 2.0;

/// How many boards there are by the sum of their tiles.
pub(super) struct Boards {
    /// The boards of this sum and all smaller ones, up to symmetry.
    up_to: Vec<f64>,
    /// Boards for each state, at most.
    ratio: f64,
}

impl Boards {
    pub(super) fn count<G: Game<State: Packed, After: Packed>>(
        solver: &Solver<G>,
        ending: Ending,
    ) -> Self {
        let game = solver.game();
        let cells = game.shape().cells();
        let face = |tile| game.face(tile) as usize;
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
