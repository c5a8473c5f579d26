//! An n-tuple network of states that learns from replayed transitions: V(state) moves towards r +
//! gamma^n V(next).

use super::{BatchStats, ReplayAgent, Transition};
use crate::Value;
use crate::game::{Game, Slide};
use crate::ntuple::Trainable;
use crate::ntuple::{Indices, StateNetwork, Td};
use crate::policy::{Greedy, Policy, Ties};
use crate::random::Rng;
use crate::value::Decision;

/// Chooses by the reward plus the expectation of V over spawns, and learns V of states.
pub struct NTupleReplayAgent<'n, G: Game> {
    network: &'n StateNetwork,
    policy: Greedy<'n, G, StateNetwork>,
    learning_rate: Value,
    at: Indices,
}

impl<'n, G: Game> NTupleReplayAgent<'n, G> {
    /// An agent with this network.
    pub fn new(game: &G, network: &'n StateNetwork, ties: Ties, learning_rate: Value) -> Self {
        Self {
            network,
            policy: Greedy::new(game, network, ties),
            learning_rate,
            at: Indices::default(),
        }
    }
}

impl<G: Game> ReplayAgent<G> for NTupleReplayAgent<'_, G> {
    fn choose(
        &mut self,
        game: &G,
        decisions: &[Decision<G>],
        rng: &mut Rng,
        chosen: &mut Vec<Slide<G::Board>>,
    ) {
        chosen.clear();
        let choices = decisions.iter();
        chosen.extend(choices.map(|decision| self.policy.choose(game, decision, rng)));
    }

    fn learn(&mut self, _: &G, batch: &[Transition<G::Board>]) -> BatchStats {
        let mut stats = BatchStats::default();
        let share = 1.0 / batch.len().max(1) as f64;
        let gamma = Trainable::<G>::discount(self.network);
        for transition in batch {
            let mut target = transition.reward as Value + transition.later_rewards;
            if !transition.done {
                let discount = gamma.powi(transition.steps as i32);
                target += discount * self.network.value(transition.next);
            }
            let state = transition.state;
            Trainable::<G>::locate_positions(self.network, [state; 4], &mut self.at);
            let updated = Trainable::<G>::update::<Td>(
                self.network,
                state,
                &mut self.at,
                0,
                target,
                self.learning_rate,
            );
            let delta = f64::from(updated.delta);
            stats.loss += share * delta * delta;
            stats.value += share * (f64::from(target) - delta);
        }
        stats
    }

    fn set_learning_rate(&mut self, learning_rate: Value) {
        self.learning_rate = learning_rate;
    }
}
