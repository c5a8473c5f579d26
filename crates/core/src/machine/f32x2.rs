//! Two floats in one register, added with one instruction.
//!
//! A network of states reads two numbers for every weight, which are adjacent in memory. One load
//! and one addition serve both: 27 instructions for eight weights instead of 54.

use std::ops::Add;
use std::sync::atomic::AtomicU64;
#[cfg(not(target_arch = "x86_64"))]
use std::sync::atomic::Ordering;

use super::{AtomicF32, WeightRef};
use crate::Value;

/// Two floats, or two sums.
#[derive(Clone, Copy, Debug)]
pub(crate) struct F32x2(Register);

#[cfg(target_arch = "x86_64")]
type Register = std::arch::x86_64::__m128;
#[cfg(not(target_arch = "x86_64"))]
type Register = [Value; 2];

impl F32x2 {
    /// The first and the second.
    #[inline(always)]
    pub(crate) fn parts(self) -> [Value; 2] {
        #[cfg(target_arch = "x86_64")]
        {
            let [first, second, _, _] = bytemuck::must_cast(self.0);
            [first, second]
        }
        #[cfg(not(target_arch = "x86_64"))]
        self.0
    }
}

impl Default for F32x2 {
    #[inline(always)]
    fn default() -> Self {
        Self(bytemuck::Zeroable::zeroed())
    }
}

impl Add for F32x2 {
    type Output = Self;

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: SSE is part of x86-64.
        unsafe {
            Self(std::arch::x86_64::_mm_add_ps(self.0, other.0))
        }
        #[cfg(not(target_arch = "x86_64"))]
        Self([self.0[0] + other.0[0], self.0[1] + other.0[1]])
    }
}

impl From<[Value; 2]> for F32x2 {
    #[inline(always)]
    fn from([first, second]: [Value; 2]) -> Self {
        #[cfg(target_arch = "x86_64")]
        {
            Self(bytemuck::must_cast([first, second, 0.0, 0.0]))
        }
        #[cfg(not(target_arch = "x86_64"))]
        Self([first, second])
    }
}

/// Two floats that threads read and write together: a reader never sees one old and one new number.
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct AtomicF32x2(AtomicU64);

impl AtomicF32x2 {
    /// Both numbers.
    #[inline(always)]
    pub(crate) fn get(&self) -> F32x2 {
        #[cfg(target_arch = "x86_64")]
        {
            let both: Register;
            // SAFETY: it is the relaxed load of an aligned word of eight bytes, which x86-64 reads
            // as a whole, into the register that the sums are added in. The compiler would load an
            // integer and take it apart: 7% more instructions of an update by TC. SSE2 is part of
            // x86-64.
            unsafe {
                std::arch::asm!(
                    "movsd {both}, qword ptr [{word}]",
                    word = in(reg) self.0.as_ptr(),
                    both = lateout(xmm_reg) both,
                    options(readonly, nostack, preserves_flags),
                );
            }
            F32x2(both)
        }
        #[cfg(not(target_arch = "x86_64"))]
        {
            let bits = self.0.load(Ordering::Relaxed);
            F32x2([bits as u32, (bits >> 32) as u32].map(Value::from_bits))
        }
    }

    /// Replaces both.
    #[inline(always)]
    pub(crate) fn set(&self, numbers: F32x2) {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: it is the relaxed store of an aligned word, which x86-64 writes as a whole: see
        // `get`.
        unsafe {
            std::arch::asm!(
                "movlps qword ptr [{word}], {both}",
                word = in(reg) self.0.as_ptr(),
                both = in(xmm_reg) numbers.0,
                options(nostack, preserves_flags),
            );
        }
        #[cfg(not(target_arch = "x86_64"))]
        {
            let [first, second] = numbers.0.map(|number| u64::from(number.to_bits()));
            self.0.store(first | second << 32, Ordering::Relaxed);
        }
    }
}

impl WeightRef<'_, [AtomicF32; 2]> {
    /// Both numbers of the weight cell.
    #[inline(always)]
    pub(crate) fn both(self) -> F32x2 {
        #[cfg(target_arch = "x86_64")]
        {
            let (all, i) = self.operand();
            let both: Register;
            const { assert!(size_of::<[AtomicF32; 2]>() == 8) }
            // SAFETY: one access does what two relaxed loads of the cell's numbers may do. The
            // memory starts at a page and a cell has eight bytes, so no number is read in pieces;
            // SSE2 is part of x86-64.
            unsafe {
                std::arch::asm!(
                    "movsd {both}, qword ptr [{all} + 8*{i}]",
                    all = in(reg) all,
                    i = in(reg) i,
                    both = lateout(xmm_reg) both,
                    options(pure, readonly, nostack, preserves_flags),
                );
            }
            F32x2(both)
        }
        #[cfg(not(target_arch = "x86_64"))]
        {
            let [first, second] = self.get();
            F32x2([first.get(), second.get()])
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::{Indices, WeightMemory};

    #[test]
    fn both_numbers_are_read_and_added() {
        let memory: WeightMemory<[AtomicF32; 2]> = WeightMemory::zeroed(10).unwrap();
        for (i, [first, second]) in memory.iter().enumerate() {
            first.set(i as Value);
            second.set(-0.5 * i as Value);
        }
        let mut indices = Indices::default();
        indices.fill(2, 10, |k| [0, 3 + k, 9, 9]);
        let found = memory.at(&indices);
        let weights = [found.weight(0, 1), found.weight(1, 1), found.weight(1, 3)];
        assert_eq!(weights[2].both().parts(), [9.0, -4.5]);
        let sum = weights
            .into_iter()
            .fold(F32x2::default(), |sum, weight| sum + weight.both());
        assert_eq!(sum.parts(), [3.0 + 4.0 + 9.0, -8.0]);
    }
}
