//! Replay trainer state, serialised for exact resumption: arrays of numbers, as a checkpoint stores
//! them.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::{Env, ReplayBuffer, ReplayTrainer, StoredAction, StoredReward, Transition};
use crate::episode::Episode;
use crate::game::{ChanceState, Direction, Game, Slide, State};
use crate::tally::Outcome;
use crate::value::Decision;

/// Everything needed to resume a [`ReplayTrainer`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReplaySnapshot {
    /// Iterations so far.
    pub iterations: u64,
    /// The index in the buffer that will be overwritten next.
    pub oldest: usize,
    /// The environments, without their states.
    pub envs: Vec<EnvSnapshot>,
    /// The state of each environment.
    pub env_states: PositionArrays,
    /// The pending transitions of all environments, which are not in the buffer yet, one
    /// environment after the other.
    pub pending: TransitionArrays,
    /// The buffer.
    pub buffer: TransitionArrays,
}

/// An environment without its positions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EnvSnapshot {
    /// The score and the moves so far.
    pub outcome: Outcome,
    /// The number of its pending transitions.
    pub pending: usize,
}

/// Positions as arrays.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PositionArrays {
    /// The tile indices of all cells, position by position.
    pub tiles: Vec<u8>,
    /// The chance state of each, packed.
    pub chance_states: Vec<u16>,
}

/// Transitions as arrays.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TransitionArrays {
    /// The states before.
    pub states: PositionArrays,
    /// Directions from 0 to 3, as in records.
    pub directions: Vec<u8>,
    /// The reward of each move.
    pub rewards: Vec<u32>,
    /// The discounted rewards of the following moves of each.
    pub later_rewards: Vec<f32>,
    /// The number of moves that each spans.
    pub steps: Vec<u32>,
    /// The states after.
    pub next_states: PositionArrays,
    /// 1 where the game is over, else 0.
    pub done: Vec<u8>,
}

/// Why a snapshot does not belong to this trainer.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum SnapshotError {
    /// Another number of environments.
    #[error("there are {found} environments, expected {expected}")]
    Envs {
        /// In the snapshot.
        found: usize,
        /// By the configuration.
        expected: usize,
    },
    /// More transitions than the buffer holds.
    #[error("there are {found} transitions in the buffer, which has room for {capacity}")]
    Buffer {
        /// In the snapshot.
        found: usize,
        /// By the configuration.
        capacity: usize,
    },
    /// Arrays of different lengths.
    #[error("the array `{array}` has {found} numbers, expected {expected}")]
    Length {
        /// The array.
        array: &'static str,
        /// Its length.
        found: usize,
        /// The length of the other arrays.
        expected: usize,
    },
    /// An impossible position, or one in which the recorded move is illegal.
    #[error("`{0}` is not a position in which such a move can be made")]
    Position(String),
    /// An implausibly large count.
    #[error("{0} is too large for a count")]
    Count(u64),
    /// An impossible number of moves, or a sum of rewards that is not finite.
    #[error(
        "a transition of {steps} moves with {later_rewards} of later rewards; expected 1 to {most} moves"
    )]
    Steps {
        /// The moves found.
        steps: u32,
        /// The later rewards found.
        later_rewards: f32,
        /// By the configuration.
        most: u32,
    },
    /// A number that is not a direction.
    #[error("{0} is not a direction; expected 0 to 3")]
    Direction(u8),
}

impl PositionArrays {
    fn push<G: Game>(&mut self, game: &G, state: State<G::Board>) {
        let cells = 0..game.shape().cells();
        self.tiles.extend(cells.map(|i| state.cell(i)));
        self.chance_states.push(game.chance_state(state).packed());
    }

    fn len(&self) -> usize {
        self.chance_states.len()
    }

    fn check(&self, array: &'static str, count: usize, cells: usize) -> Result<(), SnapshotError> {
        length(array, self.chance_states.len(), count)?;
        length(array, self.tiles.len(), count * cells)
    }

    /// A position; the lengths are already checked.
    fn get<G: Game>(&self, game: &G, n: usize) -> Result<State<G::Board>, SnapshotError> {
        let cells = game.shape().cells();
        let tiles = &self.tiles[n * cells..][..cells];
        let packed = self.chance_states[n];
        let known = packed >> ChanceState::BITS == 0;
        let chance_state = ChanceState::unpacked(packed);
        let state = known.then(|| game.state(tiles, chance_state)).flatten();
        state.ok_or_else(|| wrong_position(tiles))
    }
}

fn length(array: &'static str, found: usize, expected: usize) -> Result<(), SnapshotError> {
    let error = SnapshotError::Length {
        array,
        found,
        expected,
    };
    (found == expected).then_some(()).ok_or(error)
}

fn wrong_position(tiles: &[u8]) -> SnapshotError {
    let digits = tiles.iter().map(u8::to_string).collect::<Vec<_>>();
    SnapshotError::Position(digits.join(","))
}

fn in_range(count: u64) -> Result<(), SnapshotError> {
    let fits = i64::try_from(count).is_ok();
    fits.then_some(()).ok_or(SnapshotError::Count(count))
}

impl TransitionArrays {
    /// The number of transitions.
    pub fn len(&self) -> usize {
        self.states.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn push<G: Game>(&mut self, game: &G, transition: &Transition<G::Board>) {
        self.states.push(game, transition.state);
        self.directions.push(transition.direction as u8);
        self.rewards.push(transition.reward);
        self.later_rewards.push(transition.later_rewards);
        self.steps.push(transition.steps);
        self.next_states.push(game, transition.next);
        self.done.push(transition.done.into());
    }

    fn check(&self, cells: usize) -> Result<(), SnapshotError> {
        let count = self.len();
        self.states.check("states", count, cells)?;
        self.next_states.check("next_states", count, cells)?;
        length("directions", self.directions.len(), count)?;
        length("rewards", self.rewards.len(), count)?;
        length("later_rewards", self.later_rewards.len(), count)?;
        length("steps", self.steps.len(), count)?;
        length("done", self.done.len(), count)
    }
}

impl<G: Game> ReplayTrainer<G> {
    /// Everything needed to resume it.
    pub fn snapshot(&self) -> ReplaySnapshot {
        let mut snapshot = ReplaySnapshot {
            iterations: self.iterations,
            oldest: self.buffer.oldest(),
            ..ReplaySnapshot::default()
        };
        for env in &self.envs {
            snapshot.envs.push(EnvSnapshot {
                outcome: env.episode.outcome(),
                pending: env.pending.len(),
            });
            snapshot.env_states.push(&self.game, env.episode.state());
            for transition in &env.pending {
                snapshot.pending.push(&self.game, transition);
            }
        }
        for transition in self.buffer.items() {
            snapshot.buffer.push(&self.game, transition);
        }
        snapshot
    }

    /// A transition of a snapshot, if the rules allow it.
    fn transition(
        &self,
        arrays: &TransitionArrays,
        n: usize,
    ) -> Result<Transition<G::Board>, SnapshotError> {
        let (steps, later_rewards) = (arrays.steps[n], arrays.later_rewards[n]);
        let most = self.config.n_step;
        if !(1..=most).contains(&steps) || !later_rewards.is_finite() {
            return Err(SnapshotError::Steps {
                steps,
                later_rewards,
                most,
            });
        }
        let game = &self.game;
        let state = arrays.states.get(game, n)?;
        let next = arrays.next_states.get(game, n)?;
        let number = arrays.directions[n];
        let direction = Direction::ALL.get(usize::from(number));
        let direction = *direction.ok_or(SnapshotError::Direction(number))?;
        let (reward, done) = (arrays.rewards[n], arrays.done[n]);
        let slides = game.slides(state);
        let made = match (slides.get(direction), self.config.stored_action) {
            // The first choice was illegal, and any legal slide may have been made.
            (None, StoredAction::Chosen) => slides.legal().min_by_key(Slide::reward),
            (slide, _) => slide,
        };
        // That of an illegal first choice is 0.
        let of_chosen = reward == 0 && self.config.stored_reward == StoredReward::Chosen;
        // The spawn may have a reward, too.
        let legal = made.is_some_and(|slide| of_chosen || slide.reward() <= reward);
        let ends = Decision::new(game, next).is_none();
        if !legal || done > 1 || ends != (done == 1) {
            let cells = game.shape().cells();
            return Err(wrong_position(&arrays.states.tiles[n * cells..][..cells]));
        }
        Ok(Transition {
            state,
            direction,
            reward,
            later_rewards,
            steps,
            next,
            done: ends,
        })
    }

    /// Resumes from a snapshot.
    ///
    /// # Errors
    /// When it does not belong to a trainer with this configuration; the trainer is unchanged then.
    pub fn restore(&mut self, snapshot: &ReplaySnapshot) -> Result<(), SnapshotError> {
        in_range(snapshot.iterations)?;
        let (found, expected) = (snapshot.envs.len(), self.config.num_envs);
        if found != expected {
            return Err(SnapshotError::Envs { found, expected });
        }
        let (found, capacity) = (snapshot.buffer.len(), self.config.buffer_size);
        if found > capacity {
            return Err(SnapshotError::Buffer { found, capacity });
        }
        let cells = self.game.shape().cells();
        snapshot.env_states.check("env_states", expected, cells)?;
        snapshot.buffer.check(cells)?;
        snapshot.pending.check(cells)?;
        let counts = snapshot.envs.iter().map(|env| env.pending);
        let counted = counts.fold(0, usize::saturating_add);
        length("pending", snapshot.pending.len(), counted)?;

        let mut first = 0;
        let mut envs = Vec::new();
        for (n, saved) in snapshot.envs.iter().enumerate() {
            envs.push(self.env(snapshot, n, first)?);
            first += saved.pending;
        }
        let items = (0..snapshot.buffer.len()).map(|n| self.transition(&snapshot.buffer, n));
        let items = items.collect::<Result<_, _>>()?;
        let buffer = ReplayBuffer::new(capacity, self.config.overwrite);
        self.buffer = buffer.with_items(items, snapshot.oldest);
        self.envs = envs;
        self.iterations = snapshot.iterations;
        Ok(())
    }

    /// An environment whose pending transitions start at number `first`.
    fn env(
        &self,
        snapshot: &ReplaySnapshot,
        n: usize,
        first: usize,
    ) -> Result<Env<G>, SnapshotError> {
        let EnvSnapshot { outcome, pending } = snapshot.envs[n];
        if !outcome.in_range() {
            let largest = outcome.score.max(outcome.moves);
            return Err(SnapshotError::Count(largest));
        }
        let state = snapshot.env_states.get(&self.game, n)?;
        // A transition contains the reward of the spawn at its end, so no later one needs it.
        let episode = Episode::in_progress(&self.game, state, 0, outcome);
        let transitions = (first..first + pending).map(|n| self.transition(&snapshot.pending, n));
        let transitions: Vec<_> = transitions.collect::<Result<_, _>>()?;
        let fits = pending < self.config.n_step as usize;
        let over = episode.decision().is_none() || transitions.iter().any(|t| t.done);
        if !fits || over {
            let cells = self.game.shape().cells();
            let tiles = &snapshot.env_states.tiles[n * cells..][..cells];
            return Err(wrong_position(tiles));
        }
        Ok(Env {
            episode,
            pending: transitions.into(),
        })
    }
}
