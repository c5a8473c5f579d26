//! What both benchmarks measure, and the checks of it: every fast result against its slow twin.
//!
//! Networks are trained a little first, because a network of zeros ties all moves, plays short games
//! and touches few weights. Learning is measured with a rate of 0: that is all the work of an update,
//! and leaves the weights as they are, so every repetition is the same one. The rate is hidden from the
//! compiler, which could make something of it.

use std::hint::black_box;

use afterstate::Value;
use afterstate::game::{CLASSIC_SPAWNS, Classic, Direction, Game, Grid, Position, Shape, Slides};
use afterstate::learn::{Backward, Credit};
use afterstate::ntuple::{
    Coherent, Expecting, Indices, Network, Plain, Tables, TupleSet, Updated, Weight,
};
use afterstate::play::{
    Afterstates, Greedy, Learner, Policy, States, Step, Ties, Viewpoint, Watch, play,
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

pub type State = <Classic as Game>::State;
pub type After = <Classic as Game>::After;

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
    let network = Expecting::new(&tuples(STATE_6), 0.0, &CLASSIC_SPAWNS).expect("memory");
    train::<States<Plain>>(&network, 0.1);
    network
}

fn tuples(set: &str) -> TupleSet {
    TupleSet::parse(set, Shape::FOUR, true).expect("a valid set")
}

fn train<V: Viewpoint<Classic>>(network: &V::Network, rate: Value) {
    let game = Classic::new();
    let mut policy = Greedy::<Classic, V>::new(network, Ties::Order);
    let mut learner = learner::<V>(network, rate);
    for number in 0..TRAINING {
        let mut rng = game_rng(TRAINING_SEED, number);
        play(&game, &mut policy, &mut learner, &mut rng);
    }
}

fn learner<V: Viewpoint<Classic>>(network: &V::Network, rate: Value) -> Backward<'_, Classic, V> {
    let credit = Credit {
        rate,
        ..Credit::default()
    };
    Backward::new(network, credit)
}

/// Steps from games of a network, some moves apart.
pub fn steps<V: Viewpoint<Classic>>(network: &V::Network) -> Vec<Step<Classic>> {
    let game = Classic::new();
    let mut policy = Greedy::<Classic, V>::new(network, Ties::Order);
    let mut notes = Notes::default();
    let mut number = 0;
    while notes.0.len() < POSITIONS * APART {
        play(&game, &mut policy, &mut notes, &mut game_rng(SEED, number));
        number += 1;
    }
    notes.0.into_iter().step_by(APART).take(POSITIONS).collect()
}

/// Learns nothing, and keeps everything.
#[derive(Default)]
struct Notes(Vec<Step<Classic>>);

impl Learner<Classic> for Notes {
    fn step(&mut self, step: &Step<Classic>) {
        self.0.push(*step);
    }

    fn finish(&mut self) {}
}

pub fn states(steps: &[Step<Classic>]) -> Vec<State> {
    steps.iter().map(|step| step.state).collect()
}

pub fn afters(steps: &[Step<Classic>]) -> Vec<After> {
    steps.iter().map(|step| step.after).collect()
}

/// What all legal slides of all states earn.
#[inline(always)]
pub fn slide(game: &Classic, states: &[State]) -> u64 {
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
    let of = |&state: &State| rewards(&Grid::new(Shape::FOUR).slides(slow(state)));
    states.iter().map(of).sum()
}

/// A state of the fast game in the slow one.
fn slow(state: State) -> <Grid as Game>::State {
    let tiles: [u8; 16] = std::array::from_fn(|i| state.cell(i));
    Grid::new(Shape::FOUR).state(&tiles).expect("a board")
}

/// The sum of the values of all positions.
#[inline(always)]
pub fn value<N: Network, P: Position>(network: &N, positions: &[P], at: &mut Indices) -> f64 {
    let of = |&position: &P| {
        network.find([position; 4], at);
        f64::from(ntuple::value(network.cells(at), 0))
    };
    positions.iter().map(of).sum()
}

/// The same of the positions in the slow game.
pub fn slow_value<N: Network>(network: &N, steps: &[Step<Classic>]) -> f64 {
    let of = |step: &Step<Classic>| {
        let slides = Grid::new(Shape::FOUR).slides(slow(step.state));
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

/// What that must be: the value stays, and it and what it lacks are the target, but for rounding.
pub fn check_update(sum: f64, afters: &[After]) {
    let expected = f64::from(TARGET) * afters.len() as f64;
    assert!((sum / expected - 1.0).abs() < 1e-5, "{sum} and {expected}");
}

/// One game without learning.
#[inline(always)]
pub fn playing<G: Game>(game: &G, network: &Tables<Plain>) -> Outcome {
    let mut policy = Greedy::<G, Afterstates<Plain>>::new(network, Ties::Order);
    play(game, &mut policy, &mut Watch, &mut game_rng(SEED, 0))
}

/// The same game, with an update for each of its moves at a rate of 0.
#[inline(always)]
pub fn learning(game: &Classic, network: &Tables<Plain>) -> Outcome {
    let mut policy = Greedy::<Classic, Afterstates<Plain>>::new(network, Ties::Order);
    let mut learner = learner::<Afterstates<Plain>>(network, black_box(0.0));
    play(game, &mut policy, &mut learner, &mut game_rng(SEED, 0))
}

/// The game as the slow game plays it.
pub fn slow_playing(network: &Tables<Plain>) -> Outcome {
    playing(&Grid::new(Shape::FOUR), network)
}

/// The moves that V(state) chooses by the expectations kept beside the weights.
#[inline(always)]
pub fn choose(game: &Classic, network: &Expecting<Plain>, states: &[State]) -> Vec<Choice> {
    let mut policy = Greedy::<Classic, States<Plain>>::new(network, Ties::Order);
    let mut rng = game_rng(SEED, 0);
    let of = |&state: &State| {
        let step = policy.choose(game, state, &mut rng)?;
        Some((step.direction, step.reward as Value + step.value))
    };
    states.iter().map(of).collect()
}

/// A move, and what it is worth; none where the game is over.
pub type Choice = Option<(Direction, Value)>;

/// The same by the definition: the mean of V over every new tile.
#[inline(always)]
pub fn slow_choose(game: &Classic, network: &Expecting<Plain>, states: &[State]) -> Vec<Choice> {
    let mut at = Indices::default();
    let mut best = |&state: &State| {
        let mut best: Choice = None;
        for (direction, after, reward) in game.slides(state).legal() {
            let mut total = reward as Value;
            game.for_each_spawn(after, |state, chance| {
                network.find([state; 4], &mut at);
                total += chance as Value * ntuple::value(network.cells(&at), 0);
            });
            if best.is_none_or(|(_, most)| total > most) {
                best = Some((direction, total));
            }
        }
        best
    };
    states.iter().map(&mut best).collect()
}

/// Both must choose the same, or what is worth the same but for rounding.
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
