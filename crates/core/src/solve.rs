//! Exact values of small boards, by layers of the tile sum.
//!
//! A slide preserves the sum of the tiles, and a spawn increases it. So the states of one sum
//! depend only on states of larger sums: list all states upwards, then compute their values
//! downwards.
//!
//! `starts -> layer -> afterstates -> layers above it -> ...     V(layer) <- afterstates <-
//! V(layers above)`
//!
//! V(s) = max over slides of r + A(s'),   A(s') = the mean of c + d V over spawns with reward c
//!
//! Symmetric boards have the same value, so only one of them is stored, packed into a number
//! (`code.rs`). `recursive.rs` is the definition, position by position, for boards that are small
//! enough; tests check that the two agree on every position.

mod code;
mod recursive;

pub use code::{AfterCode, Code, Packed, StateCode};
pub use recursive::Recursive;

use crate::game::{After, Direction, Game, State};

/// The objective to maximise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Goal {
    /// The expected score, in which a reward t moves from now is multiplied by `discount`^t.
    Score {
        /// From 0 to 1.
        discount: f64,
    },
    /// The probability of reaching a tile with this index, or a larger one.
    Reach(u8),
}

impl Goal {
    /// The value of a state if it is already decided, whatever follows.
    pub fn settled<G: Game>(self, game: &G, state: State<G::Board>) -> Option<f64> {
        match self {
            Self::Reach(tile) if game.max_tile(state) >= tile => Some(1.0),
            _ => None,
        }
    }

    /// The value of a slide with this reward and an afterstate of this value.
    #[inline(always)]
    pub fn total(self, reward: u32, after: f64) -> f64 {
        match self {
            Self::Score { .. } => f64::from(reward) + after,
            Self::Reach(_) => self.bounded(after),
        }
    }

    /// The value of a spawn with this reward and a successor of this value.
    #[inline(always)]
    pub fn spawned(self, spawn_reward: u32, state: f64) -> f64 {
        match self {
            Self::Score { discount } => f64::from(spawn_reward) + discount * state,
            Self::Reach(_) => state,
        }
    }

    /// The value of a game with this initial score and an initial state of this value.
    pub fn started(self, score: u64, state: f64) -> f64 {
        match self {
            Self::Score { .. } => score as f64 + state,
            Self::Reach(_) => state,
        }
    }

    /// Removes rounding errors from a mean of values: a probability is at most 1.
    pub fn bounded(self, mean: f64) -> f64 {
        match self {
            Self::Score { .. } => mean,
            Self::Reach(_) => mean.min(1.0),
        }
    }
}

/// How spawns are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpawnMode {
    /// At random: the mean over all spawns.
    Mean,
    /// By an adversary: the minimum.
    Worst,
    /// By an ally: the maximum.
    Best,
}

impl SpawnMode {
    /// The neutral value to which [`SpawnMode::and`] adds spawns.
    pub fn nothing(self) -> f64 {
        match self {
            Self::Mean => 0.0,
            Self::Worst => f64::INFINITY,
            Self::Best => f64::NEG_INFINITY,
        }
    }

    /// Adds a spawn with this value and this probability.
    #[inline(always)]
    pub fn and(self, so_far: f64, value: f64, chance: f64) -> f64 {
        match self {
            Self::Mean => so_far + chance * value,
            Self::Worst => so_far.min(value),
            Self::Best => so_far.max(value),
        }
    }
}

/// What values describe.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Criterion {
    /// The player's objective.
    pub goal: Goal,
    /// How spawns are chosen.
    pub spawn_mode: SpawnMode,
}

/// When a game is over, apart from the end of every game: no legal slide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Only when no slide is legal.
    Stuck,
    /// At the first tile with this index, or a larger one.
    Tile(u8),
}

impl Ending {
    /// Whether the game is over although slides may be legal.
    pub fn is_over<G: Game>(self, game: &G, state: State<G::Board>) -> bool {
        match self {
            Self::Stuck => false,
            Self::Tile(tile) => game.max_tile(state) >= tile,
        }
    }
}

/// States with the same tile sum, in the order of their codes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Layer {
    /// The sum.
    pub sum: u64,
    /// One code for each class of symmetric states.
    pub states: Vec<StateCode>,
}

/// The steps of a solution for one layer or a part of it, so that threads can work on parts.
#[derive(Clone, Debug)]
pub struct Solver<G> {
    game: G,
    code: Code,
    ending: Ending,
}

impl<G: Game<Board: Packed>> Solver<G> {
    /// Creates a solver of a game, if its positions fit into a number.
    pub fn new(game: G, ending: Ending) -> Option<Self> {
        let code = Code::new(&game)?;
        Some(Self::with_code(game, code, ending))
    }

    /// The same with an existing code of the game's positions.
    pub fn with_code(game: G, code: Code, ending: Ending) -> Self {
        Self { game, code, ending }
    }

    /// The game.
    pub fn game(&self) -> &G {
        &self.game
    }

    /// When a game is over.
    pub fn ending(&self) -> Ending {
        self.ending
    }

    /// The code of its positions.
    pub fn code(&self) -> &Code {
        &self.code
    }

    /// The initial states, with their scores and probabilities.
    pub fn starts(&self) -> Vec<(StateCode, u64, f64)> {
        let mut starts = Vec::new();
        self.game.for_each_start(|state, chance| {
            let score = self.game.initial_score(state);
            starts.push((self.code.of_state(state), score, chance));
        });
        starts
    }

    /// The number of different states with this code.
    pub fn count_symmetric(&self, state: StateCode) -> usize {
        self.code
            .count_symmetric::<G::Board>(self.code.state(state))
    }

    /// The legal slides of a state: the codes of their afterstates, and their rewards.
    #[inline]
    pub fn slides(&self, state: State<G::Board>) -> impl Iterator<Item = (AfterCode, u32)> {
        let over = self.ending.is_over(&self.game, state);
        let slides = (!over).then(|| self.game.slides(state));
        let found = slides.into_iter().flat_map(|slides| {
            let after = Direction::ALL.map(|direction| slides.get(direction));
            after.into_iter().flatten()
        });
        found.map(|slide| (self.code.of_afterstate(slide.after()), slide.reward()))
    }

    /// Visits the successors of an afterstate, with spawn rewards and probabilities.
    #[inline]
    pub fn for_each_spawn(&self, after: AfterCode, mut visit: impl FnMut(StateCode, u32, f64)) {
        let after: After<G::Board> = self.code.afterstate(after);
        self.game
            .for_each_spawn(after, |state, spawn_reward, chance| {
                visit(self.code.of_state(state), spawn_reward, chance);
            });
    }

    /// The distinct afterstates of some states, sorted.
    pub fn afters(&self, states: &[StateCode]) -> Vec<AfterCode> {
        let mut afters = Vec::with_capacity(3 * states.len());
        for &state in states {
            let slides = self.slides(self.code.state(state));
            afters.extend(slides.map(|(after, _)| after));
        }
        sorted(afters)
    }

    /// The successors of some afterstates of one sum: a layer for each spawned tile.
    pub fn above(&self, afters: &[AfterCode]) -> Vec<Layer> {
        let mut above: Vec<Layer> = Vec::new();
        for &after in afters {
            self.for_each_spawn(after, |code, _, _| {
                let sum = self.code.sum(code);
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

    /// The value of an afterstate, given those of its successors.
    #[inline]
    pub fn after_value(
        &self,
        criterion: Criterion,
        after: AfterCode,
        value: impl Fn(StateCode) -> f64,
    ) -> f64 {
        let Criterion { goal, spawn_mode } = criterion;
        let mut all = spawn_mode.nothing();
        self.for_each_spawn(after, |state, spawn_reward, p| {
            all = spawn_mode.and(all, goal.spawned(spawn_reward, value(state)), p);
        });
        all
    }

    /// The value of a state, given those of its afterstates.
    #[inline]
    pub fn state_value(
        &self,
        goal: Goal,
        state: StateCode,
        after: impl Fn(AfterCode) -> f64,
    ) -> f64 {
        let state: State<G::Board> = self.code.state(state);
        goal.settled(&self.game, state).unwrap_or_else(|| {
            let slides = self.slides(state);
            let totals = slides.map(|(next, reward)| goal.total(reward, after(next)));
            totals.reduce(f64::max).unwrap_or(0.0)
        })
    }
}

/// The distinct codes, sorted.
fn sorted<C: Copy + Ord>(mut codes: Vec<C>) -> Vec<C> {
    codes.sort_unstable();
    codes.dedup();
    codes
}

#[cfg(test)]
mod tests;
