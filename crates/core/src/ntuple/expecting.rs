//! V(state) at nearly the price of V(afterstate): what the next tile will add, kept beside each weight.
//!
//! A player by V(state) chooses by r + E[V] over every new tile: some 30 children of an afterstate.
//! Each child differs from its parent in one empty cell, so in one digit of the lookups that contain
//! the cell, and what a new tile adds is a sum over lookups as V itself is. For an index i with empty
//! digits d, and new tiles k of chance p_k,
//!
//! ahead(i) = sum over d of ( sum over k of p_k w(i with k at d) - w(i) )
//!
//! E[V] = V + (sum of ahead over all lookups) / (number of empty cells)
//!
//! This holds for games whose new tile may enter any empty cell with the same chance. Choosing a move
//! reads `ahead` beside the weight, from the same cache line, instead of the weights of all children.
//! The price is paid at the update: a change of w(i) goes into `ahead` of the few indices that have an
//! empty cell where i has a new tile. Twice the memory; for R1's tuples 144 instead of 624 cache lines
//! a choice, and 5 times as many moves a second (benchmarks/).
//!
//! Two threads that write one `ahead` at the same moment lose a change, as with weights, but here
//! nothing would ever mend it. So [`Network::refresh`] works them out anew, now and then.

use std::io;

use super::{Network, Tables, TupleSet, Updated, Weight};
use crate::Value;
use crate::game::Position;
use crate::ntuple::weight::Ahead;

/// A network of states that knows the expectation over new tiles.
pub struct Expecting<W: Weight> {
    tables: Tables<Ahead<W>>,
    tiles: &'static [(u8, f64)],
}

impl<W: Weight> Expecting<W> {
    /// A network in which every position is worth `initial`, for a game with these new tiles.
    ///
    /// # Errors
    /// When the system refuses the memory.
    pub fn new(tuples: &TupleSet, initial: Value, tiles: &'static [(u8, f64)]) -> io::Result<Self> {
        // Where all weights are equal a new tile adds nothing: `ahead` is rightly 0 everywhere.
        Ok(Self {
            tables: Tables::new(tuples, initial)?,
            tiles,
        })
    }

    /// The expected value of a position after its next new tile, which may enter any of its
    /// `empty` cells.
    #[inline(always)]
    pub fn expectation<P: Position>(&self, position: P, empty: u32) -> Value {
        let (mut value, mut ahead) = (0.0, 0.0);
        position.lookups(&self.tables.plan, |_, i| {
            value += self.tables.weights[i].get();
            ahead += self.tables.weights[i].ahead();
        });
        value + ahead / empty as Value
    }

    /// Tells all that look ahead to this weight that it has changed.
    #[inline(always)]
    fn spread(&self, table: usize, ones: usize, i: usize, change: Value) {
        let weights = &self.tables.weights;
        let add = |i: usize, change: Value| weights[i].set_ahead(weights[i].ahead() + change);
        let digits = i - table;
        let zeros = digits_equal(digits, 0, ones).count_ones();
        add(i, -change * zeros as Value);
        for &(tile, chance) in self.tiles {
            let mut found = digits_equal(digits, tile, ones);
            while found != 0 {
                let lowest = found & found.wrapping_neg();
                add(i - usize::from(tile) * lowest, change * chance as Value);
                found ^= lowest;
            }
        }
    }
}

/// The lowest bit of every digit that equals `tile`.
#[inline(always)]
fn digits_equal(digits: usize, tile: u8, ones: usize) -> usize {
    let differ = digits ^ (ones * usize::from(tile));
    let any = differ | differ >> 1;
    !(any | any >> 2) & ones
}

impl<W: Weight> Network for Expecting<W> {
    type Weight = Ahead<W>;

    #[inline(always)]
    fn tables(&self) -> &Tables<Ahead<W>> {
        &self.tables
    }

    #[inline(always)]
    fn update<P: Position>(&self, position: P, target: Value, rate: Value) -> Updated {
        let lookups = self.tables.plan.lookups();
        self.tables.adjust(position, target, rate, |n, i, change| {
            let (table, ones) = lookups[n].place();
            self.spread(table, ones, i, change);
        })
    }

    fn refresh(&self) {
        for weight in self
            .tables
            .weights
            .iter()
            .filter(|weight| weight.ahead() != 0.0)
        {
            weight.set_ahead(0.0);
        }
        // The first symmetry looks up each table once.
        for lookup in &self.tables.plan.lookups()[..self.tables.tuples.patterns().len()] {
            let (table, ones) = lookup.place();
            let last = 15 * ones;
            for i in table..=table + last {
                let weight = self.tables.weights[i].get();
                if weight != 0.0 {
                    self.spread(table, ones, i, weight);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::game::{After, Board, CLASSIC_SPAWNS, Classic, Game, Shape};
    use crate::ntuple::{Coherent, Plain};
    use crate::random::game_rng;

    fn random_board(number: u64) -> Board {
        let mut rng = game_rng(4, number);
        Board::from_tiles(&std::array::from_fn(|_| {
            rng.below(10).saturating_sub(5) as u8
        }))
    }

    /// The mean over every new tile, by its definition.
    fn slow_expectation<W: Weight>(network: &Expecting<W>, after: After<Board>) -> f64 {
        let mut mean = 0.0;
        Classic::new().for_each_spawn(after, |state, chance| {
            mean += chance * f64::from(network.value(state))
        });
        mean
    }

    fn agrees<W: Weight>(network: &Expecting<W>) {
        for number in 0..500 {
            let board = random_board(number);
            let slow = slow_expectation(network, After(board));
            let fast =
                f64::from(network.expectation(After(board), board.empty_cells().count_ones()));
            assert!(
                (fast - slow).abs() < 1e-3 + 1e-5 * slow.abs(),
                "{fast} and {slow} for {board:?}"
            );
        }
    }

    fn trained<W: Weight>(set: &str, symmetry: bool) -> Expecting<W> {
        let tuples = TupleSet::parse(set, Shape::FOUR, symmetry).unwrap();
        let network = Expecting::new(&tuples, 50.0, &CLASSIC_SPAWNS).unwrap();
        for number in 0..3000 {
            network.update(
                random_board(number % 700),
                (number % 13) as Value * 20.0,
                0.5,
            );
        }
        network
    }

    #[test]
    fn the_expectation_follows_every_update() {
        agrees(&trained::<Plain>("01256 0145 048c 4589 9", true));
        agrees(&trained::<Plain>("31 02468", false));
        agrees(&trained::<Coherent>("0123 4567", true));
    }

    #[test]
    fn a_refresh_mends_what_was_lost() {
        let network = trained::<Plain>("0123 4567", true);
        for weight in network.tables.weights.iter() {
            weight.set_ahead(weight.ahead() + 1000.0);
        }
        network.refresh();
        agrees(&network);
    }

    #[test]
    fn digits_are_found() {
        assert_eq!(digits_equal(0x1021, 1, 0x1111), 0x1001);
        assert_eq!(digits_equal(0x1021, 0, 0x1111), 0x0100);
        assert_eq!(digits_equal(0x0, 0, 0x111), 0x111);
        assert_eq!(digits_equal(0xF2F2, 2, 0x1111), 0x0101);
    }
}
