//! Detects the program that wrote a weight file by its content: each format matches from the first
//! byte to the last or not at all. Only the error message for a file that matches none uses its
//! name.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use afterstate::format::foreign::{Foreign, Program, TablePatterns};
use afterstate::format::scan::ScanError;
use afterstate::game::Shape;
use afterstate::ntuple::TupleSet;

use crate::LabError;
pub use crate::error::Unplayable;
use crate::metadata::Fields;
use crate::tables::{Saved, open};

/// A file of weights, open for reading.
pub(crate) enum Weights {
    /// A model or a checkpoint of ours.
    Ours(Saved),
    /// A file of another program.
    Theirs(Theirs),
}

/// A weight file of another program.
pub(crate) struct Theirs {
    pub(crate) file: File,
    pub(crate) foreign: Foreign,
}

impl Weights {
    /// Opens and scans a file; numbers are not read yet.
    pub(crate) fn open(path: &Path) -> Result<Self, LabError> {
        let wrong = |error| LabError::file("read", path)(error);
        let (mut file, size) = open(path).map_err(wrong)?;
        let start = start(&mut file).map_err(wrong)?;
        if !is_safetensors(&start, size, path) {
            let mut errors = Vec::new();
            for program in Program::ALL {
                match Foreign::scan(program, &mut file, size, begins_with_w(path)) {
                    Ok(foreign) => return Ok(Self::Theirs(Theirs { file, foreign })),
                    Err(ScanError::Io(error)) => return Err(wrong(error)),
                    Err(error) => errors.push((program, error)),
                }
            }
            let likely = likely(&start, path);
            let told = errors
                .into_iter()
                .find(|(program, _)| Some(*program) == likely);
            if let Some((program, source)) = told {
                return Err(LabError::Weights {
                    path: path.to_owned(),
                    program: program.name(),
                    source,
                });
            }
        }
        Saved::open(path).map(Self::Ours)
    }
}

/// Whether TDL2048+ treats a file of this name as weights.
pub(crate) fn begins_with_w(path: &Path) -> bool {
    extension(path).starts_with('w')
}

pub(crate) fn extension(path: &Path) -> &str {
    path.extension().and_then(OsStr::to_str).unwrap_or_default()
}

/// The first bytes.
fn start(file: &mut File) -> std::io::Result<Vec<u8>> {
    let mut start = Vec::new();
    file.take(64).read_to_end(&mut start)?;
    file.seek(SeekFrom::Start(0))?;
    Ok(start)
}

/// Whether a file starts like safetensors: the length of the header, which is within the file, and
/// a brace. A table of TDL2048+ may have the brace in its name, but no such length before it.
fn is_safetensors(start: &[u8], size: u64, path: &Path) -> bool {
    let length = start.first_chunk().map(|bytes| u64::from_le_bytes(*bytes));
    let begins = length.is_some_and(|length| length < size) && start.get(8) == Some(&b'{');
    begins || extension(path) == "safetensors"
}

/// The program that a file probably belongs to, by its name and first bytes.
fn likely(start: &[u8], path: &Path) -> Option<Program> {
    let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
    let tuple = b"-tuple pattern";
    if start.windows(tuple.len()).any(|bytes| bytes == tuple) || name == "2048.bin" {
        Some(Program::Demo)
    } else if begins_with_w(path) || start.starts_with(b"w\0") || start.starts_with(b"c\0") {
        Some(Program::Tdl)
    } else {
        (extension(path) == "bin").then_some(Program::Framework)
    }
}

/// The tuples of tables with these patterns, if an agent can use them.
pub(crate) fn tuples(meaning: &TablePatterns, symmetry: bool) -> Result<TupleSet, Unplayable> {
    let stages = meaning.iter().map(|(_, stage)| u64::from(*stage) + 1).max();
    if let Some(stages) = stages.filter(|&stages| stages > 1) {
        return Err(Unplayable::Stages(stages));
    }
    let patterns: Vec<&str> = meaning.iter().map(|(pattern, _)| &**pattern).collect();
    let tuples = TupleSet::parse(&patterns.join(" "), Shape::FOUR, symmetry)?;
    Ok(tuples)
}

/// Refuses one of our files whose tables cannot be used to play.
pub(crate) fn playable(fields: &Fields<'_>, path: &Path) -> Result<(), LabError> {
    let refused = |source| {
        Err(LabError::Unplayable {
            path: path.to_owned(),
            source,
        })
    };
    if fields.has("unplayable") {
        let short = |text: &str| Some(text.chars().take(400).collect());
        return refused(Unplayable::FixedMove(fields.get(
            "unplayable",
            "a reason",
            short,
        )?));
    }
    if fields.has("stages") {
        let stages = fields.get("stages", "a number", |text| text.parse().ok())?;
        if stages != 1 {
            return refused(Unplayable::Stages(stages));
        }
    }
    Ok(())
}
