//! The fast paths against their slow twins, over whole games: the 4x4 board in a u64 against the grid
//! that slides a cell at a time, down to the last bit of every weight.

use afterstate::game::{
    Fast2048, Fibonacci, FastFibonacci, FastThrees, Game, Grid, ChanceState, Position, Rules, Shape,
    Slides, POWERS_OF_TWO_SPAWNS, Threes, PowersOfTwo,
};
use afterstate::learn::{Backward, TdParams, Forward};
use afterstate::machine::Cpu;
use afterstate::ntuple::{Coherent, Expecting, Network, Plain, Tables, TupleSet, Weight};
use afterstate::play::{
    Afterstates, Greedy, Learner, Policy, Random, States, Ties, Viewpoint, NoLearner, play,
};
use afterstate::random::game_rng;
use afterstate::tally::Outcome;
use proptest::prelude::*;

const SPAWNS: &[(u8, f64)] = &POWERS_OF_TWO_SPAWNS;

fn grid() -> Grid {
    Grid::new(Shape::FOUR, &PowersOfTwo)
}

fn tuples() -> TupleSet {
    TupleSet::parse("0145 1256 1257 4569 01", Shape::FOUR, true).unwrap()
}

fn bits<W: Weight>(tables: &Tables<W>) -> Vec<u32> {
    let mut bits = Vec::new();
    for (table, (_, weights)) in tables.tuples().tables().enumerate() {
        for part in 0..W::PARTS {
            let mut numbers = vec![0.0; weights];
            tables.export(table, part, 0, &mut numbers);
            bits.extend(numbers.into_iter().map(f32::to_bits));
        }
    }
    bits
}

fn games<G: Game, V: Viewpoint<G>>(
    game: &G,
    network: &V::Network,
    learner: &mut impl Learner<G>,
    ties: Ties,
) -> Vec<Outcome> {
    let mut policy = Greedy::<G, V>::new(network, ties);
    (0..60)
        .map(|n| play(game, &mut policy, learner, &mut game_rng(5, n)))
        .collect()
}

/// Trains on the fast board with every set of instructions there is, and on the slow board: the same
/// games and the same weights.
macro_rules! same_training {
    ($viewpoint:ty, $learner:ident, $credit:expr, $ties:expr, $network:expr) => {{
        let slow = $network(Cpu::PLAIN);
        let mut learner = $learner::<Grid, $viewpoint>::new(&slow, $credit);
        let slowly = games::<Grid, $viewpoint>(&grid(), &slow, &mut learner, $ties);
        for cpu in Cpu::all() {
            let fast = $network(cpu);
            let mut learner = $learner::<Fast2048, $viewpoint>::new(&fast, $credit);
            let played = games::<Fast2048, $viewpoint>(&Fast2048::new(), &fast, &mut learner, $ties);
            assert_eq!(played, slowly, "{cpu}");
            assert_eq!(bits(fast.tables()), bits(slow.tables()), "{cpu}");
        }
        assert!(
            bits(slow.tables()).iter().any(|&bits| bits != 0),
            "something was learned"
        );
    }};
}

#[test]
fn the_same_training_on_afterstates() {
    let credit = TdParams {
        lambda: 0.5,
        rate: 1.0,
        ..TdParams::default()
    };
    let zeros = |cpu| Tables::on(cpu, &tuples(), 0.0).unwrap();
    same_training!(Afterstates<Coherent>, Backward, credit, Ties::Order, zeros);
    let hopeful = |cpu| Tables::on(cpu, &tuples(), 100.0).unwrap();
    same_training!(Afterstates<Plain>, Forward, 0.1, Ties::Random, hopeful);
}

#[test]
fn the_same_training_on_states() {
    let credit = TdParams {
        reward_twice: true,
        ..TdParams::default()
    };
    let zeros = |cpu| Expecting::on(cpu, &tuples(), 0.0, SPAWNS).unwrap();
    same_training!(States<Plain>, Backward, credit, Ties::Random, zeros);
    let zeros = |cpu| Expecting::on(cpu, &tuples(), 0.0, SPAWNS).unwrap();
    same_training!(States<Plain>, Forward, 0.1, Ties::Order, zeros);
}

/// Ask a player for all it may choose, and it will choose one of these, the only one where order decides, and in
/// the end each of them.
#[test]
fn a_choice_is_one_of_the_choices() {
    let game = Grid::new(Shape::new(3, 3).unwrap(), &PowersOfTwo);
    let tuples = TupleSet::parse("012 345", game.shape(), true).unwrap();
    let network: Tables<Plain> = Tables::new(&tuples, 0.0).unwrap();
    network.import(0, 0, 0x111, &[7.0, 3.0, 7.0]);
    for ties in [Ties::Order, Ties::Random] {
        let mut policy = Greedy::<Grid, Afterstates<Plain>>::new(&network, ties);
        let (mut several, mut rng) = (0, game_rng(1, 1));
        for n in 0..200 {
            let mut state = game.start(&mut game_rng(3, n));
            loop {
                let choices: Vec<_> = policy.choices(&game, state).collect();
                several += usize::from(choices.len() > 1);
                let mut left = choices.clone();
                let mut last = None;
                for _ in 0..100 * choices.len() {
                    last = policy.choose(&game, state, &mut rng);
                    let chosen = last.as_ref().expect("a choice").direction;
                    assert!(choices.contains(&chosen));
                    left.retain(|&direction| direction != chosen);
                }
                assert_eq!(left, [], "all are chosen");
                let Some(step) = last else {
                    assert!(policy.choose(&game, state, &mut rng).is_none());
                    break;
                };
                state = game.spawn(step.after, &mut rng);
            }
        }
        assert_eq!(several > 0, ties == Ties::Random);
    }
}

#[test]
fn the_same_random_games() {
    let outcomes = |n| {
        let fast = play(
            &Fast2048::new(),
            &mut Random,
            &mut NoLearner,
            &mut game_rng(9, n),
        );
        let slow = play(&grid(), &mut Random, &mut NoLearner, &mut game_rng(9, n));
        assert_eq!(fast, slow);
        fast
    };
    let mean = (0..2000).map(|n| outcomes(n).score).sum::<u64>() / 2000;
    // Random play scores about 1,090 in the usual scoring (two times R4's 570, less its spread).
    assert!((1000..1200).contains(&mean), "{mean}");
}

/// Every move of some games at random, with all that may come of it, on the fast board and on the slow one.
fn the_same_positions<G: Game>(fast: G, rules: &'static dyn Rules) {
    let slow = Grid::new(Shape::FOUR, rules);
    for n in 0..40 {
        let rngs = || (game_rng(9, n), game_rng(9, n));
        let (mut a, mut b) = rngs();
        let (mut left, mut right) = (fast.start(&mut a), slow.start(&mut b));
        loop {
            let (one, other) = (fast.slides(left), slow.slides(right));
            assert_eq!(shown(&one), shown(&other));
            let (count, chance_state) = (one.legal().count(), fast.chance_state(left));
            assert_eq!(chance_state, slow.chance_state(right));
            if count == 0 {
                break;
            }
            for ((_, one, _), (_, other, _)) in one.legal().zip(other.legal()) {
                assert_eq!(fast.entries(one), slow.entries(other));
                assert_eq!(one.hint(), other.hint());
                let (mut first, mut second) = (Vec::new(), Vec::new());
                fast.for_each_new_tile(one, |spawn, p| first.push((spawn, p)));
                slow.for_each_new_tile(other, |spawn, p| second.push((spawn, p)));
                assert_eq!(first, second);
            }
            let pick = a.below(count as u32) as usize;
            b.below(count as u32);
            left = fast.spawn(one.legal().nth(pick).unwrap().1, &mut a);
            right = slow.spawn(other.legal().nth(pick).unwrap().1, &mut b);
        }
        let (mut a, mut b) = rngs();
        let outcome = play(&fast, &mut Random, &mut NoLearner, &mut a);
        assert_eq!(outcome, play(&slow, &mut Random, &mut NoLearner, &mut b));
    }
}

#[test]
fn the_same_games_of_threes_and_2584() {
    the_same_positions(FastThrees::new(Threes::Course), &Threes::Course);
    the_same_positions(FastThrees::new(Threes::Hint), &Threes::Hint);
    the_same_positions(FastThrees::new(Threes::Original), &Threes::Original);
    the_same_positions(FastFibonacci::new(Fibonacci::OneTwo), &Fibonacci::OneTwo);
    the_same_positions(
        FastFibonacci::new(Fibonacci::OneThree),
        &Fibonacci::OneThree,
    );
}

/// A training with tables by hint, on the packed board and on the grid.
#[test]
fn the_same_training_by_hint() {
    let tuples = tuples().with_hints(true);
    let network = |cpu| Tables::<Coherent>::on(cpu, &tuples, 0.0).unwrap();
    let slow = network(Cpu::PLAIN);
    let credit = TdParams {
        rate: 1.0,
        ..TdParams::default()
    };
    type View = Afterstates<Coherent>;
    let mut learner = Backward::<Grid, View>::new(&slow, credit);
    let grid = Grid::new(Shape::FOUR, &Threes::Hint);
    let slowly = games::<Grid, View>(&grid, &slow, &mut learner, Ties::Order);
    for cpu in Cpu::all() {
        let fast = network(cpu);
        let mut learner = Backward::<FastThrees, View>::new(&fast, credit);
        let game = FastThrees::new(Threes::Hint);
        let played = games::<FastThrees, View>(&game, &fast, &mut learner, Ties::Order);
        assert_eq!(played, slowly, "{cpu}");
        assert_eq!(bits(&fast), bits(&slow), "{cpu}");
    }
    // Every hint has learned something of its own.
    let tables = bits(&slow);
    for sheet in tables.chunks(tables.len() / 4) {
        assert!(sheet.iter().any(|&bits| bits != 0));
    }
}

/// 2584 with tables of five bits a cell, by the fast board and by the slow one.
#[test]
fn the_same_training_with_five_bits() {
    let tuples = TupleSet::parse("012 1256 45", Shape::FOUR, true).unwrap();
    let tuples = tuples.with_tile_bits(5);
    let slow = Tables::<Plain>::new(&tuples, 0.0).unwrap();
    let fast = Tables::<Plain>::new(&tuples, 0.0).unwrap();
    type View = Afterstates<Plain>;
    let grid = Grid::new(Shape::FOUR, &Fibonacci::OneTwo);
    let mut learner = Forward::<Grid, View>::new(&slow, 0.1);
    let slowly = games::<Grid, View>(&grid, &slow, &mut learner, Ties::Order);
    let four = FastFibonacci::new(Fibonacci::OneTwo);
    let mut learner = Forward::<FastFibonacci, View>::new(&fast, 0.1);
    let played = games::<FastFibonacci, View>(&four, &fast, &mut learner, Ties::Order);
    assert_eq!(played, slowly);
    assert_eq!(bits(&fast), bits(&slow));
    // Tiles beyond 15 have weights of their own.
    let board = |tile| {
        let mut tiles = [0; 16];
        tiles[0] = tile;
        four.state(&tiles, ChanceState::NONE).unwrap()
    };
    fast.import(0, 0, 17, &[1000.0]);
    assert_ne!(fast.value(board(17)), fast.value(board(16)));
}

fn shown<A: Position>(slides: &Slides<A>) -> Vec<(String, Vec<u8>, u32)> {
    let tiles = |after: A| (0..16).map(|i| after.cell(i)).collect();
    slides
        .legal()
        .map(|(d, after, reward)| (d.name().into(), tiles(after), reward))
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    /// Any board, with tiles beyond 32768 among the rest as long as a game could hold them.
    #[test]
    fn slides_agree_on_any_board(mut tiles in proptest::collection::vec(0u8..=17, 16), keep in 0usize..=16) {
        // Large tiles at random are rarely possible: most are made small.
        for tile in tiles.iter_mut().skip(keep.min(3)) {
            *tile = tile.saturating_sub(3).min(14);
        }
        let slow = grid().state(&tiles, ChanceState::NONE);
        let fast = Fast2048::new().state(&tiles, ChanceState::NONE);
        prop_assert_eq!(fast.is_some(), slow.is_some());
        if let (Some(fast), Some(slow)) = (fast, slow) {
            prop_assert_eq!(shown(&Fast2048::new().slides(fast)), shown(&grid().slides(slow)));
        }
    }
}

#[test]
fn two_32768_tiles_make_65536_and_two_of_those_131072() {
    let game = Fast2048::new();
    let merged = |tiles: [u8; 16]| {
        let slides = game.slides(game.state(&tiles, ChanceState::NONE).unwrap());
        let (_, after, reward) = slides.legal().last().unwrap();
        (after.cell(0), reward)
    };
    let mut tiles = [0; 16];
    (tiles[0], tiles[3]) = (15, 15);
    assert_eq!(merged(tiles), (16, 65_536));
    (tiles[0], tiles[3]) = (16, 16);
    assert_eq!(merged(tiles), (17, 131_072));
    // F32x2 at once, and the networks see each as the largest tile they know.
    (tiles[0], tiles[1], tiles[2], tiles[3]) = (16, 16, 15, 15);
    let slides = game.slides(game.state(&tiles, ChanceState::NONE).unwrap());
    let (_, after, reward) = slides.legal().last().unwrap();
    assert_eq!(
        ((after.cell(0), after.cell(1)), reward),
        ((17, 16), 196_608)
    );
    let network = Tables::<Plain>::new(&tuples(), 5.0).unwrap();
    assert_eq!(network.value(after), 5.0);
}
