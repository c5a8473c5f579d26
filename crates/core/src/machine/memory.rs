//! The memory of the weights.
//!
//! Tables of hundreds of megabytes are read at random, and with pages of 4 KiB nearly every read
//! also misses the TLB. So the weights live in an anonymous map that requests huge pages (2 MiB).
//! The system provides zeroed pages at the first write, so creating a network takes no time,
//! whatever its size.

use std::io;
use std::marker::PhantomData;
use std::ops::Deref;

use memmap2::{MmapMut, MmapRaw};

use super::{AtomicF32, AtomicF32x2, F32x2};
use crate::Value;

/// Types that may be read from zeroed memory and changed through a shared reference.
///
/// # Safety
/// Every bit pattern, including all zeros, must be a valid value; the type must have no drop glue,
/// an alignment of at most a page, and only atomic fields.
pub unsafe trait Zeroed: Sized {
    /// The number of floats in a value: 0, 1 or 2.
    const NUMBERS: usize;

    /// One of its floats.
    fn number(&self, n: usize) -> Value;

    /// Replaces one of its floats.
    fn set_number(&self, n: usize, number: Value);

    /// Replaces one of its floats, unless it already has these bits: zeros written to new memory
    /// do not commit its pages.
    #[inline(always)]
    fn write_number(&self, n: usize, number: Value) {
        if self.number(n).to_bits() != number.to_bits() {
            self.set_number(n, number);
        }
    }
}

// SAFETY: one `AtomicU32`, of which every bit pattern is valid.
unsafe impl Zeroed for AtomicF32 {
    const NUMBERS: usize = 1;

    #[inline(always)]
    fn number(&self, _: usize) -> Value {
        self.get()
    }

    #[inline(always)]
    fn set_number(&self, _: usize, number: Value) {
        self.set(number);
    }
}

// SAFETY: two adjacent `AtomicU32`, of which every bit pattern is valid.
unsafe impl Zeroed for [AtomicF32; 2] {
    const NUMBERS: usize = 2;

    #[inline(always)]
    fn number(&self, n: usize) -> Value {
        self[n].get()
    }

    #[inline(always)]
    fn set_number(&self, n: usize, number: Value) {
        self[n].set(number);
    }
}

// SAFETY: one `AtomicU64`, of which every bit pattern is valid.
unsafe impl Zeroed for AtomicF32x2 {
    const NUMBERS: usize = 2;

    #[inline(always)]
    fn number(&self, n: usize) -> Value {
        self.get().parts()[n]
    }

    #[inline(always)]
    fn set_number(&self, n: usize, number: Value) {
        let mut parts = self.get().parts();
        parts[n] = number;
        self.set(F32x2::from(parts));
    }
}

// SAFETY: the type has no bytes.
unsafe impl Zeroed for () {
    const NUMBERS: usize = 0;

    #[inline(always)]
    fn number(&self, _: usize) -> Value {
        0.0
    }

    #[inline(always)]
    fn set_number(&self, _: usize, _: Value) {}
}

/// A fixed number of values that start as zeros.
pub(crate) struct WeightMemory<T: Zeroed> {
    map: MmapRaw,
    len: usize,
    kind: PhantomData<T>,
}

impl<T: Zeroed> WeightMemory<T> {
    /// Requests memory from the system.
    pub(crate) fn zeroed(len: usize) -> io::Result<Self> {
        let bytes = len
            .checked_mul(size_of::<T>())
            .ok_or(io::ErrorKind::OutOfMemory)?;
        // A map has at least one byte, even for values of size 0.
        let map = MmapRaw::from(MmapMut::map_anon(bytes.max(1))?);
        // Huge pages are optional: a system without them is slower, not wrong.
        #[cfg(target_os = "linux")]
        let _ = map.advise(memmap2::Advice::HugePage);
        Ok(Self {
            map,
            len,
            kind: PhantomData,
        })
    }
}

impl<T: Zeroed> WeightMemory<T> {
    /// The number of floats in all values.
    pub(crate) fn numbers(&self) -> usize {
        self.len * T::NUMBERS
    }

    /// Copies floats out in memory order, starting at number `from`.
    pub(crate) fn read(&self, from: usize, out: &mut [Value]) {
        for (n, out) in (from..).zip(out) {
            *out = self[n / T::NUMBERS].number(n % T::NUMBERS);
        }
    }

    /// Copies floats in, starting at number `from`. Numbers that the memory already holds are not
    /// written: zeros do not commit the pages of new memory.
    pub(crate) fn write(&self, from: usize, numbers: &[Value]) {
        for (n, &number) in (from..).zip(numbers) {
            self[n / T::NUMBERS].write_number(n % T::NUMBERS, number);
        }
    }
}

impl<T: Zeroed> Deref for WeightMemory<T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        // SAFETY: the map has `len * size_of::<T>()` bytes (checked in `zeroed`, never remapped),
        // is page-aligned, and lives as long as `self`. `T: Zeroed` makes any content valid and
        // allows changes through shared references. The pointer comes from a writable map, and no
        // other code takes a reference to its bytes.
        unsafe { std::slice::from_raw_parts(self.map.as_mut_ptr().cast::<T>(), self.len) }
    }
}

// The map is plain memory and the values are atomics, so `WeightMemory<T>` is Send and Sync by its
// fields.

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn starts_as_zeros_and_keeps_what_is_written() {
        let memory: WeightMemory<[AtomicF32; 2]> = WeightMemory::zeroed(100_000).unwrap();
        assert_eq!(memory.len(), 100_000);
        assert!(memory.iter().flatten().all(|number| number.get() == 0.0));
        memory[99_999][1].set(7.0);
        assert_eq!(memory[99_999][1].get(), 7.0);
    }

    #[test]
    fn values_of_no_size_take_no_memory() {
        assert_eq!(WeightMemory::<()>::zeroed(1 << 40).unwrap().len(), 1 << 40);
    }

    #[test]
    fn too_much_is_an_error() {
        assert!(WeightMemory::<AtomicF32>::zeroed(usize::MAX / 2).is_err());
    }
}
