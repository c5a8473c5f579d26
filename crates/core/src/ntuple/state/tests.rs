use super::*;
use crate::game::{After, Board, Fast2048, POWERS_OF_TWO_SPAWNS, Shape};
use crate::ntuple::{Tc, Td};
use crate::random::game_rng;

fn random_board(number: u64) -> Board {
    let mut rng = game_rng(4, number);
    Board::from_tiles(&std::array::from_fn(|_| {
        rng.below(10).saturating_sub(5) as u8
    }))
}

/// The mean over every spawn, by its definition.
fn slow_expectation(network: &StateNetwork, after: After<Board>) -> f64 {
    let mut mean = 0.0;
    Fast2048::new().for_each_spawn(after, |state, _, chance| {
        mean += chance * f64::from(network.value(state))
    });
    mean
}

fn agrees(network: &StateNetwork) {
    let mut at = Indices::default();
    for number in 0..500 {
        let board = random_board(number);
        let slow = slow_expectation(network, After(board));
        network.tables.find([board; 4], &mut at);
        let empty = board.empty_cells().count_ones();
        let fast = f64::from(network.expectation(&at, 1, empty));
        assert!(
            (fast - slow).abs() < 1e-3 + 1e-5 * slow.abs(),
            "{fast} and {slow} for {board:?}"
        );
    }
}

fn trained<R: UpdateRule>(set: &str, symmetry: bool) -> StateNetwork {
    let tuples = TupleSet::parse(set, Shape::FOUR, symmetry).unwrap();
    let options = NetworkOptions {
        initial_value: 50.0,
        coherence: true,
        ..NetworkOptions::default()
    };
    let network = StateNetwork::new(&tuples, &options, &POWERS_OF_TWO_SPAWNS).unwrap();
    let mut at = Indices::default();
    for number in 0..3000 {
        let state = State(random_board(number % 700));
        let target = (number % 13) as Value * 20.0;
        Trainable::<Fast2048>::locate_positions(&network, [state; 4], &mut at);
        Trainable::<Fast2048>::update::<R>(&network, state, &mut at, 3, target, 0.5);
    }
    network
}

#[test]
fn every_update_keeps_the_expectation_exact() {
    agrees(&trained::<Td>("01256 0145 048c 4589 9", true));
    agrees(&trained::<Td>("31 02468", false));
    agrees(&trained::<Tc>("0123 4567", true));
}

#[test]
fn a_refresh_corrects_lost_updates_in_any_order_of_its_pieces() {
    let network = trained::<Td>("0123 4567 02468a", true);
    let changes = || -> Vec<u32> {
        let cells = network.tables.cells.iter();
        cells.map(|[_, change]| change.get().to_bits()).collect()
    };
    let mut refreshed = Vec::new();
    for backwards in [false, true] {
        for [_, change] in network.tables.cells.iter() {
            change.set(change.get() + 1000.0);
        }
        let pieces = network.refresh_pieces();
        assert!(pieces > 3);
        for n in 0..pieces {
            network.refresh_piece(if backwards { pieces - 1 - n } else { n });
        }
        agrees(&network);
        refreshed.push(changes());
    }
    assert!(refreshed[0] == refreshed[1]);
}

#[test]
fn tables_with_wide_tiles_or_banks_are_refused() {
    let tuples = || TupleSet::parse("0123", Shape::FOUR, true).unwrap();
    let error = |tuples: TupleSet| {
        let made = StateNetwork::new(&tuples, &NetworkOptions::default(), &POWERS_OF_TWO_SPAWNS);
        made.err().expect("an error")
    };
    assert!(matches!(
        error(tuples().with_tile_bits(5)),
        NetworkError::TileBits {
            found: 5,
            expected: 4
        }
    ));
    let found = error(tuples().with_hints(true));
    assert!(matches!(found, NetworkError::Banks { found: 4 }));
}

#[test]
fn digits_are_found() {
    assert_eq!(digits_equal(0x1021, 1, 0x1111), 0x1001);
    assert_eq!(digits_equal(0x1021, 0, 0x1111), 0x0100);
    assert_eq!(digits_equal(0x0, 0, 0x111), 0x111);
    assert_eq!(digits_equal(0xF2F2, 2, 0x1111), 0x0101);
    assert_eq!(count(0x1111_1111), 8.0);
    assert_eq!(count(0x1010), 2.0);
}
