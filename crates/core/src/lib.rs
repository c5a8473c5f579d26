//! Afterstate learns 2048-like games with n-tuple networks and temporal-difference learning.
//!
//! The whole system is one line of stations, each a module here:
//!
//! `State -> slides -> 4 afterstates -> tuple indices -> sum of weights = V -> argmax(r + V) = Step
//! -> Learner adjusts -> Tally -> spawn -> State`
//!
//! This crate is pure: it opens no files, reads no clock, starts no threads and prints nothing.
//!
//! ```
//! use afterstate::game::{Classic, Game};
//! use afterstate::learn::{Backward, Credit};
//! use afterstate::ntuple::{Plain, Tables, TupleSet};
//! use afterstate::play::{Afterstates, Greedy, Ties, play};
//! use afterstate::random::game_rng;
//!
//! let game = Classic::new();
//! let tuples = TupleSet::parse("8x4", game.shape(), true).unwrap();
//! let network = Tables::<Plain>::new(&tuples, 0.0).unwrap();
//!
//! let mut player = Greedy::<_, Afterstates<Plain>>::new(&network, Ties::Order);
//! let mut learner = Backward::<_, Afterstates<Plain>>::new(&network, Credit::default());
//! let mut score = |number| play(&game, &mut player, &mut learner, &mut game_rng(1, number)).score;
//! let first: u64 = (0..100).map(&mut score).sum();
//! let later: u64 = (100..1000).map(&mut score).sum();
//! assert!(later / 9 > first, "it learns: {first} points in the first hundred games");
//! ```

pub mod format;
pub mod game;
pub mod judge;
pub mod learn;
pub mod machine;
pub mod ntuple;
pub mod play;
pub mod random;
pub mod replay;
pub mod solve;
pub mod tally;

/// What a position is worth, and every step of learning towards it.
pub type Value = f32;
