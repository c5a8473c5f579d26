//! Learners against hand-computed updates, against the exact optimum of a small board, and against
//! frozen results.

use afterstate::Value;
use afterstate::episode::{Learner, LearningPolicy, NoLearner, Step, play, play_as};
use afterstate::game::{
    After, Board, Direction, Fast2048, FastFibonacci, FastThrees, Fibonacci, Game, Grid,
    POWERS_OF_TWO_SPAWNS, PowersOfTwo, Rules, Shape, State, Threes,
};
use afterstate::learn::{
    Backward, Forward, OnPolicyForward, PublishedBackward, PublishedParams, SlideRewards,
    Subtracted, TdParams, TerminalTarget,
};
use afterstate::ntuple::Trainable;
use afterstate::ntuple::{
    AfterstateNetwork, NetworkOptions, StateNetwork, Tc, Td, TupleSet, WeightCell, WeightPart,
    WeightTables,
};
use afterstate::policy::{Greedy, Policy, Ties};
use afterstate::random::game_rng;
use afterstate::value::Decision;

/// One tuple of one cell and no symmetry: V is the weight of cell 0's tile. V(1) = 10, V(2) = 20.
fn one_cell() -> TupleSet {
    TupleSet::parse("0", Shape::FOUR, false).unwrap()
}

const OPTIONS: fn() -> NetworkOptions = || NetworkOptions {
    coherence: true,
    ..NetworkOptions::default()
};

fn afterstate_network(discount: Value) -> AfterstateNetwork {
    let options = NetworkOptions {
        discount,
        ..OPTIONS()
    };
    let network = AfterstateNetwork::new(&one_cell(), &options).unwrap();
    let tables = network.tables();
    tables.import(0, WeightPart::Weight, 1, &[10.0, 20.0]);
    network
}

fn state_network(discount: Value) -> StateNetwork {
    let options = NetworkOptions {
        discount,
        ..OPTIONS()
    };
    let network = StateNetwork::new(&one_cell(), &options, &POWERS_OF_TWO_SPAWNS).unwrap();
    let tables = network.tables();
    tables.import(0, WeightPart::Weight, 1, &[10.0, 20.0]);
    network
}

/// Two moves: the first earns 4 and has tile 1 in cell 0, the second earns 8 and has tile 2 there,
/// both before and after the slide.
fn two_moves(learner: &mut impl Learner<Fast2048>) {
    for (tile, reward) in [(1, 4), (2, 8)] {
        let board = Board::from_packed(tile);
        let step = Step {
            state: State(board),
            direction: Direction::Left,
            after: After(board),
            reward,
            spawn_reward: 0,
        };
        learner.step(&step);
    }
    learner.finish(State(Board::EMPTY), 0);
}

/// The weights of the tiles 1 and 2.
fn values<C: WeightCell>(tables: &WeightTables<C>) -> (Value, Value) {
    let mut weights = [0.0; 2];
    tables.export(0, WeightPart::Weight, 1, &mut weights);
    (weights[0], weights[1])
}

fn afterstates(discount: Value, params: TdParams) -> (Value, Value) {
    let network = afterstate_network(discount);
    two_moves(&mut Backward::<_, _, Td>::new(
        &Fast2048::new(),
        &network,
        params,
    ));
    values(network.tables())
}

fn states(discount: Value, params: TdParams) -> (Value, Value) {
    let network = state_network(discount);
    two_moves(&mut Backward::<_, _, Td>::new(
        &Fast2048::new(),
        &network,
        params,
    ));
    values(network.tables())
}

const HALF: TdParams = TdParams {
    learning_rate: 0.5,
    lambda: 0.0,
    reward_twice: false,
};

fn lambda(lambda: Value) -> TdParams {
    TdParams { lambda, ..HALF }
}

#[test]
fn td0_backward_on_afterstates() {
    // The last target is 0: 20 -> 10. Then 8 + 10 = 18: 10 -> 14.
    assert_eq!(afterstates(1.0, HALF), (14.0, 10.0));
    // With a discount of 0.5: 8 + 0.5 * 10 = 13: 10 -> 11.5.
    assert_eq!(afterstates(0.5, HALF), (11.5, 10.0));
}

#[test]
fn td_lambda_backward_on_afterstates() {
    // 20 -> 10 as before. z = 8 + 0.5 * 0 + 0.5 * 10 = 13: 10 -> 11.5.
    assert_eq!(afterstates(1.0, lambda(0.5)), (11.5, 10.0));
    // Lambda 1 is the return alone: z = 8: 10 -> 9.
    assert_eq!(afterstates(1.0, lambda(1.0)), (9.0, 10.0));
    // With a discount of 0.5: z = 8 + 0.5 * (0.5 * 0 + 0.5 * 10) = 10.5: 10 -> 10.25.
    assert_eq!(afterstates(0.5, lambda(0.5)), (10.25, 10.0));
}

#[test]
fn td0_forward_on_afterstates() {
    // At the second move: 8 + 20 = 28: 10 -> 19. At the end: 20 -> 10.
    let network = afterstate_network(1.0);
    two_moves(&mut Forward::<_, _, Td>::new(
        &Fast2048::new(),
        &network,
        0.5,
    ));
    assert_eq!(values(network.tables()), (19.0, 10.0));
    // With a discount of 0.5: 8 + 0.5 * 20 = 18: 10 -> 14.
    let network = afterstate_network(0.5);
    two_moves(&mut Forward::<_, _, Td>::new(
        &Fast2048::new(),
        &network,
        0.5,
    ));
    assert_eq!(values(network.tables()), (14.0, 10.0));
}

/// Two boards that differ in cell 0, tiles 1 and 2. On both only the last two tiles merge, for 128.
#[test]
fn an_on_policy_learner_takes_the_value_that_chose_the_move() {
    let network = afterstate_network(1.0);
    let game = Fast2048::new();
    let mut player = OnPolicyForward::<_, _, Td>::new(&game, &network, Ties::Order, 0.5);
    for board in [0x6635_4543_5354_3431, 0x6635_4543_5354_3432] {
        let decision = Decision::new(&game, State(Board::from_packed(board))).unwrap();
        assert_eq!(decision.slides().legal().count(), 2);
        let slide = player.act(&game, &decision, 0, &mut game_rng(1, 1));
        assert_eq!(slide.reward(), 128);
    }
    // At the second move: 128 + 20 = 148: 10 -> 79. At the end: 20 -> 10.
    player.finish(State(Board::EMPTY), 0);
    assert_eq!(values(network.tables()), (79.0, 10.0));
}

#[test]
fn td0_backward_on_states() {
    // The last target is its own reward 8: 20 -> 14. Then 4 + 14 = 18: 10 -> 14.
    assert_eq!(states(1.0, HALF), (14.0, 14.0));
    // With a discount of 0.5: 4 + 0.5 * 14 = 11: 10 -> 10.5.
    assert_eq!(states(0.5, HALF), (10.5, 14.0));
}

#[test]
fn td_lambda_backward_on_states() {
    // 20 -> 14. z = 0.5 * 8 + 0.5 * 14 = 11, target 4 + 11 = 15: 10 -> 12.5.
    assert_eq!(states(1.0, lambda(0.5)), (12.5, 14.0));
}

#[test]
fn reward_twice_adds_the_reward_a_second_time() {
    // 20 -> 14 as before, but z = 8 + 14 = 22. Then 4 + 22 = 26: 10 -> 18.
    let twice = TdParams {
        reward_twice: true,
        ..HALF
    };
    assert_eq!(states(1.0, twice), (18.0, 14.0));
}

#[test]
fn td0_forward_on_states() {
    // At the second move: 4 + V(2) = 24: 10 -> 17. At the end: 8: 20 -> 14.
    let network = state_network(1.0);
    two_moves(&mut Forward::<_, _, Td>::new(
        &Fast2048::new(),
        &network,
        0.5,
    ));
    assert_eq!(values(network.tables()), (17.0, 14.0));
}

/// The two boards of [`an_on_policy_learner_takes_the_value_that_chose_the_move`], played and
/// updated as published. On both the best move earns 128.
fn published(params: PublishedParams) -> (Value, Value) {
    let network = state_network(1.0);
    let game = Fast2048::new();
    let mut player = PublishedBackward::new(&game, &network, Ties::Order, params);
    player.set_learning_rate(0.5);
    for board in [0x6635_4543_5354_3431, 0x6635_4543_5354_3432] {
        let decision = Decision::new(&game, State(Board::from_packed(board))).unwrap();
        let slide = player.act(&game, &decision, 0, &mut game_rng(1, 1));
        assert_eq!(slide.reward(), 128);
    }
    player.finish(State(Board::EMPTY), 0);
    values(network.tables())
}

#[test]
fn updates_as_published() {
    // As the textbook: 128: 20 -> 74. Then 128 + 74 = 202: 10 -> 106.
    let textbook = PublishedParams::default();
    assert_eq!(published(textbook), (106.0, 74.0));
    // The last state stays, and the one before it moves towards 128 - 20: 10 -> 59.
    let end = TerminalTarget::Negated;
    assert_eq!(published(PublishedParams { end, ..textbook }), (59.0, 20.0));
    // The reward twice: 128 + 128 + 74 = 330: 10 -> 170.
    let twice = PublishedParams {
        reward_twice: true,
        ..textbook
    };
    assert_eq!(published(twice), (170.0, 74.0));
    // Against V(s) of the choice nothing differs here: no update has changed it before its own.
    let subtracted = Subtracted::StoredValue;
    let stored = PublishedParams {
        subtracted,
        ..textbook
    };
    assert_eq!(published(stored), (106.0, 74.0));
}

/// The last state is updated against r + E[V] of the move before, the first against its own value.
#[test]
fn the_stored_total_of_the_previous_move_is_that_of_its_choice() {
    let network = state_network(1.0);
    let game = Fast2048::new();
    let first = Decision::new(&game, State(Board::from_packed(0x6635_4543_5354_3431))).unwrap();
    let mut greedy = Greedy::new(&game, &network, Ties::Order);
    let slide = greedy.choose(&game, &first, &mut game_rng(1, 1));
    let mut total = slide.reward() as Value;
    game.for_each_spawn(slide.after(), |next, _, p| {
        total += p as Value * network.value(next);
    });
    let (value_1, value_2) = published(PublishedParams {
        subtracted: Subtracted::StoredPrevious,
        ..PublishedParams::default()
    });
    let expected = 20.0 + 0.5 * (128.0 - total);
    assert!((value_2 - expected).abs() < 1e-3, "{value_2} {expected}");
    let expected = 10.0 + 0.5 * (128.0 + value_2 - 10.0);
    assert!((value_1 - expected).abs() < 1e-3, "{value_1} {expected}");
}

/// The error is target minus r + E[V] of the chosen move, as it was then.
#[test]
fn the_stored_total_is_that_of_the_choice() {
    let network = state_network(1.0);
    let game = Fast2048::new();
    let params = PublishedParams {
        subtracted: Subtracted::StoredTotal,
        ..PublishedParams::default()
    };
    let mut player = PublishedBackward::new(&game, &network, Ties::Order, params);
    player.set_learning_rate(0.5);
    let board = State(Board::from_packed(0x6635_4543_5354_3431));
    let decision = Decision::new(&game, board).unwrap();
    let mut greedy = Greedy::new(&game, &network, Ties::Order);
    let slide = greedy.choose(&game, &decision, &mut game_rng(1, 1));
    let mut expected = slide.reward() as Value;
    game.for_each_spawn(slide.after(), |next, _, p| {
        expected += p as Value * network.value(next);
    });
    player.act(&game, &decision, 0, &mut game_rng(1, 1));
    player.finish(State(Board::EMPTY), 0);
    let (value, _) = values(network.tables());
    let error = 128.0 - expected;
    assert!(
        (value - (10.0 + 0.5 * error)).abs() < 1e-3,
        "{value} {expected}"
    );
}

/// Rewards of spawns reach a learner, and none of them a player that learns from slides alone.
#[test]
fn slide_rewards_hide_those_of_spawns() {
    let learned = |hide: bool| {
        let network = afterstate_network(1.0);
        let game = Fast2048::new();
        let player = OnPolicyForward::<_, _, Td>::new(&game, &network, Ties::Order, 0.5);
        let mut player: Box<dyn LearningPolicy<Fast2048>> = match hide {
            true => Box::new(SlideRewards(player)),
            false => Box::new(player),
        };
        for board in [0x6635_4543_5354_3431, 0x6635_4543_5354_3432] {
            let decision = Decision::new(&game, State(Board::from_packed(board))).unwrap();
            player.act(&game, &decision, 40, &mut game_rng(1, 1));
        }
        player.finish(State(Board::EMPTY), 8);
        values(network.tables())
    };
    // At the second move: 40 + 128 + 20 = 188: 10 -> 99. At the end: 8: 20 -> 14.
    assert_eq!(learned(false), (99.0, 14.0));
    assert_eq!(learned(true), (79.0, 10.0));
}

#[test]
fn tc_stores_its_sums() {
    let network = afterstate_network(1.0);
    let params = TdParams {
        learning_rate: 1.0,
        ..HALF
    };
    let mut learner = Backward::<_, _, Tc>::new(&Fast2048::new(), &network, params);
    // First update of both weights: full steps. 20 -> 0, then 8 + 0: 10 -> 8.
    two_moves(&mut learner);
    assert_eq!(values(network.tables()), (8.0, 0.0));
    // Again: errors 0 and 0. The sums stay, and they are E = -20, A = 20 and E = -2, A = 2.
    two_moves(&mut learner);
    let sums = |part| {
        let mut sums = [0.0; 2];
        network.tables().export(0, part, 1, &mut sums);
        sums
    };
    assert_eq!(sums(WeightPart::ErrorSum), [-2.0, -20.0]);
    assert_eq!(sums(WeightPart::AbsoluteSum), [2.0, 20.0]);
}

/// The optimal expected score of 2x2 2048 is 66.964. A full-board tuple can represent the optimum,
/// so a trained network must reach it.
#[test]
fn a_full_tuple_learns_to_play_2x2_at_the_optimum() {
    const OPTIMUM: f64 = 66.964_149_457_10;
    let game = Grid::new(Shape::new(2, 2).unwrap(), &PowersOfTwo);
    let tuples = TupleSet::parse("0123", game.shape(), true).unwrap();

    let network = AfterstateNetwork::new(&tuples, &OPTIONS()).unwrap();
    let mean = trained_mean(&game, &network);
    assert!(
        (mean - OPTIMUM).abs() < 0.6,
        "afterstates reach {mean}, the optimum is {OPTIMUM}"
    );

    let network = StateNetwork::new(&tuples, &OPTIONS(), &POWERS_OF_TWO_SPAWNS).unwrap();
    let mean = trained_mean(&game, &network);
    assert!(
        (mean - OPTIMUM).abs() < 0.6,
        "states reach {mean}, the optimum is {OPTIMUM}"
    );
}

/// The mean of 100,000 games after training on 50,000; its standard error is about 0.09.
fn trained_mean<N: Trainable<Grid>>(game: &Grid, network: &N) -> f64 {
    let params = TdParams {
        learning_rate: 1.0,
        ..TdParams::default()
    };
    let mut learner = Backward::<Grid, N, Tc>::new(game, network, params);
    let mut policy = Greedy::new(game, network, Ties::Random);
    for n in 0..50_000 {
        play(game, &mut policy, &mut learner, &mut game_rng(1, n));
    }
    let score = |n| play(game, &mut policy, &mut NoLearner, &mut game_rng(2, n)).score;
    (0..100_000).map(score).sum::<u64>() as f64 / 100_000.0
}

/// FNV-1a.
struct Hash(u64);

impl Hash {
    fn new() -> Self {
        Self(0xCBF2_9CE4_8422_2325)
    }

    fn add(&mut self, numbers: &[Value]) {
        for number in numbers {
            self.0 = (self.0 ^ u64::from(number.to_bits())).wrapping_mul(0x0000_0100_0000_01B3);
        }
    }

    fn add_tables<C: WeightCell>(&mut self, tables: &WeightTables<C>, part: WeightPart) {
        for (table, (_, weights)) in tables.tuples().tables().enumerate() {
            let mut numbers = vec![0.0; weights];
            tables.export(table, part, 0, &mut numbers);
            self.add(&numbers);
        }
    }
}

fn hash<C: WeightCell>(tables: &WeightTables<C>, parts: &[WeightPart]) -> u64 {
    let mut hash = Hash::new();
    parts.iter().for_each(|&part| hash.add_tables(tables, part));
    hash.0
}

const SUMS: [WeightPart; 2] = [WeightPart::ErrorSum, WeightPart::AbsoluteSum];

fn hundred_games<G: Game, P: Policy<G>>(game: &G, policy: &mut P, learner: &mut impl Learner<G>) {
    for n in 0..100 {
        play(game, policy, learner, &mut game_rng(1, n));
    }
}

fn backward<G: Game, N: Trainable<G>, R: afterstate::ntuple::UpdateRule>(
    game: &G,
    network: &N,
    params: TdParams,
) {
    let mut learner = Backward::<G, N, R>::new(game, network, params);
    hundred_games(
        game,
        &mut Greedy::new(game, network, Ties::Order),
        &mut learner,
    );
}

fn tuples_8x4() -> TupleSet {
    TupleSet::parse("8x4", Shape::FOUR, true).unwrap()
}

/// Seed 1, 100 games: one hash of all numbers for each learner. A changed hash is a change of
/// results, and its commit says why.
#[test]
fn results_are_frozen() {
    let game = Fast2048::new();
    let afterstates = || AfterstateNetwork::new(&tuples_8x4(), &OPTIONS()).unwrap();
    let states = || StateNetwork::new(&tuples_8x4(), &OPTIONS(), &POWERS_OF_TWO_SPAWNS).unwrap();
    let params = TdParams::default();

    let network = afterstates();
    backward::<_, _, Td>(&game, &network, params);
    let found = hash(network.tables(), &[WeightPart::Weight]);
    assert_eq!(found, 0x6891_4516_7285_5dbd, "TD(0) is now {found:#018x}");

    let network = afterstates();
    let lambda = TdParams {
        learning_rate: 1.0,
        lambda: 0.5,
        ..params
    };
    backward::<_, _, Tc>(&game, &network, lambda);
    let found = hash(network.tables(), &[WeightPart::Weight]);
    assert_eq!(found, 0xcbd3_caab_76e8_e305, "TC(0.5) is now {found:#018x}");
    let found = hash(network.tables(), &SUMS);
    assert_eq!(
        found, FROZEN_SUMS,
        "the sums of TC(0.5) are now {found:#018x}"
    );

    let network = states();
    let twice = TdParams {
        reward_twice: true,
        ..params
    };
    backward::<_, _, Td>(&game, &network, twice);
    let found = hash(network.tables(), &[WeightPart::Weight]);
    assert_eq!(
        found, 0xbfa2_1aac_ce2d_88c5,
        "reward twice is now {found:#018x}"
    );
    let found = hash(network.tables(), &[WeightPart::ExpectedChange]);
    assert_eq!(
        found, FROZEN_CHANGES,
        "expected changes are now {found:#018x}"
    );

    let network = states();
    let mut learner = Forward::<_, _, Td>::new(&game, &network, 0.1);
    hundred_games(
        &game,
        &mut Greedy::new(&game, &network, Ties::Order),
        &mut learner,
    );
    let found = hash(network.tables(), &[WeightPart::Weight]);
    assert_eq!(
        found, 0x9041_c024_02d6_fae5,
        "V(state) forward is now {found:#018x}"
    );

    let network = afterstates();
    let mut player = OnPolicyForward::<_, _, Td>::new(&game, &network, Ties::Order, 0.1);
    for n in 0..100 {
        play_as(&game, &mut player, &mut game_rng(1, n));
    }
    let found = hash(network.tables(), &[WeightPart::Weight]);
    assert_eq!(
        found, FROZEN_FORWARD,
        "V(afterstate) forward is now {found:#018x}"
    );
}

/// The same with tables by hint, and with five bits a tile.
#[test]
fn results_of_other_games_are_frozen() {
    let game = FastThrees::new(Threes::Hint);
    let tuples = tuples_8x4().with_hints(true);
    let network = AfterstateNetwork::new(&tuples, &OPTIONS()).unwrap();
    backward::<_, _, Td>(&game, &network, TdParams::default());
    let found = hash(network.tables(), &[WeightPart::Weight]);
    assert_eq!(found, FROZEN_HINT, "threes-hint is now {found:#018x}");

    let rules = Fibonacci::OneTwo;
    let game = FastFibonacci::new(rules);
    let tuples = tuples_8x4().with_tile_bits(rules.tile_bits(game.shape()));
    let network = AfterstateNetwork::new(&tuples, &OPTIONS()).unwrap();
    backward::<_, _, Tc>(&game, &network, TdParams::default());
    let found = hash(network.tables(), &[WeightPart::Weight]);
    assert_eq!(found, FROZEN_FIBONACCI, "2584 is now {found:#018x}");
}

/// Several threads lose some updates, but learn as well as one thread.
#[test]
fn threads_learn_as_well_as_one() {
    let game = Fast2048::new();
    let mean = |threads: u64| {
        let network = AfterstateNetwork::new(&tuples_8x4(), &OPTIONS()).unwrap();
        let params = TdParams {
            learning_rate: 1.0,
            lambda: 0.5,
            ..TdParams::default()
        };
        std::thread::scope(|scope| {
            for thread in 0..threads {
                let network = &network;
                scope.spawn(move || {
                    let mut learner = Backward::<_, _, Tc>::new(&game, network, params);
                    let mut policy = Greedy::new(&game, network, Ties::Order);
                    for n in (thread..2500).step_by(threads as usize) {
                        play(&game, &mut policy, &mut learner, &mut game_rng(1, n));
                    }
                    assert!(learner.td_errors().is_finite());
                });
            }
        });
        let tables = network.tables();
        let sums = |part, table, count| {
            let mut sums = vec![0.0; count];
            tables.export(table, part, 0, &mut sums);
            sums
        };
        for (table, (_, count)) in tables.tuples().tables().enumerate() {
            let errors = sums(WeightPart::ErrorSum, table, count);
            let sizes = sums(WeightPart::AbsoluteSum, table, count);
            assert!(errors.iter().zip(&sizes).all(|(e, a)| e.abs() <= *a));
        }
        let mut policy = Greedy::new(&game, &network, Ties::Order);
        let score = |n| play(&game, &mut policy, &mut NoLearner, &mut game_rng(2, n)).score;
        (0..600).map(score).sum::<u64>() as f64 / 600.0
    };
    let (one, four) = (mean(1), mean(4));
    // The standard error of each mean is about 3%, and so early in training the order in which four
    // threads play is worth as much again.
    assert!(four > 0.7 * one, "one thread reaches {one}, four {four}");
}

const FROZEN_SUMS: u64 = 0x7c31_038b_2976_5255;
const FROZEN_CHANGES: u64 = 0x26c9_33d2_a89c_5425;
const FROZEN_FORWARD: u64 = 0xfeeb_014b_6fc4_1abd;
const FROZEN_HINT: u64 = 0xf783_0a03_bf16_14cd;
const FROZEN_FIBONACCI: u64 = 0x9557_77bc_cdc7_6be5;
