//! Deep learning: a convolutional network that learns from the replay buffer of `afterstate::replay`.
//!
//! `boards -> one-hot -> convolutions -> linear layers -> Q of every slide, or V of an afterstate`
//!
//! This is the only crate that knows a deep-learning library, and [`Network`] the only type in it that does: everything else sees
//! plain numbers. [`Parameters`] are those of a network, [`Adam`] moves them, a [`DeepValueFunction`] gives the values of slides by
//! them, and a [`DqnAgent`] puts them together.

mod adam;
mod agent;
mod network;
mod parameters;
mod value;

pub use adam::{Adam, Decay};
pub use agent::{ActingNetwork, DqnAgent, Settings, TargetUpdate, TrainState};
pub use network::{BatchGradients, Dropout, DropoutPlace, Gradients, Network, TrainingBatch};
pub use parameters::{Architecture, ArchitectureError, InitialWeights, Parameter, Parameters};
pub use value::{DeepValueFunction, Fallback, OutputKind, OutputSpec};
