//! Free memory, and reservations of it.
//!
//! Tables are mapped, and commit memory only as they are written: several networks can all fit into
//! free memory at first and exhaust it later. So everything large is reserved from a
//! [`MemoryBudget`] first, which all work of a process shares.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};

use sysinfo::System;

/// The memory that the work of a process may use. Clones share one budget.
#[derive(Clone, Debug)]
pub struct MemoryBudget(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    limit: u64,
    reserved: AtomicU64,
}

/// Reserved memory, released when it is dropped.
#[derive(Debug)]
pub struct Reservation {
    budget: MemoryBudget,
    bytes: u64,
}

/// A reservation that exceeds the budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OverBudget {
    /// Bytes requested.
    pub needed: u64,
    /// Bytes left.
    pub available: u64,
}

impl MemoryBudget {
    /// The budget of this process: the memory that was free at the first call.
    pub fn process() -> Self {
        static PROCESS: LazyLock<MemoryBudget> =
            LazyLock::new(|| MemoryBudget::new(available_memory()));
        PROCESS.clone()
    }

    /// A budget of `limit` bytes.
    pub fn new(limit: u64) -> Self {
        Self(Arc::new(Shared {
            limit,
            reserved: AtomicU64::new(0),
        }))
    }

    /// Bytes that are neither reserved nor used in the system.
    pub fn available(&self) -> u64 {
        let reserved = self.0.reserved.load(Ordering::Relaxed);
        let left = self.0.limit.saturating_sub(reserved);
        left.min(available_memory())
    }

    /// Reserves memory.
    ///
    /// # Errors
    /// When there is not enough left.
    pub fn reserve(&self, bytes: u64) -> Result<Reservation, OverBudget> {
        let over = OverBudget {
            needed: bytes,
            available: self.available(),
        };
        if bytes > over.available {
            return Err(over);
        }
        let limit = self.0.limit;
        let add = |reserved: u64| reserved.checked_add(bytes).filter(|&all| all <= limit);
        let added = self
            .0
            .reserved
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, add);
        added.map_err(|_| over)?;
        Ok(Reservation {
            budget: self.clone(),
            bytes,
        })
    }
}

impl Reservation {
    /// Its size.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Extends it to `bytes`, if it is smaller.
    ///
    /// # Errors
    /// When there is not enough left; it then keeps its size.
    pub(crate) fn grow(&mut self, bytes: u64) -> Result<(), OverBudget> {
        let more = self.budget.reserve(bytes.saturating_sub(self.bytes));
        let more = more.map_err(|over| OverBudget {
            needed: bytes,
            available: over.available.saturating_add(self.bytes),
        })?;
        self.merge(more);
        Ok(())
    }

    /// Releases all but `bytes`.
    pub(crate) fn shrink(&mut self, bytes: u64) {
        let less = self.bytes.saturating_sub(bytes);
        self.bytes -= less;
        self.budget.0.reserved.fetch_sub(less, Ordering::Relaxed);
    }

    /// Adds another reservation of the same budget.
    fn merge(&mut self, mut other: Self) {
        self.bytes += std::mem::take(&mut other.bytes);
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        let reserved = &self.budget.0.reserved;
        reserved.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// The bytes available without swapping, within the limits of a container and of the process if
/// there are any.
pub(crate) fn available_memory() -> u64 {
    free_memory().min(left_of_limits())
}

/// What the process may still allocate under its limits of address space and data (`ulimit -v` and
/// `-d`). An eighth is left for what is not reserved: threads, files, gaps between allocations.
#[cfg(target_os = "linux")]
fn left_of_limits() -> u64 {
    use rustix::process::{Resource, getrlimit};
    let left = |resource, used: u64| {
        let limit = getrlimit(resource).current?;
        let left = limit.saturating_sub(used);
        Some(left - left / 8)
    };
    // In pages: all, resident, shared, text, libraries, data.
    let sizes = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let sizes: Vec<u64> = sizes
        .split(' ')
        .filter_map(|size| size.trim().parse().ok())
        .collect();
    let size = |place: usize| {
        let pages = sizes.get(place).copied().unwrap_or(0);
        pages.saturating_mul(rustix::param::page_size() as u64)
    };
    let space = left(Resource::As, size(0)).unwrap_or(u64::MAX);
    space.min(left(Resource::Data, size(5)).unwrap_or(u64::MAX))
}

#[cfg(not(target_os = "linux"))]
fn left_of_limits() -> u64 {
    u64::MAX
}

fn free_memory() -> u64 {
    let Ok(mut system) = System::new() else {
        return u64::MAX;
    };
    system.refresh_memory();
    let limit = system
        .cgroup_limits()
        .map_or(u64::MAX, |limits| limits.free_memory);
    system.available_memory().min(limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reservations_are_counted_and_given_back() {
        let budget = MemoryBudget::new(1000);
        let first = budget.reserve(600).unwrap();
        assert_eq!(first.bytes(), 600);
        let error = budget.clone().reserve(500).unwrap_err();
        assert_eq!((error.needed, error.available), (500, 400));
        drop(first);
        assert!(budget.reserve(1000).is_ok());
        assert!(budget.reserve(1001).is_err());
        assert!(budget.reserve(u64::MAX).is_err());
    }

    #[test]
    fn a_reservation_grows_and_shrinks() {
        let budget = MemoryBudget::new(1000);
        let other = budget.reserve(200).unwrap();
        let mut grown = budget.reserve(0).unwrap();
        for bytes in [300, 800, 500] {
            grown.grow(bytes).unwrap();
        }
        assert_eq!(grown.bytes(), 800);
        let error = grown.grow(900).unwrap_err();
        assert_eq!((error.needed, error.available), (900, 800));
        assert!(budget.reserve(1).is_err());
        grown.shrink(100);
        assert_eq!(budget.reserve(700).unwrap().bytes(), 700);
        drop((other, grown));
        assert!(budget.reserve(1000).is_ok());
    }
}
