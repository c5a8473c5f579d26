//! Games by number, shared out among threads: the one place where threads are started.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

/// Plays the games of `numbers` on `threads` threads until all are played or `stop` says so, and
/// returns what each came to, in the order of numbers. A game that was begun is finished, so the
/// results are always those of the first numbers without a gap.
///
/// `worker` is called once on each thread and returns the function that plays one game.
pub(crate) fn share<T, F>(
    threads: usize,
    numbers: Range<u64>,
    stop: impl Fn() -> bool + Sync,
    worker: impl Fn() -> F + Sync,
) -> Vec<T>
where
    T: Send,
    F: FnMut(u64) -> T,
{
    let next = AtomicU64::new(numbers.start);
    let work = || {
        let mut play = worker();
        let mut played = Vec::new();
        while !stop() {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= numbers.end {
                break;
            }
            played.push((number, play(number)));
        }
        played
    };
    let mut all: Vec<(u64, T)> = if threads <= 1 {
        work()
    } else {
        thread::scope(|scope| {
            // A system that refuses more threads gets what it allows; this one works in any case.
            let start = |_| thread::Builder::new().spawn_scoped(scope, work).ok();
            let started: Vec<_> = (1..threads).filter_map(start).collect();
            let own = work();
            let join = |thread: thread::ScopedJoinHandle<'_, Vec<(u64, T)>>| match thread.join() {
                Ok(played) => played,
                Err(panic) => std::panic::resume_unwind(panic),
            };
            own.into_iter()
                .chain(started.into_iter().flat_map(join))
                .collect()
        })
    };
    all.sort_unstable_by_key(|&(number, _)| number);
    all.into_iter().map(|(_, played)| played).collect()
}

/// The number of threads that 0, "all cores", means here.
pub(crate) fn threads(asked: usize) -> usize {
    if asked > 0 {
        asked
    } else {
        thread::available_parallelism().map_or(1, |n| n.get())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_once_and_in_order() {
        for threads in [1, 2, 7] {
            let played = share(threads, 10..1010, || false, || |number| number * 2);
            assert_eq!(played, (10..1010).map(|n| n * 2).collect::<Vec<_>>());
        }
    }

    #[test]
    fn stopping_leaves_no_gap() {
        let count = AtomicU64::new(0);
        let played = share(
            3,
            0..1_000_000,
            || count.load(Ordering::Relaxed) > 500,
            || {
                |number| {
                    count.fetch_add(1, Ordering::Relaxed);
                    number
                }
            },
        );
        assert!(played.len() > 500 && played.len() < 1000);
        assert!(
            played
                .iter()
                .enumerate()
                .all(|(place, &number)| place as u64 == number)
        );
    }
}
