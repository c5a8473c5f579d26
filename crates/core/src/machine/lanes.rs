//! The indices of four boards at once: a packed board in each 64-bit lane of an AVX2 register.
//!
//! A move needs the indices of up to four afterstates, a backward update those of four successive
//! positions. The work is the same for each (transform the board, extract the tuples' cells, pack
//! them together), so one instruction does it for all four. Training 100,000 games took 105 s this
//! way, and 143 s on the plain path, where one instruction serves two boards
//! (benchmarks/2026-11-16.md). Weights are still read one by one.

use super::indices::Gathers;
use super::{Cpu, Instructions};

/// Writes the index of each lookup for each of four packed boards: the first tuple under every
/// symmetry, the second, ...
#[inline(always)]
pub(super) fn find_four(cpu: Cpu, gathers: &Gathers, boards: [u64; 4], found: &mut [[usize; 4]]) {
    match cpu.0 {
        Instructions::Plain => plain::find(gathers, boards, found),
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the function requires AVX2, and only `Cpu::detect` creates this value, after it
        // has detected AVX2.
        Instructions::Avx2 => unsafe {
            let [a, b, c, d] = boards;
            avx2::find(gathers, a, b, c, d, found)
        },
    }
}

mod plain {
    use crate::game::{HALF_TURN, symmetric_boards};
    use crate::machine::indices::{Gathers, Shift};

    /// Four boards under the same symmetry.
    type Four = [u64; 4];

    /// One symmetry at a time. Every processor has instructions for two of the four lanes at once,
    /// which the compiler uses because all lanes are treated alike.
    pub(super) fn find(gathers: &Gathers, boards: Four, found: &mut [[usize; 4]]) {
        let [a, b, c, d] = boards.map(symmetric_boards);
        let boards: [Four; 8] = std::array::from_fn(|s| [a[s], b[s], c[s], d[s]]);
        let symmetries = gathers.symmetries();
        for gather in gathers.each() {
            for s in 0..symmetries {
                let board = boards[if gather.turned { s ^ HALF_TURN } else { s }];
                let shared = gather
                    .shared
                    .iter()
                    .fold([0; 4], |all, shift| or(all, board, shift));
                for member in &gather.members {
                    let digits = or(shared, board, &member.own);
                    let start = member.start[0];
                    found[member.tuple * symmetries + s] =
                        digits.map(|index| (start + index) as usize);
                }
            }
        }
    }

    /// Adds some cells of a board to the digits of an index.
    #[inline(always)]
    fn or(mut digits: Four, board: Four, shift: &Shift) -> Four {
        let (by, mask) = (shift.by[0], shift.mask[0]);
        for (digits, board) in digits.iter_mut().zip(board) {
            *digits |= board >> (by & 63) & mask;
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

    /// The boards are passed one by one, in registers: an array would be written in four pieces and
    /// read in one, and such a read has to wait until the writes have reached the cache.
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
        let boards = symmetric_boards(boards);
        if gathers.symmetries() == 8 {
            let mut turned = boards;
            for n in 0..8 {
                turned[n] = boards[n ^ HALF_TURN];
            }
            find_symmetric(gathers, [&boards, &turned], found.as_chunks_mut().0);
        } else {
            find_symmetric(
                gathers,
                [&[boards[0]], &[boards[HALF_TURN]]],
                found.as_chunks_mut().0,
            );
        }
    }

    /// The indices for `N` symmetries, with and without a rotation by 180 degrees. What two tuples
    /// share is computed once.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn find_symmetric<const N: usize>(
        gathers: &Gathers,
        boards: [&[Four; N]; 2],
        found: &mut [[[usize; 4]; N]],
    ) {
        for gather in gathers.each() {
            let boards = boards[usize::from(gather.turned)];
            match (&gather.shared[..], &gather.members[..]) {
                ([a], [first, second]) => pair(boards, [a], [first, second], found),
                ([a, b], [first, second]) => pair(boards, [a, b], [first, second], found),
                ([a, b, c], [first, second]) => pair(boards, [a, b, c], [first, second], found),
                ([a], [one]) => alone(boards, [a], one, found),
                ([a, b], [one]) => alone(boards, [a, b], one, found),
                ([a, b, c], [one]) => alone(boards, [a, b, c], one, found),
                ([a, b, c, d], [one]) => alone(boards, [a, b, c, d], one, found),
                (shared, members) => any(boards, shared, members, found),
            }
        }
    }

    /// The indices of two interleaved tuples, the most common case: one symmetry at a time, with
    /// everything that the two need in registers.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn pair<const N: usize, const SHARED: usize>(
        boards: &[Four; N],
        shared: [&Shift; SHARED],
        members: [&Member; 2],
        found: &mut [[[usize; 4]; N]],
    ) {
        let [first, second] = members;
        let rows = found.get_disjoint_mut([first.tuple, second.tuple]);
        let [first_row, second_row] = rows.expect("two tuples of the set");
        for (n, &board) in boards.iter().enumerate() {
            let key = key(board, shared);
            first_row[n] = index(board, key, first);
            second_row[n] = index(board, key, second);
        }
    }

    /// The indices of a tuple without a partner.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn alone<const N: usize, const SHARED: usize>(
        boards: &[Four; N],
        shared: [&Shift; SHARED],
        member: &Member,
        found: &mut [[[usize; 4]; N]],
    ) {
        let row = &mut found[member.tuple];
        for (n, &board) in boards.iter().enumerate() {
            row[n] = index(board, key(board, shared), member);
        }
    }

    /// The digits that the members share.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn key<const SHARED: usize>(board: Four, shared: [&Shift; SHARED]) -> Four {
        let mut key = _mm256_setzero_si256();
        for shift in shared {
            key = _mm256_or_si256(key, shifted(board, shift));
        }
        key
    }

    /// The same for any number of shifts and members.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn any<const N: usize>(
        boards: &[Four; N],
        shared: &[Shift],
        members: &[Member],
        found: &mut [[[usize; 4]; N]],
    ) {
        let mut keys = [_mm256_setzero_si256(); N];
        for shift in shared {
            for (key, &board) in keys.iter_mut().zip(boards) {
                *key = _mm256_or_si256(*key, shifted(board, shift));
            }
        }
        for member in members {
            let row = &mut found[member.tuple];
            for n in 0..N {
                row[n] = index(boards[n], keys[n], member);
            }
        }
    }

    /// The index of a member, given the digits that it shares.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn index(board: Four, key: Four, member: &Member) -> [usize; 4] {
        let digits = _mm256_or_si256(key, shifted(board, &member.own));
        must_cast(_mm256_add_epi64(digits, must_cast(member.start)))
    }

    /// Some cells of a board, moved to their digits in an index.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn shifted(board: Four, shift: &Shift) -> Four {
        let moved = _mm256_srlv_epi64(board, must_cast(shift.by));
        _mm256_and_si256(moved, must_cast(shift.mask))
    }

    /// The symmetric boards of four boards, in the order of
    /// [`symmetric_boards`](crate::game::symmetric_boards).
    #[target_feature(enable = "avx2")]
    #[inline]
    fn symmetric_boards(x: Four) -> [Four; 8] {
        let (c, t) = (flip_cols(x), transpose(x));
        let (r, tr) = (flip_rows(x), flip_rows(t));
        [x, c, r, flip_rows(c), t, tr, flip_cols(t), flip_cols(tr)]
    }

    /// Reverses each row: the bytes of a row, then the two cells of each byte.
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

    /// Reverses the order of the rows.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn flip_rows(x: Four) -> Four {
        let bytes: [u8; 32] = std::array::from_fn(|i| (i as u8 & 15) ^ 6);
        _mm256_shuffle_epi8(x, must_cast(bytes))
    }

    /// Swaps rows and columns, as [`transpose`](crate::game::transpose) does.
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
