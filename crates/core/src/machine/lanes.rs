//! The indices of four boards at once: a packed board in each 64-bit lane of an AVX2 register.
//!
//! A move asks for the indices of up to four afterstates, a backward update for those of four positions
//! in a row. The work is the same for each, bit for bit (turn the board, cut out the tuples' cells, push
//! them together), so one instruction does it for all four. Against the plain path this takes about a
//! third of the instructions of a move away. Weights are still read one by one: the gather
//! instruction of AVX2 was slower than four loads.

use super::indices::Gathers;
use super::{Cpu, Instructions};

/// Writes the index of each lookup for each of four packed boards: the first tuple turned by every
/// symmetry, the second, ...
#[inline(always)]
pub(super) fn find_four(
    cpu: Cpu,
    gathers: &Gathers,
    boards: [u64; 4],
    found: &mut [[usize; 4]],
) {
    match cpu.0 {
        Instructions::Plain => plain::find(gathers, boards, found),
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the function is safe where AVX2 is there, and this value is only made by
        // `Cpu::detect` after it has been found.
        Instructions::Avx2 => unsafe { avx2::find(gathers, boards, found) },
    }
}

mod plain {
    use crate::game::images;
    use crate::machine::indices::{Gathers, Shift};

    /// One board after the other, one image after the other.
    pub(super) fn find(gathers: &Gathers, boards: [u64; 4], found: &mut [[usize; 4]]) {
        let symmetries = gathers.symmetries();
        for (lane, board) in boards.into_iter().enumerate() {
            for (s, image) in images(board).into_iter().take(symmetries).enumerate() {
                for gather in gathers.each() {
                    let shared = gathered(&gather.shared, image);
                    for member in &gather.members {
                        let own = shared | gathered(&member.own, image);
                        found[member.tuple * symmetries + s][lane] = member.start + own as usize;
                    }
                }
            }
        }
    }

    #[inline(always)]
    fn gathered(shifts: &[Shift], image: u64) -> u64 {
        let moved = |shift: &Shift| image << shift.left >> shift.right & shift.mask;
        shifts.iter().map(moved).fold(0, |all, bits| all | bits)
    }
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::*;

    use bytemuck::must_cast;

    use crate::machine::indices::{Gathers, Shift};

    /// Four lanes of 64 bits.
    type Four = __m256i;

    #[target_feature(enable = "avx2")]
    pub(super) fn find(gathers: &Gathers, boards: [u64; 4], found: &mut [[usize; 4]]) {
        let boards = must_cast(boards);
        if gathers.symmetries() == 8 {
            let (each, _) = found.as_chunks_mut::<8>();
            let (upright, turned) = images(boards);
            // Four at a time: with all eight there are not enough registers.
            find_images(gathers, &upright, each, 0);
            find_images(gathers, &turned, each, 4);
        } else {
            let (each, _) = found.as_chunks_mut::<1>();
            find_images(gathers, &[boards], each, 0);
        }
    }

    /// The indices of `N` images, of which the first has the number `from` among the `S` symmetries.
    /// What two tuples share is worked out once.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn find_images<const N: usize, const S: usize>(
        gathers: &Gathers,
        images: &[Four; N],
        found: &mut [[[usize; 4]; S]],
        from: usize,
    ) {
        for gather in gathers.each() {
            let mut shared = [_mm256_setzero_si256(); N];
            for shift in &gather.shared {
                add_shifted(&mut shared, images, shift);
            }
            for member in &gather.members {
                let mut indices = shared;
                for shift in &member.own {
                    add_shifted(&mut indices, images, shift);
                }
                let start = _mm256_set1_epi64x(member.start as i64);
                // A loop, not `map`: a closure would lose the instructions of this function.
                let found = found[member.tuple][from..from + N].iter_mut();
                for (found, index) in found.zip(indices) {
                    *found = must_cast(_mm256_add_epi64(index, start));
                }
            }
        }
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    fn add_shifted<const N: usize>(sums: &mut [Four; N], images: &[Four; N], shift: &Shift) {
        let mask = _mm256_set1_epi64x(shift.mask as i64);
        // A shift is to one side only: a branch that always goes the same way costs less than a
        // second shift of every image.
        if shift.left > 0 {
            let by = _mm_cvtsi32_si128(shift.left as i32);
            for (sum, &image) in sums.iter_mut().zip(images) {
                let bits = _mm256_and_si256(_mm256_sll_epi64(image, by), mask);
                *sum = _mm256_or_si256(*sum, bits);
            }
        } else {
            let by = _mm_cvtsi32_si128(shift.right as i32);
            for (sum, &image) in sums.iter_mut().zip(images) {
                let bits = _mm256_and_si256(_mm256_srl_epi64(image, by), mask);
                *sum = _mm256_or_si256(*sum, bits);
            }
        }
    }

    /// The images of four boards, in the order of [`images`](crate::game::images).
    #[target_feature(enable = "avx2")]
    #[inline]
    fn images(x: Four) -> ([Four; 4], [Four; 4]) {
        let (c, t) = (flip_cols(x), transpose(x));
        let r = flip_rows(t);
        let upright = [x, c, flip_rows(x), flip_rows(c)];
        (upright, [t, r, flip_cols(t), flip_cols(r)])
    }

    /// Each row from its other end: the bytes of a row, then the two cells of each byte.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn flip_cols(x: Four) -> Four {
        let bytes: [u8; 32] = std::array::from_fn(|i| (i as u8 & 15) ^ 1);
        let x = _mm256_shuffle_epi8(x, must_cast(bytes));
        let low = _mm256_set1_epi8(0x0F);
        let up = _mm256_slli_epi64::<4>(_mm256_and_si256(x, low));
        let down = _mm256_and_si256(_mm256_srli_epi64::<4>(x), low);
        _mm256_or_si256(up, down)
    }

    /// The last row first.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn flip_rows(x: Four) -> Four {
        let bytes: [u8; 32] = std::array::from_fn(|i| (i as u8 & 15) ^ 6);
        _mm256_shuffle_epi8(x, must_cast(bytes))
    }

    /// Rows become columns, as in [`transpose`](crate::game::transpose).
    #[target_feature(enable = "avx2")]
    #[inline]
    fn transpose(x: Four) -> Four {
        let mask = _mm256_set1_epi64x(0x0000_F0F0_0000_F0F0);
        let t = _mm256_and_si256(_mm256_xor_si256(x, _mm256_srli_epi64::<12>(x)), mask);
        let x = _mm256_xor_si256(x, _mm256_xor_si256(t, _mm256_slli_epi64::<12>(t)));
        let mask = _mm256_set1_epi64x(0x0000_0000_FF00_FF00);
        let t = _mm256_and_si256(_mm256_xor_si256(x, _mm256_srli_epi64::<24>(x)), mask);
        _mm256_xor_si256(x, _mm256_xor_si256(t, _mm256_slli_epi64::<24>(t)))
    }
}
