//! What the weight files of other programs have in common: tables, each of some spans of floats.
//!
//! A [`Foreign`] describes a file and holds none of its numbers, so copying them needs no memory
//! for them. Our own files keep this description as JSON, without offsets, so that a converted file
//! can be converted back to the same bytes.

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::io::{Read, Seek};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::demo::Demo;
use super::floats::Float;
use super::framework::Framework;
use super::scan::{FileFrame, MOST_TABLES, ScanError};
use super::tdl::{self, Tdl};
use super::{demo, framework};

/// A program whose files can be read and written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    /// TDL2048+.
    Tdl,
    /// TDL2048-Demo.
    Demo,
    /// The 2048-Framework.
    Framework,
}

impl Program {
    /// All programs.
    pub const ALL: [Self; 3] = [Self::Tdl, Self::Demo, Self::Framework];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tdl => "TDL2048+",
            Self::Demo => "TDL2048-Demo",
            Self::Framework => "2048-Framework",
        }
    }
}

/// A weight file of another program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "program", rename_all = "lowercase")]
pub enum Foreign {
    /// Of TDL2048+.
    Tdl(Tdl),
    /// Of TDL2048-Demo.
    Demo(Demo),
    /// Of the 2048-Framework.
    Framework(Framework),
}

/// Consecutive numbers in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorSpan {
    /// The name of their tensor in our files.
    pub tensor: String,
    /// Their float type; `None` if only their bytes are known.
    pub float: Option<Float>,
    /// Their count; the number of bytes if the type is unknown.
    pub count: u64,
    /// The offset of the first byte.
    pub at: u64,
}

impl TensorSpan {
    pub(super) fn new(tensor: String, float: Option<Float>, count: u64, at: u64) -> Self {
        Self {
            tensor,
            float,
            count,
            at,
        }
    }

    /// Bytes of each number.
    pub fn width(&self) -> u64 {
        self.float.map_or(1, Float::width) as u64
    }

    /// Its length in bytes.
    pub fn bytes(&self) -> u64 {
        self.width().saturating_mul(self.count)
    }
}

/// A table of any of these programs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForeignTable {
    /// Its name in the file; empty where tables have no names.
    pub label: String,
    /// The pattern and the stage that the file itself declares.
    pub declared: Option<(String, u32)>,
    /// Its numbers, the weights first.
    pub spans: Vec<TensorSpan>,
}

impl ForeignTable {
    /// The weights.
    pub fn weights(&self) -> &TensorSpan {
        &self.spans[0]
    }

    /// Both sums of TC, if it has them.
    pub fn sums(&self) -> Option<[&TensorSpan; 2]> {
        match &self.spans[..] {
            [_, e, a, ..] if e.tensor.ends_with(".e") => Some([e, a]),
            _ => None,
        }
    }

    /// Whether there is more than weights and sums.
    pub fn has_more(&self) -> bool {
        self.spans.len() > if self.sums().is_some() { 3 } else { 1 }
    }
}

/// The pattern and the stage of each table.
pub type TablePatterns = Vec<(String, u32)>;

/// Why a file's tables cannot be used to play. Tables are counted from 1.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum TablePatternError {
    /// A file without patterns.
    #[error("it does not say which cells its {tables} tables look at")]
    NoPatterns {
        /// The number of tables.
        tables: usize,
    },
    /// More or fewer patterns than tables.
    #[error("it has {expected} tables, and {found} patterns were given")]
    PatternCount {
        /// Patterns.
        found: usize,
        /// Tables.
        expected: usize,
    },
    /// A pattern that differs from the file's.
    #[error("the file says that table {table} is `{told}`; the pattern given for it is `{given}`")]
    OtherPattern {
        /// The table.
        table: usize,
        /// What the file declares.
        told: String,
        /// What was given.
        given: String,
    },
    /// A table whose size does not match its pattern.
    #[error("table {table} has {found} weights; its pattern `{pattern}` has {expected}")]
    Length {
        /// The table.
        table: usize,
        /// Its pattern.
        pattern: String,
        /// Its weights.
        found: u64,
        /// The base of its indices to the power of the number of cells.
        expected: u64,
    },
    /// A table that does not belong to a tuple.
    #[error("table {table}, `{name}`, is not looked up by the tiles of a tuple")]
    Feature {
        /// The table.
        table: usize,
        /// Its name.
        name: String,
    },
    /// Two tables of the same name, which TDL2048+ averages.
    #[error("table {table} is the second one for `{pattern}`; a pattern has one table")]
    Twice {
        /// The later one.
        table: usize,
        /// Their pattern.
        pattern: String,
    },
}

impl Foreign {
    /// Scans a file of `size` bytes. `by_name` says whether its extension starts with a `w`, which
    /// matters to TDL2048+.
    ///
    /// # Errors
    /// When it is not a file of this program, or is damaged.
    pub fn scan(
        program: Program,
        file: &mut (impl Read + Seek),
        size: u64,
        by_name: bool,
    ) -> Result<Self, ScanError> {
        Ok(match program {
            Program::Tdl => Self::Tdl(Tdl::scan(file, size, by_name)?),
            Program::Demo => Self::Demo(Demo::scan(file, size)?),
            Program::Framework => Self::Framework(Framework::scan(file, size)?),
        })
    }

    /// The program that the file belongs to.
    pub fn program(&self) -> Program {
        match self {
            Self::Tdl(_) => Program::Tdl,
            Self::Demo(_) => Program::Demo,
            Self::Framework(_) => Program::Framework,
        }
    }

    /// The number of tiles that an index of its tables tells apart.
    pub fn base(&self) -> u64 {
        match self {
            Self::Tdl(_) | Self::Demo(_) => 16,
            Self::Framework(framework) => framework.base(),
        }
    }

    /// Lays out the file: returns everything but its numbers, and sets their offsets. `by_name` as
    /// in [`Foreign::scan`].
    pub fn lay_out(&mut self, by_name: bool) -> FileFrame {
        match self {
            Self::Tdl(tdl) => tdl.lay_out(by_name),
            Self::Demo(demo) => demo.lay_out(),
            Self::Framework(framework) => framework.lay_out(),
        }
    }

    /// Its tables, in order.
    pub fn entries(&self) -> Vec<ForeignTable> {
        match self {
            Self::Tdl(tdl) => tdl.tables().map(of_tdl).collect(),
            Self::Demo(demo) => demo.tables.iter().map(of_demo).collect(),
            Self::Framework(framework) => framework.tables.iter().map(of_framework).collect(),
        }
    }

    /// The pattern and stage of each table. Patterns may be `given`, and must be where the file
    /// declares none.
    ///
    /// # Errors
    /// When the tables cannot be used to play, or differ from the given patterns.
    pub fn table_patterns(
        &self,
        given: Option<&[String]>,
    ) -> Result<TablePatterns, TablePatternError> {
        let entries = self.entries();
        if let Some(given) = given.filter(|given| given.len() != entries.len()) {
            return Err(TablePatternError::PatternCount {
                found: given.len(),
                expected: entries.len(),
            });
        }
        let mut patterns = TablePatterns::new();
        for (number, entry) in entries.iter().enumerate() {
            let table = number + 1;
            let given = given.map(|given| &given[number]);
            let (pattern, stage) = match (entry.declared.clone(), given) {
                (Some((told, _)), Some(given)) if told != *given => {
                    let given = given.clone();
                    return Err(TablePatternError::OtherPattern { table, told, given });
                }
                (Some(told), _) => told,
                (None, Some(given)) => (given.clone(), 0),
                (None, None) if entry.label.is_empty() => {
                    let tables = entries.len();
                    return Err(TablePatternError::NoPatterns { tables });
                }
                (None, None) => {
                    let name = entry.label.clone();
                    return Err(TablePatternError::Feature { table, name });
                }
            };
            let found = entry.weights().count;
            let expected = self.base().saturating_pow(pattern.len() as u32);
            if found != expected {
                return Err(TablePatternError::Length {
                    table,
                    pattern,
                    found,
                    expected,
                });
            }
            let one = (pattern, stage);
            if patterns.contains(&one) {
                let pattern = one.0;
                return Err(TablePatternError::Twice { table, pattern });
            }
            patterns.push(one);
        }
        Ok(patterns)
    }

    /// Names the tables for one of our files: by pattern, or by number if the patterns are unknown.
    pub fn name_tables(&mut self, patterns: Option<&TablePatterns>) {
        let entries = self.entries();
        let name = |number: usize| match patterns.and_then(|patterns| patterns.get(number)) {
            Some((pattern, 0)) => pattern.clone(),
            Some((pattern, stage)) => format!("{pattern}@{stage}"),
            None => format!("{}:{}", number + 1, entries[number].label),
        };
        let tensors: Vec<&mut String> = match self {
            Self::Tdl(tdl) => tdl.tables_mut().map(|table| &mut table.tensor).collect(),
            Self::Demo(demo) => demo.tables.iter_mut().map(|t| &mut t.tensor).collect(),
            Self::Framework(framework) => {
                let tables = framework.tables.iter_mut();
                tables.map(|table| &mut table.tensor).collect()
            }
        };
        for (number, tensor) in tensors.into_iter().enumerate() {
            *tensor = name(number);
        }
    }

    /// Whether a file can be written from this description, which may come from an edited file.
    /// Tensor names must be distinct, or a small file could expand into an unbounded one.
    pub fn is_sound(&self) -> bool {
        let sound = match self {
            Self::Tdl(tdl) => {
                let full = |section: &tdl::TdlSection| !section.tables.is_empty();
                tdl.sections.iter().all(full) && tdl.tables().all(tdl::TdlTable::is_sound)
            }
            Self::Demo(demo) => demo.tables.iter().all(demo::DemoTable::is_sound),
            Self::Framework(framework) => framework
                .tables
                .iter()
                .all(framework::FrameworkTable::is_sound),
        };
        if !sound {
            return false;
        }
        let entries = self.entries();
        let mut names = BTreeSet::new();
        let mut spans = entries.iter().flat_map(|entry| &entry.spans);
        (1..=MOST_TABLES).contains(&entries.len()) && spans.all(|span| names.insert(&span.tensor))
    }
}

fn of_tdl(table: &tdl::TdlTable) -> ForeignTable {
    ForeignTable {
        label: table.label(),
        declared: table
            .pattern()
            .map(|(pattern, stage)| (lower(&pattern), stage)),
        spans: table.spans(),
    }
}

fn of_demo(table: &demo::DemoTable) -> ForeignTable {
    ForeignTable {
        label: table.label(),
        declared: table.pattern().map(|pattern| (lower(&pattern), 0)),
        spans: table.spans(),
    }
}

/// Lower case, as we write patterns.
fn lower(pattern: &str) -> String {
    pattern.to_ascii_lowercase()
}

fn of_framework(table: &framework::FrameworkTable) -> ForeignTable {
    ForeignTable {
        label: String::new(),
        declared: None,
        spans: table.spans(),
    }
}

/// Bytes as text in JSON.
pub(super) mod hex {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(crate) fn serialize<S: Serializer>(bytes: &[u8], to: S) -> Result<S::Ok, S::Error> {
        let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        to.serialize_str(&digits)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u8>, D::Error> {
        let digits = String::deserialize(from)?;
        let byte = |pair: &[u8]| match pair {
            [high, low] => {
                let digit = |c: u8| char::from(c).to_digit(16);
                Some((16 * digit(*high)? + digit(*low)?) as u8)
            }
            _ => None,
        };
        let bytes: Option<Vec<u8>> = digits.as_bytes().chunks(2).map(byte).collect();
        bytes.ok_or_else(|| D::Error::custom("expected pairs of hexadecimal digits"))
    }
}
