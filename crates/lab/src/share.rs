//! Work for threads, and the one place where they are started: games by number, shared out among
//! them; pieces of a file, likewise; and work that goes on behind the scenes.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread::{self, JoinHandle};

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
    share_out(threads, numbers, stop, |next| {
        let mut play = worker();
        let mut played = Vec::new();
        while let Some(number) = next() {
            played.push((number, play(number)));
        }
        played
    })
}

/// The same for those who play several games at once: `work` is called once on each thread, takes numbers from `next` as long as
/// there are any, and returns what each came to.
pub(crate) fn share_out<T: Send>(
    threads: usize,
    numbers: Range<u64>,
    stop: impl Fn() -> bool + Sync,
    work: impl Fn(&dyn Fn() -> Option<u64>) -> Vec<(u64, T)> + Sync,
) -> Vec<T> {
    in_order(threads, numbers, &stop, &work)
}

/// Compiled once for each type of result: threads and sorting took a fifth of the code of this crate.
fn in_order<T: Send>(
    threads: usize,
    numbers: Range<u64>,
    stop: &(dyn Fn() -> bool + Sync),
    work: &(dyn Fn(&dyn Fn() -> Option<u64>) -> Vec<(u64, T)> + Sync),
) -> Vec<T> {
    let taken = AtomicU64::new(numbers.start);
    let next = || {
        let number = (!stop()).then(|| taken.fetch_add(1, Ordering::Relaxed));
        number.filter(|&number| number < numbers.end)
    };
    let all = Mutex::new(Vec::new());
    on_threads(threads, &|| {
        let results = work(&next);
        all.lock()
            .unwrap_or_else(PoisonError::into_inner)
            .extend(results);
    });
    let mut all = all.into_inner().unwrap_or_else(PoisonError::into_inner);
    all.sort_unstable_by_key(|&(number, _)| number);
    all.into_iter().map(|(_, result)| result).collect()
}

/// Calls `work` on each of so many threads at once; a panic in one of them is passed on.
fn on_threads(threads: usize, work: &(dyn Fn() + Sync)) {
    if threads <= 1 {
        return work();
    }
    thread::scope(|scope| {
        // A system that refuses more threads gets what it allows; this one works in any case.
        let start = |_| thread::Builder::new().spawn_scoped(scope, work).ok();
        let started: Vec<_> = (1..threads).filter_map(start).collect();
        work();
        for thread in started {
            if let Err(panic) = thread.join() {
                std::panic::resume_unwind(panic);
            }
        }
    });
}

/// Does `count` things that may fail, and stops soon after the first that does. Of several errors it
/// returns the one that one thread alone would have met.
pub(crate) fn try_share<E, F>(
    threads: usize,
    count: usize,
    worker: impl Fn() -> F + Sync,
) -> Result<(), E>
where
    E: Send,
    F: FnMut(usize) -> Result<(), E>,
{
    let failed = AtomicBool::new(false);
    let stop = || failed.load(Ordering::Relaxed);
    let done = share(threads.min(count), 0..count as u64, stop, || {
        let mut work = worker();
        let failed = &failed;
        move |number| {
            let done = work(number as usize);
            if done.is_err() {
                failed.store(true, Ordering::Relaxed);
            }
            done
        }
    });
    done.into_iter().collect()
}

/// Work that goes on while its owner does something else, one at a time. Whoever drops it waits.
pub(crate) struct Background<E> {
    thread: Option<JoinHandle<Result<(), E>>>,
}

impl<E: Send + 'static> Background<E> {
    pub(crate) fn idle() -> Self {
        Self { thread: None }
    }

    /// Begins with some work, after the end of what was begun before.
    ///
    /// # Errors
    /// Those of the work before.
    pub(crate) fn begin(
        &mut self,
        work: impl FnOnce() -> Result<(), E> + Send + 'static,
    ) -> Result<(), E> {
        self.wait()?;
        // The work is sent after its thread, so that it is still here if there will be none.
        let (sender, receiver) = mpsc::sync_channel(1);
        let wait_for_work = move || receiver.recv().map_or(Ok(()), |work: Work<E>| work());
        match thread::Builder::new().spawn(wait_for_work) {
            Ok(thread) => {
                self.thread = Some(thread);
                // The channel has room, and the other end waits.
                let _ = sender.send(Box::new(work));
                Ok(())
            }
            // A system that refuses more threads has to be waited for.
            Err(_) => work(),
        }
    }

    /// Whether it is still at work.
    pub(crate) fn is_busy(&self) -> bool {
        let busy = |thread: &JoinHandle<_>| !thread.is_finished();
        self.thread.as_ref().is_some_and(busy)
    }

    /// Waits for the work to end.
    ///
    /// # Errors
    /// Those of the work, once.
    pub(crate) fn wait(&mut self) -> Result<(), E> {
        match self.thread.take().map(JoinHandle::join) {
            None => Ok(()),
            Some(Ok(done)) => done,
            Some(Err(panic)) => std::panic::resume_unwind(panic),
        }
    }
}

type Work<E> = Box<dyn FnOnce() -> Result<(), E> + Send>;

impl<E> Drop for Background<E> {
    fn drop(&mut self) {
        // Who wants to hear of errors has waited; here the work shall only not be cut off.
        let _ = self.thread.take().map(JoinHandle::join);
    }
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
    fn the_first_error_counts() {
        for threads in [1, 2, 7] {
            let done = try_share(threads, 1000, || {
                |number| if number < 300 { Ok(()) } else { Err(number) }
            });
            assert_eq!(done, Err(300));
            assert_eq!(try_share::<(), _>(threads, 0, || |_| Err(())), Ok(()));
        }
    }

    #[test]
    fn work_behind_the_scenes_is_waited_for_and_its_error_told_once() {
        let (tell, told) = mpsc::channel::<()>();
        let mut background = Background::idle();
        background
            .begin(move || told.recv().map_err(|_| "nobody there"))
            .unwrap();
        assert!(background.is_busy());
        drop(tell);
        assert_eq!(background.begin(|| Ok(())), Err("nobody there"));
        assert_eq!(background.wait(), Ok(()));

        let (tell, told) = mpsc::channel();
        background
            .begin(move || {
                thread::sleep(std::time::Duration::from_millis(50));
                tell.send(()).map_err(|_| "nobody there")
            })
            .unwrap();
        drop(background);
        assert!(told.try_recv().is_ok(), "it was waited for");
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
