use super::*;
use crate::game::{After, Board, GridBoard, Shape};
use crate::machine::Cpu;
use crate::ntuple::{AfterstateNetwork, Td};
use crate::random::game_rng;

fn network(set: &str, symmetry: bool, initial_value: Value) -> AfterstateNetwork {
    let tuples = TupleSet::parse(set, Shape::FOUR, symmetry).unwrap();
    let options = NetworkOptions {
        initial_value,
        ..NetworkOptions::default()
    };
    AfterstateNetwork::new(&tuples, &options).unwrap()
}

fn random_network(set: &str, symmetry: bool) -> AfterstateNetwork {
    let network = network(set, symmetry, 0.0);
    let mut rng = game_rng(3, 3);
    for cell in &network.tables().cells[..] {
        AtomicF32::set(cell, rng.below(1000) as Value / 8.0);
    }
    network
}

/// Boards with few tiles: most cells are empty or small.
fn random_board(number: u64) -> Board {
    let mut rng = game_rng(4, number);
    Board::from_tiles(&std::array::from_fn(|_| {
        rng.below(12).saturating_sub(4) as u8
    }))
}

/// Any tiles, including those beyond 15, which a network does not distinguish.
fn wild_board(number: u64) -> Board {
    let mut rng = game_rng(5, number);
    Board::from_tiles(&std::array::from_fn(|_| match number {
        0 => 15,
        _ => rng.below(18) as u8,
    }))
}

/// The sets have pairs and single tuples with one shift to many.
#[test]
fn all_instruction_sets_and_the_slow_board_give_the_same_indices() {
    for set in [
        "4x6",
        "8x6",
        "8x4",
        "210 fed05a 9 048c1 43527816 43527806 cdef efba",
        "cdef 8cde 0123 f 1247 147c",
        "0ef 1ef 01ef 048e 1248cdef e 02468ace 02468acf 4579bd 45789d",
    ] {
        for symmetry in [true, false] {
            let tuples = TupleSet::parse(set, Shape::FOUR, symmetry).unwrap();
            for cpu in Cpu::all() {
                let plan = LookupPlan::new(&tuples, cpu);
                for number in 0..200 {
                    let boards = [0, 1, 2, 3].map(|lane| wild_board(4 * number + lane));
                    let (mut fast, mut slow) = (Indices::default(), Indices::default());
                    plan.find(boards, &mut fast);
                    plan.find::<GridBoard>(boards.map(Board::to_grid), &mut slow);
                    assert_eq!(fast.all(), slow.all(), "{cpu} {set} {boards:?}");
                }
            }
        }
    }
}

/// Against a plain sum in the documented order: four parallel sums, and the remainder.
#[test]
fn values_are_summed_in_the_documented_order() {
    let mut tuples: Vec<String> = (0..16).map(|cell| format!("{cell:x}")).collect();
    tuples.push("01".to_owned());
    for count in 1..=tuples.len() {
        let set = tuples[..count].join(" ");
        let network = random_network(&set, false);
        let tables = network.tables();
        let board = wild_board(7);
        let mut at = Indices::default();
        tables.find([random_board(1), board, board, board], &mut at);
        let weights: Vec<Value> = at.all().iter().map(|i| tables.cells[i[1]].get()).collect();
        assert_eq!(weights.len(), count);
        let mut sums = [0.0; 4];
        for (k, weight) in weights.iter().enumerate().take(count & !3) {
            sums[k % 4] += weight;
        }
        let left: Value = weights[count & !3..]
            .iter()
            .fold(0.0, |sum, weight| sum + weight);
        let expected = (sums[0] + sums[1]) + (sums[2] + sums[3]) + left;
        let found = value(tables.at(&at), 1);
        assert_eq!(found.to_bits(), expected.to_bits(), "{set}");

        // An update moves each weight by its share, and returns the new value.
        let target = expected + 8.0 * count as Value;
        let updated = tables.update::<Td>(&at, 1, target, 1.0);
        let found = value(tables.at(&at), 1);
        assert_eq!(updated.value.to_bits(), found.to_bits());
        let moved = |(i, before): (&[usize; 4], &Value)| tables.cells[i[1]].get() - before;
        let moves: Vec<Value> = at.all().iter().zip(&weights).map(moved).collect();
        assert!(
            moves.iter().all(|moved| (moved - 8.0).abs() < 1e-3),
            "{moves:?}"
        );
    }
}

#[test]
fn exported_weights_are_those_that_a_position_reads() {
    let network = random_network("3210 0125 45 6", false);
    let tables = network.tables();
    for (n, pattern) in tables.tuples().patterns().iter().enumerate() {
        let mut table = vec![0.0; pattern.weights()];
        tables.export(n, WeightPart::Weight, 0, &mut table);
        let alone = self::network(&pattern.to_string(), false, 0.0);
        let (first, rest) = table.split_at(7);
        alone.tables().import(0, WeightPart::Weight, 0, first);
        alone.tables().import(0, WeightPart::Weight, 7, rest);
        for number in 0..100 {
            let board = random_board(number);
            let digits = pattern.cells().iter().rev();
            let file = digits.fold(0, |i, &c| 16 * i + usize::from(board.cell(c.into())));
            assert_eq!(alone.value(After(board)), table[file]);
        }
    }
}

#[test]
fn a_symmetric_network_values_symmetric_boards_alike() {
    let network = random_network("01256 0145 4589a", true);
    let board = random_board(1);
    let value = network.value(After(board));
    for symmetry in Shape::FOUR.symmetries() {
        let tiles = std::array::from_fn(|i| board.cell(symmetry[i]));
        let symmetric = network.value(After(Board::from_tiles(&tiles)));
        assert!((symmetric - value).abs() < 0.1);
    }
}

#[test]
fn an_update_moves_the_value_by_its_share() {
    // Two tuples, no symmetry: m = 2. V = 0, target 10, rate 0.5: each weight gains 2.5.
    let network = network("0 15", false, 0.0);
    let tables = network.tables();
    let board = Board::from_packed(0x21);
    let mut at = Indices::default();
    tables.find([board; 4], &mut at);
    let updated = tables.update::<Td>(&at, 2, 10.0, 0.5);
    assert_eq!((updated.value, updated.delta), (5.0, 10.0));
    let mut weights = [0.0; 16];
    let only = |n: usize| std::array::from_fn(|i| if i == n { 2.5 } else { 0.0 });
    tables.export(0, WeightPart::Weight, 0, &mut weights);
    assert_eq!(weights, only(1));
    tables.export(1, WeightPart::Weight, 0, &mut weights);
    assert_eq!(weights, only(2));
    assert_eq!(network.value(After(board)), 5.0);
}

#[test]
fn an_initial_value_is_spread_over_the_lookups() {
    let network = network("0123 4567", true, 320.0);
    assert_eq!(network.value(After(random_board(9))), 320.0);
}

#[test]
#[should_panic(expected = "the sums of TC")]
fn tables_without_sums_do_not_learn_by_tc() {
    let network = network("0123", true, 0.0);
    let mut at = Indices::default();
    network.tables().find([random_board(1); 4], &mut at);
    network
        .tables()
        .update::<crate::ntuple::Tc>(&at, 0, 1.0, 1.0);
}

/// Imports into tables that already have weights: zeros replace them, and -0.0 stays -0.0.
#[test]
fn import_is_the_inverse_of_export_on_tables_that_are_not_zero() {
    let bits = |numbers: &[Value]| numbers.iter().map(|n| n.to_bits()).collect::<Vec<_>>();
    let mut numbers: Vec<Value> = vec![0.0; 1 << 12];
    numbers[7] = 5.0;
    numbers[8] = -0.0;
    let tables = network("012", true, 320.0);
    let tables = tables.tables();
    tables.import(0, WeightPart::Weight, 0, &numbers);
    let mut found = vec![1.0; numbers.len()];
    tables.export(0, WeightPart::Weight, 0, &mut found);
    assert_eq!(bits(&found), bits(&numbers));

    let other = network("012", true, 320.0);
    let other = other.tables();
    let mut block = vec![1.0; numbers.len()];
    tables.export_block(MemoryBlock::Cells, 0, &mut block);
    other.import_block(MemoryBlock::Cells, 0, &block);
    other.export(0, WeightPart::Weight, 0, &mut found);
    assert_eq!(bits(&found), bits(&numbers));

    let other = random_network("012", true);
    let (other, run) = (other.tables(), tables.chunking(0).run());
    for chunk in 0..tables.chunking(0).chunks() {
        let mut values = vec![1.0; run * tables.chunking(0).runs(chunk).len()];
        tables.export_chunk((0, chunk), &mut values, run);
        other.import_chunk((0, chunk), &values, run);
    }
    other.export(0, WeightPart::Weight, 0, &mut found);
    assert_eq!(bits(&found), bits(&numbers));
}

/// Some weights, written beside those that stay: each is where `import` puts it.
#[test]
fn masked_weights_are_imported_where_all_would_be() {
    for set in ["4x6", "210 fed05a 9 048c1"] {
        let [one, other] = [random_network(set, true), random_network(set, true)];
        let (one, other) = (one.tables(), other.tables());
        for tuple in 0..one.tuples().patterns().len() {
            let weights = one.tuples().patterns()[tuple].weights();
            let all = |tables: &WeightTables<_>| {
                let mut all = vec![0.0; weights];
                tables.export(tuple, WeightPart::Weight, 0, &mut all);
                all
            };
            let mut rng = game_rng(8, tuple as u64);
            // A few blocks in a thousand have all, none, or some.
            let masks = (0..weights / 16).map(|block| match rng.below(1000) {
                n @ 0..8 => 1 << (2 * n) | 1 << n,
                8 => 0xffff,
                _ => u32::from(block == 0),
            });
            let masks: Vec<u32> = masks.collect();
            let value = |block: usize, number: usize| (block * 16 + number) as Value / 4.0;
            let mut expected = all(one);
            for (block, mask) in masks.iter().enumerate() {
                let digits = (0..16).filter(|digit| mask >> digit & 1 == 1);
                for (number, digit) in digits.enumerate() {
                    expected[16 * block + digit] = value(block, number);
                }
            }
            one.import(tuple, WeightPart::Weight, 0, &expected);
            other.import_masked(tuple, &masks, value);
            assert!(all(other) == expected, "{set}, tuple {tuple}");
            assert!(all(one) == expected, "{set}, tuple {tuple}");
        }
    }
}

/// The weight of a view for the tiles of a pattern is the one that the file has at their number.
#[test]
fn views_have_the_weights_of_the_files() {
    for set in ["4x6", "8x4", "210 fed05a 9 048c1"] {
        let network = random_network(set, true);
        let tables = network.tables();
        for (number, (name, weights)) in tables.tuples().tables().enumerate() {
            let view = tables.view(number);
            assert_eq!(view.values().pow(name.len() as u32), weights);
            let mut rng = game_rng(6, number as u64);
            for _ in 0..200 {
                let tiles: Vec<usize> = name.bytes().map(|_| rng.below(16) as usize).collect();
                let file = tiles.iter().rev().fold(0, |index, tile| 16 * index + tile);
                let mut expected = [0.0];
                tables.export(number, WeightPart::Weight, file, &mut expected);
                assert_eq!(view.weight(&tiles), expected[0], "{name} {tiles:?}");
            }
        }
    }
}
