//! Replay state in checkpoints of format 1: JSON, with positions as text.
//!
//! A position is its tiles in row-major order, one base-36 digit each, and after a `.` its packed
//! chance state, where there is one.

use serde::Deserialize;

use super::{EnvSnapshot, PositionArrays, ReplaySnapshot, SnapshotError, TransitionArrays};
use crate::tally::Outcome;

/// Replay state of format 1.
#[derive(Clone, Debug, Deserialize)]
pub struct Format1Replay {
    iterations: u64,
    /// State, outcome, pending transitions.
    games: Vec<(String, Outcome, Vec<Format1Transition>)>,
    oldest: usize,
    memory: Vec<Format1Transition>,
}

/// State, direction, reward, later rewards, steps, next state, whether the game is over.
type Format1Transition = (String, u8, u32, f32, u32, String, bool);

impl Format1Replay {
    /// Converts it to arrays.
    ///
    /// # Errors
    /// When the text of a position is invalid.
    pub fn snapshot(&self) -> Result<ReplaySnapshot, SnapshotError> {
        let mut snapshot = ReplaySnapshot {
            iterations: self.iterations,
            oldest: self.oldest,
            buffer: transitions(self.memory.iter())?,
            ..ReplaySnapshot::default()
        };
        for (state, outcome, pending) in &self.games {
            push_position(&mut snapshot.env_states, state)?;
            snapshot.envs.push(EnvSnapshot {
                outcome: *outcome,
                pending: pending.len(),
            });
        }
        let pending = self.games.iter().flat_map(|(.., pending)| pending);
        snapshot.pending = transitions(pending)?;
        Ok(snapshot)
    }
}

fn transitions<'a>(
    all: impl Iterator<Item = &'a Format1Transition>,
) -> Result<TransitionArrays, SnapshotError> {
    let mut arrays = TransitionArrays::default();
    for (state, direction, reward, later_rewards, steps, next, done) in all {
        push_position(&mut arrays.states, state)?;
        push_position(&mut arrays.next_states, next)?;
        arrays.directions.push(*direction);
        arrays.rewards.push(*reward);
        arrays.later_rewards.push(*later_rewards);
        arrays.steps.push(*steps);
        arrays.done.push((*done).into());
    }
    Ok(arrays)
}

fn push_position(positions: &mut PositionArrays, text: &str) -> Result<(), SnapshotError> {
    let wrong = || SnapshotError::Position(text.chars().take(80).collect());
    let (tiles, chance_state) = text.split_once('.').unwrap_or((text, "0"));
    for digit in tiles.chars() {
        let tile = digit.to_digit(36).ok_or_else(wrong)?;
        positions.tiles.push(tile as u8);
    }
    let chance_state = chance_state.parse().map_err(|_| wrong())?;
    positions.chance_states.push(chance_state);
    Ok(())
}
