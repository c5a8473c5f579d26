//! The memory of the weights, and the only unsafe code of this crate.
//!
//! Tables of hundreds of megabytes are read at random, and with pages of 4 KiB nearly every read
//! also misses the processor's page table cache. So the weights live in an anonymous map that asks
//! for huge pages (2 MiB). The system hands out zeroed pages when they are first written, so a new
//! network is there at once, however large.
#![allow(unsafe_code)]

use std::io;
use std::marker::PhantomData;
use std::ops::Deref;

use memmap2::{MmapMut, MmapRaw};

use super::weight::{Ahead, Coherent, Plain};

/// Types that may be read from zeroed memory and changed through a shared reference.
///
/// # Safety
/// Every bit pattern, all zeros above all, is a valid value; the type has no drop glue, an
/// alignment of at most a page, and only atomic fields.
pub unsafe trait Zeroed: Sized {}

// SAFETY: one `AtomicU32`, of which every bit pattern is valid.
unsafe impl Zeroed for Plain {}
// SAFETY: three `AtomicU32` in a `repr(C)` struct.
unsafe impl Zeroed for Coherent {}
// SAFETY: a `Zeroed` value and an `AtomicU32` in a `repr(C)` struct.
unsafe impl<W: Zeroed> Zeroed for Ahead<W> {}

/// A fixed number of values that start as zeros.
pub(super) struct Slab<T: Zeroed> {
    map: MmapRaw,
    len: usize,
    kind: PhantomData<T>,
}

impl<T: Zeroed> Slab<T> {
    /// Asks the system for memory.
    pub(super) fn zeroed(len: usize) -> io::Result<Self> {
        let bytes = len
            .checked_mul(size_of::<T>())
            .ok_or(io::ErrorKind::OutOfMemory)?;
        let map = MmapRaw::from(MmapMut::map_anon(bytes)?);
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

impl<T: Zeroed> Slab<T> {
    /// Asks the processor to fetch a value that will be read soon. A hint: it changes no result.
    #[inline(always)]
    pub(super) fn prefetch(&self, i: usize) {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a prefetch reads nothing into the program and cannot fault, whatever the address;
        // SSE is part of x86-64.
        unsafe {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            _mm_prefetch::<_MM_HINT_T0>(self.map.as_ptr().cast::<T>().wrapping_add(i).cast());
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = i;
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
    use crate::ntuple::Weight;

    #[test]
    fn starts_as_zeros_and_keeps_what_is_written() {
        let slab: Slab<Coherent> = Slab::zeroed(100_000).unwrap();
        assert_eq!(slab.len(), 100_000);
        assert!(slab.iter().all(|w| w.get() == 0.0 && w.part(2) == 0.0));
        slab[99_999].set_part(2, 7.0);
        assert_eq!(slab[99_999].part(2), 7.0);
    }

    #[test]
    fn too_much_is_an_error() {
        assert!(Slab::<Coherent>::zeroed(usize::MAX / 2).is_err());
    }
}
