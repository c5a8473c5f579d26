//! The keys of `learner.kind = "dqn"`: deep Q-learning.

use afterstate::learn::schedule::Schedule;
use afterstate::replay::StoredAction;
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
}

/// Which slide is made when the best one is illegal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Illegal {
    /// The best legal one.
    #[default]
    Value,
    /// The next legal one in the cycle left, up, right, down.
    Number,
    /// The next legal one in the cycle of three outputs; down only where none of them is legal.
    Output,
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

/// The values of the deep Q-learning report (`dqn-report`), but for its discount of 0.999.
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
        }
    }
}
