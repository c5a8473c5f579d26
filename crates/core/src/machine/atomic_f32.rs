//! A float that threads share without locks.

use std::sync::atomic::{AtomicU32, Ordering};

use crate::Value;

/// A 32-bit float that several threads read and write. Relaxed atomics compile to plain moves, and
/// are no data race in the language.
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct AtomicF32(AtomicU32);

impl AtomicF32 {
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
}
