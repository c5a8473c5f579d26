//! The models that a client can name.
//!
//! A name is compared with the names of what there is: runs in the folder, runs under training, networks
//! in the program, files that the command line has named, and baselines. It never becomes a path.

mod cache;
mod view;

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use afterstate::game::Shape;
use afterstate_lab::LabError;
use afterstate_lab::agent::Baseline;
use afterstate_lab::boxed;
use afterstate_lab::control::CancelToken;
use afterstate_lab::evaluate::Contender;
use afterstate_lab::model::default_model;
use afterstate_lab::run::model_of;
use afterstate_lab::runs::{RunInfo, list_runs};
use axum::http::StatusCode;
use cache::ModelCache;
pub use view::ModelView;
use view::{open_file, renamed};

use crate::error::Problem;
use crate::state::AppState;

/// How long a list of runs is used again.
const FRESH: Duration = Duration::from_millis(500);

/// The model of a run that is used if none is named.
struct UsualModel {
    folder: Option<PathBuf>,
    found: Instant,
}

/// Where a model is.
enum Lookup {
    /// In memory; none, if no model plays the game.
    Opened(Option<Arc<Contender>>),
    /// In this folder, to be read.
    OnDisk(PathBuf),
}

impl From<Arc<Contender>> for Lookup {
    fn from(contender: Arc<Contender>) -> Self {
        Self::Opened(Some(contender))
    }
}

/// The models of a folder of runs.
pub struct Models {
    folder: PathBuf,
    /// The files that the command line has named. They stay open.
    files: Vec<(ModelView, Arc<Contender>)>,
    cache: ModelCache,
    training: Mutex<HashMap<String, Arc<Contender>>>,
    listed: Mutex<Option<(Instant, Arc<Vec<RunInfo>>)>>,
    /// By game and board.
    defaults: Mutex<HashMap<(String, Shape), UsualModel>>,
}

impl Models {
    /// The models of a folder, and those of these files.
    pub fn new(folder: PathBuf, files: &[PathBuf]) -> Result<Self, LabError> {
        let mut named: Vec<(ModelView, Arc<Contender>)> = Vec::new();
        for path in files {
            let name = path.file_name().unwrap_or(path.as_os_str());
            let mut id = name.to_string_lossy().into_owned();
            while named.iter().any(|(view, _)| view.id == id) {
                id.push('\'');
            }
            named.push(open_file(path, id)?);
        }
        Ok(Self {
            folder,
            files: named,
            cache: ModelCache::default(),
            training: Mutex::default(),
            listed: Mutex::default(),
            defaults: Mutex::default(),
        })
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
        lock(&self.defaults).clear();
    }

    /// The model that is used if none is named, which is looked for again after a moment.
    fn default_of(&self, game: &str, shape: Shape) -> Result<Option<PathBuf>, Problem> {
        afterstate_lab::games::rules(game)?;
        let key = (game.to_owned(), shape);
        let known = lock(&self.defaults);
        if let Some(default) = known.get(&key).filter(|it| it.found.elapsed() < FRESH) {
            return Ok(default.folder.clone());
        }
        drop(known);
        let folder = default_model(&self.folder, game, shape);
        let usual = UsualModel {
            folder: folder.clone(),
            found: Instant::now(),
        };
        lock(&self.defaults).insert(key, usual);
        Ok(folder)
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
        all.extend(self.files.iter().map(|(view, _)| view.clone()));
        all.extend(boxed::all().map(|boxed| ModelView {
            game: Some(boxed.game().to_owned()),
            board: Some(boxed.board()),
            ..ModelView::named(boxed.path().display().to_string(), "box")
        }));
        let baselines = Baseline::ALL.into_iter();
        all.extend(baselines.map(|it| ModelView::named(it.name().to_owned(), "baseline")));
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
        match self.look_up(id, game, shape)? {
            Lookup::Opened(contender) => Ok(contender),
            Lookup::OnDisk(folder) => {
                let contender = self.cache.open(&folder, self.id_of(&folder))?;
                // The folder of a run may not tell what its model plays.
                let board = contender.shape.to_string();
                fits(id.unwrap_or_default(), &contender.game, &board, game, shape)?;
                Ok(Some(contender))
            }
        }
    }

    /// The same without reading a file.
    fn look_up(&self, id: Option<&str>, game: &str, shape: Shape) -> Result<Lookup, Problem> {
        let Some(id) = id.filter(|id| !id.is_empty()) else {
            return match self.default_of(game, shape)? {
                Some(folder) => self.cache.look_up(folder),
                None => Ok(Lookup::Opened(None)),
            };
        };
        // No lock is held while a model is opened.
        let lent = lock(&self.training).get(id).cloned();
        let file = self.files.iter().find(|(view, _)| view.id == id);
        let lent = lent.or_else(|| file.map(|(_, contender)| Arc::clone(contender)));
        let found = match (Baseline::named(id), lent) {
            (Some(baseline), _) => Contender::baseline(baseline, game, shape)
                .map(Arc::new)?
                .into(),
            (None, Some(contender)) => contender.into(),
            (None, None) => match boxed::all().find(|it| it.path() == Path::new(id)) {
                Some(boxed) => {
                    fits(id, boxed.game(), &boxed.board(), game, shape)?;
                    self.cache.look_up(boxed.path())?
                }
                None => {
                    let run = self.run(id).map_err(|_| no_such_model(id))?;
                    if let (Some(plays), Some(board)) = (&run.game, &run.board) {
                        fits(id, plays, board, game, shape)?;
                    }
                    self.cache.look_up(run.path)?
                }
            },
        };
        if let Lookup::Opened(Some(contender)) = &found {
            let board = contender.shape.to_string();
            fits(id, &contender.game, &board, game, shape)?;
        }
        Ok(found)
    }

    /// The same, where a model is needed.
    pub fn need(
        &self,
        id: Option<&str>,
        game: &str,
        shape: Shape,
    ) -> Result<Arc<Contender>, Problem> {
        let found = self.find(id, game, shape)?;
        found.ok_or_else(|| no_model(game, shape))
    }

    /// The exact solution of a game on a board, if the command line has named one.
    pub fn solution(&self, game: &str, board: &str) -> Option<Arc<Contender>> {
        let is = |view: &ModelView| {
            let plays = (view.game.as_deref(), view.board.as_deref());
            view.kind == "solution" && plays == (Some(game), Some(board))
        };
        let found = self.files.iter().find(|(view, _)| is(view));
        found.map(|(_, contender)| Arc::clone(contender))
    }
}

/// Refuses a model of another game or board.
fn fits(id: &str, plays: &str, board: &str, game: &str, shape: Shape) -> Result<(), Problem> {
    if (plays, board) == (game, &*shape.to_string()) {
        return Ok(());
    }
    let asked = afterstate_lab::error::game_on(game, shape);
    let message = format!("the model `{id}` plays {plays} on {board}, not {asked}");
    let status = StatusCode::BAD_REQUEST;
    Err(Problem::new(status, "other-game", message))
}

fn no_such_model(id: &str) -> Problem {
    let id: String = id.chars().take(80).collect();
    let message = format!("there is no model `{id}` here; see the list of models");
    Problem::new(StatusCode::NOT_FOUND, "no-such-model", message)
}

impl AppState {
    /// The model of this name; see `Models::find`. What has to be read is read in a queue of its own,
    /// so that nothing but its own requests waits for it. `None` if no model plays the game.
    pub async fn find_model(
        &self,
        id: Option<&str>,
        game: &str,
        shape: Shape,
    ) -> Result<Option<Arc<Contender>>, Problem> {
        let (id, game) = (id.map(str::to_owned), game.to_owned());
        let shared = self.clone();
        let found = self.quick.run({
            let (id, game) = (id.clone(), game.clone());
            move |_| shared.models.look_up(id.as_deref(), &game, shape)
        });
        if let Lookup::Opened(found) = found.await? {
            return Ok(found);
        }
        let shared = self.clone();
        let load = move |_: CancelToken| shared.models.find(id.as_deref(), &game, shape);
        self.loading.run(load).await
    }

    /// The same, where a model is needed.
    pub async fn need_model(
        &self,
        id: Option<&str>,
        game: &str,
        shape: Shape,
    ) -> Result<Arc<Contender>, Problem> {
        let found = self.find_model(id, game, shape).await?;
        found.ok_or_else(|| no_model(game, shape))
    }
}

fn no_model(game: &str, shape: Shape) -> Problem {
    let game = game.to_owned();
    LabError::NoModel { game, shape }.into()
}

/// A lock, also after a panic: what it guards is replaced as a whole.
pub fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
