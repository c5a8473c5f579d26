//! n-step TD, delayed TD(lambda), and TC after TD: by hand, against TD(0), and on a solved board.

use afterstate::Value;
use afterstate::episode::{Learner, NoLearner, Step, play};
use afterstate::game::{After, Board, Direction, Fast2048, Game, Grid, PowersOfTwo, Shape, State};
use afterstate::learn::{Backward, Delayed, Forward, NStep, Order, TdParams};
use afterstate::ntuple::{
    AfterstateNetwork, NetworkOptions, StateNetwork, Tc, Td, Trainable, TupleSet, WeightPart,
};
use afterstate::policy::{Greedy, Ties};
use afterstate::random::game_rng;

fn options(discount: Value) -> NetworkOptions {
    NetworkOptions {
        discount,
        coherence: true,
        ..NetworkOptions::default()
    }
}

/// One tuple of one cell without symmetry: V of a board is the weight of cell 0's tile: 10, 20, 40.
fn network(discount: Value) -> AfterstateNetwork {
    let tuples = TupleSet::parse("0", Shape::FOUR, false).unwrap();
    let network = AfterstateNetwork::new(&tuples, &options(discount)).unwrap();
    let tables = network.tables();
    tables.import(0, WeightPart::Weight, 1, &[10.0, 20.0, 40.0]);
    network
}

/// Three moves that earn 4, 8 and 16, with tile 1, 2 and 3 in cell 0. Returns the weights.
fn three_moves<'n, L: Learner<Fast2048>>(
    network: &'n AfterstateNetwork,
    make: impl FnOnce(&Fast2048, &'n AfterstateNetwork) -> L,
) -> [Value; 3] {
    three_moves_at(0.5, network, make)
}

/// The same with another learning rate.
fn three_moves_at<'n, L: Learner<Fast2048>>(
    learning_rate: Value,
    network: &'n AfterstateNetwork,
    make: impl FnOnce(&Fast2048, &'n AfterstateNetwork) -> L,
) -> [Value; 3] {
    let mut learner = make(&Fast2048::new(), network);
    learner.set_learning_rate(learning_rate);
    for (tile, reward) in [(1, 4), (2, 8), (3, 16)] {
        let board = Board::from_packed(tile);
        learner.step(&Step {
            state: State(board),
            direction: Direction::Left,
            after: After(board),
            reward,
            spawn_reward: 0,
        });
    }
    learner.finish(State(Board::EMPTY), 0);
    let mut weights = [0.0; 3];
    network
        .tables()
        .export(0, WeightPart::Weight, 1, &mut weights);
    weights
}

fn n_step(order: Order, n: usize, discount: Value) -> [Value; 3] {
    three_moves(&network(discount), |game, network| {
        NStep::<_, _, Td>::new(game, network, order, n)
    })
}

fn delayed(lambda: Value, discount: Value) -> [Value; 3] {
    three_moves(&network(discount), |game, network| {
        Delayed::<_, _, Td>::new(game, network, lambda)
    })
}

#[test]
fn two_step_forward() {
    // At the third move: 8 + 16 + 40 = 64: 10 -> 37. At the end: 16: 20 -> 18, and 0: 40 -> 20.
    assert_eq!(n_step(Order::Forward, 2, 1.0), [37.0, 18.0, 20.0]);
    // With a discount of 0.5: 8 + 8 + 10 = 26: 10 -> 18.
    assert_eq!(n_step(Order::Forward, 2, 0.5), [18.0, 18.0, 20.0]);
}

#[test]
fn two_step_backward() {
    // 0: 40 -> 20. 16: 20 -> 18. 8 + 16 + 20 = 44: 10 -> 27.
    assert_eq!(n_step(Order::Backward, 2, 1.0), [27.0, 18.0, 20.0]);
    // With a discount of 0.5: 8 + 8 + 5 = 21: 10 -> 15.5.
    assert_eq!(n_step(Order::Backward, 2, 0.5), [15.5, 18.0, 20.0]);
}

/// 8 + 16 = 24, 16 and 0, whatever the values: the return.
#[test]
fn many_steps_learn_the_return() {
    for order in [Order::Forward, Order::Backward] {
        for n in [3, 4, 100] {
            assert_eq!(n_step(order, n, 1.0), [17.0, 18.0, 20.0]);
        }
    }
}

#[test]
fn delayed_td_lambda() {
    // A lambda of 0.25 stores two errors. At the second move 8 + 20 - 10 = 18, at the third
    // 16 + 40 - 20 = 36: 18 + 0.25 * 36 = 27: 10 -> 23.5. At the end -40: 36 - 10 = 26: 20 -> 33,
    // and 40 -> 20.
    assert_eq!(delayed(0.25, 1.0), [23.5, 33.0, 20.0]);
    // With a discount of 0.5: 8 + 10 - 10 = 8 and 16 + 20 - 20 = 16: 8 + 0.125 * 16 = 10: 10 -> 15.
    // 16 - 0.125 * 40 = 11: 20 -> 25.5.
    assert_eq!(delayed(0.25, 0.5), [15.0, 25.5, 20.0]);
    // A lambda of 0.5 stores four errors, more than the game has: 18 + 18 - 10 = 26: 10 -> 23.
    // 36 - 20 = 16: 20 -> 28.
    assert_eq!(delayed(0.5, 1.0), [23.0, 28.0, 20.0]);
}

/// E grows by the weighted sum of errors.
#[test]
fn delayed_tc_sums_what_it_updates_by() {
    let network = network(1.0);
    three_moves(&network, |game, network| {
        Delayed::<_, _, Tc>::new(game, network, 0.25)
    });
    let mut sums = [0.0; 3];
    let tables = network.tables();
    tables.export(0, WeightPart::ErrorSum, 1, &mut sums);
    assert_eq!(sums, [27.0, 26.0, -40.0]);
}

/// Phases: a game of TD with the rate 0.5, then games of TC with the rate 1.
#[test]
fn tc_after_td() {
    let network = network(1.0);
    let numbers = |part| {
        let mut numbers = [0.0; 3];
        network.tables().export(0, part, 1, &mut numbers);
        numbers
    };
    let sums = || [WeightPart::ErrorSum, WeightPart::AbsoluteSum].map(numbers);
    // 8 + 20 = 28: 10 -> 19. 16 + 40 = 56: 20 -> 38. 0: 40 -> 20. E = A = 0.
    let td = three_moves(&network, |game, network| {
        Forward::<_, _, Td>::new(game, network, 0.5)
    });
    assert_eq!(td, [19.0, 38.0, 20.0]);
    assert_eq!(sums(), [[0.0; 3]; 2]);
    let tc = || {
        three_moves_at(1.0, &network, |game, network| {
            Forward::<_, _, Tc>::new(game, network, 1.0)
        })
    };
    // Full steps while A = 0. 8 + 38 = 46: 19 -> 46. 16 + 20 = 36: 38 -> 36. 0: 20 -> 0.
    assert_eq!(tc(), [46.0, 36.0, 0.0]);
    assert_eq!(sums(), [[27.0, -2.0, -20.0], [27.0, 2.0, 20.0]]);
    // |E| / A is still 1. 8 + 36 = 44: 46 -> 44. 16 + 0: 36 -> 16. No error at the end.
    assert_eq!(tc(), [44.0, 16.0, 0.0]);
    assert_eq!(sums(), [[25.0, -22.0, -20.0], [29.0, 22.0, 20.0]]);
    // 8 + 16 = 24: an error of -20, of which 25 / 29 count.
    let weights = tc();
    assert!((weights[0] - (44.0 - 20.0 * 25.0 / 29.0)).abs() < 1e-5);
    assert_eq!(weights[1..], [16.0, 0.0]);
    assert_eq!(sums(), [[5.0, -22.0, -20.0], [49.0, 22.0, 20.0]]);
}

/// One step, and a lambda of 0, are TD(0), forward and backward, on whole games.
#[test]
fn one_step_is_td0() {
    let game = Fast2048::new();
    let tuples = TupleSet::parse("0123 0145", Shape::FOUR, true).unwrap();
    let trained =
        |make: &dyn for<'n> Fn(&'n AfterstateNetwork) -> Box<dyn Learner<Fast2048> + 'n>| {
            let network = AfterstateNetwork::new(&tuples, &options(1.0)).unwrap();
            let mut learner = make(&network);
            learner.set_learning_rate(0.1);
            let mut policy = Greedy::new(&game, &network, Ties::Order);
            for n in 0..20 {
                play(&game, &mut policy, &mut &mut *learner, &mut game_rng(1, n));
            }
            let mut weights = vec![0.0; 1 << 16];
            network
                .tables()
                .export(0, WeightPart::Weight, 0, &mut weights);
            weights
        };
    let forward = trained(&|network| Box::new(Forward::<_, _, Td>::new(&game, network, 0.1)));
    let one = trained(&|n| Box::new(NStep::<_, _, Td>::new(&game, n, Order::Forward, 1)));
    assert!(forward == one && forward.iter().any(|&weight| weight != 0.0));
    let params = TdParams::default();
    let backward = trained(&|n| Box::new(Backward::<_, _, Td>::new(&game, n, params)));
    let one = trained(&|n| Box::new(NStep::<_, _, Td>::new(&game, n, Order::Backward, 1)));
    assert!(backward == one && backward != forward);
    // A sum of errors is not exactly the error, in 24 bits.
    let zero = trained(&|n| Box::new(Delayed::<_, _, Td>::new(&game, n, 0.0)));
    let norm = |a: &[Value], b: &[Value]| a.iter().zip(b).map(|(a, b)| (a - b).abs()).sum::<f32>();
    assert!(norm(&zero, &forward) < 1e-3 * norm(&forward, &[0.0; 1 << 16]));
}

/// The mean of 30,000 games of 2x2 after training on 30,000. Its standard error is about 0.16.
fn mean<'n, N: Trainable<Grid>>(
    game: &Grid,
    network: &'n N,
    mut learner: impl Learner<Grid> + 'n,
) -> f64 {
    let mut policy = Greedy::new(game, network, Ties::Random);
    learner.set_learning_rate(1.0);
    for n in 0..30_000 {
        play(game, &mut policy, &mut learner, &mut game_rng(1, n));
    }
    let score = |n| play(game, &mut policy, &mut NoLearner, &mut game_rng(2, n)).score;
    (0..30_000).map(score).sum::<u64>() as f64 / 30_000.0
}

#[test]
fn each_learns_to_play_2x2_at_the_optimum() {
    const OPTIMUM: f64 = 66.964_149_457_10;
    let game = Grid::new(Shape::new(2, 2).unwrap(), &PowersOfTwo);
    let tuples = TupleSet::parse("0123", game.shape(), true).unwrap();
    let network = || AfterstateNetwork::new(&tuples, &options(1.0)).unwrap();
    let near = |name: &str, mean: f64| assert!((mean - OPTIMUM).abs() < 0.6, "{name}: {mean}");
    for order in [Order::Forward, Order::Backward] {
        let network = network();
        let learner = NStep::<_, _, Tc>::new(&game, &network, order, 3);
        near("3 steps", mean(&game, &network, learner));
    }
    let network = network();
    let learner = Delayed::<_, _, Tc>::new(&game, &network, 0.5);
    near("delayed", mean(&game, &network, learner));
    let spawns = &afterstate::game::POWERS_OF_TWO_SPAWNS;
    let network = StateNetwork::new(&tuples, &options(1.0), spawns).unwrap();
    let learner = Delayed::<_, _, Tc>::new(&game, &network, 0.5);
    near("delayed, of states", mean(&game, &network, learner));
}
