//! A solved game: every reachable state with its exact value.

use std::sync::Arc;

use afterstate::game::Shape;
use afterstate::solve::{Code, Ending, Goal, StateCode};

use super::Layers;
use crate::memory::Reservation;

/// What was solved, and its results.
#[derive(Clone, Debug, PartialEq)]
pub struct SolutionInfo {
    /// The game, by one of the names of [`crate::games::games`].
    pub game: String,
    /// The board.
    pub shape: Shape,
    /// The discount per move.
    pub discount: f64,
    /// The target tile, if there is one.
    pub target: Option<TargetTile>,
    /// The number of states, including symmetric ones.
    pub states: u64,
    /// The expected score of optimal play.
    pub expected_score: f64,
}

/// A tile to reach.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TargetTile {
    /// Its index.
    pub tile: u8,
    /// Its value.
    pub value: u64,
    /// Whether the game ends at it.
    pub ends: bool,
    /// The probability that optimal play for it reaches it.
    pub probability: f64,
}

impl SolutionInfo {
    /// The objective of the values in `score`.
    pub fn goal(&self) -> Goal {
        Goal::Score {
            discount: self.discount,
        }
    }

    /// Whether the game ends at its target.
    pub fn ends_at_target(&self) -> bool {
        self.target.is_some_and(|target| target.ends)
    }

    /// When the game is over.
    pub fn ending(&self) -> Ending {
        match self.target {
            Some(target) if target.ends => Ending::Tile(target.tile),
            _ => Ending::Stuck,
        }
    }
}

/// A solved game. A state is identified by its code, which symmetric states share; see
/// [`Code`](afterstate::solve::Code).
#[derive(Clone, Debug)]
pub struct Solution {
    pub(super) info: SolutionInfo,
    pub(super) code: Code,
    pub(super) layers: Layers,
    pub(super) score: Vec<f64>,
    pub(super) win: Option<Vec<f64>>,
    /// Whether it was read from a file without checksums.
    pub(super) lacks_checksums: bool,
    /// The memory of these numbers. Clones share it, though each has numbers of its own.
    pub(super) _reserved: Arc<Reservation>,
}

impl Solution {
    /// What was solved.
    pub fn info(&self) -> &SolutionInfo {
        &self.info
    }

    /// Whether it was read from a file of an earlier version, which has no checksums: damage of its
    /// numbers is not always found.
    pub fn lacks_checksums(&self) -> bool {
        self.lacks_checksums
    }

    /// Converts positions to codes.
    pub fn code(&self) -> &Code {
        &self.code
    }

    /// All states, by layers; their values have the same indices in [`Solution::scores`] and
    /// [`Solution::wins`].
    pub fn layers(&self) -> &Layers {
        &self.layers
    }

    /// The expected future score of every state.
    pub fn scores(&self) -> &[f64] {
        &self.score
    }

    /// Every state's probability of reaching the target, if there is one.
    pub fn wins(&self) -> Option<&[f64]> {
        self.win.as_deref()
    }

    /// The index of a state.
    pub fn place(&self, state: StateCode) -> Option<usize> {
        self.layers.place(self.code.sum(state), state)
    }

    /// The expected future score of a state; `None` if it is not reachable.
    pub fn value(&self, state: StateCode) -> Option<f64> {
        self.place(state).map(|place| self.score[place])
    }
}
