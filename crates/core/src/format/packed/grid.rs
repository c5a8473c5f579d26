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

    /// Visits all blocks that are not empty: the index of the first weight, and all weights of the
    /// block.
    pub fn for_each_block(&self, mut visit: impl FnMut(usize, &[f32])) {
        let mut weights = [0f32; 32];
        let weights = &mut weights[..self.form.side()];
        for (block, (&mask, &start)) in self.masks.iter().zip(&self.starts).enumerate() {
            if mask == 0 {
                continue;
            }
            weights.fill(0.0);
            let (mut left, mut at) = (mask, start as usize);
            while left != 0 {
                let digit = left.trailing_zeros() as usize;
                weights[digit] = Self::weight(self.step, self.values[at]);
                at += 1;
                left &= left - 1;
            }
            visit(block << self.form.bits, weights);
        }
    }

    /// What is kept of a block before this one.
    #[inline(always)]
    fn value(&self, block: usize, digit: usize) -> i32 {
        let before = (self.masks[block] & ((1 << digit) - 1)).count_ones();
        i32::from(self.values[(self.starts[block] + before) as usize])
    }
}

/// The blocks before a block that have its neighbours.
pub(super) struct Around {
    /// By digit: the block whose digit is lower by one.
    near: [usize; MOST_DIGITS],
    /// Their masks, empty where there is no such block.
    masks: [u32; MOST_DIGITS],
    /// The masks of the blocks whose digit is lower by two.
    far: [u32; MOST_DIGITS],
    /// The shift that the blocks with neighbours have on average.
    shift: Option<u8>,
    digits: usize,
}

impl Around {
    pub(super) fn of(table: &SparseTable, block: usize) -> Self {
        let form = table.form;
        let mut around = Self {
            near: [0; MOST_DIGITS],
            masks: [0; MOST_DIGITS],
            far: [0; MOST_DIGITS],
            shift: None,
            digits: form.digits as usize - 1,
        };
        let (mut shifts, mut count) = (0, 0);
        for k in 0..around.digits {
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
                around.far[k] = table.masks[block - 2 * one];
            }
        }
        // Rounded, a half upwards.
        around.shift = (2 * shifts + count)
            .checked_div(2 * count)
            .map(|shift| shift as u8);
        around
    }

    /// The context of whether the block has any weight: which blocks around it have some.
    pub(super) fn block_context(&self) -> usize {
        let some = |masks: &[u32]| {
            let masks = masks[..self.digits].iter().enumerate();
            masks.fold(0, |all, (k, mask)| all | usize::from(*mask != 0) << k)
        };
        let far = some(&self.far).count_ones() as usize;
        some(&self.masks) * 8 + far
    }

    /// The contexts of [`Around::block_context`].
    pub(super) const BLOCK_CONTEXTS: usize = 8 << (MOST_DIGITS - 1);

    /// The context of the shift of the block.
    pub(super) fn shift_context(&self) -> usize {
        self.shift.map_or(0, |shift| 1 + usize::from(shift))
    }

    /// The contexts of [`Around::shift_context`].
    pub(super) const SHIFT_CONTEXTS: usize = 2 + MOST_SHIFT as usize;

    /// The neighbours of a weight of the block that are kept, as bits: the one in the block first.
    #[inline(always)]
    pub(super) fn neighbours(&self, own: u32, digit: usize) -> u32 {
        let mut bits = own << 1 >> digit & 1;
        for k in 0..self.digits {
            bits |= (self.masks[k] >> digit & 1) << (k + 1);
        }
        bits
    }

    /// The context of whether a weight is kept: its neighbours, and the number of kept weights
    /// beyond them.
    #[inline(always)]
    pub(super) fn kept_context(&self, neighbours: u32, own: u32, digit: usize) -> usize {
        let mut far = own << 2 >> digit & 1;
        for k in 0..self.digits {
            far += self.far[k] >> digit & 1;
        }
        neighbours as usize * 8 + far.min(7) as usize
    }

    /// The contexts of [`Around::kept_context`].
    pub(super) const KEPT_CONTEXTS: usize = 8 << MOST_DIGITS;

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
