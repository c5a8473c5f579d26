//! Agents that learn from a replay buffer: environments side by side, and a network that learns in
//! batches.

use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

use afterstate::format::native::{Metadata, NativeError, RawTensor, StoredParts};
use afterstate::game::{Direction, Game};
use afterstate::ntuple::StateNetwork;
use afterstate::replay::{
    EnvSnapshot, Format1Replay, NTupleReplayAgent, NTupleReplayParams, PositionArrays, ReplayAgent,
    ReplayConfig, ReplaySnapshot, ReplayTrainer, TrainingStats, Transition, TransitionArrays,
};
use afterstate::tally::{Outcome, Tally};
use serde::{Deserialize, Serialize};

use super::ntuple::{Dispatch, NTupleAgent, Virtual, no_states, state_agent};
use super::{
    Agent, BoardState, Explanation, FirstMove, PolicyFn, RoundResult, RoundSpec, StateAnalysis,
    StoredAgent, TrainableAgent,
};
use crate::LabError;
use crate::disk::AtomicFile;
use crate::games::{GameVisitor, with_game};
use crate::memory::{MemoryBudget, Reservation};
use crate::recorder::Sink;
use crate::spec::{NTupleSpec, TdSpec};
use crate::tables::StoredTables;

/// The metadata key of [`SavedReplay`] in a checkpoint.
const REPLAY: &str = "replay";

/// A new n-tuple agent that learns from a replay buffer.
///
/// # Errors
/// When there is not enough memory, or the game has no values of states.
pub(crate) fn replay_agent(
    spec: &NTupleSpec,
    params: NTupleReplayParams,
    config: ReplayConfig,
    seed: u64,
    initial_value: f32,
    budget: &MemoryBudget,
) -> Result<Box<dyn TrainableAgent>, LabError> {
    let new = NewAgent {
        spec,
        params,
        config,
        seed,
        initial_value,
        budget,
    };
    with_game(&spec.game, spec.shape(), new)?
}

struct NewAgent<'a> {
    spec: &'a NTupleSpec,
    params: NTupleReplayParams,
    config: ReplayConfig,
    seed: u64,
    initial_value: f32,
    budget: &'a MemoryBudget,
}

impl GameVisitor for NewAgent<'_> {
    type Output = Result<Box<dyn TrainableAgent>, LabError>;

    fn visit<G: Game>(self, game: G) -> Self::Output {
        let (spec, budget) = (self.spec, self.budget);
        let mut agent = state_agent::<G, Virtual>(game, spec, false, self.initial_value, budget)?;
        agent.replay = self.params;
        let reserved = reserve_buffer(&game, &self.config, budget)?;
        Ok(with_replay(game, agent, self.config, self.seed, reserved))
    }

    fn visit_without_states<G: Game>(self, _: G) -> Self::Output {
        Err(no_states(self.spec))
    }
}

/// Reserves memory for a replay buffer: its transitions, and the three copies that exist while a
/// checkpoint is written, as arrays, as tensors and as a part of the file.
pub(super) fn reserve_buffer<G: Game>(
    game: &G,
    config: &ReplayConfig,
    budget: &MemoryBudget,
) -> Result<Reservation, LabError> {
    let transitions = config.buffer_size;
    let transition = size_of::<Transition<G::Board>>();
    // A byte a cell and a chance state for each of two boards; three numbers of four bytes, the
    // direction, and whether the game is over.
    let stored = 2 * (game.shape().cells() + 2) + 3 * 4 + 2;
    let bytes = (transitions as u64).saturating_mul((transition + 3 * stored) as u64);
    budget
        .reserve(bytes)
        .map_err(|over| LabError::BufferMemory {
            transitions,
            needed: over.needed,
            available: over.available,
        })
}

/// An agent with environments and a replay buffer, for which `reserved` is reserved.
pub(super) fn with_replay<G: Game>(
    game: G,
    agent: impl BatchAgent<G> + 'static,
    config: ReplayConfig,
    seed: u64,
    reserved: Reservation,
) -> Box<dyn TrainableAgent> {
    let trainer = ReplayTrainer::new(game, config, seed);
    Box::new(ReplayedAgent {
        agent,
        progress: Mutex::new(ReplayRound {
            trainer,
            waiting: Vec::new(),
        }),
        reserved,
    })
}

/// An agent that learns in batches.
pub(super) trait BatchAgent<G: Game>: StoredAgent {
    /// Lends its learning part.
    fn with_learner(&self, train: &mut dyn FnMut(&mut dyn ReplayAgent<G>));

    /// As [`TrainableAgent::refresh`].
    fn refresh_network(&self, _threads: usize) {}

    /// Writes it with further tensors.
    fn write_with(
        &self,
        metadata: &Metadata,
        keep: StoredParts,
        further: &[RawTensor],
        output: &AtomicFile,
        threads: usize,
    ) -> Result<(), NativeError>;
}

impl<G: Game, D: Dispatch> BatchAgent<G> for NTupleAgent<G, StateNetwork, D> {
    fn with_learner(&self, train: &mut dyn FnMut(&mut dyn ReplayAgent<G>)) {
        let (game, network) = (&self.game, &self.network);
        train(&mut NTupleReplayAgent::new(
            game,
            network,
            self.ties,
            self.replay,
        ));
    }

    fn refresh_network(&self, threads: usize) {
        self.refresh(threads);
    }

    fn write_with(
        &self,
        metadata: &Metadata,
        keep: StoredParts,
        further: &[RawTensor],
        output: &AtomicFile,
        threads: usize,
    ) -> Result<(), NativeError> {
        let tables = self.network.tables();
        crate::tables::write_with(tables, metadata, keep, further, output, threads)
    }
}

struct ReplayedAgent<G: Game, A> {
    agent: A,
    progress: Mutex<ReplayRound<G>>,
    /// For the replay buffer.
    reserved: Reservation,
}

/// What changes from round to round besides the network.
struct ReplayRound<G: Game> {
    trainer: ReplayTrainer<G>,
    /// Games that ended in the same iteration as the last one of a round: the first of the next
    /// round.
    waiting: Vec<Outcome>,
}

/// What a checkpoint stores in its metadata; positions and transitions are tensors.
#[derive(Serialize, Deserialize)]
struct SavedReplay {
    iterations: u64,
    oldest: usize,
    envs: Vec<EnvSnapshot>,
    pending: usize,
    buffer: usize,
    waiting: Vec<Outcome>,
}

/// The same in format 1, which stores everything in the metadata.
#[derive(Deserialize)]
struct Format1 {
    school: Format1Replay,
    waiting: Vec<Outcome>,
}

impl<G: Game, A> ReplayedAgent<G, A> {
    fn progress(&self) -> MutexGuard<'_, ReplayRound<G>> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<G: Game, A: BatchAgent<G>> Agent for ReplayedAgent<G, A> {
    fn search(&self) -> &str {
        self.agent.search()
    }

    fn draws_per_move(&self) -> Option<u32> {
        self.agent.draws_per_move()
    }

    fn explain(&self, board: &BoardState, direction: Direction) -> Option<Explanation> {
        self.agent.explain(board, direction)
    }

    fn play(&self, round: &RoundSpec<'_>, sink: Option<Sink<'_>>) -> Vec<Outcome> {
        self.agent.play(round, sink)
    }

    fn play_from(&self, first: FirstMove<'_>, round: &RoundSpec<'_>) -> Option<Vec<Outcome>> {
        self.agent.play_from(first, round)
    }

    fn analyze(&self, boards: &[BoardState]) -> Vec<Option<StateAnalysis>> {
        self.agent.analyze(boards)
    }

    fn policy_fn(&self) -> PolicyFn<'_> {
        self.agent.policy_fn()
    }

    fn bytes(&self) -> u64 {
        self.agent.bytes() + self.reserved.bytes()
    }
}

impl<G: Game, A: BatchAgent<G>> TrainableAgent for ReplayedAgent<G, A> {
    fn learn(&self, round: &RoundSpec<'_>, learner: &TdSpec) -> RoundResult {
        let mut progress = self.progress();
        let ReplayRound { trainer, waiting } = &mut *progress;
        let games = (round.numbers.end - round.numbers.start) as usize;
        let mut outcomes = std::mem::take(waiting);
        let mut stats = TrainingStats::default();
        self.agent.with_learner(&mut |agent| {
            while outcomes.len() < games
                && stats.iterations < round.max_iterations
                && stats.updates < round.max_updates
                && stats.is_finite()
                && !(round.stop)()
            {
                let before = outcomes.len();
                let number = round.numbers.start + before as u64;
                agent.set_learning_rate(learner.learning_rate.at(number));
                let iteration = trainer.iterate(agent, |outcome| {
                    (round.on_game)(&outcome);
                    outcomes.push(outcome);
                });
                stats.merge(&iteration);
                (round.on_iteration)(&iteration, &outcomes[before..]);
            }
        });
        *waiting = outcomes.split_off(games.min(outcomes.len()));
        RoundResult {
            outcomes,
            restarts: Tally::default(),
            finite: stats.is_finite(),
            stats: Some(stats),
        }
    }

    fn refresh(&self, threads: usize) {
        self.agent.refresh_network(threads);
    }

    fn last_board(&self) -> Option<BoardState> {
        let progress = self.progress();
        let (game, state) = (progress.trainer.game(), progress.trainer.last_state()?);
        let cells = 0..game.shape().cells();
        Some(BoardState {
            tiles: cells.map(|cell| state.cell(cell)).collect(),
            chance_state: game.chance_state(state),
        })
    }
}

impl<G: Game, A: BatchAgent<G>> StoredAgent for ReplayedAgent<G, A> {
    fn drafts(&self) -> bool {
        self.agent.drafts()
    }

    fn write(
        &self,
        metadata: &Metadata,
        keep: StoredParts,
        output: &AtomicFile,
        threads: usize,
    ) -> Result<(), NativeError> {
        // A draft is written during a round: its content is discarded, and it has no replay state.
        let progress = match self.progress.try_lock() {
            Ok(progress) => Some(progress),
            Err(TryLockError::Poisoned(progress)) => Some(progress.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        };
        let (StoredParts::Everything, Some(progress)) = (keep, progress) else {
            return self.agent.write(metadata, keep, output, threads);
        };
        let mut metadata = metadata.clone();
        let snapshot = progress.trainer.snapshot();
        let saved = SavedReplay {
            iterations: snapshot.iterations,
            oldest: snapshot.oldest,
            envs: snapshot.envs.clone(),
            pending: snapshot.pending.len(),
            buffer: snapshot.buffer.len(),
            waiting: progress.waiting.clone(),
        };
        let text = serde_json::to_string(&saved).map_err(io::Error::other)?;
        metadata.insert(REPLAY.to_owned(), text);
        let tensors = tensors(&snapshot);
        self.agent
            .write_with(&metadata, keep, &tensors, output, threads)
    }

    fn read(&self, saved: &StoredTables, keep: StoredParts) -> Result<(), NativeError> {
        self.agent.read(saved, keep)?;
        if keep != StoredParts::Everything {
            return Ok(());
        }
        let damaged = |found: String| NativeError::Metadata { key: REPLAY, found };
        let text = saved.metadata().get(REPLAY).map_or("", String::as_str);
        let (snapshot, waiting) = if text.contains("\"school\"") {
            let old: Format1 =
                serde_json::from_str(text).map_err(|error| damaged(error.to_string()))?;
            let snapshot = old.school.snapshot();
            (
                snapshot.map_err(|error| damaged(error.to_string()))?,
                old.waiting,
            )
        } else {
            let found: SavedReplay =
                serde_json::from_str(text).map_err(|error| damaged(error.to_string()))?;
            (snapshot_of(&found, saved)?, found.waiting)
        };
        let mut progress = self.progress();
        let restored = progress.trainer.restore(&snapshot);
        restored.map_err(|error| damaged(error.to_string()))?;
        if !waiting.iter().all(Outcome::in_range) {
            return Err(damaged("a score that no game reaches".to_owned()));
        }
        progress.waiting = waiting;
        Ok(())
    }
}

/// The arrays of a snapshot as tensors.
fn tensors(snapshot: &ReplaySnapshot) -> Vec<RawTensor> {
    let mut all = positions("replay.env_states", &snapshot.env_states);
    all.extend(transitions("replay.pending", &snapshot.pending));
    all.extend(transitions("replay.buffer", &snapshot.buffer));
    all
}

fn positions(name: &str, arrays: &PositionArrays) -> Vec<RawTensor> {
    let count = arrays.chance_states.len();
    let cells = arrays.tiles.len() / count.max(1);
    vec![
        RawTensor::u8(format!("{name}.tiles"), &[count, cells], &arrays.tiles),
        RawTensor::u16(format!("{name}.chance_states"), &arrays.chance_states),
    ]
}

fn transitions(name: &str, arrays: &TransitionArrays) -> Vec<RawTensor> {
    let count = arrays.len();
    let mut all = positions(&format!("{name}.states"), &arrays.states);
    all.extend(positions(
        &format!("{name}.next_states"),
        &arrays.next_states,
    ));
    all.extend([
        RawTensor::u8(format!("{name}.directions"), &[count], &arrays.directions),
        RawTensor::u32(format!("{name}.rewards"), &arrays.rewards),
        RawTensor::f32(format!("{name}.later_rewards"), &arrays.later_rewards),
        RawTensor::u32(format!("{name}.steps"), &arrays.steps),
        RawTensor::u8(format!("{name}.done"), &[count], &arrays.done),
    ]);
    all
}

/// The snapshot of a checkpoint.
fn snapshot_of(found: &SavedReplay, saved: &StoredTables) -> Result<ReplaySnapshot, NativeError> {
    let positions = |name: &str, count: usize| {
        Ok::<_, NativeError>(PositionArrays {
            tiles: saved.bytes(&format!("{name}.tiles"))?,
            chance_states: numbers(
                saved,
                &format!("{name}.chance_states"),
                count,
                u16::from_le_bytes,
            )?,
        })
    };
    let transitions = |name: &str, count: usize| {
        Ok::<_, NativeError>(TransitionArrays {
            states: positions(&format!("{name}.states"), count)?,
            directions: saved.bytes(&format!("{name}.directions"))?,
            rewards: numbers(saved, &format!("{name}.rewards"), count, u32::from_le_bytes)?,
            later_rewards: numbers(
                saved,
                &format!("{name}.later_rewards"),
                count,
                f32::from_le_bytes,
            )?,
            steps: numbers(saved, &format!("{name}.steps"), count, u32::from_le_bytes)?,
            next_states: positions(&format!("{name}.next_states"), count)?,
            done: saved.bytes(&format!("{name}.done"))?,
        })
    };
    Ok(ReplaySnapshot {
        iterations: found.iterations,
        oldest: found.oldest,
        envs: found.envs.clone(),
        env_states: positions("replay.env_states", found.envs.len())?,
        pending: transitions("replay.pending", found.pending)?,
        buffer: transitions("replay.buffer", found.buffer)?,
    })
}

/// All numbers of a tensor, if their count is as expected.
fn numbers<T, const WIDTH: usize>(
    saved: &StoredTables,
    name: &str,
    count: usize,
    decode: impl Fn([u8; WIDTH]) -> T,
) -> Result<Vec<T>, NativeError> {
    let bytes = saved.bytes(name)?;
    if bytes.len() != count.saturating_mul(WIDTH) {
        return Err(NativeError::Table {
            table: name.to_owned(),
            found: format!("{} bytes", bytes.len()),
            expected: format!("{count} numbers of {WIDTH} bytes"),
        });
    }
    let (chunks, _) = bytes.as_chunks::<WIDTH>();
    Ok(chunks.iter().map(|chunk| decode(*chunk)).collect())
}
