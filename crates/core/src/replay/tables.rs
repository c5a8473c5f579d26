//! An n-tuple network as a pupil: V(state) moves towards r + V(next).

use super::{Learned, Pupil, Transition};
use crate::Value;
use crate::game::{Direction, Game};
use crate::ntuple::{Expecting, Indices, Network, Number, Weight};
use crate::play::{Greedy, Policy, States, Ties};
use crate::random::Rng;

/// Chooses by the reward and the expectation of V over new tiles, and learns V of states.
pub struct TablePupil<'n, G: Game, W: Weight<Cell = Number>> {
    network: &'n Expecting<W>,
    player: Greedy<'n, G, States<W>>,
    rate: Value,
    at: Indices,
}

impl<'n, G: Game, W: Weight<Cell = Number>> TablePupil<'n, G, W> {
    /// With this network.
    pub fn new(network: &'n Expecting<W>, ties: Ties, rate: Value) -> Self {
        Self {
            network,
            player: Greedy::new(network, ties),
            rate,
            at: Indices::default(),
        }
    }
}

impl<G: Game, W: Weight<Cell = Number>> Pupil<G> for TablePupil<'_, G, W> {
    fn choose(
        &mut self,
        game: &G,
        states: &[G::State],
        rng: &mut Rng,
        chosen: &mut Vec<Direction>,
    ) {
        chosen.clear();
        chosen.extend(states.iter().map(|&state| {
            let step = self.player.choose(game, state, rng);
            step.map_or(Direction::Up, |step| step.direction)
        }));
    }

    fn learn(&mut self, _: &G, batch: &[Transition<G::State>]) -> Learned {
        let mut learned = Learned::default();
        let share = 1.0 / batch.len().max(1) as f64;
        for transition in batch {
            let mut target = transition.reward as Value + transition.later;
            if !transition.over {
                target += self.network.value(transition.next);
            }
            self.network.find([transition.state; 4], &mut self.at);
            let updated = self
                .network
                .update(transition.state, &mut self.at, 0, target, self.rate);
            let delta = f64::from(updated.delta);
            learned.loss += share * delta * delta;
            learned.value += share * (f64::from(target) - delta);
        }
        learned
    }
    fn set_rate(&mut self, rate: Value) {
        self.rate = rate;
    }
}
