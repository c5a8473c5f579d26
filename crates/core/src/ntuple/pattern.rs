//! The cells of a tuple. Cells are numbered in row-major order and written as single digits: 0-9,
//! a-f, and further letters for boards of more than 16 cells; `012345` is a 6-tuple of the first
//! six cells.
//!
//! To add a named set of tuples, add a line to `NAMED_SETS`.

use std::fmt;

use thiserror::Error;

use super::stages::Stages;
use crate::game::{ChanceState, Shape};

/// The default number of bits of a cell in a table's index: tiles 0 to 15 are distinguished.
const TILE_BITS: usize = 4;

/// Named sets, all for the 4x4 board.
pub const NAMED_SETS: [(&str, &str); 5] = [
    ("4x6", "012345 456789 012456 45689a"),
    ("5x6", "012345 456789 012456 45689a 89abcd"),
    ("6x6", "012456 456789 012345 234569 01259a 345678"),
    (
        "8x6",
        "012456 456789 012345 234569 01259a 345678 134567 01489a",
    ),
    ("8x4", "0123 4567 89ab cdef 048c 159d 26ae 37bf"),
];

/// The rows and columns of a board of any shape.
const LINES: &str = "lines";

/// Why a tuple set is invalid.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum TupleSetError {
    /// No tuple at all.
    #[error(
        "the tuple set is empty; expected a named set ({}) or patterns such as `0123 4567`",
        names()
    )]
    Empty,
    /// A character that names no cell.
    #[error(
        "`{pattern}` is neither a named tuple set ({}) nor a pattern: `{found}` names no cell; \
         cells are written 0-9, a-f (g-o on larger boards)",
        names()
    )]
    NotACell {
        /// The pattern that has it.
        pattern: String,
        /// The character.
        found: char,
    },
    /// A name beside patterns, or beside another name.
    #[error(
        "`{name}` is the name of a set and stands alone; to add to it, write its patterns: {patterns}"
    )]
    NameAmongPatterns {
        /// The name.
        name: String,
        /// Its patterns.
        patterns: &'static str,
    },
    /// A cell that the board does not have.
    #[error(
        "`{pattern}` is not the name of a tuple set ({}), and as a pattern it names cell {cell}, but a \
         {shape} board has cells 0 to {}", names(), shape.cells() - 1
    )]
    CellOutside {
        /// The pattern.
        pattern: String,
        /// The cell's number.
        cell: usize,
        /// The board.
        shape: Shape,
    },
    /// The same cell twice in a tuple.
    #[error("pattern `{pattern}` names cell `{cell}` twice; a tuple looks at each cell once")]
    CellTwice {
        /// The pattern.
        pattern: String,
        /// The cell's character.
        cell: char,
    },
    /// A tuple with more cells than a table can have.
    #[error(
        "pattern `{pattern}` has {found} cells; a tuple has 1 to {}",
        Pattern::MAX_CELLS
    )]
    TooLong {
        /// The pattern.
        pattern: String,
        /// Its number of cells.
        found: usize,
    },
    /// The same tuple twice.
    #[error("pattern `{pattern}` occurs twice in the tuple set; a pattern has one table")]
    PatternTwice {
        /// The pattern.
        pattern: String,
    },
    /// A redundant tuple that is not part of another.
    #[error(
        "the redundant tuple `{pattern}` is inside none of the tuples of the set, so it could not be \
         folded into one"
    )]
    NotInside {
        /// The pattern.
        pattern: String,
    },
    /// More tuples than a set may have.
    #[error("the tuple set has more than {} tuples", TupleSet::MAX_PATTERNS)]
    TooMany,
    /// A named set on a board it was not made for.
    #[error(
        "tuple set `{name}` is made for 4x4 boards, not for {shape}; \
         set `tuples` to patterns such as `{example}`, or to `lines` for all rows and columns"
    )]
    NotForShape {
        /// The set.
        name: String,
        /// The board.
        shape: Shape,
        /// A pattern that would fit.
        example: String,
    },
}

fn names() -> String {
    let sets = NAMED_SETS.iter().map(|(name, _)| *name);
    sets.chain([LINES]).collect::<Vec<_>>().join(", ")
}

/// The cells of one tuple, the lowest digit of its table's index first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    cells: Vec<u8>,
    /// The bits of a cell in the table's index.
    tile_bits: usize,
}

impl Pattern {
    /// The most cells of a tuple: a table of 16^8 weights takes 16 GiB.
    pub const MAX_CELLS: usize = 8;

    fn parse(text: &str, shape: Shape) -> Result<Self, TupleSetError> {
        let pattern = || text.to_owned();
        let mut cells = Vec::new();
        for found in text.chars() {
            let cell = found.to_digit(36).ok_or_else(|| TupleSetError::NotACell {
                pattern: pattern(),
                found,
            })?;
            if cell as usize >= Shape::MAX_CELLS {
                return Err(TupleSetError::NotACell {
                    pattern: pattern(),
                    found,
                });
            }
            if cell as usize >= shape.cells() {
                return Err(TupleSetError::CellOutside {
                    pattern: pattern(),
                    cell: cell as usize,
                    shape,
                });
            }
            if cells.contains(&(cell as u8)) {
                return Err(TupleSetError::CellTwice {
                    pattern: pattern(),
                    cell: found,
                });
            }
            cells.push(cell as u8);
        }
        if cells.len() > Self::MAX_CELLS {
            return Err(TupleSetError::TooLong {
                pattern: pattern(),
                found: cells.len(),
            });
        }
        Ok(Self {
            cells,
            tile_bits: TILE_BITS,
        })
    }

    /// The cells, lowest digit first.
    pub fn cells(&self) -> &[u8] {
        &self.cells
    }

    /// The bits of a cell in its table's index.
    pub fn tile_bits(&self) -> usize {
        self.tile_bits
    }

    /// The number of weights in its table: 16 to the power of the number of cells, with four bits a
    /// cell.
    pub fn weights(&self) -> usize {
        1 << (self.tile_bits * self.cells.len())
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.cells
            .iter()
            .try_for_each(|&cell| write!(f, "{}", cell_name(cell)))
    }
}

pub(super) fn cell_name(cell: u8) -> char {
    char::from_digit(u32::from(cell), 36).unwrap_or('?')
}

/// Tuples on a board, with or without its symmetries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TupleSet {
    patterns: Vec<Pattern>,
    shape: Shape,
    symmetry: bool,
    /// Whether each hint selects its own tables.
    by_hint: bool,
    /// The stages of the game, each with its own tables.
    stages: Stages,
    /// How many of the last patterns are redundant.
    redundant: usize,
}

impl TupleSet {
    /// Parses a named set, or patterns separated by white space; no memory is allocated for weights
    /// yet.
    ///
    /// ```
    /// use afterstate::game::Shape;
    /// use afterstate::ntuple::TupleSet;
    ///
    /// let set = TupleSet::parse("4x6", Shape::FOUR, true).unwrap();
    /// assert_eq!(set.to_string(), "012345 456789 012456 45689a");
    /// assert_eq!(set.weights(), 4 * 16_777_216);
    /// ```
    ///
    /// # Errors
    /// When the set is empty, unknown, or does not fit the board.
    pub fn parse(text: &str, shape: Shape, symmetry: bool) -> Result<Self, TupleSetError> {
        let named = NAMED_SETS.iter().find(|(name, _)| *name == text.trim());
        let text = match named {
            Some((name, _)) if shape != Shape::FOUR => {
                let example = (0..shape.cells().min(4) as u8).map(cell_name).collect();
                return Err(TupleSetError::NotForShape {
                    name: (*name).to_owned(),
                    shape,
                    example,
                });
            }
            Some((_, patterns)) => (*patterns).to_owned(),
            None if text.trim() == LINES => lines(shape),
            None => text.to_lowercase(),
        };
        let mut patterns: Vec<Pattern> = Vec::new();
        for word in text.split_whitespace() {
            if patterns.len() == Self::MAX_PATTERNS {
                return Err(TupleSetError::TooMany);
            }
            let named = NAMED_SETS.iter().find(|(name, _)| *name == word);
            if let Some((name, patterns)) = named.filter(|_| shape == Shape::FOUR) {
                let name = (*name).to_owned();
                return Err(TupleSetError::NameAmongPatterns { name, patterns });
            }
            let pattern = Pattern::parse(word, shape)?;
            if patterns.contains(&pattern) {
                return Err(TupleSetError::PatternTwice {
                    pattern: word.to_owned(),
                });
            }
            patterns.push(pattern);
        }
        if patterns.is_empty() {
            return Err(TupleSetError::Empty);
        }
        Ok(Self {
            patterns,
            shape,
            symmetry,
            by_hint: false,
            stages: Stages::default(),
            redundant: 0,
        })
    }

    /// The same tuples with redundant ones, each inside one of them: see `fold.rs`. An empty text
    /// adds none.
    ///
    /// # Errors
    /// When one is invalid, inside none of the tuples, or there already.
    pub fn with_redundant(mut self, text: &str) -> Result<Self, TupleSetError> {
        if text.trim().is_empty() {
            return Ok(self);
        }
        let small = Self::parse(text, self.shape, self.symmetry)?;
        let tile_bits = self.tile_bits();
        for mut pattern in small.patterns {
            pattern.tile_bits = tile_bits;
            if self.patterns.contains(&pattern) {
                let pattern = pattern.to_string();
                return Err(TupleSetError::PatternTwice { pattern });
            }
            self.patterns.push(pattern);
            self.redundant += 1;
        }
        if self.patterns.len() > Self::MAX_PATTERNS {
            return Err(TupleSetError::TooMany);
        }
        match self.folds() {
            Ok(_) => Ok(self),
            Err(number) => Err(TupleSetError::NotInside {
                pattern: self.patterns[number].to_string(),
            }),
        }
    }

    /// The redundant tuples as text, which [`TupleSet::with_redundant`] reads back.
    pub fn redundant(&self) -> String {
        words(&self.patterns[self.kept()..])
    }

    /// The number of tuples that are not redundant; they come first.
    pub fn kept(&self) -> usize {
        self.patterns.len() - self.redundant
    }

    /// The bits of a cell in the index of every table.
    pub fn tile_bits(&self) -> usize {
        self.patterns.first().map_or(TILE_BITS, Pattern::tile_bits)
    }

    /// The same tuples with this number of bits for each cell in the index of a table.
    pub fn with_tile_bits(mut self, tile_bits: usize) -> Self {
        for pattern in &mut self.patterns {
            pattern.tile_bits = tile_bits;
        }
        self
    }

    /// The same tuples, with or without separate tables for each hint.
    pub fn with_hints(self, by_hint: bool) -> Self {
        Self { by_hint, ..self }
    }

    /// Whether each hint selects its own tables.
    pub fn by_hint(&self) -> bool {
        self.by_hint
    }

    /// The same tuples with these stages, each of which has its own tables.
    pub fn with_stages(self, stages: Stages) -> Self {
        Self { stages, ..self }
    }

    /// The stages of the game, each with its own tables.
    pub fn stages(&self) -> &Stages {
        &self.stages
    }

    /// The number of tables of each tuple in a stage.
    pub fn banks_of_a_stage(&self) -> usize {
        if self.by_hint { ChanceState::HINTS } else { 1 }
    }

    /// The number of tables of each tuple.
    pub fn banks(&self) -> usize {
        self.stages.count() * self.banks_of_a_stage()
    }

    /// The name of each table with its number of weights: the tuples; with hints, all tuples for
    /// the first hint, all for the second, ...; then the same for the second stage, ...
    pub fn tables(&self) -> impl Iterator<Item = (String, usize)> {
        let hints = self.banks_of_a_stage();
        let banks = (0..self.banks()).map(move |bank| (bank / hints, bank % hints + 1));
        banks.flat_map(move |(stage, hint)| {
            self.patterns.iter().map(move |pattern| {
                let mut name = pattern.to_string();
                if self.by_hint {
                    name += &format!("+{hint}");
                }
                if stage > 0 {
                    name += &format!("@{stage}");
                }
                (name, pattern.weights())
            })
        })
    }

    /// The number and the name of each table of a model, and its number of weights: those of the
    /// tuples that are not redundant.
    pub fn kept_tables(&self) -> impl Iterator<Item = (usize, (String, usize))> {
        let all = self.tables().enumerate();
        all.filter(|(number, _)| number % self.patterns.len() < self.kept())
    }

    /// The largest number of tuples in a set: ten times that of any published network.
    pub const MAX_PATTERNS: usize = 256;

    /// The tuples.
    pub fn patterns(&self) -> &[Pattern] {
        &self.patterns
    }

    /// The board.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// Whether the symmetries of the board share each table.
    pub fn symmetry(&self) -> bool {
        self.symmetry
    }

    /// The number of weights in all tables.
    pub fn weights(&self) -> u64 {
        let bank: u64 = self
            .patterns
            .iter()
            .map(|pattern| pattern.weights() as u64)
            .sum();
        bank * self.banks() as u64
    }
}

/// The patterns that are not redundant, separated by spaces: [`TupleSet::parse`] reads it back.
impl fmt::Display for TupleSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&words(&self.patterns[..self.kept()]))
    }
}

/// Patterns, separated by spaces.
fn words(patterns: &[Pattern]) -> String {
    let words: Vec<String> = patterns.iter().map(ToString::to_string).collect();
    words.join(" ")
}

fn lines(shape: Shape) -> String {
    let (rows, cols) = (shape.rows(), shape.cols());
    let row = |r: usize| {
        (0..cols)
            .map(move |c| cell_name((r * cols + c) as u8))
            .collect::<String>()
    };
    let col = |c: usize| {
        (0..rows)
            .map(move |r| cell_name((r * cols + c) as u8))
            .collect::<String>()
    };
    (0..rows)
        .map(row)
        .chain((0..cols).map(col))
        .collect::<Vec<_>>()
        .join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> TupleSetError {
        TupleSet::parse(text, Shape::FOUR, true).unwrap_err()
    }

    #[test]
    fn invalid_sets_are_refused_with_the_reason() {
        assert_eq!(error("  "), TupleSetError::Empty);
        assert_eq!(
            error("012 x12"),
            TupleSetError::NotACell {
                pattern: "x12".into(),
                found: 'x'
            }
        );
        assert_eq!(
            error("012é"),
            TupleSetError::NotACell {
                pattern: "012é".into(),
                found: 'é'
            }
        );
        let outside = TupleSetError::CellOutside {
            pattern: "01g".into(),
            cell: 16,
            shape: Shape::FOUR,
        };
        assert_eq!(error("01g"), outside);
        assert_eq!(
            error("0120"),
            TupleSetError::CellTwice {
                pattern: "0120".into(),
                cell: '0'
            }
        );
        assert_eq!(
            error("012345678"),
            TupleSetError::TooLong {
                pattern: "012345678".into(),
                found: 9
            }
        );
        assert_eq!(
            error("012 345 012"),
            TupleSetError::PatternTwice {
                pattern: "012".into()
            }
        );
        let cells = || (0..16).map(|cell| format!("{cell:x}"));
        let pairs = cells().flat_map(|a| cells().map(move |b| (a.clone(), b)));
        let pairs = pairs.filter(|(a, b)| a != b).map(|(a, b)| a + &b);
        let many: Vec<String> = cells().chain(pairs).chain(["012".to_owned()]).collect();
        assert_eq!(many.len(), 257);
        assert_eq!(error(&many.join(" ")), TupleSetError::TooMany);
        assert!(TupleSet::parse(&many[..256].join(" "), Shape::FOUR, true).is_ok());
        let small = TupleSet::parse("4x6", Shape::new(3, 3).unwrap(), true).unwrap_err();
        assert!(small.to_string().contains("`lines`"), "{small}");
    }

    #[test]
    fn upper_case_and_lines_are_accepted() {
        let set = TupleSet::parse("569A", Shape::FOUR, true).unwrap();
        assert_eq!(set.to_string(), "569a");
        let lines = TupleSet::parse("lines", Shape::FOUR, false).unwrap();
        assert_eq!(lines, TupleSet::parse("8x4", Shape::FOUR, false).unwrap());
        let small = TupleSet::parse("lines", Shape::new(2, 3).unwrap(), false).unwrap();
        assert_eq!(small.to_string(), "012 345 03 14 25");
    }

    #[test]
    fn every_named_set_is_well_formed() {
        for (name, _) in NAMED_SETS {
            TupleSet::parse(name, Shape::FOUR, true).unwrap();
        }
    }
}
