//! Learning from a replay buffer: one move in each of many environments, then some batches drawn
//! from the transitions seen.
//!
//! `decisions -> a ReplayAgent chooses -> Transitions -> ReplayBuffer -> batches -> the ReplayAgent
//! learns`
//!
//! Every iteration has its own random stream, derived from the seed and the iteration's number. A
//! [`ReplayTrainer`] can therefore be resumed from its games, its buffer and that number: see
//! [`ReplaySnapshot`].

mod buffer;
mod dqn;
mod format1;
mod ntuple;
mod snapshot;

pub use buffer::{Overwrite, ReplayBuffer};
pub use dqn::{ActingNetwork, Illegal, InitialWeights, TargetUpdate};
pub use format1::Format1Replay;
pub use ntuple::{NTupleReplayAgent, NTupleReplayParams, SpawnValue, TdErrorOf};
pub use snapshot::{EnvSnapshot, PositionArrays, ReplaySnapshot, SnapshotError, TransitionArrays};

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::Value;
use crate::episode::Episode;
use crate::game::{Direction, Game, Slide, State};
use crate::random::{Rng, game_rng};
use crate::tally::Outcome;
use crate::value::Decision;

/// One move and its consequences, as stored in the buffer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Transition<B> {
    /// The state before it.
    pub state: State<B>,
    /// The slide that learns. It was made, unless the buffer stores first choices: see
    /// [`StoredAction`].
    pub direction: Direction,
    /// The reward of the slide that was made, and of the spawn after it, unless the buffer stores
    /// that of first choices: see [`StoredReward`].
    pub reward: u32,
    /// The discounted rewards of the following moves of an n-step transition.
    pub later_rewards: f32,
    /// The number of moves it spans, including this one.
    pub steps: u32,
    /// The state after these moves.
    pub next: State<B>,
    /// Whether the game is over in that state.
    pub done: bool,
}

/// A slide to make, and the one that its agent preferred.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Choice<B> {
    /// The slide to make.
    pub slide: Slide<B>,
    /// The slide of the largest value if that is illegal, otherwise the slide to make.
    pub first: Direction,
}

impl<B: Copy> From<Slide<B>> for Choice<B> {
    /// The choice of an agent that values legal slides alone.
    fn from(slide: Slide<B>) -> Self {
        Self {
            slide,
            first: slide.direction(),
        }
    }
}

/// Which slide a transition stores where an agent's first choice is illegal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StoredAction {
    /// The slide that was made.
    #[default]
    Made,
    /// The first choice, with the next state of the slide that was made: the flaw that the "2048
    /// experiment report" corrects in its section 4.12. A random slide is always stored as made.
    Chosen,
}

/// Which reward a transition stores where an agent's first choice is illegal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StoredReward {
    /// That of the slide that was made.
    #[default]
    Made,
    /// That of the first choice, which is 0. The listing of the "2048 experiment report" reads the
    /// score before it tries other slides.
    Chosen,
}

/// Chooses moves and learns from transitions.
pub trait ReplayAgent<G: Game> {
    /// Replaces `chosen` by a choice for each decision.
    fn choose(
        &mut self,
        game: &G,
        decisions: &[Decision<G>],
        rng: &mut Rng,
        chosen: &mut Vec<Choice<G::Board>>,
    );

    /// Learns from a batch of transitions.
    fn learn(&mut self, game: &G, batch: &[Transition<G::Board>]) -> BatchStats;

    /// Changes the learning rate from now on.
    fn set_learning_rate(&mut self, _: Value) {}
}

/// The statistics of a batch, as means over its transitions.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct BatchStats {
    /// The squared error.
    pub loss: f64,
    /// The value of the states, before the update.
    pub value: f64,
}

/// The settings of a [`ReplayTrainer`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReplayConfig {
    /// Environments side by side.
    pub num_envs: usize,
    /// Transitions in the buffer.
    pub buffer_size: usize,
    /// Which of them are replaced when it is full.
    pub overwrite: Overwrite,
    /// Moves are random, and nothing is learned, until the buffer holds this many transitions.
    pub learning_starts: usize,
    /// Which slide a transition stores.
    pub stored_action: StoredAction,
    /// Which reward it stores.
    pub stored_reward: StoredReward,
    /// Moves that a transition spans, at least 1; fewer at the end of a game.
    pub n_step: u32,
    /// The discount per move inside an n-step transition.
    pub discount: f32,
    /// Batches per iteration.
    pub updates_per_step: usize,
    /// Transitions in a batch.
    pub batch_size: usize,
    /// The initial probability of a random move.
    pub epsilon: f64,
    /// The iterations over which it falls linearly to 0; with 0 it is constant.
    pub epsilon_iterations: u64,
}

/// As in the "2048 experiment report", but that the slides that were made are stored.
impl Default for ReplayConfig {
    fn default() -> Self {
        Self {
            num_envs: 32,
            buffer_size: 5000,
            overwrite: Overwrite::Oldest,
            learning_starts: 0,
            stored_action: StoredAction::Made,
            stored_reward: StoredReward::Made,
            n_step: 1,
            discount: 1.0,
            updates_per_step: 5,
            batch_size: 32,
            epsilon: 0.0,
            epsilon_iterations: 0,
        }
    }
}

impl ReplayConfig {
    /// The probability of a random move in an iteration.
    pub fn epsilon_at(&self, iteration: u64) -> f64 {
        if self.epsilon_iterations == 0 {
            return self.epsilon;
        }
        let left = 1.0 - iteration as f64 / self.epsilon_iterations as f64;
        self.epsilon * left.max(0.0)
    }
}

/// The statistics of some iterations, as sums.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TrainingStats {
    /// Iterations: a move in every environment.
    pub iterations: u64,
    /// Batches learned.
    pub updates: u64,
    /// The sum of their losses.
    pub loss: f64,
    /// The sum of their values.
    pub value: f64,
    /// Moves made.
    pub moves: u64,
    /// The sum of their rewards.
    pub reward: u64,
}

impl TrainingStats {
    /// Adds other statistics.
    pub fn merge(&mut self, other: &Self) {
        self.iterations += other.iterations;
        self.updates += other.updates;
        self.loss += other.loss;
        self.value += other.value;
        self.moves += other.moves;
        self.reward += other.reward;
    }

    /// Whether all sums are finite.
    pub fn is_finite(&self) -> bool {
        self.loss.is_finite() && self.value.is_finite()
    }

    /// The mean loss of a batch; 0 without batches.
    pub fn mean_loss(&self) -> f64 {
        self.loss / self.updates.max(1) as f64
    }

    /// The mean value of a state in a batch; 0 without batches.
    pub fn mean_value(&self) -> f64 {
        self.value / self.updates.max(1) as f64
    }

    /// The mean reward of a move; 0 without moves.
    pub fn mean_reward(&self) -> f64 {
        self.reward as f64 / self.moves.max(1) as f64
    }
}

/// A game in progress, with its last moves that do not form a complete transition yet, oldest
/// first.
#[derive(Clone, Debug)]
struct Env<G: Game> {
    episode: Episode<G>,
    pending: VecDeque<Transition<G::Board>>,
}

impl<G: Game> Env<G> {
    fn start(game: &G, rng: &mut Rng) -> Self {
        Self {
            episode: Episode::start(game, rng),
            pending: VecDeque::new(),
        }
    }

    /// Adds a move, and passes on the transitions that it completes.
    fn push(
        &mut self,
        made: Transition<G::Board>,
        config: &ReplayConfig,
        mut complete: impl FnMut(Transition<G::Board>),
    ) {
        for pending in &mut self.pending {
            let discount = config.discount.powi(pending.steps as i32);
            pending.later_rewards += discount * made.reward as f32;
            pending.steps += 1;
            pending.next = made.next;
            pending.done = made.done;
        }
        self.pending.push_back(made);
        let spans = |pending: &Transition<G::Board>| made.done || pending.steps >= config.n_step;
        while self.pending.front().is_some_and(spans) {
            let completed = self.pending.pop_front();
            completed.into_iter().for_each(&mut complete);
        }
    }
}

/// Environments side by side, and a buffer of their transitions.
pub struct ReplayTrainer<G: Game> {
    game: G,
    config: ReplayConfig,
    seed: u64,
    iterations: u64,
    envs: Vec<Env<G>>,
    buffer: ReplayBuffer<Transition<G::Board>>,
    /// The last state of the game that ended last. Not part of a snapshot: it is only shown.
    last_end: Option<State<G::Board>>,
    /// Reused in every iteration.
    decisions: Vec<Decision<G>>,
    chosen: Vec<Choice<G::Board>>,
    batch: Vec<Transition<G::Board>>,
}

/// Separates the streams of iterations from those of games with the same seed.
const STREAMS: u64 = 0x5245_504C_4159_0000;

impl<G: Game> ReplayTrainer<G> {
    /// A trainer before its first iteration.
    pub fn new(game: G, config: ReplayConfig, seed: u64) -> Self {
        let mut rng = game_rng(seed ^ STREAMS, u64::MAX);
        Self {
            envs: (0..config.num_envs)
                .map(|_| Env::start(&game, &mut rng))
                .collect(),
            buffer: ReplayBuffer::new(config.buffer_size, config.overwrite),
            game,
            config,
            seed,
            iterations: 0,
            last_end: None,
            decisions: Vec::new(),
            chosen: Vec::new(),
            batch: Vec::new(),
        }
    }

    /// Makes a move in every environment and learns some batches. Reports games that end.
    pub fn iterate(
        &mut self,
        agent: &mut (impl ReplayAgent<G> + ?Sized),
        finished: impl FnMut(Outcome),
    ) -> TrainingStats {
        let mut rng = game_rng(self.seed ^ STREAMS, self.iterations);
        let mut stats = TrainingStats {
            iterations: 1,
            moves: self.envs.len() as u64,
            ..TrainingStats::default()
        };
        stats.reward = self.play(agent, finished, &mut rng);
        let enough = self.config.batch_size.max(self.config.learning_starts);
        if self.buffer.len() >= enough {
            for _ in 0..self.config.updates_per_step {
                self.buffer
                    .sample(self.config.batch_size, &mut rng, &mut self.batch);
                let batch = agent.learn(&self.game, &self.batch);
                stats.updates += 1;
                stats.loss += batch.loss;
                stats.value += batch.value;
            }
        }
        self.iterations += 1;
        stats
    }

    /// The game.
    pub fn game(&self) -> &G {
        &self.game
    }

    /// The board of the game that ended last, or of the first environment if none has ended since
    /// the trainer was created or restored.
    pub fn last_state(&self) -> Option<State<G::Board>> {
        let first = self.envs.first().map(|env| env.episode.state());
        self.last_end.or(first)
    }

    /// Returns the sum of the rewards.
    fn play(
        &mut self,
        agent: &mut (impl ReplayAgent<G> + ?Sized),
        mut finished: impl FnMut(Outcome),
        rng: &mut Rng,
    ) -> u64 {
        let game = self.game;
        let epsilon = self.config.epsilon_at(self.iterations);
        self.decisions.clear();
        let decisions = self.envs.iter().filter_map(|env| env.episode.decision());
        self.decisions.extend(decisions);
        self.chosen.clear();
        let acts = self.buffer.len() >= self.config.learning_starts;
        if acts {
            agent.choose(&game, &self.decisions, rng, &mut self.chosen);
        }
        let mut earned = 0;
        for (n, (env, decision)) in self.envs.iter_mut().zip(&self.decisions).enumerate() {
            let explores = acts && epsilon > 0.0 && rng.unit() < epsilon;
            let chosen = self.chosen.get(n).copied().filter(|_| !explores);
            let Choice { slide, first } = chosen.unwrap_or_else(|| any(decision, rng).into());
            debug_assert!(
                first == slide.direction() || decision.slides().get(first).is_none(),
                "a legal first choice is made"
            );
            let reward = env.episode.advance(&game, slide, rng);
            let is_illegal = first != slide.direction();
            let outcome = env.episode.finished(&game);
            let transition = Transition {
                state: decision.state(),
                direction: match self.config.stored_action {
                    StoredAction::Made => slide.direction(),
                    StoredAction::Chosen => first,
                },
                reward: match self.config.stored_reward {
                    StoredReward::Chosen if is_illegal => 0,
                    StoredReward::Made | StoredReward::Chosen => reward,
                },
                later_rewards: 0.0,
                steps: 1,
                next: env.episode.state(),
                done: outcome.is_some(),
            };
            let buffer = &mut self.buffer;
            env.push(transition, &self.config, |whole| buffer.push(whole, rng));
            earned += u64::from(reward);
            if let Some(outcome) = outcome {
                finished(outcome);
                self.last_end = Some(env.episode.state());
                *env = Env::start(&game, rng);
            }
        }
        earned
    }
}

/// A random legal slide.
fn any<G: Game>(decision: &Decision<G>, rng: &mut Rng) -> Slide<G::Board> {
    let legal = || decision.slides().legal();
    let pick = rng.below(legal().count() as u32) as usize;
    legal().nth(pick).expect("a decision has a legal slide")
}

#[cfg(test)]
mod tests;
