//! Random numbers are passed in, never stored in a position, and each game has its own stream.
//!
//! The stream of game n depends only on the seed and n, not on the thread that plays it. So an
//! evaluation gives the same results with any number of threads, two players can be compared on
//! games paired by number, and a resumed run needs no saved generator: the number of finished games
//! is enough.

use rand_core::{Rng as _, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// The random number generator of one game.
#[derive(Clone, Debug)]
pub struct Rng(Xoshiro256PlusPlus);

/// The stream of game `number` under `seed`.
pub fn game_rng(seed: u64, number: u64) -> Rng {
    // `seed_from_u64` scrambles with SplitMix64; the odd constants keep the streams of different
    // (seed, number) pairs apart for all practical numbers of games.
    let mixed = (seed ^ 0x6A09_E667_F3BC_C909)
        .wrapping_mul(0xD134_2543_DE82_EF95)
        .rotate_left(32)
        .wrapping_add(number.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    Rng(Xoshiro256PlusPlus::seed_from_u64(mixed))
}

impl Rng {
    /// A generator that starts with these 256 bits. The first number of uniform bits is uniform.
    pub fn from_seed(seed: [u8; 32]) -> Self {
        Self(Xoshiro256PlusPlus::from_seed(seed))
    }

    /// A uniform 64-bit number.
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A uniform number in [0, 1).
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// A uniform number below `n`, by multiply and shift (the bias is below n / 2^32).
    pub fn below(&mut self, n: u32) -> u32 {
        scale(self.bits() as u32, n)
    }
}

/// Maps 32 uniform bits to a uniform number below `n`.
pub(crate) fn scale(bits: u32, n: u32) -> u32 {
    ((u64::from(bits) * u64::from(n)) >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_depends_on_seed_and_number() {
        let first = |seed, number| game_rng(seed, number).bits();
        assert_eq!(first(1, 7), first(1, 7));
        let mut seen = std::collections::HashSet::new();
        for seed in 0..100 {
            for number in 0..1000 {
                assert!(
                    seen.insert(first(seed, number)),
                    "streams {seed}/{number} repeat another"
                );
            }
        }
    }

    /// The first number of xoshiro256++ is rotl(s0 + s3, 23) + s0, as its authors define it.
    #[test]
    fn the_first_number_of_a_seed_is_as_published() {
        let mut seed = [0; 32];
        (seed[0], seed[24]) = (1, 4);
        assert_eq!(Rng::from_seed(seed).bits(), (5 << 23) + 1);
    }

    #[test]
    fn below_is_uniform() {
        let mut rng = game_rng(1, 1);
        let mut counts = [0u32; 7];
        for _ in 0..70_000 {
            counts[rng.below(7) as usize] += 1;
        }
        // Six standard deviations of a binomial(70_000, 1/7) are 556.
        assert!(
            counts.iter().all(|&n| n.abs_diff(10_000) < 556),
            "{counts:?}"
        );
    }
}
