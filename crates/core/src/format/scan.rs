//! Going through the weight file of another program without its numbers: what is there, and where.
//!
//! Every length in a file is compared with what the file still has before anything is made of it, so a
//! file of a few bytes that claims to hold gigabytes costs nothing.

use std::io::{self, Read, Seek, SeekFrom};

use thiserror::Error;

/// What is wrong with a weight file, and where. Tables are counted from 1.
#[derive(Debug, Error)]
pub enum ScanError {
    /// The file ends too soon.
    #[error("it ends too soon: at byte {at}, {what}{} should have {needed} bytes, and {left} are left", of(*table))]
    Cut {
        /// Where it begins.
        at: u64,
        /// What should be there.
        what: &'static str,
        /// The table it belongs to.
        table: Option<usize>,
        /// Its length.
        needed: u64,
        /// Bytes up to the end of the file.
        left: u64,
    },
    /// Something that the format does not have.
    #[error("at byte {at}, {what}{} is {found}; expected {expected}", of(*table))]
    Unexpected {
        /// Where it is.
        at: u64,
        /// What it should be.
        what: &'static str,
        /// The table it belongs to.
        table: Option<usize>,
        /// What is there.
        found: String,
        /// What would do.
        expected: &'static str,
    },
    /// More behind the end.
    #[error(
        "the last table ends at byte {at}, and {bytes} more bytes follow; expected the end of the file"
    )]
    Rest {
        /// Where the end should be.
        at: u64,
        /// What follows.
        bytes: u64,
    },
    /// Reading failed.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl ScanError {
    /// How far into the file everything was right.
    pub(super) fn at(&self) -> u64 {
        match self {
            Self::Cut { at, .. } | Self::Unexpected { at, .. } | Self::Rest { at, .. } => *at,
            Self::Io(_) => 0,
        }
    }
}

fn of(table: Option<usize>) -> String {
    table.map_or_else(String::new, |table| format!(" of table {table}"))
}

/// The most tables of a file: a hundred times what anybody was seen to use.
pub(super) const MOST_TABLES: usize = 4096;

/// A file that is gone through from its first byte to its last.
pub(super) struct Scan<'a, F> {
    file: &'a mut F,
    size: u64,
    at: u64,
    /// The table that is being read.
    pub(super) table: Option<usize>,
}

impl<'a, F: Read + Seek> Scan<'a, F> {
    /// From the beginning of a file of this size.
    pub(super) fn new(file: &'a mut F, size: u64) -> io::Result<Self> {
        file.seek(SeekFrom::Start(0))?;
        Ok(Self {
            file,
            size,
            at: 0,
            table: None,
        })
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.at >= self.size
    }

    /// Refuses what the file cannot hold.
    fn room(&self, needed: u64, what: &'static str) -> Result<(), ScanError> {
        let left = self.size - self.at;
        if needed <= left {
            return Ok(());
        }
        Err(ScanError::Cut {
            at: self.at,
            what,
            table: self.table,
            needed,
            left,
        })
    }

    pub(super) fn take<const N: usize>(
        &mut self,
        what: &'static str,
    ) -> Result<[u8; N], ScanError> {
        self.room(N as u64, what)?;
        let mut bytes = [0; N];
        self.file.read_exact(&mut bytes)?;
        self.at += N as u64;
        Ok(bytes)
    }

    pub(super) fn text(&mut self, length: usize, what: &'static str) -> Result<Vec<u8>, ScanError> {
        self.room(length as u64, what)?;
        let mut bytes = vec![0; length];
        self.file.read_exact(&mut bytes)?;
        self.at += length as u64;
        Ok(bytes)
    }

    pub(super) fn u8(&mut self, what: &'static str) -> Result<u8, ScanError> {
        Ok(self.take::<1>(what)?[0])
    }

    pub(super) fn u16(&mut self, what: &'static str) -> Result<u16, ScanError> {
        self.take(what).map(u16::from_le_bytes)
    }

    pub(super) fn u32(&mut self, what: &'static str) -> Result<u32, ScanError> {
        self.take(what).map(u32::from_le_bytes)
    }

    pub(super) fn u64(&mut self, what: &'static str) -> Result<u64, ScanError> {
        self.take(what).map(u64::from_le_bytes)
    }

    /// Goes past numbers; returns where they begin.
    pub(super) fn numbers(&mut self, width: u64, count: u64) -> Result<u64, ScanError> {
        let needed = width.saturating_mul(count);
        self.room(needed, "the numbers")?;
        let at = self.at;
        self.at += needed;
        self.file.seek(SeekFrom::Start(self.at))?;
        Ok(at)
    }

    /// An error about the last so many bytes.
    pub(super) fn unexpected(
        &self,
        back: u64,
        what: &'static str,
        found: impl ToString,
        expected: &'static str,
    ) -> ScanError {
        ScanError::Unexpected {
            at: self.at - back,
            what,
            table: self.table,
            found: found.to_string(),
            expected,
        }
    }

    /// Refuses a number of tables, read from the last so many bytes, that no network has.
    pub(super) fn tables(&self, back: u64, found: u64, before: usize) -> Result<usize, ScanError> {
        let most = (MOST_TABLES - before.min(MOST_TABLES)) as u64;
        if (1..=most).contains(&found) {
            return Ok(found as usize);
        }
        Err(self.unexpected(back, "the number of tables", found, "1 to 4096 in a file"))
    }

    /// Refuses a table without numbers, whose count was read last.
    pub(super) fn not_empty(&self, count: u64) -> Result<u64, ScanError> {
        if count > 0 {
            return Ok(count);
        }
        Err(self.unexpected(8, "the number of weights", 0, "1 or more"))
    }

    /// Refuses anything more.
    pub(super) fn end(self) -> Result<(), ScanError> {
        if self.is_at_end() {
            return Ok(());
        }
        Err(ScanError::Rest {
            at: self.at,
            bytes: self.size - self.at,
        })
    }
}

/// A file to be written: everything but the numbers, and where each piece goes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frame {
    pieces: Vec<(u64, Vec<u8>)>,
    end: u64,
}

impl Frame {
    /// The pieces, each with the place of its first byte.
    pub fn pieces(&self) -> &[(u64, Vec<u8>)] {
        &self.pieces
    }

    /// The length of the file.
    pub fn end(&self) -> u64 {
        self.end
    }

    pub(super) fn put(&mut self, bytes: &[u8]) {
        match self.pieces.last_mut() {
            Some((at, piece)) if *at + piece.len() as u64 == self.end => {
                piece.extend_from_slice(bytes);
            }
            _ => self.pieces.push((self.end, bytes.to_vec())),
        }
        self.end += bytes.len() as u64;
    }

    /// Leaves room for numbers; returns where it begins.
    pub(super) fn leave(&mut self, bytes: u64) -> u64 {
        let at = self.end;
        // Of numbers that are in a file already, so they are no more than a file can hold.
        self.end = self.end.saturating_add(bytes);
        at
    }
}
