//! Weights of TDL2048-Demo (`2048.bin`): tables with names such as `6-tuple pattern 012345`, numbers of four
//! bytes. The bytes are in docs/formats/demo.md.

use std::io::{Read, Seek};

use serde::{Deserialize, Serialize};

use super::floats::Float;
use super::foreign::{Run, hex};
use super::scan::{Frame, Scan, ScanError};

/// The longest name that is read: many times what one needs.
const LONGEST_NAME: u32 = 4096;

/// A file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Demo {
    /// Its tables, in order.
    pub tables: Vec<Table>,
}

/// A table.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Table {
    /// Its name as the file has it.
    #[serde(with = "hex")]
    pub name: Vec<u8>,
    /// What a file of ours calls it.
    pub tensor: String,
    /// How many weights it has.
    pub count: u64,
    /// The place of the first byte of them.
    #[serde(skip)]
    pub at: u64,
}

impl Demo {
    /// Goes through a file of `size` bytes.
    ///
    /// # Errors
    /// When it is not such a file, or is damaged.
    pub fn scan(file: &mut (impl Read + Seek), size: u64) -> Result<Self, ScanError> {
        let mut scan = Scan::new(file, size)?;
        let count = scan.u64("the number of tables")?;
        let count = scan.tables(8, count, 0)?;
        let mut tables = Vec::new();
        for number in 1..=count {
            scan.table = Some(number);
            tables.push(Table::scan(&mut scan)?);
        }
        scan.end()?;
        Ok(Self { tables })
    }

    /// Everything of the file but its numbers, for which it finds the places.
    pub fn lay_out(&mut self) -> Frame {
        let mut frame = Frame::default();
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

impl Table {
    /// A table for this pattern, as TDL2048-Demo names it.
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

    /// The pattern that its name says, if its length agrees.
    pub fn pattern(&self) -> Option<String> {
        let name = str::from_utf8(&self.name).ok()?;
        let (cells, pattern) = name.split_once("-tuple pattern ")?;
        let agrees = cells.parse() == Ok(pattern.len());
        let is_pattern = pattern.bytes().all(|digit| digit.is_ascii_hexdigit());
        (agrees && is_pattern).then(|| pattern.to_owned())
    }

    pub(super) fn runs(&self) -> Vec<Run> {
        let name = self.tensor.clone();
        vec![Run::new(name, Some(Float::F32), self.count, self.at)]
    }
}
