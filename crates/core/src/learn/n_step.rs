//! n-step TD, forward and backward (Sutton and Barto 2018, chapter 7).
//!
//! V(x_t) moves towards g_t + gamma g_{t+1} + ... + gamma^(n-1) g_{t+n-1} + gamma^n V(x_{t+n}),
//!
//! where g_t is what the game earns between x_t and x_{t+1}, and V counts as 0 after the end of the
//! game. With n = 1 this is TD(0), with n beyond the length of a game the return alone.
//!
//! **Forward**, x_t is updated as soon as x_{t+n} is visited, with the value that x_{t+n} has then;
//! the last n positions are updated when the game is over, the earliest first. **Backward**, all
//! positions are updated when the game is over, the last one first, so that V(x_{t+n}) is a value
//! after its own update.

use std::marker::PhantomData;

use crate::Value;
use crate::episode::{Learner, Step, TdErrorStats};
use crate::game::{Game, State};
use crate::ntuple::{Trainable, TrajectoryStep, UpdateRule};

/// When positions are updated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// During the game.
    Forward,
    /// After the game, last position first.
    Backward,
}

/// Stores positions and updates each from the n rewards after it.
pub struct NStep<'n, G: Game, N: Trainable<G>, R> {
    network: &'n N,
    order: Order,
    n: usize,
    learning_rate: Value,
    /// Positions that are not updated yet, the earliest first.
    trajectory: Vec<TrajectoryStep<N::Input>>,
    /// Buffers of a backward update: the value of each position after its update.
    values: Vec<Value>,
    at: N::Located,
    td_errors: TdErrorStats,
    rule: PhantomData<R>,
}

impl<'n, G: Game, N: Trainable<G>, R: UpdateRule> NStep<'n, G, N, R> {
    /// A learner that updates this network from `n` rewards.
    ///
    /// # Panics
    /// When the network does not fit the game, or `n` is 0.
    pub fn new(game: &G, network: &'n N, order: Order, n: usize) -> Self {
        network.assert_fits(game);
        assert!(n > 0);
        Self {
            network,
            order,
            n,
            learning_rate: 0.0,
            trajectory: Vec::new(),
            values: Vec::new(),
            at: N::Located::default(),
            td_errors: TdErrorStats::default(),
            rule: PhantomData,
        }
    }

    /// The discounted sum of what the game earned from a position on: `rewards` are those of the
    /// positions, one after the other, and `then` follows them.
    fn sum(&self, rewards: impl DoubleEndedIterator<Item = Value>, then: Value) -> Value {
        let discount = self.network.discount();
        rewards
            .rev()
            .fold(then, |sum, reward| reward + discount * sum)
    }

    /// The rewards between the positions from `from` on, and the last of `count` positions.
    fn earned(&self, from: usize, count: usize) -> impl DoubleEndedIterator<Item = Value> + '_ {
        let pairs = self.trajectory[from..=from + count].windows(2);
        pairs.map(|pair| pair[0].reward_out + pair[1].reward_in)
    }

    fn update(&mut self, position: N::Input, target: Value) -> Value {
        self.network.locate_positions([position; 4], &mut self.at);
        let rate = self.learning_rate;
        let updated = self
            .network
            .update::<R>(position, &mut self.at, 0, target, rate);
        self.td_errors.add(updated.delta);
        updated.value
    }

    /// Updates the first position, whose n-th successor is known.
    fn update_first(&mut self) {
        let last = self.trajectory[self.n].position;
        self.network.locate_positions([last; 4], &mut self.at);
        let value = self.network.value_at(&self.at, 0);
        // Each reward is discounted with what follows it, so that `value` is discounted n times.
        let target = self.sum(self.earned(0, self.n), value);
        self.update(self.trajectory[0].position, target);
        self.trajectory.remove(0);
    }

    /// The target of position t from the rewards until the end, the last of which is `end`.
    fn target_to_end(&self, t: usize, end: Value) -> Value {
        let last = self.trajectory.len() - 1;
        self.sum(self.earned(t, last - t), end)
    }
}

impl<G: Game, N: Trainable<G>, R: UpdateRule> Learner<G> for NStep<'_, G, N, R> {
    fn step(&mut self, step: &Step<G>) {
        self.trajectory.push(self.network.trajectory_step(step));
        if self.order == Order::Forward && self.trajectory.len() > self.n {
            self.update_first();
        }
    }

    fn finish(&mut self, _: State<G::Board>, spawn_reward: u32) {
        let Some(last) = self.trajectory.last() else {
            return;
        };
        let end = last.reward_out + self.network.spawn_reward(spawn_reward);
        let count = self.trajectory.len();
        match self.order {
            Order::Forward => {
                for t in 0..count {
                    let target = self.target_to_end(t, end);
                    self.update(self.trajectory[t].position, target);
                }
            }
            Order::Backward => {
                self.values.clear();
                self.values.resize(count, 0.0);
                for t in (0..count).rev() {
                    let target = match t + self.n < count {
                        true => self.sum(self.earned(t, self.n), self.values[t + self.n]),
                        false => self.target_to_end(t, end),
                    };
                    self.values[t] = self.update(self.trajectory[t].position, target);
                }
            }
        }
        self.trajectory.clear();
    }

    fn set_learning_rate(&mut self, learning_rate: Value) {
        self.learning_rate = learning_rate;
    }

    fn td_errors(&self) -> TdErrorStats {
        self.td_errors
    }
}
