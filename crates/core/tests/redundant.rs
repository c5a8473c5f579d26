//! Redundant tuples: trained beside the others, and folded into them in the model.

use afterstate::Value;
use afterstate::episode::{NoLearner, play};
use afterstate::format::native::{self, Metadata, StoredParts};
use afterstate::game::{After, Board, Fast2048, Game, Grid, PowersOfTwo, Shape};
use afterstate::learn::{Backward, TdParams};
use afterstate::ntuple::{AfterstateNetwork, NetworkOptions, Stages, Tc, TupleSet, WeightPart};
use afterstate::policy::{Greedy, Ties};
use afterstate::random::game_rng;

fn network(tuples: &TupleSet) -> AfterstateNetwork {
    let options = NetworkOptions {
        coherence: true,
        ..NetworkOptions::default()
    };
    AfterstateNetwork::new(tuples, &options).unwrap()
}

/// The network that is read from the model of another.
fn model(trained: &AfterstateNetwork, tuples: &TupleSet) -> AfterstateNetwork {
    let mut bytes = Vec::new();
    let about = Metadata::from([("afterstate".to_owned(), "2".to_owned())]);
    native::write(trained.tables(), &about, StoredParts::Weights, &mut bytes).unwrap();
    let read = network(tuples);
    native::read(&bytes, read.tables(), StoredParts::Weights).unwrap();
    read
}

fn train<G: Game>(game: &G, network: &AfterstateNetwork, learning_rate: Value, games: u64) {
    let params = TdParams {
        learning_rate,
        ..TdParams::default()
    };
    let mut learner = Backward::<G, _, Tc>::new(game, network, params);
    let mut policy = Greedy::new(game, network, Ties::Random);
    for n in 0..games {
        play(game, &mut policy, &mut learner, &mut game_rng(1, n));
    }
}

/// The tuple 01 with the redundant tuple 1: with symmetry the single cell is a corner as well as an
/// edge, but its table is that of cell 1, digit 1 of the larger one.
#[test]
fn weights_are_added_by_hand() {
    let large = TupleSet::parse("01", Shape::FOUR, true).unwrap();
    let tuples = large.clone().with_redundant("1").unwrap();
    assert_eq!((tuples.kept(), tuples.redundant()), (1, "1".to_owned()));
    assert_eq!(tuples.to_string(), "01");
    let trained = network(&tuples);
    let tables = trained.tables();
    tables.import(0, WeightPart::Weight, 0x23, &[5.0]);
    tables.import(1, WeightPart::Weight, 2, &[0.25]);
    let read = model(&trained, &large);
    let mut table = vec![0.0; 256];
    read.tables().export(0, WeightPart::Weight, 0, &mut table);
    // Cell 0 is the lowest digit, so tile 2 in cell 1 is 0x20 to 0x2f.
    assert_eq!(table[0x20..0x25], [0.25, 0.25, 0.25, 5.25, 0.25]);
    assert_eq!(table[0x12], 0.0);
}

/// Values of boards of played games, with stages and without, up to rounding.
#[test]
fn a_model_has_the_values_of_the_network() {
    let game = Fast2048::new();
    for (thresholds, promotion) in [
        (vec![], true),
        (vec![1 << 5, 1 << 7], true),
        (vec![1 << 6], false),
    ] {
        let stages = Stages::new(thresholds, promotion);
        // 9a and ef are inside by a symmetry alone.
        let large = TupleSet::parse("0125 4567", Shape::FOUR, true).unwrap();
        let tuples = large.clone().with_redundant("012 56 9a ef 01 7").unwrap();
        let trained = network(&tuples.with_stages(stages.clone()));
        train(&game, &trained, 1.0, 100);
        let read = model(&trained, &large.with_stages(stages));
        for number in 0..300 {
            let mut rng = game_rng(3, number);
            let most = 3 + rng.below(8);
            let tiles = (0..16).map(|_| u64::from(rng.below(most)));
            let board = After(Board::from_packed(
                tiles.fold(0, |all, tile| all << 4 | tile),
            ));
            let (found, expected): (Value, Value) = (read.value(board), trained.value(board));
            assert!(
                (found - expected).abs() <= 1e-4 * expected.abs().max(100.0),
                "{found} {expected}"
            );
        }
    }
}

/// Tables that no update reached stay as they are: a stage stores what it learned.
#[test]
fn untouched_weights_of_a_stage_stay_untouched() {
    let stages = Stages::new(vec![1 << 5], true);
    let large = TupleSet::parse("012", Shape::FOUR, true).unwrap();
    let tuples = large.clone().with_redundant("01").unwrap();
    let trained = network(&tuples.with_stages(stages.clone()));
    trained.tables().import(0, WeightPart::Weight, 7, &[3.0]);
    trained.tables().import(1, WeightPart::Weight, 7, &[4.0]);
    let read = model(&trained, &large.with_stages(stages));
    let mut weights = [1.0; 16];
    read.tables().export(0, WeightPart::Weight, 0, &mut weights);
    assert_eq!(weights[7], 7.0);
    read.tables().export(1, WeightPart::Weight, 0, &mut weights);
    assert!(weights.iter().all(|weight| weight.to_bits() == 0));
}

/// 2x2: a full-board tuple with smaller ones plays at the optimum, before and after folding. With a
/// rate of 1 it does not: the single cell shows one tile up to eight times, and its weight moves by
/// each. The standard error of the means is about 0.16.
#[test]
fn it_learns_to_play_2x2_at_the_optimum() {
    const OPTIMUM: f64 = 66.964_149_457_10;
    let game = Grid::new(Shape::new(2, 2).unwrap(), &PowersOfTwo);
    let large = TupleSet::parse("0123", game.shape(), true).unwrap();
    let tuples = large.clone().with_redundant("012 01 03 0").unwrap();
    let trained = network(&tuples);
    train(&game, &trained, 0.3, 30_000);
    for network in [&trained, &model(&trained, &large)] {
        let mut policy = Greedy::new(&game, network, Ties::Random);
        let score = |n| play(&game, &mut policy, &mut NoLearner, &mut game_rng(2, n)).score;
        let mean = (0..30_000).map(score).sum::<u64>() as f64 / 30_000.0;
        assert!((mean - OPTIMUM).abs() < 0.6, "{mean}");
    }
}
