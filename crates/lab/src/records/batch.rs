//! Lines of records that are judged at once, on several threads.

use super::lines::{Line, Lines};
use crate::LabError;

/// The bytes after which a batch is complete.
const BYTES: usize = 1 << 20;

/// Some lines of a file.
#[derive(Default)]
pub(crate) struct Batch {
    pub(crate) lines: Vec<Numbered>,
}

/// A line with its number.
#[derive(Clone)]
pub(crate) struct Numbered {
    pub(crate) number: u64,
    /// `None` if it is too long.
    pub(crate) text: Option<Vec<u8>>,
}

impl Batch {
    /// Reads the next lines; none at the end of the file.
    pub(crate) fn read(lines: &mut Lines, stop: &dyn Fn() -> bool) -> Result<Self, LabError> {
        let mut batch = Self::default();
        let mut bytes = 0;
        while bytes < BYTES && !stop() {
            let Some((number, line)) = lines.next(stop)? else {
                break;
            };
            let text = match line {
                Line::TooLong => None,
                Line::Whole(text) => Some(text.to_vec()),
            };
            bytes += 64 + text.as_ref().map_or(0, Vec::len);
            batch.lines.push(Numbered { number, text });
        }
        Ok(batch)
    }

    /// The first lines that are not too long.
    pub(crate) fn first(&self, count: usize) -> Vec<&[u8]> {
        let texts = self.lines.iter().filter_map(|line| line.text.as_deref());
        texts.take(count).collect()
    }
}
