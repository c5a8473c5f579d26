//! A weight file to convert: its kind, and the spans of its numbers.

use std::io;
use std::path::{Path, PathBuf};

use afterstate::Value;
use afterstate::format::floats::Float;
use afterstate::format::foreign::{Foreign, Program, TablePatterns, TensorSpan};
use afterstate::format::framework::Framework;
use afterstate::format::native::{Metadata, NativeError, StoredParts};
use afterstate::game::Shape;
use afterstate::ntuple::{
    AtomicF32, NetworkError, NetworkOptions, TupleSet, WeightCell, WeightPart, WeightTables,
};
use afterstate::policy::Ties;

use super::rebase::{self, Rebased};
use super::{
    ConvertError, ConvertOptions, ConvertReport, Kind, WeightFile, asked_kind, json, spans,
};
use crate::LabError;
use crate::agent::reserve;
use crate::disk::SharedFile;
use crate::error::FileKind;
use crate::foreign::{ForeignWeights, Unplayable, Weights, playable, tuples};
use crate::games;
use crate::memory::{MemoryBudget, Reservation};
use crate::metadata::{FORMAT, Fields, from_word, of_today};
use crate::model;
use crate::recipe::{Rule, ValueOf};
use crate::run;
use crate::spec::{CONVOLUTIONS, NTupleSpec, stages_of};
use crate::tables::StoredTables;

/// The metadata key of a model from a file whose number of tables takes eight bytes.
pub(super) const WIDE: &str = "wide";

/// An opened file and its description.
pub(super) struct SourceFile {
    pub(super) path: PathBuf,
    pub(super) kind: Kind,
    /// The source of the numbers.
    pub(super) source: Box<dyn ReadAt>,
    /// Its metadata as one of our files.
    pub(super) metadata: Metadata,
    /// The agent that it describes, as far as that is known.
    pub(super) player: NTupleSpec,
    /// The file of another program that it is, or was converted from.
    original: Option<Foreign>,
    /// The spans of that file's numbers.
    pub(super) spans: Vec<TensorSpan>,
    /// Its tables by patterns, or why there are none.
    tuples: Result<Vec<Tuple>, Unplayable>,
    /// Whether it has numbers of unknown meaning.
    pub(super) has_more: bool,
}

/// The table of a tuple.
pub(super) struct Tuple {
    pub(super) pattern: String,
    pub(super) weights: TensorSpan,
    pub(super) sums: Option<[TensorSpan; 2]>,
}

impl Tuple {
    /// The pattern alone, and the stage.
    pub(super) fn stage(&self) -> (&str, u32) {
        let (pattern, stage) = self.pattern.split_once('@').unwrap_or((&self.pattern, "0"));
        (pattern, stage.parse().unwrap_or_default())
    }

    /// Its spans, with or without the sums.
    pub(super) fn spans(&self, sums: bool) -> Vec<TensorSpan> {
        let sums = self.sums.iter().flatten().filter(|_| sums);
        std::iter::once(&self.weights)
            .chain(sums)
            .cloned()
            .collect()
    }
}

/// A source of bytes at offsets.
pub(super) trait ReadAt: Send + Sync {
    /// Reads bytes at an offset.
    fn read_at(&self, bytes: &mut [u8], at: u64) -> io::Result<()>;
}

impl ReadAt for SharedFile {
    fn read_at(&self, bytes: &mut [u8], at: u64) -> io::Result<()> {
        Self::read_at(self, bytes, at)
    }
}

impl SourceFile {
    /// Opens the input.
    pub(super) fn open(options: &ConvertOptions<'_>) -> Result<Self, LabError> {
        let path = if options.from.is_dir() {
            run::model_of(options.from)?
        } else {
            options.from.to_owned()
        };
        match Weights::open(&path)? {
            Weights::Theirs(theirs) => Self::of_theirs(path, theirs, options),
            Weights::Ours(_) if options.patterns.is_some() => {
                Err(ConvertError::HasPatterns(path).into())
            }
            Weights::Ours(_) if options.game.is_some() => Err(ConvertError::HasGame(path).into()),
            Weights::Ours(saved) => Self::of_ours(path, saved, options),
        }
    }

    /// The file of another program that it is, or was converted from.
    pub(super) fn original(&self) -> Option<&Foreign> {
        self.original.as_ref()
    }

    /// Its tables by patterns.
    pub(super) fn tuples(&self, kind: Kind) -> Result<&[Tuple], ConvertError> {
        let refused = |source: &Unplayable| ConvertError::NoTuples {
            path: self.path.clone(),
            kind,
            source: source.clone(),
        };
        self.tuples.as_deref().map_err(refused)
    }

    /// Whether any table has sums.
    pub(super) fn has_sums(&self) -> bool {
        let tuples = self.tuples.as_deref().unwrap_or_default();
        tuples.iter().any(|tuple| tuple.sums.is_some())
            || self.spans.iter().any(|span| span.tensor.ends_with(".e"))
    }

    /// The report of its conversion to this kind.
    pub(super) fn report(&self, to: Kind, options: &ConvertOptions<'_>) -> ConvertReport {
        let (tables, weights) = match (&self.original, &self.tuples) {
            (Some(original), _) => {
                let entries = original.entries();
                let weights = entries.iter().map(|entry| entry.weights().count);
                (entries.len(), weights.sum())
            }
            (None, Ok(tuples)) => {
                let weights = tuples.iter().map(|tuple| tuple.weights.count);
                (tuples.len(), weights.sum())
            }
            (None, Err(_)) => (0, 0),
        };
        let told = |key: &str, name| self.metadata.contains_key(key).then_some(name);
        let left = [
            told("recipe", "the recipe"),
            told("episodes", "the number of games it was trained for"),
        ];
        let file = |path: &Path, format| WeightFile {
            path: path.to_owned(),
            format,
            sha256: String::new(),
        };
        ConvertReport {
            from: file(options.from, self.kind),
            to: file(options.to, to),
            model: None,
            tables,
            weights,
            sums: self.has_sums(),
            bytes: 0,
            left_out: match to {
                Kind::Native => vec![],
                Kind::Of(_) => left.into_iter().flatten().map(str::to_owned).collect(),
            },
            unplayable: self.tuples.as_ref().err().map(ToString::to_string),
        }
    }

    fn of_theirs(
        path: PathBuf,
        theirs: ForeignWeights,
        options: &ConvertOptions<'_>,
    ) -> Result<Self, LabError> {
        let ForeignWeights { file, mut foreign } = theirs;
        let game = options.game.unwrap_or(games::DEFAULT_GAME);
        let rules = games::rules(game)?;
        if game != games::DEFAULT_GAME && foreign.program() != Program::Framework {
            return Err(ConvertError::HasGame(path).into());
        }
        if rules.tile_bits(Shape::FOUR) != 4 {
            let game = game.to_owned();
            return Err(ConvertError::TooManyTiles { path, game }.into());
        }
        let unplayable = |source: Unplayable| LabError::Unplayable {
            path: path.clone(),
            source,
        };
        let given = options.patterns.map(given).transpose()?;
        let meaning = foreign
            .table_patterns(given.as_deref())
            .map_err(Unplayable::from);
        // If patterns are given, or have to be, they must be right.
        let meaning = match meaning {
            Err(source) if given.is_some() || foreign.entries()[0].label.is_empty() => {
                return Err(unplayable(source));
            }
            meaning => meaning,
        };
        foreign.name_tables(meaning.as_ref().ok());
        let stages = options
            .stages
            .map(|sums| stages_of(game, Shape::FOUR, sums, false));
        let stages = stages.transpose()?;
        let played = meaning
            .clone()
            .and_then(|m| tuples(&m, options.symmetry, stages.as_ref()));
        // If stages are given, they must be right.
        let played = match played {
            Err(source) if stages.is_some() => return Err(unplayable(source)),
            played => played,
        };
        let entries = foreign.entries();
        let table = |(entry, (pattern, stage)): (_, &(String, u32))| match stage {
            0 => tuple(entry, pattern),
            stage => tuple(entry, &format!("{pattern}@{stage}")),
        };
        let tables = match (&played, &meaning) {
            (Ok(_), Ok(meaning)) => Ok(entries.iter().zip(meaning).map(table).collect()),
            (Err(error), _) | (_, Err(error)) => Err(error.clone()),
        };
        let player = NTupleSpec {
            game: game.to_owned(),
            // Not played with if it is not its own.
            tuples: match &played {
                Ok(tuples) => tuples.clone(),
                Err(_) => TupleSet::parse("0", Shape::FOUR, options.symmetry)?,
            },
            value: ValueOf::Afterstate,
            ties: Ties::Order,
            discount: 1.0,
        };
        let spans = spans(&foreign);
        let sums = spans.iter().any(|span| span.tensor.ends_with(".e"));
        let base = foreign.base();
        let input = Self {
            metadata: metadata(&player, sums, &foreign, &meaning, &played),
            path,
            kind: Kind::Of(foreign.program()),
            source: Box::new(SharedFile::new(file)),
            player,
            has_more: entries.iter().any(|entry| entry.has_more()),
            original: Some(foreign),
            spans,
            tuples: tables,
        };
        input.rebased(base, rebase::USUAL)
    }

    /// The same tables with indices of another base, without the description of the file they came
    /// from.
    pub(super) fn rebased(mut self, from: u64, to: u64) -> Result<Self, LabError> {
        let Ok(tuples) = self.tuples.as_mut().map_err(|_| ()) else {
            return Ok(self);
        };
        if from == to {
            return Ok(self);
        }
        let largest = games::rules(&self.player.game)?.largest_tile(self.player.shape());
        if u64::from(largest) >= from.min(to) {
            return Err(ConvertError::Tiles {
                path: self.path,
                base: from.min(to),
                game: self.player.game,
            }
            .into());
        }
        let mut source = Rebased::new(self.source);
        for tuple in tuples {
            let cells = tuple.stage().0.len() as u32;
            let sums = tuple.sums.iter_mut().flatten();
            for span in std::iter::once(&mut tuple.weights).chain(sums) {
                *span = source.add(span.clone(), cells, (from, to));
            }
        }
        self.source = Box::new(source);
        if matches!(
            self.original,
            Some(Foreign::Framework(Framework { wide: true, .. }))
        ) {
            // Of the description, all else follows from the tables.
            self.metadata.insert(WIDE.to_owned(), "true".to_owned());
        }
        self.original = None;
        self.spans.clear();
        self.metadata.remove("foreign");
        Ok(self)
    }

    fn of_ours(
        path: PathBuf,
        saved: StoredTables,
        options: &ConvertOptions<'_>,
    ) -> Result<Self, LabError> {
        let budget = options.control.memory();
        let metadata = of_today(saved.metadata());
        let wrong = |error| LabError::model("read", &path)(error);
        let fields = Fields::new(&metadata, &path, |path, error| {
            LabError::model("read", path)(error)
        });
        fields.check_format(FORMAT)?;
        if fields.has(CONVOLUTIONS) {
            return Err(LabError::Kind {
                path,
                wanted: FileKind::Tables,
                found: FileKind::Deep,
                expected: "the tables of tuples; other programs open this file as it is, see docs/formats/deep.md",
            });
        }
        // A checkpoint or a packed model is verified while its tables are read; numbers of a model are
        // copied in any order, so it is verified beforehand.
        let is_read_whole = fields.has("order") || saved.is_packed();
        if !is_read_whole {
            saved.verify().map_err(wrong)?;
        }
        let original = match fields.has("foreign") {
            true => Some(fields.get("foreign", "a description of a file", description)?),
            false => None,
        };
        let located = |span: &TensorSpan| saved.span_of(&span.tensor, span.float, span.count);
        let spans: Result<Vec<TensorSpan>, NativeError> = match &original {
            Some(original) => spans(original).iter().map(located).collect(),
            None => Ok(vec![]),
        };
        let spans = spans.map_err(wrong)?;
        let played = match playable(&fields, &path) {
            Err(LabError::Unplayable { source, .. }) if original.is_some() => Err(source),
            refused => Ok(refused?),
        };
        let (player, tuples, source): (_, _, Box<dyn ReadAt>) = match played {
            Err(source) => {
                let placeholder = NTupleSpec {
                    game: games::DEFAULT_GAME.to_owned(),
                    tuples: TupleSet::parse("0", Shape::FOUR, true)?,
                    value: ValueOf::Afterstate,
                    ties: Ties::Order,
                    discount: 1.0,
                };
                (placeholder, Err(source), source_of(saved))
            }
            Ok(()) => {
                if options.stages.is_some() {
                    return Err(ConvertError::HasStages(path).into());
                }
                let player = model::player(&fields)?;
                // Other programs know no promotion.
                let promote =
                    player.tuples.stages().promotes() && asked_kind(options) != Some(Kind::Native);
                if is_read_whole || promote {
                    // A model and a packed model have weights alone.
                    let rule = match fields.has("order") {
                        true => fields.get("rule", "td or tc", from_word::<Rule>)?,
                        false => Rule::Td,
                    };
                    let loading = (rule, promote, budget);
                    let (tuples, memory) = in_memory(&player, &saved, &path, loading)?;
                    (player, Ok(tuples), memory)
                } else {
                    let tuples = tables_of(&player, &saved).map_err(wrong)?;
                    (player, Ok(tuples), source_of(saved))
                }
            }
        };
        let more = |entry: &afterstate::format::foreign::ForeignTable| entry.has_more();
        let has_more = original
            .as_ref()
            .is_some_and(|o| o.entries().iter().any(more));
        Ok(Self {
            path,
            kind: Kind::Native,
            source,
            metadata,
            player,
            original,
            spans,
            tuples,
            has_more,
        })
    }
}

/// A file whose numbers are read at their offsets.
fn source_of(saved: StoredTables) -> Box<dyn ReadAt> {
    match saved.into_file() {
        Some(file) => Box::new(file),
        None => Box::new(NoSource),
    }
}

/// The source of a file without numbers at offsets, of which no span is read.
struct NoSource;

impl ReadAt for NoSource {
    fn read_at(&self, _: &mut [u8], _: u64) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// The given patterns, or those of a named set.
fn given(patterns: &str) -> Result<Vec<String>, LabError> {
    let tuples = TupleSet::parse(patterns, Shape::FOUR, true)?;
    Ok(tuples.patterns().iter().map(ToString::to_string).collect())
}

fn description(text: &str) -> Option<Foreign> {
    let foreign: Foreign = serde_json::from_str(text).ok()?;
    foreign.is_sound().then_some(foreign)
}

fn tuple(entry: &afterstate::format::foreign::ForeignTable, pattern: &str) -> Tuple {
    Tuple {
        pattern: pattern.to_owned(),
        weights: entry.weights().clone(),
        sums: entry.sums().map(|[e, a]| [e.clone(), a.clone()]),
    }
}

/// The metadata of a converted file.
fn metadata(
    player: &NTupleSpec,
    sums: bool,
    foreign: &Foreign,
    meaning: &Result<TablePatterns, Unplayable>,
    played: &Result<TupleSet, Unplayable>,
) -> Metadata {
    let rule = if sums { Rule::Tc } else { Rule::Td };
    let mut metadata = model::about(player, rule);
    let origin = foreign.program().name();
    metadata.insert("origin".to_owned(), origin.to_owned());
    metadata.insert("foreign".to_owned(), json(foreign));
    let stages = match (played, meaning) {
        (Err(Unplayable::Stages(stages)), Ok(meaning)) => {
            let mut patterns: Vec<&str> = Vec::new();
            for (pattern, _) in meaning {
                if !patterns.contains(&&**pattern) {
                    patterns.push(pattern);
                }
            }
            metadata.insert("tuples".to_owned(), patterns.join(" "));
            metadata.insert("stages".to_owned(), stages.to_string());
            return metadata;
        }
        (Err(error), _) => error,
        (Ok(_), _) => return metadata,
    };
    metadata.remove("tuples");
    metadata.insert("unplayable".to_owned(), stages.to_string());
    metadata
}

/// The tables of one of our models.
fn tables_of(player: &NTupleSpec, saved: &StoredTables) -> Result<Vec<Tuple>, NativeError> {
    let table = |(name, weights): (String, usize)| {
        let count = weights as u64;
        let float = saved.span(&name).and_then(|span| span.float);
        let float = Some(float.unwrap_or(Float::F32));
        let weights = saved.span_of(&name, float, count)?;
        let [e, a] = [".e", ".a"].map(|suffix| format!("{name}{suffix}"));
        let sums = match saved.span(&e) {
            None => None,
            Some(_) => Some([
                saved.span_of(&e, float, count)?,
                saved.span_of(&a, float, count)?,
            ]),
        };
        Ok(Tuple {
            pattern: name,
            weights,
            sums,
        })
    };
    player.tuples.tables().map(table).collect()
}

/// How tables are read into memory: with the sums of which rule, whether later stages get the
/// weights that they start from, and in which memory.
type Loading<'a> = (Rule, bool, &'a MemoryBudget);

/// Tables that are read into memory: those of a checkpoint, because a file has another order, and
/// those of stages that depend on each other.
fn in_memory(
    player: &NTupleSpec,
    saved: &StoredTables,
    path: &Path,
    loading: Loading<'_>,
) -> Result<(Vec<Tuple>, Box<dyn ReadAt>), LabError> {
    let (rule, ..) = loading;
    let memory: Box<dyn ReadAt> = match player.value {
        ValueOf::Afterstate => memory::<AtomicF32>(player, saved, path, loading)?,
        ValueOf::State => memory::<[AtomicF32; 2]>(player, saved, path, loading)?,
        ValueOf::Action => return Err(LabError::NoActions),
    };
    let mut end = 0;
    let mut span = |tensor: String, count: u64| {
        let at = end;
        end += 4 * count;
        TensorSpan {
            tensor,
            float: Some(Float::F32),
            count,
            at,
        }
    };
    let table = |(name, weights): (String, usize)| {
        let count = weights as u64;
        let [w, e, a] = ["", ".e", ".a"].map(|suffix| span(format!("{name}{suffix}"), count));
        Tuple {
            pattern: name,
            weights: w,
            sums: (rule == Rule::Tc).then_some([e, a]),
        }
    };
    Ok((player.tuples.tables().map(table).collect(), memory))
}

fn memory<C: WeightCell>(
    player: &NTupleSpec,
    saved: &StoredTables,
    path: &Path,
    (rule, promote, budget): Loading<'_>,
) -> Result<Box<dyn ReadAt>, LabError> {
    let options = NetworkOptions {
        coherence: rule == Rule::Tc,
        ..NetworkOptions::default()
    };
    let needed = WeightTables::<C>::bytes(&player.tuples, options.coherence);
    let reserved = reserve(budget, needed)?;
    let tables = WeightTables::<C>::new(&player.tuples, &options);
    let tables = tables.map_err(|error| match error {
        NetworkError::Memory { source, .. } => LabError::Refused { needed, source },
        other => LabError::Layers(other.to_string()),
    })?;
    let keep = match rule {
        Rule::Td => StoredParts::Weights,
        Rule::Tc => StoredParts::Everything,
    };
    let read = saved.read(&tables, keep);
    read.map_err(LabError::model("read", path))?;
    if promote {
        tables.promote_all();
    }
    Ok(Box::new(Memory {
        tables,
        _reserved: reserved,
    }))
}

/// Tables as if they were a file: for each tuple the weights, E and A, as four-byte floats.
struct Memory<C: WeightCell> {
    tables: WeightTables<C>,
    _reserved: Reservation,
}

/// The numbers of a tuple, in the order of such a file.
const PARTS: [WeightPart; 3] = [
    WeightPart::Weight,
    WeightPart::ErrorSum,
    WeightPart::AbsoluteSum,
];

impl<C: WeightCell> ReadAt for Memory<C> {
    fn read_at(&self, bytes: &mut [u8], at: u64) -> io::Result<()> {
        let mut number = (at / 4) as usize;
        for (tuple, (_, count)) in self.tables.tuples().tables().enumerate() {
            if number < 3 * count {
                let mut values: Vec<Value> = vec![0.0; bytes.len() / 4];
                let (part, from) = (PARTS[number / count], number % count);
                self.tables.export(tuple, part, from, &mut values);
                for (bytes, value) in bytes.as_chunks_mut().0.iter_mut().zip(values) {
                    *bytes = value.to_le_bytes();
                }
                return Ok(());
            }
            number -= 3 * count;
        }
        Err(io::ErrorKind::UnexpectedEof.into())
    }
}
