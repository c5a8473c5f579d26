//! Solution files: replaced atomically, read completely and checked number by number.
//!
//! A solution is read into memory rather than mapped: it is checked once, and later changes of the
//! file cannot affect the program. Reading 3x3 takes less than a second.

use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;

use afterstate::format::native::{Checksums, Header, Metadata, NativeError, peek_metadata};
use afterstate::format::solution::{BYTES, Place, SolutionLayout, lay_out};
use afterstate::game::Game;
use afterstate::solve::{Code, Goal, Packed, Solver, StateCode};

use super::solution::{Solution, SolutionInfo, TargetTile};
use super::{FileError, Layers, SolveError, tile_of};
use crate::LabError;
use crate::disk::{AtomicFile, SharedFile, can_be_written};
use crate::error::FileKind;
use crate::games::{self, PackedVisitor, with_packed_game};
use crate::memory::MemoryBudget;
use crate::metadata::{FORMAT, Fields, SOLUTION, TUPLES, of_today};
use crate::migrate::Format;
use crate::recipe::parse_board;
use crate::share::{share, threads, try_share};
use crate::tables::open;

/// Numbers copied at a time.
const PIECE: usize = 1 << 16;

impl Solution {
    /// Tries to create a file of this name, so that hours of work do not end with a missing folder.
    ///
    /// # Errors
    /// When it cannot be written, or the file exists and is not a solution.
    pub fn can_be_written(path: &Path) -> Result<(), LabError> {
        let refused = |reason| LabError::file("write", path)(reason);
        if !can_be_written(path, is_solution).map_err(refused)? {
            return Err(SolveError::Taken(path.to_owned()).into());
        }
        AtomicFile::create(path).map(drop).map_err(refused)
    }

    /// Replaces a file atomically.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), LabError> {
        self.write_temporary(path)
            .and_then(AtomicFile::commit)
            .map_err(LabError::file("write", path))
    }

    fn write_temporary(&self, path: &Path) -> std::io::Result<AtomicFile> {
        let (states, layers) = (self.layers.codes().len(), self.layers.count());
        let metadata = metadata(&self.info);
        let (header, layout) = lay_out(&metadata, layers, states, self.win.is_some());
        let output = AtomicFile::create(path)?;
        output.write_header(header.draft(), layout.end())?;
        let to = (&output, header.sums());
        let sums: Vec<u64> = self.layers.iter().map(|(sum, _)| sum).collect();
        carry_out(to, layout.sums, &sums, |sum| sum.to_le_bytes())?;
        let starts = |start: usize| (start as u64).to_le_bytes();
        carry_out(to, layout.starts, self.layers.starts(), starts)?;
        carry_out(to, layout.codes, self.layers.codes(), |code| {
            code.number().to_le_bytes()
        })?;
        carry_out(to, layout.score, &self.score, f64::to_le_bytes)?;
        if let (Some(place), Some(win)) = (layout.win, &self.win) {
            carry_out(to, place, win, f64::to_le_bytes)?;
        }
        output.write_at(&header.finish(), 0)?;
        Ok(output)
    }

    /// Reads and checks a file.
    ///
    /// # Errors
    /// When it cannot be read, is damaged, or is not a solution.
    pub fn open(path: &Path) -> Result<Self, LabError> {
        Self::open_within(path, &MemoryBudget::process())
    }

    /// The same with memory of this budget.
    ///
    /// # Errors
    /// When it cannot be read, is damaged, or is not a solution.
    pub fn open_within(path: &Path, budget: &MemoryBudget) -> Result<Self, LabError> {
        let (mut file, size) = open(path).map_err(LabError::file("read", path))?;
        let senseless = |source| LabError::Solution {
            path: path.to_owned(),
            source,
        };
        let header = Header::read(&mut file, size).map_err(wrong(path))?;
        let metadata = of_today(header.metadata());
        let fields = Fields::new(&metadata, path, LabError::solution);
        if fields.has(TUPLES) && !fields.has(SOLUTION) {
            return Err(LabError::Kind {
                path: path.to_owned(),
                wanted: FileKind::Solution,
                found: FileKind::Model,
                expected: "a solution",
            });
        }
        let game = SolutionInfo::read(&fields)?;
        let layout = SolutionLayout::of(&header, game.target.is_some()).map_err(wrong(path))?;
        // Together, the tensors of a file are at most as long as the file.
        let reserved = budget.reserve(size).map_err(|over| {
            let available = over.available;
            senseless(FileError::Memory { size, available })
        })?;
        let file = SharedFile::new(file);
        let checksums = header.sums();
        let numbers = |place| {
            let read = carry_in(&file, checksums.as_ref(), place);
            read.map_err(LabError::file("read", path))
        };
        let (sums, starts) = (numbers(layout.sums)?, numbers(layout.starts)?);
        let (states, score) = (
            codes(numbers(layout.codes)?),
            floats(numbers(layout.score)?),
        );
        let win = layout.win.map(|place| numbers(place).map(floats));
        let win = win.transpose()?;
        header.verify_all(checksums.as_ref()).map_err(wrong(path))?;
        let damaged = |what| senseless(FileError::Numbers(what));
        let layers = Layers::checked(sums, &starts, states);
        let layers = layers.ok_or_else(|| damaged("layers that are not in order"))?;
        let task = Check {
            info: &game,
            layers: &layers,
            score: &score,
            win: win.as_deref(),
        };
        let code = with_packed_game(&game.game, game.shape, task)?;
        Ok(Self {
            code: code.map_err(damaged)?,
            info: game,
            layers,
            score,
            win,
            lacks_checksums: !header.has_checksums(),
            _reserved: Arc::new(reserved),
        })
    }
}

/// The unchecked numbers of a file.
struct Check<'a> {
    info: &'a SolutionInfo,
    layers: &'a Layers,
    score: &'a [f64],
    win: Option<&'a [f64]>,
}

impl PackedVisitor for Check<'_> {
    type Output = Result<Code, &'static str>;

    /// The code of the game's positions, or what is wrong with the numbers.
    fn visit<G: Game<Board: Packed>>(self, game: G) -> Self::Output {
        let solver = Solver::new(game, self.info.ending()).ok_or("too many cells")?;
        self.states(&solver)?;
        let all = |values: &[f64], fine: fn(f64) -> bool| values.iter().all(|&value| fine(value));
        if !all(self.score, f64::is_finite) {
            return Err("a value that is not a finite number");
        }
        self.is_start(
            &solver,
            self.info.goal(),
            self.score,
            self.info.expected_score,
        )?;
        if let (Some(win), Some(target)) = (self.win, self.info.target) {
            if !all(win, |value| (0.0..=1.0).contains(&value)) {
                return Err("a probability that is not within 0 to 1");
            }
            self.is_start(&solver, Goal::Reach(target.tile), win, target.probability)?;
        }
        Ok(solver.code().clone())
    }
}

impl Check<'_> {
    /// Refuses states that are not sorted, or not canonical.
    fn states<G: Game<Board: Packed>>(&self, solver: &Solver<G>) -> Result<(), &'static str> {
        let code = solver.code();
        let fine = |layer: u64| {
            let (sum, places) = self.layers.layer(layer as usize);
            let states = &self.layers.codes()[places];
            let is_code = |state| code.of_state(code.state::<G::Board>(state)) == state;
            states.is_sorted_by(|a, b| a < b)
                && states
                    .iter()
                    .all(|&state| code.sum(state) == sum && is_code(state))
        };
        let layers = 0..self.layers.count() as u64;
        let fine = share(threads(0), layers, || false, || fine);
        let wrong = "states that are not in order, or no states";
        fine.into_iter().all(|fine| fine).then_some(()).ok_or(wrong)
    }

    /// Refuses a value of the start that contradicts the values of the states.
    fn is_start<G: Game<Board: Packed>>(
        &self,
        solver: &Solver<G>,
        goal: Goal,
        values: &[f64],
        told: f64,
    ) -> Result<(), &'static str> {
        let mut mean = 0.0;
        for (state, score, chance) in solver.starts() {
            let place = self.layers.place(solver.code().sum(state), state);
            let value = values[place.ok_or("no state for a start of the game")?];
            mean += chance * goal.started(score, value);
        }
        let near = (goal.bounded(mean) - told).abs() <= 1e-9 * told.abs().max(1.0);
        near.then_some(())
            .ok_or("values of the starts that do not come to the value in the metadata")
    }
}

/// Whether there is a file with the metadata of a solution. Devices and pipes are not opened.
fn is_solution(path: &Path) -> bool {
    let metadata = open(path)
        .ok()
        .map(|(mut file, _)| peek_metadata(&mut file));
    metadata
        .flatten()
        .is_some_and(|metadata| metadata.contains_key(SOLUTION))
}

fn wrong(path: &Path) -> impl FnOnce(NativeError) -> LabError {
    |error| LabError::solution(path, error)
}

fn codes(numbers: Vec<u64>) -> Vec<StateCode> {
    numbers.into_iter().map(StateCode::from_number).collect()
}

fn floats(bits: Vec<u64>) -> Vec<f64> {
    bits.into_iter().map(f64::from_bits).collect()
}

/// Writes a tensor on all cores, and adds it to the sums.
fn carry_out<T: Copy + Sync>(
    (output, sums): (&AtomicFile, &Checksums),
    place: Place,
    numbers: &[T],
    to_bytes: impl Fn(T) -> [u8; BYTES] + Sync,
) -> std::io::Result<()> {
    try_share(threads(0), numbers.len().div_ceil(PIECE), || {
        |piece| {
            let from = piece * PIECE;
            let numbers = numbers[from..].iter().take(PIECE);
            let bytes: Vec<u8> = numbers.flat_map(|&number| to_bytes(number)).collect();
            let at = place.at + (from * BYTES) as u64;
            sums.add(&bytes, at);
            output.write_at(&bytes, at)
        }
    })
}

/// Reads a tensor in pieces, and adds it to the sums.
fn carry_in(
    file: &SharedFile,
    sums: Option<&Checksums>,
    place: Place,
) -> std::io::Result<Vec<u64>> {
    let mut numbers = Vec::new();
    numbers.try_reserve_exact(place.numbers)?;
    let mut bytes = vec![0; PIECE * BYTES];
    while numbers.len() < place.numbers {
        let count = PIECE.min(place.numbers - numbers.len());
        let bytes = &mut bytes[..count * BYTES];
        let at = place.at + (numbers.len() * BYTES) as u64;
        file.read_at(bytes, at)?;
        sums.inspect(|sums| sums.add(bytes, at));
        let (chunks, _) = bytes.as_chunks();
        numbers.extend(chunks.iter().map(|&chunk| u64::from_le_bytes(chunk)));
    }
    Ok(numbers)
}

fn metadata(info: &SolutionInfo) -> Metadata {
    let mut entries = vec![
        (FORMAT, Format::NOW.to_string()),
        (SOLUTION, Format::NOW.to_string()),
        ("game", info.game.clone()),
        ("board", info.shape.to_string()),
        ("discount", info.discount.to_string()),
        ("states", info.states.to_string()),
        ("expected_score", info.expected_score.to_string()),
    ];
    if let Some(target) = info.target {
        entries.extend([
            ("target", target.value.to_string()),
            ("ends_at_target", target.ends.to_string()),
            ("win_probability", target.probability.to_string()),
        ]);
    }
    let entries = entries.into_iter();
    entries
        .map(|(key, value)| (key.to_owned(), value))
        .collect()
}

impl SolutionInfo {
    fn read(fields: &Fields<'_>) -> Result<Self, LabError> {
        fields.check_format(SOLUTION)?;
        let number = |text: &str| f64::from_str(text).ok().filter(|n| n.is_finite());
        let share = |text: &str| number(text).filter(|n| (0.0..=1.0).contains(n));
        let game = fields.get("game", "the name of a game", |text| Some(text.to_owned()))?;
        games::rules(&game)?;
        let (rows, cols) =
            fields.get("board", "a size such as 3x3", |text| parse_board(text).ok())?;
        let shape = games::shape(rows, cols)?;
        let target = fields.has("target").then(|| {
            let value = fields.get("target", "a tile", |text| text.parse().ok())?;
            Ok::<_, LabError>(TargetTile {
                tile: tile_of(&game, shape, value)?,
                value,
                ends: fields.get("ends_at_target", "true or false", |text| text.parse().ok())?,
                probability: fields.get("win_probability", "a number from 0 to 1", share)?,
            })
        });
        Ok(Self {
            discount: fields.get("discount", "a number from 0 to 1", share)?,
            target: target.transpose()?,
            states: fields.get("states", "a number", |text| text.parse().ok())?,
            expected_score: fields.get("expected_score", "a number", number)?,
            game,
            shape,
        })
    }
}
