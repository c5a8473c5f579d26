//! Learners against hand-computed updates, against the exact optimum of a small board, and against
//! their own frozen results.

use afterstate::game::{
    After, Board, Classic, Direction, Game, Grid, Shape, State, TWOS_TILES, Twos,
};
use afterstate::learn::{Backward, Credit, Forward};
use afterstate::ntuple::{Coherent, Expecting, Network, Plain, Tables, TupleSet};
use afterstate::play::{Afterstates, Greedy, Learner, States, Step, Ties, Viewpoint, Watch, play};
use afterstate::random::game_rng;

/// One tuple of one cell and no symmetry: V is the weight of cell 0's tile. V(1) = 10, V(2) = 20.
fn one_cell() -> TupleSet {
    TupleSet::parse("0", Shape::FOUR, false).unwrap()
}

fn fill<N: Network>(network: N) -> N {
    network.tables().import(0, 0, 1, &[10.0, 20.0]);
    network
}

/// Two moves: the first earns 4 and shows tile 1, the second earns 8 and shows tile 2, both before
/// and after the slide.
fn two_moves(learner: &mut impl Learner<Classic>) {
    for (tile, reward, value) in [(1, 4, 10.0), (2, 8, 20.0)] {
        let board = Board::from_packed(tile);
        let (state, after) = (State(board), After(board));
        learner.step(&Step {
            state,
            direction: Direction::Left,
            after,
            reward,
            brought: 0,
            value,
        });
    }
    learner.finish(State(Board::EMPTY), 0);
}

fn values(network: &impl Network) -> (f32, f32) {
    (
        network.value(Board::from_packed(1)),
        network.value(Board::from_packed(2)),
    )
}

fn afterstates(credit: Credit) -> (f32, f32) {
    let network = fill(Tables::<Plain>::new(&one_cell(), 0.0).unwrap());
    two_moves(&mut Backward::<Classic, Afterstates<Plain>>::new(
        &network, credit,
    ));
    values(&network)
}

fn states(credit: Credit) -> (f32, f32) {
    let network = fill(Expecting::<Plain>::new(&one_cell(), 0.0, &TWOS_TILES).unwrap());
    two_moves(&mut Backward::<Classic, States<Plain>>::new(
        &network, credit,
    ));
    values(&network)
}

const HALF: Credit = Credit {
    rate: 0.5,
    lambda: 0.0,
    reward_twice: false,
};

#[test]
fn td0_backward_on_afterstates() {
    // The last target is 0: 20 -> 10. Then 8 + 10 = 18: 10 -> 14.
    assert_eq!(afterstates(HALF), (14.0, 10.0));
}

#[test]
fn td_lambda_backward_on_afterstates() {
    // 20 -> 10 as before. z = 8 + 0.5 * 0 + 0.5 * 10 = 13: 10 -> 11.5.
    assert_eq!(
        afterstates(Credit {
            lambda: 0.5,
            ..HALF
        }),
        (11.5, 10.0)
    );
    // Lambda 1 is the return alone: z = 8: 10 -> 9.
    assert_eq!(
        afterstates(Credit {
            lambda: 1.0,
            ..HALF
        }),
        (9.0, 10.0)
    );
}

#[test]
fn td0_forward_on_afterstates() {
    // At the second move: 8 + 20 = 28: 10 -> 19. At the end: 20 -> 10.
    let network = fill(Tables::<Plain>::new(&one_cell(), 0.0).unwrap());
    two_moves(&mut Forward::<Classic, Afterstates<Plain>>::new(
        &network, 0.5,
    ));
    assert_eq!(values(&network), (19.0, 10.0));
}

#[test]
fn td0_backward_on_states() {
    // The last target is its own reward 8: 20 -> 14. Then 4 + 14 = 18: 10 -> 14.
    assert_eq!(states(HALF), (14.0, 14.0));
}

#[test]
fn td_lambda_backward_on_states() {
    // 20 -> 14. z = 0.5 * 8 + 0.5 * 14 = 11, target 4 + 11 = 15: 10 -> 12.5.
    assert_eq!(
        states(Credit {
            lambda: 0.5,
            ..HALF
        }),
        (12.5, 14.0)
    );
}

#[test]
fn the_reward_counted_twice() {
    // 20 -> 14 as before, but z = 8 + 14 = 22. Then 4 + 22 = 26: 10 -> 18.
    assert_eq!(
        states(Credit {
            reward_twice: true,
            ..HALF
        }),
        (18.0, 14.0)
    );
}

#[test]
fn td0_forward_on_states() {
    // At the second move: 4 + V(2) = 24: 10 -> 17. At the end: 8: 20 -> 14.
    let network = fill(Expecting::<Plain>::new(&one_cell(), 0.0, &TWOS_TILES).unwrap());
    two_moves(&mut Forward::<Classic, States<Plain>>::new(&network, 0.5));
    assert_eq!(values(&network), (17.0, 14.0));
}

#[test]
fn tc_keeps_its_sums_beside_the_weight() {
    let network = fill(Tables::<Coherent>::new(&one_cell(), 0.0).unwrap());
    let credit = Credit { rate: 1.0, ..HALF };
    let mut learner = Backward::<Classic, Afterstates<Coherent>>::new(&network, credit);
    // Both weights untouched: full steps. 20 -> 0, then 8 + 0: 10 -> 8.
    two_moves(&mut learner);
    assert_eq!(values(&network), (8.0, 0.0));
    // Again: errors 0 and 0. The sums stay, and they are E = -20, A = 20 and E = -2, A = 2.
    two_moves(&mut learner);
    let sums = |part| {
        let mut sums = [0.0; 2];
        network.export(0, part, 1, &mut sums);
        sums
    };
    assert_eq!((sums(1), sums(2)), ([-2.0, -20.0], [2.0, 20.0]));
}

/// The best expected score of 2x2 2048 is 66.964. With one tuple over the whole board a learner can
/// represent the optimum, so a trained one must play at it.
#[test]
fn a_full_tuple_learns_to_play_2x2_at_the_optimum() {
    const OPTIMUM: f64 = 66.964_149_457_10;
    let game = Grid::new(Shape::new(2, 2).unwrap(), &Twos);
    let tuples = TupleSet::parse("0123", game.shape(), true).unwrap();

    let network = Tables::<Coherent>::new(&tuples, 0.0).unwrap();
    let credit = Credit {
        rate: 1.0,
        ..Credit::default()
    };
    let learner = Backward::<Grid, Afterstates<Coherent>>::new(&network, credit);
    let mean = trained_mean::<Afterstates<Coherent>>(&game, &network, learner);
    assert!(
        (mean - OPTIMUM).abs() < 0.6,
        "afterstates reach {mean}, the optimum is {OPTIMUM}"
    );

    let network = Expecting::<Coherent>::new(&tuples, 0.0, &TWOS_TILES).unwrap();
    let learner = Backward::<Grid, States<Coherent>>::new(&network, credit);
    let mean = trained_mean::<States<Coherent>>(&game, &network, learner);
    assert!(
        (mean - OPTIMUM).abs() < 0.6,
        "states reach {mean}, the optimum is {OPTIMUM}"
    );
}

/// The mean of 100,000 games after 50,000 of training; its standard error is about 0.09.
fn trained_mean<V: Viewpoint<Grid>>(
    game: &Grid,
    network: &V::Network,
    mut learner: impl Learner<Grid>,
) -> f64 {
    let mut policy = Greedy::<Grid, V>::new(network, Ties::Random);
    for n in 0..50_000 {
        play(game, &mut policy, &mut learner, &mut game_rng(1, n));
    }
    let score = |n| play(game, &mut policy, &mut Watch, &mut game_rng(2, n)).score;
    (0..100_000).map(score).sum::<u64>() as f64 / 100_000.0
}

/// Seed 1, 100 games: one hash of all weights for each way to learn. A change of one is a change of
/// results, and its commit says why.
#[test]
fn results_are_frozen() {
    let tuples = TupleSet::parse("8x4", Shape::FOUR, true).unwrap();
    let credit = Credit::default();

    let network = Tables::<Plain>::new(&tuples, 0.0).unwrap();
    let learner = Backward::<Classic, Afterstates<Plain>>::new(&network, credit);
    let hash = hash_after::<Afterstates<Plain>>(&network, learner);
    assert_eq!(hash, 0x6891_4516_7285_5dbd, "TD(0) is now {hash:#018x}");

    let network = Tables::<Coherent>::new(&tuples, 0.0).unwrap();
    let lambda = Credit {
        rate: 1.0,
        lambda: 0.5,
        ..credit
    };
    let learner = Backward::<Classic, Afterstates<Coherent>>::new(&network, lambda);
    let hash = hash_after::<Afterstates<Coherent>>(&network, learner);
    assert_eq!(hash, 0xcbd3_caab_76e8_e305, "TC(0.5) is now {hash:#018x}");

    let network = Expecting::<Plain>::new(&tuples, 0.0, &TWOS_TILES).unwrap();
    let twice = Credit {
        reward_twice: true,
        ..credit
    };
    let learner = Backward::<Classic, States<Plain>>::new(&network, twice);
    let hash = hash_after::<States<Plain>>(&network, learner);
    assert_eq!(hash, 0xbfa2_1aac_ce2d_88c5, "R1 is now {hash:#018x}");

    let network = Expecting::<Plain>::new(&tuples, 0.0, &TWOS_TILES).unwrap();
    let learner = Forward::<Classic, States<Plain>>::new(&network, 0.1);
    let hash = hash_after::<States<Plain>>(&network, learner);
    assert_eq!(hash, 0x9041_c024_02d6_fae5, "R0 is now {hash:#018x}");
}

fn hash_after<V: Viewpoint<Classic>>(
    network: &V::Network,
    mut learner: impl Learner<Classic>,
) -> u64 {
    let mut policy = Greedy::<Classic, V>::new(network, Ties::Order);
    for n in 0..100 {
        play(
            &Classic::new(),
            &mut policy,
            &mut learner,
            &mut game_rng(1, n),
        );
    }
    let mut hash = 0xCBF2_9CE4_8422_2325_u64;
    let tables = network.tables();
    for (tuple, pattern) in tables.tuples().patterns().iter().enumerate() {
        let mut weights = vec![0.0; pattern.weights()];
        tables.export(tuple, 0, 0, &mut weights);
        for weight in weights {
            hash = (hash ^ u64::from(weight.to_bits())).wrapping_mul(0x0000_0100_0000_01B3);
        }
    }
    hash
}
