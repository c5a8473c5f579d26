//! Scanning the weight file of another program without reading its numbers: what it contains, and
//! where.
//!
//! Every length in a file is checked against the remaining bytes before anything is allocated, so a
//! small file that claims gigabytes costs nothing.

use std::io::{self, Read, Seek, SeekFrom};

use thiserror::Error;

/// What is wrong with a weight file, and where. Tables are counted from 1.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ScanError {
    /// The file ends too soon.
    #[error("it ends too soon: at byte {at}, {what}{} should have {needed} bytes, and {left} are left", of(*table))]
    Cut {
        /// Where the field starts.
        at: u64,
        /// The field.
        what: &'static str,
        /// The table it belongs to.
        table: Option<usize>,
        /// Its length.
        needed: u64,
        /// Bytes left in the file.
        left: u64,
    },
    /// A value that the format does not allow.
    #[error("at byte {at}, {what}{} is {found}; expected {expected}", of(*table))]
    Unexpected {
        /// The offset of the field.
        at: u64,
        /// The field.
        what: &'static str,
        /// The table it belongs to.
        table: Option<usize>,
        /// The value found.
        found: String,
        /// The values allowed.
        expected: &'static str,
    },
    /// Bytes after the last table.
    #[error(
        "the last table ends at byte {at}, but {bytes} more bytes follow; expected the end of the file"
    )]
    Rest {
        /// Where the file should end.
        at: u64,
        /// The number of further bytes.
        bytes: u64,
    },
    /// Reading failed.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl ScanError {
    /// The offset up to which the file is valid.
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

/// The largest number of tables in a file: a hundred times that of any known network.
pub(super) const MOST_TABLES: usize = 4096;

/// A sequential scan of a file.
pub(super) struct Scan<'a, F> {
    file: &'a mut F,
    size: u64,
    at: u64,
    /// The current table.
    pub(super) table: Option<usize>,
}

impl<'a, F: Read + Seek> Scan<'a, F> {
    /// Starts at the beginning of a file of this size.
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

    /// Fails if the file is too short for this.
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

    /// Skips numbers; returns their offset.
    pub(super) fn numbers(&mut self, width: u64, count: u64) -> Result<u64, ScanError> {
        let needed = width.saturating_mul(count);
        self.room(needed, "the numbers")?;
        let at = self.at;
        self.at += needed;
        self.file.seek(SeekFrom::Start(self.at))?;
        Ok(at)
    }

    /// An error about the last `back` bytes.
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

    /// Refuses an implausible number of tables, read from the last `back` bytes.
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

    /// Refuses further bytes.
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

/// A file to write: everything but its numbers, with offsets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileFrame {
    pieces: Vec<(u64, Vec<u8>)>,
    end: u64,
}

impl FileFrame {
    /// The pieces, each with its offset.
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

    /// Reserves space for numbers; returns its offset.
    pub(super) fn leave(&mut self, bytes: u64) -> u64 {
        let at = self.end;
        // The numbers come from an existing file, so the sum cannot overflow.
        self.end = self.end.saturating_add(bytes);
        at
    }
}
