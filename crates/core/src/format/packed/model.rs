//! The decisions that a coded table consists of, and the contexts of their probabilities.
//!
//! There are two streams of decisions, each with a coder of its own. The first says which weights
//! are kept. For each block: does it keep any? If so, for each of its weights: is it kept? These
//! decisions depend on each other alone, so that no branch of decoding waits for a decision.
//!
//! The second has the values. For each block that keeps any weight, its shift (unary): the values of
//! the block are multiples of 2^shift steps, and differences are counted in these. For each kept
//! weight, its difference from the mean of its neighbours: as zero or not, the number of its bits
//! (unary), its bits below the highest, and its sign. The context of a difference is the number of
//! neighbours and how much they differ from each other.
//!
//! One function codes a block for encoder and decoder: an encoder's table has the numbers already,
//! a decoder's has zeros, which it ignores and replaces.

use super::error::Fault;
use super::grid::{
    Form, MOST_SHIFT, MasksAround, Neighbours, SHIFT_CONTEXTS, SparseTable, ValuesAround,
    block_contexts, for_form, kept_contexts,
};
use super::range::{Coder, Decoder, Probability};

const EVEN: Probability = Probability::EVEN;

/// The probabilities of the first stream.
pub(super) struct MaskModel {
    pub(super) block: Vec<Probability>,
    pub(super) kept: Vec<Probability>,
}

impl MaskModel {
    pub(super) fn new(form: Form) -> Self {
        let digits = form.digits as usize - 1;
        Self {
            block: vec![EVEN; block_contexts(digits)],
            kept: vec![EVEN; kept_contexts(digits)],
        }
    }

    /// Codes which weights of a block are kept.
    #[inline(always)]
    pub(super) fn code<const D: usize, const B: u32>(
        &mut self,
        coder: &mut impl Coder,
        around: &MasksAround<D>,
        mask: u32,
    ) -> u32 {
        if !coder.code(&mut self.block[around.context], mask != 0) {
            return 0;
        }
        let mut found = 0u32;
        for digit in 0..1 << B {
            let context = around.context_of(found, digit);
            let kept = coder.code(&mut self.kept[context], mask >> digit & 1 == 1);
            found |= u32::from(kept) << digit;
        }
        found
    }
}

/// The probabilities of the second stream.
pub(super) struct ValueModel {
    pub(super) shift: [[Probability; MOST_SHIFT as usize]; SHIFT_CONTEXTS],
    pub(super) zero: [Probability; CLASSES],
    pub(super) negative: [Probability; CLASSES],
    pub(super) longer: [[Probability; MOST_BITS]; CLASSES],
    /// The two bits below the highest one; further ones are as often 0 as 1.
    pub(super) below: [[[Probability; 2]; MOST_BITS]; CLASSES],
}

/// The most bits of a difference of two values of 16 bits, the highest one not counted.
const MOST_BITS: usize = 17;

/// Classes of differences.
pub(super) const CLASSES: usize = 48;

/// What the neighbours of a weight say about it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Prediction {
    /// Their mean, in multiples of 2^shift steps.
    pub(super) value: i32,
    pub(super) class: usize,
    shift: u8,
}

impl Prediction {
    /// By the values of the neighbours, for a weight of a block with this shift. There is no
    /// division: it takes as long as three decisions. A test has the same with divisions.
    #[inline(always)]
    pub(super) fn of(neighbours: &Neighbours, shift: u8) -> Self {
        let values = neighbours.values();
        let count = values.len();
        let with = |value, class| Self {
            value,
            class,
            shift,
        };
        if count == 0 {
            return with(0, 0);
        }
        // Rounded, a half upwards. Rounding down to a whole multiple first does not change it, and
        // with `ABOVE` added it is positive and below 2^20: the product is right to the digit.
        const ABOVE: i32 = 1 << 16;
        let unit = (count as i32) << shift;
        let multiples = (2 * neighbours.sum() + unit) >> (shift + 1);
        let positive = (multiples + count as i32 * ABOVE) as u64;
        let value = ((positive * RECIPROCALS[count]) >> 32) as i32 - ABOVE;
        if count == 1 {
            return with(
                value,
                1 + (1 + value.unsigned_abs()).ilog2().min(6) as usize,
            );
        }
        let apart = values.iter().map(|other| other.abs_diff(value << shift));
        let (unit, spread) = (unit as u64, unit as u64 + u64::from(apart.sum::<u32>()));
        // Half octaves of one more than the mean distance: log2(spread^2 / unit^2), rounded down.
        let (spread, unit) = (spread * spread, unit * unit);
        let octaves = spread.ilog2() - unit.ilog2();
        let octaves = octaves - u32::from(spread < unit << octaves);
        with(value, 8 + 3 * octaves.min(12) as usize + COUNTS[count])
    }

    /// The value with this difference from the prediction, if it has 16 bits.
    #[inline(always)]
    pub(super) fn value_with(self, difference: i32) -> Option<i16> {
        let multiple = self.value + difference;
        i16::try_from(i64::from(multiple) << self.shift).ok()
    }

    /// The difference of a value from the prediction.
    #[inline(always)]
    fn difference_of(self, value: i16) -> i32 {
        (i32::from(value) >> self.shift) - self.value
    }
}

/// 2^32 / n, rounded up.
const RECIPROCALS: [u64; 8] = {
    let mut all = [0; 8];
    let mut n = 1;
    while n < 8 {
        all[n] = (1u64 << 32).div_ceil(n as u64);
        n += 1;
    }
    all
};

/// The part of a class that is due to the number of neighbours.
const COUNTS: [usize; 8] = [0, 0, 0, 1, 1, 2, 2, 2];

impl ValueModel {
    pub(super) fn new() -> Self {
        Self {
            shift: [[EVEN; MOST_SHIFT as usize]; SHIFT_CONTEXTS],
            zero: [EVEN; CLASSES],
            negative: [EVEN; CLASSES],
            longer: [[EVEN; MOST_BITS]; CLASSES],
            below: [[[EVEN; 2]; MOST_BITS]; CLASSES],
        }
    }

    /// Codes the shift and the values of a block that keeps some weight.
    #[inline(always)]
    pub(super) fn code<const D: usize, const B: u32>(
        &mut self,
        coder: &mut impl Coder,
        table: &mut SparseTable,
        block: usize,
    ) -> Result<(), Fault> {
        let around = ValuesAround::<D>::of::<B>(table, block);
        let shift = self.shift(coder, around.shift_context, table.shifts[block]);
        table.shifts[block] = shift;
        let (mask, mut at) = (table.masks[block], table.starts[block] as usize);
        let mut left = mask;
        while left != 0 {
            let digit = left.trailing_zeros();
            left &= left - 1;
            let own = (mask << 1 >> digit & 1 == 1).then(|| table.values[at - 1]);
            let neighbours = around.neighbours(&table.values, own, digit);
            let prediction = Prediction::of(&neighbours, shift);
            let difference = prediction.difference_of(table.values[at]);
            let difference = self.difference(coder, prediction.class, difference)?;
            table.values[at] = prediction.value_with(difference).ok_or(Fault::Range)?;
            at += 1;
        }
        Ok(())
    }

    #[inline(always)]
    fn shift(&mut self, coder: &mut impl Coder, context: usize, shift: u8) -> u8 {
        let mut found = 0;
        while found < MOST_SHIFT {
            let probability = &mut self.shift[context][usize::from(found)];
            if !coder.code(probability, found < shift) {
                break;
            }
            found += 1;
        }
        found
    }

    #[inline(always)]
    fn difference(
        &mut self,
        coder: &mut impl Coder,
        class: usize,
        difference: i32,
    ) -> Result<i32, Fault> {
        if !coder.code(&mut self.zero[class], difference != 0) {
            return Ok(0);
        }
        let size = difference.unsigned_abs();
        // A decoder does not use it.
        let bits = size.max(1).ilog2() as usize;
        let mut length = 0;
        while coder.code(&mut self.longer[class][length], length < bits) {
            length += 1;
            if length == MOST_BITS {
                return Err(Fault::Range);
            }
        }
        let mut found = 1u32;
        for bit in (0..length).rev() {
            let set = size >> bit & 1 == 1;
            let set = match length - 1 - bit {
                place @ 0..2 => coder.code(&mut self.below[class][length][place], set),
                _ => coder.code_even(set),
            };
            found = found << 1 | u32::from(set);
        }
        let negative = coder.code(&mut self.negative[class], difference < 0);
        let found = found as i32;
        Ok(if negative { -found } else { found })
    }
}

/// Decodes a table of which `kept` weights are kept, from its two streams.
pub(super) fn decode(
    form: Form,
    step: f32,
    kept: u64,
    (masks, values): (&[u8], &[u8]),
) -> Result<SparseTable, Fault> {
    let masks = for_form!(form, decode_masks(form, masks))?;
    let found = masks.iter().map(|mask| u64::from(mask.count_ones())).sum();
    if found != kept {
        return Err(Fault::Kept {
            found,
            expected: kept,
        });
    }
    let mut table = SparseTable::new(step, masks);
    for_form!(form, decode_values(&mut table, values))?;
    Ok(table)
}

fn decode_masks<const D: usize, const B: u32>(form: Form, bytes: &[u8]) -> Result<Vec<u32>, Fault> {
    let (mut decoder, mut model) = (Decoder::new(bytes), MaskModel::new(form));
    let mut masks = vec![0; form.blocks()];
    for block in 0..masks.len() {
        let around = MasksAround::<D>::of::<B>(&masks, block);
        masks[block] = model.code::<D, B>(&mut decoder, &around, 0);
        if decoder.is_short() {
            return Err(Fault::Short);
        }
    }
    at_the_end(&decoder)?;
    Ok(masks)
}

fn decode_values<const D: usize, const B: u32>(
    table: &mut SparseTable,
    bytes: &[u8],
) -> Result<(), Fault> {
    let (mut decoder, mut model) = (Decoder::new(bytes), ValueModel::new());
    for block in 0..table.masks.len() {
        if table.masks[block] != 0 {
            model.code::<D, B>(&mut decoder, table, block)?;
        }
        if decoder.is_short() {
            return Err(Fault::Short);
        }
    }
    at_the_end(&decoder)
}

fn at_the_end(decoder: &Decoder<'_>) -> Result<(), Fault> {
    match decoder.has_more() {
        true => Err(Fault::Long),
        false => Ok(()),
    }
}
