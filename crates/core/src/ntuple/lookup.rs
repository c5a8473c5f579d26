//! The lookups of a value one by one, to be shown: the slow twin of `LookupPlan::find`.

use super::{Pattern, WeightCell, WeightTables};
use crate::Value;
use crate::game::Position;

/// One of the m weights whose sum is a value.
#[derive(Clone, Debug, PartialEq)]
pub struct Lookup {
    /// The number of the tuple.
    pub tuple: usize,
    /// The number of the symmetry, as in [`Shape::symmetries`](crate::game::Shape::symmetries).
    pub symmetry: usize,
    /// The cells of the board that it reads, in the order of the pattern.
    pub cells: Vec<usize>,
    /// The index in the table: the tiles of these cells as digits, the first one lowest.
    pub index: usize,
    /// The weight that a value adds: with weight promotion that of an earlier stage, if this one has
    /// none.
    pub weight: Value,
}

impl<C: WeightCell> WeightTables<C> {
    /// All lookups of a board: the first tuple under every symmetry, the second, ...
    ///
    /// # Panics
    /// When the board has another shape than the tuples.
    pub fn lookups_of<B: Position>(&self, board: B) -> Vec<Lookup> {
        let tuples = self.tuples();
        assert_eq!(board.shape(), tuples.shape(), "the board of the tuples");
        let mut symmetries = tuples.shape().symmetries();
        if !tuples.symmetry() {
            symmetries.truncate(1);
        }
        let first = self.plan.bank_of(board) * tuples.patterns().len();
        let mut lookups = Vec::new();
        for (tuple, pattern) in tuples.patterns().iter().enumerate() {
            for (symmetry, sources) in symmetries.iter().enumerate() {
                let cells: Vec<usize> = pattern
                    .cells()
                    .iter()
                    .map(|&cell| sources[usize::from(cell)])
                    .collect();
                let index = index(pattern, &cells, board);
                let own = self.plan.tables()[first + tuple].at(index);
                let promotion = self.plan.promotion();
                let at = promotion.map_or(own, |stage| self.holder(own, stage));
                lookups.push(Lookup {
                    tuple,
                    symmetry,
                    cells,
                    index,
                    weight: self.cells[at].weight().get(),
                });
            }
        }
        lookups
    }
}

/// The index of a tuple that reads these cells. A tile beyond the largest one that a table
/// distinguishes counts as that one.
fn index<B: Position>(pattern: &Pattern, cells: &[usize], board: B) -> usize {
    let bits = pattern.tile_bits();
    let largest = (1 << bits) - 1;
    let digits = cells.iter().enumerate();
    digits
        .map(|(place, &cell)| usize::from(board.cell(cell)).min(largest) << (bits * place))
        .sum()
}

#[cfg(test)]
mod tests {
    use crate::game::{After, ChanceState, Game, Grid, PowersOfTwo, Shape, Threes};
    use crate::ntuple::{AfterstateNetwork, NetworkOptions, Stages, Td, Trainable, TupleSet};
    use crate::random::game_rng;

    /// Learns random values, and compares the sum of the lookups with the value by the fast path,
    /// before and after each update.
    fn sums_are_values(game: &Grid, tuples: &TupleSet) {
        let network = AfterstateNetwork::new(tuples, &NetworkOptions::default()).unwrap();
        let mut rng = game_rng(3, 0);
        for number in 0..50 {
            let state = game.start(&mut rng);
            let slides = game.slides(state);
            let Some(slide) = slides.legal().nth(number % slides.legal().count().max(1)) else {
                continue;
            };
            let After(board) = slide.after();
            let check = || {
                let lookups = network.tables().lookups_of(board);
                assert_eq!(lookups.len(), network.tables().lookups());
                let sum: f32 = lookups.iter().map(|lookup| lookup.weight).sum();
                let value = network.value(After(board));
                assert!(
                    (sum - value).abs() <= 1e-3 * value.abs().max(1.0),
                    "{sum} {value}"
                );
                value
            };
            check();
            let mut at = Default::default();
            Trainable::<Grid>::locate_positions(&network, [After(board); 4], &mut at);
            let target = 10.0 * number as f32;
            Trainable::<Grid>::update::<Td>(&network, After(board), &mut at, 0, target, 1.0);
            let value = check();
            assert!(number == 0 || value != 0.0);
        }
    }

    #[test]
    fn the_sum_of_all_lookups_is_the_value() {
        let four = Grid::new(Shape::FOUR, &PowersOfTwo);
        for (patterns, symmetry) in [("012345 456789", true), ("0123 4567", false)] {
            let tuples = TupleSet::parse(patterns, Shape::FOUR, symmetry).unwrap();
            sums_are_values(&four, &tuples);
        }
        let small = Shape::new(2, 3).unwrap();
        let tuples = TupleSet::parse("012 0134", small, true).unwrap();
        sums_are_values(&Grid::new(small, &PowersOfTwo), &tuples);
    }

    #[test]
    fn the_hint_selects_the_table() {
        let game = Grid::new(Shape::FOUR, &Threes::Hint);
        let tuples = TupleSet::parse("0123", Shape::FOUR, true).unwrap();
        sums_are_values(&game, &tuples.with_hints(true));
        assert_ne!(ChanceState::HINTS, 1);
    }

    /// First games have boards with tiles 1 and 2, so that the second stage is reached.
    #[test]
    fn the_stage_selects_the_table() {
        let hints = Grid::new(Shape::FOUR, &Threes::Hint);
        let four = Grid::new(Shape::FOUR, &PowersOfTwo);
        for promotion in [true, false] {
            let stages = Stages::new(vec![1 << 2, 1 << 3], promotion);
            let tuples = TupleSet::parse("0123 456", Shape::FOUR, true).unwrap();
            let tuples = tuples.with_stages(stages);
            sums_are_values(&four, &tuples);
            sums_are_values(&hints, &tuples.with_hints(true));
        }
    }
}
