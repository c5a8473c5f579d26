//! The laboratory: everything between the pure core and the faces that people use.
//!
//! A [`recipe`] says what to learn and how; [`games`] makes types of names; an [`agent`] is a value function with its game, its types
//! forgotten; the [`trainer`] plays and learns into a [`run`] folder; [`evaluate`], [`compare`] and [`analyze`] ask a [`model`] how good
//! it is; [`mod@convert`] exchanges weights with other programs; [`mod@solve`] works out exact values of small boards;
//! [`records`] keeps games and judges them; [`plot`] draws; [`sweep`] trains a table of variants and seeds; [`mod@bench`] measures the
//! machine. Libraries return typed errors and print nothing.

pub mod agent;
pub mod analyze;
pub mod bench;
pub mod block;
pub mod compare;
pub mod control;
pub mod convert;
pub mod curve;
mod disk;
pub mod error;
pub mod evaluate;
pub mod finish;
pub mod foreign;
pub mod games;
pub mod memory;
mod metadata;
pub mod migrate;
pub mod model;
pub mod numbers;
pub mod plot;
pub mod recipe;
mod recorder;
pub mod records;
#[cfg(test)]
mod reports;
mod rows;
pub mod run;
mod share;
pub mod solve;
pub mod spec;
mod statistics;
pub mod sweep;
mod tables;
pub mod tensorboard;
pub mod trainer;

pub use error::LabError;
