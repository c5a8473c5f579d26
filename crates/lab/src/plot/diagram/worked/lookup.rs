//! The lookup of a tuple on a board, an update of its weights, and the sizes of tables.

use afterstate::Value;
use afterstate::game::{After, Board, Fast2048, Position, Shape};
use afterstate::ntuple::{AfterstateNetwork, NetworkError, NetworkOptions, Td, WeightPart};

use super::{Row, tuples, update};

/// A digit of an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::plot) struct Digit {
    /// The cell on the board.
    pub cell: usize,
    /// Its tile's index: 10 for 1024.
    pub tile: u8,
    /// 16 to the power of its place.
    pub power: u64,
}

impl Digit {
    pub fn product(self) -> u64 {
        u64::from(self.tile) * self.power
    }
}

/// A tuple under one symmetry of a board.
#[derive(Clone, Debug)]
pub(in crate::plot) struct Lookup {
    pub digits: Vec<Digit>,
    pub index: u64,
    pub weight: Value,
}

/// All lookups of a tuple on a board, and the value by the network.
#[derive(Clone, Debug)]
pub(in crate::plot) struct Lookups {
    pub board: Board,
    pub pattern: String,
    pub lookups: Vec<Lookup>,
    pub value: Value,
}

/// The board of the README, for a 6-tuple.
const BOARD: [u8; 16] = [10, 9, 3, 1, 8, 6, 2, 0, 1, 0, 0, 0, 0, 1, 0, 0];
/// The weights that its lookups find.
const WEIGHTS: [Value; 8] = [3100.0, 840.0, -25.5, 12.0, 2950.0, -140.0, 365.0, 4.5];

/// Looks up a tuple under all symmetries. Weights are set at the indices of the arithmetic; the
/// network then finds them by its own code.
pub(in crate::plot) fn lookups() -> Result<Lookups, NetworkError> {
    let (network, lookups) = lookup_network()?;
    let board = Board::from_tiles(&BOARD);
    let pattern = &network.tables().tuples().patterns()[0];
    Ok(Lookups {
        board,
        pattern: pattern.to_string(),
        lookups,
        value: network.value(After(board)),
    })
}

fn lookup_network() -> Result<(AfterstateNetwork, Vec<Lookup>), NetworkError> {
    let tuples = tuples("012345", Shape::FOUR, true);
    let pattern = &tuples.patterns()[0];
    let network = AfterstateNetwork::new(&tuples, &NetworkOptions::default())?;
    let board = Board::from_tiles(&BOARD);
    let mut lookups = Vec::new();
    for (sources, set) in Shape::FOUR.symmetries().into_iter().zip(WEIGHTS) {
        let digit = |(place, &cell): (usize, &u8)| {
            let cell = sources[usize::from(cell)];
            Digit {
                cell,
                tile: board.cell(cell),
                power: 16_u64.pow(place as u32),
            }
        };
        let digits: Vec<Digit> = pattern.cells().iter().enumerate().map(digit).collect();
        let index: u64 = digits.iter().map(|digit| digit.product()).sum();
        let tables = network.tables();
        tables.import(0, WeightPart::Weight, index as usize, &[set]);
        let mut found = [0.0];
        tables.export(0, WeightPart::Weight, index as usize, &mut found);
        let [weight] = found;
        lookups.push(Lookup {
            digits,
            index,
            weight,
        });
    }
    Ok((network, lookups))
}

/// One update of the board of the lookups.
#[derive(Clone, Copy, Debug)]
pub(in crate::plot) struct LookupUpdate {
    pub row: Row,
    pub learning_rate: Value,
    pub lookups: usize,
    /// The change of each weight.
    pub step: Value,
}

/// Moves the value of that board towards a target, each weight by its share.
pub(in crate::plot) fn lookup_update() -> Result<LookupUpdate, NetworkError> {
    let (network, _) = lookup_network()?;
    let board = After(Board::from_tiles(&BOARD));
    let before = network.value(board);
    let (target, learning_rate) = (before + 64.0, 0.1);
    let updated = update::<Fast2048, _, Td>(&network, board, target, learning_rate);
    let index = lookups()?.lookups[0].index as usize;
    let mut weight = [0.0];
    network
        .tables()
        .export(0, WeightPart::Weight, index, &mut weight);
    Ok(LookupUpdate {
        row: Row {
            value: before,
            target,
            delta: updated.delta,
            after: updated.value,
        },
        learning_rate,
        lookups: network.tables().lookups(),
        step: weight[0] - WEIGHTS[0],
    })
}

/// Weights and bytes of tables.
#[derive(Clone, Debug)]
pub(in crate::plot) struct TableSize {
    pub label: String,
    pub cells: usize,
    pub tables: usize,
    pub weights: u128,
}

impl TableSize {
    /// Four bytes a weight.
    pub fn bytes(&self) -> u128 {
        self.weights * size_of::<Value>() as u128
    }
}

/// Tables of 1 to 8 cells, a set, and a table of the whole board.
pub(in crate::plot) fn table_sizes() -> Vec<TableSize> {
    let of = |label: &str, patterns: &str| {
        let set = tuples(patterns, Shape::FOUR, true);
        TableSize {
            label: label.to_owned(),
            cells: set.patterns()[0].cells().len(),
            tables: set.patterns().len(),
            weights: u128::from(set.weights()),
        }
    };
    vec![
        of("one 2-tuple", "01"),
        of("one 4-tuple", "0123"),
        of("one 5-tuple", "01234"),
        of("one 6-tuple", "012345"),
        of("4x6: four 6-tuples", "4x6"),
        of("8x6: eight 6-tuples", "8x6"),
        of("one 7-tuple", "0123456"),
        of("one 8-tuple", "01234567"),
        TableSize {
            label: "the whole board".to_owned(),
            cells: 16,
            tables: 1,
            weights: 16_u128.pow(16),
        },
    ]
}
