//! The runs that this process trains: each on a thread of its own.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::Duration;

use afterstate_lab::LabError;
use afterstate_lab::control::{CancelToken, Control, Event};
use afterstate_lab::trainer::Trainer;
use serde::Serialize;

use super::{RunView, view};
use crate::error::Problem;
use crate::models::lock;
use crate::state::AppState;

/// The most runs that this process trains at the same time.
const MOST: usize = 2;

/// The runs that this process trains, by name.
#[derive(Default)]
pub struct Trainings {
    pub(super) running: HashMap<String, Training>,
    /// Places that are taken while a run is being created.
    starting: usize,
}

pub(super) struct Training {
    pub(super) cancel: CancelToken,
    thread: Option<JoinHandle<()>>,
    pub(super) progress: Option<serde_json::Value>,
}

/// Stops all trainings; they save their state.
pub fn stop_all(app: &AppState) {
    let trainings = lock(&app.trainings);
    let all = trainings.running.values();
    all.for_each(|training| training.cancel.cancel());
}

/// Waits for the end of all trainings, those that are still being created included.
pub fn wait_for_all(app: &AppState) {
    loop {
        let (threads, starting): (Vec<JoinHandle<()>>, usize) = {
            let mut trainings = lock(&app.trainings);
            let all = trainings.running.values_mut();
            let threads = all.filter_map(|training| training.thread.take());
            (threads.collect(), trainings.starting)
        };
        if threads.is_empty() && starting == 0 {
            return;
        }
        for thread in threads {
            // A panic there has been reported as an event.
            let _ = thread.join();
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A place among the runs that are trained, given back unless the run starts.
struct Place<'a>(&'a AppState);

impl<'a> Place<'a> {
    fn take(app: &'a AppState) -> Result<Self, Problem> {
        let mut trainings = lock(&app.trainings);
        if app.is_ending() {
            return Err(Problem::ending());
        }
        if trainings.running.len() + trainings.starting >= MOST {
            return Err(Problem::busy(format!(
                "this server trains {MOST} runs already; stop one first"
            )));
        }
        trainings.starting += 1;
        Ok(Self(app))
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        lock(&self.0.trainings).starting -= 1;
    }
}

/// An event with the name of its run.
#[derive(Serialize)]
struct Named<'a> {
    id: &'a str,
    #[serde(flatten)]
    event: &'a Event,
}

/// Creates a trainer, and trains on a thread of its own; unless the request is cancelled before.
pub(super) fn begin(
    app: &AppState,
    request: &CancelToken,
    create: impl FnOnce(&Path, &Control) -> Result<Trainer, LabError>,
) -> Result<RunView, Problem> {
    let place = Place::take(app)?;
    if request.is_cancelled() {
        return Err(Problem::busy("the request was cancelled"));
    }
    let cancel = CancelToken::default();
    let id = Arc::new(OnceLock::<String>::new());
    let (listener, known) = (app.clone(), Arc::clone(&id));
    let control = Control::new()
        .with_cancel(cancel.clone())
        .with_interval(Duration::from_millis(250))
        .on_event(move |event| {
            if let Some(id) = known.get() {
                publish(&listener, id, event);
            }
        });
    let mut trainer = create(app.models.folder(), &control)?;
    if trainer.is_done() {
        return Err(Problem::conflict(
            "the run is finished; to train longer, set more episodes",
        ));
    }
    let folder = trainer.folder().map(Path::to_owned);
    let folder = folder.ok_or_else(|| Problem::conflict("the run has no folder"))?;
    let id = id.get_or_init(|| app.models.id_of(&folder)).clone();
    app.models.lend(&id, Some(trainer.contender()));
    let (shared, name) = (app.clone(), id.clone());
    let mut trainings = lock(&app.trainings);
    if app.is_ending() {
        // `stop_all` could not see this training: it saves its state and ends.
        cancel.cancel();
    }
    let thread = std::thread::spawn(move || {
        let trained = catch_unwind(AssertUnwindSafe(|| trainer.train().map(drop)));
        drop(trainer);
        if trained.is_err() {
            let error = "the training has failed by an error of the program".to_owned();
            let failed = serde_json::json!({ "id": name, "event": "failed", "error": error });
            shared.tell("failed", &failed);
        }
        shared.models.lend(&name, None);
        lock(&shared.trainings).running.remove(&name);
        shared.models.refresh();
        shared.tell("ended", &serde_json::json!({ "id": name }));
    });
    let training = Training {
        cancel,
        thread: Some(thread),
        progress: None,
    };
    trainings.running.insert(id.clone(), training);
    drop(trainings);
    drop(place);
    app.models.refresh();
    let run = app.models.run(&id)?;
    Ok(view(app, &run))
}

/// Tells all pages of an event.
fn publish(app: &AppState, id: &str, event: &Event) {
    let name = match event {
        Event::Started { .. } => "started",
        Event::Progress(_) => "progress",
        Event::Block(_) => "block",
        Event::Checkpoint { .. } | Event::CheckpointFailed { .. } => "checkpoint",
        Event::Finished { .. } => "finished",
        Event::Failed { .. } => "failed",
        _ => return,
    };
    if let Event::Progress(progress) = event
        && let Some(training) = lock(&app.trainings).running.get_mut(id)
    {
        training.progress = serde_json::to_value(progress).ok();
    }
    app.tell(name, &Named { id, event });
}
