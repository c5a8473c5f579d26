//! Afterstate learns 2048-like games with n-tuple networks and temporal-difference learning.
//!
//! The whole system is one pipeline; each station is a module:
//!
//! `State -> slides -> Decision -> ValueFunction -> ActionValues -> Policy -> Step -> Learner ->
//! spawn -> State`
//!
//! This crate is pure: it opens no files, reads no clock, starts no threads and prints nothing.
//!
//! ```
//! use afterstate::episode::play;
//! use afterstate::game::{Fast2048, Game};
//! use afterstate::learn::{Backward, TdParams};
//! use afterstate::ntuple::{AfterstateNetwork, NetworkOptions, Td, TupleSet};
//! use afterstate::policy::{Greedy, Ties};
//! use afterstate::random::game_rng;
//!
//! let game = Fast2048::new();
//! let tuples = TupleSet::parse("8x4", game.shape(), true)?;
//! let network = AfterstateNetwork::new(&tuples, &NetworkOptions::default())?;
//!
//! let mut policy = Greedy::new(&game, &network, Ties::Order);
//! let mut learner = Backward::<_, _, Td>::new(&game, &network, TdParams::default());
//! let mut score = |number| play(&game, &mut policy, &mut learner, &mut game_rng(1, number)).score;
//! let first: u64 = (0..50).map(&mut score).sum();
//! let later: u64 = (50..250).map(&mut score).sum();
//! assert!(later / 4 > first, "no progress after {first} points in the first fifty games");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod environment;
pub mod episode;
pub mod format;
pub mod game;
pub mod judge;
pub mod learn;
pub mod machine;
pub mod ntuple;
pub mod policy;
pub mod random;
pub mod replay;
pub mod search;
pub mod solve;
pub mod tally;
pub mod value;

/// The type of values, weights and TD errors.
pub type Value = f32;
