//! Temporary files: `.NAME.<16 hexadecimal digits>.part`, beside the file that they will become.
//!
//! Each has a name of its own and is created exclusively, so two processes that write one file
//! never share a temporary file, and no link of that name is followed. The writer holds an advisory
//! lock on it, which ends with the process. A temporary file without a lock is therefore left over
//! from a crash, and the next writer of the same file removes it.
//!
//! Between creating and locking, another process may take the file for a leftover: it locks it
//! first and removes it. The writer then fails to lock it, or finds it gone, and tries another
//! name.
//!
//! On a file system without locks, leftovers stay.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::path::{Path, PathBuf};

use super::inside;

const SUFFIX: &str = ".part";
/// Digits of the part of a name that is its own.
const DIGITS: usize = 16;
/// The longest beginning of the final name that the temporary name has: most file systems allow 255
/// bytes in all.
const LONGEST: usize = 200;
/// How often another name is tried.
const TRIES: usize = 100;

/// The path of a temporary file; dropping it removes the file.
pub(super) struct TemporaryPath(pub(super) PathBuf);

impl Drop for TemporaryPath {
    fn drop(&mut self) {
        // Best effort: the original error says more than a failure to clean up. After a commit,
        // there is no file of this name.
        let _ = fs::remove_file(&self.0);
    }
}

/// Creates a locked temporary file for the file of this path, and removes what crashes have left of
/// earlier ones.
pub(super) fn create(path: &Path) -> io::Result<(File, TemporaryPath)> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let stem = stem(&name);
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    // Best effort: a folder that may be written but not listed has no visible leftovers.
    let _ = remove_leftovers(folder, |found| found == stem);
    for _ in 0..TRIES {
        let number = RandomState::new().build_hasher().finish();
        let path = path.with_file_name(format!(".{stem}.{number:0DIGITS$x}{SUFFIX}"));
        let mut options = OpenOptions::new();
        let file = match options.write(true).create_new(true).open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
            Err(error) => return Err(error),
        };
        let temporary = TemporaryPath(path);
        if !matches!(file.try_lock(), Err(TryLockError::WouldBlock)) && is_at(&file, &temporary.0) {
            return Ok((file, temporary));
        }
    }
    Err(io::Error::other(
        "other processes remove its temporary file",
    ))
}

/// Removes temporary files that no process holds, if `of` accepts the name of the file that they
/// would have become.
pub(crate) fn remove_leftovers(folder: &Path, of: impl Fn(&str) -> bool) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if !final_name(&name).is_some_and(&of) {
            continue;
        }
        let Ok(file) = inside::open(&path, OpenOptions::new().read(true)) else {
            continue;
        };
        if file.try_lock().is_ok() && is_at(&file, &path) {
            let _ = fs::remove_file(&path);
        }
    }
    Ok(())
}

/// The name of the file that a temporary file of this name would have become, or its beginning.
/// Versions up to 0.1 had no digits in the name.
fn final_name(temporary: &str) -> Option<&str> {
    let name = temporary.strip_prefix('.')?.strip_suffix(SUFFIX)?;
    let is_number = |digits: &str| {
        digits.len() == DIGITS && digits.bytes().all(|digit| digit.is_ascii_hexdigit())
    };
    match name.rsplit_once('.') {
        Some((name, digits)) if is_number(digits) => Some(name),
        _ => Some(name),
    }
}

/// The part of a final name that the temporary name has: all of it unless it is very long.
pub(super) fn stem(name: &str) -> &str {
    &name[..name.floor_char_boundary(LONGEST)]
}

/// Whether an open file still has this path.
pub(super) fn is_at(file: &File, path: &Path) -> bool {
    let (Ok(open), Ok(named)) = (file.metadata(), fs::symlink_metadata(path)) else {
        return false;
    };
    is_same(&open, &named)
}

#[cfg(unix)]
fn is_same(a: &fs::Metadata, b: &fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    (a.dev(), a.ino()) == (b.dev(), b.ino())
}

/// Where a file that is open cannot be removed, the path is enough.
#[cfg(not(unix))]
fn is_same(_: &fs::Metadata, _: &fs::Metadata) -> bool {
    true
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::super::{AtomicFile, replace};
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let name = |entry: io::Result<fs::DirEntry>| entry.unwrap().file_name();
        let mut names: Vec<_> = entries
            .map(|entry| name(entry).into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn two_writers_of_one_name_leave_one_of_both() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let [first, second] = [(); 2].map(|()| AtomicFile::create(&path).unwrap());
        first.write_at(&[1; 20_000], 0).unwrap();
        second.write_at(&[2; 10_000], 0).unwrap();
        first.write_at(&[1; 20_000], 20_000).unwrap();
        first.commit().unwrap();
        assert_eq!(fs::read(&path).unwrap(), [1; 40_000]);
        second.commit().unwrap();
        assert_eq!(fs::read(&path).unwrap(), [2; 10_000]);
        assert_eq!(names(folder.path()), ["file"]);
    }

    /// Creating, removing leftovers and committing at the same moments: nobody fails.
    #[test]
    fn many_writers_of_one_name_all_succeed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        thread::scope(|scope| {
            for writer in 1..=8 {
                let path = &path;
                scope.spawn(move || {
                    for _ in 0..40 {
                        replace(path, &[writer; 5000]).unwrap();
                    }
                });
            }
        });
        let found = fs::read(&path).unwrap();
        assert_eq!(found, [found[0]; 5000]);
        assert_eq!(names(folder.path()), ["file"]);
    }

    #[test]
    fn leftovers_of_the_same_name_are_removed_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let place = |name: &str| folder.path().join(name);
        let others = [".file.other.part", ".other.0123456789abcdef.part", "x.part"];
        for name in others {
            fs::write(place(name), "mine").unwrap();
        }
        for name in [".file.part", ".file.0123456789abcdef.part"] {
            fs::write(place(name), "half").unwrap();
        }
        let held = AtomicFile::create(&place("file")).unwrap();
        replace(&place("file"), b"whole").unwrap();
        let mut expected = others.map(str::to_owned).to_vec();
        expected.push("file".to_owned());
        let temporary = held.temporary.0.file_name().unwrap();
        expected.push(temporary.to_str().unwrap().to_owned());
        expected.sort();
        assert_eq!(names(folder.path()), expected);
        held.commit().unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn links_in_place_of_a_temporary_file_are_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let place = |name: &str| folder.path().join(name);
        fs::write(place("victim"), "mine").unwrap();
        std::os::unix::fs::symlink(place("victim"), place(".file.part")).unwrap();
        replace(&place("file"), b"new").unwrap();
        assert_eq!(fs::read(place("victim")).unwrap(), b"mine");
        assert_eq!(fs::read(place("file")).unwrap(), b"new");
    }

    #[test]
    fn the_longest_names_can_be_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ä".repeat(120) + "123456789012345");
        replace(&path, b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
    }
}
