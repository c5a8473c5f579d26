//! Agents of n-tuple networks.

use std::marker::PhantomData;
use std::sync::Arc;

use afterstate::episode::{Learner, LearningPolicy};
use afterstate::format::native::{Metadata, NativeError, RawTensor, StoredParts};
use afterstate::game::{ChanceState, Direction, Game};
use afterstate::learn::{
    Backward, Carousel, Delayed, NStep, OnPolicyForward, PublishedBackward, Restarting,
    SlideRewards, StartStateArrays, StartStates, TdParams,
};
use afterstate::ntuple::Trainable;
use afterstate::ntuple::{
    AfterstateNetwork, AtomicF32, NetworkError, NetworkOptions, StateNetwork, Tc, Td, UpdateRule,
    WeightCell, WeightPart, WeightTables,
};
use afterstate::policy::{Greedy, Policy, Ties};
use afterstate::random::game_rng;
use afterstate::replay::NTupleReplayParams;
use afterstate::solve::Packed;
use afterstate::tally::Outcome;
use afterstate::value::{Decision, ValueFunction};
use sha2::{Digest, Sha256};

use super::batch::{BoardBatch, BoardResults, evaluate_by};
use super::explain::{Explanation, explain};
use super::{
    Agent, BoardState, FirstMove, PolicyFn, RoundResult, RoundSpec, StartFn, StateAnalysis,
    StoredAgent, TrainableAgent, ValueAgent, WeightArray, initial, learn_games, play_games,
    search_agent, with_first_move,
};
use crate::LabError;
use crate::disk::AtomicFile;
use crate::error::game_on;
use crate::games::{GameVisitor, with_game};
use crate::memory::{MemoryBudget, Reservation};
use crate::metadata::REDUNDANT;
use crate::recipe::{Rule, ValueOf};
use crate::recorder::Sink;
use crate::search::SearchSpec;
use crate::share::{threads, try_share};
use crate::spec::{NTupleSpec, TdSpec, UpdateSpec};
use crate::tables::{self, StoredTables};

/// What both kinds of n-tuple networks have in common.
pub(super) trait NTupleNetwork<G: Game>: Trainable<G> + 'static {
    /// What it values.
    const VALUE: ValueOf;

    type Cell: WeightCell;

    fn tables(&self) -> &WeightTables<Self::Cell>;

    /// Repairs what concurrent updates may have lost.
    fn refresh(&self, _threads: usize) {}
}

impl<G: Game> NTupleNetwork<G> for AfterstateNetwork {
    const VALUE: ValueOf = ValueOf::Afterstate;

    type Cell = AtomicF32;

    fn tables(&self) -> &WeightTables<AtomicF32> {
        AfterstateNetwork::tables(self)
    }
}

impl<G: Game> NTupleNetwork<G> for StateNetwork {
    const VALUE: ValueOf = ValueOf::State;

    type Cell = [AtomicF32; 2];

    fn tables(&self) -> &WeightTables<[AtomicF32; 2]> {
        StateNetwork::tables(self)
    }

    fn refresh(&self, threads: usize) {
        let pieces = self.refresh_pieces();
        // A piece cannot fail.
        let refreshed: Result<(), std::convert::Infallible> = try_share(threads, pieces, || {
            |piece| {
                self.refresh_piece(piece);
                Ok(())
            }
        });
        refreshed.unwrap_or_else(|never| match never {});
    }
}

/// An n-tuple network with its game. `D` is how its loops are compiled.
pub(super) struct NTupleAgent<G: Game, N, D> {
    pub(super) game: G,
    pub(super) network: N,
    pub(super) ties: Ties,
    /// How it learns from a replay buffer, if it does.
    pub(super) replay: NTupleReplayParams,
    /// The states from which games of a carousel begin.
    kept: StartStates<G::Board>,
    reserved: Reservation,
    dispatch: PhantomData<D>,
}

/// How the loops of training and evaluation are compiled.
pub(super) trait Dispatch: Send + Sync + 'static {
    fn learn<'a, G: Game, P: LearningPolicy<G> + 'a>(
        game: &G,
        round: &RoundSpec<'_>,
        learner: &TdSpec,
        make: impl Fn() -> P + Sync,
    ) -> RoundResult;
}

/// With the player inlined: for the games that are meant to be fast.
pub(super) enum Inlined {}

impl Dispatch for Inlined {
    fn learn<'a, G: Game, P: LearningPolicy<G> + 'a>(
        game: &G,
        round: &RoundSpec<'_>,
        learner: &TdSpec,
        make: impl Fn() -> P + Sync,
    ) -> RoundResult {
        let restart = learner.restart_length_at(round.numbers.start);
        learn_games(game, round, learner, || Restarting::new(make(), restart))
    }
}

/// With virtual calls, so that the loop is compiled once for each game: for small boards.
pub(super) enum Virtual {}

impl Dispatch for Virtual {
    fn learn<'a, G: Game, P: LearningPolicy<G> + 'a>(
        game: &G,
        round: &RoundSpec<'_>,
        learner: &TdSpec,
        make: impl Fn() -> P + Sync,
    ) -> RoundResult {
        let make: &(dyn Fn() -> Box<dyn LearningPolicy<G> + 'a> + Sync) = &|| Box::new(make());
        let restart = learner.restart_length_at(round.numbers.start);
        learn_games(game, round, learner, || Restarting::new(make(), restart))
    }
}

/// The tensors of the states that a carousel keeps.
const CAROUSEL: [&str; 3] = [
    "carousel.counts",
    "carousel.tiles",
    "carousel.chance_states",
];

/// Creates an agent in which every position has the value `initial_value`, with memory for what
/// `rule` needs.
///
/// # Errors
/// When there is not enough memory (checked before allocating), or the game has no values of
/// states.
pub(crate) fn ntuple_agent(
    spec: &NTupleSpec,
    rule: Rule,
    initial_value: f32,
    budget: &MemoryBudget,
) -> Result<Box<dyn TrainableAgent>, LabError> {
    let new = NewAgent {
        spec,
        coherence: rule == Rule::Tc,
        initial_value,
        budget,
    };
    with_game(&spec.game, spec.shape(), new)?
}

struct NewAgent<'a> {
    spec: &'a NTupleSpec,
    coherence: bool,
    initial_value: f32,
    budget: &'a MemoryBudget,
}

impl GameVisitor for NewAgent<'_> {
    type Output = Result<Box<dyn TrainableAgent>, LabError>;

    fn visit<G: Game>(self, game: G) -> Self::Output {
        self.with_states::<G, Inlined>(game)
    }

    fn visit_without_states<G: Game>(self, game: G) -> Self::Output {
        match self.spec.value {
            ValueOf::Afterstate => Ok(Box::new(afterstate_agent::<G, Inlined>(&self, game)?)),
            ValueOf::State => Err(no_states(self.spec)),
            ValueOf::Action => Err(LabError::NoActions),
        }
    }

    fn visit_packed<G: Game<Board: Packed>>(self, game: G) -> Self::Output {
        self.with_states::<G, Virtual>(game)
    }
}

impl NewAgent<'_> {
    fn with_states<G: Game, D: Dispatch>(
        &self,
        game: G,
    ) -> Result<Box<dyn TrainableAgent>, LabError> {
        match self.spec.value {
            ValueOf::Afterstate => Ok(Box::new(afterstate_agent::<G, D>(self, game)?)),
            ValueOf::State => {
                let (spec, budget) = (self.spec, self.budget);
                let (coherence, initial_value) = (self.coherence, self.initial_value);
                let agent = state_agent::<G, D>(game, spec, coherence, initial_value, budget)?;
                Ok(Box::new(agent))
            }
            ValueOf::Action => Err(LabError::NoActions),
        }
    }
}

pub(super) fn no_states(spec: &NTupleSpec) -> LabError {
    LabError::NoStates(game_on(&spec.game, spec.shape()))
}

fn afterstate_agent<G: Game, D: Dispatch>(
    new: &NewAgent<'_>,
    game: G,
) -> Result<NTupleAgent<G, AfterstateNetwork, D>, LabError> {
    let tuples = &new.spec.tuples;
    let bytes = WeightTables::<AtomicF32>::bytes(tuples, new.coherence);
    let reserved = reserve(new.budget, bytes)?;
    let options = options(new.spec, new.coherence, new.initial_value);
    Ok(NTupleAgent {
        game,
        network: AfterstateNetwork::new(tuples, &options).map_err(refused)?,
        ties: new.spec.ties,
        replay: NTupleReplayParams::default(),
        kept: StartStates::default(),
        reserved,
        dispatch: PhantomData,
    })
}

pub(super) fn state_agent<G: Game, D: Dispatch>(
    game: G,
    spec: &NTupleSpec,
    coherence: bool,
    initial_value: f32,
    budget: &MemoryBudget,
) -> Result<NTupleAgent<G, StateNetwork, D>, LabError> {
    let (rules, shape) = (game.rules(), game.shape());
    let readable = rules.tile_bits(shape) == StateNetwork::TILE_BITS;
    let spawns = rules.uniform_spawns().filter(|_| readable);
    let spawns = spawns.ok_or_else(|| no_states(spec))?;
    let bytes = WeightTables::<[AtomicF32; 2]>::bytes(&spec.tuples, coherence);
    let reserved = reserve(budget, bytes)?;
    let options = options(spec, coherence, initial_value);
    let network = StateNetwork::new(&spec.tuples, &options, spawns);
    Ok(NTupleAgent {
        game,
        network: network.map_err(refused)?,
        ties: spec.ties,
        replay: NTupleReplayParams::default(),
        kept: StartStates::default(),
        reserved,
        dispatch: PhantomData,
    })
}

fn options(spec: &NTupleSpec, coherence: bool, initial_value: f32) -> NetworkOptions {
    NetworkOptions {
        initial_value,
        discount: spec.discount as f32,
        coherence,
        ..NetworkOptions::default()
    }
}

/// Reserves memory for tables.
pub(crate) fn reserve(budget: &MemoryBudget, bytes: u64) -> Result<Reservation, LabError> {
    budget.reserve(bytes).map_err(|over| LabError::Memory {
        needed: over.needed,
        available: over.available,
    })
}

fn refused(error: NetworkError) -> LabError {
    match error {
        NetworkError::Memory { bytes, source } => LabError::Refused {
            needed: bytes,
            source,
        },
        other => LabError::Layers(other.to_string()),
    }
}

impl<G: Game, N: NTupleNetwork<G>, D: Dispatch> NTupleAgent<G, N, D> {
    fn policy(&self) -> Greedy<'_, G, N> {
        Greedy::new(&self.game, &self.network, self.ties)
    }

    fn play_games(
        &self,
        round: &RoundSpec<'_>,
        start: &StartFn<'_, G>,
        sink: Option<Sink<'_>>,
    ) -> Vec<Outcome> {
        play_games(&self.game, round, || self.policy(), start, sink)
    }

    fn learn_by<R: UpdateRule>(&self, round: &RoundSpec<'_>, learner: &TdSpec) -> RoundResult {
        if learner.carousel > 0 {
            return self.learn_in_turn(round, learner, &|| match learner.spawn_rewards {
                true => self.any_player::<R>(learner.update),
                false => Box::new(SlideRewards(self.any_player::<R>(learner.update))),
            });
        }
        if !learner.spawn_rewards {
            let make = || SlideRewards(self.any_player::<R>(learner.update));
            return Virtual::learn(&self.game, round, learner, make);
        }
        match learner.update {
            UpdateSpec::Published(_) | UpdateSpec::NStep { .. } | UpdateSpec::Delayed { .. } => {
                Virtual::learn(&self.game, round, learner, || {
                    self.any_player::<R>(learner.update)
                })
            }
            UpdateSpec::Forward => {
                D::learn(&self.game, round, learner, || self.forward_player::<R>())
            }
            UpdateSpec::Backward {
                lambda,
                reward_twice,
            } => D::learn(&self.game, round, learner, || {
                self.backward_player::<R>(lambda, reward_twice)
            }),
        }
    }

    /// Learns from games of all stages in turn.
    fn learn_in_turn<'a>(
        &self,
        round: &RoundSpec<'_>,
        learner: &TdSpec,
        make: &(dyn Fn() -> Box<dyn LearningPolicy<G> + 'a> + Sync),
    ) -> RoundResult {
        let tuples = self.network.tables().tuples();
        let stages = (tuples.stages(), tuples.tile_bits());
        learn_games(&self.game, round, learner, || {
            Carousel::new(make(), stages, &self.kept, learner.carousel)
        })
    }

    fn forward_player<R: UpdateRule>(&self) -> OnPolicyForward<'_, G, N, R> {
        OnPolicyForward::new(&self.game, &self.network, self.ties, 0.0)
    }

    fn backward_player<R: UpdateRule>(
        &self,
        lambda: f32,
        reward_twice: bool,
    ) -> (Greedy<'_, G, N>, Backward<'_, G, N, R>) {
        let params = TdParams {
            lambda,
            reward_twice,
            ..TdParams::default()
        };
        let learner = Backward::new(&self.game, &self.network, params);
        (self.policy(), learner)
    }

    /// The greedy player with a learner, which is type-erased: the player is compiled once.
    fn with_learner<'a>(
        &'a self,
        learner: impl Learner<G> + 'a,
    ) -> Box<dyn LearningPolicy<G> + 'a> {
        let learner: Box<dyn Learner<G> + 'a> = Box::new(learner);
        Box::new((self.policy(), learner))
    }

    /// The player of an update, type-erased: for those that are rarely used.
    fn any_player<R: UpdateRule>(&self, update: UpdateSpec) -> Box<dyn LearningPolicy<G> + '_> {
        match update {
            UpdateSpec::Forward => Box::new(self.forward_player::<R>()),
            UpdateSpec::Backward {
                lambda,
                reward_twice,
            } => Box::new(self.backward_player::<R>(lambda, reward_twice)),
            UpdateSpec::NStep { order, n } => {
                self.with_learner(NStep::<_, _, R>::new(&self.game, &self.network, order, n))
            }
            UpdateSpec::Delayed { lambda } => {
                self.with_learner(Delayed::<_, _, R>::new(&self.game, &self.network, lambda))
            }
            UpdateSpec::Published(params) => {
                let (game, network) = (&self.game, &self.network);
                Box::new(PublishedBackward::new(game, network, self.ties, params))
            }
        }
    }
}

impl<G: Game, N: NTupleNetwork<G>, D: Dispatch> Agent for NTupleAgent<G, N, D> {
    fn draws_per_move(&self) -> Option<u32> {
        (self.ties == Ties::Order).then_some(0)
    }

    fn play(&self, round: &RoundSpec<'_>, sink: Option<Sink<'_>>) -> Vec<Outcome> {
        self.play_games(round, &initial(&self.game), sink)
    }

    fn play_from(&self, first: FirstMove<'_>, round: &RoundSpec<'_>) -> Option<Vec<Outcome>> {
        let start = with_first_move(&self.game, first)?;
        Some(self.play_games(round, &start, None))
    }

    fn analyze(&self, boards: &[BoardState]) -> Vec<Option<StateAnalysis>> {
        let mut policy = self.policy();
        analyze_states(&self.game, &self.network, boards, |decision| {
            policy
                .choose(&self.game, decision, &mut game_rng(0, 0))
                .direction()
        })
    }

    fn evaluate_boards(
        &self,
        boards: &BoardBatch<'_>,
        places: &mut BoardResults<'_>,
        _: &(dyn Fn() -> bool + Sync),
    ) -> Result<(), usize> {
        evaluate_by(&self.game, &self.network, boards, places)
    }

    fn weights(&self) -> Vec<WeightArray> {
        let tables = self.network.tables();
        let array = |(number, (name, _)): (usize, (String, usize))| {
            let view = tables.view(number);
            let strides = view.strides();
            WeightArray {
                name,
                address: view.address(),
                shape: vec![view.values(); strides.len()],
                strides,
            }
        };
        tables.tuples().tables().enumerate().map(array).collect()
    }

    fn policy_fn(&self) -> PolicyFn<'_> {
        let mut policy = self.policy();
        Box::new(move |tiles: &[u8], chance_state: ChanceState| {
            let state = self.game.state(tiles, chance_state)?;
            let decision = Decision::new(&self.game, state);
            let choices = decision.map(|decision| policy.choices(&self.game, &decision));
            Some(choices.unwrap_or_default())
        })
    }

    fn bytes(&self) -> u64 {
        self.reserved.bytes()
    }

    fn with_search(self: Arc<Self>, spec: &SearchSpec) -> Result<Arc<dyn Agent>, LabError> {
        search_agent(self, spec)
    }

    fn explain(&self, board: &BoardState, direction: Direction) -> Option<Explanation> {
        explain(
            &self.game,
            self.network.tables(),
            N::VALUE,
            board,
            direction,
        )
    }

    fn digest(&self) -> Option<[u8; 32]> {
        let tables = self.network.tables();
        let tuples = tables.tuples();
        let mut sha = Sha256::new();
        let parts = (tuples.symmetry(), tuples.by_hint(), N::VALUE);
        sha.update(format!("{tuples} {parts:?} {:?}", self.ties));
        let redundant = tuples.redundant();
        if !redundant.is_empty() {
            sha.update(redundant);
        }
        if tuples.stages().count() > 1 {
            sha.update(format!("{:?}", tuples.stages()));
        }
        let mut values = vec![0.0; 1 << 14];
        for (number, (_, weights)) in tuples.tables().enumerate() {
            for from in (0..weights).step_by(values.len()) {
                let piece = &mut values[..(weights - from).min(1 << 14)];
                tables.export(number, WeightPart::Weight, from, piece);
                let bytes = piece.iter().flat_map(|weight| weight.to_le_bytes());
                sha.update(bytes.collect::<Vec<u8>>());
            }
        }
        Some(sha.finalize().into())
    }
}

impl<G: Game, N: NTupleNetwork<G>, D: Dispatch> ValueAgent for NTupleAgent<G, N, D> {
    type Game = G;
    type Values = N;

    fn game(&self) -> &G {
        &self.game
    }

    fn with_values<R>(&self, with: impl FnOnce(&N) -> R) -> R {
        with(&self.network)
    }
}

impl<G: Game, N: NTupleNetwork<G>, D: Dispatch> TrainableAgent for NTupleAgent<G, N, D> {
    fn learn(&self, round: &RoundSpec<'_>, learner: &TdSpec) -> RoundResult {
        let phase = learner.rule.at(round.numbers.start);
        // A later phase of TC begins with fresh sums.
        if phase.rule == Rule::Tc && phase.from > 0 && phase.from == round.numbers.start {
            self.network.tables().clear_sums();
        }
        match phase.rule {
            Rule::Td => self.learn_by::<Td>(round, learner),
            Rule::Tc => self.learn_by::<Tc>(round, learner),
        }
    }

    fn refresh(&self, threads: usize) {
        self.network.refresh(threads);
    }
}

impl<G: Game, N: NTupleNetwork<G>, D: Dispatch> StoredAgent for NTupleAgent<G, N, D> {
    fn write(
        &self,
        metadata: &Metadata,
        keep: StoredParts,
        output: &AtomicFile,
        threads: usize,
    ) -> Result<(), NativeError> {
        // A model has redundant tuples folded into the others.
        let mut metadata = metadata.clone();
        if keep == StoredParts::Weights {
            metadata.remove(REDUNDANT);
        }
        let arrays = self.kept.arrays(&self.game);
        let further = match (keep, arrays.counts.is_empty()) {
            (StoredParts::Everything, false) => {
                carousel_tensors(&arrays, self.game.shape().cells())
            }
            _ => Vec::new(),
        };
        tables::write_with(
            self.network.tables(),
            &metadata,
            keep,
            &further,
            output,
            threads,
        )
    }

    fn read(&self, saved: &StoredTables, keep: StoredParts) -> Result<(), NativeError> {
        saved.read(self.network.tables(), keep)?;
        if keep == StoredParts::Weights {
            self.network.refresh(threads(0));
        } else if let Some(arrays) = carousel_arrays(saved)? {
            let restored = self.kept.restore(&self.game, &arrays);
            restored.map_err(|error| NativeError::Table {
                table: CAROUSEL[0].to_owned(),
                found: error.to_string(),
                expected: "states in which games entered a stage".to_owned(),
            })?;
        }
        Ok(())
    }
}

fn carousel_tensors(arrays: &StartStateArrays, cells: usize) -> Vec<RawTensor> {
    let [counts, tiles, chance_states] = CAROUSEL;
    let shape = [arrays.chance_states.len(), cells];
    vec![
        RawTensor::u32(counts, &arrays.counts),
        RawTensor::u8(tiles, &shape, &arrays.tiles),
        RawTensor::u16(chance_states, &arrays.chance_states),
    ]
}

/// The kept states of a checkpoint, if it has any.
fn carousel_arrays(saved: &StoredTables) -> Result<Option<StartStateArrays>, NativeError> {
    let [counts, tiles, chance_states] = CAROUSEL;
    let all = match saved.bytes(counts) {
        Err(NativeError::NoTable(_)) => return Ok(None),
        counts => counts?,
    };
    let numbers = saved.bytes(chance_states)?;
    Ok(Some(StartStateArrays {
        counts: all
            .as_chunks()
            .0
            .iter()
            .map(|four| u32::from_le_bytes(*four))
            .collect(),
        tiles: saved.bytes(tiles)?,
        chance_states: numbers
            .as_chunks()
            .0
            .iter()
            .map(|two| u16::from_le_bytes(*two))
            .collect(),
    }))
}

/// Analyses many states with a value function and the choices of a policy.
pub(crate) fn analyze_states<G: Game, V: ValueFunction<G>>(
    game: &G,
    values: &V,
    boards: &[BoardState],
    mut choose: impl FnMut(&Decision<G>) -> Direction,
) -> Vec<Option<StateAnalysis>> {
    let state = |board: &BoardState| game.state(&board.tiles, board.chance_state);
    let states: Vec<_> = boards.iter().map(state).collect();
    let decisions: Vec<Option<Decision<G>>> = states
        .iter()
        .map(|state| Decision::new(game, (*state)?))
        .collect();
    let open: Vec<Decision<G>> = decisions.iter().flatten().copied().collect();
    let mut found = Vec::new();
    values.batch(game, &open, &mut found);
    let mut found = found.into_iter();
    let one = |(state, decision): (_, &Option<Decision<G>>)| {
        let _: &Option<_> = state;
        state.as_ref()?;
        Some(match decision {
            None => StateAnalysis::OVER,
            Some(decision) => {
                let values = found.next().unwrap_or_default();
                StateAnalysis::of(decision, values, choose(decision))
            }
        })
    };
    states.iter().zip(&decisions).map(one).collect()
}
