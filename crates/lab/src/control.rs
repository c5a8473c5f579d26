//! Control of long work: events out, cancellation in, and a memory budget that all work of a
//! process shares.
//!
//! Training, evaluation, solving and all other long work accept a [`Control`]. A command line draws
//! a progress bar from its events, a server streams them, a notebook gets callbacks: all of them
//! see the same events.

mod meter;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::block::{Block, ReplayResult};
use crate::memory::MemoryBudget;
use crate::report::Evaluation;

pub(crate) use meter::Meter;
pub use meter::ReplayProgress;

/// Cancels long work. Clones cancel the same work.
#[derive(Clone, Debug, Default)]
pub struct CancelToken {
    cancelled: Arc<AtomicBool>,
    parent: Option<Arc<CancelToken>>,
}

impl CancelToken {
    /// Requests that the work stops and saves its state.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// Whether this token, or the token of the enclosing work, is cancelled.
    pub fn is_cancelled(&self) -> bool {
        let parent = || {
            self.parent
                .as_ref()
                .is_some_and(|parent| parent.is_cancelled())
        };
        self.cancelled.load(Ordering::Relaxed) || parent()
    }

    /// A token for a part of the work, which can be cancelled separately.
    pub fn child(&self) -> Self {
        Self {
            cancelled: Arc::default(),
            parent: Some(Arc::new(self.clone())),
        }
    }
}

/// A kind of long work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Task {
    /// Training an agent.
    Train,
    /// Playing games with an agent.
    Evaluate,
    /// Playing games with two agents.
    Compare,
    /// Solving a game.
    Solve,
    /// Measuring an agent against a solution.
    Measure,
    /// Playing on from a board.
    Analyze,
    /// Judging records.
    Judge,
    /// Grading the moves of records.
    Review,
    /// Collecting the positions of games.
    Positions,
    /// Playing the environment's side against another program.
    Referee,
    /// Playing the environment's side against all players of a folder.
    Tournament,
    /// Converting weights.
    Convert,
    /// Packing a network.
    Pack,
    /// Training the variants of a sweep.
    Sweep,
    /// Measuring speed.
    Bench,
}

/// What progress counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Unit {
    /// Games.
    Games,
    /// Iterations of replay training.
    Iterations,
    /// Updates of replay training.
    Updates,
    /// Positions.
    Positions,
    /// Bytes of a file.
    Bytes,
    /// Plies of a search.
    Plies,
    /// Runs of a sweep.
    Runs,
    /// Parts of the whole, without a specific unit.
    Parts,
}

/// The progress of long work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// The kind of work.
    pub task: Task,
    /// The current stage, where there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stage: Option<String>,
    /// The finished share, from 0 to 1.
    pub share: f64,
    /// The finished units.
    pub done: u64,
    /// The total number of units, where it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<u64>,
    /// The unit.
    pub unit: Unit,
    /// The mean score of the last games.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mean: Option<f64>,
    /// The current speed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub moves_per_second: Option<f64>,
    /// Learning from a replay buffer, in runs that have one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replay: Option<ReplayProgress>,
}

impl Progress {
    /// The progress of a stage.
    pub(crate) fn stage(task: Task, stage: impl Into<String>, share: f64, done: u64) -> Self {
        Self {
            task,
            stage: Some(stage.into()),
            share,
            done,
            total: None,
            unit: Unit::Positions,
            mean: None,
            moves_per_second: None,
            replay: None,
        }
    }
}

/// How long work ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// All of it is done.
    Finished,
    /// It was cancelled; its state is saved.
    Stopped,
}

impl Status {
    /// By whether all of the work is done.
    pub(crate) fn of(done: bool) -> Self {
        match done {
            true => Self::Finished,
            false => Self::Stopped,
        }
    }
}

/// The run that an event is about. In JSON its fields are those of the event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunSubject {
    /// The name of the recipe.
    pub recipe: String,
    /// What overrides changed in it, each `key=value`.
    pub changed: Vec<String>,
    /// The game.
    pub game: String,
    /// The board.
    pub board: String,
    /// The run folder; none if the run has none.
    pub folder: Option<String>,
}

/// The result of a run. In JSON its fields are those of the event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrainResult {
    /// Games played in all.
    pub games: u64,
    /// The statistics of a run with a replay buffer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replay: Option<ReplayResult>,
    /// The model, where one was saved.
    pub model: Option<String>,
}

/// An event of long work. As JSON it is an object with the field `event`.
///
/// Every task emits [`Event::Started`] first, and last either [`Event::Finished`] or
/// [`Event::Failed`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Event {
    /// Work starts.
    Started {
        /// The kind of work.
        task: Task,
        /// Its subject: a recipe, a model, a game, a file.
        subject: String,
        /// Units finished before.
        done: u64,
        /// The total number of units, where it is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        total: Option<u64>,
        /// The unit.
        unit: Unit,
        /// The run, in training.
        #[serde(flatten)]
        run: Option<RunSubject>,
    },
    /// Progress.
    Progress(Progress),
    /// A run of a sweep starts, progresses or ends.
    Run {
        /// Its number.
        run: usize,
        /// Its variant and seed.
        label: String,
        /// Its finished share, from 0 to 1.
        share: f64,
        /// Whether it has ended.
        done: bool,
    },
    /// A block of training games is full.
    Block(Block),
    /// A checkpoint is on disk. A run without a folder has none.
    Checkpoint {
        /// The games of the run in it.
        games: u64,
        /// The file.
        path: String,
    },
    /// A periodic checkpoint could not be written. The one before is unchanged, and another is
    /// written after the next interval.
    CheckpointFailed {
        /// The games that it would have had.
        games: u64,
        /// The file.
        path: String,
        /// The text of the error.
        error: String,
    },
    /// An evaluation is done.
    Evaluation(Box<Evaluation>),
    /// Work ends.
    Finished {
        /// The kind of work.
        task: Task,
        /// How it ended.
        status: Status,
        /// Units finished.
        done: u64,
        /// The unit.
        unit: Unit,
        /// The result of the run, in training.
        #[serde(flatten)]
        result: Option<TrainResult>,
        /// The run, in training.
        #[serde(flatten)]
        run: Option<RunSubject>,
    },
    /// Work ends with an error, which its caller gets as well.
    Failed {
        /// The kind of work.
        task: Task,
        /// The text of the error.
        error: String,
        /// The run, in training.
        #[serde(flatten)]
        run: Option<RunSubject>,
    },
}

/// Work that reports its start and its end.
pub(crate) struct Job {
    pub(crate) task: Task,
    pub(crate) subject: String,
    pub(crate) total: Option<u64>,
    pub(crate) unit: Unit,
}

type Listener = Arc<dyn Fn(&Event) + Send + Sync>;

/// Events out, cancellation in, and a memory budget. Clones control the same work.
#[derive(Clone)]
pub struct Control {
    listeners: Vec<Listener>,
    cancel: CancelToken,
    memory: MemoryBudget,
    interval: Duration,
}

impl Default for Control {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Control {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Control")
            .field("cancel", &self.cancel)
            .field("memory", &self.memory)
            .finish_non_exhaustive()
    }
}

impl Control {
    /// A control that emits no events, is never cancelled, and shares the memory of the process.
    pub fn new() -> Self {
        Self {
            listeners: Vec::new(),
            cancel: CancelToken::default(),
            memory: MemoryBudget::process(),
            interval: INTERVAL,
        }
    }

    /// Adds a listener for its events, which several threads may call. Earlier listeners remain,
    /// and are called first.
    pub fn on_event(mut self, listener: impl Fn(&Event) + Send + Sync + 'static) -> Self {
        self.listeners.push(Arc::new(listener));
        self
    }

    /// Sets the token that cancels it.
    pub fn with_cancel(self, cancel: CancelToken) -> Self {
        Self { cancel, ..self }
    }

    /// Sets the minimum interval between progress events; with zero, one after every game. The
    /// default is 0.2 seconds.
    pub fn with_interval(self, interval: Duration) -> Self {
        Self { interval, ..self }
    }

    /// Sets a separate memory budget.
    pub fn with_memory(self, memory: MemoryBudget) -> Self {
        Self { memory, ..self }
    }

    /// Whether it is cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.cancel.is_cancelled()
    }

    /// The token that cancels it.
    pub fn cancel_token(&self) -> CancelToken {
        self.cancel.clone()
    }

    /// The memory budget.
    pub fn memory(&self) -> &MemoryBudget {
        &self.memory
    }

    /// Emits an event.
    pub(crate) fn emit(&self, event: Event) {
        self.listeners.iter().for_each(|listener| listener(&event));
    }

    /// Does work between the events of its start and its end. `ended` tells how it ended, and the
    /// finished units; `None` if it failed.
    pub(crate) fn run<T, E: fmt::Display>(
        &self,
        job: Job,
        work: impl FnOnce() -> Result<T, E>,
        ended: impl FnOnce(&Result<T, E>) -> Option<(Status, u64)>,
    ) -> Result<T, E> {
        let Job {
            task,
            subject,
            total,
            unit,
        } = job;
        self.emit(Event::Started {
            task,
            subject,
            done: 0,
            total,
            unit,
            run: None,
        });
        let result = work();
        match (ended(&result), &result) {
            (None, Err(error)) => self.emit(Event::Failed {
                task,
                error: error.to_string(),
                run: None,
            }),
            (ended, _) => {
                let (status, done) = ended.unwrap_or((Status::Stopped, 0));
                self.emit(Event::Finished {
                    task,
                    status,
                    done,
                    unit,
                    result: None,
                    run: None,
                });
            }
        }
        result
    }

    /// A control without events but with the same cancellation, for parts of the work that report
    /// as one.
    pub(crate) fn silent(&self) -> Self {
        Self {
            listeners: Vec::new(),
            ..self.clone()
        }
    }
}

/// The default minimum interval between progress events.
const INTERVAL: Duration = Duration::from_millis(200);

/// A control for tests without events.
#[cfg(test)]
pub(crate) fn quiet() -> &'static Control {
    static QUIET: std::sync::LazyLock<Control> = std::sync::LazyLock::new(Control::new);
    &QUIET
}

/// A cancelled control for tests.
#[cfg(test)]
pub(crate) fn cancelled() -> Control {
    let control = Control::new();
    control.cancel_token().cancel();
    control
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    #[test]
    fn events_are_objects_with_their_name() {
        let event = Event::Checkpoint {
            games: 7,
            path: "run/checkpoint.safetensors".to_owned(),
        };
        let json = serde_json::to_value(&event).unwrap();
        assert_eq!(json["event"], "checkpoint");
        assert_eq!(json["games"], 7);
        let progress = Event::Progress(Progress::stage(Task::Solve, "listing", 0.5, 9));
        let json = serde_json::to_value(&progress).unwrap();
        assert_eq!(json["event"], "progress");
        assert_eq!((&json["task"], &json["done"]), (&"solve".into(), &9.into()));
        assert!(json.get("mean").is_none());
    }

    #[test]
    fn every_listener_is_called() {
        let told = Arc::new(Mutex::new(Vec::new()));
        let listener = |name| {
            let told = Arc::clone(&told);
            move |_: &Event| told.lock().unwrap().push(name)
        };
        let control = Control::new().on_event(listener("a"));
        let both = control.clone().on_event(listener("b"));
        let event = Event::Progress(Progress::stage(Task::Solve, "listing", 0.5, 9));
        both.emit(event.clone());
        assert_eq!(*told.lock().unwrap(), ["a", "b"]);
        both.silent().emit(event.clone());
        control.emit(event);
        assert_eq!(*told.lock().unwrap(), ["a", "b", "a"]);
    }

    #[test]
    fn clones_share_cancellation_and_memory() {
        let control = Control::new().with_memory(MemoryBudget::new(100));
        let other = control.clone().silent();
        let _reserved = other.memory().reserve(60).unwrap();
        assert!(control.memory().reserve(60).is_err());
        let child = control.cancel_token().child();
        let sibling = control.cancel_token().child();
        child.cancel();
        assert!(!control.is_cancelled() && !sibling.is_cancelled());
        control.cancel_token().cancel();
        assert!(other.is_cancelled() && sibling.is_cancelled());
    }
}
