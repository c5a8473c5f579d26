//! What both benchmarks measure, and its checks: every fast result against the slow one.
//!
//! Networks are first trained for a few games, because a network of zeros ties all moves, plays
//! short games and touches few weights. Learning is measured with a learning rate of 0: this is all
//! the work of an update and leaves the weights unchanged, so that every repetition is the same
//! (except for TC's sums, which grow). The rate is hidden from the compiler, which could simplify
//! updates that change nothing.

use std::cell::RefCell;
use std::hint::black_box;

use afterstate::Value;
use afterstate::episode::{Learner, NoLearner, Step, play};
use afterstate::game::{
    self, Board, ChanceState, Direction, Fast2048, Game, Grid, GridBoard, POWERS_OF_TWO_SPAWNS,
    PowersOfTwo, Shape, Slide, Slides,
};
use afterstate::learn::{Backward, TdParams};
use afterstate::ntuple::{
    AfterstateNetwork, Indices, NetworkOptions, StateNetwork, Tc, Td, TupleSet, UpdateRule,
    WeightPart,
};
use afterstate::ntuple::{Trainable, TrajectoryStep, Updated};
use afterstate::policy::{Greedy, Policy, Ties};
use afterstate::random::game_rng;
use afterstate::tally::Outcome;
use afterstate::value::{ActionValue, Decision, Pending, ValueFunction};

/// Games of training.
const TRAINING: u64 = 300;
/// The seed of the training, and another one for the measurements.
const TRAINING_SEED: u64 = 1;
const SEED: u64 = 2;
/// Positions in a list: their weights occupy some 14,000 cache lines.
pub const POSITIONS: usize = 1000;
/// Moves from one position of a list to the next.
const APART: usize = 7;

/// The tuples of the recipe `state-6`.
const STATE_6: &str = "012456 456789 012345 234569 0145 1256";

/// A state of 2048.
pub type State = game::State<Board>;
/// An afterstate of 2048.
pub type After = game::After<Board>;

/// Four 6-tuples, V(afterstate), TD.
pub fn td() -> AfterstateNetwork {
    let network = afterstates(&tuples("4x6"), false);
    train::<_, Td>(&network, 0.1);
    network
}

/// Four 6-tuples, V(afterstate), TC.
pub fn tc() -> AfterstateNetwork {
    let network = afterstates(&tuples("4x6"), true);
    train::<_, Tc>(&network, 1.0);
    network
}

/// The tuples of `state-6`, V(state), TD.
pub fn of_states() -> StateNetwork {
    let options = NetworkOptions::default();
    let network = StateNetwork::new(&tuples(STATE_6), &options, &POWERS_OF_TWO_SPAWNS);
    let network = network.expect("memory");
    train::<_, Td>(&network, 0.1);
    network
}

fn afterstates(tuples: &TupleSet, coherence: bool) -> AfterstateNetwork {
    let options = NetworkOptions {
        coherence,
        ..NetworkOptions::default()
    };
    AfterstateNetwork::new(tuples, &options).expect("memory")
}

fn tuples(set: &str) -> TupleSet {
    TupleSet::parse(set, Shape::FOUR, true).expect("a valid set")
}

fn train<N: Trainable<Fast2048>, R: UpdateRule>(network: &N, learning_rate: Value) {
    let game = Fast2048::new();
    let mut policy = Greedy::new(&game, network, Ties::Order);
    let mut learner = learner::<N, R>(&game, network, learning_rate);
    for number in 0..TRAINING {
        let mut rng = game_rng(TRAINING_SEED, number);
        play(&game, &mut policy, &mut learner, &mut rng);
    }
}

fn learner<'n, N: Trainable<Fast2048>, R: UpdateRule>(
    game: &Fast2048,
    network: &'n N,
    learning_rate: Value,
) -> Backward<'n, Fast2048, N, R> {
    let params = TdParams {
        learning_rate,
        ..TdParams::default()
    };
    Backward::new(game, network, params)
}

/// Steps from games of a network, some moves apart.
pub fn steps<V: ValueFunction<Fast2048>>(values: &V) -> Vec<Step<Fast2048>> {
    let game = Fast2048::new();
    let mut policy = Greedy::new(&game, values, Ties::Order);
    let mut recorder = Recorder::default();
    let mut number = 0;
    while recorder.0.len() < POSITIONS * APART {
        let mut rng = game_rng(SEED, number);
        play(&game, &mut policy, &mut recorder, &mut rng);
        number += 1;
    }
    let steps = recorder.0.into_iter();
    steps.step_by(APART).take(POSITIONS).collect()
}

/// Records every step.
#[derive(Default)]
struct Recorder(Vec<Step<Fast2048>>);

impl Learner<Fast2048> for Recorder {
    fn step(&mut self, step: &Step<Fast2048>) {
        self.0.push(*step);
    }

    fn finish(&mut self, _: State, _spawn_reward: u32) {}
}

/// The states of steps.
pub fn states(steps: &[Step<Fast2048>]) -> Vec<State> {
    steps.iter().map(|step| step.state).collect()
}

/// The afterstates of steps.
pub fn afters(steps: &[Step<Fast2048>]) -> Vec<After> {
    steps.iter().map(|step| step.after).collect()
}

/// The sum of the rewards of all legal slides of all states.
#[inline(always)]
pub fn slide(game: &Fast2048, states: &[State]) -> u64 {
    states
        .iter()
        .map(|&state| rewards(&game.slides(state)))
        .sum()
}

#[inline(always)]
fn rewards<B: Copy>(slides: &Slides<B>) -> u64 {
    let reward = |slide: Slide<B>| u64::from(slide.reward());
    slides.legal().map(reward).sum()
}

/// The same in the slow game.
pub fn slow_slide(states: &[State]) -> u64 {
    let of = |&state: &State| rewards(&grid().slides(slow(state)));
    states.iter().map(of).sum()
}

fn grid() -> Grid {
    Grid::new(Shape::FOUR, &PowersOfTwo)
}

/// A state of the fast game, converted to the slow one.
fn slow(game::State(board): State) -> game::State<GridBoard> {
    let state = grid().state(&board.tiles(), ChanceState::NONE);
    state.expect("a board")
}

/// The sum of the values of all afterstates.
#[inline(always)]
pub fn value(network: &AfterstateNetwork, afters: &[After], at: &mut Indices) -> f64 {
    let of = |&after: &After| {
        Trainable::<Fast2048>::locate_positions(network, [after; 4], at);
        f64::from(Trainable::<Fast2048>::value_at(network, at, 0))
    };
    afters.iter().map(of).sum()
}

/// The same for the afterstates in the slow game.
pub fn slow_value(network: &AfterstateNetwork, steps: &[Step<Fast2048>]) -> f64 {
    let of = |step: &Step<Fast2048>| {
        let slides = grid().slides(slow(step.state));
        let slide = slides.get(step.direction).expect("a legal slide");
        f64::from(network.value(slide.after()))
    };
    steps.iter().map(of).sum()
}

/// One update of each afterstate towards 1,000 at a learning rate of 0; the sum of all results.
#[inline(always)]
pub fn update<R: UpdateRule>(
    network: &AfterstateNetwork,
    afters: &[After],
    at: &mut Indices,
) -> f64 {
    let of = |&after: &After| {
        let Updated { value, delta } =
            update_one::<Fast2048, R>(network, after, at, 0, (TARGET, black_box(0.0)));
        f64::from(value + delta)
    };
    afters.iter().map(of).sum()
}

#[inline(always)]
fn update_one<G: Game, R: UpdateRule>(
    network: &AfterstateNetwork,
    after: game::After<G::Board>,
    at: &mut Indices,
    lane: usize,
    (target, learning_rate): (Value, Value),
) -> Updated {
    Trainable::<G>::locate_positions(network, [after; 4], at);
    Trainable::<G>::update::<R>(network, after, at, lane, target, learning_rate)
}

const TARGET: Value = 1000.0;

/// Checks the sum: the value is unchanged, and it plus its error is the target, up to rounding.
/// Updates that change weights agree with the slow board bit by bit.
pub fn check_update<R: UpdateRule>(sum: f64, afters: &[After], network: &AfterstateNetwork) {
    let expected = f64::from(TARGET) * afters.len() as f64;
    assert!((sum / expected - 1.0).abs() < 1e-5, "{sum} and {expected}");

    let tables = network.tables();
    let new = || afterstates(tables.tuples(), tables.has_coherence());
    let (fast, slow, mut at) = (new(), new(), Indices::default());
    for (n, &after) in afters.iter().enumerate() {
        let step = (TARGET + n as Value, 0.5);
        let quick = update_one::<Fast2048, R>(&fast, after, &mut at, 1, step);
        let board = game::After(after.0.to_grid());
        let slowly = update_one::<Grid, R>(&slow, board, &mut at, 2, step);
        assert_eq!(quick, slowly);
    }
}

/// Games of an episode benchmark: a single one may be short.
const GAMES: u64 = 5;

/// A few games without learning: their moves, score and largest tile.
#[inline(always)]
pub fn playing<G: Game, V: ValueFunction<G>>(game: &G, values: &V) -> Outcome {
    let mut policy = Greedy::new(game, values, Ties::Order);
    few_games(game, &mut policy, &mut NoLearner)
}

/// The same games, with a TD update for each move at a learning rate of 0.
#[inline(always)]
pub fn learning<N: Trainable<Fast2048>>(game: &Fast2048, network: &N) -> Outcome {
    let mut policy = Greedy::new(game, network, Ties::Order);
    let mut learner = learner::<N, Td>(game, network, black_box(0.0));
    few_games(game, &mut policy, &mut learner)
}

#[inline(always)]
fn few_games<G: Game, P: Policy<G>>(
    game: &G,
    policy: &mut P,
    learner: &mut impl Learner<G>,
) -> Outcome {
    let mut all = Outcome::default();
    for number in 0..GAMES {
        let outcome = play(game, policy, learner, &mut game_rng(SEED, number));
        all.score += outcome.score;
        all.moves += outcome.moves;
        all.largest = all.largest.max(outcome.largest);
    }
    all
}

/// The same games in the slow game.
pub fn slow_playing(network: &AfterstateNetwork) -> Outcome {
    playing(&grid(), network)
}

/// The moves that the greedy policy of a value function chooses.
#[inline(always)]
pub fn choose<V: ValueFunction<Fast2048>>(
    game: &Fast2048,
    values: &V,
    states: &[State],
) -> Vec<ChosenDirection> {
    let mut policy = Greedy::new(game, values, Ties::Order);
    let mut rng = game_rng(SEED, 0);
    let of = |&state: &State| {
        let decision = Decision::new(game, state)?;
        let slide = policy.choose(game, &decision, &mut rng);
        Some(slide.direction())
    };
    states.iter().map(of).collect()
}

/// A move; `None` if the game is over.
pub type ChosenDirection = Option<Direction>;

/// V(state) by its definition: the value of a move is r plus the mean of V over every spawn. States
/// are looked up `TOGETHER` at a time: one, as in the formula, or four, which one lookup can do.
///
/// The weights of states are in tables of four bytes a weight, which only a network of afterstates
/// has: it treats states as afterstates.
pub struct EveryNewTile<const TOGETHER: usize>(AfterstateNetwork);

impl<const TOGETHER: usize> EveryNewTile<TOGETHER> {
    /// Copies the weights of a network of states.
    pub fn new(of: &StateNetwork) -> Self {
        let of = of.tables();
        let network = afterstates(of.tuples(), false);
        for (n, pattern) in of.tuples().patterns().iter().enumerate() {
            let mut weights = vec![0.0; pattern.weights()];
            of.export(n, WeightPart::Weight, 0, &mut weights);
            network.tables().import(n, WeightPart::Weight, 0, &weights);
        }
        Self(network)
    }

    #[inline(always)]
    fn expectation(&self, game: &Fast2048, after: After) -> Value {
        thread_local! {
            static ROOM: RefCell<(Vec<(State, f64)>, Indices)> = RefCell::default();
        }
        ROOM.with_borrow_mut(|(states, at)| {
            states.clear();
            game.for_each_spawn(after, |state, _, chance| states.push((state, chance)));
            let mut mean = 0.0;
            for some in states.chunks(TOGETHER) {
                let last = some.len() - 1;
                let four = std::array::from_fn(|lane| some[lane.min(last)].0);
                self.locate_positions(four, at);
                for (lane, &(_, chance)) in some.iter().enumerate() {
                    mean += chance as Value * self.value_at(at, lane);
                }
            }
            mean
        })
    }
}

impl<const TOGETHER: usize> ValueFunction<Fast2048> for EveryNewTile<TOGETHER> {
    type Lookup = Indices;

    /// The result is not read, but every choice by tables has this lookup, and so have all counts
    /// so far.
    #[inline(always)]
    fn locate(&self, game: &Fast2048, decision: &Decision<Fast2048>, at: &mut Indices) {
        self.0.locate(game, decision, at);
    }

    #[inline(always)]
    fn evaluate(
        &self,
        game: &Fast2048,
        pending: &Pending<'_, Fast2048, Indices>,
        mut visit: impl FnMut(Slide<Board>, ActionValue),
    ) {
        for slide in pending.decision().slides().legal() {
            let value = self.expectation(game, slide.after());
            let total = slide.reward() as Value + value;
            visit(slide, ActionValue { value, total });
        }
    }

    fn fits(&self, game: &Fast2048) -> bool {
        self.0.fits(game)
    }

    fn discount(&self) -> Value {
        1.0
    }
}

impl<const TOGETHER: usize> Trainable<Fast2048> for EveryNewTile<TOGETHER> {
    type Input = State;
    type Located = Indices;

    #[inline(always)]
    fn trajectory_step(&self, step: &Step<Fast2048>) -> TrajectoryStep<State> {
        TrajectoryStep {
            position: step.state,
            reward_in: step.spawn_reward as Value,
            reward_out: step.reward as Value,
        }
    }

    fn spawn_reward(&self, reward: u32) -> Value {
        reward as Value
    }

    fn known_value(_: ActionValue) -> Option<Value> {
        None
    }

    #[inline(always)]
    fn locate_positions(&self, four: [State; 4], at: &mut Indices) {
        let four = four.map(|game::State(board)| game::After(board));
        Trainable::<Fast2048>::locate_positions(&self.0, four, at);
    }

    #[inline(always)]
    fn prefetch_update<R: UpdateRule>(&self, at: &Indices, lane: usize) {
        Trainable::<Fast2048>::prefetch_update::<R>(&self.0, at, lane);
    }

    #[inline(always)]
    fn value_at(&self, at: &Indices, lane: usize) -> Value {
        Trainable::<Fast2048>::value_at(&self.0, at, lane)
    }

    #[inline(always)]
    fn update<R: UpdateRule>(
        &self,
        game::State(board): State,
        at: &mut Indices,
        lane: usize,
        target: Value,
        learning_rate: Value,
    ) -> Updated {
        let after = game::After(board);
        Trainable::<Fast2048>::update::<R>(&self.0, after, at, lane, target, learning_rate)
    }
}

/// Choices by expected changes and by the definition are equal, or have the same value up to
/// rounding.
pub fn check_choices(
    (fast, choices): (&StateNetwork, &[ChosenDirection]),
    (slow, slow_choices): (&EveryNewTile<1>, &[ChosenDirection]),
    states: &[State],
) {
    let game = Fast2048::new();
    let mut at = Indices::default();
    assert_eq!(
        (choices.len(), slow_choices.len()),
        (states.len(), states.len())
    );
    let mut same = 0;
    for (n, &state) in states.iter().enumerate() {
        let [choice, slow_choice] =
            [choices[n], slow_choices[n]].map(|one| one.expect("a legal move"));
        let decision = Decision::new(&game, state).expect("a legal move");
        let total = fast.action_values(&game, &decision, &mut at).get(choice);
        let slow_total = slow
            .action_values(&game, &decision, &mut at)
            .get(slow_choice);
        let [total, slow_total] = [total, slow_total].map(|one| one.expect("a legal move").total);
        assert!(
            (total - slow_total).abs() <= 1e-3 + 1e-4 * slow_total.abs(),
            "{total} and {slow_total}"
        );
        same += usize::from(choice == slow_choice);
    }
    assert!(
        100 * same >= 98 * states.len(),
        "{same} of {}",
        states.len()
    );
}
