//! Parts of a sweep that several machines train, and their merging.
//!
//! A part trains some of the runs into a folder of its own. Merging copies the finished runs of all
//! parts into one folder; the sweep is then as if one machine had trained it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::{RunResult, Sweep, SweepRun, other, saved::SavedResult};
use crate::LabError;
use crate::disk::inside;
use crate::error::SweepError;
use crate::run;

impl Sweep {
    /// Copies the finished runs in the folders of parts to the folder `out`, and returns the result of
    /// each run, in the order of [`Sweep::runs`]. Runs that are there already are kept.
    ///
    /// # Errors
    /// When a run is finished in none of the folders, before anything is copied; when a folder is of
    /// another sweep, a run has another recipe, or a file cannot be copied.
    pub fn merge(&self, parts: &[PathBuf], out: &Path) -> Result<Vec<RunResult>, LabError> {
        let tasks = self.runs(out);
        let sources = self.sources(parts, &tasks)?;
        self.check_place(out, &tasks)?;
        let _lock = self.lock_place(out)?;
        for (task, source) in tasks.iter().zip(sources) {
            if let Some(source) = source {
                copy_run(&source, &task.folder)?;
            }
        }
        let results = tasks.iter().map(|task| self.result_of(task));
        results
            .collect::<Option<Vec<_>>>()
            .ok_or_else(|| SweepError::Unfinished(self.unfinished(&tasks)).into())
    }

    /// The folder from which each run is copied; `None` for a run that is there already.
    fn sources(
        &self,
        parts: &[PathBuf],
        tasks: &[SweepRun],
    ) -> Result<Vec<Option<PathBuf>>, LabError> {
        let of_parts: Vec<Vec<SweepRun>> = parts.iter().map(|part| self.runs(part)).collect();
        for (part, runs) in parts.iter().zip(&of_parts) {
            if !part.is_dir() {
                let missing = io::Error::new(io::ErrorKind::NotFound, "there is no such folder");
                return Err(LabError::file("read", part)(missing));
            }
            runs.iter().try_for_each(SweepRun::is_unchanged)?;
        }
        let mut sources = Vec::new();
        let mut missing = Vec::new();
        for (number, task) in tasks.iter().enumerate() {
            let mut candidates = of_parts.iter().map(|runs| &runs[number]);
            if task.is_done(self.games) {
                sources.push(None);
            } else if let Some(run) = candidates.find(|run| run.is_done(self.games)) {
                sources.push(Some(run.folder.clone()));
            } else {
                missing.push(task.label.clone());
            }
        }
        if missing.is_empty() {
            Ok(sources)
        } else {
            Err(SweepError::Unfinished(missing).into())
        }
    }

    /// Refuses a folder in which the runs of the sweep cannot be.
    ///
    /// # Errors
    /// When `out` is the folder of a run or of another sweep, or a run has another recipe.
    pub fn check(&self, out: &Path) -> Result<(), LabError> {
        self.check_place(out, &self.runs(out))
    }

    /// Refuses a folder in which these runs cannot be.
    pub(super) fn check_place(&self, out: &Path, tasks: &[SweepRun]) -> Result<(), LabError> {
        if run::exists(out) {
            return Err(SweepError::OfARun(out.to_owned()).into());
        }
        tasks.iter().try_for_each(SweepRun::is_unchanged)?;
        self.check_other(out)
    }

    /// Makes the folder of the sweep and locks it.
    pub(super) fn lock_place(&self, out: &Path) -> Result<fs::File, LabError> {
        fs::create_dir_all(out).map_err(LabError::file("create the folder", out))?;
        let lock = run::lock(out)?;
        self.check_other(out)?;
        Ok(lock)
    }

    fn check_other(&self, out: &Path) -> Result<(), LabError> {
        let folders = self.variants.iter().map(|variant| &variant.folder);
        other::check(out, &self.name, folders)
    }

    /// The result of a finished run.
    pub(super) fn result_of(&self, task: &SweepRun) -> Option<RunResult> {
        task.result(SavedResult::read(&task.folder), self.games)
    }

    fn unfinished(&self, tasks: &[SweepRun]) -> Vec<String> {
        let unfinished = tasks.iter().filter(|task| !task.is_done(self.games));
        unfinished.map(|task| task.label.clone()).collect()
    }
}

/// Copies the folder of a run, which appears whole or not at all.
fn copy_run(from: &Path, to: &Path) -> Result<(), LabError> {
    let parent = to.parent().unwrap_or(to);
    let name = to.file_name().unwrap_or_default().to_string_lossy();
    let unfinished = parent.join(format!(".{name}.merging"));
    let failed = LabError::file("copy", from);
    let copied = remove_if_there(&unfinished)
        .and_then(|()| fs::create_dir_all(&unfinished))
        .and_then(|()| copy_files(from, &unfinished))
        // What was stopped in the folder before is replaced.
        .and_then(|()| remove_if_there(to))
        .and_then(|()| fs::rename(&unfinished, to));
    copied.map_err(failed)
}

fn remove_if_there(folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        result => result,
    }
}

/// Copies the files of a run, and those of the folders in it; names that begin with a dot are locks
/// and temporary files.
fn copy_files(from: &Path, to: &Path) -> io::Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (source, name) = (entry.path(), entry.file_name());
        if name.to_string_lossy().starts_with('.') {
            continue;
        }
        let target = to.join(name);
        let kind = entry.file_type()?;
        if kind.is_dir() {
            fs::create_dir(&target)?;
            copy_files(&source, &target)?;
        } else {
            inside::check(&source)?;
            fs::copy(&source, &target)?;
            fs::File::open(&target)?.sync_all()?;
        }
    }
    Ok(())
}
