//! Sharing work among threads; the only module that starts threads: games by number, pieces of a
//! file, and background work.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread::{self, JoinHandle};

/// The most threads, or runs at once, that the command line and the Python package take.
pub const MAX_THREADS: usize = 1024;

/// Plays the games of `numbers` on `threads` threads until all are played or `stop` returns true,
/// and returns their results in the order of numbers. A started game is always finished, so the
/// results are those of the first numbers without a gap.
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

/// The same for callers that play several games at once: `work` is called once on each thread,
/// takes numbers from `next` until there are no more, and returns the results.
pub(crate) fn share_out<T: Send>(
    threads: usize,
    numbers: Range<u64>,
    stop: impl Fn() -> bool + Sync,
    work: impl Fn(&dyn Fn() -> Option<u64>) -> Vec<(u64, T)> + Sync,
) -> Vec<T> {
    in_order(threads, numbers, &stop, &work)
}

/// Draws numbers until there are none, and returns the result of each.
type Numbered<'w, T> = dyn Fn(&dyn Fn() -> Option<u64>) -> Vec<(u64, T)> + Sync + 'w;

/// Compiled once for each type of result: threads and sorting took a fifth of the code of this crate.
fn in_order<T: Send>(
    threads: usize,
    numbers: Range<u64>,
    stop: &(dyn Fn() -> bool + Sync),
    work: &Numbered<'_, T>,
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

/// Calls `work` on each of `threads` threads at once; passes on a panic of any of them.
fn on_threads(threads: usize, work: &(dyn Fn() + Sync)) {
    if threads <= 1 {
        return work();
    }
    thread::scope(|scope| {
        // If the system refuses a thread, the others do its work; this thread works in any case.
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

/// Runs `work` on this thread while others help, each with its number from 0. Helpers should end soon
/// after the work does; a panic of one is passed on.
pub(crate) fn with_helpers<T>(
    helpers: usize,
    help: &(dyn Fn(usize) + Sync),
    work: impl FnOnce() -> T,
) -> T {
    thread::scope(|scope| {
        // The system may refuse threads: the work is done in any case.
        let start = |number| {
            let builder = thread::Builder::new();
            builder.spawn_scoped(scope, move || help(number)).ok()
        };
        let _started: Vec<_> = (0..helpers).filter_map(start).collect();
        work()
    })
}

/// Runs `count` fallible tasks, and stops soon after the first error. Of several errors it returns
/// the one that a single thread would have met.
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

/// A background task, one at a time. Dropping it waits for the task.
pub(crate) struct Background<E> {
    thread: Option<JoinHandle<Result<(), E>>>,
}

impl<E: Send + 'static> Background<E> {
    pub(crate) fn idle() -> Self {
        Self { thread: None }
    }

    /// Starts a task, after the previous one has finished.
    ///
    /// # Errors
    /// Those of the previous task.
    pub(crate) fn begin(
        &mut self,
        work: impl FnOnce() -> Result<(), E> + Send + 'static,
    ) -> Result<(), E> {
        self.wait()?;
        // The task is sent after its thread has started, so that it is still here if the thread
        // cannot start.
        let (sender, receiver) = mpsc::sync_channel(1);
        let wait_for_work = move || receiver.recv().map_or(Ok(()), |work: Work<E>| work());
        match thread::Builder::new().spawn(wait_for_work) {
            Ok(thread) => {
                self.thread = Some(thread);
                // The channel has capacity, and the other end waits.
                let _ = sender.send(Box::new(work));
                Ok(())
            }
            // If the system refuses a thread, the task runs on this one.
            Err(_) => work(),
        }
    }

    /// Whether the task is still running.
    pub(crate) fn is_busy(&self) -> bool {
        let busy = |thread: &JoinHandle<_>| !thread.is_finished();
        self.thread.as_ref().is_some_and(busy)
    }

    /// Waits for the task.
    ///
    /// # Errors
    /// Those of the task, once.
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
        // Errors are returned by `wait`; dropping only ensures that the task is not cut off.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// The number of threads to use; 0 stands for all cores.
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
    fn background_work_is_waited_for_and_its_error_is_returned_once() {
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
