//! Records against their seal: every spawn is the one that the secret gives, and all games of the
//! match are there, each once, in order.

use std::collections::BTreeSet;

use afterstate::judge::RecordEnd;
use serde::{Deserialize, Serialize};

use super::JudgeOptions;
use super::batch::Numbered;
use super::faults::{FaultKind, Faults};
use super::guess::JudgedGame;
use crate::error::game_on;
use crate::seal::{Seal, SealKind, SealedSpawns, number_of};

/// What a seal says, in the result of a verification.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SealReport {
    /// Who drew the spawns: a referee, or the player itself.
    #[serde(default)]
    pub kind: SealKind,
    /// The seed of the player's own games.
    #[serde(default)]
    pub seed: Option<u64>,
    /// Whether everything agrees with it.
    #[serde(default)]
    pub verified: bool,
    /// The commitment. Only one that was known before the match proves anything.
    pub commitment: String,
    /// The command of the player.
    pub player: Vec<String>,
    /// The number of games.
    pub games: u64,
    /// The limit of a move, in milliseconds.
    pub time_ms: u64,
    /// The number of games in which the player broke a rule.
    pub broken: u64,
    /// When the match ended.
    pub finished: String,
}

impl SealReport {
    pub(super) fn of(seal: &Seal, verified: bool) -> Self {
        Self {
            kind: seal.kind,
            seed: seal.seed,
            verified,
            commitment: seal.commitment.clone(),
            player: seal.player.clone(),
            games: seal.games,
            time_ms: seal.time_ms,
            broken: seal.broken.values().map(|games| games.len() as u64).sum(),
            finished: seal.finished.clone(),
        }
    }
}

/// The comparison of records with their seal.
pub(super) struct SealCheck<'a> {
    seal: &'a Seal,
    /// The games that the player has broken off.
    broken: BTreeSet<u64>,
    /// The number of the next game.
    next: u64,
}

impl<'a> SealCheck<'a> {
    /// Checks the seal itself; `None` without a seal.
    pub(super) fn begin(
        options: &JudgeOptions<'a>,
        choice: &JudgedGame,
        faults: &mut Faults,
    ) -> Option<Self> {
        let seal = options.seal?;
        let expected = seal.expected_commitment();
        if let Some(expected) = expected.filter(|expected| seal.commitment != *expected) {
            faults.of_all(
                FaultKind::Seal,
                format!(
                    "the commitment of the seal is {}, but its secret and terms give {expected}",
                    shortened(&seal.commitment)
                ),
            );
        }
        let judged = game_on(&choice.game, choice.shape);
        let sealed = format!("{} on {}", shortened(&seal.game), seal.board);
        if sealed != judged {
            faults.of_all(
                FaultKind::Seal,
                format!("the seal is of a match of {sealed}, expected {judged}"),
            );
        }
        Some(Self {
            seal,
            broken: seal.broken.values().flatten().copied().collect(),
            next: 0,
        })
    }

    /// The number of the game in a line, by the name of its environment or else by its place.
    pub(super) fn number(&mut self, line: &Numbered, faults: &mut Faults) -> Option<u64> {
        let expected = self.next;
        let tag = line
            .text
            .as_deref()
            .and_then(|text| text.split(|&byte| byte == b'@').next());
        let tag = tag.and_then(|tag| std::str::from_utf8(tag).ok());
        let number = tag.and_then(number_of).unwrap_or(expected);
        if number != expected {
            let reason = format!("this is game {number} of the match, expected game {expected}");
            faults.of_line(FaultKind::Seal, line.number, reason);
        }
        self.next = number.saturating_add(1);
        Some(number)
    }

    /// The spawns of a game; a seal that was read has them.
    pub(super) fn spawns(&self, number: u64) -> Option<SealedSpawns> {
        self.seal.spawns(number)
    }

    /// What is wrong with the end of a game: only games that the player has broken off are not over.
    pub(super) fn fault_of_end(&self, number: u64, end: &RecordEnd) -> Option<String> {
        match (*end == RecordEnd::Over, self.broken.contains(&number)) {
            (true, true) => Some(format!(
                "game {number} is over, but by the seal the player has broken it off"
            )),
            (false, false) => Some(format!(
                "game {number} is not over, and the seal does not say why it ends"
            )),
            _ => None,
        }
    }

    /// What is wrong with the times of a game: a referee ends a game at a move that takes too long.
    pub(super) fn fault_of_time(&self, number: u64, longest: u64) -> Option<String> {
        let limit = self.seal.time_ms;
        (self.seal.kind == SealKind::Referee && longest > limit).then(|| {
            format!(
                "a move of game {number} took {longest} ms, but the limit of the match is {limit} ms"
            )
        })
    }

    /// Checks what can only be known at the end of the records.
    pub(super) fn end(&self, digest: &str, faults: &mut Faults) {
        let (found, expected) = (self.next, self.seal.games);
        if found != expected {
            let until = match found.checked_sub(1) {
                Some(last) => format!("end after game {last}"),
                None => "have no game".to_owned(),
            };
            let last = expected - 1;
            faults.of_all(
                FaultKind::Seal,
                format!("the records {until}, but the match has games 0 to {last}"),
            );
        }
        if digest != self.seal.records_sha256 {
            faults.of_all(
                FaultKind::Seal,
                format!(
                    "the SHA-256 of the records is {digest}, but the seal says {}",
                    shortened(&self.seal.records_sha256)
                ),
            );
        }
    }
}

/// The beginning of a text that may be anything, on one line.
fn shortened(text: &str) -> String {
    text.chars().take(64).flat_map(char::escape_debug).collect()
}
