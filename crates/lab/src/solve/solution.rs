//! A solved game: every state that play can come to, with its exact value.

use afterstate::game::Shape;
use afterstate::solve::{Code, Ending, Goal};

use super::Layers;

/// What was solved, and what came of it.
#[derive(Clone, Debug, PartialEq)]
pub struct About {
    /// The game, by one of the names of [`crate::games::games`].
    pub game: String,
    /// The board.
    pub shape: Shape,
    /// What later rewards count.
    pub discount: f64,
    /// The tile to reach, if one was asked for.
    pub target: Option<Target>,
    /// All states, with all images of each.
    pub states: u64,
    /// What the best play for the score earns on average.
    pub expected_score: f64,
}

/// A tile to reach.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Target {
    /// Its index.
    pub tile: u8,
    /// Its face value.
    pub face: u64,
    /// Whether the game ends with it.
    pub ends: bool,
    /// How likely the best play for it comes to it.
    pub probability: f64,
}

impl About {
    /// What the values called score are of.
    pub fn goal(&self) -> Goal {
        Goal::Score {
            discount: self.discount,
        }
    }

    /// Whether the game ends with its target.
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

/// A solved game. States are known by their codes, one for each and its images; see
/// [`Code`](afterstate::solve::Code).
#[derive(Clone, Debug)]
pub struct Solution {
    pub(super) about: About,
    pub(super) code: Code,
    pub(super) layers: Layers,
    pub(super) score: Vec<f64>,
    pub(super) win: Option<Vec<f64>>,
}

impl Solution {
    /// What was solved.
    pub fn about(&self) -> &About {
        &self.about
    }

    /// From positions to codes.
    pub fn code(&self) -> &Code {
        &self.code
    }

    /// All states, by layers; their values are at the same places in [`Solution::scores`] and
    /// [`Solution::wins`].
    pub fn layers(&self) -> &Layers {
        &self.layers
    }

    /// The expected score to come of every state.
    pub fn scores(&self) -> &[f64] {
        &self.score
    }

    /// Every state's probability of the target, if there is one.
    pub fn wins(&self) -> Option<&[f64]> {
        self.win.as_deref()
    }

    /// The place of a state among all.
    pub fn place(&self, state: u64) -> Option<usize> {
        self.layers.place(self.code.sum(state), state)
    }

    /// The expected score to come of a state; `None` if play never comes to it.
    pub fn value(&self, state: u64) -> Option<f64> {
        self.place(state).map(|place| self.score[place])
    }
}
