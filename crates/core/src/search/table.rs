//! The values of afterstates that were searched, shared by threads.
//!
//! An entry is the value of an afterstate at one depth, which is a function of both: it never
//! matters who stored it, and a search with a table has the same values as one without. Only equal
//! depths are accepted.
//!
//! There are no locks. The words of an entry are combined with each other, so that an entry that
//! two threads have written in part fails its check and is not found. An empty table is made of
//! zeros: no stored entry is.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::Value;
use crate::game::fold;
use crate::machine::prefetch;

/// One entry: `[first ^ data, second ^ mix(first) ^ data, data]` for the two words of its key.
#[derive(Default)]
struct Entry([AtomicU64; 3]);

/// Two entries in one cache line. A new value replaces that of the smaller depth.
#[derive(Default)]
#[repr(align(64))]
struct Bucket([Entry; 2]);

/// A hash table from afterstates and depths to values. It is valid for one value function, as long
/// as that does not change.
pub struct TranspositionTable {
    buckets: Vec<Bucket>,
}

/// What an entry stores.
#[inline(always)]
fn data(value: Value, plies: u8) -> u64 {
    // The highest bit tells an entry from zeros.
    u64::from(value.to_bits()) | u64::from(plies) << 32 | 1 << 63
}

#[inline(always)]
fn plies_of(data: u64) -> u8 {
    (data >> 32) as u8
}

impl Entry {
    #[inline(always)]
    fn get(&self, [first, second]: [u64; 2], plies: u8) -> Option<Value> {
        let [a, b, data] = [0, 1, 2].map(|i| self.0[i].load(Relaxed));
        let found = a ^ data == first && b ^ data == second ^ mix(first);
        (found && data != 0 && plies_of(data) == plies).then(|| Value::from_bits(data as u32))
    }

    #[inline(always)]
    fn set(&self, [first, second]: [u64; 2], data: u64) {
        let words = [first ^ data, second ^ mix(first) ^ data, data];
        for (word, value) in self.0.iter().zip(words) {
            word.store(value, Relaxed);
        }
    }
}

#[inline(always)]
fn mix(word: u64) -> u64 {
    fold(word ^ 0xA076_1D64_78BD_642F, 0xE703_7ED1_A0B4_28DB)
}

impl TranspositionTable {
    /// An empty table of at most this many bytes, and of at least one bucket.
    pub fn new(bytes: usize) -> Self {
        let buckets = (bytes / size_of::<Bucket>()).max(1);
        // A power of two would waste up to half of the bytes.
        Self {
            buckets: (0..buckets).map(|_| Bucket::default()).collect(),
        }
    }

    /// Its size in bytes.
    pub fn bytes(&self) -> usize {
        self.buckets.len() * size_of::<Bucket>()
    }

    /// Removes all entries: the value function has changed.
    pub fn clear(&mut self) {
        self.buckets.fill_with(Bucket::default);
    }

    #[inline(always)]
    fn bucket(&self, [first, second]: [u64; 2], plies: u8) -> &Bucket {
        let hash = fold(
            first ^ mix(second),
            0x9E37_79B9_7F4A_7C15 ^ u64::from(plies) << 1,
        );
        let place = (u128::from(hash) * self.buckets.len() as u128) >> 64;
        &self.buckets[place as usize]
    }

    /// Prefetches the place of an afterstate.
    #[inline(always)]
    pub(super) fn prefetch(&self, words: [u64; 2], plies: u8) {
        prefetch(self.bucket(words, plies));
    }

    /// The value of the afterstate with these [words](crate::game::PositionKey::words), `plies`
    /// moves deep, if it is there.
    #[inline(always)]
    pub fn get(&self, words: [u64; 2], plies: u8) -> Option<Value> {
        let Bucket([a, b]) = self.bucket(words, plies);
        a.get(words, plies).or_else(|| b.get(words, plies))
    }

    /// Stores the value of an afterstate.
    #[inline(always)]
    pub fn set(&self, words: [u64; 2], plies: u8, value: Value) {
        let Bucket(entries) = self.bucket(words, plies);
        let depths = [0, 1].map(|i: usize| plies_of(entries[i].0[2].load(Relaxed)));
        // Of equal depths the second is replaced, so that the first stays for a while.
        let replaced = usize::from(depths[1] <= depths[0]);
        entries[replaced].set(words, data(value, plies));
    }
}
