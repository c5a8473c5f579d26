//! Queries about the run in a folder.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use afterstate::format::native::{self, Metadata};
use afterstate::game::Shape;

use super::{BLOCKS, CHECKPOINT, LOCK, MODEL, RECIPE, RunProgress};
use crate::LabError;
use crate::migrate::Stored;
use crate::recipe::Recipe;
use crate::tables::open;

/// The path of the checkpoint in a folder, whether it exists or not.
pub fn checkpoint_of(folder: &Path) -> PathBuf {
    folder.join(CHECKPOINT)
}

/// Whether the run in this folder has a checkpoint.
pub fn has_checkpoint(folder: &Path) -> bool {
    checkpoint_of(folder).exists()
}

/// Whether this folder has a run.
pub fn exists(folder: &Path) -> bool {
    folder.join(RECIPE).exists()
}

/// The recipe of a run, with overrides of keys that may change.
///
/// # Errors
/// When the folder has none, or it does not parse.
pub fn recipe_of(folder: &Path, overrides: &[String]) -> Result<Recipe, LabError> {
    Ok(stored_recipe(folder, overrides)?.content)
}

/// The same, with the format of its file.
///
/// # Errors
/// When the folder has none, or it does not parse.
pub fn stored_recipe(folder: &Path, overrides: &[String]) -> Result<Stored<Recipe>, LabError> {
    let path = existing(folder, RECIPE)?;
    Ok(Recipe::load_stored(&path, overrides)?)
}

/// A file that every run has.
pub(super) fn existing(folder: &Path, name: &'static str) -> Result<PathBuf, LabError> {
    fs::metadata(folder).map_err(LabError::file("read", folder))?;
    let path = folder.join(name);
    let missing = || LabError::NoRun {
        folder: folder.to_owned(),
        missing: name,
    };
    path.exists().then_some(path).ok_or_else(missing)
}

/// The file to play with: of a run's model and its checkpoint the one trained for more games.
///
/// # Errors
/// When the folder has neither.
pub fn model_of(folder: &Path) -> Result<PathBuf, LabError> {
    let candidates = [folder.join(CHECKPOINT), folder.join(MODEL)];
    // If both have the same number of games, the model, which is smaller.
    let found = candidates
        .into_iter()
        .filter(|path| path.exists())
        .max_by_key(|path| episodes(path));
    found.ok_or_else(|| LabError::NoRun {
        folder: folder.to_owned(),
        missing: MODEL,
    })
}

/// The games of the finished model of a run, if there is one.
pub fn model_games(folder: &Path) -> Option<u64> {
    episodes(&folder.join(MODEL))
}

/// The recipe of the finished model of a run, if there is one.
pub(crate) fn model_recipe(folder: &Path) -> Option<Recipe> {
    let metadata = peek(&folder.join(MODEL))?;
    let stored = Recipe::parse_stored(metadata.get(crate::metadata::RECIPE)?, MODEL, &[]);
    stored.ok().map(|stored| stored.content)
}

/// The number of games in a model's header; a damaged header is reported when the model is opened.
fn episodes(path: &Path) -> Option<u64> {
    peek(path)?.get("episodes")?.parse().ok()
}

fn peek(path: &Path) -> Option<Metadata> {
    let (mut file, _) = open(path).ok()?;
    native::peek_metadata(&mut file)
}

/// What a run has saved, told by the headers of its files.
#[derive(Clone, Debug, Default)]
pub(crate) struct Saved {
    /// The games behind its model, if there is one.
    pub(crate) model: Option<u64>,
    /// What its checkpoint has counted, if there is one.
    pub(crate) checkpoint: Option<Counted>,
    /// When the model was saved.
    pub(crate) time: Option<SystemTime>,
    /// Whether a file is there whose header cannot be read.
    pub(crate) is_damaged: bool,
}

/// The counts of a checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Counted {
    pub(crate) games: u64,
    /// None without a replay buffer.
    pub(crate) iterations: Option<u64>,
    /// None without a replay buffer.
    pub(crate) updates: Option<u64>,
}

/// What a run has saved; no table is read.
pub(crate) fn saved(folder: &Path) -> Saved {
    let [model, checkpoint] = [MODEL, CHECKPOINT].map(|name| folder.join(name));
    let counted = || {
        let progress = RunProgress::parse(&peek(&checkpoint)?)?;
        let totals = progress.replay.map(|replay| replay.total);
        Some(Counted {
            games: progress.games,
            iterations: totals.map(|totals| totals.iterations),
            updates: totals.map(|totals| totals.updates),
        })
    };
    let saved = Saved {
        model: episodes(&model),
        checkpoint: counted(),
        time: fs::metadata(&model).and_then(|about| about.modified()).ok(),
        is_damaged: false,
    };
    let is_damaged = model.exists() && saved.model.is_none()
        || checkpoint.exists() && saved.checkpoint.is_none();
    Saved {
        is_damaged,
        ..saved
    }
}

/// The lock of a run, which the process that trains it holds.
pub(crate) fn lock_of(folder: &Path) -> PathBuf {
    folder.join(LOCK)
}

/// The recipe of a run.
pub(crate) fn recipe_path(folder: &Path) -> PathBuf {
    folder.join(RECIPE)
}

/// The finished model of a run.
pub(crate) fn model_path(folder: &Path) -> PathBuf {
    folder.join(MODEL)
}

/// The blocks of a run.
pub(crate) fn blocks_path(folder: &Path) -> PathBuf {
    folder.join(BLOCKS)
}

/// A folder for a new run under `parent`: `name`, or `name-2`, `name-3`, ... if that is taken.
pub fn free_folder(parent: &Path, name: &str) -> PathBuf {
    let candidates = (2u64..).map(|n| parent.join(format!("{name}-{n}")));
    let mut all = std::iter::once(parent.join(name)).chain(candidates);
    all.find(|folder| !folder.exists())
        .unwrap_or_else(|| parent.join(name))
}

/// The last saved run of a game on a board under `parent`.
pub fn newest(parent: &Path, game: &str, shape: Shape) -> Option<PathBuf> {
    let board = shape.to_string();
    let saved = |folder: &PathBuf| {
        let model = model_of(folder).ok()?;
        let metadata = peek(&model)?;
        let is = |key: &str, value: &str| metadata.get(key).is_some_and(|found| found == value);
        let same = is("game", game) && is("board", &board);
        let saved = fs::metadata(model).and_then(|metadata| metadata.modified());
        saved.ok().filter(|_| same)
    };
    let entries = fs::read_dir(parent).ok()?;
    let folders = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let dated = folders.filter_map(|folder| Some((saved(&folder)?, folder)));
    dated
        .max_by_key(|(saved, _)| *saved)
        .map(|(_, folder)| folder)
}
