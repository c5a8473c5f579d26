//! What both benchmarks measure, and the checks of it: every fast result against its slow twin.
//!
//! Networks are trained a little first, because a network of zeros ties all moves, plays short games
//! and touches few weights. Learning is measured with a rate of 0: that is all the work of an update,
//! and leaves the weights as they are, so every repetition is the same one (but for TC's sums, which grow). The rate is hidden from the
//! compiler, which could make something of it.

use std::cell::RefCell;
use std::hint::black_box;

use afterstate::Value;
use afterstate::game::{
    Fast2048, Direction, Game, Grid, ChanceState, Position, Shape, Slides, POWERS_OF_TWO_SPAWNS, PowersOfTwo,
};
use afterstate::learn::{Backward, TdParams};
use afterstate::ntuple::{
    Cells, Coherent, Expecting, Indices, Network, Plain, Tables, TupleSet, Updated, Weight,
    value as sum,
};
use afterstate::play::{
    Afterstates, Greedy, Learner, Policy, States, Step, Ties, Viewpoint, Visit, NoLearner, play,
};
use afterstate::random::game_rng;
use afterstate::tally::Outcome;

/// Games of training.
const TRAINING: u64 = 300;
/// The seed of the training, and another for what is measured.
const TRAINING_SEED: u64 = 1;
const SEED: u64 = 2;
/// Positions in a list: their weights lie in some 14,000 cache lines.
pub const POSITIONS: usize = 1000;
/// Every so many moves of a game a position is taken.
const APART: usize = 7;

/// The tuples of the recipe `state-6`.
const STATE_6: &str = "012456 456789 012345 234569 0145 1256";

pub type State = <Fast2048 as Game>::State;
pub type After = <Fast2048 as Game>::After;

/// Four 6-tuples, V(afterstate), TD.
pub fn td() -> Tables<Plain> {
    let network = Tables::new(&tuples("4x6"), 0.0).expect("memory");
    train::<Afterstates<Plain>>(&network, 0.1);
    network
}

/// Four 6-tuples, V(afterstate), TC.
pub fn tc() -> Tables<Coherent> {
    let network = Tables::new(&tuples("4x6"), 0.0).expect("memory");
    train::<Afterstates<Coherent>>(&network, 1.0);
    network
}

/// The tuples of `state-6`, V(state), TD.
pub fn of_states() -> Expecting<Plain> {
    let network = Expecting::new(&tuples(STATE_6), 0.0, &POWERS_OF_TWO_SPAWNS).expect("memory");
    train::<States<Plain>>(&network, 0.1);
    network
}

fn tuples(set: &str) -> TupleSet {
    TupleSet::parse(set, Shape::FOUR, true).expect("a valid set")
}

fn train<V: Viewpoint<Fast2048>>(network: &V::Network, rate: Value) {
    let game = Fast2048::new();
    let mut policy = Greedy::<Fast2048, V>::new(network, Ties::Order);
    let mut learner = learner::<V>(network, rate);
    for number in 0..TRAINING {
        let mut rng = game_rng(TRAINING_SEED, number);
        play(&game, &mut policy, &mut learner, &mut rng);
    }
}

fn learner<V: Viewpoint<Fast2048>>(network: &V::Network, rate: Value) -> Backward<'_, Fast2048, V> {
    let credit = TdParams {
        rate,
        ..TdParams::default()
    };
    Backward::new(network, credit)
}

/// Steps from games of a network, some moves apart.
pub fn steps<V: Viewpoint<Fast2048>>(network: &V::Network) -> Vec<Step<Fast2048>> {
    let game = Fast2048::new();
    let mut policy = Greedy::<Fast2048, V>::new(network, Ties::Order);
    let mut notes = ReplaySnapshot::default();
    let mut number = 0;
    while notes.0.len() < POSITIONS * APART {
        play(&game, &mut policy, &mut notes, &mut game_rng(SEED, number));
        number += 1;
    }
    notes.0.into_iter().step_by(APART).take(POSITIONS).collect()
}

/// Learns nothing, and keeps everything.
#[derive(Default)]
struct ReplaySnapshot(Vec<Step<Fast2048>>);

impl Learner<Fast2048> for ReplaySnapshot {
    fn step(&mut self, step: &Step<Fast2048>) {
        self.0.push(*step);
    }

    fn finish(&mut self, _: State, _brought: u32) {}
}

pub fn states(steps: &[Step<Fast2048>]) -> Vec<State> {
    steps.iter().map(|step| step.state).collect()
}

pub fn afters(steps: &[Step<Fast2048>]) -> Vec<After> {
    steps.iter().map(|step| step.after).collect()
}

/// What all legal slides of all states earn.
#[inline(always)]
pub fn slide(game: &Fast2048, states: &[State]) -> u64 {
    states
        .iter()
        .map(|&state| rewards(&game.slides(state)))
        .sum()
}

#[inline(always)]
fn rewards<A: Copy>(slides: &Slides<A>) -> u64 {
    slides.legal().map(|(_, _, reward)| u64::from(reward)).sum()
}

/// The same in the slow game.
pub fn slow_slide(states: &[State]) -> u64 {
    let of = |&state: &State| rewards(&Grid::new(Shape::FOUR, &PowersOfTwo).slides(slow(state)));
    states.iter().map(of).sum()
}

/// A state of the fast game in the slow one.
fn slow(state: State) -> <Grid as Game>::State {
    let tiles: [u8; 16] = std::array::from_fn(|i| state.cell(i));
    Grid::new(Shape::FOUR, &PowersOfTwo)
        .state(&tiles, ChanceState::NONE)
        .expect("a board")
}

/// The sum of the values of all positions.
#[inline(always)]
pub fn value<N: Network, P: Position>(network: &N, positions: &[P], at: &mut Indices) -> f64 {
    let of = |&position: &P| {
        network.find([position; 4], at);
        f64::from(sum(network.cells(at), 0))
    };
    positions.iter().map(of).sum()
}

/// The same of the positions in the slow game.
pub fn slow_value<N: Network>(network: &N, steps: &[Step<Fast2048>]) -> f64 {
    let of = |step: &Step<Fast2048>| {
        let slides = Grid::new(Shape::FOUR, &PowersOfTwo).slides(slow(step.state));
        let (after, _) = slides.get(step.direction).expect("a legal slide");
        f64::from(network.value(after))
    };
    steps.iter().map(of).sum()
}

/// One update of each position towards 1,000 at a rate of 0; the sum of what each came to.
#[inline(always)]
pub fn update<W: Weight>(network: &Tables<W>, afters: &[After], at: &mut Indices) -> f64 {
    let of = |&after: &After| {
        network.find([after; 4], at);
        let Updated { value, delta } = network.update(after, at, 0, TARGET, black_box(0.0));
        f64::from(value + delta)
    };
    afters.iter().map(of).sum()
}

const TARGET: Value = 1000.0;

/// What that must be: the value stays, and it and what it lacks are the target, but for rounding. And
/// updates that do change weights are those of the slow board, bit by bit.
pub fn check_update<W: Weight>(sum: f64, afters: &[After], network: &Tables<W>) {
    let expected = f64::from(TARGET) * afters.len() as f64;
    assert!((sum / expected - 1.0).abs() < 1e-5, "{sum} and {expected}");

    let new = || Tables::<W>::new(network.tuples(), 0.0).expect("memory");
    let (fast, slow, mut at) = (new(), new(), Indices::default());
    let grid = Grid::new(Shape::FOUR, &PowersOfTwo);
    for (n, after) in afters.iter().enumerate() {
        let target = TARGET + n as Value;
        fast.find([*after; 4], &mut at);
        let quick = fast.update(*after, &mut at, 1, target, 0.5);
        let tiles: [u8; 16] = std::array::from_fn(|i| after.cell(i));
        let after = grid.state(&tiles, ChanceState::NONE).expect("a board");
        slow.find([after; 4], &mut at);
        assert_eq!(quick, slow.update(after, &mut at, 2, target, 0.5));
    }
}

/// Games of an episode benchmark: one alone may be short.
const GAMES: u64 = 5;

/// A few games without learning: their moves, points and largest tile.
#[inline(always)]
pub fn playing<G: Game, V: Viewpoint<G>>(game: &G, network: &V::Network) -> Outcome {
    let mut policy = Greedy::<G, V>::new(network, Ties::Order);
    few_games(game, &mut policy, &mut NoLearner)
}

/// The same games, with an update for each of their moves at a rate of 0.
#[inline(always)]
pub fn learning<V: Viewpoint<Fast2048>>(game: &Fast2048, network: &V::Network) -> Outcome {
    let mut policy = Greedy::<Fast2048, V>::new(network, Ties::Order);
    let mut learner = learner::<V>(network, black_box(0.0));
    few_games(game, &mut policy, &mut learner)
}

#[inline(always)]
fn few_games<G: Game>(
    game: &G,
    policy: &mut impl Policy<G>,
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

/// The games as the slow game plays them.
pub fn slow_playing(network: &Tables<Plain>) -> Outcome {
    playing::<_, Afterstates<Plain>>(&Grid::new(Shape::FOUR, &PowersOfTwo), network)
}

/// The moves that a viewpoint chooses.
#[inline(always)]
pub fn choose<V: Viewpoint<Fast2048>>(
    game: &Fast2048,
    network: &V::Network,
    states: &[State],
) -> Vec<Choice> {
    let mut policy = Greedy::<Fast2048, V>::new(network, Ties::Order);
    let mut rng = game_rng(SEED, 0);
    let of = |&state: &State| {
        let step = policy.choose(game, state, &mut rng)?;
        Some((step.direction, step.reward as Value + step.value))
    };
    states.iter().map(of).collect()
}

/// A move, and what it is worth; none where the game is over.
pub type Choice = Option<(Direction, Value)>;

/// V(state) by its definition: a move is worth r and the mean of V over every new tile, with the states
/// looked up `TOGETHER` at a time: one, as one would write it down, or four, which is what a lookup can do.
pub struct EveryNewTile<const TOGETHER: usize>;

impl<const TOGETHER: usize> Viewpoint<Fast2048> for EveryNewTile<TOGETHER> {
    type Position = State;
    type Network = Tables<Plain>;

    #[inline(always)]
    fn worth(
        network: &Tables<Plain>,
        game: &Fast2048,
        after: After,
        _: Cells<'_, Tables<Plain>>,
        _: usize,
    ) -> Value {
        thread_local! {
            static ROOM: RefCell<(Vec<(State, f64)>, Indices)> = RefCell::default();
        }
        ROOM.with_borrow_mut(|(states, at)| {
            states.clear();
            game.for_each_spawn(after, |state, _, chance| states.push((state, chance)));
            let mut mean = 0.0;
            for some in states.chunks(TOGETHER) {
                let last = some.len() - 1;
                network.find(std::array::from_fn(|lane| some[lane.min(last)].0), at);
                for (lane, &(_, chance)) in some.iter().enumerate() {
                    mean += chance as Value * sum(network.cells(at), lane);
                }
            }
            mean
        })
    }

    #[inline(always)]
    fn visited(step: &Step<Fast2048>) -> Visit<State> {
        <States<Plain> as Viewpoint<Fast2048>>::visited(step)
    }

    fn value(network: &Tables<Plain>, step: &Step<Fast2048>, _: &mut Indices) -> Value {
        network.value(step.state)
    }
}

/// A network by that definition with the weights of another.
pub fn every_new_tile(of: &Expecting<Plain>) -> Tables<Plain> {
    let of = of.tables();
    let network = Tables::new(of.tuples(), 0.0).expect("memory");
    for (n, pattern) in of.tuples().patterns().iter().enumerate() {
        let mut weights = vec![0.0; pattern.weights()];
        of.export(n, 0, 0, &mut weights);
        network.import(n, 0, 0, &weights);
    }
    network
}

/// F32x2 must choose the same, or what is worth the same but for rounding.
pub fn check_choices(fast: &[Choice], slow: &[Choice]) {
    assert_eq!(fast.len(), slow.len());
    let pairs = || fast.iter().flatten().zip(slow.iter().flatten());
    assert_eq!(pairs().count(), fast.len(), "all have a legal move");
    for ((_, fast), (_, slow)) in pairs() {
        assert!(
            (fast - slow).abs() <= 1e-3 + 1e-4 * slow.abs(),
            "{fast} and {slow}"
        );
    }
    let same = pairs().filter(|(fast, slow)| fast.0 == slow.0).count();
    assert!(100 * same >= 98 * fast.len(), "{same} of {}", fast.len());
}
