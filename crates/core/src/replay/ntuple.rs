//! An n-tuple network of states that learns from replayed transitions: V(state) moves towards r +
//! gamma^n V(next).
//!
//! [`NTupleReplayParams`] has three differences from this, all in the n-tuple experiments of the
//! "2048 experiment report": an error for each tuple alone, finished games that are not masked, and
//! moves that are valued by one sampled spawn.

use serde::{Deserialize, Serialize};

use super::{BatchStats, Choice, ReplayAgent, Transition};
use crate::Value;
use crate::game::{Game, Slide};
use crate::ntuple::Trainable;
use crate::ntuple::{Indices, StateNetwork, Td};
use crate::policy::{Greedy, Policy, Ties};
use crate::random::Rng;
use crate::value::{Decision, ValueFunction};

/// Whose error an update reduces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TdErrorOf {
    /// That of the value, the sum over all tuples.
    #[default]
    Network,
    /// That of each tuple alone, as if it were a network: each learns the whole return, and the
    /// value is the sum of as many returns as there are tuples.
    Tuple,
}

/// How the value of a slide is found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SpawnValue {
    /// By the expectation over all spawns.
    #[default]
    Expectation,
    /// By one spawn, drawn at random for each slide.
    Sample,
}

/// The settings of an [`NTupleReplayAgent`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NTupleReplayParams {
    /// Whose error an update reduces.
    pub td_error: TdErrorOf,
    /// Whether the state after a finished game counts as worth 0, instead of its value.
    pub mask_terminal: bool,
    /// How slides are valued while training.
    pub spawn_value: SpawnValue,
}

impl Default for NTupleReplayParams {
    fn default() -> Self {
        Self {
            td_error: TdErrorOf::default(),
            mask_terminal: true,
            spawn_value: SpawnValue::default(),
        }
    }
}

/// Chooses by the reward plus the expectation of V over spawns, and learns V of states.
pub struct NTupleReplayAgent<'n, G: Game> {
    network: &'n StateNetwork,
    policy: Greedy<'n, G, StateNetwork>,
    params: NTupleReplayParams,
    learning_rate: Value,
    at: Indices,
}

impl<'n, G: Game> NTupleReplayAgent<'n, G> {
    /// An agent with this network.
    pub fn new(
        game: &G,
        network: &'n StateNetwork,
        ties: Ties,
        params: NTupleReplayParams,
    ) -> Self {
        Self {
            network,
            policy: Greedy::new(game, network, ties),
            params,
            learning_rate: 0.0,
            at: Indices::default(),
        }
    }
}

impl<G: Game> NTupleReplayAgent<'_, G> {
    /// The slide with the largest reward plus value of one sampled state after it; the first of
    /// equal ones.
    fn by_sample(&self, game: &G, decision: &Decision<G>, rng: &mut Rng) -> Slide<G::Board> {
        let discount = ValueFunction::<G>::discount(self.network);
        let mut best: Option<(Value, Slide<G::Board>)> = None;
        for slide in decision.slides().legal() {
            let next = game.spawn(slide.after(), rng);
            let total = slide.reward() as Value + discount * self.network.value(next);
            if best.is_none_or(|(most, _)| total > most) {
                best = Some((total, slide));
            }
        }
        best.expect("a decision has a legal slide").1
    }

    /// Each tuple's value of the state moves towards the reward plus the same tuple's value of the
    /// next one. The loss is the mean over tuples.
    fn learn_by_tuples(
        &mut self,
        transition: &Transition<G::Board>,
        reward: Value,
        discount: Value,
    ) -> BatchStats {
        let mut targets = self.network.tuple_values(transition.next, &mut self.at);
        for target in &mut targets {
            *target = reward + discount * *target;
        }
        let rate = self.learning_rate;
        let errors = self
            .network
            .update_tuples(transition.state, &targets, rate, &mut self.at);
        let count = errors.len().max(1) as f64;
        let squared = |error: &Value| f64::from(*error) * f64::from(*error);
        let before = targets
            .iter()
            .zip(&errors)
            .map(|(target, error)| target - error);
        BatchStats {
            loss: errors.iter().map(squared).sum::<f64>() / count,
            value: f64::from(before.sum::<Value>()),
        }
    }
}

impl<G: Game> ReplayAgent<G> for NTupleReplayAgent<'_, G> {
    fn choose(
        &mut self,
        game: &G,
        decisions: &[Decision<G>],
        rng: &mut Rng,
        chosen: &mut Vec<Choice<G::Board>>,
    ) {
        chosen.clear();
        let choices = decisions.iter();
        match self.params.spawn_value {
            SpawnValue::Expectation => {
                let slides = choices.map(|decision| self.policy.choose(game, decision, rng));
                chosen.extend(slides.map(Choice::from));
            }
            SpawnValue::Sample => {
                let slides = choices.map(|decision| self.by_sample(game, decision, rng));
                chosen.extend(slides.map(Choice::from));
            }
        }
    }

    fn learn(&mut self, _: &G, batch: &[Transition<G::Board>]) -> BatchStats {
        let mut stats = BatchStats::default();
        let share = 1.0 / batch.len().max(1) as f64;
        let gamma = ValueFunction::<G>::discount(self.network);
        for transition in batch {
            let mut target = transition.reward as Value + transition.later_rewards;
            let discount = match transition.done && self.params.mask_terminal {
                true => 0.0,
                false => gamma.powi(transition.steps as i32),
            };
            if self.params.td_error == TdErrorOf::Tuple {
                let one = self.learn_by_tuples(transition, target, discount);
                stats.loss += share * one.loss;
                stats.value += share * one.value;
                continue;
            }
            if discount != 0.0 {
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
