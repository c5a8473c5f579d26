//! Stages of a game, with and without weight promotion.

use afterstate::Value;
use afterstate::episode::{Learner, NoLearner, Step, play};
use afterstate::game::{
    After, Board, Direction, Fast2048, FastThrees, Game, Grid, PowersOfTwo, Rules, Shape, State,
    Threes,
};
use afterstate::learn::{Backward, TdParams};
use afterstate::ntuple::{
    AfterstateNetwork, NetworkError, NetworkOptions, Stages, StateNetwork, Tc, Td, TupleSet,
    WeightPart,
};
use afterstate::policy::{Greedy, Ties};
use afterstate::random::game_rng;

fn options(initial_value: Value) -> NetworkOptions {
    NetworkOptions {
        initial_value,
        coherence: true,
        ..NetworkOptions::default()
    }
}

/// Stages that begin at these single tiles.
fn stages(tiles: &[u32], promotion: bool) -> Stages {
    Stages::new(tiles.iter().map(|tile| 1 << tile).collect(), promotion)
}

/// One tuple of one cell without symmetry, and stages that begin at tiles 2 and 3. V is the weight
/// of cell 0's tile, so that the board with tile k alone reads it in stage k - 1.
fn one_cell(promotion: bool, initial_value: Value) -> AfterstateNetwork {
    let tuples = TupleSet::parse("0", Shape::FOUR, false).unwrap();
    let tuples = tuples.with_stages(stages(&[2, 3], promotion));
    AfterstateNetwork::new(&tuples, &options(initial_value)).unwrap()
}

fn board(tile: u64) -> After<Board> {
    After(Board::from_packed(tile))
}

/// The weights of tiles 1, 2 and 3 in a stage.
fn weights(network: &AfterstateNetwork, stage: usize) -> [Value; 3] {
    let mut weights = [0.0; 3];
    network
        .tables()
        .export(stage, WeightPart::Weight, 1, &mut weights);
    weights
}

/// A game of two moves: 4 points into tile `first`, 8 points into tile `second`.
fn two_moves(network: &AfterstateNetwork, first: u64, second: u64) {
    let params = TdParams {
        learning_rate: 0.5,
        ..TdParams::default()
    };
    let mut learner = Backward::<_, _, Td>::new(&Fast2048::new(), network, params);
    for (tile, reward) in [(first, 4), (second, 8)] {
        let After(packed) = board(tile);
        learner.step(&Step {
            state: State(packed),
            direction: Direction::Left,
            after: After(packed),
            reward,
            spawn_reward: 0,
        });
    }
    learner.finish(State(Board::EMPTY), 0);
}

#[test]
fn a_weight_starts_from_that_of_the_stage_before() {
    let network = one_cell(true, 0.0);
    network
        .tables()
        .import(0, WeightPart::Weight, 1, &[10.0, 20.0, 30.0]);
    // Nothing is written by reading: values are those of the first stage.
    assert_eq!(
        [1, 2, 3].map(|tile| network.value(board(tile))),
        [10.0, 20.0, 30.0]
    );
    assert_eq!(weights(&network, 1), [0.0; 3]);
    // In stage 1: 20 -> 10. In stage 0: 8 + 10 = 18: 10 -> 14.
    two_moves(&network, 1, 2);
    assert_eq!(weights(&network, 0), [14.0, 20.0, 30.0]);
    assert_eq!(weights(&network, 1), [0.0, 10.0, 0.0]);
    assert_eq!(weights(&network, 2), [0.0; 3]);
    // Stage 2 skips stage 1, which has no weight of tile 3: 30 -> 15. Then 8 + 15 = 23: in stage 1
    // 10 -> 16.5.
    two_moves(&network, 2, 3);
    assert_eq!(weights(&network, 0), [14.0, 20.0, 30.0]);
    assert_eq!(weights(&network, 1), [0.0, 16.5, 0.0]);
    assert_eq!(weights(&network, 2), [0.0, 0.0, 15.0]);
    assert_eq!(
        [1, 2, 3].map(|tile| network.value(board(tile))),
        [14.0, 16.5, 15.0]
    );
    // For other programs every stage gets what it would read.
    network.tables().promote_all();
    assert_eq!(weights(&network, 1), [14.0, 16.5, 30.0]);
    assert_eq!(weights(&network, 2), [14.0, 16.5, 15.0]);
}

/// A weight that was learned to be 0 is not one that has never been updated.
#[test]
fn a_weight_of_zero_is_not_untouched() {
    let network = one_cell(true, 0.0);
    network
        .tables()
        .import(0, WeightPart::Weight, 1, &[10.0, -8.0]);
    // The last target is 0, which a learning rate of 1 reaches at once.
    let params = TdParams {
        learning_rate: 1.0,
        ..TdParams::default()
    };
    let mut learner = Backward::<_, _, Td>::new(&Fast2048::new(), &network, params);
    let After(packed) = board(2);
    learner.step(&Step {
        state: State(packed),
        direction: Direction::Left,
        after: After(packed),
        reward: 4,
        spawn_reward: 0,
    });
    Learner::<Fast2048>::finish(&mut learner, State(Board::EMPTY), 0);
    assert_eq!(network.value(board(2)), 0.0);
    assert_eq!(weights(&network, 1)[1].to_bits(), (-0.0_f32).to_bits());
    assert_eq!(weights(&network, 0)[1], -8.0);
}

/// The initial value of later stages is that of the first, without being written to them; without
/// promotion every stage has it.
#[test]
fn the_initial_value_holds_in_every_stage() {
    for promotion in [true, false] {
        let network = one_cell(promotion, 40.0);
        assert_eq!([1, 2, 3].map(|tile| network.value(board(tile))), [40.0; 3]);
        let later = if promotion { 0.0 } else { 40.0 };
        assert_eq!(weights(&network, 2), [later; 3]);
        // 40 -> 20, then 8 + 20: 40 -> 34.
        two_moves(&network, 2, 3);
        assert_eq!(
            [1, 2, 3].map(|tile| network.value(board(tile))),
            [40.0, 34.0, 20.0]
        );
    }
}

#[test]
fn without_promotion_stages_are_independent() {
    let network = one_cell(false, 0.0);
    network
        .tables()
        .import(0, WeightPart::Weight, 1, &[10.0, 20.0]);
    assert_eq!(
        [1, 2, 3].map(|tile| network.value(board(tile))),
        [10.0, 0.0, 0.0]
    );
    // 0 -> 0, then 8: 10 -> 9.
    two_moves(&network, 1, 2);
    assert_eq!(weights(&network, 0), [9.0, 20.0, 0.0]);
}

#[test]
fn tables_are_named_by_stage() {
    let tuples = TupleSet::parse("01 12", Shape::FOUR, true).unwrap();
    let names = |tuples: &TupleSet| tuples.tables().map(|(name, _)| name).collect::<Vec<_>>();
    let staged = tuples.clone().with_stages(stages(&[9, 10], true));
    assert_eq!(names(&staged), ["01", "12", "01@1", "12@1", "01@2", "12@2"]);
    assert_eq!(staged.weights(), 3 * tuples.weights());
    let both = tuples.with_hints(true).with_stages(stages(&[9], true));
    assert_eq!(names(&both)[6..10], ["01+4", "12+4", "01+1@1", "12+1@1"]);
}

#[test]
fn state_values_have_one_stage() {
    let tuples = TupleSet::parse("01", Shape::FOUR, true).unwrap();
    let tuples = tuples.with_stages(stages(&[9], true));
    let spawns = PowersOfTwo.uniform_spawns().unwrap();
    let refused = StateNetwork::new(&tuples, &options(0.0), spawns).err();
    assert!(matches!(refused, Some(NetworkError::Banks { found: 2 })));
}

/// All weights after some games.
fn trained<G: Game>(game: &G, tuples: &TupleSet, games: u64) -> Vec<Vec<u32>> {
    let network = AfterstateNetwork::new(tuples, &options(0.0)).unwrap();
    let params = TdParams {
        learning_rate: 1.0,
        lambda: 0.5,
        ..TdParams::default()
    };
    let mut learner = Backward::<G, _, Tc>::new(game, &network, params);
    let mut policy = Greedy::new(game, &network, Ties::Order);
    for n in 0..games {
        play(game, &mut policy, &mut learner, &mut game_rng(1, n));
    }
    let table = |(number, (_, weights)): (usize, (String, usize))| {
        let mut table = vec![0.0; weights];
        let tables = network.tables();
        tables.export(number, WeightPart::Weight, 0, &mut table);
        table.iter().map(|weight| weight.to_bits()).collect()
    };
    tuples.tables().enumerate().map(table).collect()
}

/// The packed path, and cell by cell; with hints as well.
#[test]
fn training_with_stages_is_the_same_on_both_boards() {
    let tuples = TupleSet::parse("0123 4567 0145", Shape::FOUR, true).unwrap();
    for promotion in [true, false] {
        let tuples = tuples.clone().with_stages(stages(&[7, 8, 9], promotion));
        let fast = trained(&Fast2048::new(), &tuples, 100);
        let slow = trained(&Grid::new(Shape::FOUR, &PowersOfTwo), &tuples, 100);
        assert!(fast == slow);
        // Games reach the last stage.
        assert!(fast[9].iter().any(|&bits| bits != 0));

        let rules = &Threes::Hint;
        let tuples = tuples.with_hints(true);
        let fast = trained(&FastThrees::new(Threes::Hint), &tuples, 60);
        let slow = trained(&Grid::new(Shape::FOUR, rules), &tuples, 60);
        assert!(fast == slow);
    }
}

/// 2x2 with stages at 8 and 16: a full-board tuple can represent the optimum in each stage, and the
/// network must reach it. The standard error of the mean is about 0.16.
#[test]
fn a_network_of_three_stages_learns_to_play_2x2_at_the_optimum() {
    const OPTIMUM: f64 = 66.964_149_457_10;
    let game = Grid::new(Shape::new(2, 2).unwrap(), &PowersOfTwo);
    for promotion in [true, false] {
        let tuples = TupleSet::parse("0123", game.shape(), true).unwrap();
        let tuples = tuples.with_stages(stages(&[3, 4], promotion));
        let network = AfterstateNetwork::new(&tuples, &options(0.0)).unwrap();
        let params = TdParams {
            learning_rate: 1.0,
            ..TdParams::default()
        };
        let mut learner = Backward::<Grid, _, Tc>::new(&game, &network, params);
        let mut policy = Greedy::new(&game, &network, Ties::Random);
        for n in 0..30_000 {
            play(&game, &mut policy, &mut learner, &mut game_rng(1, n));
        }
        let score = |n| play(&game, &mut policy, &mut NoLearner, &mut game_rng(2, n)).score;
        let mean = (0..30_000).map(score).sum::<u64>() as f64 / 30_000.0;
        assert!((mean - OPTIMUM).abs() < 0.6, "{mean}");
    }
}
