//! Deep learning: a convolutional network that learns from the replay buffer of
//! `afterstate::replay`.
//!
//! `boards -> one-hot -> convolutions -> linear layers -> Q of every slide, or V of an afterstate`
//!
//! This is the only crate that depends on a deep-learning library, and [`Network`] is the only type
//! that uses it: everything else sees plain numbers. [`Parameters`] are those of a network,
//! [`Adam`] updates them, a [`DeepValueFunction`] computes values of slides from them, and a
//! [`DqnAgent`] combines these.

mod adam;
mod agent;
mod dropout;
mod network;
mod parameters;
mod value;

pub use adam::Adam;
pub use agent::{DqnAgent, Settings, TrainState};
pub use dropout::{Dropout, DropoutRate};
pub use network::{BatchGradients, Gradients, Network, TrainingBatch};
pub use parameters::{Architecture, ArchitectureError, Parameter, Parameters};
pub use value::{DeepValueFunction, OutputKind, OutputSpec};
