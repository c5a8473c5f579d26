//! Weights of TDL2048+ (`.w`), as that program reads and writes them.
//!
//! A file is a sequence of sections; each is a list of tables. A table is a name and fields of
//! numbers: the weights, then with TC the sums E and A in one field of twice the length.
//! docs/formats/tdl.md specifies the bytes. The description keeps every detail of a file, so that
//! writing it again gives the same bytes.

use std::io::{Read, Seek};

use serde::{Deserialize, Serialize};

use super::floats::Float;
use super::foreign::{TensorSpan, hex};
use super::scan::{FileFrame, Scan, ScanError};

/// The tag byte of a section of weights.
const WEIGHTS: u8 = b'w';
/// The tag byte of a transposition table.
const CACHE: u8 = b'c';
/// The table version that we write.
const VERSION: u8 = 4;
/// The largest number of fields of a table: current files have two.
const MOST_FIELDS: usize = 16;
/// The digits of a name with a stage.
const DIGITS: usize = 8;

/// All sections of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tdl {
    /// The sections, in order.
    pub sections: Vec<TdlSection>,
}

/// Tables that were saved together.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TdlSection {
    /// Whether a tag byte `w` precedes it.
    pub tag: Tag,
    /// The tables, in order.
    pub tables: Vec<TdlTable>,
}

/// Whether a tag byte precedes a section. TDL2048+ omits it in files whose extension starts with a
/// `w`, and requires it in others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tag {
    /// As the file name requires.
    #[default]
    ByName,
    /// Always, whatever the file name.
    Always,
    /// Never, whatever the file name.
    Never,
}

/// A table.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TdlTable {
    /// The version of its encoding: 4, or 0 to 2 in files from before December 2016.
    pub version: u8,
    /// Its name in the file; four bytes before version 4.
    #[serde(with = "hex")]
    pub name: Vec<u8>,
    /// The name of its tensor in our files.
    pub tensor: String,
    /// Its numbers.
    pub fields: Vec<Field>,
}

/// Numbers of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Field {
    /// Bytes of each number.
    pub width: u16,
    /// How many there are.
    pub count: u64,
    /// The offset of the first byte in the file.
    #[serde(skip)]
    pub at: u64,
}

impl Field {
    /// `count` numbers, without an offset.
    pub fn new(float: Float, count: u64) -> Self {
        Self {
            width: float.width() as u16,
            count,
            at: 0,
        }
    }

    /// The float type, if the width is one of a float.
    pub fn float(&self) -> Option<Float> {
        Float::of_width(self.width.into())
    }

    /// Its length in bytes.
    pub fn bytes(&self) -> u64 {
        u64::from(self.width).saturating_mul(self.count)
    }
}

impl Tdl {
    /// Scans a file of `size` bytes. `by_name` says whether its extension starts with a `w`.
    ///
    /// # Errors
    /// When the file has another format, or is damaged.
    pub fn scan(
        file: &mut (impl Read + Seek),
        size: u64,
        by_name: bool,
    ) -> Result<Self, ScanError> {
        let mut scan = Scan::new(file, size)?;
        let mut tdl = Self::default();
        let mut tables = 0;
        while !scan.is_at_end() || tables == 0 {
            let section = TdlSection::scan(&mut scan, by_name, tables)?;
            tables += section.tables.len();
            tdl.sections.push(section);
        }
        Ok(tdl)
    }

    /// A file of these tables, as TDL2048+ writes it.
    pub fn new(tables: Vec<TdlTable>) -> Self {
        let tag = Tag::ByName;
        Self {
            sections: vec![TdlSection { tag, tables }],
        }
    }

    /// Lays out the file: returns everything but its numbers, and sets their offsets. `by_name` as
    /// in [`Tdl::scan`].
    pub fn lay_out(&mut self, by_name: bool) -> FileFrame {
        let mut frame = FileFrame::default();
        for section in &mut self.sections {
            let tagged = match section.tag {
                Tag::ByName => !by_name,
                Tag::Always => true,
                Tag::Never => false,
            };
            if tagged {
                frame.put(&[WEIGHTS]);
            }
            frame.put(&[0]);
            frame.put(&(section.tables.len() as u32).to_le_bytes());
            section
                .tables
                .iter_mut()
                .for_each(|t| t.lay_out(&mut frame));
        }
        frame
    }

    /// All tables, in order.
    pub fn tables(&self) -> impl Iterator<Item = &TdlTable> {
        self.sections.iter().flat_map(|section| &section.tables)
    }

    pub(super) fn tables_mut(&mut self) -> impl Iterator<Item = &mut TdlTable> {
        let sections = self.sections.iter_mut();
        sections.flat_map(|section| &mut section.tables)
    }
}

impl TdlSection {
    fn scan<F: Read + Seek>(
        scan: &mut Scan<'_, F>,
        by_name: bool,
        before: usize,
    ) -> Result<Self, ScanError> {
        let what = "the kind of a section";
        let mut first = scan.u8(what)?;
        let tagged = first == WEIGHTS;
        if first == CACHE {
            let found = "`c`, a transposition table";
            return Err(scan.unexpected(
                1,
                what,
                found,
                "`w`, weights: no other section can be read",
            ));
        }
        if tagged {
            first = scan.u8("the version of a section")?;
        }
        if first != 0 {
            return Err(scan.unexpected(1, "the version of a section", first, "0"));
        }
        let count = u64::from(scan.u32("the number of tables")?);
        let count = scan.tables(4, count, before)?;
        let mut tables = Vec::new();
        for number in 1..=count {
            scan.table = Some(before + number);
            tables.push(TdlTable::scan(scan)?);
        }
        scan.table = None;
        let tag = match tagged {
            _ if tagged != by_name => Tag::ByName,
            true => Tag::Always,
            false => Tag::Never,
        };
        Ok(Self { tag, tables })
    }
}

impl TdlTable {
    /// A table for this pattern, with the name that TDL2048+ gives it. `stage` is for tables of
    /// several stages: it precedes the pattern, with its digits reversed, in a name of eight digits.
    pub fn new(pattern: &str, stage: Option<u32>, fields: Vec<Field>) -> Option<Self> {
        let tensor = match stage {
            None | Some(0) => pattern.to_owned(),
            Some(stage) => format!("{pattern}@{stage}"),
        };
        let digits = match stage {
            None => pattern.to_owned(),
            Some(stage) => {
                let width = DIGITS
                    .checked_sub(pattern.len())
                    .filter(|&width| width > 0)?;
                let stage = format!("{stage:0width$x}");
                let stage: String = stage.chars().rev().collect();
                (stage.len() == width).then(|| stage + pattern)?
            }
        };
        let number = u32::from_str_radix(&digits, 16).ok()?;
        let mut name = number.to_le_bytes().to_vec();
        name.extend((digits.len() as u16).to_le_bytes());
        name.extend([0; 2]);
        Some(Self {
            version: VERSION,
            name,
            tensor,
            fields,
        })
    }

    fn scan<F: Read + Seek>(scan: &mut Scan<'_, F>) -> Result<Self, ScanError> {
        let version = scan.u8("the version")?;
        let (name, fields) = match version {
            VERSION => (
                scan.take::<8>("the name")?.to_vec(),
                Self::scan_fields(scan)?,
            ),
            0..=2 => {
                let name = scan.take::<4>("the name")?.to_vec();
                let count = scan.u64("the number of weights")?;
                let count = scan.not_empty(count)?;
                let width = match version {
                    0 => 4,
                    1 => 8,
                    _ => weights_width(scan)?,
                };
                (name, vec![scan_field(scan, width, count)?])
            }
            _ => {
                let expected = "4, or 0 to 2 in old files";
                return Err(scan.unexpected(1, "the version", version, expected));
            }
        };
        Ok(Self {
            version,
            name,
            tensor: String::new(),
            fields,
        })
    }

    fn scan_fields<F: Read + Seek>(scan: &mut Scan<'_, F>) -> Result<Vec<Field>, ScanError> {
        let mut width = weights_width(scan)?;
        let mut fields = Vec::new();
        while width != 0 {
            if fields.len() == MOST_FIELDS {
                return Err(scan.unexpected(
                    2,
                    "the end of the fields",
                    width,
                    "0 after 16 fields",
                ));
            }
            let count = scan.u64("the number of weights")?;
            let count = if fields.is_empty() {
                scan.not_empty(count)?
            } else {
                count
            };
            fields.push(scan_field(scan, width, count)?);
            width = scan.u16("the width of the next numbers")?;
        }
        Ok(fields)
    }

    fn lay_out(&mut self, frame: &mut FileFrame) {
        frame.put(&[self.version]);
        frame.put(&self.name);
        for field in &mut self.fields {
            match self.version {
                0 | 1 => frame.put(&field.count.to_le_bytes()),
                2 => {
                    frame.put(&field.count.to_le_bytes());
                    frame.put(&field.width.to_le_bytes());
                }
                _ => {
                    frame.put(&field.width.to_le_bytes());
                    frame.put(&field.count.to_le_bytes());
                }
            }
            field.at = frame.leave(field.bytes());
        }
        if self.version == VERSION {
            frame.put(&[0; 2]);
        }
    }

    /// Whether it can be written: the description may come from an edited file.
    pub(super) fn is_sound(&self) -> bool {
        let floats = |field: &Field| field.float().is_some() && field.count > 0;
        let (Some(weights), fields) = (self.fields.first(), self.fields.len()) else {
            return false;
        };
        let fits = match self.version {
            0 => self.name.len() == 4 && fields == 1 && weights.width == 4,
            1 => self.name.len() == 4 && fields == 1 && weights.width == 8,
            2 => self.name.len() == 4 && fields == 1,
            VERSION => self.name.len() == 8 && fields <= MOST_FIELDS,
            _ => false,
        };
        fits && floats(weights) && self.fields.iter().all(|field| field.width > 0)
    }

    /// Its name as TDL2048+ displays it: digits, or a short text.
    pub fn label(&self) -> String {
        let length = self.fields.first().map_or(0, |field| field.count);
        let digits = length.max(1).ilog2() as usize / 4;
        match *self.name {
            [a, b, c, d, low, high, 0, 0] => {
                let number = u32::from_le_bytes([a, b, c, d]);
                let told = usize::from(u16::from_le_bytes([low, high]));
                let mut width = if told == 0 { digits } else { told };
                // A plausible name has no more digits than a number.
                if width < format!("{number:x}").len() || width > 8 {
                    width = 8;
                }
                format!("{number:0width$x}")
            }
            [a, b, c, d] => {
                let number = u32::from_le_bytes([a, b, c, d]);
                format!("{number:0digits$x}", digits = digits.min(8))
            }
            _ => {
                let end = self.name.iter().position(|&byte| byte == b' ');
                let text = &self.name[..end.unwrap_or(self.name.len())];
                text.escape_ascii().to_string()
            }
        }
    }

    /// The pattern and the stage, from its name and its length.
    pub fn pattern(&self) -> Option<(String, u32)> {
        let count = self.fields.first()?.count;
        let bits = count.checked_ilog2()? as usize;
        let label = self.label();
        let cells = bits / 4;
        let is_table = count.is_power_of_two() && bits.is_multiple_of(4) && cells > 0;
        if !is_table || !label.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return None;
        }
        let (stage, pattern) = label.split_at_checked(label.len().checked_sub(cells)?)?;
        if stage.is_empty() {
            return Some((label, 0));
        }
        // In a name of eight digits, the stage precedes the pattern, with its digits reversed.
        let stage: String = stage.chars().rev().collect();
        let stage = u32::from_str_radix(&stage, 16).ok()?;
        (label.len() == 8).then(|| (pattern.to_owned(), stage))
    }

    /// Its spans of numbers, with suffixes to the tensor's name: the weights, both sums of TC, and
    /// unknown fields as bytes.
    pub(super) fn spans(&self) -> Vec<TensorSpan> {
        let weights = self.fields.first().copied();
        let mut spans = Vec::new();
        for (number, field) in self.fields.iter().enumerate() {
            let Field { width, count, at } = *field;
            let name = |suffix: &str| format!("{}{suffix}", self.tensor);
            let float = field.float();
            match (number, weights) {
                (0, _) => spans.push(TensorSpan::new(name(""), float, count, at)),
                (1, Some(weights))
                    if width == weights.width && Some(count) == weights.count.checked_mul(2) =>
                {
                    let half = weights.bytes();
                    spans.push(TensorSpan::new(name(".e"), float, weights.count, at));
                    spans.push(TensorSpan::new(
                        name(".a"),
                        float,
                        weights.count,
                        at.saturating_add(half),
                    ));
                }
                _ => spans.push(TensorSpan::new(
                    name(&format!(".{number}")),
                    None,
                    field.bytes(),
                    at,
                )),
            }
        }
        spans
    }
}

fn weights_width<F: Read + Seek>(scan: &mut Scan<'_, F>) -> Result<u16, ScanError> {
    let width = scan.u16("the width of a weight")?;
    if Float::of_width(width.into()).is_some() {
        return Ok(width);
    }
    Err(scan.unexpected(2, "the width of a weight", width, "2, 4 or 8 bytes"))
}

fn scan_field<F: Read + Seek>(
    scan: &mut Scan<'_, F>,
    width: u16,
    count: u64,
) -> Result<Field, ScanError> {
    let at = scan.numbers(width.into(), count)?;
    Ok(Field { width, count, at })
}
