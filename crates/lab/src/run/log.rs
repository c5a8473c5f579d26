//! A log: a text file that only grows, and is truncated when a run resumes from a checkpoint.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::LabError;

pub(super) struct Log {
    file: File,
    path: PathBuf,
}

impl Log {
    /// Refuses a missing log that should not be empty: opening would create a new one and hide the
    /// loss.
    pub(super) fn check(path: &Path, length: u64) -> Result<(), LabError> {
        if length == 0 || path.exists() {
            return Ok(());
        }
        Err(inconsistent(path, "it is missing", length))
    }

    /// Opens or creates it.
    pub(super) fn open(path: PathBuf) -> Result<Self, LabError> {
        let file = OpenOptions::new().create(true).append(true).open(&path);
        match file {
            Ok(file) => Ok(Self { file, path }),
            Err(error) => Err(LabError::file("write", &path)(error)),
        }
    }

    /// A second handle, for another thread.
    pub(super) fn twin(&self) -> Result<Self, LabError> {
        Ok(Self {
            file: self.written(self.file.try_clone())?,
            path: self.path.clone(),
        })
    }

    /// Adds text to its end.
    pub(super) fn append(&mut self, text: &str) -> Result<(), LabError> {
        let appended = self.file.write_all(text.as_bytes());
        self.written(appended)
    }

    pub(super) fn length(&self) -> Result<u64, LabError> {
        Ok(self.written(self.file.metadata())?.len())
    }

    /// Waits until everything appended is on disk.
    pub(super) fn sync(&self) -> Result<(), LabError> {
        self.written(self.file.sync_data())
    }

    /// Truncates it to this length.
    pub(super) fn cut(&self, length: u64) -> Result<(), LabError> {
        let found = self.length()?;
        if found < length {
            let found = format!("it has {found} bytes");
            return Err(inconsistent(&self.path, &found, length));
        }
        self.written(self.file.set_len(length))
    }

    fn written<T>(&self, result: io::Result<T>) -> Result<T, LabError> {
        result.map_err(LabError::file("write", &self.path))
    }
}

/// The error for a log that contradicts the checkpoint.
fn inconsistent(path: &Path, found: &str, counted: u64) -> LabError {
    LabError::Inconsistent {
        path: path.to_owned(),
        found: format!(
            "{found}, but the checkpoint expects {counted} bytes; restore it, or start a new run"
        ),
    }
}
