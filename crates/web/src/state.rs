//! What all requests share.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde::Serialize;
use tokio::sync::{Semaphore, broadcast, watch};

use crate::Config;
use crate::api::events::STREAMS;
use crate::api::games::OpenGames;
use crate::api::runs::Trainings;
use crate::error::ServeError;
use crate::extract::BODIES;
use crate::guard::{address_of, without_port};
use crate::jobs::JobQueue;
use crate::models::Models;

/// An event for all pages.
#[derive(Clone, Debug)]
pub struct PageEvent {
    /// The name of the event.
    pub name: &'static str,
    /// Its content, as JSON.
    pub data: String,
}

/// The state of the app. Clones share it.
#[derive(Clone)]
pub struct AppState(Arc<Shared>);

pub struct Shared {
    names: Vec<String>,
    is_open: bool,
    token: Option<String>,
    /// The models.
    pub models: Models,
    /// The games in progress.
    pub games: Mutex<OpenGames>,
    /// The runs that this process trains.
    pub trainings: Mutex<Trainings>,
    /// Answers that take milliseconds.
    pub quick: JobQueue,
    /// Searches, each on one thread or few.
    pub searches: JobQueue,
    /// Rollouts, each on all cores.
    pub rollouts: JobQueue,
    /// Reviews, judgements and lessons.
    pub heavy: JobQueue,
    /// Reading a model, which takes seconds: one at a time, and nothing else waits for it.
    pub loading: JobQueue,
    /// MiB of large bodies that may be in memory.
    pub bodies: Arc<Semaphore>,
    /// Streams of events that may be open.
    pub streams: Arc<Semaphore>,
    /// Events for all pages.
    events: broadcast::Sender<PageEvent>,
    /// Whether the server is shutting down.
    ending: watch::Sender<bool>,
}

impl AppState {
    /// An app for this configuration.
    ///
    /// # Errors
    /// When a model cannot be opened, or a token is needed and the system gives no random numbers.
    pub fn new(config: &Config) -> Result<Self, ServeError> {
        let is_open = !config.host.is_loopback();
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Ok(Self(Arc::new(Shared {
            names: config.names.clone(),
            is_open,
            token: is_open.then(|| random_id(16)).transpose()?,
            models: Models::new(config.runs.clone(), &config.models).map_err(ServeError::Model)?,
            games: Mutex::default(),
            trainings: Mutex::default(),
            quick: JobQueue::new(cores.max(2), 512, Duration::from_secs(20)),
            searches: JobQueue::new(cores, 32, Duration::from_secs(30)),
            rollouts: JobQueue::new(2, 32, Duration::from_secs(30)),
            heavy: JobQueue::new(2, 8, Duration::from_secs(100)),
            loading: JobQueue::new(1, 512, Duration::from_secs(100)),
            bodies: Arc::new(Semaphore::new(BODIES)),
            streams: Arc::new(Semaphore::new(STREAMS)),
            events: broadcast::channel(256).0,
            ending: watch::channel(false).0,
        })))
    }

    /// The token that requests need, if the app can be reached from other machines.
    pub fn token(&self) -> Option<&str> {
        self.0.token.as_deref()
    }

    /// Whether a `Host` is a name of this server.
    pub(crate) fn is_named(&self, host: &str) -> bool {
        let name = without_port(host);
        if let Some(address) = address_of(name) {
            return address.is_loopback() || self.0.is_open;
        }
        let name = name.trim_end_matches('.').to_ascii_lowercase();
        name == "localhost"
            || self
                .0
                .names
                .iter()
                .any(|own| own.eq_ignore_ascii_case(&name))
    }

    /// Sends an event to all pages.
    pub(crate) fn tell(&self, name: &'static str, content: &impl Serialize) {
        // An error means that no page is open.
        if let Ok(data) = serde_json::to_string(content) {
            let _ = self.0.events.send(PageEvent { name, data });
        }
    }

    /// The events to come, and whether the server is ending.
    pub(crate) fn listen(&self) -> (broadcast::Receiver<PageEvent>, watch::Receiver<bool>) {
        (self.0.events.subscribe(), self.0.ending.subscribe())
    }

    /// Whether the server is ending.
    pub(crate) fn is_ending(&self) -> bool {
        *self.0.ending.borrow()
    }

    /// Ends all streams and stops all trainings, which save their state.
    pub fn end(&self) {
        self.0.ending.send_replace(true);
        crate::api::runs::stop_all(self);
    }
}

impl std::ops::Deref for AppState {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.0
    }
}

/// Random hexadecimal digits, two for each byte.
pub fn random_id(bytes: usize) -> Result<String, ServeError> {
    let mut random = vec![0; bytes];
    getrandom::fill(&mut random).map_err(|error| ServeError::Random(error.to_string()))?;
    Ok(random.iter().map(|byte| format!("{byte:02x}")).collect())
}
