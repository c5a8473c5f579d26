//! A binary arithmetic coder with adaptive probabilities.
//!
//! The coder is the carry-propagating range coder of LZMA (Igor Pavlov, public domain
//! specification; after G. N. N. Martin 1979), with probabilities of 16 bits. A probability is the
//! mean of two estimates, one that adapts quickly and one that adapts slowly: it follows a change
//! within some 16 decisions and is still precise where nothing changes.

/// The probability that a decision is `true`, in two estimates of 16 bits.
#[derive(Clone, Copy)]
pub(super) struct Probability {
    fast: u16,
    slow: u16,
}

impl Probability {
    pub(super) const EVEN: Self = Self {
        fast: 1 << 15,
        slow: 1 << 15,
    };

    const FAST: u32 = 4;
    const SLOW: u32 = 7;

    /// In units of 2^-16. Neither estimate reaches 0 or 65536: they stop moving before.
    #[inline(always)]
    pub(super) fn of_true(self) -> u32 {
        (u32::from(self.fast) + u32::from(self.slow)) >> 1
    }

    #[inline(always)]
    fn update(&mut self, bit: bool) {
        if bit {
            self.fast += (u16::MAX - self.fast) >> Self::FAST;
            self.slow += (u16::MAX - self.slow) >> Self::SLOW;
        } else {
            self.fast -= self.fast >> Self::FAST;
            self.slow -= self.slow >> Self::SLOW;
        }
    }
}

/// An encoder or a decoder, so that both make the same decisions in the same order.
pub(super) trait Coder {
    /// Codes a decision: an encoder writes `bit` and returns it, a decoder ignores it.
    fn code(&mut self, probability: &mut Probability, bit: bool) -> bool;

    /// The same for a decision that is as often true as false.
    fn code_even(&mut self, bit: bool) -> bool;
}

/// The range is at least this before a decision.
const LEAST: u32 = 1 << 24;

pub(super) struct Encoder {
    low: u64,
    range: u32,
    /// The last byte that a carry can change, and the 255s after it.
    last: u8,
    full: u64,
    started: bool,
    bytes: Vec<u8>,
}

impl Encoder {
    pub(super) fn new() -> Self {
        Self {
            low: 0,
            range: u32::MAX,
            last: 0,
            full: 0,
            started: false,
            bytes: Vec::new(),
        }
    }

    /// The bytes of all decisions.
    pub(super) fn finish(mut self) -> Vec<u8> {
        for _ in 0..5 {
            self.shift();
        }
        self.bytes
    }

    fn shift(&mut self) {
        if self.low < 0xff00_0000 || self.low > u64::from(u32::MAX) {
            let carry = (self.low >> 32) as u8;
            // The first byte would always be 0.
            if self.started {
                self.bytes.push(self.last.wrapping_add(carry));
            }
            self.started = true;
            for _ in 0..self.full {
                self.bytes.push(255u8.wrapping_add(carry));
            }
            self.full = 0;
            self.last = (self.low >> 24) as u8;
        } else {
            self.full += 1;
        }
        self.low = (self.low & 0x00ff_ffff) << 8;
    }

    #[inline(always)]
    fn narrow(&mut self, bound: u32, bit: bool) {
        if bit {
            self.range = bound;
        } else {
            self.low += u64::from(bound);
            self.range -= bound;
        }
        while self.range < LEAST {
            self.range <<= 8;
            self.shift();
        }
    }
}

impl Coder for Encoder {
    #[inline(always)]
    fn code(&mut self, probability: &mut Probability, bit: bool) -> bool {
        self.narrow((self.range >> 16) * probability.of_true(), bit);
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
    code: u32,
    range: u32,
    bytes: &'a [u8],
    /// The bytes that were read beyond the end.
    missing: u32,
}

impl<'a> Decoder<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        let mut decoder = Self {
            code: 0,
            range: u32::MAX,
            bytes,
            missing: 0,
        };
        for _ in 0..4 {
            decoder.code = decoder.code << 8 | u32::from(decoder.next());
        }
        decoder
    }

    /// Whether decisions were read that are not in the bytes.
    pub(super) fn is_short(&self) -> bool {
        self.missing > 0
    }

    /// Whether bytes are left that no decision needs.
    pub(super) fn has_more(&self) -> bool {
        !self.bytes.is_empty()
    }

    #[inline(always)]
    fn next(&mut self) -> u8 {
        match self.bytes.split_first() {
            Some((first, rest)) => {
                self.bytes = rest;
                *first
            }
            None => {
                self.missing = self.missing.saturating_add(1);
                0
            }
        }
    }

    #[inline(always)]
    fn narrow(&mut self, bound: u32) -> bool {
        let bit = self.code < bound;
        if bit {
            self.range = bound;
        } else {
            self.code -= bound;
            self.range -= bound;
        }
        while self.range < LEAST {
            self.range <<= 8;
            self.code = self.code << 8 | u32::from(self.next());
        }
        bit
    }
}

impl Coder for Decoder<'_> {
    #[inline(always)]
    fn code(&mut self, probability: &mut Probability, _: bool) -> bool {
        let bit = self.narrow((self.range >> 16) * probability.of_true());
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
