//! The weights of all tuples, with the plan that finds them.

mod fold;
mod promotion;

use std::ops::Add;

use super::fold::Fold;
use super::rule::{Sums, UpdateRule, WeightCell};
use super::{Chunking, LookupPlan, NetworkError, NetworkOptions, TupleSet};
use crate::Value;
use crate::game::{After, Position, Slides};
use crate::machine::{AtomicF32, AtomicF32x2, Indices, WeightMemory, WeightView, Zeroed};
use crate::ntuple::Updated;

/// Tables of weights. `C` is the part of each weight that choosing a move reads.
pub struct WeightTables<C: WeightCell = AtomicF32> {
    tuples: TupleSet,
    pub(super) plan: LookupPlan,
    pub(super) cells: WeightMemory<C>,
    pub(super) sums: Sums,
    /// How redundant tuples become part of the others in a model.
    folds: Vec<Fold>,
}

/// The weights of one tuple where they lie in memory, as an array with an axis for each cell of the
/// pattern: see [`WeightTables::view`].
pub struct TableView<'t, C: WeightCell> {
    cells: &'t [C],
    strides: Vec<usize>,
    values: usize,
}

impl<C: WeightCell> TableView<'_, C> {
    /// The length of each axis: the number of tiles that the table distinguishes.
    pub fn values(&self) -> usize {
        self.values
    }

    /// For each axis, the distance in bytes of weights that differ by one tile.
    pub fn strides(&self) -> Vec<usize> {
        let bytes = self.strides.iter().map(|stride| stride * size_of::<C>());
        bytes.collect()
    }

    /// The weight for these tiles in the cells of the pattern.
    ///
    /// # Panics
    /// When a tile is too large, or their number is not that of the cells.
    pub fn weight(&self, tiles: &[usize]) -> Value {
        assert_eq!(tiles.len(), self.strides.len(), "a tile for each cell");
        assert!(tiles.iter().all(|&tile| tile < self.values));
        let places = tiles.iter().zip(&self.strides);
        let place = places.map(|(tile, stride)| tile * stride).sum::<usize>();
        self.cells[place].weight().get()
    }

    /// The address of the first weight, for programs in other languages that share this memory. It is
    /// valid as long as the tables are, and threads may change the weights at any time.
    pub fn address(&self) -> usize {
        std::ptr::from_ref(self.cells[0].weight()).expose_provenance()
    }
}

/// A number that belongs to a weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WeightPart {
    /// The weight itself.
    Weight,
    /// E of TC: the sum of its errors.
    ErrorSum,
    /// A of TC: the sum of their absolute values.
    AbsoluteSum,
    /// For a network of states: the expected change of value by the next spawn.
    ExpectedChange,
}

/// The memory of one kind of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MemoryBlock {
    /// What choosing a move reads of each weight.
    Cells,
    /// What only an update needs.
    Sums,
}

impl<C: WeightCell> WeightTables<C> {
    /// Creates tables. The system provides zeroed memory, in huge pages where it can, and commits
    /// it only as weights are written.
    ///
    /// # Errors
    /// When the system refuses the memory.
    pub fn new(tuples: &TupleSet, options: &NetworkOptions) -> Result<Self, NetworkError> {
        let bytes = Self::bytes(tuples, options.coherence);
        let refused = |source| NetworkError::Memory { bytes, source };
        let len = usize::try_from(tuples.weights()).map_err(std::io::Error::other);
        let len = len.map_err(refused)?;
        let coherence = options.coherence.then(|| WeightMemory::zeroed(len));
        let tables = Self {
            tuples: tuples.clone(),
            // `with_redundant` has refused tuples that cannot be folded.
            folds: tuples.folds().unwrap_or_default(),
            plan: LookupPlan::new(tuples, options.cpu),
            cells: WeightMemory::zeroed(len).map_err(refused)?,
            sums: Sums {
                none: WeightMemory::zeroed(len).map_err(refused)?,
                coherence: coherence.transpose().map_err(refused)?,
            },
        };
        if options.initial_value != 0.0 {
            let share = options.initial_value / tables.lookups() as Value;
            // Weights of later stages start from these.
            let first = tables.plan.promotion().unwrap_or(len);
            let weights = tables.cells[..first].iter().map(C::weight);
            weights.for_each(|weight| weight.set(share));
        }
        Ok(tables)
    }

    /// The size in bytes of tables for these tuples, with or without the sums of TC.
    pub fn bytes(tuples: &TupleSet, coherence: bool) -> u64 {
        let sums = if coherence {
            size_of::<AtomicF32x2>()
        } else {
            0
        };
        tuples
            .weights()
            .saturating_mul((size_of::<C>() + sums) as u64)
    }

    /// The tuples they belong to.
    pub fn tuples(&self) -> &TupleSet {
        &self.tuples
    }

    /// The number of lookups of one value: m.
    #[inline(always)]
    pub fn lookups(&self) -> usize {
        self.plan.lookups()
    }

    /// Whether they have memory for the sums of TC.
    pub fn has_coherence(&self) -> bool {
        self.sums.coherence.is_some()
    }

    /// Copies numbers out of the table of a tuple in file order, starting at the one whose tiles,
    /// read as digits with the tuple's first cell lowest, make `from`.
    ///
    /// # Panics
    /// When the table ends before `out` is full, or has no such numbers.
    pub fn export(&self, tuple: usize, part: WeightPart, from: usize, out: &mut [Value]) {
        let table = &self.plan.tables()[tuple];
        table.each_at(from, out.len(), |k, at| out[k] = self.number(at, part));
    }

    /// The inverse of [`WeightTables::export`]. Numbers that the table already holds are not
    /// written: zeros do not commit the memory of new tables.
    ///
    /// # Panics
    /// When the table ends before the last of `values`, or has no such numbers.
    pub fn import(&self, tuple: usize, part: WeightPart, from: usize, values: &[Value]) {
        let table = &self.plan.tables()[tuple];
        table.each_at(from, values.len(), |k, at| {
            self.write_number(at, part, values[k]);
        });
    }

    /// Replaces some weights of a tuple. A block of weights differs in the first digit alone, and a
    /// mask for each block says which of them are replaced: their digits are its bits. `weight` has
    /// the block and the number of the weight among the replaced ones of its block.
    ///
    /// The first digit of a file is mostly a high one in memory, so the weights of a block are
    /// megabytes apart. The weights are written by cache lines: the blocks that differ in the
    /// digit that is the lowest one in memory are visited together. For the network in the program
    /// this takes half of the time of block after block (0.13 s in place of 0.27 s of a CPU).
    ///
    /// # Panics
    /// When there is no such tuple, or not a mask for each block.
    pub fn import_masked(
        &self,
        tuple: usize,
        masks: &[u32],
        weight: impl Fn(usize, usize) -> Value,
    ) {
        let table = &self.plan.tables()[tuple];
        let (values, strides) = (table.values(), table.strides());
        assert_eq!(
            masks.len() * values,
            table.weights(),
            "a mask for each block"
        );
        let digit = table.nearest_digit();
        // Blocks that share cache lines: how many, and how far apart they are in a file.
        let (count, apart) = match digit {
            0 => (1, 1),
            digit => (values, values.pow(digit as u32 - 1)),
        };
        for group in 0..masks.len() / count {
            let first = group / apart * apart * count + group % apart;
            let blocks = || (0..count).map(|k| first + k * apart);
            let mut left = blocks().fold(0, |any, block| any | masks[block]);
            let place = table.at(first * values);
            let mut numbers = [0; 32];
            while left != 0 {
                let bit = left.trailing_zeros();
                let line = place + bit as usize * strides[0];
                for ((block, number), k) in blocks().zip(&mut numbers).zip(0..) {
                    if masks[block] >> bit & 1 == 1 {
                        let cell = &self.cells[line + k * strides[digit]];
                        cell.set_number(0, weight(block, *number));
                        *number += 1;
                    }
                }
                left &= left - 1;
            }
        }
    }

    /// The weights of a tuple where they lie in memory, without a copy.
    ///
    /// # Panics
    /// When there is no such tuple.
    pub fn view(&self, tuple: usize) -> TableView<'_, C> {
        let table = &self.plan.tables()[tuple];
        TableView {
            cells: &self.cells[table.start()..],
            strides: table.strides(),
            values: table.values(),
        }
    }

    fn number(&self, at: usize, part: WeightPart) -> Value {
        match part {
            WeightPart::Weight => self.cells[at].number(0),
            WeightPart::ExpectedChange => self.cells[at].number(1),
            WeightPart::ErrorSum => self.coherence()[at].number(0),
            WeightPart::AbsoluteSum => self.coherence()[at].number(1),
        }
    }

    fn write_number(&self, at: usize, part: WeightPart, number: Value) {
        match part {
            WeightPart::Weight => self.cells[at].write_number(0, number),
            WeightPart::ExpectedChange => self.cells[at].write_number(1, number),
            WeightPart::ErrorSum => self.coherence()[at].write_number(0, number),
            WeightPart::AbsoluteSum => self.coherence()[at].write_number(1, number),
        }
    }

    /// Sets the sums of TC to 0, as in new tables.
    ///
    /// # Panics
    /// When they have none.
    pub fn clear_sums(&self) {
        for sums in self.coherence().iter() {
            (0..2).for_each(|part| sums.write_number(part, 0.0));
        }
    }

    fn coherence(&self) -> &WeightMemory<AtomicF32x2> {
        let coherence = self.sums.coherence.as_ref();
        coherence.expect("the tables were made with the sums of TC")
    }

    /// How the table of a tuple is divided into chunks.
    pub(crate) fn chunking(&self, tuple: usize) -> &Chunking {
        self.plan.tables()[tuple].chunking()
    }

    /// Copies the weights of a chunk out of the table of a tuple; run n starts at `n * stride` in
    /// `out`.
    pub(crate) fn export_chunk(
        &self,
        (tuple, chunk): (usize, usize),
        out: &mut [Value],
        stride: usize,
    ) {
        let cells = &self.cells[..];
        self.plan.tables()[tuple].each_in_chunk(chunk, |run, k, place| {
            out[run * stride + k] = cells[place].weight().get();
        });
    }

    /// The inverse. As [`WeightTables::import`], it does not write numbers that are already there.
    pub(crate) fn import_chunk(
        &self,
        (tuple, chunk): (usize, usize),
        values: &[Value],
        stride: usize,
    ) {
        let cells = &self.cells[..];
        self.plan.tables()[tuple].each_in_chunk(chunk, |run, k, place| {
            cells[place].write_number(0, values[run * stride + k]);
        });
    }

    /// The number of floats in a block of memory.
    pub(crate) fn block_len(&self, block: MemoryBlock) -> usize {
        match block {
            MemoryBlock::Cells => self.cells.numbers(),
            MemoryBlock::Sums => self
                .sums
                .coherence
                .as_ref()
                .map_or(0, WeightMemory::numbers),
        }
    }

    /// Copies floats out of a block in memory order.
    pub(crate) fn export_block(&self, block: MemoryBlock, from: usize, out: &mut [Value]) {
        match block {
            MemoryBlock::Cells => self.cells.read(from, out),
            MemoryBlock::Sums => self.coherence().read(from, out),
        }
    }

    /// The inverse. As [`WeightTables::import`], it does not write numbers that are already there.
    pub(crate) fn import_block(&self, block: MemoryBlock, from: usize, values: &[Value]) {
        match block {
            MemoryBlock::Cells => self.cells.write(from, values),
            MemoryBlock::Sums => self.coherence().write(from, values),
        }
    }

    /// A short text that describes the order of a block.
    pub(crate) fn order(&self) -> String {
        self.plan.order()
    }

    /// Computes the indices of four boards, to read their weights.
    #[inline(always)]
    pub(super) fn find<B: Position>(&self, four: [B; 4], found: &mut Indices) {
        self.plan.find(four, found);
        if let Some(stage) = self.plan.promotion() {
            self.fall_back(found, stage);
        }
    }

    /// Computes the indices of four boards, to update their weights.
    #[inline(always)]
    pub(super) fn find_to_update<B: Position>(&self, four: [B; 4], found: &mut Indices) {
        self.plan.find(four, found);
        if let Some(stage) = self.plan.promotion() {
            self.promote(found, stage);
        }
    }

    /// Computes the indices of the afterstates of all slides, and prefetches the weights of the
    /// legal ones.
    #[inline(always)]
    pub(super) fn locate_slides<B: Position>(&self, slides: &Slides<B>, at: &mut Indices) {
        self.find(slides.afterstates().map(|After(board)| board), at);
        let cells = self.at(at);
        for slide in slides.legal() {
            cells.prefetch(slide.direction() as usize);
        }
    }

    /// Visits many boards in order, each as the lane of the indices that were computed for it. Four
    /// boards at a time are located and prefetched while the four before them are visited.
    #[inline(always)]
    pub(super) fn each_located<B: Position>(
        &self,
        boards: &[After<B>],
        [here, next]: &mut [Indices; 2],
        mut visit: impl FnMut(&After<B>, &Indices, usize),
    ) {
        let locate = |some: &[After<B>], at: &mut Indices| {
            self.find(std::array::from_fn(|k| some[k.min(some.len() - 1)].0), at);
            (0..some.len()).for_each(|lane| self.at(at).prefetch(lane));
        };
        let mut fours = boards.chunks(4);
        let Some(mut four) = fours.next() else {
            return;
        };
        let (mut here, mut next) = (here, next);
        locate(four, here);
        loop {
            let following = fours.next();
            if let Some(following) = following {
                locate(following, next);
            }
            for (lane, after) in four.iter().enumerate() {
                visit(after, here, lane);
            }
            let Some(following) = following else {
                return;
            };
            four = following;
            std::mem::swap(&mut here, &mut next);
        }
    }

    /// The weights at these indices.
    #[inline(always)]
    pub(super) fn at<'n>(&'n self, at: &'n Indices) -> WeightView<'n, C> {
        self.cells.at(at)
    }

    /// The sum of the weights of one board.
    pub(super) fn value<B: Position>(&self, board: B) -> Value {
        let mut at = Indices::default();
        self.find([board; 4], &mut at);
        value(self.at(&at), 0)
    }

    /// Prefetches everything that an update will change.
    #[inline(always)]
    pub(super) fn prefetch_update<R: UpdateRule>(&self, at: &Indices, lane: usize) {
        self.at(at).prefetch_to_write(lane);
        if size_of::<R::Sums>() > 0 {
            R::sums(&self.sums).at(at).prefetch_to_write(lane);
        }
    }

    /// Moves the value of the position in a lane towards a target, each weight by its share of the
    /// step. On a board that is symmetric to itself, a weight is looked up, and adjusted, more than
    /// once.
    #[inline(always)]
    pub(super) fn update<R: UpdateRule>(
        &self,
        at: &Indices,
        lane: usize,
        target: Value,
        learning_rate: Value,
    ) -> Updated {
        let cells = self.at(at);
        let delta = target - value(cells, lane);
        let step = learning_rate / self.lookups() as Value;
        let sums = R::sums(&self.sums);
        let value = sum(cells.lane_with(sums, lane), |sum, (cell, sums)| {
            sum + R::adjust(cell.get().weight(), sums.get(), delta, step).1
        });
        if let Some(stage) = self.plan.promotion() {
            self.mark(at, lane, stage);
        }
        Updated { value, delta }
    }
}

/// The value of the position in this lane.
#[inline(always)]
pub(super) fn value<C: WeightCell>(cells: WeightView<'_, C>, lane: usize) -> Value {
    sum(cells.lane(lane), |sum, cell| C::added_to(cell, sum))
}

/// Adds up in four parallel sums: an addition waits for the one before it, and 32 in a row would
/// take longer than the weights take to arrive. The remainder after groups of four has its own sum.
#[inline(always)]
pub(super) fn sum<S: Copy + Default + Add<Output = S>, T>(
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

#[cfg(test)]
mod tests;
