//! Delayed TD(lambda): a position is updated during the game, once the errors of the next few moves
//! are known (Jaskowski 2018, "Delayed TC(lambda)").
//!
//! delta_t = g_t + gamma V(x_{t+1}) - V(x_t), by the values at move t + 1;
//! V(x_{t-h+1}) moves by the learning rate times the sum over k < h of
//! (gamma lambda)^k delta_{t-h+1+k}, h = ceil(log_lambda 0.1).
//!
//! So the last h errors are stored, 4 for a lambda of 0.5, and the oldest position is updated: the
//! terms that are left out have a share of less than a tenth. When the game is over, the last error
//! is g_T - V(x_T), and the positions that are left are updated from what there is, the oldest
//! first. With lambda 0 this is TD(0).
//!
//! With [`Tc`](crate::ntuple::Tc) the sums E and A of a weight grow by the weighted sum, which is the
//! error that it is updated by.

use std::collections::VecDeque;
use std::marker::PhantomData;

use crate::Value;
use crate::episode::{Learner, Step, TdErrorStats};
use crate::game::{Game, State};
use crate::ntuple::{Trainable, TrajectoryStep, UpdateRule};

/// The smallest share that a stored error has.
const SMALLEST: f64 = 0.1;

/// The errors that are stored for a lambda from 0 to below 1.
pub fn horizon(lambda: Value) -> usize {
    match lambda > 0.0 {
        true => (SMALLEST.ln() / f64::from(lambda).ln()).ceil().max(1.0) as usize,
        false => 1,
    }
}

/// Stores the last positions and their errors, and updates the oldest.
pub struct Delayed<'n, G: Game, N: Trainable<G>, R> {
    network: &'n N,
    lambda: Value,
    horizon: usize,
    learning_rate: Value,
    /// The position whose error is not known yet.
    last: Option<TrajectoryStep<N::Input>>,
    /// Positions that are not updated yet with their errors, the oldest first.
    waiting: VecDeque<(N::Input, Value)>,
    at: N::Located,
    td_errors: TdErrorStats,
    rule: PhantomData<R>,
}

impl<'n, G: Game, N: Trainable<G>, R: UpdateRule> Delayed<'n, G, N, R> {
    /// A learner that updates this network.
    ///
    /// # Panics
    /// When the network does not fit the game, or lambda is not from 0 to below 1.
    pub fn new(game: &G, network: &'n N, lambda: Value) -> Self {
        network.assert_fits(game);
        assert!((0.0..1.0).contains(&lambda));
        Self {
            network,
            lambda,
            horizon: horizon(lambda),
            learning_rate: 0.0,
            last: None,
            waiting: VecDeque::new(),
            at: N::Located::default(),
            td_errors: TdErrorStats::default(),
            rule: PhantomData,
        }
    }

    fn value(&mut self, position: N::Input) -> Value {
        self.network.locate_positions([position; 4], &mut self.at);
        self.network.value_at(&self.at, 0)
    }

    /// Stores the error of a position; `target` is the reward after it and the value that follows.
    fn store(&mut self, visited: &TrajectoryStep<N::Input>, target: Value) {
        let error = target - self.value(visited.position);
        self.waiting.push_back((visited.position, error));
    }

    /// Updates the oldest position from all errors that are stored.
    fn update_oldest(&mut self) {
        let decay = self.network.discount() * self.lambda;
        let errors = self.waiting.iter().rev();
        let error = errors.fold(0.0, |sum, (_, error)| error + decay * sum);
        let Some((position, _)) = self.waiting.pop_front() else {
            return;
        };
        let target = self.value(position) + error;
        let rate = self.learning_rate;
        let updated = self
            .network
            .update::<R>(position, &mut self.at, 0, target, rate);
        self.td_errors.add(updated.delta);
    }
}

impl<G: Game, N: Trainable<G>, R: UpdateRule> Learner<G> for Delayed<'_, G, N, R> {
    fn step(&mut self, step: &Step<G>) {
        let next = self.network.trajectory_step(step);
        if let Some(last) = self.last.replace(next) {
            let then = self.network.discount() * self.value(next.position);
            self.store(&last, last.reward_out + next.reward_in + then);
            if self.waiting.len() == self.horizon {
                self.update_oldest();
            }
        }
    }

    fn finish(&mut self, _: State<G::Board>, spawn_reward: u32) {
        if let Some(last) = self.last.take() {
            self.store(
                &last,
                last.reward_out + self.network.spawn_reward(spawn_reward),
            );
        }
        while !self.waiting.is_empty() {
            self.update_oldest();
        }
    }

    fn set_learning_rate(&mut self, learning_rate: Value) {
        self.learning_rate = learning_rate;
    }

    fn td_errors(&self) -> TdErrorStats {
        self.td_errors
    }
}

#[cfg(test)]
mod tests {
    use super::horizon;

    #[test]
    fn the_horizon_ends_where_a_tenth_is_left() {
        for (lambda, expected) in [(0.0, 1), (0.05, 1), (0.3, 2), (0.5, 4), (0.9, 22)] {
            assert_eq!(horizon(lambda), expected, "{lambda}");
        }
    }
}
