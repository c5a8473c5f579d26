//! TD(0) during the game: each position is updated as soon as the next one is known.
//!
//! V(x_t) moves towards g_t + gamma V(x_{t+1}); the last position towards g_T alone.
//!
//! For afterstates gamma V(x_{t+1}) is the value that chose the move, read before x_t is updated.
//! Only a learner of the network that chose the move may reuse it. So [`OnPolicyForward`] owns both
//! the greedy policy of a network and the learner of the same network, and the value never leaves
//! it. A [`Forward`] beside any other policy reads every value itself.

use std::marker::PhantomData;

use crate::Value;
use crate::episode::{Learner, LearningPolicy, Step, TdErrorStats};
use crate::game::{Game, Slide, State};
use crate::ntuple::UpdateRule;
use crate::ntuple::{Trainable, TrajectoryStep};
use crate::policy::{Greedy, Ties};
use crate::random::Rng;
use crate::value::Decision;

/// Holds one position and updates it when its successor is known.
pub struct Forward<'n, G: Game, N: Trainable<G>, R> {
    network: &'n N,
    learning_rate: Value,
    last: Option<TrajectoryStep<N::Input>>,
    at: N::Located,
    td_errors: TdErrorStats,
    rule: PhantomData<R>,
}

impl<'n, G: Game, N: Trainable<G>, R: UpdateRule> Forward<'n, G, N, R> {
    /// A learner that updates this network, with any policy.
    ///
    /// # Panics
    /// When the network does not fit the game.
    pub fn new(game: &G, network: &'n N, learning_rate: Value) -> Self {
        network.assert_fits(game);
        Self {
            network,
            learning_rate,
            last: None,
            at: N::Located::default(),
            td_errors: TdErrorStats::default(),
            rule: PhantomData,
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

impl<G: Game, N: Trainable<G>, R: UpdateRule> Learner<G> for Forward<'_, G, N, R> {
    #[inline(always)]
    fn step(&mut self, step: &Step<G>) {
        self.observe(step, None);
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

/// The greedy policy of a network, and a [`Forward`] learner of the same network that reuses the
/// values that the policy has read.
pub struct OnPolicyForward<'n, G: Game, N: Trainable<G>, R> {
    policy: Greedy<'n, G, N>,
    learner: Forward<'n, G, N, R>,
}

impl<'n, G: Game, N: Trainable<G>, R: UpdateRule> OnPolicyForward<'n, G, N, R> {
    /// A player that chooses by a network and updates it.
    ///
    /// # Panics
    /// When the network does not fit the game.
    pub fn new(game: &G, network: &'n N, ties: Ties, learning_rate: Value) -> Self {
        Self {
            policy: Greedy::new(game, network, ties),
            learner: Forward::new(game, network, learning_rate),
        }
    }
}

impl<G: Game, N: Trainable<G>, R: UpdateRule> LearningPolicy<G> for OnPolicyForward<'_, G, N, R> {
    #[inline(always)]
    fn act(
        &mut self,
        game: &G,
        decision: &Decision<G>,
        spawn_reward: u32,
        rng: &mut Rng,
    ) -> Slide<G::Board> {
        let (slide, value) = self.policy.choose_with_value(game, decision, rng);
        let step = Step::new(decision, slide, spawn_reward);
        self.learner.observe(&step, N::known_value(value));
        slide
    }

    fn finish(&mut self, _: State<G::Board>, spawn_reward: u32) {
        self.learner.end(spawn_reward);
    }

    fn set_learning_rate(&mut self, learning_rate: Value) {
        self.learner.learning_rate = learning_rate;
    }

    fn td_errors(&self) -> TdErrorStats {
        self.learner.td_errors
    }
}
