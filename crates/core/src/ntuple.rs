//! The n-tuple network: a value is the sum of one weight from each table, looked up by the tiles
//! that a tuple of cells shows, once for every symmetry of the board.
//!
//! V(p) = sum over symmetries s and tuples t of w_t[ tiles of s(p) in the cells of t ]
//!
//! m, the number of lookups of one value, is what a learning rate is divided by. Threads share a
//! network without locks: weights are relaxed atomics, and a lost update now and then is accepted.

mod expecting;
mod memory;
mod pattern;
mod plan;
mod weight;

use std::io;

pub use expecting::Expecting;
pub use pattern::{NAMED_SETS, Pattern, TupleSet, TupleSetError};
pub use plan::{Gather, Lookup, Plan};
pub use weight::{Ahead, Coherent, Plain, Weight};

use crate::Value;
use crate::game::Position;
use memory::Slab;

/// Values of positions, and how they are moved.
pub trait Network: Send + Sync {
    /// What its tables are made of.
    type Weight: Weight;

    /// The tables behind the values.
    fn tables(&self) -> &Tables<Self::Weight>;

    /// The value of a position.
    #[inline(always)]
    fn value<P: Position>(&self, position: P) -> Value {
        self.tables().value_of(position)
    }

    /// Works out anew whatever is derived from the weights: after reading them, and now and then
    /// when several threads write.
    fn refresh(&self) {}

    /// Asks the processor for the weights of a position that will be valued soon. With all four
    /// afterstates asked for before the first is summed, their cache misses are waited for together.
    #[inline(always)]
    fn prefetch<P: Position>(&self, position: P) {
        self.tables().prefetch_of(position);
    }

    /// Moves the value of a position towards a target, each weight by its share of the rate.
    fn update<P: Position>(&self, position: P, target: Value, rate: Value) -> Updated;
}

/// Tables of weights with the plan that finds them.
pub struct Tables<W: Weight> {
    tuples: TupleSet,
    plan: Plan,
    weights: Slab<W>,
}

/// What one update came to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Updated {
    /// The value afterwards.
    pub value: Value,
    /// Target minus the value before.
    pub delta: Value,
}

impl<W: Weight> Tables<W> {
    /// Tables in which every position is worth `initial`. Memory comes zeroed from the system, in
    /// huge pages where it has them, and is only taken up as weights are written.
    ///
    /// # Errors
    /// When the system refuses the memory.
    pub fn new(tuples: &TupleSet, initial: Value) -> io::Result<Self> {
        let plan = Plan::new(tuples);
        let len = usize::try_from(tuples.weights()).map_err(io::Error::other)?;
        let tables = Self {
            tuples: tuples.clone(),
            plan,
            weights: Slab::zeroed(len)?,
        };
        if initial != 0.0 {
            let share = initial / tables.active() as Value;
            tables
                .weights
                .iter()
                .for_each(|weight| weight.set_part(0, share));
        }
        Ok(tables)
    }

    /// The memory a network of these tuples takes, in bytes.
    pub fn bytes(tuples: &TupleSet) -> u64 {
        tuples.weights().saturating_mul(size_of::<W>() as u64)
    }

    /// The tuples it was made for.
    pub fn tuples(&self) -> &TupleSet {
        &self.tuples
    }

    /// The number of lookups of one value.
    pub fn active(&self) -> usize {
        self.plan.lookups().len()
    }

    /// Each tuple with its table.
    pub fn each(&self) -> impl Iterator<Item = (&Pattern, &[W])> {
        let mut rest = &self.weights[..];
        self.tuples.patterns().iter().map(move |pattern| {
            let (table, others) = rest.split_at(pattern.weights());
            rest = others;
            (pattern, table)
        })
    }

    /// Asks for the weights of a position that will be valued soon.
    #[inline(always)]
    fn prefetch_of<P: Position>(&self, position: P) {
        position.lookups(&self.plan, |_, i| self.weights.prefetch(i));
    }

    #[inline(always)]
    fn value_of<P: Position>(&self, position: P) -> Value {
        let mut sum = 0.0;
        position.lookups(&self.plan, |_, i| sum += self.weights[i].get());
        sum
    }

    /// Adjusts every weight of a position; `changed` hears of each lookup's number and index and
    /// of the change. Where a board is its own mirror image, a weight is looked up,
    /// and adjusted, more than once.
    #[inline(always)]
    fn adjust<P: Position>(
        &self,
        position: P,
        target: Value,
        rate: Value,
        mut changed: impl FnMut(usize, usize, Value),
    ) -> Updated {
        let delta = target - self.value_of(position);
        let step = rate / self.active() as Value;
        let mut value = 0.0;
        position.lookups(&self.plan, |n, i| {
            let before = self.weights[i].get();
            let after = self.weights[i].adjust(delta, step);
            value += after;
            changed(n, i, after - before);
        });
        Updated { value, delta }
    }
}

impl<W: Weight> Network for Tables<W> {
    type Weight = W;

    #[inline(always)]
    fn tables(&self) -> &Self {
        self
    }

    #[inline(always)]
    fn update<P: Position>(&self, position: P, target: Value, rate: Value) -> Updated {
        self.adjust(position, target, rate, |_, _, _| {})
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::game::{Board, Shape};
    use crate::random::game_rng;

    fn random_network(set: &str, symmetry: bool) -> Tables<Plain> {
        let tuples = TupleSet::parse(set, Shape::FOUR, symmetry).unwrap();
        let network = Tables::new(&tuples, 0.0).unwrap();
        let mut rng = game_rng(3, 3);
        for (_, table) in network.each() {
            table
                .iter()
                .for_each(|w: &Plain| w.set_part(0, rng.below(1000) as Value / 8.0));
        }
        network
    }

    /// Cells that hold few tiles, so that most are empty or small.
    fn random_board(number: u64) -> Board {
        let mut rng = game_rng(4, number);
        Board::from_tiles(&std::array::from_fn(|_| {
            rng.below(12).saturating_sub(4) as u8
        }))
    }

    #[test]
    fn the_fast_board_looks_up_what_the_slow_one_does() {
        for (set, symmetry) in [
            ("4x6", true),
            ("8x4", false),
            ("210 fed05a 9 048c1 43527816", true),
        ] {
            let plan = Plan::new(&TupleSet::parse(set, Shape::FOUR, symmetry).unwrap());
            for number in 0..200 {
                let board = random_board(number);
                let (mut fast, mut slow) = (Vec::new(), Vec::new());
                board.lookups(&plan, |n, i| fast.push((n, i)));
                board.to_grid().lookups(&plan, |n, i| slow.push((n, i)));
                assert_eq!(fast, slow, "{set} {board:?}");
            }
        }
    }

    #[test]
    fn a_symmetric_network_values_images_alike() {
        let network = random_network("01256 0145 4589a", true);
        let board = random_board(1);
        for symmetry in Shape::FOUR.symmetries() {
            let image = Board::from_tiles(&std::array::from_fn(|i| board.cell(symmetry[i])));
            assert!((network.value(image) - network.value(board)).abs() < 0.1);
        }
    }

    #[test]
    fn an_update_moves_the_value_by_its_share() {
        // Two tuples, no symmetry: m = 2. V = 0, target 10, rate 0.5: each weight gains 2.5.
        let tuples = TupleSet::parse("0 15", Shape::FOUR, false).unwrap();
        let network: Tables<Plain> = Tables::new(&tuples, 0.0).unwrap();
        let board = Board::from_packed(0x21);
        assert_eq!(
            network.update(board, 10.0, 0.5),
            Updated {
                value: 5.0,
                delta: 10.0
            }
        );
        let tables: Vec<_> = network.each().map(|(_, table)| table).collect();
        assert_eq!(tables[0][1].get(), 2.5);
        assert_eq!(tables[1][2].get(), 2.5);
        assert_eq!(network.value(board), 5.0);
    }

    #[test]
    fn an_initial_value_is_spread_over_the_lookups() {
        let tuples = TupleSet::parse("0123 4567", Shape::FOUR, true).unwrap();
        let network: Tables<Coherent> = Tables::new(&tuples, 320.0).unwrap();
        assert_eq!(network.value(random_board(9)), 320.0);
    }
}
