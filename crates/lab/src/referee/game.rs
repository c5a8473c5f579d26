//! One game of a match: the environment's side, and its record.
//!
//! `play` of the core cannot be used: a policy always returns a legal slide, and a player may fail
//! to. The moves are made and counted by the core's [`Episode`], as everywhere.

use std::time::{Duration, Instant};

use afterstate::episode::Episode;
use afterstate::format::episode::{Action, EpisodeRecord, Meta, RecordedMove};
use afterstate::game::{Direction, Game, Spawn};
use afterstate::tally::Outcome;

use super::protocol::{self, Breach};
use crate::agent::PolicyFn;
use crate::recorder::{LAST, now};
use crate::seal::SecretSpawns;

/// A game in progress.
pub(super) struct RefereedGame<G: Game> {
    game: G,
    spawns: SecretSpawns,
    episode: Episode<G>,
    record: EpisodeRecord,
    begun: Instant,
    thought: Duration,
}

impl<G: Game> RefereedGame<G> {
    /// Spawns the initial tiles. `tag` names both sides in the record.
    pub(super) fn new(game: G, mut spawns: SecretSpawns, tag: String) -> Self {
        let mut record = EpisodeRecord {
            opened: Meta { tag, at: now() },
            ..EpisodeRecord::default()
        };
        let begun = Instant::now();
        let state = game.start_by(|after| {
            let (cell, spawn) = spawns.draw(&game, after);
            push_spawn(&mut record, &game, cell, spawn);
            game.place(after, cell, spawn)
        });
        let outcome = Outcome {
            score: game.initial_score(state),
            ..Outcome::default()
        };
        Self {
            episode: Episode::in_progress(&game, state, 0, outcome),
            game,
            spawns,
            record,
            begun,
            thought: Duration::ZERO,
        }
    }

    /// The line that asks the player to move; `None` if the game is over.
    pub(super) fn question(&self) -> Option<String> {
        let decision = self.episode.decision()?;
        Some(protocol::board(&self.game, decision.state()))
    }

    /// The slides that a policy may choose; none if it does not know the board.
    pub(super) fn choices(&self, policy: &mut PolicyFn<'_>) -> Vec<Direction> {
        let state = self.episode.state();
        let cells = 0..self.game.shape().cells();
        let tiles: Vec<u8> = cells.map(|cell| state.cell(cell)).collect();
        policy(&tiles, self.game.chance_state(state)).unwrap_or_default()
    }

    /// The time of all slides so far.
    pub(super) fn thought(&self) -> Duration {
        self.thought
    }

    /// Makes a slide that took this time, and a spawn.
    pub(super) fn slide(&mut self, direction: Direction, took: Duration) -> Result<(), Breach> {
        let decision = self.episode.decision();
        let slide = decision.and_then(|decision| decision.slides().get(direction));
        let slide = slide.ok_or(Breach::IllegalMove(direction))?;
        self.thought += took;
        self.record.moves.push(RecordedMove {
            action: Action::Slide(direction),
            reward: slide.reward().into(),
            millis: took.as_millis() as u64,
            column: 0,
        });
        let (cell, spawn) = self.spawns.draw(&self.game, slide.after());
        push_spawn(&mut self.record, &self.game, cell, spawn);
        self.episode.advance_by(&self.game, slide, (cell, spawn));
        Ok(())
    }

    /// The outcome so far.
    pub(super) fn outcome(&self) -> Outcome {
        let largest = self.game.max_tile(self.episode.state());
        Outcome {
            largest: self.game.tile_value(largest),
            ..self.episode.outcome()
        }
    }

    /// The record of the game as it is now.
    pub(super) fn into_record(self) -> EpisodeRecord {
        let Self { record, begun, .. } = self;
        let closed = Meta {
            // A game ends when it is the player's turn.
            tag: LAST.to_owned(),
            at: record.opened.at + begun.elapsed().as_millis() as u64,
        };
        EpisodeRecord { closed, ..record }
    }
}

fn push_spawn<G: Game>(record: &mut EpisodeRecord, game: &G, cell: usize, spawn: Spawn) {
    record.moves.push(RecordedMove {
        action: Action::Place {
            cell: cell as u8,
            tile: spawn.tile,
            hint: spawn.chance_state.hint,
        },
        reward: game.spawn_reward(spawn.tile).into(),
        millis: 0,
        column: 0,
    });
}
