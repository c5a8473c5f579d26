//! The lines of a file of records, of a bounded length.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use crate::LabError;
use crate::disk::Digesting;
use crate::text::without_mark;

/// The longest line that is read: a million moves.
pub(crate) const LONGEST: u64 = 8 << 20;

/// The lines of a file, one at a time.
pub(crate) struct Lines {
    file: BufReader<Digesting<Box<dyn Read>>>,
    path: PathBuf,
    line: Vec<u8>,
    number: u64,
    /// Whether spaces at the end of a line belong to it.
    keeps_spaces: bool,
    /// The bytes read so far.
    pub(crate) bytes: u64,
}

pub(crate) enum Line<'a> {
    Whole(&'a [u8]),
    TooLong,
}

impl Lines {
    pub(crate) fn new(path: &Path, file: Box<dyn Read>) -> Self {
        Self {
            file: BufReader::with_capacity(1 << 20, Digesting::new(file)),
            path: path.to_owned(),
            line: Vec::new(),
            number: 0,
            keeps_spaces: false,
            bytes: 0,
        }
    }

    /// Keeps the spaces at the end of each line.
    pub(crate) fn keeping_spaces(self) -> Self {
        Self {
            keeps_spaces: true,
            ..self
        }
    }

    /// The SHA-256 digest of the file, once all of it is read.
    pub(crate) fn digest(&self) -> String {
        self.file.get_ref().digest()
    }

    /// The next line that is not empty, with its number. None at the end, and where `stop` leaves
    /// half a line.
    pub(crate) fn next(
        &mut self,
        stop: &dyn Fn() -> bool,
    ) -> Result<Option<(u64, Line<'_>)>, LabError> {
        loop {
            self.line.clear();
            let read = (&mut self.file)
                .take(LONGEST)
                .read_until(b'\n', &mut self.line);
            let read = read.map_err(LabError::file("read", &self.path))?;
            if read == 0 {
                return Ok(None);
            }
            self.number += 1;
            self.bytes += read as u64;
            if !self.line.ends_with(b"\n") && read as u64 == LONGEST {
                self.skip(stop)?;
                if stop() {
                    return Ok(None);
                }
                return Ok(Some((self.number, Line::TooLong)));
            }
            if !self.line.ends_with(b"\n") && stop() {
                return Ok(None);
            }
            if self.number == 1 {
                let mark = self.line.len() - without_mark(&self.line).len();
                self.line.drain(..mark);
            }
            let trimmed = self.line.trim_ascii_end().len();
            let breaks = self
                .line
                .iter()
                .rev()
                .take_while(|byte| b"\r\n".contains(byte));
            let length = match self.keeps_spaces {
                true => self.line.len() - breaks.count(),
                false => trimmed,
            };
            if trimmed > 0 {
                return Ok(Some((self.number, Line::Whole(&self.line[..length]))));
            }
        }
    }

    /// Skips the rest of a line.
    fn skip(&mut self, stop: &dyn Fn() -> bool) -> Result<(), LabError> {
        loop {
            let chunk = self
                .file
                .fill_buf()
                .map_err(LabError::file("read", &self.path))?;
            let end = chunk.iter().position(|&byte| byte == b'\n');
            let passed = end.map_or(chunk.len(), |end| end + 1);
            self.file.consume(passed);
            self.bytes += passed as u64;
            if end.is_some() || passed == 0 || stop() {
                return Ok(());
            }
        }
    }
}
