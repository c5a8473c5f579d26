//! The size of a network, which is known before it is built.

use afterstate::ntuple::{AtomicF32, WeightTables};
use serde::{Deserialize, Serialize};

use super::{AgentSpec, DeepSpec, NTupleSpec};
use crate::LabError;
use crate::games::rules;
use crate::numbers::{bytes, grouped};
use crate::recipe::{Recipe, RecipeInfo, Rule, ValueOf};

/// The size of a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NetworkSize {
    /// Weights of tables.
    Weights {
        /// Their number.
        count: u64,
        /// Their memory, with that of sums and expectations beside them.
        bytes: u64,
    },
    /// Parameters of a deep network.
    Parameters {
        /// Their number.
        count: u64,
        /// Their memory. Training needs several copies of it.
        bytes: u64,
    },
}

impl NetworkSize {
    /// The size of the network that a recipe trains.
    ///
    /// # Errors
    /// When the recipe does not define a network.
    pub fn of(recipe: &Recipe) -> Result<Self, LabError> {
        Ok(match AgentSpec::of(recipe)? {
            AgentSpec::NTuple(spec) => of_tables(&spec, recipe.learner.rule()),
            AgentSpec::Deep(spec) => {
                let count = spec.parameters()?;
                let bytes = count * size_of::<f32>() as u64;
                Self::Parameters { count, bytes }
            }
        })
    }
}

/// A built-in recipe with the size of its network; the JSON of `recipes --json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BuiltinRecipe {
    /// The recipe.
    #[serde(flatten)]
    pub recipe: RecipeInfo,
    /// The weights of its tables, or the parameters of its deep network.
    pub weights: u64,
    /// Their memory in bytes: see [`NetworkSize`].
    pub bytes: u64,
}

impl BuiltinRecipe {
    /// All built-in recipes.
    ///
    /// # Errors
    /// When one of them is invalid.
    pub fn all() -> Result<Vec<Self>, LabError> {
        let names = Recipe::builtin().iter().map(|(name, _)| name);
        let sized = names.map(|name| {
            let recipe = Recipe::load(name, &[])?;
            let (NetworkSize::Weights { count, bytes } | NetworkSize::Parameters { count, bytes }) =
                NetworkSize::of(&recipe)?;
            Ok(Self {
                recipe: recipe.info(),
                weights: count,
                bytes,
            })
        });
        sized.collect()
    }
}

/// Such as `67,108,864 weights in 256.0 MiB`.
impl std::fmt::Display for NetworkSize {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (count, name, size) = match *self {
            Self::Weights { count, bytes } => (count, "weights", bytes),
            Self::Parameters { count, bytes } => (count, "parameters", bytes),
        };
        write!(f, "{} {name} in {}", grouped(count as f64), bytes(size))
    }
}

fn of_tables(spec: &NTupleSpec, rule: Rule) -> NetworkSize {
    let coherence = rule == Rule::Tc;
    NetworkSize::Weights {
        count: spec.tuples.weights(),
        bytes: match spec.value {
            ValueOf::State => WeightTables::<[AtomicF32; 2]>::bytes(&spec.tuples, coherence),
            ValueOf::Afterstate | ValueOf::Action => {
                WeightTables::<AtomicF32>::bytes(&spec.tuples, coherence)
            }
        },
    }
}

impl DeepSpec {
    /// The number of parameters: a matrix and a row of biases for each layer.
    fn parameters(&self) -> Result<u64, LabError> {
        let (mut rows, mut cols) = (self.shape.rows(), self.shape.cols());
        let mut channels = 1_usize << rules(&self.game)?.tile_bits(self.shape);
        let layer = |inputs: usize, outputs: usize| (inputs as u64 + 1) * outputs as u64;
        let mut count = 0;
        for &(high, wide) in &self.convolutions {
            count += layer(high * wide * channels, self.filters);
            // A recipe has no kernel that does not fit.
            (rows, cols) = (
                (rows + 1).saturating_sub(high),
                (cols + 1).saturating_sub(wide),
            );
            channels = self.filters;
        }
        let mut width = rows * cols * channels;
        for &outputs in self.hidden.iter().chain([&self.outputs]) {
            count += layer(width, outputs);
            width = outputs;
        }
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size(name: &str, changes: &[&str]) -> String {
        let changes: Vec<String> = changes.iter().map(ToString::to_string).collect();
        let recipe = Recipe::load(name, &changes).unwrap();
        NetworkSize::of(&recipe).unwrap().to_string()
    }

    #[test]
    fn networks_have_sizes() {
        for (name, changes, expected) in [
            ("td-4x6", &[][..], "67,108,864 weights in 256.0 MiB"),
            ("td-4x6", &["tuples=8x4"], "524,288 weights in 2.0 MiB"),
            // 16 one-hot channels; kernels of two cells: 33 * 256 and three times 513 * 256; a map
            // of 2x2x256 to 16, and 16 to 4.
            ("dqn-report", &[], "418,900 parameters in 1.6 MiB"),
        ] {
            assert_eq!(size(name, changes), expected, "{name}");
        }
    }
}
