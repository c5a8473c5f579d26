//! The commands: the work of `afterstate_lab` with the arguments and the JSON of the command line.
//!
//! To add a function, do its work in the lab, convert here, and write its stub in `_afterstate.pyi` and the
//! function with keywords and an example in `python/afterstate/commands.py`.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use afterstate::game::Shape;
use afterstate_lab::LabError;
use afterstate_lab::compare::{SequentialTest, compare_part, compare_until_sure};
use afterstate_lab::control::{Control, Event, Status};
use afterstate_lab::convert::{self as conversion, ConvertOptions, Kind, Program};
use afterstate_lab::evaluate::{EvalOptions, evaluate_part, record};
use afterstate_lab::grade::GradeThresholds;
use afterstate_lab::part::Part;
use afterstate_lab::positions::{Positions, of_play, of_records};
use afterstate_lab::recipe::Recipe;
use afterstate_lab::records::{JudgeOptions, LuckModel, judge as judge_records};
use afterstate_lab::review::{Detail, RecordReader, ReviewOptions, review as review_records};
use afterstate_lab::run::{Gaps, blocks_of};
use afterstate_lab::seal::Seal;
use afterstate_lab::solve::{
    GapOptions, Solution as Solved, SolveOptions, SymmetryMode, measure, solve as solve_game,
};
use afterstate_lab::spec::BuiltinRecipe;
use afterstate_lab::trainer::Trainer;
use afterstate_lab::{evaluate as evaluation, merge as merging, run};
use numpy::{PyArray1, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde::Serialize;

use crate::convert::{json, shape};
use crate::errors::{OrRaise, Place, input};
use crate::player::Player;
use crate::solution::Solution;
use crate::work;

/// How many games, with which seed, on how many threads, and which part of them.
#[derive(FromPyObject)]
pub struct Games {
    games: u64,
    seed: u64,
    threads: usize,
    part: Option<String>,
}

impl Games {
    fn options<'c>(&self, control: &'c Control) -> Result<EvalOptions<'c>, LabError> {
        let part = self.part.as_deref().map(str::parse).transpose()?;
        Ok(EvalOptions {
            games: self.games,
            part: part.unwrap_or(Part::WHOLE),
            seed: self.seed,
            threads: self.threads,
            control,
        })
    }
}

/// The JSON of a whole result, or of a part with what a merge needs.
#[derive(Serialize)]
#[serde(untagged)]
enum WholeOrPart<W, P> {
    Whole(W),
    Part(P),
}

/// The player with the digest of its file, for documents.
fn hashed(player: &Player) -> Result<evaluation::Contender, LabError> {
    let mut contender = player.contender.clone();
    if let Some(model) = &mut contender.model {
        model.hash()?;
    }
    Ok(contender)
}

/// Plays games.
#[pyfunction]
pub fn evaluate(
    py: Python<'_>,
    player: &Player,
    games: Games,
    records: Option<PathBuf>,
    listener: Option<Py<PyAny>>,
) -> PyResult<String> {
    let found = work::run_with(py, listener, Place::Records, &[player], |control| {
        let contender = hashed(player)?;
        let options = games.options(control)?;
        if let Some(path) = &records {
            return record(&contender, &options, path).map(WholeOrPart::Whole);
        }
        let found = evaluate_part(&contender, &options);
        Ok(match games.part {
            Some(_) => WholeOrPart::Part(found),
            None => WholeOrPart::Whole(found.evaluation),
        })
    })?;
    json(&found)
}

/// Measures a player against an exact solution.
#[pyfunction]
pub fn gaps(
    py: Python<'_>,
    player: &Player,
    solution: &Solution,
    fast: bool,
    threads: usize,
    keep: Option<PathBuf>,
    listener: Option<Py<PyAny>>,
) -> PyResult<String> {
    let found = work::run_with(py, listener, Place::None, &[player], |control| {
        // A folder that cannot be written to is an error before the work starts.
        let gaps = keep.as_deref().map(Gaps::open).transpose()?;
        let found = measure(&GapOptions {
            contender: &hashed(player)?,
            solution: &solution.solved,
            symmetries: match fast {
                true => SymmetryMode::One,
                false => SymmetryMode::All,
            },
            threads,
            memory: None,
            control,
        })?;
        if let (Some(mut gaps), Some(found), Some(games)) = (gaps, &found, player.episodes()) {
            gaps.keep(found.measurement(games))?;
        }
        Ok(found)
    })?;
    json(&found)
}

/// Compares two players.
#[pyfunction]
pub fn compare(
    py: Python<'_>,
    a: &Player,
    b: &Player,
    games: Games,
    sequential: bool,
    margin: Option<f64>,
    listener: Option<Py<PyAny>>,
) -> PyResult<String> {
    let found = work::run_with(py, listener, Place::None, &[a, b], |control| {
        let (a, b) = (hashed(a)?, hashed(b)?);
        let options = games.options(control)?;
        if sequential {
            let test = SequentialTest { margin };
            return compare_until_sure(&a, &b, &options, test).map(WholeOrPart::Whole);
        }
        let found = compare_part(&a, &b, &options)?;
        Ok(match games.part {
            Some(_) => WholeOrPart::Part(found),
            None => WholeOrPart::Whole(found.comparison),
        })
    })?;
    json(&found)
}

/// The positions of some games, as arrays.
fn arrays(py: Python<'_>, found: Positions, shape: Shape) -> PyResult<Bound<'_, PyDict>> {
    let count = found.len();
    let boards =
        |tiles: Vec<u8>| PyArray1::from_vec(py, tiles).reshape([count, shape.rows(), shape.cols()]);
    let arrays = PyDict::new(py);
    arrays.set_item("boards", boards(found.boards)?)?;
    arrays.set_item("afterstates", boards(found.afterstates)?)?;
    arrays.set_item("hints", PyArray1::from_vec(py, found.hints))?;
    arrays.set_item("moves", PyArray1::from_vec(py, found.moves))?;
    arrays.set_item("rewards", PyArray1::from_vec(py, found.rewards))?;
    arrays.set_item("returns", PyArray1::from_vec(py, found.returns))?;
    arrays.set_item("scores", PyArray1::from_vec(py, found.scores))?;
    arrays.set_item("games", PyArray1::from_vec(py, found.games))?;
    arrays.set_item("unfinished", found.unfinished)?;
    Ok(arrays)
}

/// The positions of the games that a player plays.
#[pyfunction]
pub fn positions_of_play<'py>(
    py: Python<'py>,
    player: &Player,
    games: Games,
    every: u64,
    listener: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let found = work::run_with(py, listener, Place::None, &[player], |control| {
        of_play(&player.contender, &games.options(control)?, every)
    })?;
    arrays(py, found, player.contender.shape)
}

/// The game, the board and the positions of records.
#[pyfunction]
pub fn positions_of_records(
    py: Python<'_>,
    path: PathBuf,
    every: u64,
    listener: Option<Py<PyAny>>,
) -> PyResult<(String, String, Bound<'_, PyDict>)> {
    let (game, shape, found) = work::run(py, listener, Place::None, |control| {
        of_records(&path, every, control)
    })?;
    Ok((game, shape.to_string(), arrays(py, found, shape)?))
}

/// Merges the parts of an evaluation or a comparison, each with its name.
#[pyfunction]
pub fn merge(parts: Vec<(PathBuf, String)>) -> PyResult<String> {
    json(&merging::merge_documents(&parts).or_raise()?)
}

/// What a training ends with.
#[derive(Serialize)]
struct Trained {
    folder: Option<PathBuf>,
    finished: bool,
    games: u64,
    blocks: Vec<afterstate_lab::block::Block>,
}

fn lock<T>(blocks: &Mutex<T>) -> MutexGuard<'_, T> {
    blocks.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts or resumes a run; without a place to write, in memory, with the model that remains.
#[pyfunction]
pub fn train(
    py: Python<'_>,
    recipe: &str,
    overrides: Vec<String>,
    resume: Option<PathBuf>,
    out: Option<PathBuf>,
    runs: Option<PathBuf>,
    listener: Option<Py<PyAny>>,
) -> PyResult<(String, Option<Player>)> {
    let place = match resume {
        Some(_) => Place::None,
        None => Place::Out,
    };
    let (trained, player) = work::run(py, listener, place, move |control| {
        // A training in memory has no file of its blocks.
        let blocks = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&blocks);
        let keeping = control.clone().on_event(move |event| {
            if let Event::Block(block) = event {
                lock(&kept).push(block.clone());
            }
        });
        let mut trainer = match (&resume, &out, &runs) {
            (Some(folder), ..) => Trainer::resume(folder, &overrides, control)?,
            (None, Some(folder), _) => {
                Trainer::new(Recipe::load(recipe, &overrides)?, folder, control)?
            }
            (None, None, Some(runs)) => {
                let recipe = Recipe::load(recipe, &overrides)?;
                let name = recipe.name.clone();
                Trainer::new_under(recipe, runs, &name, control)?
            }
            (None, None, None) => Trainer::in_memory(Recipe::load(recipe, &overrides)?, &keeping)?,
        };
        let status = trainer.train()?;
        let folder = trainer.folder().map(Path::to_owned);
        let player = match folder {
            Some(_) => None,
            None => Some(Player::of_training(&trainer)),
        };
        let trained = Trained {
            blocks: match &folder {
                Some(folder) => blocks_of(folder)?,
                None => std::mem::take(&mut *lock(&blocks)),
            },
            folder,
            finished: status == Status::Finished,
            games: trainer.games(),
        };
        Ok((trained, player))
    })?;
    Ok((json(&trained)?, player))
}

/// Solves a small board.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "those of the command")]
pub fn solve(
    py: Python<'_>,
    game: &str,
    board: &str,
    target: Option<u64>,
    discount: f64,
    min_avg_max: bool,
    threads: usize,
    out: Option<PathBuf>,
    listener: Option<Py<PyAny>>,
) -> PyResult<Option<Solution>> {
    let shape = shape(board)?;
    work::run(py, listener, Place::Out, move |control| {
        if let Some(path) = &out {
            Solved::can_be_written(path)?;
        }
        let solved = solve_game(&SolveOptions {
            game,
            shape,
            target,
            discount,
            bounds: min_avg_max,
            threads,
            memory: None,
            control,
        })?;
        let Some(solved) = solved else {
            return Ok(None);
        };
        if let Some(path) = &out {
            solved.solution.write(path)?;
        }
        let report = solved.report();
        Ok(Some(Solution::new(solved.solution, out, report)))
    })
}

/// Verifies records.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "those of the command")]
pub fn judge(
    py: Python<'_>,
    records: PathBuf,
    game: Option<String>,
    board: Option<String>,
    games: Option<u64>,
    min_speed: Option<f64>,
    seal: Option<PathBuf>,
    model: Option<(String, Player)>,
    listener: Option<Py<PyAny>>,
) -> PyResult<String> {
    let seal = match &seal {
        Some(path) => Seal::open(path).map(Some),
        None => Seal::beside(&records),
    };
    let seal = seal.or_raise()?;
    let game = game.or_else(|| seal.as_ref().map(|seal| seal.game.clone()));
    let board = board.or_else(|| seal.as_ref().map(|seal| seal.board.clone()));
    let shape = board.as_deref().map(shape).transpose()?;
    let players: Vec<&Player> = model.iter().map(|(_, player)| player).collect();
    let model = model.as_ref().map(|(label, player)| {
        let contender = player.contender.clone();
        LuckModel {
            label: label.clone(),
            game: contender.game,
            shape: contender.shape,
            agent: contender.agent,
        }
    });
    let verdict = work::run_with(py, listener, Place::None, &players, |control| {
        judge_records(&JudgeOptions {
            game: game.as_deref(),
            shape,
            games,
            min_speed,
            seal: seal.as_ref(),
            model: model.as_ref(),
            ..JudgeOptions::new(&records, control)
        })
    })?;
    json(&verdict)
}

/// Grades the moves of records. Without a player, `open` gets their game and board.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "those of the command")]
pub fn review(
    py: Python<'_>,
    records: PathBuf,
    player: Option<Player>,
    open: Py<PyAny>,
    top: usize,
    thresholds: [f64; 4],
    threads: usize,
    listener: Option<Py<PyAny>>,
) -> PyResult<String> {
    let player = match player {
        Some(player) => player,
        None => {
            let opened = py.detach(|| RecordReader::open(&records, &Control::new())?.game());
            let (game, shape) = opened.or_raise()?;
            open.call1(py, (game, shape.to_string()))?.extract(py)?
        }
    };
    let [excellent, good, inaccuracy, mistake] = thresholds;
    let thresholds = GradeThresholds {
        excellent,
        good,
        inaccuracy,
        mistake,
    };
    if !thresholds.are_ordered() {
        return Err(input(
            "`thresholds` are not in order; expected four shares from 1 to 0, in falling order, \
             such as (0.999, 0.99, 0.975, 0.9)",
        ));
    }
    let found = work::run_with(py, listener, Place::None, &[&player], |control| {
        let contender = hashed(&player)?;
        let values = Arc::clone(&player.plain.agent);
        let options = ReviewOptions {
            thresholds,
            top,
            detail: Detail::Full,
            threads,
            control,
        };
        let records = RecordReader::open(&records, control)?;
        review_records(records, &contender, &values, &options)
    })?;
    json(&found)
}

/// Converts weights.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "those of the command")]
pub fn convert(
    py: Python<'_>,
    source: PathBuf,
    target: PathBuf,
    kind: Option<String>,
    patterns: Option<String>,
    game: Option<String>,
    symmetry: bool,
    base: Option<u64>,
    stages: Option<Vec<u64>>,
    weights_only: bool,
    force: bool,
    listener: Option<Py<PyAny>>,
) -> PyResult<String> {
    let kind = match kind.as_deref() {
        None => None,
        Some("native") => Some(Kind::Native),
        Some("tdl") => Some(Kind::Of(Program::Tdl)),
        Some("demo") => Some(Kind::Of(Program::Demo)),
        Some("framework") => Some(Kind::Of(Program::Framework)),
        Some(other) => {
            return Err(input(&format!(
                "unknown format `{other}`; expected native, tdl, demo or framework"
            )));
        }
    };
    let report = work::run(py, listener, Place::None, |control| {
        conversion::convert(&ConvertOptions {
            from: &source,
            to: &target,
            kind,
            patterns: patterns.as_deref(),
            game: game.as_deref(),
            symmetry,
            base,
            stages: stages.as_deref(),
            weights_only,
            force,
            control,
        })
    })?;
    json(&report)
}

/// The built-in recipes, as JSON.
#[pyfunction]
pub fn recipes() -> PyResult<String> {
    json(&BuiltinRecipe::all().or_raise()?)
}

/// All keys of a recipe, as JSON.
#[pyfunction]
pub fn recipe(name: &str, overrides: Vec<String>) -> PyResult<String> {
    json(&Recipe::load(name, &overrides).or_raise()?)
}

/// What a run has, as JSON: whether it is finished, its games, and its blocks.
#[pyfunction]
pub fn run_of(folder: PathBuf) -> PyResult<String> {
    if !run::exists(&folder) {
        return Err(input(&format!(
            "{} is not a run folder; expected one that `train` has made",
            folder.display()
        )));
    }
    let blocks = blocks_of(&folder).or_raise()?;
    let games = run::model_games(&folder);
    json(&Trained {
        finished: games.is_some(),
        games: games.unwrap_or_else(|| blocks.last().map_or(0, |block| block.games)),
        blocks,
        folder: Some(folder),
    })
}
