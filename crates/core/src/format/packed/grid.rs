//! The weights of a table that are kept, and the neighbours of a weight among them.
//!
//! An index has a digit for each cell, its tile. Blocks are the weights that differ in the lowest
//! digit alone. The neighbours of a weight that are before it are those with one digit lower by
//! one, so they are in the same block or in blocks with one digit lower by one. For each block a
//! mask says which of its weights are kept, so contexts of all weights of a block come from a few
//! words.

/// The largest shift of a block.
pub(super) const MOST_SHIFT: u8 = 14;

/// The most weights of a table.
pub const MOST_WEIGHTS: usize = 1 << 30;

/// The most digits of an index: 7 of 4 bits.
pub(super) const MOST_DIGITS: u32 = 7;

/// The digits of an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Form {
    pub(super) digits: u32,
    pub(super) bits: u32,
}

impl Form {
    pub(super) fn new(digits: u32, bits: u32) -> Self {
        Self { digits, bits }
    }

    /// Digits of 4 or 5 bits, and at most [`MOST_WEIGHTS`].
    pub(super) fn is_supported(digits: u32, bits: u32) -> bool {
        (1..=MOST_DIGITS).contains(&digits)
            && matches!(bits, 4 | 5)
            && digits * bits <= MOST_WEIGHTS.ilog2()
    }

    /// The weights of a block.
    pub(super) fn side(self) -> usize {
        1 << self.bits
    }

    pub(super) fn blocks(self) -> usize {
        1 << (self.bits * (self.digits - 1))
    }
}

/// Calls a function that has the number of digits of a block, those of the index but the lowest,
/// and the bits of a digit as constants: loops over digits are unrolled then.
macro_rules! for_form {
    ($form:expr, $($call:ident).+ ($($argument:expr),* $(,)?)) => {
        match ($form.digits, $form.bits) {
            (1, 4) => $($call).+::<0, 4>($($argument),*),
            (2, 4) => $($call).+::<1, 4>($($argument),*),
            (3, 4) => $($call).+::<2, 4>($($argument),*),
            (4, 4) => $($call).+::<3, 4>($($argument),*),
            (5, 4) => $($call).+::<4, 4>($($argument),*),
            (6, 4) => $($call).+::<5, 4>($($argument),*),
            (_, 4) => $($call).+::<6, 4>($($argument),*),
            (1, _) => $($call).+::<0, 5>($($argument),*),
            (2, _) => $($call).+::<1, 5>($($argument),*),
            (3, _) => $($call).+::<2, 5>($($argument),*),
            (4, _) => $($call).+::<3, 5>($($argument),*),
            (5, _) => $($call).+::<4, 5>($($argument),*),
            _ => $($call).+::<5, 5>($($argument),*),
        }
    };
}
pub(super) use for_form;

/// A decoded table: the weights that are kept, in steps, and where they are.
pub struct SparseTable {
    pub(super) step: f32,
    /// For each block, which of its weights are kept.
    pub(super) masks: Vec<u32>,
    /// For each block, the step of its weights: `step` times 2 to the power of this.
    pub(super) shifts: Vec<u8>,
    /// For each block, the number of weights that are kept before it.
    pub(super) starts: Vec<u32>,
    pub(super) values: Vec<i16>,
}

impl SparseTable {
    /// A table of these weights whose values are all 0.
    pub(super) fn new(step: f32, masks: Vec<u32>) -> Self {
        let mut kept = 0;
        let starts = masks.iter().map(|mask| {
            let start = kept;
            kept += mask.count_ones();
            start
        });
        let starts = starts.collect();
        Self {
            step,
            shifts: vec![0; masks.len()],
            starts,
            values: vec![0; kept as usize],
            masks,
        }
    }

    /// The number of weights that are kept.
    pub fn kept(&self) -> usize {
        self.values.len()
    }

    /// For each block of weights that differ in the first digit alone: which of them are kept, as
    /// bits.
    pub fn masks(&self) -> &[u32] {
        &self.masks
    }

    /// A kept weight: its number among those that are kept of its block.
    ///
    /// # Panics
    /// When there is no such weight.
    #[inline(always)]
    pub fn weight(&self, block: usize, number: usize) -> f32 {
        Self::of_value(self.step, self.values[self.starts[block] as usize + number])
    }

    /// The one computation with floats of decoding, which is rounded in the same way everywhere.
    #[inline(always)]
    pub(super) fn of_value(step: f32, value: i16) -> f32 {
        f32::from(value) * step
    }
}

/// The masks of the blocks that have the neighbours of a block's weights: one for each of the D
/// digits of a block.
pub(super) struct MasksAround<const D: usize> {
    /// By digit: the mask of the block whose digit is lower by one; empty where there is none.
    near: [u32; D],
    /// For each weight of the block, the number of kept weights whose digit is lower by two, in
    /// binary: bit k of all counts is in word k. There are at most 6 digits.
    far: [u32; 3],
    /// The context of whether the block keeps any weight: which blocks around it do.
    pub(super) context: usize,
}

impl<const D: usize> MasksAround<D> {
    #[inline(always)]
    pub(super) fn of<const B: u32>(masks: &[u32], block: usize) -> Self {
        let (mut near, mut far) = ([0; D], [0; 3]);
        let (mut some, mut far_blocks) = (0, 0);
        for (k, near) in near.iter_mut().enumerate() {
            let shift = B * k as u32;
            let digit = block >> shift & ((1 << B) - 1);
            if digit > 0 {
                *near = masks[block - (1 << shift)];
                some |= usize::from(*near != 0) << k;
            }
            if digit > 1 {
                let mut carry = masks[block - (2 << shift)];
                far_blocks += usize::from(carry != 0);
                for word in &mut far {
                    (*word, carry) = (*word ^ carry, *word & carry);
                }
            }
        }
        Self {
            near,
            far,
            context: some * 8 + far_blocks,
        }
    }

    /// The context of whether a weight of the block is kept: its neighbours, the one in the block
    /// first, and the number of kept weights beyond them. `own` has the weights before it in the
    /// block.
    #[inline(always)]
    pub(super) fn context_of(&self, own: u32, digit: u32) -> usize {
        let bit = |mask: u32| mask >> digit & 1;
        let near = self.near.iter().zip(1..);
        let near = near.fold(bit(own << 1), |all, (&mask, k)| all | bit(mask) << k);
        let [ones, twos, fours] = self.far.map(bit);
        let far = bit(own << 2) + ones + 2 * twos + 4 * fours;
        (near * 8 + far.min(7)) as usize
    }
}

/// The contexts of whether a block keeps any weight.
pub(super) const fn block_contexts(digits: usize) -> usize {
    8 << digits
}

/// The contexts of whether a weight is kept.
pub(super) const fn kept_contexts(digits: usize) -> usize {
    16 << digits
}

/// The contexts of the shift of a block.
pub(super) const SHIFT_CONTEXTS: usize = 2 + MOST_SHIFT as usize;

/// The blocks that have the neighbours of a block's weights, with their values.
pub(super) struct ValuesAround<const D: usize> {
    /// By digit: the mask of the block whose digit is lower by one; empty where there is none.
    masks: [u32; D],
    /// The number of kept weights before these blocks.
    starts: [u32; D],
    /// The context of the shift of the block: the mean shift of those that keep any weight.
    pub(super) shift_context: usize,
}

impl<const D: usize> ValuesAround<D> {
    #[inline(always)]
    pub(super) fn of<const B: u32>(table: &SparseTable, block: usize) -> Self {
        let (mut masks, mut starts) = ([0; D], [0; D]);
        let (mut shifts, mut count) = (0, 0);
        for k in 0..D {
            let shift = B * k as u32;
            if block >> shift & ((1 << B) - 1) > 0 {
                let near = block - (1 << shift);
                (masks[k], starts[k]) = (table.masks[near], table.starts[near]);
                let some = u32::from(masks[k] != 0);
                shifts += some * u32::from(table.shifts[near]);
                count += some;
            }
        }
        // Rounded, a half upwards.
        let mean = (2 * shifts + count).checked_div(2 * count);
        Self {
            masks,
            starts,
            shift_context: mean.map_or(0, |mean| 1 + mean as usize),
        }
    }

    /// The neighbours of a weight that are kept: of one in the block, this is the value.
    #[inline(always)]
    pub(super) fn neighbours(&self, values: &[i16], own: Option<i16>, digit: u32) -> Neighbours {
        let mut all = Neighbours::default();
        if let Some(value) = own {
            all.add(value);
        }
        for (mask, start) in self.masks.iter().zip(self.starts) {
            if mask >> digit & 1 == 1 {
                let before = (mask & ((1 << digit) - 1)).count_ones();
                all.add(values[(start + before) as usize]);
            }
        }
        all
    }
}

/// The values of the neighbours of a weight that are kept.
#[derive(Default)]
pub(super) struct Neighbours {
    values: [i32; 8],
    count: usize,
    sum: i32,
}

impl Neighbours {
    #[inline(always)]
    pub(super) fn add(&mut self, value: i16) {
        // At most 7, so the remainder changes nothing but the code.
        self.values[self.count % 8] = value.into();
        self.count += 1;
        self.sum += i32::from(value);
    }

    /// Their values.
    #[inline(always)]
    pub(super) fn values(&self) -> &[i32] {
        &self.values[..self.count % 8]
    }

    /// Their sum.
    #[inline(always)]
    pub(super) fn sum(&self) -> i32 {
        self.sum
    }
}
