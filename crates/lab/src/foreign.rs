//! Detects the program that wrote a weight file by its content: each format matches from the first
//! byte to the last or not at all. Only the error message for a file that matches none uses its
//! name.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use afterstate::format::foreign::{Foreign, Program, TablePatterns};
use afterstate::format::packed;
use afterstate::format::scan::ScanError;
use afterstate::game::Shape;
use afterstate::ntuple::{Stages, TupleSet};

use crate::LabError;
use crate::boxed;
pub use crate::error::Unplayable;
use crate::metadata::{Fields, STAGES, THRESHOLDS};
use crate::packed::PackedTables;
use crate::tables::{StoredTables, open};

/// A file of weights, open for reading.
pub(crate) enum Weights {
    /// A model, a packed model or a checkpoint of ours.
    Ours(StoredTables),
    /// A file of another program.
    Theirs(ForeignWeights),
}

/// A weight file of another program.
pub(crate) struct ForeignWeights {
    pub(crate) file: File,
    pub(crate) foreign: Foreign,
}

impl Weights {
    /// Opens and scans a file, or a boxed network by its name; numbers are not read yet.
    pub(crate) fn open(path: &Path) -> Result<Self, LabError> {
        if let Some(boxed) = boxed::named(path) {
            return Ok(Self::Ours(boxed.open()?));
        }
        boxed::check_name(path)?;
        let wrong = |error| LabError::file("read", path)(error);
        let (mut file, size) = open(path).map_err(wrong)?;
        let start = start(&mut file).map_err(wrong)?;
        if start.starts_with(&packed::MAGIC) {
            let tables = PackedTables::read(&mut file, size);
            let tables = tables.map_err(LabError::model("read", path))?;
            return Ok(Self::Ours(StoredTables::of_packed(tables)));
        }
        if !is_safetensors(&start, size, path) {
            let mut errors = Vec::new();
            for program in Program::ALL {
                match Foreign::scan(program, &mut file, size, begins_with_w(path)) {
                    Ok(foreign) => return Ok(Self::Theirs(ForeignWeights { file, foreign })),
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
        StoredTables::open(path).map(Self::Ours)
    }
}

/// Whether a path is that of a packed model, damaged or not, or of a boxed network.
pub(crate) fn is_packed(path: &Path) -> bool {
    let starts_as_one = |path: &Path| -> std::io::Result<bool> {
        let (file, _) = open(path)?;
        let mut start = Vec::new();
        file.take(packed::MAGIC.len() as u64)
            .read_to_end(&mut start)?;
        Ok(start == packed::MAGIC)
    };
    boxed::named(path).is_some() || starts_as_one(path).unwrap_or(false)
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

/// The tuples of tables with these patterns, if an agent can use them. A file does not say where its
/// stages begin: `stages` are those that were given.
pub(crate) fn tuples(
    meaning: &TablePatterns,
    symmetry: bool,
    stages: Option<&Stages>,
) -> Result<TupleSet, Unplayable> {
    let found = meaning.iter().map(|(_, stage)| u64::from(*stage) + 1).max();
    let found = found.unwrap_or(1);
    let given = stages.map_or(1, |stages| stages.count() as u64);
    if found != given {
        return Err(match stages {
            None => Unplayable::Stages(found),
            Some(_) => Unplayable::OtherStages { found, given },
        });
    }
    let of_stage = |stage: u32| meaning.iter().filter(move |(_, of)| *of == stage);
    let patterns: Vec<&str> = of_stage(0).map(|(pattern, _)| &**pattern).collect();
    for stage in 1..found as u32 {
        let lacks = |pattern: &&&str| !of_stage(stage).any(|(found, _)| found == **pattern);
        if let Some(pattern) = patterns.iter().find(lacks) {
            let pattern = (*pattern).to_owned();
            return Err(Unplayable::NotInStage { pattern, stage });
        }
    }
    if let Some((pattern, stage)) = meaning.iter().find(|(p, _)| !patterns.contains(&&**p)) {
        let (pattern, stage) = (pattern.clone(), *stage);
        return Err(Unplayable::OnlyInStage { pattern, stage });
    }
    let tuples = TupleSet::parse(&patterns.join(" "), Shape::FOUR, symmetry)?;
    Ok(tuples.with_stages(stages.cloned().unwrap_or_default()))
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
    if fields.has(STAGES) && !fields.has(THRESHOLDS) {
        let stages = fields.get(STAGES, "a number", |text| text.parse().ok())?;
        if stages != 1 {
            return refused(Unplayable::Stages(stages));
        }
    }
    Ok(())
}
