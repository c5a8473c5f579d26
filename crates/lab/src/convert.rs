//! Weights from one program's file into another's.
//!
//! A file is a frame, which is small, and runs of numbers, which are not. So a conversion lays out the new
//! frame and then carries the numbers from their old places to their new ones, a piece at a time on every
//! core. A file that goes back to the program it came from keeps its frame, and is the same byte for byte:
//! ours keep a description of it in their metadata.

mod carry;
mod error;
mod input;
#[cfg(test)]
mod tests;

use std::fmt;
use std::path::Path;

use afterstate::format::demo::{self, Demo};
use afterstate::format::floats::Float;
pub use afterstate::format::foreign::Program;
use afterstate::format::foreign::{Foreign, TensorSpan};
use afterstate::format::framework::{self, Framework};
use afterstate::format::native::{self, Metadata};
use afterstate::format::scan::Frame;
use afterstate::format::tdl::{self, Tdl};
use afterstate::game::Shape;

use crate::LabError;
use crate::control::Control;
use crate::disk::{Part, can_be_written};
use crate::foreign::{Unplayable, Weights, begins_with_w, extension};
use crate::recipe::ValueOf;
use carry::Copy;
pub use error::ConvertError;
use input::{Input, Tuple};

/// What a file may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Our own model.
    Native,
    /// Of another program.
    Of(Program),
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Native => "Afterstate",
            Self::Of(program) => program.name(),
        })
    }
}

/// What to convert, and how.
pub struct Plan<'a> {
    /// The file to read, or a run folder.
    pub from: &'a Path,
    /// The file to write.
    pub to: &'a Path,
    /// What to write, if its name does not say so.
    pub kind: Option<Kind>,
    /// The patterns of the tables, for files that name none.
    pub patterns: Option<&'a str>,
    /// The game they were trained for, which files of others do not say.
    pub game: Option<&'a str>,
    /// Whether all images of a board use the same tables, which they do not say either.
    pub symmetry: bool,
    /// Whether to leave out what only learning needs.
    pub weights_only: bool,
    /// Whether to write over any file.
    pub force: bool,
    /// Cancellation.
    pub control: &'a Control,
}

/// What was done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// What was read.
    pub from: Kind,
    /// What was written.
    pub to: Kind,
    /// How many tables.
    pub tables: usize,
    /// How many weights they have.
    pub weights: u64,
    /// Whether the sums of TC are with them.
    pub sums: bool,
    /// The length of the new file.
    pub bytes: u64,
    /// What the new file has no place for.
    pub left: Vec<&'static str>,
    /// Why the new file, if it is ours, cannot be played with.
    pub unplayable: Option<Unplayable>,
}

/// Reads one file and writes another, which appears whole or not at all.
///
/// # Errors
/// When a file cannot be read or written, is damaged, or holds what the other cannot.
pub fn convert(plan: &Plan<'_>) -> Result<Report, LabError> {
    let input = Input::open(plan)?;
    let free = can_be_written(plan.to, |path| plan.force || is_replaceable(path));
    if !free.map_err(LabError::file("write", plan.to))? {
        return Err(ConvertError::Taken(plan.to.to_owned()).into());
    }
    let kind = match plan.kind.or_else(|| kind_of(plan.to)) {
        Some(kind) => kind,
        None => match input.original() {
            Some(original) if input.kind == Kind::Native => Kind::Of(original.program()),
            _ => return Err(ConvertError::UnknownKind(plan.to.to_owned()).into()),
        },
    };
    let output = Output::new(&input, kind, plan)?;
    let written = LabError::file("write", plan.to);
    let part = Part::create(plan.to).map_err(LabError::file("write", plan.to))?;
    output.write(&input, &part, plan)?;
    part.appear().map_err(written)?;
    Ok(output.report)
}

/// What a file of this name should be.
fn kind_of(path: &Path) -> Option<Kind> {
    let name = path.file_name()?.to_str()?;
    match (name, extension(path)) {
        (_, "safetensors") => Some(Kind::Native),
        ("2048.bin", _) => Some(Kind::Of(Program::Demo)),
        ("weights.bin", _) => Some(Kind::Of(Program::Framework)),
        _ => begins_with_w(path).then_some(Kind::Of(Program::Tdl)),
    }
}

/// Whether a file holds weights and nothing else: a checkpoint can be gone on with, which a model cannot.
fn is_replaceable(path: &Path) -> bool {
    match Weights::open(path) {
        Ok(Weights::Theirs(_)) => true,
        Ok(Weights::Ours(saved)) => {
            let has = |key: &str| saved.metadata().contains_key(key);
            !has("order") && (has("tuples") || has("foreign"))
        }
        Err(_) => false,
    }
}

/// A file to be written.
struct Output {
    frame: Vec<(u64, Vec<u8>)>,
    copies: Vec<Copy>,
    report: Report,
}

impl Output {
    fn new(input: &Input, kind: Kind, plan: &Plan<'_>) -> Result<Self, LabError> {
        let original = input.original().filter(|_| !plan.weights_only);
        let report = input.report(kind);
        let output = match (kind, original) {
            (Kind::Native, Some(original)) => {
                let mut metadata = input.metadata.clone();
                metadata.insert("foreign".to_owned(), json(original));
                let spans = spans(original);
                Self::ours(&metadata, input.spans.clone(), spans, report)
            }
            (Kind::Of(program), Some(original)) if original.program() == program => {
                let mut copy = original.clone();
                let frame = copy.lay_out(begins_with_w(plan.to));
                Self::of_frame(&frame, input.spans.clone(), spans(&copy), report)
            }
            (Kind::Native, None) => Self::tables_of_ours(input, report, plan)?,
            (Kind::Of(program), _) => Self::of_tables(input, program, report, plan)?,
        };
        Ok(output)
    }

    fn ours(
        metadata: &Metadata,
        from: Vec<TensorSpan>,
        mut to: Vec<TensorSpan>,
        report: Report,
    ) -> Self {
        let (header, end) = native::lay_out_spans(metadata, &mut to);
        Self::new_from(vec![(0, header)], end, from, to, report)
    }

    fn of_frame(frame: &Frame, from: Vec<TensorSpan>, to: Vec<TensorSpan>, report: Report) -> Self {
        Self::new_from(frame.pieces().to_vec(), frame.end(), from, to, report)
    }

    fn new_from(
        frame: Vec<(u64, Vec<u8>)>,
        end: u64,
        from: Vec<TensorSpan>,
        to: Vec<TensorSpan>,
        mut report: Report,
    ) -> Self {
        report.bytes = end;
        let copies = from.into_iter().zip(to);
        Self {
            frame,
            copies: copies.map(|(from, to)| Copy { from, to }).collect(),
            report,
        }
    }

    /// Tables of patterns as a model of ours.
    fn tables_of_ours(
        input: &Input,
        mut report: Report,
        plan: &Plan<'_>,
    ) -> Result<Self, LabError> {
        let tuples = input.tuples(Kind::Native)?;
        let mut metadata = input.metadata.clone();
        for key in ["order", "progress", "foreign"] {
            metadata.remove(key);
        }
        let (mut from, mut to) = (Vec::new(), Vec::new());
        for tuple in tuples {
            for (span, suffix) in tuple
                .spans(!plan.weights_only)
                .into_iter()
                .zip(["", ".e", ".a"])
            {
                let tensor = format!("{}{suffix}", tuple.pattern);
                to.push(TensorSpan {
                    tensor,
                    ..span.clone()
                });
                from.push(span);
            }
        }
        report.sums &= !plan.weights_only;
        report.left.clear();
        Ok(Self::ours(&metadata, from, to, report))
    }

    /// Tables of patterns as a file of another program, which it would have written so.
    fn of_tables(
        input: &Input,
        program: Program,
        mut report: Report,
        plan: &Plan<'_>,
    ) -> Result<Self, LabError> {
        let kind = Kind::Of(program);
        let tuples = input.tuples(kind)?;
        let keeps_sums = program == Program::Tdl && !plan.weights_only;
        input.fits(program, keeps_sums, plan)?;
        report.sums &= keeps_sums;
        let no_digits = || ConvertError::NoPlace {
            path: input.path.clone(),
            kind,
            what: "the patterns".to_owned(),
            advice: "",
        };
        let mut foreign = match program {
            Program::Tdl => {
                let table = |tuple: &Tuple| {
                    let float = tuple.weights.float.unwrap_or(Float::F32);
                    let count = tuple.weights.count;
                    let mut fields = vec![tdl::Field::new(float, count)];
                    if keeps_sums && tuple.sums.is_some() {
                        fields.push(tdl::Field::new(float, 2 * count));
                    }
                    tdl::TdlTable::new(&tuple.pattern, fields)
                };
                let tables: Option<Vec<_>> = tuples.iter().map(table).collect();
                Foreign::Tdl(Tdl::new(tables.ok_or_else(no_digits)?))
            }
            Program::Demo => {
                let table = |t: &Tuple| demo::DemoTable::new(&t.pattern, t.weights.count);
                let tables = tuples.iter().map(table).collect();
                Foreign::Demo(Demo { tables })
            }
            Program::Framework => {
                let table = |t: &Tuple| framework::FrameworkTable::new(&t.pattern, t.weights.count);
                let tables = tuples.iter().map(table).collect();
                let wide = false;
                Foreign::Framework(Framework { wide, tables })
            }
        };
        let frame = foreign.lay_out(begins_with_w(plan.to));
        let from = tuples.iter().flat_map(|tuple| tuple.spans(keeps_sums));
        Ok(Self::of_frame(
            &frame,
            from.collect(),
            spans(&foreign),
            report,
        ))
    }

    fn write(&self, input: &Input, part: &Part, plan: &Plan<'_>) -> Result<(), LabError> {
        let wrong = |error| LabError::file("write", plan.to)(error);
        part.begin(&[], self.report.bytes).map_err(wrong)?;
        for (at, piece) in &self.frame {
            part.write_at(piece, *at).map_err(wrong)?;
        }
        carry::carry(input, &self.copies, part, self.report.to, plan)
    }
}

/// All numbers of a file, in order.
fn spans(foreign: &Foreign) -> Vec<TensorSpan> {
    let entries = foreign.entries().into_iter();
    entries.flat_map(|entry| entry.spans).collect()
}

/// A description that cannot fail to be text: it has no maps with other keys.
fn json(foreign: &Foreign) -> String {
    serde_json::to_string(foreign).unwrap_or_default()
}

impl Input {
    /// Refuses what a file of another program would be mistaken about.
    fn fits(&self, program: Program, keeps_sums: bool, plan: &Plan<'_>) -> Result<(), LabError> {
        let no_place = |what: String, advice| -> Result<(), LabError> {
            Err(ConvertError::NoPlace {
                path: self.path.clone(),
                kind: Kind::Of(program),
                what,
                advice,
            }
            .into())
        };
        if self.player.value == ValueOf::State {
            return no_place(
                "the values of states".to_owned(),
                "its values are those of afterstates",
            );
        }
        if self.player.shape() != Shape::FOUR {
            let board = self.player.shape();
            return no_place(format!("the {board} board"), "its boards are 4x4");
        }
        if self.player.game != crate::games::DEFAULT_GAME && program != Program::Framework {
            let advice = "it plays 2048";
            return no_place(format!("the game {}", self.player.game), advice);
        }
        let tuples = &self.player.tuples;
        if tuples.by_hint() {
            return no_place(
                "tables for each tile that is shown".to_owned(),
                "it has one table a tuple",
            );
        }
        if tuples
            .patterns()
            .iter()
            .any(|pattern| pattern.tile_bits() != 4)
        {
            let what = "tables that tell more than 16 tiles apart";
            return no_place(what.to_owned(), "it tells 16 apart");
        }
        if !self.player.tuples.symmetry() && plan.symmetry {
            return no_place(
                "that the tables are looked up once, not for all images of a board,".to_owned(),
                "add --no-symmetry if the program that reads it will do so",
            );
        }
        if self.has_sums() && !keeps_sums && !plan.weights_only {
            return no_place(
                "the sums of TC".to_owned(),
                "add --weights-only to leave them out",
            );
        }
        if self.has_more && !plan.weights_only {
            return no_place(
                "numbers that are neither weights nor sums".to_owned(),
                "add --weights-only to leave them out",
            );
        }
        Ok(())
    }
}
