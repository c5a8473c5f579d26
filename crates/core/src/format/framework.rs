//! Weights of the 2048-Framework (`weights.bin`): tables of numbers of four bytes, without names. The bytes are
//! in docs/formats/framework.md.

use std::io::{Read, Seek};

use serde::{Deserialize, Serialize};

use super::floats::Float;
use super::foreign::Run;
use super::scan::{Frame, Scan, ScanError};

/// A file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Framework {
    /// Whether the number of tables takes eight bytes, as in the course of 2017, and not four.
    pub wide: bool,
    /// Its tables, in order.
    pub tables: Vec<Table>,
}

/// A table.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Table {
    /// What a file of ours calls it.
    pub tensor: String,
    /// How many weights it has.
    pub count: u64,
    /// The place of the first byte of them.
    #[serde(skip)]
    pub at: u64,
}

impl Framework {
    /// Goes through a file of `size` bytes.
    ///
    /// # Errors
    /// When it is not such a file, or is damaged.
    pub fn scan(file: &mut (impl Read + Seek), size: u64) -> Result<Self, ScanError> {
        // Only one of the two can be: a table cannot have as many weights as the other way of reading says.
        Self::scan_tables(file, size, false).or_else(|narrow| {
            Self::scan_tables(file, size, true).map_err(|wide| {
                if wide.at() > narrow.at() {
                    wide
                } else {
                    narrow
                }
            })
        })
    }

    fn scan_tables(
        file: &mut (impl Read + Seek),
        size: u64,
        wide: bool,
    ) -> Result<Self, ScanError> {
        let mut scan = Scan::new(file, size)?;
        let what = "the number of tables";
        let (back, count) = match wide {
            false => (4, scan.u32(what)?.into()),
            true => (8, scan.u64(what)?),
        };
        let count = scan.tables(back, count, 0)?;
        let mut tables = Vec::new();
        for number in 1..=count {
            scan.table = Some(number);
            let count = scan.u64("the number of weights")?;
            let count = scan.not_empty(count)?;
            tables.push(Table {
                tensor: String::new(),
                count,
                at: scan.numbers(4, count)?,
            });
        }
        scan.end()?;
        Ok(Self { wide, tables })
    }

    /// Everything of the file but its numbers, for which it finds the places.
    pub fn lay_out(&mut self) -> Frame {
        let mut frame = Frame::default();
        match self.wide {
            false => frame.put(&(self.tables.len() as u32).to_le_bytes()),
            true => frame.put(&(self.tables.len() as u64).to_le_bytes()),
        }
        for table in &mut self.tables {
            frame.put(&table.count.to_le_bytes());
            table.at = frame.leave(table.count.saturating_mul(4));
        }
        frame
    }
}

impl Table {
    /// A table of so many weights.
    pub fn new(pattern: &str, count: u64) -> Self {
        Self {
            tensor: pattern.to_owned(),
            count,
            at: 0,
        }
    }

    pub(super) fn is_sound(&self) -> bool {
        self.count > 0
    }

    pub(super) fn runs(&self) -> Vec<Run> {
        let name = self.tensor.clone();
        vec![Run::new(name, Some(Float::F32), self.count, self.at)]
    }
}
