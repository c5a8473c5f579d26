//! The n-tuple network: a value is the sum of one weight from each table, indexed by the tiles in
//! the cells of a tuple, over every symmetry of the board.
//!
//! V(p) = sum over symmetries s and tuples t of w_t[ tiles of s(p) in the cells of t ]
//!
//! The learning rate is divided by m, the number of lookups of one value. Threads share a network
//! without locks: weights are relaxed atomics, and an occasional lost update is accepted.
//!
//! Two networks use such tables: [`AfterstateNetwork`] is V of afterstates, [`StateNetwork`] V of
//! states. Both are [value functions](crate::value::ValueFunction), and a learner can
//! [train](Trainable) them.

mod afterstate;
mod fold;
mod layout;
mod lookup;
mod pattern;
mod plan;
mod rule;
mod stages;
mod state;
mod tables;
mod trainable;

use std::io;

pub use afterstate::AfterstateNetwork;
pub(crate) use layout::Chunking;
pub use lookup::Lookup;
pub use pattern::{NAMED_SETS, Pattern, TupleSet, TupleSetError};
pub(crate) use plan::LookupPlan;
pub use rule::{Tc, Td, UpdateRule, WeightCell};
pub use stages::Stages;
pub use state::StateNetwork;
pub(crate) use tables::MemoryBlock;
pub use tables::{TableView, WeightPart, WeightTables};
use thiserror::Error;
pub use trainable::{Trainable, TrajectoryStep, Updated};

pub use crate::machine::{AtomicF32, Indices};

/// How to create the tables of a network.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NetworkOptions {
    /// The initial value of every position: each weight starts at `initial_value` / m.
    pub initial_value: crate::Value,
    /// The discount gamma of the next position's value.
    pub discount: crate::Value,
    /// Whether the tables have memory for the sums of [`Tc`].
    pub coherence: bool,
    /// The instruction set; it changes the speed and no result.
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

/// Why a network cannot be created.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum NetworkError {
    /// The system refused the memory.
    #[error("the system refused {bytes} bytes of memory: {source}")]
    Memory {
        /// Bytes requested.
        bytes: u64,
        /// The system's reason.
        source: io::Error,
    },
    /// A network of states reads tables of four bits a tile.
    #[error("values of states need tables of {expected} bits a tile, found {found}")]
    TileBits {
        /// Bits of the tuple set.
        found: usize,
        /// Bits that it can read.
        expected: usize,
    },
    /// A network of states has one bank.
    #[error("values of states need one bank of tables, found {found}")]
    Banks {
        /// Banks of the tuple set.
        found: usize,
    },
}
