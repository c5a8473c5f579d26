//! `[network]`: what is trained. Each kind has its own keys.

use afterstate::replay::InitialWeights;
use serde::{Deserialize, Serialize};

use super::error::RecipeError;

/// The network of a recipe, by `network.kind`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind")]
pub enum NetworkRecipe {
    /// Tables of weights, one for each n-tuple.
    #[serde(rename = "n-tuple")]
    NTuple(NTupleRecipe),
    /// Convolutions and linear layers.
    #[serde(rename = "deep")]
    Deep(DeepRecipe),
}

/// The keys of an n-tuple network.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct NTupleRecipe {
    /// A named set such as `4x6`, or patterns in hex separated by spaces.
    pub tuples: String,
    /// Further tuples inside these, which exist while the network learns and are folded into them in
    /// its model: patterns separated by spaces.
    pub redundant: String,
    /// Whether all symmetries of the board (eight of a square, four of a rectangle) share each
    /// table.
    pub symmetry: bool,
    /// Whether each hint (the tile that the game shows as the next one) has its own tables.
    pub hint: bool,
    /// V of every position in a new network: each of the m weights of a lookup starts at
    /// `initial_value` / m. High values are optimistic initialisation.
    pub initial_value: f64,
    /// Where further stages of the game begin, each with its own tables: sums of different tiles,
    /// ascending.
    pub stages: Vec<u64>,
    /// Whether a weight of a stage starts from that of the stage before.
    pub promotion: bool,
}

/// The keys of a deep network.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct DeepRecipe {
    /// The kernel of each convolution, ROWSxCOLUMNS; without padding, each followed by a ReLU.
    pub convolutions: Vec<String>,
    /// The filters of each convolution.
    pub filters: usize,
    /// The widths of the linear layers between the convolutions and the outputs.
    pub hidden: Vec<usize>,
    /// Which layers are followed by a ReLU.
    pub relu: Relu,
    /// 4 or 3 for action values (one for each slide, or all but down), 1 for afterstate values. A
    /// recipe without this key has 4 or 1.
    pub outputs: usize,
    /// How the weights are initialised.
    pub initial_weights: InitialWeights,
    /// The share of activations before the outputs that are dropped in training, or that after each
    /// hidden layer.
    pub dropout_hidden: HiddenDropout,
    /// The share of activations after the convolutions that are dropped in training.
    pub dropout_convolutions: f64,
}

/// Which layers of a deep network are followed by a ReLU. The outputs never are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Relu {
    /// Convolutions and linear layers.
    #[default]
    All,
    /// Convolutions alone.
    Convolutions,
}

/// The dropout of hidden layers: a number, or a list with a number for each of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "expected a number, or a list with a number for each hidden layer"
)]
pub enum HiddenDropout {
    /// The share of activations before the outputs that are dropped.
    Last(f64),
    /// The share after each hidden layer.
    Each(Vec<f64>),
}

impl NetworkRecipe {
    /// The keys of an n-tuple network.
    ///
    /// # Errors
    /// When it is of another kind.
    pub fn expect_n_tuple(&self) -> Result<&NTupleRecipe, RecipeError> {
        self.n_tuple().ok_or_else(|| wrong_kind("deep", "n-tuple"))
    }

    /// The keys of a deep network.
    ///
    /// # Errors
    /// When it is of another kind.
    pub fn expect_deep(&self) -> Result<&DeepRecipe, RecipeError> {
        self.deep().ok_or_else(|| wrong_kind("n-tuple", "deep"))
    }

    /// The keys of an n-tuple network, if it is one.
    pub fn n_tuple(&self) -> Option<&NTupleRecipe> {
        match self {
            Self::NTuple(network) => Some(network),
            Self::Deep(_) => None,
        }
    }

    /// The keys of a deep network, if it is one.
    pub fn deep(&self) -> Option<&DeepRecipe> {
        match self {
            Self::NTuple(_) => None,
            Self::Deep(network) => Some(network),
        }
    }

    /// The tuples as the recipe names them; none for a deep network.
    pub fn tuples(&self) -> &str {
        self.n_tuple().map_or("", |network| &network.tuples)
    }

    /// V of every position in a new network. A deep network starts from random weights instead.
    pub fn initial_value(&self) -> f64 {
        self.n_tuple().map_or(0.0, |network| network.initial_value)
    }
}

fn wrong_kind(found: &str, expected: &str) -> RecipeError {
    RecipeError::BadValue {
        key: "network.kind",
        found: format!("\"{found}\""),
        expected: format!("\"{expected}\""),
    }
}

impl Default for NetworkRecipe {
    fn default() -> Self {
        Self::NTuple(NTupleRecipe::default())
    }
}

impl Default for NTupleRecipe {
    fn default() -> Self {
        Self {
            tuples: "4x6".into(),
            redundant: String::new(),
            symmetry: true,
            hint: false,
            initial_value: 0.0,
            stages: Vec::new(),
            promotion: true,
        }
    }
}

/// The network of the deep Q-learning report (`dqn-report`), but for its initial weights.
impl Default for DeepRecipe {
    fn default() -> Self {
        Self {
            convolutions: ["2x1", "1x2", "2x1", "1x2"].map(String::from).into(),
            filters: 256,
            hidden: vec![16],
            relu: Relu::default(),
            outputs: 4,
            initial_weights: InitialWeights::default(),
            dropout_hidden: HiddenDropout::Last(0.0),
            dropout_convolutions: 0.0,
        }
    }
}
