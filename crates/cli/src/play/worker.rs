//! The thread on which boards are analysed, so that a slow search does not stop the interface.
//!
//! Each board is valued by the model alone, which is quick, and then by the search, ply by ply. A
//! search that is no longer of interest is cancelled.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};

use afterstate_lab::LabError;
use afterstate_lab::agent::{Agent, SearchObserver, StateAnalysis};
use afterstate_lab::search::{SearchLimit, SearchSpec};

use super::events::{AnalysisJob, AppEvent};

/// Makes the options of a search from its limit.
pub type SpecOf = Box<dyn Fn(&SearchLimit) -> SearchSpec + Send>;

/// The thread.
pub struct Worker {
    jobs: Sender<AnalysisJob>,
    /// Jobs of smaller numbers are no longer of interest.
    oldest: Arc<AtomicU64>,
    thread: JoinHandle<()>,
}

impl Worker {
    /// Starts it; `tell` receives what it finds, and returns false if the receiver is
    /// gone.
    pub fn start(
        agent: Arc<dyn Agent>,
        spec_of: SpecOf,
        tell: impl Fn(AppEvent) -> bool + Send + Sync + 'static,
    ) -> Self {
        let (jobs, receiver) = channel();
        let oldest = Arc::new(AtomicU64::new(0));
        let work = Work {
            agent,
            spec_of,
            searching: None,
            oldest: Arc::clone(&oldest),
            tell,
        };
        let thread = thread::spawn(move || work.run(&receiver));
        Self {
            jobs,
            oldest,
            thread,
        }
    }

    /// Asks for an analysis.
    pub fn ask(&self, job: AnalysisJob) {
        self.oldest.store(job.oldest, Ordering::Relaxed);
        // A thread that has ended is found by `has_ended`.
        let _ = self.jobs.send(job);
    }

    /// Whether the thread has ended, which it only does by a panic.
    pub fn has_ended(&self) -> bool {
        self.thread.is_finished()
    }
}

struct Work<T> {
    agent: Arc<dyn Agent>,
    spec_of: SpecOf,
    /// The agent with the last search.
    searching: Option<(SearchLimit, Arc<dyn Agent>)>,
    oldest: Arc<AtomicU64>,
    tell: T,
}

impl<T: Fn(AppEvent) -> bool + Sync> Work<T> {
    fn run(mut self, jobs: &Receiver<AnalysisJob>) {
        let mut waiting = VecDeque::new();
        loop {
            if waiting.is_empty() {
                match jobs.recv() {
                    Ok(job) => waiting.push_back(job),
                    Err(_) => return,
                }
            }
            waiting.extend(jobs.try_iter());
            if let Some(job) = waiting.pop_front().filter(|job| !self.is_old(job))
                && !self.analyze(&job)
            {
                return;
            }
        }
    }

    fn is_old(&self, job: &AnalysisJob) -> bool {
        job.number < self.oldest.load(Ordering::Relaxed)
    }

    /// Analyses a board; false if the receiver of the results is gone.
    fn analyze(&mut self, job: &AnalysisJob) -> bool {
        let boards = std::slice::from_ref(&job.board);
        let first = self.agent.analyze(boards).pop().flatten();
        let told = |found, complete| {
            (self.tell)(AppEvent::Analyzed {
                job: job.number,
                found,
                complete,
            })
        };
        if job.limit.is_greedy() || first.is_none() {
            return told(first, true);
        }
        if !told(first, false) {
            return false;
        }
        match self.searching(&job.limit) {
            Ok(agent) => {
                let oldest = Arc::clone(&self.oldest);
                let stop = || job.number < oldest.load(Ordering::Relaxed);
                let tell = &self.tell;
                let on_ply = |_: u8, found: &StateAnalysis| {
                    tell(AppEvent::Analyzed {
                        job: job.number,
                        found: Some(*found),
                        complete: false,
                    });
                };
                let watch = SearchObserver {
                    stop: &stop,
                    on_ply: &on_ply,
                };
                let found = agent.analyze_watched(&job.board, &watch);
                let event = found.map(|_| AppEvent::Analyzed {
                    job: job.number,
                    found,
                    complete: true,
                });
                event.is_none_or(tell)
            }
            Err(error) => (self.tell)(AppEvent::NoSearch(error.to_string())),
        }
    }

    fn searching(&mut self, limit: &SearchLimit) -> Result<Arc<dyn Agent>, LabError> {
        match &self.searching {
            Some((known, agent)) if known == limit => Ok(Arc::clone(agent)),
            _ => {
                // Its table is given back before another one is taken.
                self.searching = None;
                let agent = Arc::clone(&self.agent).with_search(&(self.spec_of)(limit))?;
                self.searching = Some((limit.clone(), Arc::clone(&agent)));
                Ok(agent)
            }
        }
    }
}
