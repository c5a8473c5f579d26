//! A log: a text file that only grows, and is cut back when a training goes on from a checkpoint.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::LabError;

pub(super) struct Log {
    file: File,
    path: PathBuf,
}

impl Log {
    /// Refuses one that is gone though there was something in it: opening would make a new one, and hide that.
    pub(super) fn check(path: &Path, length: u64) -> Result<(), LabError> {
        if length == 0 || path.exists() {
            return Ok(());
        }
        Err(inconsistent(path, "it is gone", length))
    }

    /// Opens it, or makes a new one.
    pub(super) fn open(path: PathBuf) -> Result<Self, LabError> {
        let file = OpenOptions::new().create(true).append(true).open(&path);
        match file {
            Ok(file) => Ok(Self { file, path }),
            Err(error) => Err(LabError::file("write", &path)(error)),
        }
    }

    /// Itself once more, for another thread.
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

    /// Waits until all that was appended is on the disk.
    pub(super) fn sync(&self) -> Result<(), LabError> {
        self.written(self.file.sync_data())
    }

    /// Forgets what was appended after it had this length.
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

/// A log that is not what the checkpoint has counted.
fn inconsistent(path: &Path, found: &str, counted: u64) -> LabError {
    LabError::Inconsistent {
        path: path.to_owned(),
        found: format!(
            "{found} where the checkpoint counted {counted} bytes; restore it, or begin a new run"
        ),
    }
}
