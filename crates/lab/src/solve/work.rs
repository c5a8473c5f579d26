//! Sharing the work on a layer among threads: in parts of a fixed size, so that no result depends
//! on the number of threads.
//!
//! Memory is reserved from the budget before, but a limit of the process may leave no gap that is
//! large enough for one vector. So everything large is allocated by [`with_room`].

use std::cmp::Ordering;
use std::collections::BTreeMap;

use afterstate::solve::{AfterCode, StateCode};

use crate::share::share;

/// Items of sorted runs, ordered by code.
pub(super) trait Coded: Copy + Send + Sync {
    /// Its code.
    fn code(self) -> u64;

    /// Combines it with another item of the same code.
    fn with(self, other: Self) -> Self;
}

macro_rules! coded {
    ($($code:ty),*) => {$(
        impl Coded for $code {
            fn code(self) -> u64 {
                self.number()
            }

            fn with(self, _: Self) -> Self {
                self
            }
        }
    )*};
}

coded!(StateCode, AfterCode);

/// A code with a number that is summed.
impl Coded for (StateCode, f64) {
    fn code(self) -> u64 {
        self.0.number()
    }

    fn with(self, other: Self) -> Self {
        (self.0, self.1 + other.1)
    }
}

/// States in a part: few enough that a layer of ten thousands keeps several threads busy. Tests
/// have small layers.
const PART: usize = if cfg!(test) { 50 } else { 1 << 14 };

/// The threads of a computation, and its cancellation.
pub(super) struct Work<'a> {
    pub(super) threads: usize,
    pub(super) stop: &'a (dyn Fn() -> bool + Sync),
}

/// The bytes that one item of a part may need on its thread: its successors, twice while they are
/// sorted.
const ITEM: usize = 512;

/// Why a computation has no result.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum WorkError {
    Cancelled,
    /// There is no room for this many bytes in one piece.
    NoRoom(u64),
}

/// An empty vector with room for this many items.
pub(super) fn with_room<T>(items: usize) -> Result<Vec<T>, WorkError> {
    let mut room = Vec::new();
    let bytes = items as u64 * size_of::<T>() as u64;
    let reserved = room.try_reserve_exact(items);
    reserved.map_err(|_| WorkError::NoRoom(bytes))?;
    Ok(room)
}

/// A vector of `items` equal items.
pub(super) fn filled<T: Clone>(item: T, items: usize) -> Result<Vec<T>, WorkError> {
    let mut all = with_room(items)?;
    all.resize(items, item);
    Ok(all)
}

/// All items of some vectors, in order.
fn concatenated<T: Copy>(parts: &[impl AsRef<[T]>]) -> Result<Vec<T>, WorkError> {
    let mut all = with_room(parts.iter().map(|part| part.as_ref().len()).sum())?;
    parts
        .iter()
        .for_each(|part| all.extend_from_slice(part.as_ref()));
    Ok(all)
}

impl Work<'_> {
    /// The result of each part of some codes, in order.
    pub(super) fn in_parts<C: Sync, T: Send>(
        &self,
        codes: &[C],
        one: impl Fn(&[C]) -> T + Sync,
    ) -> Result<Vec<T>, WorkError> {
        let parts = codes.len().div_ceil(PART);
        // What the threads allocate in small pieces has room, or nothing is begun.
        let at_once = codes.len().min(PART * self.threads.max(1));
        with_room::<u8>(ITEM * at_once)?;
        self.each(parts, |part| {
            let from = part * PART;
            one(&codes[from..codes.len().min(from + PART)])
        })
    }

    /// A number for each code, in order.
    pub(super) fn number_each<C: Coded>(
        &self,
        codes: &[C],
        one: impl Fn(C) -> f64 + Sync,
    ) -> Result<Vec<f64>, WorkError> {
        let parts = self.in_parts(codes, |part| {
            part.iter().map(|&code| one(code)).collect::<Vec<_>>()
        })?;
        concatenated(&parts)
    }

    /// All codes of some sorted runs, without duplicates and sorted.
    pub(super) fn merged<C: Coded>(&self, mut runs: Vec<Vec<C>>) -> Result<Vec<C>, WorkError> {
        while runs.len() > 1 {
            let pairs: Vec<&[Vec<C>]> = runs.chunks(2).collect();
            let merged = self.each(pairs.len(), |pair| match pairs[pair] {
                [a, b] => merge(a, b),
                rest => concatenated(rest),
            })?;
            runs = merged.into_iter().collect::<Result<_, _>>()?;
        }
        Ok(runs.pop().unwrap_or_default())
    }

    fn each<T: Send>(
        &self,
        count: usize,
        one: impl Fn(usize) -> T + Sync,
    ) -> Result<Vec<T>, WorkError> {
        let threads = self.threads.min(count);
        let done = share(threads, 0..count as u64, self.stop, || {
            |number| one(number as usize)
        });
        if done.len() == count && !(self.stop)() {
            Ok(done)
        } else {
            Err(WorkError::Cancelled)
        }
    }
}

/// Merges two runs; items with the same code are combined.
fn merge<C: Coded>(a: &[C], b: &[C]) -> Result<Vec<C>, WorkError> {
    let mut all = with_room(a.len() + b.len())?;
    let (mut i, mut j) = (0, 0);
    while i < a.len() && j < b.len() {
        let (code_a, code_b) = (a[i].code(), b[j].code());
        all.push(match code_a.cmp(&code_b) {
            Ordering::Less => a[i],
            Ordering::Equal => a[i].with(b[j]),
            Ordering::Greater => b[j],
        });
        i += usize::from(code_a <= code_b);
        j += usize::from(code_b <= code_a);
    }
    all.extend_from_slice(&a[i..]);
    all.extend_from_slice(&b[j..]);
    Ok(all)
}

/// Incomplete layers, by sum.
pub(super) struct Waiting<C>(pub(super) BTreeMap<u64, Vec<C>>);

impl<C: Coded> Waiting<C> {
    /// Layers of unsorted codes.
    pub(super) fn new(loose: BTreeMap<u64, Vec<C>>) -> Self {
        let layers = loose.into_iter();
        Self(layers.map(|(sum, codes)| (sum, run_of(codes))).collect())
    }

    /// The number of codes in them.
    pub(super) fn count(&self) -> u64 {
        self.0.values().map(|codes| codes.len() as u64).sum()
    }

    /// Adds runs to their layers.
    pub(super) fn add(
        &mut self,
        work: &Work<'_>,
        parts: impl Iterator<Item = (u64, Vec<C>)>,
    ) -> Result<(), WorkError> {
        let mut runs: BTreeMap<u64, Vec<Vec<C>>> = BTreeMap::new();
        for (sum, run) in parts {
            runs.entry(sum).or_default().push(run);
        }
        for (sum, mut runs) in runs {
            runs.extend(self.0.remove(&sum));
            self.0.insert(sum, work.merged(runs)?);
        }
        Ok(())
    }
}

/// The distinct codes, sorted.
pub(super) fn run_of<C: Coded>(mut codes: Vec<C>) -> Vec<C> {
    codes.sort_unstable_by_key(|coded| coded.code());
    codes.dedup_by(|next, first| {
        let same = next.code() == first.code();
        if same {
            *first = first.with(*next);
        }
        same
    });
    codes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_merged_without_duplicates() {
        let work = Work {
            threads: 2,
            stop: &|| false,
        };
        let code = StateCode::from_number;
        let codes = |numbers: &[u64]| numbers.iter().copied().map(code).collect::<Vec<_>>();
        let runs: [&[u64]; 5] = [&[1, 4, 9], &[], &[1, 2, 9, 10], &[3], &[4]];
        let runs = runs.map(codes).to_vec();
        let merged = work.merged(runs).ok();
        assert_eq!(merged, Some(codes(&[1, 2, 3, 4, 9, 10])));
        assert_eq!(work.merged(Vec::<Vec<StateCode>>::new()).ok(), Some(vec![]));
        let counted = vec![
            vec![(code(1), 0.5), (code(4), 1.0)],
            vec![(code(4), 2.0)],
            vec![(code(0), 3.0), (code(4), 4.0)],
        ];
        assert_eq!(
            work.merged(counted).ok(),
            Some(vec![(code(0), 3.0), (code(1), 0.5), (code(4), 7.0)])
        );
        let loose = [(4, 1.0), (2, 1.0), (4, 2.0), (4, 4.0)];
        let loose = loose.map(|(number, chance)| (code(number), chance));
        assert_eq!(run_of(loose.to_vec()), [(code(2), 1.0), (code(4), 7.0)]);
    }
}
