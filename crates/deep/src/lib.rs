//! Deep Q-learning: a convolutional network that learns from the memory of `afterstate::replay`.
//!
//! `boards -> one-hot -> convolutions -> linear layers -> Q of every slide`
//!
//! This is the only crate that knows a deep-learning library, and [`Network`] the only type in it that does: everything else sees
//! plain numbers. [`Parameters`] are those of a network, [`Adam`] moves them, and [`Dqn`] is the pupil that puts them together.

mod adam;
mod dqn;
mod network;
mod parameters;

pub use adam::{Adam, Decay};
pub use dqn::{Dqn, Fallback, Settings, Target};
pub use network::{Gradients, Lesson, Network};
pub use parameters::{Architecture, ArchitectureError, Parameter, Parameters};
