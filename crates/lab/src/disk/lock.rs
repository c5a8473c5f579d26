//! Advisory locks between processes, which end with the process that holds them.
//!
//! On a file system without locks, users must avoid two processes that write one file.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{io, thread};

use super::{inside, temporary};

/// How often a held lock is tried again, and how long it takes to the next try: listing the runs tests
/// a lock for a moment.
const TRIES: usize = 20;
const PAUSE: Duration = Duration::from_millis(5);

/// Locks a file of this name, which is created, until the returned file is dropped; `None` while
/// another process holds the lock. The file stays.
pub(crate) fn try_lock(path: &Path) -> io::Result<Option<File>> {
    let file = open(path)?;
    let locked = again(|| Ok(is_locked(&file)))?;
    Ok(locked.then_some(file))
}

/// Locks a folder until the returned file is dropped; `None` while another process holds the lock.
pub(crate) fn try_lock_folder(folder: &Path) -> io::Result<Option<File>> {
    let file = File::open(folder)?;
    let locked = again(|| Ok(is_locked(&file)))?;
    Ok(locked.then_some(file))
}

/// Waits until no other process holds the lock of the folder of a file, for writers that read the
/// file before they replace it. The lock ends with the returned file.
pub(crate) fn lock_folder(path: &Path) -> Option<File> {
    // The folder of the file that a link leads to.
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let folder = path.parent()?;
    let is_named = !folder.as_os_str().is_empty();
    let folder = File::open(if is_named { folder } else { Path::new(".") }).ok()?;
    folder.lock().ok()?;
    Some(folder)
}

/// The lock of a file that is written when a long work ends, and replaced then: `.NAME.lock` beside
/// it, which is removed when the lock is dropped.
pub(crate) struct NameLock {
    _file: File,
    path: PathBuf,
}

impl NameLock {
    /// Locks the name of a file, or of the one that a link leads to; `None` while another process
    /// holds the lock.
    pub(crate) fn take(path: &Path) -> io::Result<Option<Self>> {
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let path = path.with_file_name(format!(".{}.lock", temporary::stem(&name)));
        let mut taken = None;
        again(|| {
            // The file may be removed by the process that held it before.
            let file = open(&path)?;
            let is_ours = is_locked(&file) && temporary::is_at(&file, &path);
            taken = is_ours.then_some(file);
            Ok(is_ours)
        })?;
        Ok(taken.map(|file| Self { _file: file, path }))
    }
}

impl Drop for NameLock {
    fn drop(&mut self) {
        // Best effort: the next process takes a lock that was left.
        let _ = fs::remove_file(&self.path);
    }
}

fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false);
    inside::open(path, &mut options)
}

fn is_locked(file: &File) -> bool {
    !matches!(file.try_lock(), Err(TryLockError::WouldBlock))
}

/// Tries until it succeeds, or the tries are over.
fn again(mut attempt: impl FnMut() -> io::Result<bool>) -> io::Result<bool> {
    for _ in 0..TRIES {
        if attempt()? {
            return Ok(true);
        }
        thread::sleep(PAUSE);
    }
    attempt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_locked_once_and_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("games.txt");
        let first = NameLock::take(&path).unwrap().unwrap();
        assert!(NameLock::take(&path).unwrap().is_none());
        let other = NameLock::take(&folder.path().join("other.txt")).unwrap();
        assert!(other.is_some());
        drop((first, other));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        // What a crash left is no lock.
        fs::write(folder.path().join(".games.txt.lock"), "").unwrap();
        assert!(NameLock::take(&path).unwrap().is_some());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[cfg(unix)]
    #[test]
    fn a_link_has_the_lock_of_its_file() {
        let folder = tempfile::tempdir().unwrap();
        let [file, link] = ["file", "link"].map(|name| folder.path().join(name));
        fs::write(&file, "").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        let _held = NameLock::take(&link).unwrap().unwrap();
        assert!(NameLock::take(&file).unwrap().is_none());
    }

    #[test]
    fn a_lock_ends_with_its_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        for _ in 0..2 {
            let _held = try_lock(&path).unwrap().unwrap();
            assert!(try_lock(&path).unwrap().is_none());
        }
        assert!(path.exists());
        #[cfg(unix)]
        for _ in 0..2 {
            let _held = try_lock_folder(folder.path()).unwrap().unwrap();
            assert!(try_lock_folder(folder.path()).unwrap().is_none());
        }
    }
}
