//! TD(0) during the game: each position is updated as soon as the next one is known.
//!
//! V(x_t) moves towards g_t + gamma V(x_{t+1}); the last position towards g_T alone.
//!
//! For afterstates gamma V(x_{t+1}) is the value that chose the move, read before x_t is updated. A
//! learner may reuse the policy's value only if both read the same network:
//! [`Forward::with_policy`] creates such a pair, and the types guarantee it.

use std::marker::PhantomData;

use crate::Value;
use crate::episode::{Learner, Step, TdErrorStats};
use crate::game::{Game, State};
use crate::ntuple::UpdateRule;
use crate::ntuple::{Trainable, TrajectoryStep};
use crate::policy::{Greedy, Ties};

/// The learner reads every value itself: it works with any policy.
#[derive(Clone, Copy, Debug)]
pub enum ReadAgain {}

/// The learner reuses the values of the greedy policy of its own network.
#[derive(Clone, Copy, Debug)]
pub enum Trusted {}

/// Holds one position and updates it when its successor is known.
pub struct Forward<'n, G: Game, N: Trainable<G>, R, T = ReadAgain> {
    network: &'n N,
    learning_rate: Value,
    last: Option<TrajectoryStep<N::Input>>,
    at: N::Located,
    td_errors: TdErrorStats,
    kind: PhantomData<(R, T)>,
}

impl<'n, G: Game, N: Trainable<G>, R: UpdateRule> Forward<'n, G, N, R> {
    /// A learner that updates this network, with any policy.
    pub fn new(network: &'n N, learning_rate: Value) -> Self {
        Self::make(network, learning_rate)
    }
}

impl<'n, G: Game, N: Trainable<G>, R: UpdateRule> Forward<'n, G, N, R, Trusted> {
    /// The greedy policy of a network, and a learner that updates the same network and reuses the
    /// values that the policy has read.
    pub fn with_policy(
        game: &G,
        network: &'n N,
        ties: Ties,
        learning_rate: Value,
    ) -> (Greedy<'n, G, N>, Self) {
        (
            Greedy::new(game, network, ties),
            Self::make(network, learning_rate),
        )
    }
}

impl<'n, G: Game, N: Trainable<G>, R: UpdateRule, T> Forward<'n, G, N, R, T> {
    fn make(network: &'n N, learning_rate: Value) -> Self {
        Self {
            network,
            learning_rate,
            last: None,
            at: N::Located::default(),
            td_errors: TdErrorStats::default(),
            kind: PhantomData,
        }
    }

    /// `next_value` is the discounted value of the position that the step visits, where it is
    /// known.
    #[inline(always)]
    fn observe(&mut self, step: &Step<G>, next_value: Option<Value>) {
        let next = self.network.trajectory_step(step);
        if let Some(last) = self.last.replace(next) {
            let next_value = match next_value {
                Some(value) => value,
                None => {
                    self.network
                        .locate_positions([next.position; 4], &mut self.at);
                    self.network.discount() * self.network.value_at(&self.at, 0)
                }
            };
            self.learn(&last, last.reward_out + next.reward_in + next_value);
        }
    }

    #[inline(always)]
    fn learn(&mut self, visited: &TrajectoryStep<N::Input>, target: Value) {
        let position = visited.position;
        self.network.locate_positions([position; 4], &mut self.at);
        let rate = self.learning_rate;
        let updated = self
            .network
            .update::<R>(position, &mut self.at, 0, target, rate);
        self.td_errors.add(updated.delta);
    }

    fn end(&mut self, spawn_reward: u32) {
        if let Some(last) = self.last.take() {
            self.learn(
                &last,
                last.reward_out + self.network.spawn_reward(spawn_reward),
            );
        }
    }
}

macro_rules! learner {
    ($trust:ty, $estimate:ty, $($generic:ident)?, |$seen:ident| $known:expr) => {
        impl<G: Game, N: Trainable<G>, R: UpdateRule $(, $generic)?> Learner<G, $estimate>
            for Forward<'_, G, N, R, $trust>
        {
            #[inline(always)]
            fn step(&mut self, step: &Step<G>, $seen: $estimate) {
                self.observe(step, $known);
            }

            fn finish(&mut self, _: State<G::Board>, spawn_reward: u32) {
                self.end(spawn_reward);
            }

            fn set_learning_rate(&mut self, learning_rate: Value) {
                self.learning_rate = learning_rate;
            }

            fn td_errors(&self) -> TdErrorStats {
                self.td_errors
            }
        }
    };
}

learner!(ReadAgain, E, E, |_estimate| None);
learner!(Trusted, N::Estimate, , |estimate| N::known_value(estimate));
