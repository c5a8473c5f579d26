//! TD(lambda) from the end of a finished game to its start (Matsuzaki 2017; Jaskowski 2018).
//!
//! z = 0; for t = T..0: target = g_t + z; V(x_t) moves towards target;
//! z = gamma (lambda target + (1 - lambda) V(x_t)), with V as it is *after* its update.
//!
//! The last position is updated first, so the end of the game influences every position at once.
//! With lambda 0 this is TD(0). `reward_twice` adds the move's reward to z a second time; on
//! states, z = g_t + V(x_t). Two reports of the DLP lab, 2021, publish this target; the learned
//! value is then about twice the return, and choosing by r + E[V] gives the future double weight.
//!
//! Positions are looked up four at a time, and the four before them are prefetched while these are
//! updated: without prefetching, training has 0.88 of the speed (benchmarks/2026-11-16.md).

use std::marker::PhantomData;

use super::TdParams;
use crate::Value;
use crate::episode::{Learner, Step, TdErrorStats};
use crate::game::{Game, State};
use crate::ntuple::UpdateRule;
use crate::ntuple::{Trainable, TrajectoryStep};

/// Stores the trajectory of a game and learns from it when the game is over.
pub struct Backward<'n, G: Game, N: Trainable<G>, R> {
    network: &'n N,
    params: TdParams,
    trajectory: Vec<TrajectoryStep<N::Input>>,
    /// The indices of the four positions being updated, and of the four before them.
    at: [N::Located; 2],
    td_errors: TdErrorStats,
    rule: PhantomData<R>,
}

impl<'n, G: Game, N: Trainable<G>, R: UpdateRule> Backward<'n, G, N, R> {
    /// A learner that updates this network.
    ///
    /// # Panics
    /// When the network does not fit the game.
    pub fn new(game: &G, network: &'n N, params: TdParams) -> Self {
        network.assert_fits(game);
        Self {
            network,
            params,
            trajectory: Vec::new(),
            at: Default::default(),
            td_errors: TdErrorStats::default(),
            rule: PhantomData,
        }
    }

    /// Computes the indices of up to four positions and prefetches their weights.
    #[inline(always)]
    fn look_up(network: &N, stretch: &[TrajectoryStep<N::Input>], at: &mut N::Located) {
        let last = stretch.len() - 1;
        network.locate_positions(
            std::array::from_fn(|lane| stretch[lane.min(last)].position),
            at,
        );
        for lane in 0..stretch.len() {
            network.prefetch_update::<R>(at, lane);
        }
    }
}

impl<G: Game, N: Trainable<G>, R: UpdateRule> Learner<G> for Backward<'_, G, N, R> {
    #[inline(always)]
    fn step(&mut self, step: &Step<G>) {
        self.trajectory.push(self.network.trajectory_step(step));
    }

    fn finish(&mut self, _: State<G::Board>, spawn_reward: u32) {
        let TdParams {
            learning_rate,
            lambda,
            reward_twice,
        } = self.params;
        let discount = self.network.discount();
        let (of_return, of_value) = (discount * lambda, discount * (1.0 - lambda));
        let mut z = self.network.spawn_reward(spawn_reward);
        let [here, next] = &mut self.at;
        let mut stretches = self.trajectory.rchunks(4).peekable();
        if let Some(last) = stretches.peek() {
            Self::look_up(self.network, last, here);
        }
        while let Some(stretch) = stretches.next() {
            if let Some(before) = stretches.peek() {
                Self::look_up(self.network, before, next);
            }
            for (lane, visited) in stretch.iter().enumerate().rev() {
                let target = visited.reward_out + z;
                let updated =
                    self.network
                        .update::<R>(visited.position, here, lane, target, learning_rate);
                self.td_errors.add(updated.delta);
                z = visited.reward_in + of_return * target + of_value * updated.value;
                if reward_twice {
                    z += visited.reward_out + visited.reward_in;
                }
            }
            std::mem::swap(here, next);
        }
        self.trajectory.clear();
    }

    fn set_learning_rate(&mut self, learning_rate: Value) {
        self.params.learning_rate = learning_rate;
    }

    fn td_errors(&self) -> TdErrorStats {
        self.td_errors
    }
}
