//! TD(0) as the game goes: each position learns as soon as the next one is known.
//!
//! V(x_t) moves towards g_t + V(x_{t+1}); the last position towards g_T alone.
//!
//! For afterstates V(x_{t+1}) is the value that chose the move, read before x_t is updated.

use super::Surprise;
use crate::Value;
use crate::game::Game;
use crate::ntuple::Network;
use crate::play::{Learner, Step, Viewpoint, Visit};

/// Keeps one position back and updates it when its successor comes.
pub struct Forward<'n, G: Game, V: Viewpoint<G>> {
    network: &'n V::Network,
    rate: Value,
    last: Option<Visit<V::Position>>,
    surprise: Surprise,
}

impl<'n, G: Game, V: Viewpoint<G>> Forward<'n, G, V> {
    /// A learner that adjusts this network.
    pub fn new(network: &'n V::Network, rate: Value) -> Self {
        Self {
            network,
            rate,
            last: None,
            surprise: Surprise::default(),
        }
    }
}

impl<G: Game, V: Viewpoint<G>> Learner<G> for Forward<'_, G, V> {
    #[inline(always)]
    fn step(&mut self, step: &Step<G>) {
        let visit = V::visited(step);
        if let Some(last) = self.last.replace(visit) {
            let target = last.after + visit.before + V::value(self.network, step);
            self.surprise
                .note(self.network.update(last.position, target, self.rate));
        }
    }

    fn finish(&mut self) {
        if let Some(last) = self.last.take() {
            self.surprise
                .note(self.network.update(last.position, last.after, self.rate));
        }
    }

    fn set_rate(&mut self, rate: Value) {
        self.rate = rate;
    }

    fn surprise(&self) -> Surprise {
        self.surprise
    }
}
