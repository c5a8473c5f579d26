//! A log: a text file that only grows, and is truncated when a run resumes from a checkpoint.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::LabError;
use crate::disk::inside;

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

    /// Refuses a log that resuming would refuse; nothing is changed.
    pub(super) fn verify(path: &Path, length: u64) -> Result<(), LabError> {
        Self::check(path, length)?;
        let file = inside::open(path, OpenOptions::new().read(true));
        let file = file.map_err(LabError::file("read", path))?;
        let path = path.to_owned();
        Self { file, path }.check_end(length)
    }

    /// Opens or creates it.
    pub(super) fn open(path: PathBuf) -> Result<Self, LabError> {
        let mut options = OpenOptions::new();
        let file = inside::open(&path, options.read(true).create(true).append(true));
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

    /// Refuses a log that is shorter than this length, or has no end of a line there: it was changed
    /// since the checkpoint, and truncating it would leave half a line.
    pub(super) fn check_end(&self, length: u64) -> Result<(), LabError> {
        let found = self.length()?;
        if found < length {
            let found = format!("it has {found} bytes");
            return Err(inconsistent(&self.path, &found, length));
        }
        // The last two bytes.
        let start = length.saturating_sub(2);
        let mut end = Vec::new();
        let read = (&self.file).seek(SeekFrom::Start(start));
        let read = read.and_then(|_| (&self.file).take(length - start).read_to_end(&mut end));
        read.map_err(LabError::file("read", &self.path))?;
        let found = match end[..] {
            [] | [b'\n'] => return Ok(()),
            [b'\r', b'\n'] => "its lines end with \\r\\n instead of \\n",
            [.., b'\n'] => return Ok(()),
            _ => "it was changed: no line ends there",
        };
        Err(LabError::Inconsistent {
            path: self.path.clone(),
            found: format!(
                "at byte {length}, up to which the checkpoint counts it, {found}; restore it, or \
                 start a new run"
            ),
        })
    }

    /// Truncates it to this length.
    pub(super) fn cut(&self, length: u64) -> Result<(), LabError> {
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
