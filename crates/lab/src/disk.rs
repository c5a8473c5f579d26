//! A file appears whole or not at all: written aside, synced, renamed, and the folder synced.
//!
//! That is done in two halves. Writing a [`Part`] ends in the system's cache; several threads may write
//! at once. [`Part::appear`] takes as long as the disk does, and needs nothing but the part, so that
//! other work can go on meanwhile.
//!
//! The same bytes may be written again, with other content. That is a copy in memory and nothing else,
//! where the first time the system has to find room: 768 MiB took 0.12 s instead of 1.3 to 7 s, on a
//! virtual machine that has to ask its host for memory.
//!
//! Tables are mostly zeros, above all after a short training, so pages of zeros are left out as
//! holes: a model takes less of the disk and of the time, and every program reads the zeros back.

mod shared;

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

pub(crate) use shared::Shared;

const PAGE: usize = 4096;

/// Whether a file of this name may be written: there is none, or one that `replaceable` says can go. Devices and pipes are never
/// written over.
///
/// # Errors
/// When the name is that of a folder, or of nothing.
pub(crate) fn can_be_written(
    path: &Path,
    replaceable: impl FnOnce(&Path) -> bool,
) -> io::Result<bool> {
    if path.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    if path.file_name().is_none() {
        return Err(io::ErrorKind::InvalidFilename.into());
    }
    Ok(!path.exists() || path.is_file() && replaceable(path))
}

/// Writes a file; until that has succeeded, an older file of the name stays.
pub(crate) fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let part = Part::create(path)?;
    part.write_at(content, 0)?;
    part.appear()
}

/// Writes a file from its beginning to its end; it appears if all of that has succeeded.
pub(crate) fn replace_with<T>(
    path: &Path,
    write: impl FnOnce(Writer<'_>) -> io::Result<T>,
) -> io::Result<T> {
    let part = Part::create(path)?;
    let done = write(Writer { part: &part, at: 0 })?;
    part.appear()?;
    Ok(done)
}

/// Writes a file from its beginning.
pub(crate) struct Writer<'a> {
    part: &'a Part,
    at: u64,
}

impl io::Write for Writer<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.part.write_at(bytes, self.at)?;
        self.at += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A file in the making. Dropped before it has appeared, it leaves nothing behind.
pub struct Part {
    file: Shared,
    aside: Aside,
    path: PathBuf,
    /// The pages that are no holes, if there may be any: a page of zeros is left out only if it is one.
    full: OnceLock<Box<[AtomicBool]>>,
}

impl Part {
    /// Begins to write the file of this name, or the one that a link of this name leads to.
    pub(crate) fn create(path: &Path) -> io::Result<Self> {
        let path = &if path.is_symlink() {
            fs::canonicalize(path)?
        } else {
            path.to_owned()
        };
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let aside = Aside(path.with_file_name(format!(".{name}.part")));
        Ok(Self {
            file: Shared::new(File::create(&aside.0)?),
            aside,
            path: path.to_owned(),
            full: OnceLock::new(),
        })
    }

    /// Writes the beginning of a file of this length that may have holes.
    pub(crate) fn begin(&self, bytes: &[u8], length: u64) -> io::Result<()> {
        let pages = || (0..length.div_ceil(PAGE as u64)).map(|_| AtomicBool::new(false));
        self.full.get_or_init(|| pages().collect());
        self.write_at(bytes, 0)?;
        self.file.set_len(length)
    }

    /// Writes bytes, or writes them anew.
    pub(crate) fn write_at(&self, bytes: &[u8], at: u64) -> io::Result<()> {
        let mut start = 0;
        while start < bytes.len() {
            let hole = self.is_hole(page(bytes, at, start), at + start as u64);
            let mut end = start;
            while end < bytes.len() && self.is_hole(page(bytes, at, end), at + end as u64) == hole {
                end += page(bytes, at, end).len();
            }
            if !hole {
                self.file.write_at(&bytes[start..end], at + start as u64)?;
            }
            start = end;
        }
        Ok(())
    }

    /// Whether a page can be left out. One that cannot is full from now on.
    fn is_hole(&self, page: &[u8], at: u64) -> bool {
        let number = (at / PAGE as u64) as usize;
        let Some(full) = self.full.get().and_then(|full| full.get(number)) else {
            return false;
        };
        // Of two threads that share a page, each writes its own bytes whenever they are not zeros.
        let hole = !full.load(Ordering::Relaxed) && is_empty(page);
        if !hole {
            full.store(true, Ordering::Relaxed);
        }
        hole
    }

    /// Waits for the disk, and gives the file its name.
    pub(crate) fn appear(self) -> io::Result<()> {
        let Self {
            aside, path, file, ..
        } = self;
        file.into_file().sync_all()?;
        fs::rename(&aside.0, &path)?;
        sync_folder(path.parent())
    }
}

/// The name of a file in the making: `.model.safetensors.part`.
struct Aside(PathBuf);

impl Drop for Aside {
    fn drop(&mut self) {
        // Best effort: what went wrong says more than a failure to clean up. If nothing did, there is
        // no file of this name any more.
        let _ = fs::remove_file(&self.0);
    }
}

/// Makes a rename survive a power cut, where the system can sync folders.
pub(crate) fn sync_folder(folder: Option<&Path>) -> io::Result<()> {
    match folder {
        Some(folder) if cfg!(unix) && !folder.as_os_str().is_empty() => {
            File::open(folder)?.sync_all()
        }
        _ => Ok(()),
    }
}

/// The bytes from `start` to the end of the file's page, if `bytes` begin at `at`.
fn page(bytes: &[u8], at: u64, start: usize) -> &[u8] {
    let into = (at + start as u64) % PAGE as u64;
    &bytes[start..(start + PAGE - into as usize).min(bytes.len())]
}

fn is_empty(page: &[u8]) -> bool {
    // Without a way out of the loop it takes many bytes at a time.
    page.iter().fold(0, |any, byte| any | byte) == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_written_is_read(
            chunks in proptest::collection::vec((any::<bool>(), 1usize..20_000), 0..60),
            backwards: bool,
            draft in 0usize..300_000,
        ) {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("file");
            let content = |&(full, n): &(bool, usize)| vec![u8::from(full) * 7; n];
            let expected: Vec<u8> = chunks.iter().flat_map(content).collect();
            let mut places = vec![];
            for chunk in &chunks {
                let at = places.last().map_or(0, |(at, bytes): &(usize, Vec<u8>)| at + bytes.len());
                places.push((at, content(chunk)));
            }
            if backwards {
                places.reverse();
            }
            let part = Part::create(&path).unwrap();
            // First something else, some of it where zeros will be.
            part.begin(&[], draft as u64).unwrap();
            for at in (0..draft).step_by(9000) {
                part.write_at(&[9; 3000][..3000.min(draft - at)], at as u64).unwrap();
            }
            part.begin(&[], expected.len() as u64).unwrap();
            for (at, bytes) in &places {
                part.write_at(bytes, *at as u64).unwrap();
            }
            part.appear().unwrap();
            prop_assert_eq!(fs::read(&path).unwrap(), expected);
        }
    }

    /// A folder with an old file, and a new one written aside.
    fn half_written() -> (tempfile::TempDir, PathBuf, Part) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, "old").unwrap();
        let part = Part::create(&path).unwrap();
        part.write_at(&[1; 100_000], 0).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"old");
        (folder, path, part)
    }

    #[test]
    fn a_failure_leaves_the_old_file_and_no_rest() {
        let (folder, path, part) = half_written();
        drop(part);
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);

        // A failure of the second half, when there is nothing to rename.
        let (folder, path, part) = half_written();
        fs::remove_file(&part.aside.0).unwrap();
        assert!(part.appear().is_err());
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);

        // And when the name is taken by what cannot be replaced.
        let (folder, path, part) = half_written();
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        assert!(part.appear().is_err());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[cfg(unix)]
    #[test]
    fn links_are_followed_and_other_things_are_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let place = |name: &str| folder.path().join(name);
        fs::write(place("file"), "old").unwrap();
        std::os::unix::fs::symlink(place("file"), place("link")).unwrap();
        replace(&place("link"), b"new").unwrap();
        assert_eq!(fs::read(place("file")).unwrap(), b"new");
        assert!(place("link").is_symlink());

        let anything = |path: &Path| can_be_written(path, |_| true).unwrap();
        assert!(anything(&place("file")) && anything(&place("none")));
        assert!(!anything(Path::new("/dev/null")));
        assert!(!can_be_written(&place("file"), |_| false).unwrap());
        assert!(can_be_written(folder.path(), |_| true).is_err());
    }

    #[test]
    fn half_a_file_of_the_dead_is_in_nobodys_way() {
        let (folder, path, part) = half_written();
        // As a kill leaves it.
        std::mem::forget(part);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
        replace(&path, b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
