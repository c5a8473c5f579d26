//! Faults of records, by kind.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::numbers::grouped;

/// What a fault is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum FaultKind {
    /// The records are of another game.
    Game,
    /// A line that is not a game by the rules.
    Rules,
    /// Something that the seal contradicts.
    Seal,
    /// A game that is not over.
    Unfinished,
    /// A game that occurred before.
    Duplicate,
    /// Fewer or more games than required.
    Number,
    /// New tiles that are not those of chance.
    Spawns,
    /// Times that cannot be true.
    Times,
    /// Too few moves per second.
    Speed,
}

impl FaultKind {
    /// What failed, in words.
    fn words(self, count: u64) -> String {
        let games = |one: &str, more: &str| match count {
            1 => format!("1 {one}"),
            count => format!("{} {more}", grouped(count as f64)),
        };
        match self {
            Self::Game => "the records are of another game".to_owned(),
            Self::Rules => games(
                "line is not a game by the rules",
                "lines are not games by the rules",
            ),
            Self::Seal => "the records do not agree with their seal".to_owned(),
            Self::Unfinished => games("game is not over", "games are not over"),
            Self::Duplicate => games("game is repeated", "games are repeated"),
            Self::Number => "the number of games is not the required one".to_owned(),
            Self::Spawns => "the new tiles are not those of chance".to_owned(),
            Self::Times => "the times cannot be true".to_owned(),
            Self::Speed => "the player is too slow".to_owned(),
        }
    }
}

/// One fault.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FaultReport {
    /// What it is about.
    pub kind: FaultKind,
    /// The line of the file, from 1; `None` if the fault concerns the whole file.
    pub line: Option<u64>,
    /// The number of the action in its episode, from 1.
    pub action: Option<usize>,
    /// The column in the line, from 1.
    pub column: Option<usize>,
    /// What is wrong.
    pub reason: String,
}

/// The number of faults of a kind that are reported in full.
const MAX_REPORTED: u64 = 100;

#[derive(Default)]
pub(super) struct Faults {
    counts: BTreeMap<FaultKind, u64>,
    pub(super) reported: Vec<FaultReport>,
}

impl Faults {
    pub(super) fn of_line(&mut self, kind: FaultKind, line: u64, reason: String) {
        self.add(FaultReport {
            kind,
            line: Some(line),
            action: None,
            column: None,
            reason,
        });
    }

    pub(super) fn of_all(&mut self, kind: FaultKind, reason: String) {
        self.add(FaultReport {
            kind,
            line: None,
            action: None,
            column: None,
            reason,
        });
    }

    pub(super) fn add(&mut self, fault: FaultReport) {
        let count = self.counts.entry(fault.kind).or_default();
        *count += 1;
        if *count <= MAX_REPORTED {
            self.reported.push(fault);
        }
    }

    /// The number of all faults.
    pub(super) fn count(&self) -> u64 {
        self.counts.values().sum()
    }

    /// Whether there is none of these kinds.
    pub(super) fn none_of(&self, kinds: &[FaultKind]) -> bool {
        kinds.iter().all(|kind| !self.counts.contains_key(kind))
    }

    /// What failed, in words.
    pub(super) fn failures(&self) -> Vec<String> {
        let each = self.counts.iter();
        each.map(|(kind, &count)| kind.words(count)).collect()
    }
}
