//! Packed models: the weights that matter, quantised and entropy-coded, in one small file.
//!
//! Most weights of a large network are hardly ever updated, and those that are resemble their
//! neighbours: the weights whose tiles differ in one cell by one step. So a table is coded weight
//! by weight in the order of its index, first which weights are kept, then their values, by binary
//! decisions, each with an adaptive probability that depends on the neighbours before it (`model.rs`,
//! `grid.rs`), and an arithmetic coder (`range.rs`). The encoder (`encode.rs`) decides which weights to keep, and rounds them, by the
//! least sum of error and size.
//!
//! Decoding uses integers alone, apart from one product of a weight and the step, so a file has the
//! same weights on every machine. docs/formats/packed.md describes the bytes.

mod encode;
mod error;
mod grid;
mod model;
mod range;
#[cfg(test)]
mod tests;

use std::io::{self, Write};
use std::ops::Range;

use serde::{Deserialize, Serialize};
use twox_hash::XxHash3_64;

pub use encode::{EncodedTable, Quantisation, encode};
pub use error::PackedError;
pub use grid::{MOST_WEIGHTS, SparseTable};

use super::native::Metadata;
use grid::Form;

/// The first bytes of a packed file.
pub const MAGIC: [u8; 8] = *b"AFTSPACK";
/// The version of the format.
pub const VERSION: u32 = 2;
/// The bytes before the JSON header: magic, version, length of the JSON, length of the file.
pub const START: usize = 24;
/// The bytes after the last table: the checksum.
const END: usize = 8;
/// The longest header that is read.
const LONGEST_HEADER: u64 = 1 << 22;
/// The longest file that is read.
pub const LONGEST_FILE: u64 = 1 << 30;
/// The most tables of a file.
const MOST_TABLES: usize = 4096;

/// A table in a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TableEntry {
    /// The name of the table, as in a model.
    pub name: String,
    /// The digits of an index.
    pub digits: u32,
    /// The bits of a digit.
    pub bits: u32,
    /// The distance of two neighbouring values of a weight.
    pub step: f32,
    /// The number of weights that are kept; all others are 0.
    pub kept: u64,
    /// The number of bytes of its first stream: which weights are kept. The rest has their values.
    pub mask_bytes: u64,
    /// The number of bytes of the coded table.
    pub bytes: u64,
}

impl TableEntry {
    /// The number of weights of the table, those that are 0 included.
    pub fn weights(&self) -> u64 {
        1 << (self.digits * self.bits)
    }

    /// The bytes of memory that decoding it takes at most.
    pub fn memory(&self) -> u64 {
        let blocks = self.weights() >> self.bits;
        9 * blocks + 2 * self.kept
    }

    fn form(&self) -> Form {
        Form::new(self.digits, self.bits)
    }

    fn check(&self) -> Result<(), PackedError> {
        let wrong = |what: &'static str, found: String| {
            Err(PackedError::Table {
                table: self.name.chars().take(80).collect(),
                what,
                found,
            })
        };
        if !Form::is_supported(self.digits, self.bits) {
            let found = format!("{} digits of {} bits", self.digits, self.bits);
            return wrong("an index", found);
        }
        if !(self.step.is_finite() && self.step > 0.0 && self.step <= 1e30) {
            return wrong("a step", self.step.to_string());
        }
        if self.kept > self.weights() {
            return wrong("kept weights", self.kept.to_string());
        }
        let words = self.mask_bytes.is_multiple_of(4) && self.bytes.is_multiple_of(4);
        if self.mask_bytes > self.bytes || !words {
            let found = format!("{} of {} bytes", self.mask_bytes, self.bytes);
            return wrong("streams", found);
        }
        Ok(())
    }
}

/// The JSON of the header.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct HeaderJson {
    metadata: Metadata,
    tables: Vec<TableEntry>,
}

/// The header of a file whose checksum was verified.
#[derive(Clone, Debug, PartialEq)]
pub struct PackedHeader {
    metadata: Metadata,
    tables: Vec<TableEntry>,
    /// Where the first table starts.
    at: usize,
}

/// The length of the file that starts with these bytes, if they are those of a packed file.
///
/// # Errors
/// When they are of another version, or the length is out of range.
pub fn file_length(start: &[u8]) -> Option<Result<u64, PackedError>> {
    let rest = start.strip_prefix(&MAGIC)?;
    let number = |at: usize| rest.get(at..at + 4)?.first_chunk().copied();
    let Some(version) = number(0).map(u32::from_le_bytes) else {
        return Some(Err(PackedError::length(START as u64, start.len() as u64)));
    };
    if version != VERSION {
        return Some(Err(PackedError::Version { found: version }));
    }
    let Some(length) = rest.get(8..16).and_then(|bytes| bytes.first_chunk()) else {
        return Some(Err(PackedError::length(START as u64, start.len() as u64)));
    };
    let length = u64::from_le_bytes(*length);
    if length > LONGEST_FILE {
        return Some(Err(PackedError::TooLong { found: length }));
    }
    Some(Ok(length))
}

impl PackedHeader {
    /// Reads the header of a whole file, and verifies the checksum of all of its bytes.
    ///
    /// # Errors
    /// When the file is cut short, damaged, of another version, or no packed file.
    pub fn read(file: &[u8]) -> Result<Self, PackedError> {
        let expected = file_length(file).ok_or(PackedError::Magic)??;
        let found = file.len() as u64;
        if found != expected || file.len() < START + END {
            return Err(PackedError::length(
                expected.max((START + END) as u64),
                found,
            ));
        }
        let (content, sum) = file.split_at(file.len() - END);
        if sum != checksum(content) {
            return Err(PackedError::Damaged);
        }
        let length = content[12..].first_chunk().copied();
        let length = u64::from(u32::from_le_bytes(length.unwrap_or_default()));
        let rest = (content.len() - START) as u64;
        if length > LONGEST_HEADER || length > rest {
            return Err(PackedError::HeaderLength {
                found: length,
                most: rest.min(LONGEST_HEADER),
            });
        }
        let at = START + length as usize;
        let json: HeaderJson = serde_json::from_slice(&content[START..at])
            .map_err(|error| PackedError::Header(error.to_string()))?;
        let header = Self {
            metadata: json.metadata,
            tables: json.tables,
            at,
        };
        header.check((content.len() - at) as u64)?;
        Ok(header)
    }

    fn check(&self, bytes: u64) -> Result<(), PackedError> {
        if self.tables.len() > MOST_TABLES {
            let found = format!("{} tables", self.tables.len());
            return Err(PackedError::Header(found));
        }
        let mut sum = 0u64;
        let mut names = std::collections::HashSet::new();
        for table in &self.tables {
            table.check()?;
            if !names.insert(&*table.name) {
                let name: String = table.name.chars().take(80).collect();
                return Err(PackedError::Header(format!("two tables `{name}`")));
            }
            sum = sum.saturating_add(table.bytes);
        }
        match sum == bytes {
            true => Ok(()),
            false => Err(PackedError::Header(format!(
                "tables of {sum} bytes, where the file has {bytes}"
            ))),
        }
    }

    /// The metadata: the same keys as in a model.
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// The tables, in the order of the file.
    pub fn tables(&self) -> &[TableEntry] {
        &self.tables
    }

    /// The number of a table.
    ///
    /// # Errors
    /// When there is none of this name and size.
    pub fn table(&self, name: &str, weights: u64) -> Result<usize, PackedError> {
        let found = self.tables.iter().position(|table| table.name == name);
        let found = found.ok_or_else(|| PackedError::NoTable(name.to_owned()))?;
        let table = &self.tables[found];
        match table.weights() == weights {
            true => Ok(found),
            false => Err(PackedError::Table {
                table: name.to_owned(),
                what: "weights",
                found: format!("{}; expected {weights}", table.weights()),
            }),
        }
    }

    /// Where the bytes of a table are in the file.
    fn span(&self, table: usize) -> Range<usize> {
        let before = self.tables[..table].iter().map(|table| table.bytes);
        let from = self.at + before.sum::<u64>() as usize;
        from..from + self.tables[table].bytes as usize
    }

    /// Decodes a table of the file that this header was read from.
    ///
    /// # Errors
    /// When its bytes do not decode to what the header says.
    pub fn decode(&self, file: &[u8], table: usize) -> Result<SparseTable, PackedError> {
        let entry = &self.tables[table];
        let wrong = |what: &'static str, found: String| PackedError::Table {
            table: entry.name.clone(),
            what,
            found,
        };
        let bytes = file.get(self.span(table));
        let bytes = bytes.ok_or_else(|| wrong("bytes", "fewer".to_owned()))?;
        // At most the bytes of the table: the header was checked.
        let streams = bytes.split_at(entry.mask_bytes as usize);
        model::decode(entry.form(), entry.step, entry.kept, streams)
            .map_err(|fault| wrong("coded weights", fault.to_string()))
    }
}

/// Writes a file; returns its length.
///
/// # Errors
/// When writing fails, or the file would be too long.
pub fn write(
    metadata: &Metadata,
    tables: &[EncodedTable],
    output: &mut impl Write,
) -> Result<u64, PackedError> {
    let header = HeaderJson {
        metadata: metadata.clone(),
        tables: tables.iter().map(|table| table.entry.clone()).collect(),
    };
    let json = serde_json::to_vec(&header).map_err(io::Error::from)?;
    let coded: usize = tables.iter().map(|table| table.bytes.len()).sum();
    let length = (START + json.len() + coded + END) as u64;
    if json.len() as u64 > LONGEST_HEADER || length > LONGEST_FILE {
        return Err(PackedError::TooLong { found: length });
    }
    let mut content = Vec::with_capacity(length as usize);
    content.extend(&json);
    for table in tables {
        content.extend(&table.bytes);
    }
    output.write_all(&frame(json.len() as u32, &content))?;
    Ok(length)
}

/// A file of this content: the JSON, of which the length is given, and the tables.
pub fn frame(json: u32, content: &[u8]) -> Vec<u8> {
    let length = START + content.len() + END;
    let mut file = Vec::with_capacity(length);
    file.extend(MAGIC);
    file.extend(VERSION.to_le_bytes());
    file.extend(json.to_le_bytes());
    file.extend((length as u64).to_le_bytes());
    file.extend(content);
    let sum = checksum(&file);
    file.extend(sum);
    file
}

/// The checksum of all bytes before it.
fn checksum(bytes: &[u8]) -> [u8; END] {
    XxHash3_64::oneshot(bytes).to_le_bytes()
}
