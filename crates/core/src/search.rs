//! Expectimax search: a policy that looks several moves ahead, over any value function.
//!
//! With Q_1(s, a) = r + gamma V(s'), which a [`Greedy`](crate::policy::Greedy) policy maximises,
//!
//! Q_n(s, a) = r + E[ r'' + gamma max over a' of Q_(n-1)(s'', a') ]
//!
//! where the expectation is over all spawns after the slide, r'' is the reward of the spawn, and a
//! finished game has the value 0. One ply is one move of the player: 1-ply is greedy, 2-ply looks
//! one spawn and one move further.
//!
//! [`plain::action_values`] is this formula and nothing else. [`Expectimax`] gives the same values,
//! bit for bit, many times as fast: it evaluates each afterstate once, all leaves of three plies
//! together (`tree.rs`), and keeps the values of inner nodes in a table that threads share
//! (`table.rs`).

mod depth;
mod downgrade;
mod expectimax;
mod leaves;
pub mod plain;
mod table;
mod tree;

pub use depth::{Depth, DepthError, MAX_PLIES};
pub use downgrade::downgraded;
pub use expectimax::{Expectimax, Helper, SearchOptions, SearchResult, StopCondition};
pub use table::TranspositionTable;

use crate::Value;

/// What one spawn adds to the value of an afterstate: its probability times the reward of the spawn
/// and the discounted value of the state.
#[inline(always)]
fn spawn_term(chance: f64, spawn_reward: u32, discount: Value, state_value: Value) -> f64 {
    chance * (f64::from(spawn_reward) + f64::from(discount * state_value))
}

/// How deep the states behind a spawn are searched. Spawns of rare tiles may be searched one ply
/// less, but never less than one; this depends on the spawn alone and not on the path to it, so the
/// value of an afterstate remains a function of the afterstate and the depth.
#[derive(Clone, Copy, Debug, PartialEq)]
struct SpawnDepth {
    /// New tiles with a probability below this are rare.
    rare_below: f64,
}

impl SpawnDepth {
    /// The plies for a state behind a spawn of this probability, in one of `cells` cells.
    #[inline(always)]
    fn plies(self, plies: u8, chance: f64, cells: u32) -> u8 {
        let rare = chance * f64::from(cells) < self.rare_below;
        if rare {
            plies.saturating_sub(1).max(1)
        } else {
            plies
        }
    }
}
