//! The models that a client can name.
//!
//! A name is compared with the names of what there is: runs in the folder, runs under training, and
//! baselines. It never becomes a path.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use afterstate::game::Shape;
use afterstate_lab::agent::Baseline;
use afterstate_lab::evaluate::Contender;
use afterstate_lab::model::{Model, default_model};
use afterstate_lab::run::model_of;
use afterstate_lab::runs::{RunInfo, list_runs};
use afterstate_lab::{ErrorClass, LabError};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::error::Problem;

/// The most models that stay open.
const OPEN: usize = 3;
/// How long a list of runs is used again.
const FRESH: Duration = Duration::from_millis(500);

/// A model that can be named.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ModelView {
    /// The name to ask for it: that of its run, `random` or `greedy`.
    pub id: String,
    /// The game; none for a baseline, which plays any.
    pub game: Option<String>,
    /// The board.
    pub board: Option<String>,
    /// The recipe, with what was changed in it.
    pub recipe: Option<String>,
    /// The games that it was trained for.
    pub trained: Option<u64>,
    /// The mean score of its last block of training games.
    pub mean: Option<f64>,
    /// `run`, `training` or `baseline`.
    pub kind: String,
}

/// A model that is open.
struct Opened {
    contender: Arc<Contender>,
    file: PathBuf,
    modified: Option<SystemTime>,
    used: Instant,
}

/// The models of a folder of runs.
pub struct Models {
    folder: PathBuf,
    opened: Mutex<HashMap<PathBuf, Opened>>,
    /// Held while a model is loaded: one at a time, so that no model is loaded twice.
    loading: Mutex<()>,
    training: Mutex<HashMap<String, Arc<Contender>>>,
    listed: Mutex<Option<(Instant, Arc<Vec<RunInfo>>)>>,
}

impl Models {
    pub fn new(folder: PathBuf) -> Self {
        Self {
            folder,
            opened: Mutex::default(),
            loading: Mutex::default(),
            training: Mutex::default(),
            listed: Mutex::default(),
        }
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// All runs of the folder, newest first.
    pub fn runs(&self) -> Arc<Vec<RunInfo>> {
        let mut listed = lock(&self.listed);
        if let Some((_, runs)) = listed.as_ref().filter(|(at, _)| at.elapsed() < FRESH) {
            return Arc::clone(runs);
        }
        // A folder that cannot be read has no runs to show.
        let runs = Arc::new(list_runs(&self.folder).unwrap_or_default());
        *listed = Some((Instant::now(), Arc::clone(&runs)));
        runs
    }

    /// Has the next list read anew.
    pub fn refresh(&self) {
        *lock(&self.listed) = None;
    }

    /// The name of a run: its folder within the folder of runs.
    pub fn id_of(&self, path: &Path) -> String {
        let inside = path.strip_prefix(&self.folder).unwrap_or(path);
        let parts = inside.components().map(|it| it.as_os_str());
        let parts: Vec<_> = parts.map(|it| it.to_string_lossy()).collect();
        parts.join("/")
    }

    /// The run of this name.
    pub fn run(&self, id: &str) -> Result<RunInfo, Problem> {
        let runs = self.runs();
        let found = runs.iter().find(|run| self.id_of(&run.path) == id);
        found.cloned().ok_or_else(|| {
            let id: String = id.chars().take(80).collect();
            Problem::missing(format!("there is no run `{id}` in the folder of runs"))
        })
    }

    /// Makes an agent under training available by the name of its run.
    pub fn lend(&self, id: &str, contender: Option<Contender>) {
        let mut training = lock(&self.training);
        match contender {
            Some(contender) => drop(training.insert(id.to_owned(), Arc::new(contender))),
            None => drop(training.remove(id)),
        }
    }

    /// All models.
    pub fn list(&self) -> Vec<ModelView> {
        let training: HashSet<String> = lock(&self.training).keys().cloned().collect();
        let runs = self.runs();
        let mut all: Vec<ModelView> = runs
            .iter()
            .filter_map(|run| {
                let id = self.id_of(&run.path);
                let is_training = training.contains(&id);
                if !is_training && model_of(&run.path).is_err() {
                    return None;
                }
                let kind = if is_training { "training" } else { "run" };
                Some(ModelView {
                    recipe: Some(run.title()),
                    game: run.game.clone(),
                    board: run.board.clone(),
                    trained: Some(run.games),
                    mean: run.mean,
                    kind: kind.to_owned(),
                    id,
                })
            })
            .collect();
        all.extend(Baseline::ALL.map(|baseline| ModelView {
            id: baseline.name().to_owned(),
            game: None,
            board: None,
            recipe: None,
            trained: None,
            mean: None,
            kind: "baseline".to_owned(),
        }));
        all
    }

    /// The model of this name that plays this game; without a name the newest run. `None` if there is
    /// none.
    pub fn find(
        &self,
        id: Option<&str>,
        game: &str,
        shape: Shape,
    ) -> Result<Option<Arc<Contender>>, Problem> {
        let Some(id) = id.filter(|id| !id.is_empty()) else {
            afterstate_lab::games::rules(game)?;
            let default = default_model(&self.folder, game, shape);
            return default.map(|path| self.open(&path)).transpose();
        };
        // No lock is held while a model is opened.
        let lent = lock(&self.training).get(id).cloned();
        let contender = match (Baseline::named(id), lent) {
            (Some(baseline), _) => Arc::new(Contender::baseline(baseline, game, shape)?),
            (None, Some(contender)) => contender,
            (None, None) => {
                let run = self.run(id)?;
                self.open(&run.path)?
            }
        };
        if contender.game != game || contender.shape != shape {
            let asked = afterstate_lab::error::game_on(game, shape);
            return Err(Problem::input(format!(
                "the model `{id}` plays {}, not {asked}",
                contender.game_on()
            )));
        }
        Ok(Some(contender))
    }

    /// The same, where a model is needed.
    pub fn need(
        &self,
        id: Option<&str>,
        game: &str,
        shape: Shape,
    ) -> Result<Arc<Contender>, Problem> {
        self.find(id, game, shape)?.ok_or_else(|| {
            let game = game.to_owned();
            LabError::NoModel { game, shape }.into()
        })
    }

    /// The model of a folder, if it is open and its file is the same.
    fn opened(
        &self,
        folder: &Path,
        file: &Path,
        modified: Option<SystemTime>,
    ) -> Option<Arc<Contender>> {
        let mut opened = lock(&self.opened);
        let found = opened.get_mut(folder)?;
        if (&*found.file, found.modified) != (file, modified) {
            return None;
        }
        found.used = Instant::now();
        Some(Arc::clone(&found.contender))
    }

    /// Closes the model of a folder, and the ones used longest ago, so that one more may be open.
    fn make_room(&self, folder: &Path) {
        let mut opened = lock(&self.opened);
        opened.remove(folder);
        while opened.len() >= OPEN {
            let oldest = opened.iter().min_by_key(|(_, it)| it.used);
            let Some(oldest) = oldest.map(|(folder, _)| folder.clone()) else {
                break;
            };
            opened.remove(&oldest);
        }
    }

    /// Opens the model of a run, unless it is open and its file is the same.
    fn open(&self, folder: &Path) -> Result<Arc<Contender>, Problem> {
        let file = model_of(folder)?;
        let modified = std::fs::metadata(&file).and_then(|it| it.modified()).ok();
        if let Some(contender) = self.opened(folder, &file, modified) {
            return Ok(contender);
        }
        let _loading = lock(&self.loading);
        if let Some(contender) = self.opened(folder, &file, modified) {
            return Ok(contender);
        }
        self.make_room(folder);
        let model = match Model::open(folder) {
            // Models that are only kept open make room.
            Err(error) if error.class() == ErrorClass::System => {
                let dropped = std::mem::take(&mut *lock(&self.opened));
                if dropped.is_empty() {
                    return Err(error.into());
                }
                drop(dropped);
                Model::open(folder)?
            }
            model => model?,
        };
        let label = self.id_of(folder);
        let contender = Contender {
            label: label.clone(),
            ..Contender::from(&model)
        };
        // The page shows names, not paths.
        let contender = Contender {
            model: contender.model.map(|mut model| {
                model.path = label;
                model
            }),
            ..contender
        };
        let contender = Arc::new(contender);
        lock(&self.opened).insert(
            folder.to_owned(),
            Opened {
                contender: Arc::clone(&contender),
                file,
                modified,
                used: Instant::now(),
            },
        );
        Ok(contender)
    }
}

/// A lock, also after a panic: what it guards is replaced as a whole.
pub fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
