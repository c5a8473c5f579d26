//! Packs the network of a run into a small file (docs/formats/packed.md), and says what it cost.
//!
//! The size is set by one number, the price of a bit: the encoder keeps a bit only where it saves
//! more error. The largest file within a limit is found by trying prices.
//!
//! With weight promotion a weight of 0 in a later stage would be read in the stage before. So the
//! weights that a stage reads from another are copied to it first, each with its A, and the packed
//! model has stages without promotion.
//!
//! A weight that is not 0 may have no A: it was trained before the run's sums began, in a phase of TD
//! or in the run whose model this one began with. It gets the median of all A, see `weigh_unsummed`.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use afterstate::Value;
use afterstate::format::native::{Metadata, NativeError, StoredParts};
use afterstate::format::packed::{self, EncodedTable, MOST_WEIGHTS, PackedError, Quantisation};
use afterstate::ntuple::{
    AtomicF32, NetworkError, NetworkOptions, TupleSet, WeightCell, WeightPart, WeightTables,
};
use serde::Serialize;

use crate::LabError;
use crate::agent::reserve;
use crate::control::{Control, Event, Job, Progress, Status, Task, Unit};
use crate::disk::{can_be_written, replace, sha256};
use crate::evaluate::{Contender, EvalOptions, evaluate};
use crate::foreign::{Weights, is_packed};
use crate::memory::Reservation;
use crate::metadata::{FORMAT, Fields, PROMOTION, REDUNDANT, SOLUTION, from_word, of_today};
use crate::model::{self, Model};
use crate::part::Part;
use crate::recipe::{Rule, ValueOf};
use crate::report::{Evaluation, ModelInfo};
use crate::run;
use crate::share::{threads, try_share};
use crate::spec::{CONVOLUTIONS, NTupleSpec};
use crate::tables::StoredTables;

/// The options of packing.
pub struct PackOptions<'a> {
    /// A run folder, or a checkpoint.
    pub from: &'a Path,
    /// The file to write.
    pub to: &'a Path,
    /// The bytes that the file may have.
    pub limit: u64,
    /// Games by which both networks are compared; 0 compares nothing.
    pub games: u64,
    /// The seed of these games.
    pub seed: u64,
    /// Threads; 0 means one for each core.
    pub threads: usize,
    /// Whether to overwrite any file.
    pub force: bool,
    /// Events, cancellation and memory.
    pub control: &'a Control,
}

/// What was packed, and what it cost; the JSON of `pack --json`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PackReport {
    /// The checkpoint.
    pub from: PathBuf,
    /// The packed model.
    pub to: PathBuf,
    /// The model of the checkpoint.
    pub model: ModelInfo,
    /// Its SHA-256 digest.
    pub sha256: String,
    /// Its length.
    pub bytes: u64,
    /// The bytes of the weights in memory, packed or not.
    pub memory: u64,
    /// The number of tables.
    pub tables: usize,
    /// All weights, those that are 0 included.
    pub weights: u64,
    /// Those that are not 0.
    pub nonzero: u64,
    /// Those of them that were trained before the sums of the run began, and have none.
    pub unsummed: u64,
    /// Those that are kept.
    pub kept: u64,
    /// The bits of a kept weight, on average.
    pub bits_per_kept: f64,
    /// The price of a bit.
    pub price: f32,
    /// The smallest step of a weight.
    pub step: f32,
    /// Games of the network as it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub whole: Option<Evaluation>,
    /// The same games of the packed network.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packed: Option<Evaluation>,
}

/// Packs a network.
///
/// # Errors
/// When there is no checkpoint with TC's sums, the limit is too small, or a file cannot be read or
/// written.
pub fn pack(options: &PackOptions<'_>) -> Result<PackReport, LabError> {
    let job = Job {
        task: Task::Pack,
        subject: options.from.display().to_string(),
        total: None,
        unit: Unit::Bytes,
    };
    options.control.run(
        job,
        || pack_silently(options),
        |done| match done {
            Ok(report) => Some((Status::Finished, report.bytes)),
            Err(LabError::PackStopped) => Some((Status::Stopped, 0)),
            Err(_) => None,
        },
    )
}

fn pack_silently(options: &PackOptions<'_>) -> Result<PackReport, LabError> {
    let from = match options.from.is_dir() {
        true => run::checkpoint_of(options.from),
        false => options.from.to_owned(),
    };
    let free = can_be_written(options.to, |path| options.force || is_packed(path));
    if !free.map_err(LabError::file("write", options.to))? {
        return Err(LabError::NotPacked(options.to.to_owned()));
    }
    let (saved, spec, metadata) = open(&from)?;
    // Before the file is replaced, which may be the same one.
    let mut model = ModelInfo::of_file(&from)?;
    model.hash()?;
    let packing = match spec.value {
        ValueOf::Afterstate => encode::<AtomicF32>(&spec, (&saved, &metadata), &from, options)?,
        ValueOf::State => encode::<[AtomicF32; 2]>(&spec, (&saved, &metadata), &from, options)?,
        ValueOf::Action => return Err(LabError::NoActions),
    };
    let mut bytes = Vec::new();
    let wrong = |error: PackedError| LabError::model("write", options.to)(error.into());
    packed::write(&metadata, &packing.tables, &mut bytes).map_err(wrong)?;
    replace(options.to, &bytes).map_err(LabError::file("write", options.to))?;
    let sum = |of: fn(&EncodedTable) -> u64| packing.tables.iter().map(of).sum::<u64>();
    let kept = sum(|table| table.entry.kept);
    let mut report = PackReport {
        model,
        sha256: sha256(options.to).map_err(LabError::file("read", options.to))?,
        from: from.clone(),
        to: options.to.to_owned(),
        bytes: bytes.len() as u64,
        memory: packing.memory,
        tables: packing.tables.len(),
        weights: sum(|table| table.entry.weights()),
        nonzero: sum(|table| table.nonzero),
        unsummed: packing.unsummed,
        kept,
        bits_per_kept: 8.0 * bytes.len() as f64 / kept.max(1) as f64,
        price: packing.quantisation.price,
        step: packing.quantisation.step,
        whole: None,
        packed: None,
    };
    if options.games > 0 {
        report.whole = play(&from, options)?;
        report.packed = play(options.to, options)?;
    }
    Ok(report)
}

/// The results of a model; `None` if the work was cancelled.
fn play(path: &Path, options: &PackOptions<'_>) -> Result<Option<Evaluation>, LabError> {
    let model = Model::open_within(path, options.control.memory())?;
    let evaluation = evaluate(
        &Contender::from(&model),
        &EvalOptions {
            games: options.games,
            part: Part::WHOLE,
            seed: options.seed,
            threads: options.threads,
            control: options.control,
        },
    );
    Ok((evaluation.scores.games == options.games).then_some(evaluation))
}

/// A checkpoint with TC's sums: its network, and the metadata of a model.
fn open(path: &Path) -> Result<(StoredTables, NTupleSpec, Metadata), LabError> {
    let refused = |reason| {
        Err(LabError::CannotPack {
            path: path.to_owned(),
            reason,
        })
    };
    let saved = match Weights::open(path)? {
        Weights::Theirs(_) => return refused("it is a weight file of another program"),
        Weights::Ours(saved) => saved,
    };
    if saved.is_packed() {
        return refused("it is packed already");
    }
    let mut metadata = of_today(saved.metadata());
    let fields = Fields::new(&metadata, path, |path, error| {
        LabError::model("read", path)(error)
    });
    if fields.has(SOLUTION) {
        return refused("it is an exact solution");
    }
    if fields.has(CONVOLUTIONS) {
        return refused("it is a deep network");
    }
    fields.check_format(FORMAT)?;
    if !fields.has("order") {
        return refused("it is a model, which has no sums of TC");
    }
    if fields.get("rule", "td or tc", from_word::<Rule>)? != Rule::Tc {
        return refused("its network was not trained by TC, so it has no sums of TC");
    }
    if fields.has(REDUNDANT) {
        return refused(
            "it has redundant tuples, and the weights into which they are folded have no sums of TC \
             (train a run without `redundant` from its model, and pack that)",
        );
    }
    let spec = model::player(&fields)?;
    if is_too_large(&spec.tuples) {
        return refused(
            "a table of it has more than 2^30 weights (tuples of at most 7 cells fit, or 6 on larger boards)",
        );
    }
    if metadata.contains_key(PROMOTION) {
        metadata.insert(PROMOTION.to_owned(), "false".to_owned());
    }
    for key in ["order", "progress", "replay", "checksums", "checksum_bytes"] {
        metadata.remove(key);
    }
    Ok((saved, spec, metadata))
}

/// Whether a table is too large for the format.
fn is_too_large(tuples: &TupleSet) -> bool {
    tuples.tables().any(|(_, weights)| weights > MOST_WEIGHTS)
}

/// Encoded tables.
struct Packing {
    tables: Vec<EncodedTable>,
    quantisation: Quantisation,
    memory: u64,
    unsummed: u64,
}

/// The largest file within the limit.
fn encode<C: WeightCell>(
    spec: &NTupleSpec,
    (saved, metadata): (&StoredTables, &Metadata),
    path: &Path,
    options: &PackOptions<'_>,
) -> Result<Packing, LabError> {
    let (tables, _reserved) = load::<C>(spec, saved, path, options)?;
    let memory = WeightTables::<C>::bytes(&spec.tuples, false);
    let unsummed = weigh_unsummed(&tables);
    let search = Search {
        tables: &tables,
        path,
        metadata,
        options,
        step: step(&tables),
    };
    let (quantisation, tables) = search.run()?;
    Ok(Packing {
        tables,
        quantisation,
        memory,
        unsummed,
    })
}

/// Gives weights that are not 0, but have no A, the median of all A that are not 0. Returns their
/// number.
///
/// A run's sums begin anew with its first phase of TC, and in a run that begins with the model of
/// another one. The weights that it has not updated since are less important than those that it
/// updates all the time, but not unimportant: half of the others count less than they do. The median
/// is exact to 4 bits below the highest one.
fn weigh_unsummed<C: WeightCell>(tables: &WeightTables<C>) -> u64 {
    const SHIFT: u32 = f32::MANTISSA_DIGITS - 1 - 4;
    let each = || tables.tuples().tables().map(|(_, count)| count).enumerate();
    // The bits of positive floats are in their order.
    let mut histogram = vec![0u64; 1 << (31 - SHIFT)];
    let mut unsummed = vec![0u64; each().count()];
    for table in each() {
        let sums = numbers(tables, table, WeightPart::AbsoluteSum);
        let weights = numbers(tables, table, WeightPart::Weight);
        for (sum, weight) in sums.iter().zip(&weights) {
            match *sum > 0.0 {
                true => histogram[(sum.to_bits() >> SHIFT) as usize] += 1,
                false => unsummed[table.0] += u64::from(*weight != 0.0),
            }
        }
    }
    let half = histogram.iter().sum::<u64>().div_ceil(2);
    let mut before = 0;
    let median = histogram.iter().position(|count| {
        before += count;
        before >= half && half > 0
    });
    let median = median.map_or(1.0, |place| f32::from_bits((place as u32) << SHIFT));
    for table in each().filter(|table| unsummed[table.0] > 0) {
        let mut sums = numbers(tables, table, WeightPart::AbsoluteSum);
        let weights = numbers(tables, table, WeightPart::Weight);
        for (sum, weight) in sums.iter_mut().zip(&weights) {
            if *sum == 0.0 && *weight != 0.0 {
                *sum = median.max(f32::MIN_POSITIVE);
            }
        }
        tables.import(table.0, WeightPart::AbsoluteSum, 0, &sums);
    }
    unsummed.iter().sum()
}

/// The tables of a checkpoint, no weight of which is read in another stage, with the memory that
/// packing them takes.
fn load<C: WeightCell>(
    spec: &NTupleSpec,
    saved: &StoredTables,
    path: &Path,
    options: &PackOptions<'_>,
) -> Result<(WeightTables<C>, Reservation), LabError> {
    // A thread encodes a table: it has copies of its weights and of A, and what is coded so far.
    let largest = spec.tuples.tables().map(|(_, weights)| weights).max();
    let threads = threads(options.threads).min(spec.tuples.tables().count());
    let a_thread = (2 * size_of::<Value>() + CODED) as u64 * largest.unwrap_or(0) as u64;
    let needed = WeightTables::<C>::bytes(&spec.tuples, true);
    let all = needed.saturating_add(a_thread.saturating_mul(threads as u64));
    let reserved = reserve(options.control.memory(), all)?;
    let with_sums = NetworkOptions {
        coherence: true,
        ..NetworkOptions::default()
    };
    let tables = WeightTables::<C>::new(&spec.tuples, &with_sums);
    let tables = tables.map_err(|error| match error {
        NetworkError::Memory { source, .. } => LabError::Refused { needed, source },
        other => LabError::Layers(other.to_string()),
    })?;
    let read = saved.read(&tables, StoredParts::Everything);
    read.map_err(LabError::model("read", path))?;
    if spec.tuples.stages().promotes() {
        promote(&tables);
    }
    Ok((tables, reserved))
}

/// The bytes of the encoder's own table, for each weight: four, and nine for each block of weights.
const CODED: usize = 5;

/// Copies to every later stage the weights that it reads in the one before, and their A.
fn promote<C: WeightCell>(tables: &WeightTables<C>) {
    const PIECE: usize = 1 << 16;
    let tuples = tables.tuples();
    let stage = tuples.patterns().len() * tuples.banks_of_a_stage();
    for (table, (_, count)) in tuples.tables().enumerate().skip(stage) {
        for from in (0..count).step_by(PIECE) {
            let numbers = |table, part| {
                let mut out = vec![0.0; PIECE.min(count - from)];
                tables.export(table, part, from, &mut out);
                out
            };
            let mut sums = numbers(table, WeightPart::AbsoluteSum);
            let before = numbers(table - stage, WeightPart::AbsoluteSum);
            let weights = numbers(table, WeightPart::Weight);
            for (place, weight) in weights.iter().enumerate() {
                if weight.to_bits() == 0 {
                    sums[place] = before[place];
                }
            }
            tables.import(table, WeightPart::AbsoluteSum, from, &sums);
        }
    }
    tables.promote_all();
}

/// A power of two of which the largest weight has at most 32767.
fn step<C: WeightCell>(tables: &WeightTables<C>) -> f32 {
    let mut largest = 0.0f32;
    for (table, (_, count)) in tables.tuples().tables().enumerate() {
        let weights = numbers(tables, (table, count), WeightPart::Weight);
        let weights = weights.iter().map(|weight| weight.abs());
        largest = weights.fold(largest, f32::max);
    }
    let least = largest.max(1e-20) / 32_000.0;
    least.log2().ceil().exp2()
}

/// A number of each of the `count` weights of a table.
fn numbers<C: WeightCell>(
    tables: &WeightTables<C>,
    (table, count): (usize, usize),
    part: WeightPart,
) -> Vec<Value> {
    let mut out = vec![0.0; count];
    tables.export(table, part, 0, &mut out);
    out
}

/// The search for a price.
struct Search<'a, C: WeightCell> {
    tables: &'a WeightTables<C>,
    path: &'a Path,
    metadata: &'a Metadata,
    options: &'a PackOptions<'a>,
    step: f32,
}

impl<C: WeightCell> Search<'_, C> {
    /// The files that are tried at most.
    const TRIES: u64 = 9;
    /// A file this close to the limit is close enough.
    const ENOUGH: f64 = 0.985;

    /// Halves an interval of prices by their logarithms.
    fn run(&self) -> Result<(Quantisation, Vec<EncodedTable>), LabError> {
        let finest = f64::from(self.step * self.step);
        let (mut low, mut high) = ((finest / 64.0).log2(), (finest * 1e12).log2());
        let mut best = None;
        let mut smallest = u64::MAX;
        let mut next = (finest * 1e7).log2();
        for number in 0..Self::TRIES {
            self.tell(number);
            let quantisation = Quantisation {
                step: self.step,
                power: POWER,
                price: next.exp2() as f32,
            };
            let tables = self.encode(quantisation)?;
            let bytes = packed::write(self.metadata, &tables, &mut std::io::sink());
            let bytes = bytes.map_err(|error| self.unpackable(error))?;
            smallest = smallest.min(bytes);
            // A file has two thirds of the size when the price is four times as high.
            let ratio = bytes as f64 / self.options.limit as f64;
            if bytes <= self.options.limit {
                high = next;
                best = Some((quantisation, tables));
                if ratio >= Self::ENOUGH || high - low < 0.02 {
                    break;
                }
            } else {
                low = next;
            }
            let guess = next + 3.3 * (ratio / 0.993).log2();
            next = match guess > low && guess < high {
                true => guess,
                false => (low + high) / 2.0,
            };
        }
        best.ok_or(LabError::PackLimit {
            limit: self.options.limit,
            smallest,
        })
    }

    fn unpackable(&self, error: PackedError) -> LabError {
        LabError::model("pack", self.path)(NativeError::from(error))
    }

    fn tell(&self, number: u64) {
        self.options.control.emit(Event::Progress(Progress {
            unit: Unit::Parts,
            total: Some(Self::TRIES),
            ..Progress::stage(
                Task::Pack,
                "choosing the steps",
                number as f64 / Self::TRIES as f64,
                number,
            )
        }));
    }

    fn encode(&self, quantisation: Quantisation) -> Result<Vec<EncodedTable>, LabError> {
        let tuples = self.tables.tuples();
        let named: Vec<(String, usize)> = tuples.tables().collect();
        let bits = tuples.tile_bits() as u32;
        let done = Mutex::new(vec![None; named.len()]);
        try_share(threads(self.options.threads), named.len(), || {
            let (done, named) = (&done, &named);
            move |number| {
                if self.options.control.is_cancelled() {
                    return Err(LabError::PackStopped);
                }
                let (name, count) = &named[number];
                let part = |part| numbers(self.tables, (number, *count), part);
                let (weights, sums) = (part(WeightPart::Weight), part(WeightPart::AbsoluteSum));
                let table = packed::encode(name, bits, (&weights, &sums), quantisation);
                let table = table.map_err(|error| self.unpackable(error))?;
                let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
                done[number] = Some(table);
                Ok(())
            }
        })?;
        let done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
        Ok(done.into_iter().flatten().collect())
    }
}

/// c is A to the power of this: see docs/packing.md.
const POWER: f32 = 1.0;

#[cfg(test)]
mod tests;
