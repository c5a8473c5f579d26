//! The indices of four boards at once: a packed board in each 64-bit lane of an AVX2 register.
//!
//! A move asks for the indices of up to four afterstates, a backward update for those of four positions
//! in a row. The work is the same for each, bit for bit (turn the board, cut out the tuples' cells, push
//! them together), so one instruction does it for all four. A training of 100,000 games took 105 s so, and
//! 143 s on the plain path, where one instruction does it for two (benchmarks/2026-11-16.md). Weights are still
//! read one by one.

use super::indices::Gathers;
use super::{Cpu, Instructions};

/// Writes the index of each lookup for each of four packed boards: the first tuple turned by every
/// symmetry, the second, ...
#[inline(always)]
pub(super) fn find_four(cpu: Cpu, gathers: &Gathers, boards: [u64; 4], found: &mut [[usize; 4]]) {
    match cpu.0 {
        Instructions::Plain => plain::find(gathers, boards, found),
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the function is safe where AVX2 is there, and this value is only made by
        // `Cpu::detect` after it has been found.
        Instructions::Avx2 => unsafe {
            let [a, b, c, d] = boards;
            avx2::find(gathers, a, b, c, d, found)
        },
    }
}

mod plain {
    use crate::game::{HALF_TURN, symmetric_boards};
    use crate::machine::indices::{Gathers, Shift};

    /// The same image of four boards.
    type Four = [u64; 4];

    /// Image by image; every processor has instructions for two of the four at once, which the compiler
    /// finds where all are treated alike.
    pub(super) fn find(gathers: &Gathers, boards: Four, found: &mut [[usize; 4]]) {
        let [a, b, c, d] = boards.map(symmetric_boards);
        let images: [Four; 8] = std::array::from_fn(|s| [a[s], b[s], c[s], d[s]]);
        let symmetries = gathers.symmetries();
        for gather in gathers.each() {
            for s in 0..symmetries {
                let image = images[if gather.turned { s ^ HALF_TURN } else { s }];
                let shared = gather
                    .shared
                    .iter()
                    .fold([0; 4], |all, shift| or(all, image, shift));
                for member in &gather.members {
                    let digits = or(shared, image, &member.own);
                    let start = member.start[0];
                    found[member.tuple * symmetries + s] =
                        digits.map(|index| (start + index) as usize);
                }
            }
        }
    }

    /// Some cells of an image, at their places in an index, with those already there.
    #[inline(always)]
    fn or(mut digits: Four, image: Four, shift: &Shift) -> Four {
        let (by, mask) = (shift.by[0], shift.mask[0]);
        for (digits, image) in digits.iter_mut().zip(image) {
            *digits |= image >> (by & 63) & mask;
        }
        digits
    }
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::*;

    use bytemuck::must_cast;

    use crate::game::HALF_TURN;
    use crate::machine::indices::{Gathers, Member, Shift};

    /// Four lanes of 64 bits.
    type Four = __m256i;

    /// The boards come one by one, in registers: an array would be written in four pieces and read in one,
    /// and such a read has to wait until the writes have reached the cache.
    #[target_feature(enable = "avx2")]
    pub(super) fn find(
        gathers: &Gathers,
        a: u64,
        b: u64,
        c: u64,
        d: u64,
        found: &mut [[usize; 4]],
    ) {
        let boards = _mm256_set_epi64x(d as i64, c as i64, b as i64, a as i64);
        let images = images(boards);
        if gathers.symmetries() == 8 {
            let mut turned = images;
            for n in 0..8 {
                turned[n] = images[n ^ HALF_TURN];
            }
            find_images(gathers, [&images, &turned], found.as_chunks_mut().0);
        } else {
            find_images(
                gathers,
                [&[images[0]], &[images[HALF_TURN]]],
                found.as_chunks_mut().0,
            );
        }
    }

    /// The indices of `N` images, each as it is and turned. What two tuples share is worked out once.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn find_images<const N: usize>(
        gathers: &Gathers,
        images: [&[Four; N]; 2],
        found: &mut [[[usize; 4]; N]],
    ) {
        for gather in gathers.each() {
            let images = images[usize::from(gather.turned)];
            match (&gather.shared[..], &gather.members[..]) {
                ([a], [first, second]) => pair(images, [a], [first, second], found),
                ([a, b], [first, second]) => pair(images, [a, b], [first, second], found),
                ([a, b, c], [first, second]) => pair(images, [a, b, c], [first, second], found),
                ([a], [one]) => alone(images, [a], one, found),
                ([a, b], [one]) => alone(images, [a, b], one, found),
                ([a, b, c], [one]) => alone(images, [a, b, c], one, found),
                ([a, b, c, d], [one]) => alone(images, [a, b, c, d], one, found),
                (shared, members) => any(images, shared, members, found),
            }
        }
    }

    /// The indices of two interleaved tuples, as most of the work is: image by image, with all that the two
    /// need in registers.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn pair<const N: usize, const SHARED: usize>(
        images: &[Four; N],
        shared: [&Shift; SHARED],
        members: [&Member; 2],
        found: &mut [[[usize; 4]; N]],
    ) {
        let [first, second] = members;
        let rows = found.get_disjoint_mut([first.tuple, second.tuple]);
        let [first_row, second_row] = rows.expect("two tuples of the set");
        for (n, &image) in images.iter().enumerate() {
            let key = key(image, shared);
            first_row[n] = index(image, key, first);
            second_row[n] = index(image, key, second);
        }
    }

    /// The indices of a tuple without a partner.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn alone<const N: usize, const SHARED: usize>(
        images: &[Four; N],
        shared: [&Shift; SHARED],
        member: &Member,
        found: &mut [[[usize; 4]; N]],
    ) {
        let row = &mut found[member.tuple];
        for (n, &image) in images.iter().enumerate() {
            row[n] = index(image, key(image, shared), member);
        }
    }

    /// All that is shared, at its places in an index.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn key<const SHARED: usize>(image: Four, shared: [&Shift; SHARED]) -> Four {
        let mut key = _mm256_setzero_si256();
        for shift in shared {
            key = _mm256_or_si256(key, shifted(image, shift));
        }
        key
    }

    /// The same for any number of shifts and members.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn any<const N: usize>(
        images: &[Four; N],
        shared: &[Shift],
        members: &[Member],
        found: &mut [[[usize; 4]; N]],
    ) {
        let mut keys = [_mm256_setzero_si256(); N];
        for shift in shared {
            for (key, &image) in keys.iter_mut().zip(images) {
                *key = _mm256_or_si256(*key, shifted(image, shift));
            }
        }
        for member in members {
            let row = &mut found[member.tuple];
            for n in 0..N {
                row[n] = index(images[n], keys[n], member);
            }
        }
    }

    /// The index of a member, of which `key` is what it shares.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn index(image: Four, key: Four, member: &Member) -> [usize; 4] {
        let digits = _mm256_or_si256(key, shifted(image, &member.own));
        must_cast(_mm256_add_epi64(digits, must_cast(member.start)))
    }

    /// Some cells of an image, at their places in an index.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn shifted(image: Four, shift: &Shift) -> Four {
        let moved = _mm256_srlv_epi64(image, must_cast(shift.by));
        _mm256_and_si256(moved, must_cast(shift.mask))
    }

    /// The images of four boards, in the order of [`symmetric_boards`](crate::game::symmetric_boards).
    #[target_feature(enable = "avx2")]
    #[inline]
    fn images(x: Four) -> [Four; 8] {
        let (c, t) = (flip_cols(x), transpose(x));
        let (r, tr) = (flip_rows(x), flip_rows(t));
        [x, c, r, flip_rows(c), t, tr, flip_cols(t), flip_cols(tr)]
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
