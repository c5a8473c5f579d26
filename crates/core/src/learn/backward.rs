//! TD(lambda) from the end of a finished game to its start (Matsuzaki 2017; Jaskowski 2018).
//!
//! z = 0; for t = T..0: target = g_t + z; V(x_t) moves towards target;
//! z = lambda target + (1 - lambda) V(x_t), with V as it is *after* its update.
//!
//! The last position learns first, so news of the end travels the whole game at once. With lambda 0
//! this is TD(0). `reward_twice` counts the move's reward in z once more; on states, z = g_t + V(x_t). That is how R1 and R2
//! were published; the value learned comes to about twice the return, and a move chosen by
//! r + E[V] weighs the future double.

use super::{Credit, Surprise};
use crate::Value;
use crate::game::Game;
use crate::ntuple::{Indices, Network};
use crate::play::{Learner, Step, Viewpoint, Visit};

/// How many updates ahead of its own a position's weights are asked for.
const PREFETCH_DISTANCE: usize = 3;

/// Keeps the path of a game and learns from it when the game is over.
pub struct Backward<'n, G: Game, V: Viewpoint<G>> {
    network: &'n V::Network,
    credit: Credit,
    path: Vec<Visit<V::Position>>,
    /// The indices of the position to update and of those asked for after it, in turn.
    ring: [Indices; PREFETCH_DISTANCE + 1],
    surprise: Surprise,
}

impl<'n, G: Game, V: Viewpoint<G>> Backward<'n, G, V> {
    /// A learner that adjusts this network.
    pub fn new(network: &'n V::Network, credit: Credit) -> Self {
        Self {
            network,
            credit,
            path: Vec::new(),
            ring: Default::default(),
            surprise: Surprise::default(),
        }
    }
}

impl<G: Game, V: Viewpoint<G>> Learner<G> for Backward<'_, G, V> {
    #[inline(always)]
    fn step(&mut self, step: &Step<G>) {
        self.path.push(V::visited(step));
    }

    fn finish(&mut self) {
        let Credit {
            rate,
            lambda,
            reward_twice,
        } = self.credit;
        let mut z = 0.0;
        let places = self.ring.len();
        for t in (0..self.path.len() + PREFETCH_DISTANCE).rev() {
            if let Some(soon) = t.checked_sub(PREFETCH_DISTANCE) {
                let at = &mut self.ring[soon % places];
                self.network.find(self.path[soon].position, at);
                self.network.prefetch(at);
            }
            let Some(visit) = self.path.get(t) else {
                continue;
            };
            let target = visit.after + z;
            let at = &mut self.ring[t % places];
            let updated = self.network.update(visit.position, at, target, rate);
            self.surprise.note(updated);
            z = visit.before + lambda * target + (1.0 - lambda) * updated.value;
            if reward_twice {
                z += visit.after + visit.before;
            }
        }
        self.path.clear();
    }

    fn set_rate(&mut self, rate: Value) {
        self.credit.rate = rate;
    }

    fn surprise(&self) -> Surprise {
        self.surprise
    }
}
