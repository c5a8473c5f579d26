//! Queries about the run in a folder.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use afterstate::format::native::{self, Header, Metadata, NativeError};
use afterstate::game::Shape;

use super::{
    BLOCKS, CHECKPOINT, ITERATIONS, LOCK, Log, MODEL, RECIPE, RunProgress, SCORES, blocks_of,
};
use crate::LabError;
use crate::boxed;
use crate::disk::inside;
use crate::migrate::Migrated;
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
pub fn stored_recipe(folder: &Path, overrides: &[String]) -> Result<Migrated<Recipe>, LabError> {
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
    match inside::check(&path) {
        Ok(true) => Ok(path),
        Ok(false) => Err(missing()),
        Err(error) => Err(LabError::file("read", &path)(error)),
    }
}

/// The file to play with: of a run's model and its checkpoint the one trained for more games.
///
/// # Errors
/// When the folder has neither, or the header of one of them is damaged: it may be the newer one,
/// which is not passed over.
pub fn model_of(folder: &Path) -> Result<PathBuf, LabError> {
    if boxed::named(folder).is_some() {
        return Ok(folder.to_owned());
    }
    let candidates = [folder.join(CHECKPOINT), folder.join(MODEL)];
    for path in &candidates {
        inside::check(path).map_err(LabError::file("read", path))?;
    }
    let there: Vec<PathBuf> = candidates
        .into_iter()
        .filter(|path| path.exists())
        .collect();
    let games = |path: &PathBuf| {
        let (mut file, size) = open(path).map_err(LabError::file("read", path))?;
        let header = Header::read(&mut file, size).map_err(|source| match source {
            NativeError::Io(source) => LabError::file("read", path)(source),
            source => LabError::DamagedSave {
                path: path.clone(),
                source: Box::new(source),
                other: there.iter().find(|other| *other != path).cloned(),
            },
        })?;
        let episodes = header.metadata().get("episodes");
        Ok(episodes.and_then(|text| text.parse::<u64>().ok()))
    };
    let games: Result<Vec<Option<u64>>, LabError> = there.iter().map(games).collect();
    // If both have the same number of games, the model, which is smaller.
    let found = games?
        .into_iter()
        .zip(&there)
        .max_by_key(|(games, _)| *games);
    let found = found.map(|(_, path)| path.clone());
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
    inside::check(path).ok()?;
    let (mut file, _) = open(path).ok()?;
    native::peek_metadata(&mut file)
}

/// What a run has saved, told by the headers of its files.
#[derive(Clone, Debug, Default)]
pub(crate) struct SavedProgress {
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
pub(crate) fn saved(folder: &Path) -> SavedProgress {
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
    let saved = SavedProgress {
        model: episodes(&model),
        checkpoint: counted(),
        time: fs::metadata(&model).and_then(|about| about.modified()).ok(),
        is_damaged: false,
    };
    let is_damaged = model.exists() && saved.model.is_none()
        || checkpoint.exists() && saved.checkpoint.is_none();
    SavedProgress {
        is_damaged,
        ..saved
    }
}

/// Whether the logs of a run are there as its checkpoint counts them, and its blocks can be read.
pub(crate) fn check_logs(folder: &Path) -> Vec<(PathBuf, Result<(), LabError>)> {
    let progress = peek(&checkpoint_of(folder)).and_then(|found| RunProgress::parse(&found));
    let progress = progress.unwrap_or_default();
    let lengths = [
        (BLOCKS, progress.blocks_bytes),
        (SCORES, progress.scores_bytes),
        (ITERATIONS, progress.iterations_bytes),
    ];
    let there = |name: &str| fs::symlink_metadata(folder.join(name)).is_ok();
    let expected = lengths
        .into_iter()
        .filter(|(name, length)| *length > 0 || there(name));
    let checked = expected.map(|(name, length)| {
        let path = folder.join(name);
        let mut found = Log::verify(&path, length);
        if name == BLOCKS {
            found = found.and_then(|()| blocks_of(folder).map(drop));
        }
        (path, found)
    });
    checked.collect()
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

/// Creates a folder for a new run under `parent`: `name`, or `name-2`, `name-3`, ... if that is
/// taken. Of several processes, each gets another one.
pub(crate) fn claim_folder(parent: &Path, name: &str) -> Result<PathBuf, LabError> {
    let first = parent.join(name);
    fs::create_dir_all(parent).map_err(LabError::file("create the folder", &first))?;
    let numbered = (2u64..).map(|n| parent.join(format!("{name}-{n}")));
    for folder in std::iter::once(first.clone()).chain(numbered) {
        match fs::create_dir(&folder) {
            Ok(()) => return Ok(folder),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(LabError::file("create the folder", &folder)(error)),
        }
    }
    Err(LabError::RunExists(first))
}

/// The last saved run of a game on a board under `parent`.
pub fn newest(parent: &Path, game: &str, shape: Shape) -> Option<PathBuf> {
    let board = shape.to_string();
    let saved = |folder: &PathBuf| {
        let model = match model_of(folder) {
            // It is found all the same, so that opening it tells of the damage.
            Err(LabError::DamagedSave { path, .. }) => {
                let recipe = recipe_of(folder, &[]).ok()?;
                let same = recipe.game == game && recipe.board == board;
                let saved = fs::metadata(path).and_then(|metadata| metadata.modified());
                return saved.ok().filter(|_| same);
            }
            model => model.ok()?,
        };
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

#[cfg(test)]
mod tests {
    use afterstate::format::native::file_of;

    use super::*;

    fn save(path: &Path, games: u64) {
        let text = [
            ("afterstate", "2".to_owned()),
            ("episodes", games.to_string()),
        ];
        let metadata = text.map(|(key, value)| (key.to_owned(), value));
        let metadata = metadata.into_iter().collect();
        fs::write(path, file_of(&[], &[], &metadata).unwrap()).unwrap();
    }

    #[test]
    fn a_damaged_file_is_not_passed_over() {
        let folder = tempfile::tempdir().unwrap();
        let [model, checkpoint] = [MODEL, CHECKPOINT].map(|name| folder.path().join(name));
        save(&model, 5);
        save(&checkpoint, 6);
        assert_eq!(model_of(folder.path()).unwrap(), checkpoint);
        for (damaged, whole) in [(&checkpoint, &model), (&model, &checkpoint)] {
            let good = fs::read(damaged).unwrap();
            for bytes in [&b"x"[..], &good[..100], &good[..good.len() - 1]] {
                fs::write(damaged, bytes).unwrap();
                let found = model_of(folder.path()).unwrap_err().to_string();
                for path in [damaged, whole] {
                    assert!(found.contains(&*path.to_string_lossy()), "{found}");
                }
            }
            // One digit of the number of games.
            let at = good.windows(11).position(|bytes| bytes == b"\"episodes\":");
            let mut bad = good.clone();
            bad[at.unwrap() + 13] ^= 1;
            fs::write(damaged, &bad).unwrap();
            assert!(matches!(
                model_of(folder.path()),
                Err(LabError::DamagedSave { path, .. }) if path == *damaged
            ));
            fs::write(damaged, good).unwrap();
        }
        fs::remove_file(&checkpoint).unwrap();
        assert_eq!(model_of(folder.path()).unwrap(), model);
    }
}
