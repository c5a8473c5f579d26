//! The n-tuple network: a value is the sum of one weight from each table, looked up by the tiles
//! that a tuple of cells shows, once for every symmetry of the board.
//!
//! V(p) = sum over symmetries s and tuples t of w_t[ tiles of s(p) in the cells of t ]
//!
//! m, the number of lookups of one value, is what a learning rate is divided by. Threads share a
//! network without locks: weights are relaxed atomics, and a lost update now and then is accepted.
//!
//! Two networks are made of such tables: [`AfterstateNetwork`] is V of afterstates, [`StateNetwork`] V of states. Both are
//! [value functions](crate::value::ValueFunction), and a learner can [train](crate::value::Trainable) them.

mod afterstate;
mod layout;
mod pattern;
mod plan;
mod rule;
mod state;
mod tables;

use std::io;

pub use afterstate::AfterstateNetwork;
pub(crate) use layout::Tiling;
pub use pattern::{NAMED_SETS, Pattern, TupleSet, TupleSetError};
pub(crate) use plan::LookupPlan;
pub use rule::{Tc, Td, UpdateRule, WeightCell};
pub use state::StateNetwork;
pub(crate) use tables::Block;
pub use tables::{WeightPart, WeightTables};
use thiserror::Error;

pub use crate::machine::{AtomicF32, Indices};

/// How the tables of a network are made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NetworkOptions {
    /// V of every position at first: each weight starts at `initial_value` / m.
    pub initial_value: crate::Value,
    /// What the value of the next position is multiplied by: gamma.
    pub discount: crate::Value,
    /// Whether it has room for the sums of [`Tc`].
    pub coherence: bool,
    /// The instructions to use; they change the speed and no result.
    pub cpu: crate::machine::Cpu,
}

impl Default for NetworkOptions {
    fn default() -> Self {
        Self {
            initial_value: 0.0,
            discount: 1.0,
            coherence: false,
            cpu: crate::machine::Cpu::best(),
        }
    }
}

/// Why a network cannot be made.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum NetworkError {
    /// The system refuses the memory.
    #[error("the system refused {bytes} bytes of memory: {source}")]
    Memory {
        /// Bytes asked for.
        bytes: u64,
        /// The system's reason.
        source: io::Error,
    },
    /// A network of states reads tiles of four bits.
    #[error("values of states need tables of {expected} bits a tile, found {found}")]
    TileBits {
        /// Of the tuple set.
        found: usize,
        /// What it can read.
        expected: usize,
    },
    /// A network of states has one bank.
    #[error("values of states need one bank of tables, found {found}")]
    Banks {
        /// Of the tuple set.
        found: usize,
    },
}
