//! The laboratory: everything between the pure core and the faces that people use.
//!
//! A [`recipe`] names what to learn; the [`registry`] makes types of its words, and a [`session`] of the types; the [`trainer`] plays
//! and learns into a [`run`] folder; [`evaluate`], [`compare`] and [`analyze`] ask a [`model`] how good
//! it is; [`mod@convert`] exchanges weights with other programs; [`mod@solve`] works out exact values of small boards;
//! [`records`] keeps games and judges them; [`plot`] draws; [`sweep`] trains a table of variants and seeds; [`mod@bench`] measures the
//! machine. Libraries return typed errors and print nothing.

pub mod analyze;
pub mod baseline;
pub mod bench;
pub mod compare;
pub mod convert;
pub mod deep;
mod disk;
pub mod error;
pub mod evaluate;
pub mod foreign;
mod metadata;
pub mod model;
pub mod plot;
pub mod recipe;
mod recorder;
pub mod records;
pub mod registry;
pub mod run;
pub mod session;
mod share;
pub mod solve;
mod statistics;
pub mod sweep;
mod tables;
pub mod trainer;

pub use error::LabError;
