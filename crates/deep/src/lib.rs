//! Deep learning: a convolutional network that learns from the memory of `afterstate::replay`.
//!
//! `boards -> one-hot -> convolutions -> linear layers -> Q of every slide, or V of an afterstate`
//!
//! This is the only crate that knows a deep-learning library, and [`Network`] the only type in it that does: everything else sees
//! plain numbers. [`Parameters`] are those of a network, [`Adam`] moves them, a [`Player`] chooses slides by them, and [`DqnAgent`] is
//! the pupil that puts them together.

mod adam;
mod network;
mod parameters;
mod player;
mod pupil;

pub use adam::{Adam, Decay};
pub use network::{Dropout, Gradients, Learned, Lesson, Network, Place};
pub use parameters::{Architecture, ArchitectureError, Initial, Parameter, Parameters};
pub use player::{Fallback, OutputSpec, Of, Player, Worth};
pub use pupil::{DqnAgent, TrainState, Plays, Settings, Target};
