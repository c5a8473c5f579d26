//! What guards a run folder: it is empty before a run begins, one process uses it at a time, and
//! nothing in it leads out of it.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use super::{FILES, LOCK};
use crate::LabError;
use crate::disk::{inside, remove_leftovers, try_lock};

/// The folders of a run.
const FOLDERS: [&str; 2] = ["plots", "tensorboard"];

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
    let locked = try_lock(&path).map_err(LabError::file("write", &path))?;
    locked.ok_or_else(|| LabError::Locked(folder.to_owned()))
}
