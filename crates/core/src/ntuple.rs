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

/// The places of a position's weights in all tables, worked out once for several uses.
#[derive(Clone, Debug, Default)]
pub struct Indices {
    at: Vec<usize>,
    /// Room for what an update changes at each of them.
    change: Vec<Value>,
}

/// Values of positions, and how they are moved.
///
/// The work is in two steps, so that the first is done once and the second can wait for its memory:
/// [`Network::find`] turns a position into indices, [`Network::prefetch`] asks for the weights there,
/// and the others use them.
pub trait Network: Send + Sync {
    /// What its tables are made of.
    type Weight: Weight;

    /// The tables behind the values.
    fn tables(&self) -> &Tables<Self::Weight>;

    /// Moves the value of a position, whose weights are at `at`, towards a target: each weight by its
    /// share of the rate.
    fn update<P: Position>(
        &self,
        position: P,
        at: &mut Indices,
        target: Value,
        rate: Value,
    ) -> Updated;

    /// Works out anew whatever is derived from the weights: after reading them, and now and then
    /// when several threads write.
    fn refresh(&self) {}

    /// Finds the weights of a position.
    #[inline(always)]
    fn find<P: Position>(&self, position: P, found: &mut Indices) {
        let tables = self.tables();
        found.at.resize(tables.active(), 0);
        position.indices(&tables.plan, &mut found.at);
    }

    /// Asks the processor for weights that will be used soon. With all four afterstates asked for
    /// before the first is summed, their cache misses are waited for together.
    #[inline(always)]
    fn prefetch(&self, at: &Indices) {
        at.at
            .iter()
            .for_each(|&i| self.tables().weights.prefetch(i));
    }

    /// The value at these indices.
    #[inline(always)]
    fn value_at(&self, at: &Indices) -> Value {
        let weights = &self.tables().weights[..];
        sum(&at.at, |i| weights[i].get())
    }

    /// The value of a position.
    fn value<P: Position>(&self, position: P) -> Value {
        let mut at = Indices::default();
        self.find(position, &mut at);
        self.value_at(&at)
    }
}

/// Adds up in four sums side by side: an addition waits for the one before it, and 32 in a row would
/// take longer than the weights do to arrive.
#[inline(always)]
fn sum(indices: &[usize], mut of: impl FnMut(usize) -> Value) -> Value {
    let (fours, rest) = indices.as_chunks::<4>();
    let mut sums = [0.0; 4];
    for four in fours {
        for k in 0..4 {
            sums[k] += of(four[k]);
        }
    }
    let rest = rest.iter().fold(0.0, |sum, &i| sum + of(i));
    (sums[0] + sums[1]) + (sums[2] + sums[3]) + rest
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
    /// The value afterwards: the sum of what each lookup left behind. Where two lookups share a
    /// weight, the first has not seen what the second did.
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

    /// Copies numbers out of the table of a tuple, in the order of files: from the one whose tiles,
    /// read as digits with the tuple's first cell lowest, make `from`.
    ///
    /// # Panics
    /// When the table ends before `out` is full.
    pub fn export(&self, tuple: usize, part: usize, from: usize, out: &mut [Value]) {
        let (_, table) = self.each().nth(tuple).expect("a tuple of this set");
        for (weight, out) in table[from..from + out.len()].iter().zip(out) {
            *out = weight.part(part);
        }
    }

    /// The opposite of [`Tables::export`]. Zeros are skipped: they are there already in new tables, and
    /// writing them would only take up memory.
    ///
    /// # Panics
    /// When the table ends before the last of `values`.
    pub fn import(&self, tuple: usize, part: usize, from: usize, values: &[Value]) {
        let (_, table) = self.each().nth(tuple).expect("a tuple of this set");
        for (weight, &value) in table[from..from + values.len()].iter().zip(values) {
            if value != 0.0 {
                weight.set_part(part, value);
            }
        }
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
}

impl<W: Weight> Network for Tables<W> {
    type Weight = W;

    #[inline(always)]
    fn tables(&self) -> &Self {
        self
    }

    /// Where a board is its own mirror image, a weight is found, and adjusted, more than once.
    #[inline(always)]
    fn update<P: Position>(&self, _: P, at: &mut Indices, target: Value, rate: Value) -> Updated {
        let weights = &self.weights[..];
        let delta = target - self.value_at(at);
        let step = rate / self.active() as Value;
        let value = sum(&at.at, |i| weights[i].adjust(delta, step).1);
        Updated { value, delta }
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
                let (mut fast, mut slow) =
                    (vec![0; plan.lookups().len()], vec![0; plan.lookups().len()]);
                board.indices(&plan, &mut fast);
                board.to_grid().indices(&plan, &mut slow);
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
        let mut at = Indices::default();
        network.find(board, &mut at);
        assert_eq!(
            network.update(board, &mut at, 10.0, 0.5),
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
