//! TD(0) as the game goes: each position learns as soon as the next one is known.
//!
//! V(x_t) moves towards g_t + V(x_{t+1}); the last position towards g_T alone.
//!
//! For afterstates V(x_{t+1}) is the value that chose the move, read before x_t is updated.

use super::Surprise;
use crate::Value;
use crate::game::Game;
use crate::ntuple::{Indices, Network};
use crate::play::{Learner, Step, Viewpoint, Visit};

/// Keeps one position back and updates it when its successor comes.
pub struct Forward<'n, G: Game, V: Viewpoint<G>> {
    network: &'n V::Network,
    rate: Value,
    last: Option<Visit<V::Position>>,
    at: Indices,
    surprise: Surprise,
}

impl<'n, G: Game, V: Viewpoint<G>> Forward<'n, G, V> {
    /// A learner that adjusts this network.
    pub fn new(network: &'n V::Network, rate: Value) -> Self {
        Self {
            network,
            rate,
            last: None,
            at: Indices::default(),
            surprise: Surprise::default(),
        }
    }

    #[inline(always)]
    fn learn(&mut self, visit: &Visit<V::Position>, target: Value) {
        self.network.find([visit.position; 4], &mut self.at);
        let updated = self
            .network
            .update(visit.position, &mut self.at, 0, target, self.rate);
        self.surprise.note(updated);
    }
}

impl<G: Game, V: Viewpoint<G>> Learner<G> for Forward<'_, G, V> {
    #[inline(always)]
    fn step(&mut self, step: &Step<G>) {
        let visit = V::visited(step);
        if let Some(last) = self.last.replace(visit) {
            let target = last.after + visit.before + V::value(self.network, step, &mut self.at);
            self.learn(&last, target);
        }
    }

    fn finish(&mut self, _: G::State, brought: u32) {
        if let Some(last) = self.last.take() {
            self.learn(&last, last.after + brought as Value);
        }
    }

    fn set_rate(&mut self, rate: Value) {
        self.rate = rate;
    }

    fn surprise(&self) -> Surprise {
        self.surprise
    }
}
