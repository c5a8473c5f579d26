//! Agents of deep networks.
//!
//! A model has the acting network with PyTorch's names and shapes. A checkpoint also has the other
//! network under the same names with the prefix `target.` or `online.`, and both running means of
//! Adam with the prefixes `first.` and `second.`; its metadata `deep` has the counts.

use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use afterstate::format::native::{self, Metadata, NamedArray, NativeError, RawTensor, StoredParts};
use afterstate::game::{Game, Slide};
use afterstate::replay::{ActingNetwork, ReplayAgent, ReplayConfig};
use afterstate::tally::Outcome;
use afterstate::value::Decision;
use afterstate_deep::{
    Architecture, ArchitectureError, DeepValueFunction, DqnAgent, DropoutRate, OutputKind,
    OutputSpec, Parameter, Parameters, Settings, TrainState,
};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::batched::{self, BatchedValues};
use super::ntuple::analyze_states;
use super::replay::{BatchAgent, reserve_buffer, with_replay};
use super::{
    Agent, BoardState, FirstMove, PolicyFn, RoundSpec, StateAnalysis, StoredAgent, TrainableAgent,
    ValueAgent, search_agent,
};
use crate::LabError;
use crate::disk::AtomicFile;
use crate::games::{GameVisitor, rules, with_game};
use crate::memory::{MemoryBudget, Reservation};
use crate::migrate;
use crate::recipe::{DeepRecipe, DqnRecipe, HiddenDropout, Recipe, Relu, Rewards, ValueOf};
use crate::recorder::Sink;
use crate::search::SearchSpec;
use crate::share::threads;
use crate::spec::{DeepSpec, replay_config};
use crate::tables::StoredTables;

/// The metadata key of [`Counts`] in a checkpoint.
const DEEP: &str = "deep";
/// Copies of a network that training needs: the online and the target network, both as numbers and
/// as tensors, two running means, gradients; and a checkpoint twice, while it is written.
const COPIES: u64 = 16;
/// Copies of a network that an agent holds between rounds: online, target and acting network as
/// tensors; the first two and both running means of Adam as numbers.
const HELD: u64 = 7;
/// Activations of all layers, and their gradients, for each board of a batch.
const PASSES: u64 = 4;
/// Games that one thread plays side by side in an evaluation.
const TOGETHER: usize = 64;

/// Creates a deep network that learns by a recipe.
///
/// # Errors
/// When it cannot be built, or there is not enough memory.
pub(crate) fn new_agent(
    spec: &DeepSpec,
    recipe: &Recipe,
    budget: &MemoryBudget,
) -> Result<Box<dyn TrainableAgent>, LabError> {
    let architecture = architecture(spec)?;
    let network = recipe.network.expect_deep()?;
    let dqn = recipe.learner.expect_dqn()?;
    let reserved = reserve(&architecture, dqn.buffer.batch_size, budget)?;
    let threads = threads(recipe.threads);
    let agent = DqnAgent::new(
        &architecture,
        settings(spec, network, dqn),
        recipe.seed,
        threads,
    );
    let train = Train {
        agent: agent.map_err(unbuildable)?,
        config: replay_config(recipe)?,
        seed: recipe.seed,
        reserved,
        budget,
    };
    with_game(&spec.game, spec.shape, train)?
}

fn settings(spec: &DeepSpec, network: &DeepRecipe, dqn: &DqnRecipe) -> Settings {
    Settings {
        initial: network.initial_weights,
        mask: dqn.action().mask_targets,
        learning_rate: dqn.learning_rate.at(0),
        weight_decay: dqn.optimiser.weight_decay() as f32,
        target_update: dqn.target_update,
        double: dqn.double,
        dropout: dropout(network),
        augment: dqn.augment,
        discount: dqn.discount as f32,
        output: output(spec),
    }
}

/// The dropout rates of a recipe, each with the linear layer before which it applies.
fn dropout(network: &DeepRecipe) -> Vec<DropoutRate> {
    let hidden = match &network.dropout_hidden {
        HiddenDropout::Last(rate) => vec![(network.hidden.len(), *rate)],
        HiddenDropout::Each(rates) => (1..).zip(rates.iter().copied()).collect(),
    };
    let all = [(0, network.dropout_convolutions)]
        .into_iter()
        .chain(hidden);
    all.map(|(layer, rate)| DropoutRate {
        layer,
        rate: rate as f32,
    })
    .collect()
}

/// Reserves memory for a network and a batch of `batch` boards.
fn reserve(
    architecture: &Architecture,
    batch: usize,
    budget: &MemoryBudget,
) -> Result<Reservation, LabError> {
    let numbers = COPIES * architecture.count().map_err(unbuildable)? as u64;
    let boards = PASSES * (batch * architecture.numbers_of_a_board()) as u64;
    let reserved = budget.reserve(4 * (numbers + boards));
    reserved.map_err(|over| LabError::DeepMemory {
        needed: over.needed,
        available: over.available,
    })
}

/// A deep network to be filled from a file, which has all of its parameters.
///
/// # Errors
/// When the file does not hold it, it cannot be built, or there is not enough memory.
pub(crate) fn to_be_filled(
    spec: &DeepSpec,
    saved: &StoredTables,
    path: &Path,
    budget: &MemoryBudget,
) -> Result<Box<dyn StoredAgent>, LabError> {
    let architecture = architecture(spec)?;
    for (name, shape) in architecture.arrays().map_err(unbuildable)? {
        let checked = saved.check_shape(&name, &shape);
        checked.map_err(LabError::model("read", path))?;
    }
    let reserved = reserve(&architecture, TOGETHER, budget)?;
    let settings = Settings {
        output: output(spec),
        discount: spec.discount as f32,
        ..Settings::default()
    };
    let agent = DqnAgent::new(&architecture, settings, 0, 1).map_err(unbuildable)?;
    with_game(&spec.game, spec.shape, Play { agent, reserved })
}

struct Train<'a> {
    agent: DqnAgent,
    config: ReplayConfig,
    seed: u64,
    reserved: Reservation,
    budget: &'a MemoryBudget,
}

impl GameVisitor for Train<'_> {
    type Output = Result<Box<dyn TrainableAgent>, LabError>;

    fn visit<G: Game>(self, game: G) -> Self::Output {
        let buffer = reserve_buffer(&game, &self.config, self.budget)?;
        let agent = DeepAgent::new(game, self.agent, self.reserved);
        Ok(with_replay(game, agent, self.config, self.seed, buffer))
    }
}

struct Play {
    agent: DqnAgent,
    reserved: Reservation,
}

impl GameVisitor for Play {
    type Output = Box<dyn StoredAgent>;

    fn visit<G: Game>(self, game: G) -> Self::Output {
        Box::new(DeepAgent::new(game, self.agent, self.reserved))
    }
}

fn output(spec: &DeepSpec) -> OutputSpec {
    OutputSpec {
        kind: match spec.value {
            ValueOf::Action => OutputKind::Actions(spec.illegal),
            ValueOf::Afterstate | ValueOf::State => OutputKind::Afterstates,
        },
        known_rewards: spec.rewards == Rewards::Known,
        scale: spec.scale as f32,
    }
}

pub(crate) fn architecture(spec: &DeepSpec) -> Result<Architecture, LabError> {
    Ok(Architecture {
        board: (spec.shape.rows(), spec.shape.cols()),
        tiles: 1 << rules(&spec.game)?.tile_bits(spec.shape),
        convolutions: spec.convolutions.clone(),
        filters: spec.filters,
        hidden: spec.hidden.clone(),
        hidden_relu: spec.relu == Relu::All,
        outputs: spec.outputs,
    })
}

fn unbuildable(error: ArchitectureError) -> LabError {
    LabError::Layers(error.to_string())
}

/// A deep network with its game.
///
/// Training locks the network for a whole round. Evaluation and analysis use a copy, which is
/// updated after each round, so they do not wait.
///
/// It learns only with a replay buffer: see [`with_replay`].
struct DeepAgent<G> {
    game: G,
    discount: f32,
    /// The bytes that it holds between rounds.
    bytes: u64,
    /// The most that it needs, in training and while it is written.
    _reserved: Reservation,
    training: Mutex<DqnAgent>,
    acting: Mutex<DeepValueFunction>,
}

/// What a checkpoint stores besides its arrays.
#[derive(Serialize, Deserialize)]
struct Counts {
    steps: u64,
    iterations: u64,
}

impl<G: Game> DeepAgent<G> {
    fn new(game: G, agent: DqnAgent, reserved: Reservation) -> Self {
        Self {
            game,
            discount: agent.discount(),
            bytes: 4 * HELD * agent.train_state().online.count() as u64,
            _reserved: reserved,
            acting: Mutex::new(acting(&agent)),
            training: Mutex::new(agent),
        }
    }

    fn training(&self) -> MutexGuard<'_, DqnAgent> {
        self.training.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The network as of the last round, for one thread.
    fn values(&self) -> DeepValueFunction {
        let acting = self.acting.lock().unwrap_or_else(PoisonError::into_inner);
        acting.clone()
    }

    /// Updates the copy for evaluation and analysis.
    fn publish(&self, agent: &DqnAgent) {
        *self.acting.lock().unwrap_or_else(PoisonError::into_inner) = acting(agent);
    }
}

impl<G: Game> BatchedValues<G> for DeepValueFunction {
    fn choose(&self, game: &G, decisions: &[Decision<G>]) -> Vec<Slide<G::Board>> {
        DeepValueFunction::choose(self, game, decisions)
    }

    fn games_together(&self) -> usize {
        TOGETHER
    }
}

/// A copy of the acting network whose values do not depend on the other boards of a batch.
fn acting(agent: &DqnAgent) -> DeepValueFunction {
    let values = agent.acting().clone();
    values.with_threads(1).in_groups(TOGETHER)
}

impl<G: Game> BatchAgent<G> for DeepAgent<G> {
    fn with_learner(&self, train: &mut dyn FnMut(&mut dyn ReplayAgent<G>)) {
        let mut agent = self.training();
        train(&mut *agent);
        self.publish(&agent);
    }

    fn write_with(
        &self,
        metadata: &Metadata,
        keep: StoredParts,
        further: &[RawTensor],
        output: &AtomicFile,
        _: usize,
    ) -> Result<(), NativeError> {
        let agent = self.training();
        let architecture = agent.acting().architecture();
        let state = agent.train_state();
        let [acting, other] = state.in_order(agent.acting_network());
        let mut arrays = acting.to_torch(architecture);
        let mut metadata = metadata.clone();
        if keep == StoredParts::Everything {
            let TrainState { adam, .. } = state;
            let parts = [
                (other_prefix(agent.acting_network()), other.clone()),
                (FIRST, like(&state.online, &adam.first)),
                (SECOND, like(&state.online, &adam.second)),
            ];
            for (prefix, parameters) in parts {
                let named = |array: NamedArray| NamedArray {
                    name: format!("{prefix}{}", array.name),
                    ..array
                };
                arrays.extend(parameters.to_torch(architecture).into_iter().map(named));
            }
            let counts = Counts {
                steps: adam.steps,
                iterations: state.iterations,
            };
            let text = serde_json::to_string(&counts).map_err(io::Error::other)?;
            metadata.insert(DEEP.to_owned(), text);
        }
        let file = native::file_of(&arrays, further, &metadata)?;
        Ok(output.write_header(&file, file.len() as u64)?)
    }
}

impl<G: Game> Agent for DeepAgent<G> {
    fn play(&self, round: &RoundSpec<'_>, sink: Option<Sink<'_>>) -> Vec<Outcome> {
        batched::play(&self.game, &self.values(), round, sink)
    }

    fn play_from(&self, first: FirstMove<'_>, round: &RoundSpec<'_>) -> Option<Vec<Outcome>> {
        batched::play_from(&self.game, &self.values(), first, round)
    }

    fn analyze(&self, boards: &[BoardState]) -> Vec<Option<StateAnalysis>> {
        let values = self.values();
        let choose = |decision: &Decision<G>| {
            let chosen = values.choose(&self.game, std::slice::from_ref(decision));
            chosen[0].direction()
        };
        analyze_states(&self.game, &values, boards, choose)
    }

    fn policy_fn(&self) -> PolicyFn<'_> {
        batched::policy_fn(&self.game, self.values())
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn with_search(self: Arc<Self>, spec: &SearchSpec) -> Result<Arc<dyn Agent>, LabError> {
        search_agent(self, spec)
    }

    fn digest(&self) -> Option<[u8; 32]> {
        let agent = self.training();
        let state = agent.train_state();
        let [acting, _] = state.in_order(agent.acting_network());
        let mut sha = Sha256::new();
        for array in acting.to_torch(agent.acting().architecture()) {
            sha.update(format!("{} {:?}", array.name, array.shape));
            let bytes = array.values.iter().flat_map(|value| value.to_le_bytes());
            sha.update(bytes.collect::<Vec<u8>>());
        }
        Some(sha.finalize().into())
    }
}

impl<G: Game> ValueAgent for DeepAgent<G> {
    type Game = G;
    type Values = DeepValueFunction;

    fn game(&self) -> &G {
        &self.game
    }

    fn with_values<R>(&self, with: impl FnOnce(&DeepValueFunction) -> R) -> R {
        with(&self.values().with_discount(self.discount))
    }
}

impl<G: Game> StoredAgent for DeepAgent<G> {
    /// A network of some megabytes is written quickly.
    fn drafts(&self) -> bool {
        false
    }

    fn write(
        &self,
        metadata: &Metadata,
        keep: StoredParts,
        output: &AtomicFile,
        threads: usize,
    ) -> Result<(), NativeError> {
        self.write_with(metadata, keep, &[], output, threads)
    }

    fn read(&self, saved: &StoredTables, keep: StoredParts) -> Result<(), NativeError> {
        let mut agent = self.training();
        let architecture = agent.acting().architecture().clone();
        let read = |prefix: &str| {
            let parameters = Parameters::from_torch(&architecture, |name, count| {
                let numbers = saved.numbers(&format!("{prefix}{name}"), count);
                numbers.map_err(Unread::File)
            });
            parameters.map_err(NativeError::from)
        };
        let mut state = agent.train_state().clone();
        let acting = read("")?;
        let mut other = acting.clone();
        if keep == StoredParts::Everything {
            let counts = counts(saved)?;
            let prefix = other_prefix(agent.acting_network());
            other = match read(prefix) {
                Err(NativeError::NoTable(_)) => read(migrate::former_prefix(prefix))?,
                read => read?,
            };
            state.adam.first = values(read(FIRST)?);
            state.adam.second = values(read(SECOND)?);
            state.adam.steps = counts.steps;
            state.iterations = counts.iterations;
        }
        (state.online, state.target) = match agent.acting_network() {
            ActingNetwork::Online => (acting, other),
            ActingNetwork::Target => (other, acting),
        };
        agent.restore(state);
        self.publish(&agent);
        Ok(())
    }
}

/// The counts of a checkpoint.
fn counts(saved: &StoredTables) -> Result<Counts, NativeError> {
    let text = saved.metadata().get(DEEP).map_or("", String::as_str);
    let damaged = |found: String| NativeError::Metadata { key: DEEP, found };
    let counts: Counts = serde_json::from_str(text).map_err(|error| damaged(error.to_string()))?;
    let most = i64::MAX as u64;
    if counts.steps > most || counts.iterations > most {
        return Err(damaged(format!("a number above {most}")));
    }
    Ok(counts)
}

/// The prefix of the tensors of the network that does not act.
fn other_prefix(acting_network: ActingNetwork) -> &'static str {
    match acting_network {
        ActingNetwork::Online => "target.",
        ActingNetwork::Target => "online.",
    }
}

const FIRST: &str = "first.";
const SECOND: &str = "second.";

/// Arrays with the names and shapes of these parameters.
fn like(parameters: &Parameters, numbers: &[Vec<f32>]) -> Parameters {
    let shaped = parameters
        .0
        .iter()
        .zip(numbers)
        .map(|(one, values)| Parameter {
            values: values.clone(),
            ..one.clone()
        });
    Parameters(shaped.collect())
}

fn values(parameters: Parameters) -> Vec<Vec<f32>> {
    parameters.0.into_iter().map(|one| one.values).collect()
}

/// Why a network could not be read.
enum Unread {
    File(NativeError),
    Architecture(ArchitectureError),
}

impl From<ArchitectureError> for Unread {
    fn from(error: ArchitectureError) -> Self {
        Self::Architecture(error)
    }
}

impl From<Unread> for NativeError {
    fn from(unread: Unread) -> Self {
        match unread {
            Unread::File(error) => error,
            Unread::Architecture(error) => Self::Metadata {
                key: crate::spec::CONVOLUTIONS,
                found: error.to_string(),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A number is the rate before the outputs; a list has one for each hidden layer.
    #[test]
    fn dropout_applies_before_the_layer_that_a_recipe_names() {
        let places = |hidden: HiddenDropout| {
            let network = DeepRecipe {
                hidden: vec![128, 16],
                dropout_convolutions: 0.5,
                dropout_hidden: hidden,
                ..DeepRecipe::default()
            };
            let rates = dropout(&network).into_iter();
            rates.map(|of| (of.layer, of.rate)).collect::<Vec<_>>()
        };
        assert_eq!(places(HiddenDropout::Last(0.25)), [(0, 0.5), (2, 0.25)]);
        let each = HiddenDropout::Each(vec![0.75, 0.25]);
        assert_eq!(places(each), [(0, 0.5), (1, 0.75), (2, 0.25)]);
    }
}
