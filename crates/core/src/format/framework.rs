//! Weights of the 2048-Framework (`weights.bin`): tables of four-byte floats without names.
//! docs/formats/framework.md specifies the bytes.

use std::io::{Read, Seek};

use serde::{Deserialize, Serialize};

use super::floats::Float;
use super::foreign::TensorSpan;
use super::scan::{FileFrame, Scan, ScanError};

/// A weight file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Framework {
    /// Whether the number of tables takes eight bytes, as in the course of 2017, instead of four.
    pub wide: bool,
    /// Its tables, in order.
    pub tables: Vec<FrameworkTable>,
}

/// A table.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FrameworkTable {
    /// The name of its tensor in our files.
    pub tensor: String,
    /// The number of weights.
    pub count: u64,
    /// The offset of its first weight in the file.
    #[serde(skip)]
    pub at: u64,
}

impl Framework {
    /// Scans a file of `size` bytes.
    ///
    /// # Errors
    /// When the file has another format, or is damaged.
    pub fn scan(file: &mut (impl Read + Seek), size: u64) -> Result<Self, ScanError> {
        // At most one reading is valid: the other would give a table an impossible number of
        // weights.
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
            tables.push(FrameworkTable {
                tensor: String::new(),
                count,
                at: scan.numbers(4, count)?,
            });
        }
        scan.end()?;
        Ok(Self { wide, tables })
    }

    /// The number of tiles that an index tells apart: 15 where every table has a power of 15
    /// weights, as in players of Threes!, otherwise 16.
    pub fn base(&self) -> u64 {
        let is_power = |mut count: u64| {
            while count > 0 && count.is_multiple_of(15) {
                count /= 15;
            }
            count == 1
        };
        let powers = self.tables.iter().all(|table| is_power(table.count));
        if powers && !self.tables.is_empty() {
            15
        } else {
            16
        }
    }

    /// Lays out the file: returns everything but its numbers, and sets their offsets.
    pub fn lay_out(&mut self) -> FileFrame {
        let mut frame = FileFrame::default();
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

impl FrameworkTable {
    /// A table of `count` weights.
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

    pub(super) fn spans(&self) -> Vec<TensorSpan> {
        let name = self.tensor.clone();
        vec![TensorSpan::new(name, Some(Float::F32), self.count, self.at)]
    }
}
