//! A run folder: all files of one training run, each of them complete at any moment.
//!
//! `recipe.toml` (complete), `blocks.csv` (a row for each block), `scores.txt` (a line for each
//! game, optional), `iterations.csv` (a row every few iterations of learning from a replay buffer,
//! optional), `checkpoint.safetensors` (everything needed to resume), `model.safetensors`
//! (what playing needs), `gaps.csv` (a line for each measurement against a solution, optional; its
//! columns are the fields of [`GapRow`]), `plots/`.
//!
//! The logs grow between checkpoints. A checkpoint stores their lengths, and resuming truncates
//! them to these lengths: after a crash they never include games that the network has lost.
//!
//! Saving has two steps. First, training pauses while the data is copied to the page cache. Then
//! training continues while the data reaches the disk and the file gets its name: first the logs,
//! then the file, so that no checkpoint refers to lines that do not exist. To shorten the pause, a
//! draft is written beforehand, from a network that changes meanwhile: its content is discarded; it
//! only preallocates page cache.
//!
//! A folder may come from someone else. Nothing in it leads out of it: what is not a regular file is
//! refused by name (`disk/inside.rs`), and a lock is never truncated.

mod curves;
mod diverged;
mod found;
mod gaps;
mod guard;
mod log;
mod rename;

pub use curves::{blocks_of, curve_of, title};
pub use diverged::Divergence;
pub(crate) use found::{
    SavedProgress, blocks_path, check_logs, claim_folder, lock_of, model_path, model_recipe,
    recipe_path, saved,
};
pub use found::{
    checkpoint_of, exists, has_checkpoint, model_games, model_of, newest, recipe_of, stored_recipe,
};
pub use gaps::{GapRow, Gaps, SymmetryMode};
pub(crate) use guard::lock;

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use afterstate::format::native::{Metadata, NativeError, StoredParts};
use afterstate::tally::{Outcome, Tally};
use serde::{Deserialize, Serialize};

use crate::LabError;
use crate::agent::StoredAgent;
use crate::block::{Block, Columns, IterationRow, ReplayStats};
use crate::disk::{AtomicFile, replace_inside, sync_folder};
use crate::metadata::{self, FORMAT, Fields};
use crate::migrate::{self, Format};
use crate::recipe::{BufferRecipe, Recipe, RecipeDifference};
use crate::share::{Background, threads};
use crate::tables;
use diverged::DIVERGED;
use found::existing;
use guard::{check_and_clean, free};
use log::Log;
use rename::{first_line, rename_columns};

const RECIPE: &str = "recipe.toml";
const BLOCKS: &str = "blocks.csv";
const SCORES: &str = "scores.txt";
const ITERATIONS: &str = "iterations.csv";
const GAPS: &str = "gaps.csv";
const CHECKPOINT: &str = "checkpoint.safetensors";
const MODEL: &str = "model.safetensors";
const LOCK: &str = ".lock";
/// The files of a run.
const FILES: [&str; 8] = [
    RECIPE, BLOCKS, SCORES, ITERATIONS, GAPS, CHECKPOINT, MODEL, DIVERGED,
];
/// The metadata key of [`RunProgress`] in a checkpoint.
pub(crate) const PROGRESS: &str = "progress";

/// The saved progress of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunProgress {
    /// Games finished.
    pub games: u64,
    /// The games of the current, incomplete block.
    pub block: Tally,
    /// Statistics of learning from a replay buffer, in runs that have one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replay: Option<ReplayStats>,
    /// The length of `blocks.csv`.
    blocks_bytes: u64,
    /// The length of `scores.txt`.
    scores_bytes: u64,
    /// The length of `iterations.csv`.
    #[serde(default)]
    iterations_bytes: u64,
}

impl RunProgress {
    /// The progress in the metadata of a checkpoint, of any format; `None` if there is none or it
    /// does not parse.
    fn parse(metadata: &Metadata) -> Option<Self> {
        let stored = serde_json::from_str(metadata.get(PROGRESS)?).ok()?;
        let progress = match format_of(metadata) {
            Some(Format::One) => migrate::progress(stored),
            _ => stored,
        };
        serde_json::from_value(progress).ok()
    }

    /// Whether its counts are small enough to be incremented.
    fn in_range(&self) -> bool {
        let replay = self.replay.as_ref();
        let log = replay.and_then(|it| it.log.as_ref());
        let stats = replay
            .map(|it| [&it.total, &it.block])
            .into_iter()
            .flatten();
        let stats = stats.chain(log.map(|it| &it.since_row));
        let stats = stats.flat_map(|it| [it.iterations, it.updates, it.moves, it.reward]);
        let log = log.map(|it| [it.iterations, it.updates, it.games]);
        let block = [self.block.games, self.block.score, self.block.moves];
        let counts = stats.chain(block).chain([self.games]);
        let mut counts = counts.chain(log.into_iter().flatten());
        counts.all(|count| i64::try_from(count).is_ok())
    }
}

/// The format of a file with this metadata, if it is a known one.
fn format_of(metadata: &Metadata) -> Option<Format> {
    metadata.get(FORMAT).and_then(|text| Format::parse(text))
}

/// A run folder that only this process writes to.
pub struct Run {
    /// The second step of the last save. Declared before the lock, and so finished before the lock
    /// is released.
    saving: Background<LabError>,
    /// The draft of the next checkpoint.
    draft: Option<Arc<AtomicFile>>,
    folder: PathBuf,
    blocks: Log,
    scores: Option<Log>,
    iterations: Option<Log>,
    /// The first line of `blocks.csv`.
    header: String,
    /// Held while the run is open.
    _lock: File,
}

impl Run {
    /// Creates a run folder with its recipe.
    ///
    /// # Errors
    /// When the folder already has a run or other files, is in use, or cannot be written.
    pub fn create(folder: &Path, recipe: &Recipe, tile_values: &[u64]) -> Result<Self, LabError> {
        fs::create_dir_all(folder).map_err(LabError::file("create the folder", folder))?;
        // Before the lock, so that no lock is left in a folder of other files, and again when no
        // other process can begin a run.
        free(folder)?;
        let lock = lock(folder)?;
        free(folder)?;
        check_and_clean(folder)?;
        // The recipe is written first: from now on the run can be resumed, if only from its start.
        save_recipe(folder, recipe)?;
        let mut run = Self::open_logs(folder, recipe, lock)?;
        run.append_headers(tile_values, recipe)?;
        sync_folder(folder.parent()).map_err(LabError::file("write", folder))?;
        Ok(run)
    }

    /// Starts again in a folder whose run ended before its first checkpoint.
    ///
    /// # Errors
    /// When it is in use or cannot be written.
    pub fn restart(folder: &Path, recipe: &Recipe, tile_values: &[u64]) -> Result<Self, LabError> {
        let lock = lock(folder)?;
        check_and_clean(folder)?;
        let model = folder.join(MODEL);
        if model.exists() {
            let found = "there is a finished model but no checkpoint to resume from".to_owned();
            return Err(LabError::Inconsistent { path: model, found });
        }
        let mut run = Self::open_logs(folder, recipe, lock)?;
        run.cut_logs(&RunProgress::default())?;
        run.append_headers(tile_values, recipe)?;
        save_recipe(folder, recipe)?;
        Divergence::forget(folder)?;
        Ok(run)
    }

    /// Opens a run to resume it, fills the network from its checkpoint, and truncates its logs.
    ///
    /// # Errors
    /// When there is no checkpoint, it is damaged, or another process uses the run.
    pub fn resume(
        folder: &Path,
        recipe: &Recipe,
        agent: &dyn StoredAgent,
    ) -> Result<(Self, RunProgress), LabError> {
        let lock = lock(folder)?;
        check_and_clean(folder)?;
        let path = folder.join(CHECKPOINT);
        let saved = tables::StoredTables::open(&path)?;
        let metadata = saved.metadata();
        let fields = Fields::new(metadata, &path, |path, error| {
            LabError::model("read", path)(error)
        });
        fields.check_format(FORMAT)?;
        let mut progress = RunProgress::parse(metadata).ok_or_else(|| LabError::Metadata {
            path: path.clone(),
            key: PROGRESS,
            found: "nothing usable".to_owned(),
            expected: "the progress of a run; is this a model instead of a checkpoint?".to_owned(),
        })?;
        same_training(folder, recipe, metadata, &progress)?;
        if !progress.in_range() {
            let found = "its progress has a count above the supported maximum; the file is damaged"
                .to_owned();
            return Err(LabError::Inconsistent { path, found });
        }
        agent
            .read(&saved, StoredParts::Everything)
            .map_err(LabError::model("read", &path))?;
        Log::check(&folder.join(BLOCKS), progress.blocks_bytes)?;
        if format_of(metadata) == Some(Format::One) {
            progress.blocks_bytes = rename_columns(&folder.join(BLOCKS), progress.blocks_bytes)?;
        }
        Log::check(&folder.join(SCORES), progress.scores_bytes)?;
        Log::check(&folder.join(ITERATIONS), progress.iterations_bytes)?;
        let mut run = Self::open_logs(folder, recipe, lock)?;
        run.cut_logs(&progress)?;
        run.append_iteration_header()?;
        run.header = first_line(&folder.join(BLOCKS))?;
        progress.complete(folder);
        Divergence::forget(folder)?;
        Ok((run, progress))
    }

    /// Stores the recipe with its overrides, such as more episodes, for the next time.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn save_recipe(&self, recipe: &Recipe) -> Result<(), LabError> {
        save_recipe(&self.folder, recipe)
    }

    fn open_logs(folder: &Path, recipe: &Recipe, lock: File) -> Result<Self, LabError> {
        let scores = recipe.scores.then(|| Log::open(folder.join(SCORES)));
        let logs = |buffer: &BufferRecipe| buffer.log_iterations > 0;
        let iterations = recipe.learner.buffer().is_some_and(logs);
        let iterations = iterations.then(|| Log::open(folder.join(ITERATIONS)));
        Ok(Self {
            saving: Background::idle(),
            draft: None,
            folder: folder.to_owned(),
            blocks: Log::open(folder.join(BLOCKS))?,
            scores: scores.transpose()?,
            iterations: iterations.transpose()?,
            header: String::new(),
            _lock: lock,
        })
    }

    /// Truncates the logs to the lengths in the checkpoint, also those that the recipe has switched off
    /// since: rows behind the checkpoint are of games that are played again.
    fn cut_logs(&self, progress: &RunProgress) -> Result<(), LabError> {
        let off = |log: Option<&Log>, name: &str| {
            let path = self.folder.join(name);
            let is_left = log.is_none() && path.exists();
            is_left.then(|| Log::open(path)).transpose()
        };
        let scores = off(self.scores.as_ref(), SCORES)?;
        let iterations = off(self.iterations.as_ref(), ITERATIONS)?;
        let lengths = [
            (Some(&self.blocks), progress.blocks_bytes),
            (
                self.scores.as_ref().or(scores.as_ref()),
                progress.scores_bytes,
            ),
            (
                self.iterations.as_ref().or(iterations.as_ref()),
                progress.iterations_bytes,
            ),
        ];
        let logs = || {
            lengths
                .iter()
                .filter_map(|(log, length)| Some(((*log)?, *length)))
        };
        // All are checked before one is changed.
        logs().try_for_each(|(log, length)| log.check_end(length))?;
        logs().try_for_each(|(log, length)| log.cut(length))
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Starts `blocks.csv` and `iterations.csv` with their headers.
    fn append_headers(&mut self, tiles: &[u64], recipe: &Recipe) -> Result<(), LabError> {
        let columns = Columns::new(tiles, recipe.learner.buffer().is_some());
        self.append_row(columns.header())?;
        self.blocks.flush()?;
        self.append_iteration_header()
    }

    /// Starts `iterations.csv` with its header, if it is empty.
    fn append_iteration_header(&mut self) -> Result<(), LabError> {
        let path = self.folder.join(ITERATIONS);
        match &mut self.iterations {
            Some(log) if log.length()? == 0 => log.append(&csv(IterationRow::header(), &path)?),
            _ => Ok(()),
        }
    }

    /// Adds a row to `blocks.csv`.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn append_block(&mut self, block: &Block, tiles: &[u64]) -> Result<(), LabError> {
        let columns = Columns::new(tiles, block.replay.is_some());
        self.append_row(columns.of_file(&self.header).row(block))
    }

    fn append_row(&mut self, row: Result<String, csv::Error>) -> Result<(), LabError> {
        let row = csv(row, &self.folder.join(BLOCKS))?;
        self.blocks.append(&row)
    }

    /// Adds rows to `iterations.csv`, if the recipe enables it.
    ///
    /// # Errors
    /// When they cannot be written.
    pub fn append_iterations(&mut self, rows: &[IterationRow]) -> Result<(), LabError> {
        let path = self.folder.join(ITERATIONS);
        let Some(log) = &mut self.iterations else {
            return Ok(());
        };
        let lines = rows.iter().map(|row| csv(row.line(), &path));
        log.append(&lines.collect::<Result<String, _>>()?)
    }

    /// Adds lines to `scores.txt`, if the recipe enables it.
    ///
    /// # Errors
    /// When they cannot be written.
    pub fn append_scores(&mut self, first: u64, outcomes: &[Outcome]) -> Result<(), LabError> {
        let Some(scores) = &mut self.scores else {
            return Ok(());
        };
        let lines: String = (first..)
            .zip(outcomes)
            .map(|(episode, outcome)| format!("episode : {episode}, score : {}\n", outcome.score))
            .collect();
        scores.append(&lines)
    }

    /// Saves everything needed to resume. When this returns, the network may change again, but the
    /// checkpoint is still being written to disk: see [`Run::saved`].
    ///
    /// # Errors
    /// When it cannot be written, or a weight is not finite; the last checkpoint is then unchanged.
    /// Also when the previous save failed.
    pub fn save_checkpoint(
        &mut self,
        agent: &dyn StoredAgent,
        mut metadata: Metadata,
        mut progress: RunProgress,
    ) -> Result<(), LabError> {
        self.blocks.flush()?;
        progress.blocks_bytes = self.blocks.length()?;
        if let Some(scores) = &mut self.scores {
            scores.flush()?;
            progress.scores_bytes = scores.length()?;
        }
        if let Some(iterations) = &mut self.iterations {
            iterations.flush()?;
            progress.iterations_bytes = iterations.length()?;
        }
        let text = serde_json::to_string(&progress).map_err(io::Error::other);
        let text = text.map_err(LabError::file("write", &self.folder.join(CHECKPOINT)))?;
        metadata.insert(PROGRESS.to_owned(), text);
        self.saved()?;
        let output = match self.draft.take().and_then(Arc::into_inner) {
            Some(output) => output,
            None => self.new_file(CHECKPOINT)?,
        };
        self.save(
            output,
            CHECKPOINT,
            agent,
            &metadata,
            StoredParts::Everything,
        )
    }

    /// Writes a draft of a checkpoint; the network may change meanwhile.
    ///
    /// # Errors
    /// When the file cannot be created. Also when the previous save failed.
    pub fn draft_checkpoint(
        &mut self,
        agent: Arc<dyn StoredAgent>,
        metadata: Metadata,
    ) -> Result<(), LabError> {
        self.saved()?;
        let path = self.folder.join(CHECKPOINT);
        let output = Arc::new(self.new_file(CHECKPOINT)?);
        self.draft = Some(Arc::clone(&output));
        self.saving.begin(move || {
            match agent.write(&metadata, StoredParts::Everything, &output, 1) {
                // The actual save finds and reports the same error.
                Err(NativeError::NotFinite { .. }) => Ok(()),
                drafted => drafted.map_err(LabError::model("write", &path)),
            }
        })
    }

    /// Discards the draft of the next checkpoint.
    pub(crate) fn discard_draft(&mut self) {
        self.draft = None;
    }

    /// Whether there is a draft of the next checkpoint.
    pub fn has_draft(&self) -> bool {
        self.draft.is_some()
    }

    /// Saves what playing needs, in the same way.
    ///
    /// # Errors
    /// When it cannot be written, or a weight is not finite. Also when the previous save failed.
    pub fn save_model(
        &mut self,
        agent: &dyn StoredAgent,
        metadata: &Metadata,
    ) -> Result<(), LabError> {
        self.saved()?;
        let output = self.new_file(MODEL)?;
        self.save(output, MODEL, agent, metadata, StoredParts::Weights)
    }

    /// Creates a file.
    fn new_file(&self, name: &str) -> Result<AtomicFile, LabError> {
        let path = self.folder.join(name);
        AtomicFile::create_inside(&path).map_err(LabError::file("write", &path))
    }

    fn save(
        &mut self,
        output: AtomicFile,
        name: &str,
        agent: &dyn StoredAgent,
        metadata: &Metadata,
        keep: StoredParts,
    ) -> Result<(), LabError> {
        let path = self.folder.join(name);
        let written = agent.write(metadata, keep, &output, threads(0));
        written.map_err(LabError::model("write", &path))?;
        let optional = [&self.scores, &self.iterations].into_iter().flatten();
        let logs = std::iter::once(&self.blocks).chain(optional).map(Log::twin);
        let logs = logs.collect::<Result<Vec<_>, _>>()?;
        self.saving.begin(move || {
            logs.iter().try_for_each(Log::sync)?;
            output.commit().map_err(LabError::file("write", &path))
        })
    }

    /// Whether a save is still in progress.
    pub fn is_saving(&self) -> bool {
        self.saving.is_busy()
    }

    /// Waits until the last save is on disk.
    ///
    /// # Errors
    /// When it failed; the earlier save is then unchanged.
    pub fn saved(&mut self) -> Result<(), LabError> {
        self.saving.wait()
    }
}

/// A row of one of the run's tables.
fn csv(row: Result<String, csv::Error>, path: &Path) -> Result<String, LabError> {
    row.map_err(|error| LabError::file("write", path)(io::Error::other(error)))
}

fn save_recipe(folder: &Path, recipe: &Recipe) -> Result<(), LabError> {
    let path = folder.join(RECIPE);
    replace_inside(&path, recipe.to_toml().as_bytes()).map_err(LabError::file("write", &path))
}

/// Refuses a recipe that differs from that of the checkpoint's training, or that ends before it.
fn same_training(
    folder: &Path,
    recipe: &Recipe,
    metadata: &Metadata,
    progress: &RunProgress,
) -> Result<(), LabError> {
    let inconsistent = |found: String| LabError::Inconsistent {
        path: folder.join(RECIPE),
        found,
    };
    let text = metadata.get(metadata::RECIPE).map_or("", String::as_str);
    let past = Recipe::parse_stored(text, CHECKPOINT, &[])?.content;
    if let Err(RecipeDifference { key, values }) = recipe.continues(&past, progress.games) {
        let [trained, found] = values;
        let found = format!(
            "`{key}` is {found}, but the checkpoint was trained with {trained}; restore it, or start a new run"
        );
        return Err(inconsistent(found));
    }
    if recipe.episodes < progress.games {
        let (asked, played) = (recipe.episodes, progress.games);
        let found = format!("`episodes` is {asked}, but {played} episodes have been played");
        return Err(inconsistent(found));
    }
    Ok(())
}
