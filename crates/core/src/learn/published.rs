//! Backward updates of state values as two course reports published them, flaws included. For what
//! textbooks say, and for speed, there is [`Backward`](super::Backward).
//!
//! A game visits the states s_1, ..., s_T, in which moves with the rewards r_1, ..., r_T are made.
//! After the game, from its last state to its first, V(s_t) changes by
//!
//! `learning rate * (r_t + z - subtracted)`, and then z = gamma V(s_t),
//!
//! with these differences from the textbook:
//!
//! - [`TerminalTarget::Negated`] ("DLP Homework 2", 2021): s_T is not updated at all, and
//!   z = -gamma V(s_T) for the state before it, so that V(s_{T-1}) moves towards r_{T-1} - V(s_T).
//! - [`Subtracted`] (the second DLP lab report, 2021): the error is taken against a number that was
//!   stored when the move was chosen, not against V(s_t) as it is at the update.
//! - `reward_twice` (both DLP lab reports): z = r_t + gamma V(s_t).

use crate::Value;
use crate::episode::{LearningPolicy, Step, TdErrorStats};
use crate::game::{Game, Slide, State};
use crate::ntuple::{Td, Trainable, TrajectoryStep};
use crate::policy::{Greedy, Ties};
use crate::random::Rng;
use crate::value::Decision;

/// How the last state of a game is treated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TerminalTarget {
    /// It moves towards its reward alone.
    #[default]
    Zero,
    /// It is not updated, and the state before it moves towards its reward minus the value of the
    /// last one.
    Negated,
}

/// What the error subtracts from the target.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Subtracted {
    /// The value at the update.
    #[default]
    Value,
    /// The value of the state when its move was chosen.
    StoredValue,
    /// The reward of the chosen move and the expected value after it, when it was chosen.
    StoredTotal,
    /// The same of the move before, which is an estimate of V(s_t) without its reward; V(s_1) in the
    /// first state.
    StoredPrevious,
}

/// The settings of [`PublishedBackward`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PublishedParams {
    /// How the last state is treated.
    pub end: TerminalTarget,
    /// What the error subtracts.
    pub subtracted: Subtracted,
    /// Whether each reward counts twice.
    pub reward_twice: bool,
}

/// The greedy policy of a network, and a learner of the same network that updates it after the game
/// as published.
pub struct PublishedBackward<'n, G: Game, N: Trainable<G>> {
    policy: Greedy<'n, G, N>,
    network: &'n N,
    params: PublishedParams,
    learning_rate: Value,
    /// Each visited position, and what was stored with it.
    trajectory: Vec<(TrajectoryStep<N::Input>, Value)>,
    /// The reward of the last move and the expected value after it.
    previous: Option<Value>,
    at: N::Located,
    td_errors: TdErrorStats,
}

impl<'n, G: Game, N: Trainable<G>> PublishedBackward<'n, G, N> {
    /// A player that chooses by a network and updates it.
    ///
    /// # Panics
    /// When the network does not fit the game.
    pub fn new(game: &G, network: &'n N, ties: Ties, params: PublishedParams) -> Self {
        Self {
            policy: Greedy::new(game, network, ties),
            network,
            params,
            learning_rate: 0.0,
            trajectory: Vec::new(),
            previous: None,
            at: N::Located::default(),
            td_errors: TdErrorStats::default(),
        }
    }

    /// Takes a step that was made, to learn it after the game. `total` is the reward of its slide and
    /// the expected value after it.
    pub fn observe(&mut self, step: &Step<G>, total: Value) {
        let visited = self.network.trajectory_step(step);
        let stored = match (self.params.subtracted, self.previous) {
            (Subtracted::Value, _) => 0.0,
            (Subtracted::StoredTotal, _) => total,
            (Subtracted::StoredPrevious, Some(previous)) => previous,
            (Subtracted::StoredValue | Subtracted::StoredPrevious, _) => {
                self.value(visited.position)
            }
        };
        self.previous = Some(total);
        self.trajectory.push((visited, stored));
    }

    fn value(&mut self, position: N::Input) -> Value {
        self.network.locate_positions([position; 4], &mut self.at);
        self.network.value_at(&self.at, 0)
    }
}

impl<G: Game, N: Trainable<G>> LearningPolicy<G> for PublishedBackward<'_, G, N> {
    fn act(
        &mut self,
        game: &G,
        decision: &Decision<G>,
        spawn_reward: u32,
        rng: &mut Rng,
    ) -> Slide<G::Board> {
        let (slide, chosen) = self.policy.choose_with_value(game, decision, rng);
        let step = Step::new(decision, slide, spawn_reward);
        self.observe(&step, chosen.total);
        slide
    }

    fn finish(&mut self, _: State<G::Board>, spawn_reward: u32) {
        let discount = self.network.discount();
        let mut z = self.network.spawn_reward(spawn_reward);
        let mut trajectory = std::mem::take(&mut self.trajectory);
        self.previous = None;
        if self.params.end == TerminalTarget::Negated
            && let Some((last, _)) = trajectory.pop()
        {
            z = last.reward_in - discount * self.value(last.position);
        }
        for (visited, stored) in trajectory.drain(..).rev() {
            let target = visited.reward_out + z;
            let now = self.value(visited.position);
            let towards = match self.params.subtracted {
                Subtracted::Value => target,
                Subtracted::StoredValue | Subtracted::StoredTotal | Subtracted::StoredPrevious => {
                    now + target - stored
                }
            };
            let rate = self.learning_rate;
            let updated =
                self.network
                    .update::<Td>(visited.position, &mut self.at, 0, towards, rate);
            self.td_errors.add(updated.delta);
            z = visited.reward_in + discount * updated.value;
            if self.params.reward_twice {
                z += visited.reward_out + visited.reward_in;
            }
        }
        self.trajectory = trajectory;
    }

    fn set_learning_rate(&mut self, learning_rate: Value) {
        self.learning_rate = learning_rate;
    }

    fn td_errors(&self) -> TdErrorStats {
        self.td_errors
    }
}

/// A player that does not see the rewards of spawns, as in the report of Theory of Computer Games:
/// it learns from the reward of its slides alone.
pub struct SlideRewards<P>(pub P);

impl<G: Game, P: LearningPolicy<G>> LearningPolicy<G> for SlideRewards<P> {
    fn act(&mut self, game: &G, decision: &Decision<G>, _: u32, rng: &mut Rng) -> Slide<G::Board> {
        self.0.act(game, decision, 0, rng)
    }

    fn finish(&mut self, state: State<G::Board>, _: u32) {
        self.0.finish(state, 0);
    }

    fn set_learning_rate(&mut self, learning_rate: Value) {
        self.0.set_learning_rate(learning_rate);
    }

    fn td_errors(&self) -> TdErrorStats {
        self.0.td_errors()
    }
}
