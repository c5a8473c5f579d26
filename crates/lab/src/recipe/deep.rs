//! The keys of `[deep]`, and what a recipe of a deep network need not say.

use serde::{Deserialize, Serialize};
use toml::{Table, Value};

/// How a deep network learns: R4's tricks, and some others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DeepRecipe {
    /// What the network begins with.
    pub initial_weights: InitialWeights,
    /// Which slide is made when the best one is illegal.
    pub illegal: Illegal,
    /// Whether the best slide of the next state is sought among the legal ones alone.
    pub mask: bool,
    /// What a reward one move later counts.
    pub discount: f64,
    /// Rewards are divided by this.
    pub reward_scale: f64,
    /// Whether Q of a slide contains its reward.
    pub rewards: Rewards,
    /// What moves the weights, at `learner.rate`.
    pub optimiser: Optimiser,
    /// How much AdamW pulls weights towards 0.
    pub weight_decay: f64,
    /// How the target network follows.
    pub follow: Follow,
    /// With "copy", it is copied after so many iterations.
    pub follow_iterations: u64,
    /// With "soft", it goes such a share of the way after each update.
    pub tau: f64,
    /// Which network plays, and becomes the model.
    pub plays: Plays,
    /// Double Q-learning: the network says which slide is best, the target network what it is worth.
    pub double: bool,
    /// The share of numbers that is left out when learning.
    pub dropout: f64,
    /// Where they are left out.
    pub dropout_place: DropoutPlace,
    /// Whether boards, and slides with them, are turned and mirrored at random when learning.
    pub turn: bool,
}

/// What a network begins with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum InitialWeights {
    /// What PyTorch has unless it is told otherwise.
    #[default]
    Torch,
    /// Weights that keep the size of what passes a layer, and biases of 0.
    He,
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
    /// It does not: the rules know it, and it is added to what the network says.
    Known,
}

/// What moves the weights of a deep network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Optimiser {
    /// Adam.
    #[default]
    Adam,
    /// Adam with decay of weights.
    Adamw,
}

/// How a target network follows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Follow {
    /// As a copy, made anew now and then.
    #[default]
    Copy,
    /// A little after each update.
    Soft,
}

/// Which network plays, and becomes the model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Plays {
    /// The one that learns.
    #[default]
    Learner,
    /// The target network, which follows it.
    Follower,
}

/// Where numbers are left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DropoutPlace {
    /// Behind the convolutions.
    Convolutions,
    /// Before the outputs.
    #[default]
    Hidden,
}

/// As R4 has it.
impl Default for DeepRecipe {
    fn default() -> DeepRecipe {
        DeepRecipe {
            initial_weights: InitialWeights::default(),
            illegal: Illegal::default(),
            mask: true,
            discount: 0.99,
            reward_scale: 256.0,
            rewards: Rewards::default(),
            optimiser: Optimiser::default(),
            weight_decay: 0.01,
            follow: Follow::default(),
            follow_iterations: 10,
            tau: 0.01,
            plays: Plays::default(),
            double: false,
            dropout: 0.0,
            dropout_place: DropoutPlace::default(),
            turn: false,
        }
    }
}

/// Whether a recipe asks for a deep network.
pub(super) fn is_deep(table: &Table) -> bool {
    let network = table.get("network").and_then(Value::as_table);
    let kind = network.and_then(|network| network.get("kind"));
    kind.and_then(Value::as_str) == Some("deep")
}

/// A deep network has no tuples, and Adam's steps are small.
pub(super) fn fill(table: &mut Table) {
    let mut fill = |outer: &str, key: &str, value: Value| {
        let entry = table.entry(outer);
        let inner = entry.or_insert_with(|| Value::Table(Table::new()));
        if let Value::Table(inner) = inner {
            inner.entry(key).or_insert(value);
        }
    };
    fill("network", "tuples", Value::String(String::new()));
    fill("learner", "rate", Value::Float(1e-4));
}
