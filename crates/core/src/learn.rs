//! Update rules: how a finished step, or a finished game, changes the network.
//!
//! Each rule works on any [`Viewpoint`](crate::play::Viewpoint): it sees the positions x_0, x_1, ...
//! that a game visits, and g_t, what the game earned between x_t and x_{t+1} (or its end).

mod backward;
mod forward;
pub mod schedule;

pub use backward::Backward;
pub use forward::Forward;

use crate::Value;
use crate::ntuple::Updated;

/// How a backward rule credits a position.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Credit {
    /// The learning rate, divided by the number of lookups inside the network.
    pub rate: Value,
    /// How much of a target is the return that followed, and how much the value met next.
    pub lambda: Value,
    /// The published target of R1 and R2, which counts each reward twice.
    pub reward_twice: bool,
}

impl Default for Credit {
    fn default() -> Self {
        Self {
            rate: 0.1,
            lambda: 0.0,
            reward_twice: false,
        }
    }
}

/// The sum of |delta| over all updates: the alarm for broken weights. A NaN or an infinite weight
/// makes the next delta that meets it, and so this sum, not finite.
#[derive(Clone, Copy, Debug, Default)]
pub struct Surprise(f64);

impl Surprise {
    fn note(&mut self, updated: Updated) {
        self.0 += f64::from(updated.delta.abs());
    }

    /// Whether every update so far was a number.
    pub fn is_finite(&self) -> bool {
        self.0.is_finite()
    }
}
