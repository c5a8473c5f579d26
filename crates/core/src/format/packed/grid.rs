//! The weights of a table that are kept, and the neighbours of a weight among them.
//!
//! An index has a digit for each cell, its tile. Blocks are the weights that differ in the lowest
//! digit alone. The neighbours of a weight that are before it are those with one digit lower by
//! one, so they are in the same block or in blocks with one digit lower by one. For each block a
//! mask says which of its weights are kept, so contexts of all weights of a block come from a few
//! words.

/// The largest shift of a block.
pub(super) const MOST_SHIFT: u8 = 14;

/// The most digits of an index.
pub(super) const MOST_DIGITS: usize = 8;

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

    /// Digits of 4 or 5 bits, and at most 2^30 weights.
    pub(super) fn is_supported(digits: u32, bits: u32) -> bool {
        let fits = |digits: u32| digits.checked_mul(bits).is_some_and(|bits| bits <= 30);
        (1..=MOST_DIGITS as u32).contains(&digits) && matches!(bits, 4 | 5) && fits(digits)
    }

    /// The weights of a block.
    pub(super) fn side(self) -> usize {
        1 << self.bits
    }

    pub(super) fn blocks(self) -> usize {
        1 << (self.bits * (self.digits - 1))
    }

    /// A digit of a block: the lowest one is that after the digit within the block.
    fn digit(self, block: usize, digit: u32) -> usize {
        block >> (self.bits * digit) & (self.side() - 1)
    }
}

/// Calls a function that has the number of digits of a block, those of the index but the lowest, as
/// a constant.
macro_rules! for_digits {
    ($form:expr, $($call:ident).+ ($($argument:expr),*)) => {
        match $form.digits {
            1 => $($call).+::<0>($($argument),*),
            2 => $($call).+::<1>($($argument),*),
            3 => $($call).+::<2>($($argument),*),
            4 => $($call).+::<3>($($argument),*),
            5 => $($call).+::<4>($($argument),*),
            6 => $($call).+::<5>($($argument),*),
            // 7 digits of 4 bits: the most that a form has.
            _ => $($call).+::<6>($($argument),*),
        }
    };
}
pub(super) use for_digits;

/// A decoded table: the weights that are kept, in steps, and where they are.
pub struct SparseTable {
    form: Form,
    step: f32,
    /// For each block, which of its weights are kept.
    pub(super) masks: Vec<u32>,
    /// For each block, the step of its weights: `step` times 2 to the power of this.
    pub(super) shifts: Vec<u8>,
    /// For each block, the number of weights that are kept before it.
    pub(super) starts: Vec<u32>,
    pub(super) values: Vec<i16>,
}

impl SparseTable {
    pub(super) fn new(form: Form, step: f32) -> Self {
        Self {
            form,
            step,
            masks: Vec::with_capacity(form.blocks()),
            shifts: Vec::with_capacity(form.blocks()),
            starts: Vec::with_capacity(form.blocks()),
            values: Vec::new(),
        }
    }

    /// The weights of a block.
    pub(super) fn side(&self) -> usize {
        self.form.side()
    }

    /// The number of weights that are kept.
    pub fn kept(&self) -> usize {
        self.values.len()
    }

    /// The value of a kept weight: the one computation with floats of decoding, which is rounded in
    /// the same way everywhere.
    pub(super) fn weight(step: f32, value: i16) -> f32 {
        f32::from(value) * step
    }

    /// Visits all blocks that keep any weight: the index of the first weight, those that are kept as
    /// bits, and the kept weights.
    pub fn for_each_block(&self, mut visit: impl FnMut(usize, u32, &[f32])) {
        let mut weights = [0f32; 32];
        for (block, (&mask, &start)) in self.masks.iter().zip(&self.starts).enumerate() {
            if mask == 0 {
                continue;
            }
            let kept = &self.values[start as usize..][..mask.count_ones() as usize];
            for (weight, &value) in weights.iter_mut().zip(kept) {
                *weight = Self::weight(self.step, value);
            }
            visit(block << self.form.bits, mask, &weights[..kept.len()]);
        }
    }

    /// What is kept of a block before this one.
    #[inline(always)]
    fn value(&self, block: usize, digit: usize) -> i32 {
        let before = (self.masks[block] & ((1 << digit) - 1)).count_ones();
        i32::from(self.values[(self.starts[block] + before) as usize])
    }
}

/// The blocks before a block that have its neighbours: one for each of the D digits of a block.
/// D is a constant so that loops over digits are unrolled, which halves the time of decoding.
pub(super) struct Around<const D: usize> {
    /// By digit: the block whose digit is lower by one.
    near: [usize; D],
    /// Their masks, empty where there is no such block.
    masks: [u32; D],
    /// For each weight of the block, the number of kept weights whose digit is lower by two, in
    /// binary: bit k of all counts is in word k.
    far: [u32; 3],
    /// The number of blocks whose digit is lower by two that keep any weight.
    far_blocks: usize,
    /// The shift that the blocks with neighbours have on average.
    shift: Option<u8>,
}

impl<const D: usize> Around<D> {
    #[inline(always)]
    pub(super) fn of(table: &SparseTable, block: usize) -> Self {
        let form = table.form;
        let mut around = Self {
            near: [0; D],
            masks: [0; D],
            far: [0; 3],
            far_blocks: 0,
            shift: None,
        };
        let (mut shifts, mut count) = (0, 0);
        for k in 0..D {
            let (digit, one) = (form.digit(block, k as u32), 1 << (form.bits * k as u32));
            if digit > 0 {
                around.near[k] = block - one;
                around.masks[k] = table.masks[block - one];
                if around.masks[k] != 0 {
                    shifts += u32::from(table.shifts[block - one]);
                    count += 1;
                }
            }
            if digit > 1 {
                around.count_far(table.masks[block - 2 * one]);
            }
        }
        // Rounded, a half upwards.
        around.shift = (2 * shifts + count)
            .checked_div(2 * count)
            .map(|shift| shift as u8);
        around
    }

    /// Adds 1 to the counts of the weights in a mask. There are at most 7 digits.
    #[inline(always)]
    fn count_far(&mut self, mask: u32) {
        self.far_blocks += usize::from(mask != 0);
        let mut carry = mask;
        for word in &mut self.far {
            (*word, carry) = (*word ^ carry, *word & carry);
        }
    }

    /// The context of whether the block has any weight: which blocks around it have some.
    #[inline(always)]
    pub(super) fn block_context(&self) -> usize {
        let some = self.masks.iter().enumerate();
        let some = some.fold(0, |all, (k, mask)| all | usize::from(*mask != 0) << k);
        some * 8 + self.far_blocks
    }

    /// The context of the shift of the block.
    pub(super) fn shift_context(&self) -> usize {
        self.shift.map_or(0, |shift| 1 + usize::from(shift))
    }

    /// The neighbours of a weight of the block that are kept, as bits: the one in the block first.
    #[inline(always)]
    pub(super) fn neighbours(&self, own: u32, digit: usize) -> u32 {
        let bit = |mask: u32, k: usize| (mask >> digit & 1) << k;
        let others = self.masks.iter().zip(1..);
        others.fold(bit(own << 1, 0), |all, (&mask, k)| all | bit(mask, k))
    }

    /// The context of whether a weight is kept: its neighbours, and the number of kept weights
    /// beyond them.
    #[inline(always)]
    pub(super) fn kept_context(&self, neighbours: u32, own: u32, digit: usize) -> usize {
        let bit = |mask: u32| mask >> digit & 1;
        let [ones, twos, fours] = self.far.map(bit);
        let far = bit(own << 2) + ones + 2 * twos + 4 * fours;
        neighbours as usize * 8 + far.min(7) as usize
    }

    /// The values of the neighbours; returns their number.
    #[inline(always)]
    pub(super) fn values(
        &self,
        table: &SparseTable,
        neighbours: u32,
        digit: usize,
        out: &mut [i32; MOST_DIGITS],
    ) -> usize {
        let mut count = 0;
        if neighbours & 1 == 1 {
            // The weight before this one is the last that was kept.
            out[0] = table.values.last().copied().map_or(0, i32::from);
            count = 1;
        }
        let mut left = neighbours >> 1;
        while left != 0 {
            let k = left.trailing_zeros() as usize;
            out[count] = table.value(self.near[k], digit);
            count += 1;
            left &= left - 1;
        }
        count
    }
}

/// The contexts of [`Around::block_context`].
pub(super) const BLOCK_CONTEXTS: usize = 8 << (MOST_DIGITS - 1);

/// The contexts of [`Around::shift_context`].
pub(super) const SHIFT_CONTEXTS: usize = 2 + MOST_SHIFT as usize;

/// The contexts of [`Around::kept_context`].
pub(super) const KEPT_CONTEXTS: usize = 8 << MOST_DIGITS;
