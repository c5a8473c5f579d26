//! A file that several threads read or write at once, each at its own offsets.
//!
//! Unix has positional reads and writes. Elsewhere a file has one cursor, and a lock serialises the
//! threads.

use std::fs::File;
use std::io;

#[cfg(unix)]
pub(crate) struct SharedFile(File);

#[cfg(unix)]
impl SharedFile {
    pub(crate) fn new(file: File) -> Self {
        Self(file)
    }

    pub(crate) fn into_file(self) -> File {
        self.0
    }

    pub(crate) fn set_len(&self, length: u64) -> io::Result<()> {
        self.0.set_len(length)
    }

    pub(crate) fn write_at(&self, bytes: &[u8], at: u64) -> io::Result<()> {
        std::os::unix::fs::FileExt::write_all_at(&self.0, bytes, at)
    }

    pub(crate) fn read_at(&self, bytes: &mut [u8], at: u64) -> io::Result<()> {
        std::os::unix::fs::FileExt::read_exact_at(&self.0, bytes, at)
    }
}

#[cfg(not(unix))]
pub(crate) struct SharedFile(std::sync::Mutex<File>);

#[cfg(not(unix))]
impl SharedFile {
    pub(crate) fn new(file: File) -> Self {
        Self(std::sync::Mutex::new(file))
    }

    pub(crate) fn into_file(self) -> File {
        let file = self.0.into_inner();
        file.unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    pub(crate) fn set_len(&self, length: u64) -> io::Result<()> {
        self.turn().set_len(length)
    }

    pub(crate) fn write_at(&self, bytes: &[u8], at: u64) -> io::Result<()> {
        let mut file = self.turn();
        io::Seek::seek(&mut *file, io::SeekFrom::Start(at))?;
        io::Write::write_all(&mut *file, bytes)
    }

    pub(crate) fn read_at(&self, bytes: &mut [u8], at: u64) -> io::Result<()> {
        let mut file = self.turn();
        io::Seek::seek(&mut *file, io::SeekFrom::Start(at))?;
        io::Read::read_exact(&mut *file, bytes)
    }

    fn turn(&self) -> std::sync::MutexGuard<'_, File> {
        let turn = self.0.lock();
        turn.unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}
