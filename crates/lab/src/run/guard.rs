//! What guards a run folder: it is empty before a run begins, one process uses it at a time, and
//! nothing in it leads out of it.

use std::fs::{self, File, OpenOptions};
use std::path::Path;
use std::time::Duration;
use std::{io, thread};

use super::{FILES, LOCK};
use crate::LabError;
use crate::disk::{inside, remove_leftovers};

/// The folders of a run.
const FOLDERS: [&str; 2] = ["plots", "tensorboard"];
/// How often a held lock is tried again, and how long it takes to the next try.
const LOCK_TRIES: usize = 20;
const LOCK_PAUSE: Duration = Duration::from_millis(5);

/// Refuses a folder that has a run, or any other visible file.
pub(super) fn free(folder: &Path) -> Result<(), LabError> {
    if FILES.iter().any(|name| folder.join(name).exists()) {
        return Err(LabError::RunExists(folder.to_owned()));
    }
    let wrong = LabError::file("read", folder);
    let entries = fs::read_dir(folder).and_then(Iterator::collect::<io::Result<Vec<_>>>);
    let names = entries
        .map_err(wrong)?
        .into_iter()
        .map(|entry| entry.file_name());
    let mut names = names.map(|name| name.to_string_lossy().into_owned());
    // What a crash left of another try is hidden: the lock, and temporary files.
    match names.find(|name| !name.starts_with('.')) {
        Some(found) => Err(LabError::NotEmpty {
            folder: folder.to_owned(),
            found,
        }),
        None => Ok(()),
    }
}

/// Refuses a folder in which a file of the run is a link, a FIFO or a device, and removes temporary
/// files that a crash has left. For the process that holds the lock.
pub(super) fn check_and_clean(folder: &Path) -> Result<(), LabError> {
    for name in FILES {
        let path = folder.join(name);
        inside::check(&path).map_err(LabError::file("use", &path))?;
    }
    for name in FOLDERS {
        let path = folder.join(name);
        inside::check_folder(&path).map_err(LabError::file("use", &path))?;
    }
    let _ = remove_leftovers(folder, |_| true);
    let _ = remove_leftovers(&folder.join(FOLDERS[0]), |_| true);
    Ok(())
}

/// Locks a folder for this process, until the file is dropped.
pub(crate) fn lock(folder: &Path) -> Result<File, LabError> {
    let path = folder.join(LOCK);
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false);
    let file = inside::open(&path, &mut options).map_err(LabError::file("write", &path))?;
    let mut tries = 0;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            // Listing the runs tests the lock for a moment.
            Err(fs::TryLockError::WouldBlock) if tries < LOCK_TRIES => {
                tries += 1;
                thread::sleep(LOCK_PAUSE);
            }
            Err(fs::TryLockError::WouldBlock) => return Err(LabError::Locked(folder.to_owned())),
            // On a file system without locks, users must avoid two processes in one folder.
            Err(fs::TryLockError::Error(_)) => return Ok(file),
        }
    }
}
