//! Checkpoints during a run, and plots at its end.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use afterstate::format::native::{Metadata, StoredParts};

use super::Trainer;
use crate::LabError;
use crate::agent::TrainableAgent;
use crate::control::Event;
use crate::disk::AtomicFile;
use crate::finish::draw_missing_plots;
use crate::run::{self, Run};
use crate::share::threads;

/// A trained agent that can be written to a file: the model of a training without a folder.
pub struct TrainedModel {
    agent: Arc<dyn TrainableAgent>,
    metadata: Metadata,
}

impl TrainedModel {
    /// Writes it to a file, which is replaced atomically.
    ///
    /// # Errors
    /// When the file cannot be written, or a weight is not finite.
    pub fn save(&self, path: &Path) -> Result<(), LabError> {
        let output = AtomicFile::create(path).map_err(LabError::file("write", path))?;
        let agent = self.agent.as_ref();
        let written = agent.write(&self.metadata, StoredParts::Weights, &output, threads(0));
        written.map_err(LabError::model("write", path))?;
        output.commit().map_err(LabError::file("write", path))
    }
}

impl Trainer {
    /// The model as it is now, to be written to a file.
    pub fn model(&self) -> TrainedModel {
        TrainedModel {
            agent: Arc::clone(&self.agent),
            metadata: self.metadata(),
        }
    }

    /// Saves a checkpoint if it is due, or a draft of it before. Returns whether it was saved.
    pub(super) fn checkpoint(&mut self, due: Instant) -> Result<bool, LabError> {
        // On a slow disk checkpoints become rarer, because training does not wait for it.
        if self.run.as_ref().is_none_or(Run::is_saving) {
            return Ok(false);
        }
        self.committed()?;
        let metadata = self.metadata();
        let Some(run) = &mut self.run else {
            return Ok(false);
        };
        let is_due = Instant::now() >= due;
        if run.has_draft() || !self.agent.drafts() && is_due {
            self.save()?;
            return Ok(true);
        }
        if is_due {
            run.draft_checkpoint(self.agent.clone(), metadata)?;
        }
        Ok(false)
    }

    /// Reports a periodic checkpoint that could not be written. This ends the run only if there is
    /// no checkpoint before it, or for another reason than the disk.
    pub(super) fn try_again(&mut self, error: LabError) -> Result<bool, LabError> {
        let kept = |run: &&mut Run| run::checkpoint_of(run.folder()).is_file();
        let run = self.run.as_mut().filter(kept);
        let (Some(run), LabError::File { .. }) = (run, &error) else {
            return Err(error);
        };
        run.discard_draft();
        self.control.emit(Event::CheckpointFailed {
            games: self.progress.games,
            path: run::checkpoint_of(run.folder()).display().to_string(),
            error: error.to_string(),
        });
        Ok(true)
    }

    /// Writes a checkpoint, which another thread commits: see [`Trainer::committed`].
    pub(super) fn save(&mut self) -> Result<(), LabError> {
        self.committed()?;
        let (metadata, progress) = (self.metadata(), self.progress.clone());
        let Some(run) = &mut self.run else {
            return Ok(());
        };
        let saved = run.save_checkpoint(self.agent.as_ref(), metadata, progress);
        saved.map_err(|error| self.or_diverged(error))?;
        self.saving = Some(self.progress.games);
        Ok(())
    }

    /// Waits until the last save is on disk, and reports its checkpoint.
    pub(super) fn committed(&mut self) -> Result<(), LabError> {
        let saving = self.saving.take();
        let Some(run) = &mut self.run else {
            return Ok(());
        };
        run.saved()?;
        if let Some(games) = saving {
            self.control.emit(Event::Checkpoint {
                games,
                path: run::checkpoint_of(run.folder()).display().to_string(),
            });
        }
        Ok(())
    }

    /// Draws the plots of a run that is done, if one is missing, as after a kill; returns their
    /// paths.
    ///
    /// # Errors
    /// When they cannot be drawn; the model is complete.
    pub fn draw_missing_plots(&self) -> Result<Vec<PathBuf>, LabError> {
        let Some(folder) = self.folder().filter(|_| self.is_done()) else {
            return Ok(Vec::new());
        };
        let drawn = draw_missing_plots(folder, &run::title(&self.recipe));
        drawn.map_err(|error| self.unplotted(error))
    }

    pub(super) fn unplotted(&self, error: LabError) -> LabError {
        let folder = self.folder().unwrap_or(Path::new(""));
        let saved = match self.is_finished() {
            true => format!(
                "the model {} is complete",
                run::model_path(folder).display()
            ),
            false => format!("{} is saved", run::checkpoint_of(folder).display()),
        };
        LabError::Unplotted {
            saved,
            source: Box::new(error),
        }
    }
}
