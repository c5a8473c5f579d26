//! A session as an episode record, and a record as a session.

use afterstate::format::episode::{Action, EpisodeRecord, Meta};
use afterstate::game::Shape;
use afterstate::judge::{Fault, PlacedTile, Reason};

use super::{Session, TurnState};
use crate::error::RecordError;
use crate::recorder::{LAST, now};

/// The names of both sides in a record.
pub(super) const TAG: &str = "play:place";
/// The name of the player, if its slide is the last action.
const PLAYER: &str = "play";

impl Session {
    /// The game with all its actions: those that were undone are part of it until an action differs.
    pub fn record(&self) -> EpisodeRecord {
        let moves = self.actions.clone();
        let taken = moves.iter().map(|one| one.millis);
        let taken = taken.fold(0, u64::saturating_add);
        let last = match self.end().board {
            TurnState::Spawn(_) if self.all_moves() > 0 => PLAYER,
            _ => LAST,
        };
        EpisodeRecord {
            opened: self.opened.clone(),
            closed: Meta {
                tag: last.to_owned(),
                // The system clock may have been set back meanwhile.
                at: now().max(self.opened.at.saturating_add(taken)),
            },
            moves,
            closed_at: 0,
            digest: 0,
        }
    }

    /// The record as a line of text, without a line break: the one that it was opened from, if
    /// nothing else was played.
    pub fn line(&self) -> Vec<u8> {
        let new = || self.record().line(self.shows_hint()).to_string().into();
        self.stored.clone().unwrap_or_else(new)
    }

    /// The game of a record, at its end. If it goes on, its random spawns are those of `seed`.
    ///
    /// # Errors
    /// When there is no such game, or the line is not a record of it.
    pub fn open(game: &str, shape: Shape, line: &[u8], seed: u64) -> Result<Self, RecordError> {
        let session = Self::new(game, shape, seed, 0);
        let session = session.map_err(|error| RecordError::Game(Box::new(error)))?;
        session.replayed(line)
    }

    pub(super) fn replayed(mut self, line: &[u8]) -> Result<Self, RecordError> {
        let mut record = EpisodeRecord::default();
        record.read(line, self.shows_hint())?;
        for (number, one) in record.moves.iter().enumerate() {
            let fault = |reason| Fault {
                action: Some(number + 1),
                column: one.column,
                reason,
            };
            let (expected, is_slide) = match one.action {
                Action::Slide(direction) => (self.slide(direction).map_err(fault)?, true),
                Action::Place { cell, tile, hint } => {
                    let cell = cell.into();
                    self.spawn(PlacedTile { cell, tile, hint }).map_err(fault)?;
                    (self.rules().spawn_reward(tile), false)
                }
            };
            let (found, expected) = (one.reward, u64::from(expected));
            // Not every program records rewards of spawns.
            if found != expected && (is_slide || found != 0) {
                return Err(fault(Reason::Reward { found, expected }).into());
            }
            // The time is that of the record.
            self.actions[number].millis = one.millis;
        }
        let expected = self.initial_tiles;
        let found = record.moves.len();
        if found < expected {
            let reason = Reason::NoStart { found, expected };
            let column = record.closed_at;
            return Err(RecordError::Rules(Fault {
                action: None,
                column,
                reason,
            }));
        }
        self.opened = record.opened;
        (self.stored, self.changes) = (Some(line.to_vec()), 0);
        Ok(self)
    }
}
