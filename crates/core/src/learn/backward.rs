//! TD(lambda) from the end of a finished game to its start (Matsuzaki 2017; Jaskowski 2018).
//!
//! z = 0; for t = T..0: target = g_t + z; V(x_t) moves towards target;
//! z = lambda target + (1 - lambda) V(x_t), with V as it is *after* its update.
//!
//! The last position learns first, so news of the end travels the whole game at once. With lambda 0
//! this is TD(0). `reward_twice` counts the move's reward in z once more; on states, z = g_t + V(x_t). That is how R1 and R2
//! were published; the value learned comes to about twice the return, and a move chosen by
//! r + E[V] weighs the future double.
//!
//! Positions are looked up four at a time, and the four before them are on their way from memory while these
//! learn: without that, a training has 0.88 of the speed (benchmarks/2026-11-16.md).

use super::{Credit, Surprise};
use crate::Value;
use crate::game::Game;
use crate::ntuple::{Indices, Network};
use crate::play::{Learner, Step, Viewpoint, Visit};

/// Keeps the path of a game and learns from it when the game is over.
pub struct Backward<'n, G: Game, V: Viewpoint<G>> {
    network: &'n V::Network,
    credit: Credit,
    path: Vec<Visit<V::Position>>,
    /// The indices of the stretch that is being updated, and of the one before it.
    at: [Indices; 2],
    surprise: Surprise,
}

impl<'n, G: Game, V: Viewpoint<G>> Backward<'n, G, V> {
    /// A learner that adjusts this network.
    pub fn new(network: &'n V::Network, credit: Credit) -> Self {
        Self {
            network,
            credit,
            path: Vec::new(),
            at: Default::default(),
            surprise: Surprise::default(),
        }
    }

    /// Finds the weights of up to four positions and asks the processor for them.
    #[inline(always)]
    fn look_up(network: &V::Network, stretch: &[Visit<V::Position>], at: &mut Indices) {
        let last = stretch.len() - 1;
        network.find(
            std::array::from_fn(|lane| stretch[lane.min(last)].position),
            at,
        );
        for lane in 0..stretch.len() {
            network.prefetch_update(at, lane);
        }
    }
}

impl<G: Game, V: Viewpoint<G>> Learner<G> for Backward<'_, G, V> {
    #[inline(always)]
    fn step(&mut self, step: &Step<G>) {
        self.path.push(V::visited(step));
    }

    fn finish(&mut self, _: G::State, brought: u32) {
        let Credit {
            rate,
            lambda,
            reward_twice,
        } = self.credit;
        let mut z = brought as Value;
        let [here, next] = &mut self.at;
        let mut stretches = self.path.rchunks(4).peekable();
        if let Some(last) = stretches.peek() {
            Self::look_up(self.network, last, here);
        }
        while let Some(stretch) = stretches.next() {
            // The stretch before this one is on its way from memory while this one learns.
            if let Some(before) = stretches.peek() {
                Self::look_up(self.network, before, next);
            }
            for (lane, visit) in stretch.iter().enumerate().rev() {
                let target = visit.after + z;
                let updated = self
                    .network
                    .update(visit.position, here, lane, target, rate);
                self.surprise.note(updated);
                z = visit.before + lambda * target + (1.0 - lambda) * updated.value;
                if reward_twice {
                    z += visit.after + visit.before;
                }
            }
            std::mem::swap(here, next);
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
