//! Which weights to keep, and how to round them.
//!
//! The importance of a weight is c, a power of A, TC's sum of its absolute errors: how often it was
//! used, and how large the errors were. For each weight in order the encoder takes the value
//! with the least
//!
//! c (weight - value)^2 + price x bits,
//!
//! where the bits are those that the adaptive probabilities give at this moment. Candidates are:
//! not kept (0), the nearest step, steps from there towards the prediction, and the prediction. So
//! a weight that was hardly used is left out or takes the value that is expected anyway, and no
//! threshold is needed. Video coders choose in this way (rate-distortion optimised quantisation:
//! Karczewicz, Ye and Chong 2008).
//!
//! Steps depend on c, too. A uniform step has the error c step^2 / 12 and takes -log2(step) bits;
//! the sum is least at step^2 = 6 price / (c ln 2). The weights of a block share a step.

use super::grid::{Form, MOST_SHIFT, MasksAround, SparseTable, ValuesAround, for_form};
use super::model::{MaskModel, Prediction, ValueModel};
use super::range::{Encoder, Probability};
use super::{PackedError, TableEntry};

/// How coarse a packed table is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quantisation {
    /// The smallest distance of two neighbouring values of a weight.
    pub step: f32,
    /// c is A to the power of this.
    pub power: f32,
    /// What a bit costs: c (weight - value)^2.
    pub price: f32,
}

/// A coded table, and what it lost.
#[derive(Clone, Debug, PartialEq)]
pub struct EncodedTable {
    /// Its entry in the header.
    pub entry: TableEntry,
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// The number of weights that are not 0 before.
    pub nonzero: u64,
    /// The sum of c (weight - value)^2.
    pub error: f64,
}

/// Encodes a table: its weights in file order, and A of each.
///
/// # Errors
/// When a number is not finite, or a weight is too large for the step.
///
/// # Panics
/// When the index has more digits than the format supports, or the numbers are not one for each
/// index.
pub fn encode(
    name: &str,
    bits: u32,
    (weights, absolute_sums): (&[f32], &[f32]),
    quantisation: Quantisation,
) -> Result<EncodedTable, PackedError> {
    let digits = weights.len().ilog2() / bits;
    assert!(
        Form::is_supported(digits, bits),
        "{digits} digits of {bits}"
    );
    let form = Form::new(digits, bits);
    assert_eq!(weights.len(), form.blocks() * form.side());
    assert_eq!(absolute_sums.len(), weights.len());
    check(name, (weights, absolute_sums), quantisation.step)?;
    let mut encoding = Encoding::new(form, quantisation);
    for_form!(form, encoding.blocks(weights, absolute_sums));
    let (kept, error, nonzero) = (encoding.table.kept(), encoding.error, encoding.nonzero);
    let mut bytes = encoding.mask_coder.finish();
    let mask_bytes = bytes.len() as u64;
    bytes.extend(encoding.value_coder.finish());
    Ok(EncodedTable {
        entry: TableEntry {
            name: name.to_owned(),
            digits,
            bits,
            step: quantisation.step,
            kept: kept as u64,
            mask_bytes,
            bytes: bytes.len() as u64,
        },
        bytes,
        nonzero,
        error,
    })
}

fn check(
    name: &str,
    (weights, absolute_sums): (&[f32], &[f32]),
    step: f32,
) -> Result<(), PackedError> {
    for (index, (&weight, &sum)) in weights.iter().zip(absolute_sums).enumerate() {
        for found in [weight, sum] {
            if !found.is_finite() {
                return Err(PackedError::NotFinite {
                    table: name.to_owned(),
                    index,
                    found,
                });
            }
        }
        if weight.abs() > step * f32::from(i16::MAX) {
            return Err(PackedError::TooLarge {
                table: name.to_owned(),
                index,
                found: weight,
                step,
            });
        }
    }
    Ok(())
}

struct Encoding {
    mask_coder: Encoder,
    masks: MaskModel,
    value_coder: Encoder,
    values: ValueModel,
    /// The blocks so far.
    table: SparseTable,
    quantisation: Quantisation,
    error: f64,
    nonzero: u64,
    costs: Costs,
}

/// What is kept of a block.
#[derive(Default)]
struct Choice {
    mask: u32,
    /// The sum of c (weight - value)^2.
    error: f32,
    /// The bits of all decisions for its weights.
    bits: f32,
}

impl Encoding {
    fn new(form: Form, quantisation: Quantisation) -> Self {
        let mut table = SparseTable::new(quantisation.step, Vec::new());
        table.masks.reserve_exact(form.blocks());
        table.shifts.reserve_exact(form.blocks());
        table.starts.reserve_exact(form.blocks());
        Self {
            mask_coder: Encoder::new(),
            masks: MaskModel::new(form),
            value_coder: Encoder::new(),
            values: ValueModel::new(),
            table,
            quantisation,
            error: 0.0,
            nonzero: 0,
            costs: Costs::new(),
        }
    }

    fn blocks<const D: usize, const B: u32>(&mut self, weights: &[f32], absolute_sums: &[f32]) {
        let blocks = weights.chunks(1 << B).zip(absolute_sums.chunks(1 << B));
        for (weights, absolute_sums) in blocks {
            self.block::<D, B>(weights, absolute_sums);
        }
    }

    fn block<const D: usize, const B: u32>(&mut self, weights: &[f32], absolute_sums: &[f32]) {
        let (block, price) = (self.table.masks.len(), self.quantisation.price);
        let around = MasksAround::<D>::of::<B>(&self.table.masks, block);
        let start = self.table.values.len();
        // What the block loses as a whole if nothing of it is kept.
        let lost = self.quantisation.loss(weights, absolute_sums);
        self.nonzero += weights.iter().filter(|weight| **weight != 0.0).count() as u64;
        let probability = self.masks.block[around.context];
        let more = self.costs.of(probability, true) - self.costs.of(probability, false);
        let mut choice = Choice::default();
        let mut shift = 0;
        if lost > price * (more + BITS_OF_A_WEIGHT) {
            shift = self.quantisation.shift(weights, absolute_sums);
            choice = self.choose::<D, B>((block, shift), &around, weights, absolute_sums);
        }
        if lost <= choice.error + price * (more + choice.bits) || choice.mask == 0 {
            (choice.mask, choice.error, shift) = (0, lost, 0);
            self.table.values.truncate(start);
        }
        self.error += f64::from(choice.error);
        self.masks
            .code::<D, B>(&mut self.mask_coder, &around, choice.mask);
        self.table.masks.push(choice.mask);
        self.table.starts.push(start as u32);
        self.table.shifts.push(shift);
        if choice.mask != 0 {
            let coded = self
                .values
                .code::<D, B>(&mut self.value_coder, &mut self.table, block);
            debug_assert_eq!(coded, Ok(()));
        }
    }

    /// Chooses the weights of a block and adds their values to the table. Probabilities are those
    /// before the block.
    fn choose<const D: usize, const B: u32>(
        &mut self,
        (block, shift): (usize, u8),
        masks: &MasksAround<D>,
        weights: &[f32],
        absolute_sums: &[f32],
    ) -> Choice {
        let values = ValuesAround::<D>::of::<B>(&self.table, block);
        let (price, step) = (self.quantisation.price, self.quantisation.step);
        let mut all = Choice::default();
        for (digit, (&weight, &sum)) in (0..).zip(weights.iter().zip(absolute_sums)) {
            let importance = self.quantisation.importance(sum);
            let probability = self.masks.kept[masks.context_of(all.mask, digit)];
            let mut best = (
                importance * weight * weight,
                self.costs.of(probability, false),
                None,
            );
            // A weight that was never used is 0.
            if sum > 0.0 && weight != 0.0 {
                let own = all.mask << 1 >> digit & 1 == 1;
                let own = own.then(|| self.table.values.last().copied()).flatten();
                let neighbours = values.neighbours(&self.table.values, own, digit);
                let prediction = Prediction::of(&neighbours, shift);
                let kept = self.costs.of(probability, true);
                for multiple in self.candidates(weight, prediction.value, shift) {
                    let difference = multiple - prediction.value;
                    let Some(value) = prediction.value_with(difference) else {
                        continue;
                    };
                    let bits = self
                        .costs
                        .of_difference(&self.values, prediction.class, difference);
                    let bits = kept + bits;
                    let off = weight - SparseTable::of_value(step, value);
                    let error = importance * off * off;
                    if error + price * bits < best.0 + price * best.1 {
                        best = (error, bits, Some(value));
                    }
                }
            }
            let (error, bits, value) = best;
            all.error += error;
            all.bits += bits;
            if let Some(value) = value {
                self.table.values.push(value);
                all.mask |= 1 << digit;
            }
        }
        all
    }

    /// The nearest multiple of the block's step, two from there to the prediction, and the
    /// prediction.
    fn candidates(
        &self,
        weight: f32,
        predicted: i32,
        shift: u8,
    ) -> impl Iterator<Item = i32> + use<> {
        let step = self.quantisation.step * (1u32 << shift) as f32;
        let nearest = (weight / step).round() as i32;
        let towards = (predicted - nearest).signum();
        let distance = (predicted - nearest).abs();
        (0..distance.min(3) + 1).map(move |k| match k {
            3 => predicted,
            k => nearest + k * towards,
        })
    }
}

/// Bits that the first weight of a block takes at least, in the decision whether to open the block.
const BITS_OF_A_WEIGHT: f32 = 4.0;

impl Quantisation {
    /// c.
    fn importance(&self, absolute_sum: f32) -> f32 {
        absolute_sum.abs().powf(self.power)
    }

    /// What a block loses if nothing of it is kept.
    fn loss(&self, weights: &[f32], absolute_sums: &[f32]) -> f32 {
        let of_one = |(weight, sum): (&f32, &f32)| match *weight == 0.0 {
            true => 0.0,
            false => self.importance(*sum) * weight * weight,
        };
        weights.iter().zip(absolute_sums).map(of_one).sum()
    }

    /// The shift of a block: for the mean of c over the weights that it will probably keep.
    fn shift(&self, weights: &[f32], absolute_sums: &[f32]) -> u8 {
        let (mut sum, mut count) = (0.0, 0.0f32);
        for (weight, absolute_sum) in weights.iter().zip(absolute_sums) {
            let c = self.importance(*absolute_sum);
            if c * weight * weight > self.price * BITS_OF_A_WEIGHT {
                sum += c;
                count += 1.0;
            }
        }
        if count == 0.0 {
            return 0;
        }
        let best = (6.0 * self.price * count / (sum * std::f32::consts::LN_2)).sqrt();
        let shift = (best / self.step).log2().round();
        // A negative one becomes 0.
        (shift as u8).min(MOST_SHIFT)
    }
}

/// The bits that a decision takes, by its probability in units of 1/1024.
struct Costs([f32; 1024]);

impl Costs {
    fn new() -> Self {
        Self(std::array::from_fn(|k| -((k as f32 + 0.5) / 1024.0).log2()))
    }

    fn of(&self, probability: Probability, bit: bool) -> f32 {
        let of_true = probability.of_true();
        let of_bit = if bit {
            of_true
        } else {
            (1 << 16) - 1 - of_true
        };
        self.0[(of_bit >> 6) as usize]
    }

    /// The bits of a difference, decision by decision as [`ValueModel`] codes it.
    fn of_difference(&self, model: &ValueModel, class: usize, difference: i32) -> f32 {
        let mut bits = self.of(model.zero[class], difference != 0);
        if difference == 0 {
            return bits;
        }
        bits += self.of(model.negative[class], difference < 0);
        let size = difference.unsigned_abs();
        let length = size.ilog2() as usize;
        for k in 0..=length {
            bits += self.of(model.longer[class][k], k < length);
        }
        for (place, bit) in (0..length).rev().enumerate() {
            bits += match place {
                0..2 => self.of(model.below[class][length][place], size >> bit & 1 == 1),
                _ => 1.0,
            };
        }
        bits
    }
}
