//! The keys of `learner.kind = "dqn"`: deep Q-learning.

use afterstate::learn::schedule::Schedule;
use afterstate::replay::{Illegal, StoredAction, StoredReward, TargetUpdate};
use serde::{Deserialize, Serialize};

use super::learner::BufferRecipe;

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
    /// Which slide the buffer stores where the best one is illegal.
    pub stored_action: StoredAction,
    /// Which reward it stores there.
    pub stored_reward: StoredReward,
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

impl DqnRecipe {
    /// The keys of action values; their defaults, which have no effect, for afterstate values.
    pub fn action(&self) -> ActionRecipe {
        match &self.value {
            DqnValue::Action(action) => action.clone(),
            DqnValue::Afterstate => ActionRecipe::default(),
        }
    }
}

fn weight_decay() -> f64 {
    0.01
}

impl Optimiser {
    /// How much each step shrinks the weights; 0 for Adam.
    pub fn weight_decay(&self) -> f64 {
        match self {
            Self::Adam => 0.0,
            Self::Adamw { weight_decay } => *weight_decay,
        }
    }

    /// AdamW with the usual decay.
    pub(super) fn adamw() -> Self {
        Self::Adamw {
            weight_decay: weight_decay(),
        }
    }
}

/// The values of the deep Q-learning report in its textbook form (`dqn-report-textbook`), but for
/// the discount of 0.999 of its best run, and for its length.
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
            stored_action: StoredAction::default(),
            stored_reward: StoredReward::default(),
        }
    }
}
