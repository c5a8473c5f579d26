//! Weights of TDL2048-Demo (`2048.bin`): tables of four-byte floats with names such as `6-tuple
//! pattern 012345`. docs/formats/demo.md specifies the bytes.

use std::io::{Read, Seek};

use serde::{Deserialize, Serialize};

use super::floats::Float;
use super::foreign::{TensorSpan, hex};
use super::scan::{FileFrame, Scan, ScanError};

/// The longest accepted name, far longer than any real one.
const LONGEST_NAME: u32 = 4096;

/// A weight file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Demo {
    /// Its tables, in order.
    pub tables: Vec<DemoTable>,
}

/// A table.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DemoTable {
    /// Its name in the file.
    #[serde(with = "hex")]
    pub name: Vec<u8>,
    /// The name of its tensor in our files.
    pub tensor: String,
    /// The number of weights.
    pub count: u64,
    /// The offset of its first weight in the file.
    #[serde(skip)]
    pub at: u64,
}

impl Demo {
    /// Scans a file of `size` bytes.
    ///
    /// # Errors
    /// When the file has another format, or is damaged.
    pub fn scan(file: &mut (impl Read + Seek), size: u64) -> Result<Self, ScanError> {
        let mut scan = Scan::new(file, size)?;
        let count = scan.u64("the number of tables")?;
        let count = scan.tables(8, count, 0)?;
        let mut tables = Vec::new();
        for number in 1..=count {
            scan.table = Some(number);
            tables.push(DemoTable::scan(&mut scan)?);
        }
        scan.end()?;
        Ok(Self { tables })
    }

    /// Lays out the file: returns everything but its numbers, and sets their offsets.
    pub fn lay_out(&mut self) -> FileFrame {
        let mut frame = FileFrame::default();
        frame.put(&(self.tables.len() as u64).to_le_bytes());
        for table in &mut self.tables {
            frame.put(&(table.name.len() as u32).to_le_bytes());
            frame.put(&table.name);
            frame.put(&table.count.to_le_bytes());
            table.at = frame.leave(table.count.saturating_mul(4));
        }
        frame
    }
}

impl DemoTable {
    /// A table for this pattern, with the name that TDL2048-Demo gives it.
    pub fn new(pattern: &str, count: u64) -> Self {
        let cells = pattern.len();
        Self {
            name: format!("{cells}-tuple pattern {pattern}").into_bytes(),
            tensor: pattern.to_owned(),
            count,
            at: 0,
        }
    }

    fn scan<F: Read + Seek>(scan: &mut Scan<'_, F>) -> Result<Self, ScanError> {
        let what = "the length of the name";
        let length = scan.u32(what)?;
        if length > LONGEST_NAME {
            return Err(scan.unexpected(4, what, length, "up to 4096 bytes"));
        }
        let name = scan.text(length as usize, "the name")?;
        let count = scan.u64("the number of weights")?;
        let count = scan.not_empty(count)?;
        let at = scan.numbers(4, count)?;
        Ok(Self {
            name,
            tensor: String::new(),
            count,
            at,
        })
    }

    pub(super) fn is_sound(&self) -> bool {
        self.count > 0 && self.name.len() <= LONGEST_NAME as usize
    }

    /// Its name as text.
    pub fn label(&self) -> String {
        self.name.escape_ascii().to_string()
    }

    /// The pattern in its name, if its length agrees.
    pub fn pattern(&self) -> Option<String> {
        let name = str::from_utf8(&self.name).ok()?;
        let (cells, pattern) = name.split_once("-tuple pattern ")?;
        let agrees = cells.parse() == Ok(pattern.len());
        let is_pattern = pattern.bytes().all(|digit| digit.is_ascii_hexdigit());
        (agrees && is_pattern).then(|| pattern.to_owned())
    }

    pub(super) fn spans(&self) -> Vec<TensorSpan> {
        let name = self.tensor.clone();
        vec![TensorSpan::new(name, Some(Float::F32), self.count, self.at)]
    }
}
