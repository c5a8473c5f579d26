//! The runs below a folder, each with its status.
//!
//! Everything is read from small files, headers and the last rows of `blocks.csv`, so that runs of
//! any size are listed quickly. Nothing is written, and a training that is under way is not disturbed:
//! a run is running if its lock is held, which is tested with a shared lock for a moment.

use std::fs::{self, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use crate::LabError;
use crate::block::{self, Block};
use crate::disk::inside;
use crate::recipe::{BufferRecipe, Recipe};
use crate::run::{self, SavedProgress};
use crate::tables::open;

/// A run, as `afterstate runs --json` prints it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunInfo {
    /// Its folder.
    pub path: PathBuf,
    /// The name of its recipe; none if that cannot be read.
    pub recipe: Option<String>,
    /// What overrides changed in the recipe, each `key=value`.
    pub changed: Vec<String>,
    /// The game.
    pub game: Option<String>,
    /// The board.
    pub board: Option<String>,
    /// Whether it is finished, and whether it can be resumed.
    pub status: RunStatus,
    /// Games played, as far as the folder tells.
    pub games: u64,
    /// Iterations made; none for a run without a replay buffer.
    #[serde(default)]
    pub iterations: Option<u64>,
    /// Updates made; none for a run without a replay buffer.
    pub updates: Option<u64>,
    /// The mean score of the last block of games.
    pub mean: Option<f64>,
    /// When its folder was created, in RFC 3339 (UTC).
    pub started: Option<String>,
    /// When its model was saved, in RFC 3339 (UTC); none unless it is finished.
    pub finished: Option<String>,
}

impl RunInfo {
    /// The name of its recipe, with what overrides changed: `td-4x6 (learning_rate=0.5)`.
    pub fn title(&self) -> String {
        let name = self.recipe.clone().unwrap_or_default();
        let changed = self.changed.clone();
        Recipe {
            name,
            changed,
            ..Recipe::default()
        }
        .title()
    }
}

/// The status of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum RunStatus {
    /// A process trains it.
    Running,
    /// Trained to the end of its recipe.
    Finished,
    /// Ended before that, with a checkpoint to resume from.
    Stopped,
    /// Ended before its first checkpoint.
    New,
    /// Ended because a weight became NaN or infinite.
    Diverged,
    /// One of its files cannot be read.
    Damaged,
}

impl RunStatus {
    /// Its name, as in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Finished => "finished",
            Self::Stopped => "stopped",
            Self::New => "new",
            Self::Diverged => "diverged",
            Self::Damaged => "damaged",
        }
    }
}

/// Folders within folders that are searched: a run of a sweep is `runs/SWEEP/VARIANT/seed-N`.
const DEPTH: usize = 5;

/// The runs in a folder and in the folders below it, newest first. A folder that is a run itself is
/// listed alone. Links to folders are not followed.
///
/// # Errors
/// When the folder cannot be read. A run that cannot be read is listed as damaged.
pub fn list_runs(folder: &Path) -> Result<Vec<RunInfo>, LabError> {
    fs::read_dir(folder).map_err(LabError::file("read", folder))?;
    let mut folders = Vec::new();
    find(folder, DEPTH, &mut folders);
    let mut runs: Vec<_> = folders
        .iter()
        .map(|folder| (begun(folder), run_info(folder)))
        .collect();
    runs.sort_by(|(a, a_run), (b, b_run)| b.cmp(a).then_with(|| a_run.path.cmp(&b_run.path)));
    Ok(runs.into_iter().map(|(_, run)| run).collect())
}

fn find(folder: &Path, depth: usize, found: &mut Vec<PathBuf>) {
    if run::exists(folder) {
        found.push(folder.to_owned());
        return;
    }
    // A folder that may not be read has no runs for us.
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    for entry in entries.flatten() {
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if is_folder && depth > 0 {
            find(&entry.path(), depth - 1, found);
        }
    }
}

/// One run. What cannot be read is left out, and makes it damaged.
pub fn run_info(folder: &Path) -> RunInfo {
    let recipe = run::recipe_of(folder, &[]);
    let saved = run::saved(folder);
    let last = last_block(folder);
    let running = is_running(folder);
    let in_blocks = || last.as_ref().ok()?.as_ref().map(|block| block.games);
    let games = [
        saved.model,
        saved.checkpoint.as_ref().map(|saved| saved.games),
        // After a crash there may be blocks of games that were not saved.
        running.then(in_blocks).flatten(),
    ];
    let games = games.into_iter().flatten().max().unwrap_or(0);
    let last = last.map_err(drop);
    let checkpoint = saved.checkpoint.as_ref();
    let replay = || last.as_ref().ok()?.as_ref()?.replay.filter(|_| running);
    let iterations = [
        checkpoint.and_then(|saved| saved.iterations),
        replay().and_then(|replay| replay.iterations),
    ];
    let iterations = iterations.into_iter().flatten().max();
    let updates = [
        checkpoint.and_then(|saved| saved.updates),
        replay().map(|replay| replay.updates),
    ];
    let updates = updates.into_iter().flatten().max();
    let status = match (&recipe, &last) {
        _ if running => RunStatus::Running,
        (Ok(recipe), Ok(_)) => match status(recipe, &saved, iterations, updates) {
            RunStatus::Stopped | RunStatus::New if run::Divergence::read(folder).is_some() => {
                RunStatus::Diverged
            }
            status => status,
        },
        _ => RunStatus::Damaged,
    };
    let recipe = recipe.ok();
    let finished = saved.time.filter(|_| status == RunStatus::Finished);
    RunInfo {
        path: folder.to_owned(),
        changed: recipe
            .as_ref()
            .map_or_else(Vec::new, |it| it.changed.clone()),
        game: recipe.as_ref().map(|recipe| recipe.game.clone()),
        board: recipe.as_ref().map(|recipe| recipe.board.clone()),
        recipe: recipe.map(|recipe| recipe.name),
        status,
        games,
        iterations,
        updates,
        mean: last.ok().flatten().map(|block| block.mean),
        started: begun(folder).map(rfc3339),
        finished: finished.map(rfc3339),
    }
}

/// The status of a run that no process trains.
fn status(
    recipe: &Recipe,
    saved: &SavedProgress,
    iterations: Option<u64>,
    updates: Option<u64>,
) -> RunStatus {
    if saved.is_damaged {
        return RunStatus::Damaged;
    }
    let games = saved.checkpoint.as_ref().map(|saved| saved.games);
    let complete = |games: u64| {
        let left =
            |buffer: &BufferRecipe| buffer.left(iterations.unwrap_or(0), updates.unwrap_or(0));
        let left = recipe.learner.buffer().map(left);
        games >= recipe.episodes || left.is_some_and(|(a, b)| a == 0 || b == 0)
    };
    match (saved.model, games) {
        (Some(model), games) if complete(model) && games.is_none_or(|games| games <= model) => {
            RunStatus::Finished
        }
        (None, None) => RunStatus::New,
        _ => RunStatus::Stopped,
    }
}

/// Whether a process holds the lock of a run.
fn is_running(folder: &Path) -> bool {
    let path = run::lock_of(folder);
    let Ok(file) = inside::open(&path, OpenOptions::new().read(true)) else {
        return false;
    };
    matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock))
}

/// The bytes of `blocks.csv` that are read from each end: many rows.
const END: u64 = 1 << 16;

/// The last whole row of `blocks.csv`; none while there is no row.
fn last_block(folder: &Path) -> Result<Option<Block>, LabError> {
    let path = run::blocks_path(folder);
    let mut bytes = match header_and_end(&path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(LabError::file("read", &path)(error)),
    };
    // A row may be half written.
    let whole = bytes.iter().rposition(|&byte| byte == b'\n');
    bytes.truncate(whole.map_or(0, |end| end + 1));
    if bytes.is_empty() {
        return Ok(None);
    }
    let blocks = block::read(&bytes).map_err(|error| LabError::Inconsistent {
        found: error.to_string(),
        path,
    })?;
    Ok(blocks.into_iter().next_back())
}

/// The first line of a file and its last whole lines; all of a short file. Only a regular file is
/// opened.
fn header_and_end(path: &Path) -> io::Result<Vec<u8>> {
    inside::check(path)?;
    let (mut file, size) = open(path)?;
    let mut bytes = Vec::new();
    if size <= 2 * END {
        file.take(2 * END).read_to_end(&mut bytes)?;
        return Ok(bytes);
    }
    let line = |bytes: &[u8]| {
        bytes
            .iter()
            .position(|&byte| byte == b'\n')
            .map(|at| at + 1)
    };
    (&mut file).take(END).read_to_end(&mut bytes)?;
    bytes.truncate(line(&bytes).unwrap_or(bytes.len()));
    file.seek(SeekFrom::End(-(END as i64)))?;
    let mut end = Vec::new();
    file.take(END).read_to_end(&mut end)?;
    bytes.extend(&end[line(&end).unwrap_or(end.len())..]);
    Ok(bytes)
}

/// When a run was begun: its folder was created then. Where the file system does not know, the time of
/// its recipe.
fn begun(folder: &Path) -> Option<SystemTime> {
    let created = fs::metadata(folder).and_then(|about| about.created());
    let written = || fs::metadata(run::recipe_path(folder)).and_then(|about| about.modified());
    created.or_else(|_| written()).ok()
}

fn rfc3339(time: SystemTime) -> String {
    humantime::format_rfc3339_seconds(time).to_string()
}

#[cfg(test)]
mod tests;
