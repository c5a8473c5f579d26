//! Games that occur more than once, also as mirror images, and games with the same beginning.
//!
//! On a tiny board honest games do repeat. For n games, the expected number of equal pairs among
//! games whose spawns have at most the probability P is at most 8 P n (n - 1) / 2, with 8 for the
//! symmetries. A repetition is a fault where this is below one in a million; on 4x4 that holds for
//! every game of some ten moves.

use std::collections::HashMap;

use afterstate::judge::Replayed;

use super::LEAST_P;

/// The first game of each beginning. Each takes 56 to 112 bytes.
#[derive(Debug, Default)]
pub(super) struct Duplicates {
    games: HashMap<u128, First>,
    repeated: Vec<Repeated>,
}

/// The first game with a beginning.
#[derive(Clone, Copy, Debug)]
struct First {
    line: u64,
    canonical: u64,
    actions: u64,
}

/// A game that occurred before, or begins like an earlier one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Repeated {
    pub(super) line: u64,
    /// The line where it occurred first.
    first: u64,
    how: Repetition,
    ln_probability: f64,
}

#[derive(Clone, Copy, Debug)]
enum Repetition {
    Same,
    Mirrored,
    /// The first actions, or an image of them.
    Beginning(usize),
}

impl Duplicates {
    pub(super) fn see(&mut self, line: u64, replayed: &Replayed) {
        let identity = replayed.identity();
        let known = self.games.entry(identity.beginning);
        let first = *known.or_insert(First {
            line,
            canonical: identity.canonical,
            actions: identity.actions,
        });
        if first.line == line {
            return;
        }
        let (how, ln_probability) = match () {
            () if first.canonical != identity.canonical => (
                Repetition::Beginning(identity.begins),
                replayed.ln_beginning(),
            ),
            () if first.actions != identity.actions => {
                (Repetition::Mirrored, replayed.ln_probability())
            }
            () => (Repetition::Same, replayed.ln_probability()),
        };
        self.repeated.push(Repeated {
            line,
            first: first.line,
            how,
            ln_probability,
        });
    }

    /// How many games occurred before, or begin like an earlier one.
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
        match self.how {
            Repetition::Same => format!("the same game as line {first}"),
            Repetition::Mirrored => format!("a mirror image of the game of line {first}"),
            Repetition::Beginning(actions) => format!(
                "the first {actions} actions are those of line {first}, or a mirror image of them"
            ),
        }
    }
}
