//! Playing in the terminal.
//!
//! [`App`](app::App) is the state of the interface: its `update` maps an event to effects, without a
//! clock, threads or a terminal. [`view`] draws it. [`driver`] connects both with the terminal, the
//! file of records and the [`worker`], a thread on which boards are analysed.

pub mod app;
mod coach;
pub mod driver;
mod entry;
pub mod events;
mod keys;
pub mod palette;
#[cfg(test)]
mod tests;
mod tiles;
mod view;
pub mod worker;
