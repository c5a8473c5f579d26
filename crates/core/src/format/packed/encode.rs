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

use super::grid::{Around, Form, MOST_DIGITS, MOST_SHIFT, SparseTable, for_digits};
use super::model::{Model, Prediction};
use super::range::{Coder, Encoder, Probability};
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
    let mut encoding = Encoding {
        encoder: Encoder::new(),
        model: Model::new(),
        table: SparseTable::new(form, quantisation.step),
        quantisation,
        error: 0.0,
        nonzero: 0,
        costs: Costs::new(),
    };
    for_digits!(form, encoding.blocks(weights, absolute_sums));
    let (kept, error, nonzero) = (encoding.table.kept(), encoding.error, encoding.nonzero);
    let bytes = encoding.encoder.finish();
    Ok(EncodedTable {
        entry: TableEntry {
            name: name.to_owned(),
            digits,
            bits,
            step: quantisation.step,
            kept: kept as u64,
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
    encoder: Encoder,
    model: Model,
    table: SparseTable,
    quantisation: Quantisation,
    error: f64,
    nonzero: u64,
    costs: Costs,
}

impl Encoding {
    fn blocks<const D: usize>(&mut self, weights: &[f32], absolute_sums: &[f32]) {
        let side = self.table.side();
        let blocks = weights.chunks(side).zip(absolute_sums.chunks(side));
        for (block, (weights, absolute_sums)) in blocks.enumerate() {
            self.block::<D>(block, weights, absolute_sums);
        }
    }

    fn block<const D: usize>(&mut self, block: usize, weights: &[f32], absolute_sums: &[f32]) {
        let around = Around::<D>::of(&self.table, block);
        self.table.starts.push(self.table.values.len() as u32);
        let context = around.block_context();
        // What the block loses as a whole if nothing of it is kept.
        let lost = self.quantisation.loss(weights, absolute_sums);
        self.nonzero += weights.iter().filter(|weight| **weight != 0.0).count() as u64;
        let probability = self.model.block[context];
        let more = self.costs.of(probability, true) - self.costs.of(probability, false);
        let least = self.quantisation.price * (more + BITS_OF_A_WEIGHT);
        if lost <= least {
            self.encoder.code(&mut self.model.block[context], false);
            self.table.masks.push(0);
            self.table.shifts.push(0);
            self.error += f64::from(lost);
            return;
        }
        self.encoder.code(&mut self.model.block[context], true);
        let shift = self.quantisation.shift(weights, absolute_sums);
        let coded = self
            .model
            .shift(&mut self.encoder, around.shift_context(), shift);
        debug_assert_eq!(coded, shift);
        let mut mask = 0;
        for (digit, (&weight, &sum)) in weights.iter().zip(absolute_sums).enumerate() {
            self.weight(&around, (&mut mask, digit), shift, (weight, sum));
        }
        self.table.masks.push(mask);
        self.table.shifts.push(shift);
    }

    fn weight<const D: usize>(
        &mut self,
        around: &Around<D>,
        (mask, digit): (&mut u32, usize),
        shift: u8,
        (weight, sum): (f32, f32),
    ) {
        let neighbours = around.neighbours(*mask, digit);
        let context = around.kept_context(neighbours, *mask, digit);
        let kept = self.model.kept[context];
        let (price, importance) = (self.quantisation.price, self.quantisation.importance(sum));
        let nothing = importance * weight * weight + price * self.costs.of(kept, false);
        let mut values = [0; MOST_DIGITS];
        let mut best = (nothing, None);
        // A weight that was never used is 0.
        if sum > 0.0 && weight != 0.0 {
            let count = around.values(&self.table, neighbours, digit, &mut values);
            let prediction = Prediction::of(&values[..count], shift);
            let cost = price * self.costs.of(kept, true);
            for multiple in self.candidates(weight, prediction.value, shift) {
                let difference = multiple - prediction.value;
                let Some(value) = prediction.value_with(difference) else {
                    continue;
                };
                let bits = self
                    .costs
                    .of_difference(&self.model, prediction.class, difference);
                let error = weight - SparseTable::weight(self.quantisation.step, value);
                let total = importance * error * error + cost + price * bits;
                if total < best.0 {
                    best = (total, Some((value, difference, prediction.class)));
                }
            }
        }
        self.encoder
            .code(&mut self.model.kept[context], best.1.is_some());
        let mut error = weight;
        if let Some((value, difference, class)) = best.1 {
            let coded = self.model.difference(&mut self.encoder, class, difference);
            debug_assert_eq!(coded, Ok(difference));
            self.table.values.push(value);
            *mask |= 1 << digit;
            error -= SparseTable::weight(self.quantisation.step, value);
        }
        self.error += f64::from(importance * error * error);
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

    /// The bits of a difference, decision by decision as [`Model::difference`] codes it.
    fn of_difference(&self, model: &Model, class: usize, difference: i32) -> f32 {
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
