//! A log: a text file that only grows, and is truncated when a run resumes from a checkpoint.
//!
//! A full disk does not end a run at the next row: rows wait in memory until there is space. A
//! checkpoint counts the bytes of its logs, so it is written only if no row waits.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::LabError;
use crate::disk::inside;

/// The most bytes that wait for space on the disk.
const MOST_WAITING: usize = 16 << 20;

pub(super) struct Log {
    file: File,
    path: PathBuf,
    /// What could not be written yet.
    waiting: Vec<u8>,
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
        Self::new(file, path.to_owned()).check_end(length)
    }

    fn new(file: File, path: PathBuf) -> Self {
        Self {
            file,
            path,
            waiting: Vec::new(),
        }
    }

    /// Opens or creates it.
    pub(super) fn open(path: PathBuf) -> Result<Self, LabError> {
        let mut options = OpenOptions::new();
        let file = inside::open(&path, options.read(true).create(true).append(true));
        match file {
            Ok(file) => Ok(Self::new(file, path)),
            Err(error) => Err(LabError::file("write", &path)(error)),
        }
    }

    /// A second handle, for another thread.
    pub(super) fn twin(&self) -> Result<Self, LabError> {
        let file = self.written(self.file.try_clone())?;
        Ok(Self::new(file, self.path.clone()))
    }

    /// Adds text to its end. If the disk is full, the text waits.
    pub(super) fn append(&mut self, text: &str) -> Result<(), LabError> {
        self.waiting.extend_from_slice(text.as_bytes());
        match self.write_waiting() {
            Err(error) if is_full(&error) && self.waiting.len() <= MOST_WAITING => Ok(()),
            written => self.written(written),
        }
    }

    /// Writes what waits.
    pub(super) fn flush(&mut self) -> Result<(), LabError> {
        let written = self.write_waiting();
        self.written(written)
    }

    /// Keeps what is not written.
    fn write_waiting(&mut self) -> io::Result<()> {
        let mut done = 0;
        let written = loop {
            match self.file.write(&self.waiting[done..]) {
                _ if done == self.waiting.len() => break Ok(()),
                Ok(0) => break Err(io::ErrorKind::WriteZero.into()),
                Ok(more) => done += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => break Err(error),
            }
        };
        self.waiting.drain(..done);
        written
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
        let carriage_returns =
            end.ends_with(b"\r\n") || (length > 0 && self.has_carriage_returns());
        let found = match end[..] {
            _ if carriage_returns => "its lines end with \\r\\n instead of \\n",
            [] | [.., b'\n'] => return Ok(()),
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

    /// Whether its first line ends as in files of Windows: an editor has changed it.
    fn has_carriage_returns(&self) -> bool {
        let mut start = Vec::new();
        let read = (&self.file).seek(SeekFrom::Start(0));
        let read = read.and_then(|_| (&self.file).take(1 << 16).read_to_end(&mut start));
        let end = start.iter().position(|&byte| byte == b'\n');
        read.is_ok() && end.is_some_and(|end| end > 0 && start[end - 1] == b'\r')
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

fn is_full(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
    )
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    /// Rows wait while the disk is full, and are written once there is space.
    #[test]
    fn rows_wait_for_space() {
        let folder = tempfile::tempdir().unwrap();
        let mut log = Log::open(folder.path().join("log")).unwrap();
        log.append("one\n").unwrap();
        let full = OpenOptions::new().append(true).open("/dev/full").unwrap();
        let file = std::mem::replace(&mut log.file, full);
        log.append("two\n").unwrap();
        log.append("three\n").unwrap();
        assert!(log.flush().is_err());
        let many = "x".repeat(MOST_WAITING);
        assert!(log.append(&many).is_err(), "not without an end");
        log.waiting.truncate("two\nthree\n".len());
        log.file = file;
        log.append("four\n").unwrap();
        log.flush().unwrap();
        let text = std::fs::read_to_string(&log.path).unwrap();
        assert_eq!(text, "one\ntwo\nthree\nfour\n");
    }

    #[test]
    fn carriage_returns_are_told_wherever_the_log_ends() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        std::fs::write(&path, "one\r\ntwo\r\n").unwrap();
        for length in 1..=10 {
            let error = Log::verify(&path, length).unwrap_err().to_string();
            assert!(error.contains("end with \\r\\n"), "{length}: {error}");
        }
    }
}
