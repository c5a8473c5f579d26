//! `[learner]`: how the network is trained. Each kind has its own keys, and so have some of its
//! choices: `lambda` exists only with `update = "backward"`, `tau` only with
//! `target_update = "soft"`. In Rust such a choice is an enum whose variant holds its keys, in TOML
//! all of them are side by side.

use afterstate::learn::schedule::Schedule;
use afterstate::policy::Ties;
use afterstate::replay::{Overwrite, SpawnValue, TdErrorOf};
use serde::{Deserialize, Deserializer, Serialize};

use super::dqn::{DqnRecipe, DqnValue};
use super::error::RecipeError;
use super::phases::Phases;

/// The learner of a recipe, by `learner.kind`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum LearnerRecipe {
    /// TD or TC learning of an n-tuple network from its games, as they are played.
    Td(TdRecipe),
    /// TD(0) learning of the state values of an n-tuple network from a replay buffer.
    Replay(ReplayRecipe),
    /// Deep Q-learning, of action values or of afterstate values.
    Dqn(DqnRecipe),
}

/// The keys of `kind = "td"`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TdRecipe {
    /// Which positions have a value: afterstates or states.
    #[serde(deserialize_with = "of_tables")]
    pub value: ValueOf,
    /// When a value is updated.
    #[serde(flatten)]
    pub update: Update,
    /// How the step of a weight follows from the error, over the games of the run.
    pub rule: Phases,
    /// The learning rate. A recipe without one has 0.1 with TD and 1.0 with TC.
    pub learning_rate: Schedule,
    /// The weight of a reward one move later.
    pub discount: f64,
    /// How ties between equally good slides are broken.
    pub ties: Ties,
    /// Whether points that a new tile brings count as reward in learning; they do in the score.
    pub spawn_rewards: bool,
    /// A game of at least this many moves is played again from its middle, and that one again from
    /// its own; with 0 no game is.
    pub restart_length: usize,
    /// The first game that is played again.
    pub restart_from: u64,
    /// How many states in which games entered a stage are kept, to begin games of this stage in
    /// them; with 0 every game begins with the initial tiles.
    pub carousel: usize,
}

/// The keys of `kind = "replay"`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ReplayRecipe {
    /// The learning rate.
    pub learning_rate: Schedule,
    /// The weight of a reward one move later.
    pub discount: f64,
    /// How ties between equally good slides are broken.
    pub ties: Ties,
    /// Whose error an update reduces.
    pub td_error: TdErrorOf,
    /// Whether the state after a finished game counts as worth 0.
    pub mask_terminal: bool,
    /// How slides are valued while training.
    pub spawn_value: SpawnValue,
    /// The environments and the replay buffer.
    #[serde(flatten)]
    pub buffer: BufferRecipe,
}

/// Games played side by side, and the replay buffer that batches are drawn from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct BufferRecipe {
    /// Games side by side; an iteration is a move in each.
    pub num_envs: usize,
    /// Transitions in the buffer.
    pub buffer_size: usize,
    /// Which of them a new transition replaces when the buffer is full.
    pub overwrite: Overwrite,
    /// Moves are random, and nothing is learned, until the buffer holds this many transitions.
    pub learning_starts: usize,
    /// Rewards that are summed before the value of the state that follows.
    pub n_step: u32,
    /// Updates, of one batch each, in an iteration.
    pub updates_per_step: usize,
    /// Transitions in a batch.
    pub batch_size: usize,
    /// The share of random moves at the start.
    pub epsilon: f64,
    /// Iterations until epsilon has fallen linearly to 0; with 0 it stays.
    pub epsilon_iterations: u64,
    /// Training ends after this many iterations, if not before; 0 means no limit.
    pub max_iterations: u64,
    /// Training ends after this many updates, if not before; 0 means no limit.
    pub max_updates: u64,
    /// Iterations between rows of `iterations.csv`; with 0 there is no such file.
    pub log_iterations: u64,
}

/// What ends a run besides its episodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// A number of iterations.
    Iterations(u64),
    /// A number of updates.
    Updates(u64),
}

impl BufferRecipe {
    /// The limit that is reached first, if there is one.
    pub fn limit(&self) -> Option<Limit> {
        let iterations = (self.max_iterations > 0).then_some(self.max_iterations);
        let updates = (self.max_updates > 0).then_some(self.max_updates);
        match (iterations, updates) {
            (None, None) => None,
            (Some(iterations), None) => Some(Limit::Iterations(iterations)),
            (None, Some(updates)) => Some(Limit::Updates(updates)),
            (Some(iterations), Some(updates)) => {
                // The first iterations only fill the buffer; that which fills it learns.
                let needed = self.learning_starts.max(self.batch_size);
                let filling = needed.div_ceil(self.num_envs.max(1)).saturating_sub(1);
                let filling = filling + self.n_step.saturating_sub(1) as usize;
                let learning = updates.div_ceil(self.updates_per_step.max(1) as u64);
                match iterations <= learning.saturating_add(filling as u64) {
                    true => Some(Limit::Iterations(iterations)),
                    false => Some(Limit::Updates(updates)),
                }
            }
        }
    }

    /// The iterations and updates that are left after some; `u64::MAX` where there is no limit.
    pub fn left(&self, iterations: u64, updates: u64) -> (u64, u64) {
        let left = |most: u64, done: u64| match most {
            0 => u64::MAX,
            most => most.saturating_sub(done),
        };
        (
            left(self.max_iterations, iterations),
            left(self.max_updates, updates),
        )
    }
}

/// Which positions have a value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ValueOf {
    /// The board after the slide, before the spawn: one lookup for each slide.
    #[default]
    Afterstate,
    /// The board before the slide: the value of a slide is an expectation over spawns.
    State,
    /// The board before the slide and a slide: Q, for deep networks.
    Action,
}

/// When a value is updated, by `learner.update`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "update", rename_all = "kebab-case")]
pub enum Update {
    /// As soon as the next move is chosen.
    Forward(ForwardRecipe),
    /// After the game, last move first.
    Backward(BackwardRecipe),
    /// During the game, from the errors of the next few moves.
    Delayed(DelayedRecipe),
}

/// The keys of `update = "forward"`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ForwardRecipe {
    /// Rewards that are summed before the value of the position that follows.
    pub n_step: u32,
}

/// The keys of `update = "delayed"`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct DelayedRecipe {
    /// The lambda of TD(lambda), below 1.
    pub lambda: f64,
}

impl Default for ForwardRecipe {
    fn default() -> Self {
        Self { n_step: 1 }
    }
}

impl Default for DelayedRecipe {
    fn default() -> Self {
        Self { lambda: 0.5 }
    }
}

/// The keys of `update = "backward"`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct BackwardRecipe {
    /// Rewards that are summed before the value of the position that follows.
    pub n_step: u32,
    /// The lambda of TD(lambda): 0 is TD(0), 1 the return of the whole game.
    pub lambda: f64,
    /// What a value is moved towards.
    pub target: Target,
    /// How the last state of a game is treated.
    pub end: EndOfGame,
    /// What the error subtracts from the target.
    pub subtract: Subtract,
}

impl Default for BackwardRecipe {
    fn default() -> Self {
        Self {
            n_step: 1,
            lambda: 0.0,
            target: Target::default(),
            end: EndOfGame::default(),
            subtract: Subtract::default(),
        }
    }
}

/// How the last state of a game is treated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EndOfGame {
    /// It moves towards its reward alone: what follows is worth 0.
    #[default]
    Zero,
    /// As in "DLP Homework 2": it is not updated, and the state before it moves towards its reward
    /// minus the value of the last one.
    Negated,
}

/// What the error subtracts from the target.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Subtract {
    /// The value at the update.
    #[default]
    Value,
    /// The value of the state when its move was chosen.
    StoredValue,
    /// The reward of the chosen move and the expected value after it, when it was chosen: a reading
    /// of the second DLP lab report.
    StoredTotal,
    /// The same of the move before: another reading.
    StoredPrevious,
}

/// What a value is moved towards.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Target {
    /// The reward and the value that follows it.
    #[default]
    Textbook,
    /// As two of the reference systems were published: each reward counts twice.
    RewardTwice,
}

/// How the step of a weight follows from the error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rule {
    /// Temporal difference: the same learning rate for each weight.
    #[default]
    Td,
    /// Temporal coherence: the rate of each weight falls as its errors disagree in sign.
    Tc,
}

impl LearnerRecipe {
    /// The keys of `kind = "td"`, if it is that kind.
    pub fn td(&self) -> Option<&TdRecipe> {
        match self {
            Self::Td(td) => Some(td),
            Self::Replay(_) | Self::Dqn(_) => None,
        }
    }

    /// The keys of `kind = "dqn"`, if it is that kind.
    pub fn dqn(&self) -> Option<&DqnRecipe> {
        match self {
            Self::Dqn(dqn) => Some(dqn),
            Self::Td(_) | Self::Replay(_) => None,
        }
    }

    /// The keys of `kind = "dqn"`.
    ///
    /// # Errors
    /// When it is of another kind.
    pub fn expect_dqn(&self) -> Result<&DqnRecipe, RecipeError> {
        self.dqn().ok_or_else(|| wrong_kind("\"dqn\""))
    }

    /// The replay buffer.
    ///
    /// # Errors
    /// When it is of a kind without one.
    pub fn expect_buffer(&self) -> Result<&BufferRecipe, RecipeError> {
        let kinds = "\"replay\" or \"dqn\", which have a replay buffer";
        self.buffer().ok_or_else(|| wrong_kind(kinds))
    }

    /// The replay buffer, of learners that have one.
    pub fn buffer(&self) -> Option<&BufferRecipe> {
        match self {
            Self::Td(_) => None,
            Self::Replay(replay) => Some(&replay.buffer),
            Self::Dqn(dqn) => Some(&dqn.buffer),
        }
    }

    /// The learning rate over the games of the run.
    pub fn learning_rate(&self) -> &Schedule {
        match self {
            Self::Td(td) => &td.learning_rate,
            Self::Replay(replay) => &replay.learning_rate,
            Self::Dqn(dqn) => &dqn.learning_rate,
        }
    }

    /// Changes the learning rate.
    pub(super) fn set_learning_rate(&mut self, schedule: Schedule) {
        match self {
            Self::Td(td) => td.learning_rate = schedule,
            Self::Replay(replay) => replay.learning_rate = schedule,
            Self::Dqn(dqn) => dqn.learning_rate = schedule,
        }
    }

    /// Changes which game is the first that is played again, of learners that have restarts.
    pub(super) fn set_restart_from(&mut self, game: u64) {
        if let Self::Td(td) = self {
            td.restart_from = game;
        }
    }

    /// The weight of a reward one move later.
    pub fn discount(&self) -> f64 {
        match self {
            Self::Td(td) => td.discount,
            Self::Replay(replay) => replay.discount,
            Self::Dqn(dqn) => dqn.discount,
        }
    }

    /// What is estimated.
    pub fn value(&self) -> ValueOf {
        match self {
            Self::Td(td) => td.value,
            Self::Replay(_) => ValueOf::State,
            Self::Dqn(dqn) => match dqn.value {
                DqnValue::Action(_) => ValueOf::Action,
                DqnValue::Afterstate => ValueOf::Afterstate,
            },
        }
    }

    /// How the step of a weight follows from the error: TC, if it is that in any phase.
    pub fn rule(&self) -> Rule {
        match self.phases().has(Rule::Tc) {
            true => Rule::Tc,
            false => Rule::Td,
        }
    }

    /// The rule over the games of the run.
    pub fn phases(&self) -> Phases {
        self.td().map_or(Phases::of(Rule::Td), |td| td.rule.clone())
    }

    /// The first game after this one that is learned from in another way.
    pub fn unchanged_until(&self, game: u64) -> u64 {
        let restart = self.td().map(|td| td.restart_from);
        let restart = restart.filter(|from| *from > game).unwrap_or(u64::MAX);
        self.phases().end_of(game).min(restart)
    }

    /// Which of the first games are played again: the shortest, and the first of them; `None` if no
    /// game is.
    pub(super) fn restarts_before(&self, games: u64) -> Option<(usize, u64)> {
        let td = self
            .td()
            .filter(|td| td.restart_length > 0 && td.restart_from < games)?;
        Some((td.restart_length, td.restart_from))
    }

    /// The lambda of TD(lambda); 0 for learners without it, which are TD(0).
    pub fn lambda(&self) -> f64 {
        self.td().map_or(0.0, |td| match &td.update {
            Update::Forward(_) => 0.0,
            Update::Backward(backward) => backward.lambda,
            Update::Delayed(delayed) => delayed.lambda,
        })
    }

    /// How ties between equally good slides are broken.
    pub fn ties(&self) -> Ties {
        match self {
            Self::Td(td) => td.ties,
            Self::Replay(replay) => replay.ties,
            Self::Dqn(_) => Ties::Order,
        }
    }

    /// What ends training besides its episodes, if there is such a limit.
    pub fn limit(&self) -> Option<Limit> {
        self.buffer().and_then(BufferRecipe::limit)
    }
}

fn wrong_kind(expected: &str) -> RecipeError {
    RecipeError::BadValue {
        key: "learner.kind",
        found: "another kind".into(),
        expected: expected.into(),
    }
}

impl TdRecipe {
    /// The keys of `update = "backward"`, if it is that.
    pub fn backward(&self) -> Option<&BackwardRecipe> {
        match &self.update {
            Update::Forward(_) | Update::Delayed(_) => None,
            Update::Backward(backward) => Some(backward),
        }
    }
}

/// What an n-tuple network can estimate.
fn of_tables<'de, D: Deserializer<'de>>(deserializer: D) -> Result<ValueOf, D::Error> {
    #[derive(Deserialize)]
    #[serde(rename_all = "kebab-case")]
    enum OfTables {
        Afterstate,
        State,
    }
    Ok(match OfTables::deserialize(deserializer)? {
        OfTables::Afterstate => ValueOf::Afterstate,
        OfTables::State => ValueOf::State,
    })
}

impl Default for LearnerRecipe {
    fn default() -> Self {
        Self::Td(TdRecipe::default())
    }
}

impl Default for TdRecipe {
    fn default() -> Self {
        Self {
            value: ValueOf::default(),
            update: Update::Backward(BackwardRecipe::default()),
            rule: Phases::of(Rule::default()),
            learning_rate: Schedule::default(),
            discount: 1.0,
            ties: Ties::default(),
            spawn_rewards: true,
            restart_length: 0,
            restart_from: 0,
            carousel: 0,
        }
    }
}

impl Default for ReplayRecipe {
    fn default() -> Self {
        Self {
            learning_rate: Schedule::default(),
            discount: 1.0,
            ties: Ties::default(),
            td_error: TdErrorOf::default(),
            mask_terminal: true,
            spawn_value: SpawnValue::default(),
            buffer: BufferRecipe::default(),
        }
    }
}

/// The values of the deep Q-learning report.
impl Default for BufferRecipe {
    fn default() -> Self {
        Self {
            num_envs: 32,
            buffer_size: 5_000,
            overwrite: Overwrite::default(),
            learning_starts: 0,
            n_step: 1,
            updates_per_step: 5,
            batch_size: 32,
            epsilon: 0.0,
            epsilon_iterations: 0,
            max_iterations: 0,
            max_updates: 0,
            log_iterations: 0,
        }
    }
}
