//! The n-tuple network: a value is the sum of one weight from each table, looked up by the tiles
//! that a tuple of cells shows, once for every symmetry of the board.
//!
//! V(p) = sum over symmetries s and tuples t of w_t[ tiles of s(p) in the cells of t ]
//!
//! m, the number of lookups of one value, is what a learning rate is divided by. Threads share a
//! network without locks: weights are relaxed atomics, and a lost update now and then is accepted.

mod expecting;
mod layout;
mod pattern;
mod plan;
mod weight;

use std::io;
use std::ops::Add;

pub use expecting::Expecting;
pub(crate) use layout::Tiling;
pub use pattern::{NAMED_SETS, Pattern, TupleSet, TupleSetError};
pub use plan::Plan;
pub use weight::{Ahead, Cell, Coherent, Plain, Weight};

use crate::Value;
use crate::game::Position;
use crate::machine::{Cpu, Slab, Zeroed};
pub use crate::machine::{Found, Indices, Number};

/// Values of positions, and how they are moved.
///
/// The work is in two steps, so that the first is done once and the second can wait for its memory:
/// [`Network::find`] turns positions into indices, and the others use the weights there. With all four
/// afterstates [prefetched](Found::prefetch) before the first is summed, their cache misses are waited
/// for together.
pub trait Network: Send + Sync {
    /// What its tables are made of.
    type Weight: Weight;

    /// The tables behind the values.
    fn tables(&self) -> &Tables<Self::Weight>;

    /// Moves the value of a position, whose weights are in a lane of `at`, towards a target: each weight
    /// by its share of the rate.
    fn update<P: Position>(
        &self,
        position: P,
        at: &mut Indices,
        lane: usize,
        target: Value,
        rate: Value,
    ) -> Updated;

    /// Works out anew whatever is derived from the weights: after reading them, and now and then
    /// when several threads write.
    fn refresh(&self) {}

    /// Finds the weights of four positions.
    #[inline(always)]
    fn find<P: Position>(&self, positions: [P; 4], found: &mut Indices) {
        P::indices(positions, &self.tables().plan, found);
    }

    /// The weights at these places.
    #[inline(always)]
    fn cells<'n>(&'n self, at: &'n Indices) -> Cells<'n, Self> {
        self.tables().cells.at(at)
    }

    /// Asks the processor for everything that an update will change soon.
    #[inline(always)]
    fn prefetch_update(&self, at: &Indices, lane: usize) {
        let Tables { cells, sums, .. } = self.tables();
        cells.at(at).prefetch_to_write(lane);
        if size_of::<<Self::Weight as Weight>::Sums>() > 0 {
            sums.at(at).prefetch_to_write(lane);
        }
    }

    /// The value of a position.
    fn value<P: Position>(&self, position: P) -> Value {
        let mut at = Indices::default();
        self.find([position; 4], &mut at);
        value(self.cells(&at), 0)
    }
}

/// The weights of four positions in a network.
pub type Cells<'n, N> = Found<'n, <<N as Network>::Weight as Weight>::Cell>;

/// The value of the position in this lane.
#[inline(always)]
pub fn value<C: Cell>(cells: Found<'_, C>, lane: usize) -> Value {
    sum(cells.lane(lane), |sum, cell| C::added_to(cell, sum))
}

/// Adds up in four sums side by side: an addition waits for the one before it, and 32 in a row would
/// take longer than the weights do to arrive. What is left over after fours has a sum of its own.
#[inline(always)]
fn sum<S: Copy + Default + Add<Output = S>, T>(
    (eights, rest): (
        impl Iterator<Item = [T; 8]>,
        impl ExactSizeIterator<Item = T>,
    ),
    mut add: impl FnMut(S, T) -> S,
) -> S {
    let mut sums = [S::default(); 4];
    for eight in eights {
        for (k, one) in eight.into_iter().enumerate() {
            sums[k % 4] = add(sums[k % 4], one);
        }
    }
    let mut last = S::default();
    let fours = rest.len() & !3;
    for (k, one) in rest.enumerate() {
        let sum = if k < fours { &mut sums[k] } else { &mut last };
        *sum = add(*sum, one);
    }
    (sums[0] + sums[1]) + (sums[2] + sums[3]) + last
}

/// Tables of weights with the plan that finds them.
pub struct Tables<W: Weight> {
    tuples: TupleSet,
    plan: Plan,
    /// What choosing a move reads of each weight.
    cells: Slab<W::Cell>,
    /// What only an update needs of it.
    sums: Slab<W::Sums>,
}

/// Tables are two blocks of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Block {
    /// What choosing a move reads of each weight.
    Cells,
    /// What only an update needs.
    Sums,
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
        Self::on(Cpu::best(), tuples, initial)
    }

    /// The same with a choice of instructions; they change the speed and no result.
    ///
    /// # Errors
    /// When the system refuses the memory.
    pub fn on(cpu: Cpu, tuples: &TupleSet, initial: Value) -> io::Result<Self> {
        let len = usize::try_from(tuples.weights()).map_err(io::Error::other)?;
        let tables = Self {
            tuples: tuples.clone(),
            plan: Plan::new(tuples, cpu),
            cells: Slab::zeroed(len)?,
            sums: Slab::zeroed(len)?,
        };
        if initial != 0.0 {
            let share = initial / tables.active() as Value;
            tables
                .cells
                .iter()
                .for_each(|cell| cell.weight().set(share));
        }
        Ok(tables)
    }

    /// The memory a network of these tuples takes, in bytes.
    pub fn bytes(tuples: &TupleSet) -> u64 {
        let each = size_of::<W::Cell>() + size_of::<W::Sums>();
        tuples.weights().saturating_mul(each as u64)
    }

    /// The tuples it was made for.
    pub fn tuples(&self) -> &TupleSet {
        &self.tuples
    }

    /// The number of lookups of one value.
    pub fn active(&self) -> usize {
        self.plan.lookups()
    }

    /// Copies numbers out of the table of a tuple, in the order of files: from the one whose tiles,
    /// read as digits with the tuple's first cell lowest, make `from`.
    ///
    /// # Panics
    /// When the table ends before `out` is full.
    pub fn export(&self, tuple: usize, part: usize, from: usize, out: &mut [Value]) {
        let table = &self.plan.tables()[tuple];
        table.each_at(from, out.len(), |k, at| out[k] = self.part(at, part).get());
    }

    /// The opposite of [`Tables::export`]. Zeros are skipped: they are there already in new tables, and
    /// writing them would only take up memory.
    ///
    /// # Panics
    /// When the table ends before the last of `values`.
    pub fn import(&self, tuple: usize, part: usize, from: usize, values: &[Value]) {
        let table = &self.plan.tables()[tuple];
        table.each_at(from, values.len(), |k, at| {
            if values[k] != 0.0 {
                self.part(at, part).set(values[k]);
            }
        });
    }

    /// How the table of a tuple is cut into tiles.
    pub(crate) fn tiling(&self, tuple: usize) -> &Tiling {
        self.plan.tables()[tuple].tiling()
    }

    /// Copies the weights of a tile out of the table of a tuple; run n begins at `n * stride` of `out`.
    pub(crate) fn export_tile(
        &self,
        (tuple, tile): (usize, usize),
        out: &mut [Value],
        stride: usize,
    ) {
        let cells = &self.cells[..];
        self.plan.tables()[tuple].each_in_tile(tile, |run, k, place| {
            out[run * stride + k] = cells[place].weight().get();
        });
    }

    /// The opposite, which skips zeros as [`Tables::import`] does.
    pub(crate) fn import_tile(
        &self,
        (tuple, tile): (usize, usize),
        values: &[Value],
        stride: usize,
    ) {
        let cells = &self.cells[..];
        self.plan.tables()[tuple].each_in_tile(tile, |run, k, place| {
            let value = values[run * stride + k];
            if value != 0.0 {
                cells[place].weight().set(value);
            }
        });
    }

    /// The numbers of a block of memory, in its order.
    pub(crate) fn block(&self, block: Block) -> &[Number] {
        match block {
            Block::Cells => Zeroed::numbers(&self.cells),
            Block::Sums => Zeroed::numbers(&self.sums),
        }
    }

    /// What that order is, in a few words.
    pub(crate) fn order(&self) -> String {
        self.plan.order()
    }

    #[inline(always)]
    fn part(&self, at: usize, part: usize) -> &Number {
        W::part(&self.cells[at], &self.sums[at], part)
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
    fn update<P: Position>(
        &self,
        _: P,
        at: &mut Indices,
        lane: usize,
        target: Value,
        rate: Value,
    ) -> Updated {
        let cells = self.cells(at);
        let delta = target - value(cells, lane);
        let step = rate / self.active() as Value;
        let value = sum(cells.lane_with(&self.sums, lane), |sum, (cell, sums)| {
            sum + W::adjust(cell.get().weight(), sums.get(), delta, step).1
        });
        Updated { value, delta }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::game::{Board, GridBoard, Shape};
    use crate::random::game_rng;

    fn random_network(set: &str, symmetry: bool) -> Tables<Plain> {
        let tuples = TupleSet::parse(set, Shape::FOUR, symmetry).unwrap();
        let network: Tables<Plain> = Tables::new(&tuples, 0.0).unwrap();
        let mut rng = game_rng(3, 3);
        for cell in &network.cells[..] {
            Number::set(cell, rng.below(1000) as Value / 8.0);
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

    /// Any tiles, up to those that all look like 15 to a network.
    fn wild_board(number: u64) -> Board {
        let mut rng = game_rng(5, number);
        Board::from_tiles(&std::array::from_fn(|_| match number {
            0 => 15,
            _ => rng.below(18) as u8,
        }))
    }

    /// The sets make pairs and tuples alone of one shift to many.
    #[test]
    fn every_processor_and_the_slow_board_look_up_the_same() {
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
                    let plan = Plan::new(&tuples, cpu);
                    for number in 0..200 {
                        let boards = [0, 1, 2, 3].map(|lane| wild_board(4 * number + lane));
                        let (mut fast, mut slow) = (Indices::default(), Indices::default());
                        Board::indices(boards, &plan, &mut fast);
                        GridBoard::indices(boards.map(Board::to_grid), &plan, &mut slow);
                        assert_eq!(fast.all(), slow.all(), "{cpu} {set} {boards:?}");
                    }
                }
            }
        }
    }

    /// Against a sum as one would write it down, in the order that is promised: four side by side, and what
    /// is left over.
    #[test]
    fn sums_of_any_number_of_weights() {
        let mut tuples: Vec<String> = (0..16).map(|cell| format!("{cell:x}")).collect();
        tuples.push("01".to_owned());
        for count in 1..=tuples.len() {
            let set = tuples[..count].join(" ");
            let network = random_network(&set, false);
            let board = wild_board(7);
            let mut at = Indices::default();
            network.find([random_board(1), board, board, board], &mut at);
            let weights: Vec<Value> = at.all().iter().map(|i| network.cells[i[1]].get()).collect();
            assert_eq!(weights.len(), count);
            let mut sums = [0.0; 4];
            for (k, weight) in weights.iter().enumerate().take(count & !3) {
                sums[k % 4] += weight;
            }
            let left: Value = weights[count & !3..]
                .iter()
                .fold(0.0, |sum, weight| sum + weight);
            let expected = (sums[0] + sums[1]) + (sums[2] + sums[3]) + left;
            assert_eq!(
                value(network.cells(&at), 1).to_bits(),
                expected.to_bits(),
                "{set}"
            );

            // An update moves each of them by its share, and finds what it has made.
            let updated = network.update(board, &mut at, 1, expected + 8.0 * count as Value, 1.0);
            assert_eq!(
                updated.value.to_bits(),
                value(network.cells(&at), 1).to_bits()
            );
            let moved = |(i, before): (&[usize; 4], &Value)| network.cells[i[1]].get() - before;
            let moves: Vec<Value> = at.all().iter().zip(&weights).map(moved).collect();
            assert!(
                moves.iter().all(|moved| (moved - 8.0).abs() < 1e-3),
                "{moves:?}"
            );
        }
    }

    #[test]
    fn what_is_exported_is_what_a_position_finds() {
        let network = random_network("3210 0125 45 6", false);
        for (n, pattern) in network.tuples().patterns().iter().enumerate() {
            let mut table = vec![0.0; pattern.weights()];
            network.export(n, 0, 0, &mut table);
            let single = TupleSet::parse(&pattern.to_string(), Shape::FOUR, false).unwrap();
            let alone: Tables<Plain> = Tables::new(&single, 0.0).unwrap();
            let (first, rest) = table.split_at(7);
            alone.import(0, 0, 0, first);
            alone.import(0, 0, 7, rest);
            for number in 0..100 {
                let board = random_board(number);
                let digits = pattern.cells().iter().rev();
                let file = digits.fold(0, |i, &c| 16 * i + usize::from(board.cell(c.into())));
                assert_eq!(alone.value(board), table[file]);
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
        network.find([board; 4], &mut at);
        assert_eq!(
            network.update(board, &mut at, 2, 10.0, 0.5),
            Updated {
                value: 5.0,
                delta: 10.0
            }
        );
        let mut weights = [0.0; 16];
        network.export(0, 0, 0, &mut weights);
        assert_eq!(
            weights,
            std::array::from_fn(|i| if i == 1 { 2.5 } else { 0.0 })
        );
        network.export(1, 0, 0, &mut weights);
        assert_eq!(
            weights,
            std::array::from_fn(|i| if i == 2 { 2.5 } else { 0.0 })
        );
        assert_eq!(network.value(board), 5.0);
    }

    #[test]
    fn an_initial_value_is_spread_over_the_lookups() {
        let tuples = TupleSet::parse("0123 4567", Shape::FOUR, true).unwrap();
        let network: Tables<Coherent> = Tables::new(&tuples, 320.0).unwrap();
        assert_eq!(network.value(random_board(9)), 320.0);
    }
}
