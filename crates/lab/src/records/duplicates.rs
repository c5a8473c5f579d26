//! Games that occur more than once, also as mirror images.
//!
//! On a tiny board honest games do repeat. For n games, the expected number of equal pairs among
//! games whose spawns have at most the probability P is at most 8 P n (n - 1) / 2, with 8 for the
//! symmetries. A repetition is a fault where this is below one in a million; on 4x4 that holds for
//! every game of some ten moves.

use std::collections::HashMap;

use afterstate::judge::Replayed;

use super::LEAST_P;

/// All games so far, by their identity. Each takes about 40 bytes.
#[derive(Debug, Default)]
pub(super) struct Duplicates {
    /// The line of a game, and the hash of its actions.
    games: HashMap<u128, (u64, u128)>,
    repeated: Vec<Repeated>,
}

/// A game that occurred before.
#[derive(Clone, Copy, Debug)]
pub(super) struct Repeated {
    pub(super) line: u64,
    /// The line where it occurred first.
    pub(super) first: u64,
    pub(super) is_mirrored: bool,
    ln_probability: f64,
}

impl Duplicates {
    pub(super) fn see(&mut self, line: u64, replayed: &Replayed) {
        let identity = replayed.identity();
        let known = self.games.entry(identity.canonical);
        let &mut (first, actions) = known.or_insert((line, identity.actions));
        if first != line {
            self.repeated.push(Repeated {
                line,
                first,
                is_mirrored: actions != identity.actions,
                ln_probability: replayed.ln_probability(),
            });
        }
    }

    /// How many games occurred before.
    pub(super) fn count(&self) -> u64 {
        self.repeated.len() as u64
    }

    /// Those of them that do not repeat by chance, among this number of games.
    pub(super) fn implausible(&self, games: u64) -> impl Iterator<Item = Repeated> + '_ {
        let pairs = games as f64 * (games as f64 - 1.0) / 2.0;
        let least = LEAST_P.ln() - (8.0 * pairs.max(1.0)).ln();
        let all = self.repeated.iter().copied();
        all.filter(move |repeated| repeated.ln_probability < least)
    }
}

impl Repeated {
    /// What is wrong.
    pub(super) fn reason(&self) -> String {
        let first = self.first;
        match self.is_mirrored {
            false => format!("the same game as line {first}"),
            true => format!("a mirror image of the game of line {first}"),
        }
    }
}
