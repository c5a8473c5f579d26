//! `[learner]`: how the network is trained. Each kind has its own keys, and so have some of its
//! choices: `lambda` exists only with `update = "backward"`, `tau` only with
//! `target_update = "soft"`. In Rust such a choice is an enum whose variant holds its keys, in TOML
//! all of them stand side by side.

use afterstate::learn::schedule::Schedule;
use afterstate::policy::Ties;
use afterstate::replay::Overwrite;
use serde::{Deserialize, Deserializer, Serialize};

use super::error::RecipeError;

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
    /// How the step of a weight follows from the error.
    pub rule: Rule,
    /// The learning rate. A recipe without one has 0.1 with TD and 1.0 with TC.
    pub learning_rate: Schedule,
    /// The weight of a reward one move later.
    pub discount: f64,
    /// How ties between equally good slides are broken.
    pub ties: Ties,
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
    /// The environments and the replay buffer.
    #[serde(flatten)]
    pub buffer: BufferRecipe,
}

/// The keys of `kind = "dqn"`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct DqnRecipe {
    /// What the network estimates.
    #[serde(flatten)]
    pub value: DqnValue,
    /// The learning rate.
    pub learning_rate: Schedule,
    /// The weight of a reward one move later.
    pub discount: f64,
    /// The environments and the replay buffer.
    #[serde(flatten)]
    pub buffer: BufferRecipe,
    /// Rewards are divided by this.
    pub reward_scale: f64,
    /// The optimiser.
    #[serde(flatten)]
    pub optimiser: Optimiser,
    /// How the target network follows the online network.
    #[serde(flatten)]
    pub target_update: TargetUpdate,
    /// Double Q-learning: the online network chooses the slide, the target network values it.
    pub double: bool,
    /// Whether boards of a batch, and slides with them, are replaced by random symmetries.
    pub augment: bool,
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
    /// Training ends after this many updates, if not before with its episodes; 0 means no limit.
    pub max_updates: u64,
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
    Forward,
    /// After the game, last move first.
    Backward(BackwardRecipe),
}

/// The keys of `update = "backward"`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct BackwardRecipe {
    /// The lambda of TD(lambda): 0 is TD(0), 1 the return of the whole game.
    pub lambda: f64,
    /// What a value is moved towards.
    pub target: Target,
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

/// What a deep network estimates, by `learner.value`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "value", rename_all = "kebab-case")]
pub enum DqnValue {
    /// Q of each slide.
    Action(ActionRecipe),
    /// V of the board after each slide.
    Afterstate,
}

/// The keys of `value = "action"`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ActionRecipe {
    /// Which slide is made when the best one is illegal.
    pub illegal: Illegal,
    /// Whether the maximum over the slides of the next state is taken over legal ones alone.
    pub mask_targets: bool,
    /// Whether Q of a slide contains its reward.
    pub rewards: Rewards,
}

/// Which slide is made when the best one is illegal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Illegal {
    /// The best legal one.
    #[default]
    Value,
    /// The next legal one by its number: left, up, right, down.
    Number,
}

/// Whether Q of a slide contains its reward.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rewards {
    /// It does, and the network has to learn it.
    #[default]
    Learned,
    /// It does not: the rules know it, and it is added to the output of the network.
    Known,
}

/// The optimiser of a deep network, by `learner.optimiser`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "optimiser", rename_all = "kebab-case")]
pub enum Optimiser {
    /// Adam.
    Adam,
    /// Adam with decoupled weight decay.
    Adamw {
        /// How much each step shrinks the weights.
        #[serde(default = "weight_decay")]
        weight_decay: f64,
    },
}

/// How the target network follows the online network, by `learner.target_update`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "target_update", rename_all = "kebab-case")]
pub enum TargetUpdate {
    /// A copy of it, renewed at intervals. The online network acts.
    Copy {
        /// Iterations between copies.
        #[serde(default = "target_update_iterations")]
        target_update_iterations: u64,
    },
    /// It moves a small share of the way after each update.
    Soft {
        /// That share.
        #[serde(default = "tau")]
        tau: f64,
        /// Which network acts, and becomes the model.
        #[serde(default)]
        acting_network: ActingNetwork,
    },
}

/// Which network acts, and becomes the model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ActingNetwork {
    /// The online network.
    #[default]
    Online,
    /// The target network: a mean of the last online networks.
    Target,
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

    /// How the step of a weight follows from the error.
    pub fn rule(&self) -> Rule {
        self.td().map_or(Rule::Td, |td| td.rule)
    }

    /// The lambda of TD(lambda); 0 for learners without it, which are TD(0).
    pub fn lambda(&self) -> f64 {
        let backward = self.td().and_then(TdRecipe::backward);
        backward.map_or(0.0, |backward| backward.lambda)
    }

    /// How ties between equally good slides are broken.
    pub fn ties(&self) -> Ties {
        match self {
            Self::Td(td) => td.ties,
            Self::Replay(replay) => replay.ties,
            Self::Dqn(_) => Ties::Order,
        }
    }

    /// The number of updates after which training ends; `None` if only its episodes end it.
    pub fn max_updates(&self) -> Option<u64> {
        let buffer = self.buffer()?;
        (buffer.max_updates > 0).then_some(buffer.max_updates)
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
            Update::Forward => None,
            Update::Backward(backward) => Some(backward),
        }
    }
}

impl DqnRecipe {
    /// The network that acts, and becomes the model.
    pub fn acting_network(&self) -> ActingNetwork {
        match self.target_update {
            TargetUpdate::Copy { .. } => ActingNetwork::Online,
            TargetUpdate::Soft { acting_network, .. } => acting_network,
        }
    }

    /// The keys of action values; their defaults, which have no effect, for afterstate values.
    pub fn action(&self) -> ActionRecipe {
        match &self.value {
            DqnValue::Action(action) => action.clone(),
            DqnValue::Afterstate => ActionRecipe::default(),
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

fn weight_decay() -> f64 {
    0.01
}

fn target_update_iterations() -> u64 {
    10
}

fn tau() -> f64 {
    0.01
}

impl TargetUpdate {
    /// Copies at the usual interval.
    pub(super) fn copy() -> Self {
        Self::Copy {
            target_update_iterations: target_update_iterations(),
        }
    }

    /// Soft updates by the usual share.
    pub(super) fn soft() -> Self {
        Self::Soft {
            tau: tau(),
            acting_network: ActingNetwork::default(),
        }
    }
}

impl Optimiser {
    /// AdamW with the usual decay.
    pub(super) fn adamw() -> Self {
        Self::Adamw {
            weight_decay: weight_decay(),
        }
    }
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
            rule: Rule::default(),
            learning_rate: Schedule::default(),
            discount: 1.0,
            ties: Ties::default(),
        }
    }
}

impl Default for ReplayRecipe {
    fn default() -> Self {
        Self {
            learning_rate: Schedule::default(),
            discount: 1.0,
            ties: Ties::default(),
            buffer: BufferRecipe::default(),
        }
    }
}

/// The values of the deep Q-learning report (`dqn-r4`), but for its discount of 0.999.
impl Default for DqnRecipe {
    fn default() -> Self {
        Self {
            value: DqnValue::Action(ActionRecipe::default()),
            learning_rate: Schedule::constant(1e-4).unwrap_or_default(),
            discount: 0.99,
            buffer: BufferRecipe::default(),
            reward_scale: 256.0,
            optimiser: Optimiser::Adam,
            target_update: TargetUpdate::copy(),
            double: false,
            augment: false,
        }
    }
}

impl Default for ActionRecipe {
    fn default() -> Self {
        Self {
            illegal: Illegal::default(),
            mask_targets: true,
            rewards: Rewards::default(),
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
            n_step: 1,
            updates_per_step: 5,
            batch_size: 32,
            epsilon: 0.0,
            epsilon_iterations: 0,
            max_updates: 0,
        }
    }
}
