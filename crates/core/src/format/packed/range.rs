//! A binary arithmetic coder with adaptive probabilities.
//!
//! The coder is a range coder (G. N. N. Martin 1979) with a range of 64 bits: after a decision it
//! has at least 32, so that at most one word of 32 bits follows, and decoding has one branch that
//! is rarely taken. A probability is the mean of two estimates of 16 bits, one that adapts quickly
//! and one that adapts slowly: it follows a change within some 16 decisions and is still precise
//! where nothing changes.

use std::hint::select_unpredictable;

/// The probability that a decision is `true`, in two estimates of 16 bits: the fast one is in the
/// upper half.
#[derive(Clone, Copy)]
pub(super) struct Probability(u32);

impl Probability {
    pub(super) const EVEN: Self = Self(1 << 31 | 1 << 15);

    /// In units of 2^-16: from 71 to 65464, since estimates stop moving before their ends.
    #[inline(always)]
    pub(super) fn of_true(self) -> u32 {
        ((self.0 >> 16) + (self.0 & 0xffff)) >> 1
    }

    /// The fast estimate moves by a 16th of the way to 0 or 65535, the slow one by a 128th. Both in
    /// one word without a branch: the way to 65535 is the complement.
    #[inline(always)]
    fn update(&mut self, bit: bool) {
        let turned = u32::from(bit).wrapping_neg();
        let way = self.0 ^ turned;
        let step = (way >> 4 & 0x0fff_0000) | (way & 0xffff) >> 7;
        self.0 = (way - step) ^ turned;
    }
}

/// An encoder or a decoder, so that both make the same decisions in the same order.
pub(super) trait Coder {
    /// Codes a decision: an encoder writes `bit` and returns it, a decoder ignores it.
    fn code(&mut self, probability: &mut Probability, bit: bool) -> bool;

    /// The same for a decision that is as often true as false.
    fn code_even(&mut self, bit: bool) -> bool;
}

pub(super) struct Encoder {
    low: u64,
    range: u64,
    words: Vec<u32>,
}

impl Encoder {
    pub(super) fn new() -> Self {
        Self {
            low: 0,
            range: u64::MAX,
            words: Vec::new(),
        }
    }

    /// The bytes of all decisions.
    pub(super) fn finish(mut self) -> Vec<u8> {
        self.words.push((self.low >> 32) as u32);
        self.words.push(self.low as u32);
        self.words
            .iter()
            .flat_map(|word| word.to_le_bytes())
            .collect()
    }

    #[inline(always)]
    fn narrow(&mut self, bound: u64, bit: bool) {
        if bit {
            self.range = bound;
        } else {
            let (low, carried) = self.low.overflowing_add(bound);
            (self.low, self.range) = (low, self.range - bound);
            if carried {
                self.carry();
            }
        }
        if self.range >> 32 == 0 {
            self.words.push((self.low >> 32) as u32);
            self.low <<= 32;
            self.range <<= 32;
        }
    }

    /// Adds 1 to the number that the words are. All of it is below 1, so the carry ends in them.
    fn carry(&mut self) {
        for word in self.words.iter_mut().rev() {
            *word = word.wrapping_add(1);
            if *word != 0 {
                break;
            }
        }
    }
}

impl Coder for Encoder {
    #[inline(always)]
    fn code(&mut self, probability: &mut Probability, bit: bool) -> bool {
        self.narrow((self.range >> 16) * u64::from(probability.of_true()), bit);
        probability.update(bit);
        bit
    }

    #[inline(always)]
    fn code_even(&mut self, bit: bool) -> bool {
        self.narrow(self.range >> 1, bit);
        bit
    }
}

pub(super) struct Decoder<'a> {
    code: u64,
    range: u64,
    words: &'a [[u8; 4]],
    /// Whether words were read beyond the end.
    short: bool,
}

impl<'a> Decoder<'a> {
    /// A decoder of whole words: further bytes at the end are not read.
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        let mut decoder = Self {
            code: 0,
            range: u64::MAX,
            words: bytes.as_chunks().0,
            short: false,
        };
        for _ in 0..2 {
            decoder.code = decoder.code << 32 | decoder.next();
        }
        decoder
    }

    /// Whether decisions were read that are not in the bytes.
    pub(super) fn is_short(&self) -> bool {
        self.short
    }

    /// Whether words are left that no decision needs.
    pub(super) fn has_more(&self) -> bool {
        !self.words.is_empty()
    }

    #[inline(always)]
    fn next(&mut self) -> u64 {
        match self.words.split_first() {
            Some((first, rest)) => {
                self.words = rest;
                u32::from_le_bytes(*first).into()
            }
            None => {
                self.short = true;
                0
            }
        }
    }

    #[inline(always)]
    fn narrow(&mut self, bound: u64) -> bool {
        let bit = self.code < bound;
        // Decisions cannot be predicted well, or they would not be in the file.
        self.range = select_unpredictable(bit, bound, self.range - bound);
        self.code = select_unpredictable(bit, self.code, self.code.wrapping_sub(bound));
        if self.range >> 32 == 0 {
            self.range <<= 32;
            self.code = self.code << 32 | self.next();
        }
        bit
    }
}

impl Coder for Decoder<'_> {
    #[inline(always)]
    fn code(&mut self, probability: &mut Probability, _: bool) -> bool {
        let bit = self.narrow((self.range >> 16) * u64::from(probability.of_true()));
        probability.update(bit);
        bit
    }

    #[inline(always)]
    fn code_even(&mut self, _: bool) -> bool {
        self.narrow(self.range >> 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Decisions of many probabilities, with long rows of equal ones: carries run through.
    #[test]
    fn decisions_are_read_as_they_were_written() {
        let mut state = 1u64;
        let mut next = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1);
            (state >> 33) as u32
        };
        let bits: Vec<(usize, bool)> = (0..200_000)
            .map(|n| {
                let context = (next() % 8) as usize;
                (context, n < 20_000 || next() % 255 < 1 << context)
            })
            .collect();
        let mut encoder = Encoder::new();
        let mut probabilities = [Probability::EVEN; 8];
        for &(context, bit) in &bits {
            encoder.code(&mut probabilities[context], bit);
            encoder.code_even(bit);
        }
        let bytes = encoder.finish();
        let mut decoder = Decoder::new(&bytes);
        let mut probabilities = [Probability::EVEN; 8];
        for &(context, bit) in &bits {
            assert_eq!(decoder.code(&mut probabilities[context], !bit), bit);
            assert_eq!(decoder.code_even(!bit), bit);
        }
        assert!(!decoder.is_short() && !decoder.has_more());
        // One word less, one more.
        let read_all = |bytes: &[u8]| {
            let mut decoder = Decoder::new(bytes);
            let mut probabilities = [Probability::EVEN; 8];
            for &(context, _) in &bits {
                decoder.code(&mut probabilities[context], false);
                decoder.code_even(false);
            }
            (decoder.is_short(), decoder.has_more())
        };
        assert_eq!(read_all(&bytes[..bytes.len() - 4]), (true, false));
        assert_eq!(read_all(&[&bytes[..], &[0; 4]].concat()), (false, true));
    }

    /// 256 words of ones, then a decision that carries into all of them.
    #[test]
    fn a_carry_runs_through_all_words() {
        let mut encoder = Encoder::new();
        encoder.low = u64::MAX;
        encoder.words = vec![7];
        encoder.words.extend([u32::MAX; 256]);
        encoder.narrow(1 << 40, false);
        assert_eq!(encoder.words[0], 8);
        assert!(encoder.words[1..].iter().all(|word| *word == 0));
    }

    /// The word of two estimates is two numbers that move as docs/formats/packed.md says.
    #[test]
    fn two_estimates_move_apart_from_each_other() {
        let (mut word, mut fast, mut slow) = (Probability::EVEN, 1u32 << 15, 1u32 << 15);
        let mut state = 1u32;
        for n in 0..20_000u32 {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            // Long rows of either, so that both ends are reached.
            let bit = state >> 24 < if n / 1000 % 2 == 0 { 250 } else { 6 };
            let step = |p: u32, k: u32| match bit {
                true => p + ((65_535 - p) >> k),
                false => p - (p >> k),
            };
            (fast, slow) = (step(fast, 4), step(slow, 7));
            word.update(bit);
            assert_eq!(word.0, fast << 16 | slow);
            assert_eq!(word.of_true(), (fast + slow) / 2);
            assert!((71..=65_464).contains(&word.of_true()));
        }
    }

    #[test]
    fn rare_decisions_take_few_bytes() {
        let mut encoder = Encoder::new();
        let mut probability = Probability::EVEN;
        for n in 0..100_000 {
            encoder.code(&mut probability, n % 1000 == 999);
        }
        // The entropy is 142 bytes; the fast estimate starts anew after each rare decision.
        let bytes = encoder.finish().len();
        assert!((142..300).contains(&bytes), "{bytes}");
    }
}
