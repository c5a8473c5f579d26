//! The laboratory: everything between the pure core and user interfaces.
//!
//! A [`recipe`] defines what to learn and how; [`games`] maps names to types; an [`agent`] is a
//! type-erased value function with its game; the [`trainer`] plays and learns in a [`run`] folder;
//! [`evaluate`], [`compare`] and [`analyze`] measure a [`model`]; [`mod@convert`] exchanges weights
//! with other programs; [`mod@solve`] computes exact values of small boards; [`records`] writes and
//! judges episode records; a [`session`] is a game that somebody plays; a `referee` plays the
//! environment's side against other programs, and [`seal`]s the records; [`plot`] draws; [`sweep`]
//! trains variants with several seeds; [`mod@bench`] measures speed. Libraries return typed errors
//! and print nothing.

pub mod agent;
pub mod analyze;
pub mod bench;
pub mod block;
pub mod board;
pub mod boxed;
pub mod check;
pub mod compare;
pub mod control;
pub mod convert;
pub mod curve;
mod direction_names;
mod disk;
pub mod environment;
pub mod error;
pub mod evaluate;
pub mod finish;
pub mod foreign;
pub mod games;
pub mod grade;
pub mod lesson;
pub mod memory;
pub mod merge;
mod metadata;
pub mod migrate;
pub mod model;
pub mod numbers;

pub mod pack;
mod packed;
pub mod part;
pub mod plot;
pub mod positions;
pub mod recipe;
mod recorder;
pub mod records;
#[cfg(unix)]
pub mod referee;
pub mod report;
pub mod review;
mod rows;
pub mod run;
pub mod runs;
pub mod scores;
pub mod seal;
pub mod search;
pub mod session;
mod share;
pub mod solve;
pub mod spec;
mod statistics;
pub mod sweep;
mod tables;
pub mod tensorboard;
mod text;
#[cfg(unix)]
pub mod tournament;
pub mod trainer;

pub use error::{ErrorClass, LabError, Remedy};
pub use share::MAX_THREADS;
