//! Converts weight files between programs.
//!
//! A file is a small frame and large spans of numbers. So a conversion lays out the new frame and
//! then copies the numbers from their old offsets to their new ones, in pieces on every core. Our
//! files keep a description of the original frame in their metadata, so that converting back gives
//! the same bytes.

mod carry;
mod input;
mod rebase;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use afterstate::format::demo::{self, Demo};
use afterstate::format::floats::Float;
pub use afterstate::format::foreign::Program;
use afterstate::format::foreign::{Foreign, TensorSpan};
use afterstate::format::framework::{self, Framework};
use afterstate::format::native::{self, Metadata, NewHeader};
use afterstate::format::scan::FileFrame;
use afterstate::format::tdl::{self, Tdl};
use afterstate::game::Shape;
use serde::{Deserialize, Serialize};

use crate::boxed;
use crate::control::{Control, Job, Status, Task, Unit};
use crate::disk::{AtomicFile, can_be_written};
pub use crate::error::{ConvertError, Kind};
use crate::foreign::{Weights, begins_with_w, extension};
use crate::recipe::ValueOf;
use crate::report::ModelInfo;
use crate::{LabError, Remedy};
use carry::Copy;
use input::{SourceFile, Tuple, WIDE};

/// The options of a conversion.
pub struct ConvertOptions<'a> {
    /// The file to read, or a run folder.
    pub from: &'a Path,
    /// The file to write.
    pub to: &'a Path,
    /// The kind to write, if the file name does not determine it.
    pub kind: Option<Kind>,
    /// The patterns of the tables, for files that do not declare them.
    pub patterns: Option<&'a str>,
    /// Where their further stages begin, as sums of different tiles, for files that have several.
    pub stages: Option<&'a [u64]>,
    /// The game they were trained for, which files of other programs do not declare.
    pub game: Option<&'a str>,
    /// Whether all symmetries of the board share the tables, which they do not declare either.
    pub symmetry: bool,
    /// The number of tiles that an index of the new tables tells apart, if not 16.
    pub base: Option<u64>,
    /// Whether to leave out what only learning needs.
    pub weights_only: bool,
    /// Whether to overwrite any file.
    pub force: bool,
    /// Events, cancellation and memory.
    pub control: &'a Control,
}

/// The result of a conversion; the JSON of `convert --json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConvertReport {
    /// What was read.
    pub from: WeightFile,
    /// What was written.
    pub to: WeightFile,
    /// The model that was read; `None` if the file does not say what it plays.
    #[serde(default)]
    pub model: Option<ModelInfo>,
    /// The number of tables.
    pub tables: usize,
    /// The number of weights.
    pub weights: u64,
    /// Whether the sums of TC are included.
    pub sums: bool,
    /// The length of the new file.
    pub bytes: u64,
    /// What the new format cannot store.
    pub left_out: Vec<String>,
    /// Why the new file, if it is a model of ours, cannot be used to play.
    pub unplayable: Option<String>,
}

/// A weight file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WeightFile {
    /// Its path, as it was given.
    pub path: PathBuf,
    /// Its format.
    pub format: Kind,
    /// The SHA-256 digest of its content, in hexadecimal digits.
    #[serde(default)]
    pub sha256: String,
}

/// Reads one file and replaces another atomically.
///
/// # Errors
/// When a file cannot be read or written, is damaged, or has content that the new format cannot
/// store.
pub fn convert(options: &ConvertOptions<'_>) -> Result<ConvertReport, LabError> {
    let job = Job {
        task: Task::Convert,
        subject: options.from.display().to_string(),
        total: None,
        unit: Unit::Bytes,
    };
    options.control.run(
        job,
        || convert_silently(options),
        |done| match done {
            Ok(report) => Some((Status::Finished, report.bytes)),
            Err(LabError::Convert(ConvertError::Stopped)) => Some((Status::Stopped, 0)),
            Err(_) => None,
        },
    )
}

/// The same without the events of its start and its end.
fn convert_silently(options: &ConvertOptions<'_>) -> Result<ConvertReport, LabError> {
    let mut input = SourceFile::open(options)?;
    let free = can_be_written(options.to, |path| options.force || is_replaceable(path));
    if !free.map_err(LabError::file("write", options.to))? {
        return Err(ConvertError::Taken(options.to.to_owned()).into());
    }
    let kind = match asked_kind(options) {
        Some(kind) => kind,
        None => match input.original() {
            Some(original) if input.kind == Kind::Native => Kind::Of(original.program()),
            _ => return Err(ConvertError::UnknownKind(options.to.to_owned()).into()),
        },
    };
    if let Some(base) = options.base {
        if kind != Kind::Of(Program::Framework) {
            return Err(ConvertError::Base { base, kind }.into());
        }
        input.fits(Program::Framework, false, options)?;
        input = input.rebased(rebase::USUAL, base)?;
    }
    let mut output = Output::new(&input, kind, options)?;
    // Before the file is replaced, which may be the same one.
    output.report.from.sha256 = boxed::sha256_of(&input.path)?;
    output.report.model = ModelInfo::of_file(&input.path).ok();
    let written = LabError::file("write", options.to);
    let file = AtomicFile::create(options.to).map_err(LabError::file("write", options.to))?;
    output.write(&input, &file, options)?;
    file.commit().map_err(written)?;
    output.report.to.sha256 = boxed::sha256_of(options.to)?;
    Ok(output.report)
}

/// The kind that was asked for, or that the name of the new file implies.
fn asked_kind(options: &ConvertOptions<'_>) -> Option<Kind> {
    options.kind.or_else(|| kind_of(options.to))
}

/// The kind that a file name implies.
fn kind_of(path: &Path) -> Option<Kind> {
    let name = path.file_name()?.to_str()?;
    match (name, extension(path)) {
        (_, "safetensors") => Some(Kind::Native),
        ("2048.bin", _) => Some(Kind::Of(Program::Demo)),
        ("weights.bin", _) => Some(Kind::Of(Program::Framework)),
        _ => begins_with_w(path).then_some(Kind::Of(Program::Tdl)),
    }
}

/// Whether a file holds only weights: a checkpoint can be resumed, and is not overwritten.
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

/// A file to write.
struct Output {
    /// Of a file of ours; it is written last.
    header: Option<NewHeader>,
    frame: Vec<(u64, Vec<u8>)>,
    copies: Vec<Copy>,
    report: ConvertReport,
}

impl Output {
    fn new(input: &SourceFile, kind: Kind, options: &ConvertOptions<'_>) -> Result<Self, LabError> {
        let original = input.original().filter(|_| !options.weights_only);
        let report = input.report(kind, options);
        let output = match (kind, original) {
            (Kind::Native, Some(original)) => {
                let mut metadata = input.metadata.clone();
                metadata.insert("foreign".to_owned(), json(original));
                let spans = spans(original);
                Self::ours(&metadata, input.spans.clone(), spans, report)
            }
            (Kind::Of(program), Some(original)) if original.program() == program => {
                let mut copy = original.clone();
                let frame = copy.lay_out(begins_with_w(options.to));
                Self::of_frame(&frame, input.spans.clone(), spans(&copy), report)
            }
            (Kind::Native, None) => Self::tables_of_ours(input, report, options)?,
            (Kind::Of(program), _) => Self::of_tables(input, program, report, options)?,
        };
        Ok(output)
    }

    fn ours(
        metadata: &Metadata,
        from: Vec<TensorSpan>,
        mut to: Vec<TensorSpan>,
        report: ConvertReport,
    ) -> Self {
        let (header, end) = native::lay_out_spans(metadata, &mut to);
        Self {
            header: Some(header),
            ..Self::new_from(Vec::new(), end, from, to, report)
        }
    }

    fn of_frame(
        frame: &FileFrame,
        from: Vec<TensorSpan>,
        to: Vec<TensorSpan>,
        report: ConvertReport,
    ) -> Self {
        Self::new_from(frame.pieces().to_vec(), frame.end(), from, to, report)
    }

    fn new_from(
        frame: Vec<(u64, Vec<u8>)>,
        end: u64,
        from: Vec<TensorSpan>,
        to: Vec<TensorSpan>,
        mut report: ConvertReport,
    ) -> Self {
        report.bytes = end;
        let copies = from.into_iter().zip(to);
        Self {
            header: None,
            frame,
            copies: copies.map(|(from, to)| Copy { from, to }).collect(),
            report,
        }
    }

    /// Tables with patterns as a model of ours.
    fn tables_of_ours(
        input: &SourceFile,
        mut report: ConvertReport,
        options: &ConvertOptions<'_>,
    ) -> Result<Self, LabError> {
        let tuples = input.tuples(Kind::Native)?;
        let mut metadata = input.metadata.clone();
        for key in ["order", "progress", "foreign"] {
            metadata.remove(key);
        }
        let (mut from, mut to) = (Vec::new(), Vec::new());
        for tuple in tuples {
            for (span, suffix) in tuple
                .spans(!options.weights_only)
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
        report.sums &= !options.weights_only;
        report.left_out.clear();
        Ok(Self::ours(&metadata, from, to, report))
    }

    /// Tables with patterns as a new file of another program.
    fn of_tables(
        input: &SourceFile,
        program: Program,
        mut report: ConvertReport,
        options: &ConvertOptions<'_>,
    ) -> Result<Self, LabError> {
        let kind = Kind::Of(program);
        let tuples = input.tuples(kind)?;
        let keeps_sums = program == Program::Tdl && !options.weights_only;
        input.fits(program, keeps_sums, options)?;
        report.sums &= keeps_sums;
        let stages = input.player.tuples.stages().count() > 1;
        let no_digits = || ConvertError::NoPlace {
            path: input.path.clone(),
            kind,
            what: match stages {
                true => "the stages",
                false => "the patterns",
            }
            .to_owned(),
            reason: match stages {
                true => "a name of eight digits has those of the pattern and of the stage",
                false => "",
            },
            remedy: None,
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
                    let (pattern, stage) = tuple.stage();
                    let stage = stages.then_some(stage);
                    tdl::TdlTable::new(pattern, stage, fields)
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
                let wide = input.metadata.contains_key(WIDE);
                Foreign::Framework(Framework { wide, tables })
            }
        };
        let frame = foreign.lay_out(begins_with_w(options.to));
        let from = tuples.iter().flat_map(|tuple| tuple.spans(keeps_sums));
        Ok(Self::of_frame(
            &frame,
            from.collect(),
            spans(&foreign),
            report,
        ))
    }

    fn write(
        &self,
        input: &SourceFile,
        file: &AtomicFile,
        options: &ConvertOptions<'_>,
    ) -> Result<(), LabError> {
        let wrong = |error| LabError::file("write", options.to)(error);
        file.write_header(&[], self.report.bytes).map_err(wrong)?;
        for (at, piece) in &self.frame {
            file.write_at(piece, *at).map_err(wrong)?;
        }
        let sums = self.header.as_ref().map(NewHeader::sums);
        let to = (file, sums);
        carry::carry(input, &self.copies, to, self.report.to.format, options)?;
        match &self.header {
            Some(header) => file.write_at(&header.finish(), 0).map_err(wrong),
            None => Ok(()),
        }
    }
}

/// All spans of a file, in order.
fn spans(foreign: &Foreign) -> Vec<TensorSpan> {
    let entries = foreign.entries().into_iter();
    entries.flat_map(|entry| entry.spans).collect()
}

/// The description as JSON. This cannot fail, since all map keys are text.
fn json(foreign: &Foreign) -> String {
    serde_json::to_string(foreign).unwrap_or_default()
}

impl SourceFile {
    /// Refuses what another program would misinterpret.
    fn fits(
        &self,
        program: Program,
        keeps_sums: bool,
        options: &ConvertOptions<'_>,
    ) -> Result<(), LabError> {
        let refused = |what: String, reason, remedy| -> Result<(), LabError> {
            Err(ConvertError::NoPlace {
                path: self.path.clone(),
                kind: Kind::Of(program),
                what,
                reason,
                remedy,
            }
            .into())
        };
        let no_place = |what, reason| refused(what, reason, None);
        let without = |what: &str, remedy| refused(what.to_owned(), "", Some(remedy));
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
            return no_place(format!("the game {}", self.player.game), "it plays 2048");
        }
        let tuples = &self.player.tuples;
        if tuples.by_hint() {
            return no_place(
                "tables for each tile that is shown".to_owned(),
                "it has one table a tuple",
            );
        }
        let stages = tuples.stages().count();
        if stages > 1 && program != Program::Tdl {
            let what = format!("tables for {stages} stages of the game");
            return no_place(what, "it has one table a tuple");
        }
        if tuples
            .patterns()
            .iter()
            .any(|pattern| pattern.tile_bits() != 4)
        {
            let what = "tables that tell more than 16 tiles apart";
            return no_place(what.to_owned(), "it tells 16 apart");
        }
        if !self.player.tuples.symmetry() && options.symmetry {
            return without(
                "that the tables are looked up once, not for all symmetries of a board,",
                Remedy::WithoutSymmetry,
            );
        }
        if self.has_sums() && !keeps_sums && !options.weights_only {
            return without("the sums of TC", Remedy::WeightsOnly);
        }
        if self.has_more && !options.weights_only {
            return without(
                "numbers that are neither weights nor sums",
                Remedy::WeightsOnly,
            );
        }
        Ok(())
    }
}
