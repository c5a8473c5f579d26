//! Work on threads of its own: limited in number and time, cancelled when its client disconnects. A
//! panic is the error of its job alone. A job holds its place until its thread returns, also when the
//! client has disconnected or the time is over.

use std::sync::Arc;
use std::time::Duration;

use afterstate_lab::control::CancelToken;
use axum::http::StatusCode;
use tokio::sync::Semaphore;

use crate::error::Problem;

/// Places for work of one kind.
pub struct JobQueue {
    places: Arc<Semaphore>,
    waiting: Semaphore,
    longest: Duration,
}

/// Cancels work when it is dropped, as the future of a client that disconnects is.
struct CancelOnDrop(CancelToken);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

impl JobQueue {
    /// A queue for `places` jobs at a time while `waiting` more wait. A job takes at most `longest`.
    pub fn new(places: usize, waiting: usize, longest: Duration) -> Self {
        Self {
            places: Arc::new(Semaphore::new(places)),
            waiting: Semaphore::new(places + waiting),
            longest,
        }
    }

    /// Does work, which polls the token.
    pub async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(CancelToken) -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        let busy = |_| Problem::busy("too much is asked for at once; try again in a moment");
        let _waiting = self.waiting.try_acquire().map_err(busy)?;
        let place = Arc::clone(&self.places).acquire_owned().await;
        let place = place.map_err(|_| Problem::ending())?;
        let token = CancelToken::default();
        let _guard = CancelOnDrop(token.clone());
        let work = tokio::task::spawn_blocking(move || {
            let _place = place;
            match token.is_cancelled() {
                true => Err(Problem::busy("the request was cancelled")),
                false => work(token),
            }
        });
        match tokio::time::timeout(self.longest, work).await {
            Ok(Ok(done)) => done,
            Ok(Err(_)) => Err(Problem::program(
                "this work has failed by an error of the program; other work is not affected",
            )),
            Err(_) => Err(Problem::new(
                StatusCode::REQUEST_TIMEOUT,
                "timeout",
                format!(
                    "the work took longer than {} s and was cancelled; ask for less of it",
                    self.longest.as_secs()
                ),
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue(longest: u64) -> JobQueue {
        JobQueue::new(1, 0, Duration::from_millis(longest))
    }

    #[tokio::test]
    async fn a_panic_is_the_error_of_its_job() {
        let queue = queue(20_000);
        let failed = queue.run(|_| -> Result<(), Problem> { panic!("on purpose") });
        assert_eq!(failed.await.unwrap_err().error, "panic");
        assert_eq!(queue.run(|_| Ok(3)).await, Ok(3));
    }

    #[tokio::test]
    async fn long_work_is_cancelled_and_too_much_is_refused() {
        let queue = Arc::new(queue(2_000));
        let (ended, end) = std::sync::mpsc::channel();
        let other = queue.clone();
        let long = tokio::spawn(async move {
            let work = move |token: CancelToken| {
                while !token.is_cancelled() {
                    std::thread::sleep(Duration::from_millis(1));
                }
                let _ = ended.send(());
                Ok(())
            };
            other.run(work).await
        });
        tokio::time::sleep(Duration::from_millis(10)).await;
        assert_eq!(queue.run(|_| Ok(())).await.unwrap_err().error, "busy");
        assert_eq!(long.await.unwrap().unwrap_err().error, "timeout");
        end.recv_timeout(Duration::from_secs(20)).unwrap();
    }

    #[tokio::test]
    async fn a_place_is_held_until_the_work_ends() {
        let queue = queue(60_000);
        let (begun, begins) = tokio::sync::oneshot::channel();
        let (release, released) = std::sync::mpsc::channel::<()>();
        // This work ignores its token.
        let work = queue.run(move |_| {
            let _ = begun.send(());
            let _ = released.recv();
            Ok(())
        });
        // The client disconnects as soon as the work has begun.
        tokio::select! {
            _ = work => panic!("the work has not been released"),
            begun = begins => begun.unwrap(),
        }
        assert_eq!(queue.places.available_permits(), 0);
        drop(release);
        assert_eq!(queue.run(|_| Ok(3)).await, Ok(3));
    }
}
