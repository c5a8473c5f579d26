//! A file appears whole or not at all: written aside, synced, renamed, and the folder synced.
//!
//! That is done in two halves. Writing a [`Part`] ends in the system's cache and takes as long as a
//! copy in memory; several threads may write at once. [`Part::appear`] takes as long as the disk
//! does, and needs nothing but the part, so that other work can go on meanwhile.
//!
//! Tables are mostly zeros, above all after a short training, so pages of zeros are left out as
//! holes: a model takes less of the disk and of the time, and every program reads the zeros back.

mod shared;

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

pub(crate) use shared::Shared;

const PAGE: usize = 4096;

/// Writes a file; until that has succeeded, an older file of the name stays.
pub(crate) fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let part = Part::create(path)?;
    part.write_at(content, 0)?;
    part.set_len(content.len() as u64)?;
    part.appear()
}

/// A file in the making. Dropped before it has appeared, it leaves nothing behind.
pub struct Part {
    file: Shared,
    aside: Aside,
    path: PathBuf,
}

impl Part {
    /// Begins to write the file of this name.
    pub(crate) fn create(path: &Path) -> io::Result<Self> {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let aside = Aside(path.with_file_name(format!(".{name}.part")));
        Ok(Self {
            file: Shared::new(File::create(&aside.0)?),
            aside,
            path: path.to_owned(),
        })
    }

    /// Writes bytes to where nothing has been written yet, except for pages of zeros.
    pub(crate) fn write_at(&self, bytes: &[u8], at: u64) -> io::Result<()> {
        let mut start = 0;
        while start < bytes.len() {
            let empty = is_empty(page(bytes, at, start));
            let mut end = start;
            while end < bytes.len() && is_empty(page(bytes, at, end)) == empty {
                end += page(bytes, at, end).len();
            }
            if !empty {
                self.file.write_at(&bytes[start..end], at + start as u64)?;
            }
            start = end;
        }
        Ok(())
    }

    /// Sets the length, which holes at the end would otherwise be missing from.
    pub(crate) fn set_len(&self, length: u64) -> io::Result<()> {
        self.file.set_len(length)
    }

    /// Waits for the disk, and gives the file its name.
    pub(crate) fn appear(self) -> io::Result<()> {
        let Self { aside, path, file } = self;
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
            for (at, bytes) in &places {
                part.write_at(bytes, *at as u64).unwrap();
            }
            part.set_len(expected.len() as u64).unwrap();
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
