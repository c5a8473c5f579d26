//! The memory of the weights.
//!
//! Tables of hundreds of megabytes are read at random, and with pages of 4 KiB nearly every read
//! also misses the processor's page table cache. So the weights live in an anonymous map that asks
//! for huge pages (2 MiB). The system hands out zeroed pages when they are first written, so a new
//! network is there at once, however large.

use std::io;
use std::marker::PhantomData;
use std::ops::Deref;

use memmap2::{MmapMut, MmapRaw};

use super::Number;

/// Types that may be read from zeroed memory and changed through a shared reference.
///
/// # Safety
/// Every bit pattern, all zeros above all, is a valid value; the type has no drop glue, an
/// alignment of at most a page, and only atomic fields.
pub unsafe trait Zeroed: Sized {
    /// All numbers that such values consist of, in the order of memory.
    fn numbers(all: &[Self]) -> &[Number];
}

// SAFETY: one `AtomicU32`, of which every bit pattern is valid.
unsafe impl Zeroed for Number {
    fn numbers(all: &[Self]) -> &[Number] {
        all
    }
}

// SAFETY: two of them, one behind the other.
unsafe impl Zeroed for [Number; 2] {
    fn numbers(all: &[Self]) -> &[Number] {
        all.as_flattened()
    }
}

// SAFETY: nothing at all.
unsafe impl Zeroed for () {
    fn numbers(_: &[Self]) -> &[Number] {
        &[]
    }
}

/// A fixed number of values that start as zeros.
pub(crate) struct Slab<T: Zeroed> {
    map: MmapRaw,
    len: usize,
    kind: PhantomData<T>,
}

impl<T: Zeroed> Slab<T> {
    /// Asks the system for memory.
    pub(crate) fn zeroed(len: usize) -> io::Result<Self> {
        let bytes = len
            .checked_mul(size_of::<T>())
            .ok_or(io::ErrorKind::OutOfMemory)?;
        // A map has at least one byte, even for values of none.
        let map = MmapRaw::from(MmapMut::map_anon(bytes.max(1))?);
        // Huge pages are a wish: a system without them is slower, not wrong.
        #[cfg(target_os = "linux")]
        let _ = map.advise(memmap2::Advice::HugePage);
        Ok(Self {
            map,
            len,
            kind: PhantomData,
        })
    }
}

impl<T: Zeroed> Deref for Slab<T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        // SAFETY: the map has `len * size_of::<T>()` bytes (checked in `zeroed`, never remapped), is
        // page-aligned, and lives as long as `self`. `T: Zeroed` makes any content valid and lets
        // shared references change it. The pointer comes from a
        // map that may be written, and nobody takes a reference to its bytes.
        unsafe { std::slice::from_raw_parts(self.map.as_mut_ptr().cast::<T>(), self.len) }
    }
}

// The map is plain memory and the values are atomics, so `Slab<T>` is Send and Sync by its fields.

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn starts_as_zeros_and_keeps_what_is_written() {
        let slab: Slab<[Number; 2]> = Slab::zeroed(100_000).unwrap();
        assert_eq!(slab.len(), 100_000);
        assert!(slab.iter().flatten().all(|number| number.get() == 0.0));
        slab[99_999][1].set(7.0);
        assert_eq!(slab[99_999][1].get(), 7.0);
    }

    #[test]
    fn values_of_no_size_take_no_memory() {
        assert_eq!(Slab::<()>::zeroed(1 << 40).unwrap().len(), 1 << 40);
    }

    #[test]
    fn too_much_is_an_error() {
        assert!(Slab::<Number>::zeroed(usize::MAX / 2).is_err());
    }
}
