//! A file appears whole or not at all: written aside, synced, renamed, and the folder synced.
//!
//! Tables are mostly zeros, above all after a short training, so pages of zeros are left out as
//! holes: a model takes less of the disk and of the time, and every program reads the zeros back.

use std::fs::{self, File};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::Path;

const PAGE: usize = 4096;
const BUFFER: usize = 64 * PAGE;

/// Writes a file with `content`; until that has succeeded, an older file of the name stays.
pub(crate) fn replace<E: From<io::Error>>(
    path: &Path,
    content: impl FnOnce(&mut Sparse) -> Result<(), E>,
) -> Result<(), E> {
    let aside = aside(path);
    let written = write_aside(&aside, content).and_then(|()| Ok(fs::rename(&aside, path)?));
    if written.is_err() {
        // Best effort: the error that led here says more than a failure to clean up.
        let _ = fs::remove_file(&aside);
        return written;
    }
    sync_folder(path.parent())?;
    Ok(())
}

/// Where a file is written before it takes its name: `.model.safetensors.part`.
fn aside(path: &Path) -> std::path::PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.part"))
}

fn write_aside<E: From<io::Error>>(
    aside: &Path,
    content: impl FnOnce(&mut Sparse) -> Result<(), E>,
) -> Result<(), E> {
    let mut out = Sparse::new(File::create(aside)?);
    content(&mut out)?;
    out.finish()?.sync_all()?;
    Ok(())
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

/// A writer that seeks over whole pages of zeros.
pub(crate) struct Sparse {
    file: File,
    buffer: Vec<u8>,
    length: u64,
}

impl Sparse {
    fn new(file: File) -> Self {
        Self {
            file,
            buffer: Vec::with_capacity(BUFFER),
            length: 0,
        }
    }

    fn drain(&mut self) -> io::Result<()> {
        let buffer = std::mem::take(&mut self.buffer);
        let mut start = 0;
        while start < buffer.len() {
            let empty = is_empty(page(&buffer, start));
            let mut end = start;
            while end < buffer.len() && is_empty(page(&buffer, end)) == empty {
                end = (end + PAGE).min(buffer.len());
            }
            if empty {
                self.file.seek(SeekFrom::Current((end - start) as i64))?;
            } else {
                self.file.write_all(&buffer[start..end])?;
            }
            start = end;
        }
        self.length += buffer.len() as u64;
        self.buffer = buffer;
        self.buffer.clear();
        Ok(())
    }

    fn finish(mut self) -> io::Result<File> {
        self.drain()?;
        self.file.set_len(self.length)?;
        Ok(self.file)
    }
}

fn page(buffer: &[u8], start: usize) -> &[u8] {
    &buffer[start..(start + PAGE).min(buffer.len())]
}

fn is_empty(page: &[u8]) -> bool {
    page.iter().all(|&byte| byte == 0)
}

impl Write for Sparse {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = bytes.len().min(BUFFER - self.buffer.len());
        self.buffer.extend_from_slice(&bytes[..taken]);
        if self.buffer.len() == BUFFER {
            self.drain()?;
        }
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_written_is_read(chunks in proptest::collection::vec((any::<bool>(), 1usize..20_000), 0..60)) {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("file");
            let expected: Vec<u8> = chunks.iter().flat_map(|&(full, n)| vec![u8::from(full) * 7; n]).collect();
            replace::<io::Error>(&path, |out| {
                chunks.iter().try_for_each(|&(full, n)| out.write_all(&vec![u8::from(full) * 7; n]))
            }).unwrap();
            prop_assert_eq!(fs::read(&path).unwrap(), expected);
        }
    }

    #[test]
    fn a_failure_leaves_the_old_file_and_no_rest() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, "old").unwrap();
        let failed = replace(&path, |out| {
            out.write_all(&[1; 100_000])?;
            Err(io::Error::other("no"))
        });
        assert!(failed.is_err());
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
