//! Exact values of small boards, by layers of the tile sum.
//!
//! A slide keeps the sum of the tiles, a new tile raises it. So the states of one sum depend only on
//! states of larger sums: all of them can be listed upwards, and then valued downwards.
//!
//! `starts -> layer -> afterstates -> layers above it -> ...     V(layer) <- afterstates <- V(layers above)`
//!
//! V(s) = max over slides of r + d A(s'),   A(s') = the mean of V over new tiles
//!
//! A board and its images are worth the same, so only one of them is kept, packed into a number
//! (`code.rs`). `recursive.rs` is the same by its definition, position by position, for boards that are
//! small enough; the two agree on every position.

mod code;
mod recursive;

pub use code::{Code, Packed};
pub use recursive::Recursive;

use crate::game::Game;

/// What is made as large as possible.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Goal {
    /// The expected score, in which what a move earns t moves from now counts `discount`^t.
    Score {
        /// From 0 to 1.
        discount: f64,
    },
    /// The probability of a tile with this index, or a larger one.
    Reach(u8),
}

impl Goal {
    /// What a state is worth whatever follows, if that is known.
    fn settled<G: Game>(self, game: &G, state: G::State) -> Option<f64> {
        match self {
            Self::Reach(tile) if game.largest(state) >= tile => Some(1.0),
            _ => None,
        }
    }

    /// What a slide is worth that earns `reward` and leads to an afterstate of this value.
    fn total(self, reward: u32, after: f64) -> f64 {
        match self {
            Self::Score { discount } => f64::from(reward) + discount * after,
            Self::Reach(_) => after,
        }
    }
}

/// States with the same sum of tiles, in the order of their codes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Layer {
    /// The sum.
    pub sum: u64,
    /// One code for each state and its images.
    pub states: Vec<u64>,
}

/// The rules of a solution, for one layer or a part of it at a time: who has several threads gives each a
/// part.
#[derive(Clone, Debug)]
pub struct Solver<G> {
    game: G,
    code: Code,
    goal: Goal,
}

impl<G: Game> Solver<G>
where
    G::State: Packed,
    G::After: Packed,
{
    /// A solver of a game, if its board has at most 16 cells.
    pub fn new(game: G, goal: Goal) -> Option<Self> {
        let code = Code::new(game.shape())?;
        Some(Self { game, code, goal })
    }

    /// The codes of states.
    pub fn code(&self) -> &Code {
        &self.code
    }

    /// The states a game may start with, with their chances.
    pub fn starts(&self) -> Vec<(u64, f64)> {
        let mut starts = Vec::new();
        self.game
            .for_each_start(|state, chance| starts.push((self.code.of(state), chance)));
        starts
    }

    /// The sum of the tiles of a position.
    pub fn sum(&self, code: u64) -> u64 {
        let tiles = self.code.tiles(code);
        tiles.iter().map(|&tile| self.game.face(tile)).sum()
    }

    /// The afterstates of some states, in order, each once.
    pub fn afters(&self, states: &[u64]) -> Vec<u64> {
        let mut afters = Vec::new();
        for &state in states {
            let state: G::State = self.code.position(state);
            if self.goal.settled(&self.game, state).is_none() {
                let slides = self.game.slides(state);
                afters.extend(slides.legal().map(|(_, after, _)| self.code.of(after)));
            }
        }
        sorted(afters)
    }

    /// The states that new tiles make of some afterstates of one sum: a layer for each new tile.
    pub fn above(&self, afters: &[u64]) -> Vec<Layer> {
        let mut above: Vec<Layer> = Vec::new();
        for &after in afters {
            self.game
                .for_each_spawn(self.code.position(after), |state, _| {
                    let code = self.code.of(state);
                    let sum = self.sum(code);
                    match above.iter_mut().find(|layer| layer.sum == sum) {
                        Some(layer) => layer.states.push(code),
                        None => above.push(Layer {
                            sum,
                            states: vec![code],
                        }),
                    }
                });
        }
        for layer in &mut above {
            layer.states = sorted(std::mem::take(&mut layer.states));
        }
        above
    }

    /// The mean value of what new tiles make of an afterstate.
    pub fn after_value(&self, after: u64, value: impl Fn(u64) -> f64) -> f64 {
        let mut mean = 0.0;
        self.game
            .for_each_spawn(self.code.position(after), |state, chance| {
                mean += chance * value(self.code.of(state));
            });
        mean
    }

    /// The value of a state, given those of its afterstates.
    pub fn state_value(&self, state: u64, after: impl Fn(u64) -> f64) -> f64 {
        let state: G::State = self.code.position(state);
        self.goal.settled(&self.game, state).unwrap_or_else(|| {
            let slides = self.game.slides(state);
            let totals = slides
                .legal()
                .map(|(_, next, reward)| self.goal.total(reward, after(self.code.of(next))));
            totals.reduce(f64::max).unwrap_or(0.0)
        })
    }
}

fn sorted(mut codes: Vec<u64>) -> Vec<u64> {
    codes.sort_unstable();
    codes.dedup();
    codes
}

#[cfg(test)]
mod tests;
