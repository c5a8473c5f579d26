//! The choices of deep Q-learning, as a recipe names them and as a network follows them. They are
//! here, because both use this crate: one definition, one list of words.

use serde::{Deserialize, Serialize};

/// How the weights of a deep network are initialised.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum InitialWeights {
    /// Weights and biases uniform within 1 / sqrt(inputs), the default of PyTorch for convolutions
    /// and linear layers. Activations shrink with every layer and ReLU until the bias alone
    /// decides, and units with a negative bias are dead from the start.
    #[default]
    Torch,
    /// Weights uniform within sqrt(6 / inputs), which preserves the size of activations (He and
    /// others, 2015), and biases of 0.
    He,
    /// Normally distributed weights with the standard deviation sqrt(1 / inputs) (LeCun and others,
    /// 1998), and biases of 0: the default of MegEngine, the library of the "2048 experiment
    /// report".
    Lecun,
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

/// How the target network follows the online network.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "target_update", rename_all = "kebab-case")]
pub enum TargetUpdate {
    /// A copy of it, renewed at intervals. The online network acts.
    Copy {
        /// Iterations between copies.
        #[serde(default = "target_update_iterations")]
        target_update_iterations: u64,
    },
    /// It moves by a share of the difference after each update.
    Soft {
        /// That share.
        #[serde(default = "tau")]
        tau: f64,
        /// Which network acts.
        #[serde(default)]
        acting_network: ActingNetwork,
    },
}

/// Which of the two networks acts, and is saved as the model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ActingNetwork {
    /// The online network. It changes with each update, and not always for the better.
    #[default]
    Online,
    /// The target network: with soft updates, an average of the last online networks.
    Target,
}

fn target_update_iterations() -> u64 {
    10
}

fn tau() -> f64 {
    0.01
}

impl TargetUpdate {
    /// Copies every ten iterations, as in the "2048 experiment report".
    pub fn copy() -> Self {
        Self::Copy {
            target_update_iterations: target_update_iterations(),
        }
    }

    /// Soft updates by 1% of the difference.
    pub fn soft() -> Self {
        Self::Soft {
            tau: tau(),
            acting_network: ActingNetwork::default(),
        }
    }

    /// The network that acts.
    pub fn acting_network(self) -> ActingNetwork {
        match self {
            Self::Copy { .. } => ActingNetwork::Online,
            Self::Soft { acting_network, .. } => acting_network,
        }
    }
}
