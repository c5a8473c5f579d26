//! A number that threads share without locks.

use std::sync::atomic::{AtomicU32, Ordering};

use crate::Value;

/// A 32-bit float in memory that several threads read and write. Relaxed atomics: plain moves to the
/// processor, no data race to the language.
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct Number(AtomicU32);

impl Number {
    /// The number.
    #[inline(always)]
    pub fn get(&self) -> Value {
        Value::from_bits(self.0.load(Ordering::Relaxed))
    }

    /// Replaces it.
    #[inline(always)]
    pub fn set(&self, value: Value) {
        self.0.store(value.to_bits(), Ordering::Relaxed);
    }

    /// The sum of `value` and the number, in one instruction. Atomics are whole numbers to the compiler,
    /// so from [`Number::get`] it makes a load, a move to another register and an addition.
    #[inline(always)]
    pub fn added_to(&self, value: Value) -> Value {
        #[cfg(target_arch = "x86_64")]
        {
            let mut sum = value;
            // SAFETY: reads four aligned bytes that a shared reference points to, in one access as an
            // atomic load would; SSE is part of x86-64.
            unsafe {
                std::arch::asm!(
                    "addss {sum}, dword ptr [{at}]",
                    at = in(reg) self,
                    sum = inout(xmm_reg) sum,
                    options(pure, readonly, nostack, preserves_flags),
                );
            }
            sum
        }
        #[cfg(not(target_arch = "x86_64"))]
        {
            value + self.get()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adding_in_memory_is_adding() {
        let mut rng = crate::random::game_rng(1, 1);
        let number = Number::default();
        for _ in 0..10_000 {
            let bits = rng.bits();
            number.set(Value::from_bits(bits as u32));
            let value = Value::from_bits((bits >> 32) as u32);
            let (fast, slow) = (number.added_to(value), value + number.get());
            assert!(fast.to_bits() == slow.to_bits() || (fast.is_nan() && slow.is_nan()));
        }
    }
}
