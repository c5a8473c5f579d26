//! What the weight files of other programs have in common: tables, each of some runs of numbers.
//!
//! A [`Foreign`] describes a file and holds none of its numbers, so whoever copies them needs no memory for
//! them. As JSON, without places, it is also what a file of ours keeps to be turned back byte by byte.

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::io::{Read, Seek};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::demo::Demo;
use super::floats::Float;
use super::framework::Framework;
use super::scan::{Frame, MOST_TABLES, ScanError};
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
    /// All of them.
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

/// Numbers that stand together in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// What a file of ours calls them.
    pub tensor: String,
    /// What they are; none if only their bytes are known.
    pub float: Option<Float>,
    /// How many there are: of unknown ones, bytes.
    pub count: u64,
    /// The place of the first byte.
    pub at: u64,
}

impl Run {
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

/// A table, whatever its file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its name in the file; empty where tables have none.
    pub label: String,
    /// The pattern and the stage that the file itself tells.
    pub told: Option<(String, u32)>,
    /// Its numbers, the weights first.
    pub runs: Vec<Run>,
}

impl Entry {
    /// The weights.
    pub fn weights(&self) -> &Run {
        &self.runs[0]
    }

    /// F32x2 sums of TC, if it has them.
    pub fn sums(&self) -> Option<[&Run; 2]> {
        match &self.runs[..] {
            [_, e, a, ..] if e.tensor.ends_with(".e") => Some([e, a]),
            _ => None,
        }
    }

    /// Whether there is more than weights and sums.
    pub fn has_more(&self) -> bool {
        self.runs.len() > if self.sums().is_some() { 3 } else { 1 }
    }
}

/// What a file's tables are to a player: patterns, each with its stage.
pub type OutputSpec = Vec<(String, u32)>;

/// Why nobody can play with a file's tables. Tables are counted from 1.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Meaningless {
    /// A file without patterns.
    #[error("it does not say which cells its {tables} tables look at")]
    NoPatterns {
        /// How many it has.
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
    /// A pattern that is not the file's.
    #[error("the file says that table {table} is `{told}`; the pattern given for it is `{given}`")]
    OtherPattern {
        /// The table.
        table: usize,
        /// What the file says.
        told: String,
        /// What was given.
        given: String,
    },
    /// A table of another size than its pattern has.
    #[error("table {table} has {found} weights; its pattern `{pattern}` has {expected}")]
    Length {
        /// The table.
        table: usize,
        /// Its pattern.
        pattern: String,
        /// Its weights.
        found: u64,
        /// 16 to the number of cells.
        expected: u64,
    },
    /// A table that is not of a tuple.
    #[error("table {table}, `{name}`, is not looked up by the tiles of a tuple")]
    Feature {
        /// The table.
        table: usize,
        /// Its name.
        name: String,
    },
    /// Two tables of a name, which TDL2048+ takes the mean of.
    #[error("table {table} is the second one for `{pattern}`, and each pattern has one table")]
    Twice {
        /// The later one.
        table: usize,
        /// Their pattern.
        pattern: String,
    },
}

impl Foreign {
    /// Goes through a file of `size` bytes. `by_name` says whether its extension begins with a `w`, which
    /// TDL2048+ makes a difference of.
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

    /// Whose file it is.
    pub fn program(&self) -> Program {
        match self {
            Self::Tdl(_) => Program::Tdl,
            Self::Demo(_) => Program::Demo,
            Self::Framework(_) => Program::Framework,
        }
    }

    /// Everything of the file but its numbers, for which it finds the places. `by_name` as in [`Foreign::scan`].
    pub fn lay_out(&mut self, by_name: bool) -> Frame {
        match self {
            Self::Tdl(tdl) => tdl.lay_out(by_name),
            Self::Demo(demo) => demo.lay_out(),
            Self::Framework(framework) => framework.lay_out(),
        }
    }

    /// Its tables, in order.
    pub fn entries(&self) -> Vec<Entry> {
        match self {
            Self::Tdl(tdl) => tdl.tables().map(of_tdl).collect(),
            Self::Demo(demo) => demo.tables.iter().map(of_demo).collect(),
            Self::Framework(framework) => framework.tables.iter().map(of_framework).collect(),
        }
    }

    /// What its tables are to a player. Patterns may be `given`, and must be where the file names none.
    ///
    /// # Errors
    /// When they are nothing that can be played with, or not what was given.
    pub fn meaning(&self, given: Option<&[String]>) -> Result<OutputSpec, Meaningless> {
        let entries = self.entries();
        if let Some(given) = given.filter(|given| given.len() != entries.len()) {
            return Err(Meaningless::PatternCount {
                found: given.len(),
                expected: entries.len(),
            });
        }
        let mut meaning = OutputSpec::new();
        for (number, entry) in entries.iter().enumerate() {
            let table = number + 1;
            let given = given.map(|given| &given[number]);
            let (pattern, stage) = match (entry.told.clone(), given) {
                (Some((told, _)), Some(given)) if told != *given => {
                    let given = given.clone();
                    return Err(Meaningless::OtherPattern { table, told, given });
                }
                (Some(told), _) => told,
                (None, Some(given)) => (given.clone(), 0),
                (None, None) if entry.label.is_empty() => {
                    let tables = entries.len();
                    return Err(Meaningless::NoPatterns { tables });
                }
                (None, None) => {
                    let name = entry.label.clone();
                    return Err(Meaningless::Feature { table, name });
                }
            };
            let found = entry.weights().count;
            let expected = 16_u64.saturating_pow(pattern.len() as u32);
            if found != expected {
                return Err(Meaningless::Length {
                    table,
                    pattern,
                    found,
                    expected,
                });
            }
            let one = (pattern, stage);
            if meaning.contains(&one) {
                let pattern = one.0;
                return Err(Meaningless::Twice { table, pattern });
            }
            meaning.push(one);
        }
        Ok(meaning)
    }

    /// Names the tables for a file of ours: by their patterns, and by their numbers if these are not known.
    pub fn name_tables(&mut self, meaning: Option<&OutputSpec>) {
        let entries = self.entries();
        let name = |number: usize| match meaning.and_then(|meaning| meaning.get(number)) {
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

    /// Whether a file can be written as this says: it may come from a file that somebody has edited. Names of
    /// tensors must differ, too, or a small file could be turned into one without end.
    pub fn is_sound(&self) -> bool {
        let sound = match self {
            Self::Tdl(tdl) => {
                let full = |section: &tdl::Section| !section.tables.is_empty();
                tdl.sections.iter().all(full) && tdl.tables().all(tdl::Table::is_sound)
            }
            Self::Demo(demo) => demo.tables.iter().all(demo::Table::is_sound),
            Self::Framework(framework) => framework.tables.iter().all(framework::Table::is_sound),
        };
        if !sound {
            return false;
        }
        let entries = self.entries();
        let mut names = BTreeSet::new();
        let mut runs = entries.iter().flat_map(|entry| &entry.runs);
        (1..=MOST_TABLES).contains(&entries.len()) && runs.all(|run| names.insert(&run.tensor))
    }
}

fn of_tdl(table: &tdl::Table) -> Entry {
    Entry {
        label: table.label(),
        told: table
            .pattern()
            .map(|(pattern, stage)| (lower(&pattern), stage)),
        runs: table.runs(),
    }
}

fn of_demo(table: &demo::Table) -> Entry {
    Entry {
        label: table.label(),
        told: table.pattern().map(|pattern| (lower(&pattern), 0)),
        runs: table.runs(),
    }
}

/// As patterns are written here.
fn lower(pattern: &str) -> String {
    pattern.to_ascii_lowercase()
}

fn of_framework(table: &framework::Table) -> Entry {
    Entry {
        label: String::new(),
        told: None,
        runs: table.runs(),
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
