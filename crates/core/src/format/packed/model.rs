//! The decisions that a coded table consists of, and the contexts of their probabilities.
//!
//! For each block: does it keep any weight? If so, its shift (unary): the values of the block are
//! multiples of 2^shift steps, and differences are counted in these. For each weight of such a
//! block: is it kept? For each that is kept: its difference from the mean of its neighbours, as
//! zero or not, its sign, the number of its bits (unary), and its bits below the highest. The
//! context of a difference is the number of neighbours and how much they differ from each other.

use super::error::Fault;
use super::grid::{
    Around, BLOCK_CONTEXTS, Form, KEPT_CONTEXTS, MOST_DIGITS, MOST_SHIFT, SHIFT_CONTEXTS,
    SparseTable, for_digits,
};
use super::range::{Coder, Decoder, Probability};

/// The probabilities of all decisions.
pub(super) struct Model {
    pub(super) block: Vec<Probability>,
    pub(super) shift: [[Probability; MOST_SHIFT as usize]; SHIFT_CONTEXTS],
    pub(super) kept: Vec<Probability>,
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
#[derive(Clone, Copy)]
pub(super) struct Prediction {
    /// Their mean, in multiples of 2^shift steps.
    pub(super) value: i32,
    pub(super) class: usize,
    shift: u8,
}

impl Prediction {
    /// By the values of the neighbours, for a weight of a block with this shift.
    #[inline(always)]
    pub(super) fn of(values: &[i32], shift: u8) -> Self {
        let count = values.len() as i32;
        if count == 0 {
            let (value, class) = (0, 0);
            return Self {
                value,
                class,
                shift,
            };
        }
        // Rounded, a half upwards.
        let unit = count << shift;
        let value = (2 * values.iter().sum::<i32>() + unit).div_euclid(2 * unit);
        let class = if count == 1 {
            1 + (1 + value.unsigned_abs()).ilog2().min(6) as usize
        } else {
            let apart = values.iter().map(|other| other.abs_diff(value << shift));
            let unit = unit as u64;
            let spread = unit + u64::from(apart.sum::<u32>());
            // Half octaves of one more than the mean distance.
            let octaves = (spread * spread / (unit * unit)).ilog2().min(12) as usize;
            8 + 3 * octaves + [0, 1, 1, 2][count.min(5) as usize - 2]
        };
        Self {
            value,
            class,
            shift,
        }
    }

    /// The value with this difference from the prediction, if it has 16 bits.
    #[inline(always)]
    pub(super) fn value_with(self, difference: i32) -> Option<i16> {
        let multiple = self.value + difference;
        i16::try_from(i64::from(multiple) << self.shift).ok()
    }
}

impl Model {
    pub(super) fn new() -> Self {
        const EVEN: Probability = Probability::EVEN;
        Self {
            block: vec![EVEN; BLOCK_CONTEXTS],
            shift: [[EVEN; MOST_SHIFT as usize]; SHIFT_CONTEXTS],
            kept: vec![EVEN; KEPT_CONTEXTS],
            zero: [EVEN; CLASSES],
            negative: [EVEN; CLASSES],
            longer: [[EVEN; MOST_BITS]; CLASSES],
            below: [[[EVEN; 2]; MOST_BITS]; CLASSES],
        }
    }

    /// Codes the shift of a block.
    #[inline(always)]
    pub(super) fn shift(&mut self, coder: &mut impl Coder, context: usize, shift: u8) -> u8 {
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

    /// Codes the difference of a weight from its prediction.
    #[inline(always)]
    pub(super) fn difference(
        &mut self,
        coder: &mut impl Coder,
        class: usize,
        difference: i32,
    ) -> Result<i32, Fault> {
        if !coder.code(&mut self.zero[class], difference != 0) {
            return Ok(0);
        }
        let negative = coder.code(&mut self.negative[class], difference < 0);
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
        let found = found as i32;
        Ok(if negative { -found } else { found })
    }
}

/// Decodes a table of which `kept` weights are kept.
pub(super) fn decode(form: Form, step: f32, kept: u64, bytes: &[u8]) -> Result<SparseTable, Fault> {
    for_digits!(form, decode_blocks(form, step, kept, bytes))
}

fn decode_blocks<const D: usize>(
    form: Form,
    step: f32,
    kept: u64,
    bytes: &[u8],
) -> Result<SparseTable, Fault> {
    let (mut decoder, mut model) = (Decoder::new(bytes), Model::new());
    let mut table = SparseTable::new(form, step);
    for block in 0..form.blocks() {
        let around = Around::<D>::of(&table, block);
        table.starts.push(table.values.len() as u32);
        let context = around.block_context();
        let (mut mask, mut shift) = (0, 0);
        if decoder.code(&mut model.block[context], false) {
            shift = model.shift(&mut decoder, around.shift_context(), 0);
            mask = decode_block(&mut decoder, &mut model, &mut table, &around, shift)?;
        }
        table.masks.push(mask);
        table.shifts.push(shift);
        if decoder.is_short() {
            return Err(Fault::Short);
        }
        if table.values.len() as u64 > kept {
            break;
        }
    }
    let found = table.values.len() as u64;
    if found != kept {
        return Err(Fault::Kept {
            found,
            expected: kept,
        });
    }
    match decoder.has_more() {
        true => Err(Fault::Long),
        false => Ok(table),
    }
}

#[inline(always)]
fn decode_block<const D: usize>(
    decoder: &mut Decoder<'_>,
    model: &mut Model,
    table: &mut SparseTable,
    around: &Around<D>,
    shift: u8,
) -> Result<u32, Fault> {
    let mut mask = 0u32;
    let mut values = [0; MOST_DIGITS];
    for digit in 0..table.side() {
        let neighbours = around.neighbours(mask, digit);
        let context = around.kept_context(neighbours, mask, digit);
        if !decoder.code(&mut model.kept[context], false) {
            continue;
        }
        let count = around.values(table, neighbours, digit, &mut values);
        let prediction = Prediction::of(&values[..count], shift);
        let difference = model.difference(decoder, prediction.class, 0)?;
        let value = prediction.value_with(difference).ok_or(Fault::Range)?;
        table.values.push(value);
        mask |= 1 << digit;
    }
    Ok(mask)
}
