//! Learners: how a step, or a finished game, updates a network.
//!
//! Each learner works on any [`Trainable`](crate::ntuple::Trainable) network with any
//! [`UpdateRule`](crate::ntuple::UpdateRule). It sees the positions x_0, x_1, ... of a game, and
//! g_t, the reward between x_t and x_{t+1} (or the end).
//!
//! To add a learner, implement [`Learner`](crate::episode::Learner) for any `Trainable` in a file here,
//! with formula and paper at its head, and a case worked out by hand in `tests/learning.rs`; one that
//! begins further games from states of a game is a [`GameChain`]. Its keys: a variant of `Update` in
//! `recipe/learner.rs` of the lab, of `LEARNER` in `recipe/keys.rs`, ranges in `recipe/check.rs`; a
//! variant of `UpdateSpec` in `spec.rs`, an arm of `any_player` in `agent/ntuple.rs`; and a case in
//! `trainer/tests/learners.rs`.

mod backward;
mod carousel;
mod delayed;
mod forward;
mod n_step;
mod published;
mod restart;
pub mod schedule;

pub use backward::Backward;
pub use carousel::{Carousel, StartStateArrays, StartStateError, StartStates};
pub use delayed::{Delayed, horizon};
pub use forward::{Forward, OnPolicyForward};
pub use n_step::{NStep, Order};
pub use published::{PublishedBackward, PublishedParams, SlideRewards, Subtracted, TerminalTarget};
pub use restart::Restarting;

use crate::Value;
use crate::episode::LearningPolicy;
use crate::game::Game;
use crate::random::Rng;
use crate::tally::Outcome;

/// The settings of temporal-difference learning. The discount belongs to the network, because
/// choosing moves also needs it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TdParams {
    /// The learning rate, divided by the number of lookups inside the network.
    pub learning_rate: Value,
    /// Lambda: the weight of the return against the value of the next position in a target.
    pub lambda: Value,
    /// The target as published in two reports of the DLP lab, 2021, which counts each reward twice.
    pub reward_twice: bool,
}

impl Default for TdParams {
    fn default() -> Self {
        Self {
            learning_rate: 0.1,
            lambda: 0.0,
            reward_twice: false,
        }
    }
}

/// Plays a game of a training, and games from other states that follow from it.
pub trait GameChain<G: Game> {
    /// Plays a whole game and those that follow; `finished` gets the outcome of each, in order.
    fn play(&mut self, game: &G, rng: &mut Rng, finished: impl FnMut(Outcome));

    /// The player.
    fn player(&mut self) -> &mut dyn LearningPolicy<G>;
}
