//! Players: models, solutions that play, and baselines.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use afterstate::game::Direction;
use afterstate_lab::agent::{
    Agent, Baseline, BoardBatch, BoardState, ExternalKind, ExternalSpec, ExternalValues,
    WeightArray, board_slides, board_values,
};
use afterstate_lab::analyze::{
    Analysis, LINE_MOVES, RolloutOptions, analyze_board, deepen, lines, rollouts as play_on,
};
use afterstate_lab::board::GameBoard;
use afterstate_lab::control::Control;
use afterstate_lab::error::FileKind;
use afterstate_lab::evaluate::Contender;
use afterstate_lab::model::{self, Model};
use afterstate_lab::search::{SearchLimit, SearchSpec};
use afterstate_lab::solve::Solution as Solved;
use afterstate_lab::trainer::{TrainedModel, Trainer};
use afterstate_lab::{LabError, games};
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::convert::{json, shape};
use crate::errors::{OrRaise, Place, input};
use crate::external::Function;
use crate::work;

/// Reward plus value of the four moves of each board, and the best move of each.
type Values<'py> = (Bound<'py, PyArray2<f32>>, Bound<'py, PyArray1<i8>>);

/// Whether a cut-off has an effect on a search with this limit.
#[pyfunction]
pub fn can_cut_off(limit: &str) -> PyResult<bool> {
    let limit: SearchLimit = limit.parse().or_raise()?;
    Ok(limit.can_cut_off())
}

/// The model of the newest run of a game and board under a folder (or the network in the program,
/// where there is one).
#[pyfunction]
pub fn default_model(runs: PathBuf, game: &str, board: &str) -> PyResult<PathBuf> {
    games::rules(game).or_raise()?;
    let shape = shape(board)?;
    let none = || LabError::NoModel {
        game: game.to_owned(),
        shape,
    };
    let found = model::default_model(&runs, game, shape);
    found.ok_or_else(none).or_raise()
}

/// Afterstates, rewards and legality of the four slides of each board, flat.
type Slid<'py> = (
    Bound<'py, PyArray1<u8>>,
    Bound<'py, PyArray1<i64>>,
    Bound<'py, PyArray1<bool>>,
);

/// The slides of many boards.
#[pyfunction]
pub fn slides<'py>(
    py: Python<'py>,
    game: &str,
    board: &str,
    tiles: PyReadonlyArray1<'py, u8>,
    hints: PyReadonlyArray1<'py, u8>,
) -> PyResult<Slid<'py>> {
    let shape = shape(board)?;
    let (tiles, hints) = (tiles.as_slice()?.to_vec(), hints.as_slice()?.to_vec());
    let found = py.detach(|| board_slides(game, &BoardBatch::new(game, shape, &tiles, &hints)?));
    let found = found.or_raise()?;
    Ok((
        PyArray1::from_vec(py, found.afterstates),
        PyArray1::from_vec(py, found.rewards),
        PyArray1::from_vec(py, found.legal),
    ))
}

/// The most boards that are evaluated without looking for signals: a fraction of a second.
const UNWATCHED: usize = 1 << 16;

/// A player of a game.
#[pyclass(frozen, from_py_object, module = "afterstate._afterstate")]
#[derive(Clone)]
pub struct Player {
    /// What plays.
    pub contender: Contender,
    /// The same without a search.
    pub plain: Contender,
    /// How it searches, if it does.
    spec: Option<SearchSpec>,
    /// What can be written to a file, if it was trained in memory.
    trained: Option<Arc<TrainedModel>>,
    recipe: Option<String>,
    episodes: Option<u64>,
    lacks_checksums: bool,
    /// The function in Python whose values these are, if there is one.
    function: Option<Arc<Function>>,
}

/// Watches for what the functions of players raise from now on.
pub struct Watch(Vec<(Arc<Function>, u64)>);

impl Watch {
    pub fn of(players: &[&Player]) -> Self {
        let functions = players.iter().filter_map(|player| player.function.clone());
        let counted = functions.map(|function| {
            let failures = function.failures();
            (function, failures)
        });
        Self(counted.collect())
    }

    /// Passes on what one of them has raised.
    ///
    /// # Errors
    /// What it has raised.
    pub fn check(&self) -> PyResult<()> {
        let mut raised = self.0.iter();
        let raised = raised.find_map(|(function, count)| function.raised_since(*count));
        raised.map_or(Ok(()), Err)
    }
}

impl Player {
    /// A player that does not search.
    pub fn of(contender: Contender) -> Self {
        Self {
            plain: contender.clone(),
            contender,
            spec: None,
            trained: None,
            recipe: None,
            episodes: None,
            lacks_checksums: false,
            function: None,
        }
    }

    /// The player of a training in memory.
    pub fn of_training(trainer: &Trainer) -> Self {
        Self {
            trained: Some(Arc::new(trainer.model())),
            recipe: Some(trainer.recipe().title()),
            episodes: Some(trainer.games()),
            ..Self::of(trainer.contender())
        }
    }

    /// The games it was trained for, if it has been trained by this program.
    pub fn episodes(&self) -> Option<u64> {
        self.episodes
    }

    /// Does work for some boards that a signal can stop. Without a search a few boards take less time
    /// than a thread to watch them.
    fn watched<T: Send>(
        &self,
        py: Python<'_>,
        boards: usize,
        work: impl FnOnce(&(dyn Fn() -> bool + Sync)) -> Result<T, LabError> + Send,
    ) -> PyResult<T> {
        if self.spec.is_some() || boards > UNWATCHED {
            return work::run_with(py, None, Place::None, &[self], |control| {
                work(&|| control.is_cancelled())
            });
        }
        let watch = Watch::of(&[self]);
        let found = py.detach(|| work(&|| false));
        watch.check()?;
        found.or_raise()
    }

    /// The analysis of a board, ply by ply if it searches, and what continues from it. A limit of
    /// time is that of the whole answer.
    fn searched(
        &self,
        board: &GameBoard,
        control: &Control,
    ) -> Result<(Analysis<f32>, Contender), LabError> {
        let Some(spec) = &self.spec else {
            return Ok((analyze_board(&self.plain, board)?, self.plain.clone()));
        };
        if !spec.limit.is_time() {
            let contender = self.contender.clone();
            return Ok((deepen(&contender, board, control)?, contender));
        }
        let with = |limit: SearchLimit| {
            let spec = SearchSpec {
                limit,
                ..spec.clone()
            };
            self.plain.clone().with_search(&spec)
        };
        let lines = Direction::ALL.len() * (LINE_MOVES - 1);
        let (first, others) = spec.limit.split(lines as u32);
        let analysis = Analysis {
            search: self.contender.agent.search().to_owned(),
            ..deepen(&with(first)?, board, control)?
        };
        Ok((analysis, with(others)?))
    }

    fn open_file(path: &Path) -> Result<Self, LabError> {
        let model = match Model::open(path) {
            Err(LabError::Kind {
                found: FileKind::Solution,
                ..
            }) => {
                let solution = Arc::new(Solved::open(path)?);
                let lacks_checksums = solution.lacks_checksums();
                return Ok(Self {
                    lacks_checksums,
                    ..Self::of(Contender::exact(solution, path)?)
                });
            }
            model => model?,
        };
        Ok(Self {
            recipe: model.recipe.clone(),
            episodes: model.episodes,
            lacks_checksums: model.lacks_checksums,
            ..Self::of(Contender::from(&model))
        })
    }
}

#[pymethods]
impl Player {
    /// Opens a model, a run folder, weights of another program, or an exact solution.
    #[staticmethod]
    fn open(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        py.detach(|| Self::open_file(&path)).or_raise()
    }

    /// A baseline by its name; none if there is no such baseline.
    #[staticmethod]
    fn baseline(name: &str, game: &str, board: &str) -> PyResult<Option<Self>> {
        let Some(baseline) = Baseline::named(name) else {
            return Ok(None);
        };
        let contender = Contender::baseline(baseline, game, shape(board)?).or_raise()?;
        Ok(Some(Self::of(contender)))
    }

    /// A function in Python as a value function: see `ValueFunction`.
    #[staticmethod]
    fn function(
        callable: Py<PyAny>,
        game: &str,
        board: &str,
        actions: bool,
        num_envs: usize,
        label: String,
    ) -> PyResult<Self> {
        let shape = shape(board)?;
        let kind = match actions {
            true => ExternalKind::Actions,
            false => ExternalKind::Afterstates,
        };
        let function = Arc::new(Function::new(callable, kind, shape));
        let spec = ExternalSpec {
            kind,
            num_envs,
            values: Arc::clone(&function) as Arc<dyn ExternalValues>,
        };
        let contender = Contender {
            label,
            game: game.to_owned(),
            shape,
            agent: spec.agent(game, shape).or_raise()?,
            is_symmetric: false,
            model: None,
        };
        Ok(Self {
            function: Some(function),
            ..Self::of(contender)
        })
    }

    /// The same player with a search. Options of a search are refused without one.
    #[pyo3(signature = (limit, hash, cutoff, downgrade, threads))]
    fn with_search(
        &self,
        limit: &str,
        hash: Option<u64>,
        cutoff: Option<f64>,
        downgrade: Option<u64>,
        threads: usize,
    ) -> PyResult<Self> {
        let limit: SearchLimit = limit.parse().or_raise()?;
        let mut spec = SearchSpec::new(limit);
        if let Some(mebibytes) = hash {
            let bytes = mebibytes.checked_mul(1 << 20);
            let bytes = bytes.and_then(|bytes| usize::try_from(bytes).ok());
            spec.table_bytes = bytes.ok_or_else(|| input("`hash` is too large"))?;
        }
        if let Some(cutoff) = cutoff {
            if !(0.0..=1.0).contains(&cutoff) {
                return Err(input(&format!(
                    "`cutoff` is {cutoff}; expected a probability from 0 to 1"
                )));
            }
            spec.rare_below = cutoff;
        }
        spec.downgrade_from = downgrade;
        spec.threads = threads;
        if spec.limit.is_greedy() {
            let given = [
                ("hash", hash.is_some()),
                ("cutoff", cutoff.is_some()),
                ("downgrade", downgrade.is_some()),
            ];
            if let Some((name, _)) = given.into_iter().find(|(_, given)| *given) {
                let least = if name == "cutoff" { 3 } else { 2 };
                return Err(input(&format!(
                    "`{name}` has no effect on a search of 1ply; use search=\"{least}ply\" or more"
                )));
            }
            return Ok(Self {
                contender: self.plain.clone(),
                spec: None,
                ..self.clone()
            });
        }
        if cutoff.is_some() && !spec.limit.can_cut_off() {
            return Err(input(
                "`cutoff` has no effect on a search of 2ply; use search=\"3ply\" or more",
            ));
        }
        let contender = self.plain.clone().with_search(&spec).or_raise()?;
        Ok(Self {
            contender,
            spec: Some(spec),
            ..self.clone()
        })
    }

    #[getter]
    fn label(&self) -> &str {
        &self.plain.label
    }

    #[getter]
    fn game(&self) -> &str {
        &self.plain.game
    }

    #[getter]
    fn board(&self) -> String {
        self.plain.shape.to_string()
    }

    #[getter]
    fn search(&self) -> &str {
        self.contender.agent.search()
    }

    #[getter]
    fn recipe(&self) -> Option<&str> {
        self.recipe.as_deref()
    }

    #[getter]
    fn trained(&self) -> Option<u64> {
        self.episodes
    }

    #[getter]
    fn lacks_checksums(&self) -> bool {
        self.lacks_checksums
    }

    /// The file it was read from.
    #[getter]
    fn path(&self) -> Option<&str> {
        self.plain.model.as_ref().map(|model| &*model.path)
    }

    /// The values of the moves of many boards, and the best moves.
    fn values<'py>(
        &self,
        py: Python<'py>,
        tiles: PyReadonlyArray1<'py, u8>,
        hints: PyReadonlyArray1<'py, u8>,
        threads: usize,
    ) -> PyResult<Values<'py>> {
        // Copies: while the lock is released, other threads may write to the arrays.
        let (tiles, hints) = (tiles.as_slice()?.to_vec(), hints.as_slice()?.to_vec());
        let Contender {
            agent, game, shape, ..
        } = &self.contender;
        let found = self.watched(py, tiles.len() / shape.cells(), |stop| {
            let boards = BoardBatch::new(game, *shape, &tiles, &hints)?;
            board_values(&**agent, game, &boards, threads, stop)
        })?;
        let totals: Vec<f32> = found.totals.into_flattened();
        let count = found.best.len();
        let totals = PyArray1::from_vec(py, totals).reshape([count, 4])?;
        Ok((totals, PyArray1::from_vec(py, found.best)))
    }

    /// Writes what was trained in memory to a file.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let Some(trained) = &self.trained else {
            return Err(input(&format!(
                "{} has no weights in memory that a model file could keep",
                self.plain.label
            )));
        };
        py.detach(|| trained.save(&path)).or_raise()
    }

    /// The tables of an n-tuple network, by their patterns.
    fn tables(&self) -> Vec<(String, Table)> {
        let agent = &self.plain.agent;
        let table = |array: WeightArray| {
            let name = array.name.clone();
            let agent = Arc::clone(agent);
            (name, Table { array, agent })
        };
        agent.weights().into_iter().map(table).collect()
    }

    /// Analyses a board, as JSON.
    #[pyo3(signature = (text, rollouts, rollout_player, seed, threads, listener))]
    #[expect(clippy::too_many_arguments, reason = "those of the command")]
    fn analyze(
        &self,
        py: Python<'_>,
        text: &str,
        rollouts: Option<u64>,
        rollout_player: &Self,
        seed: u64,
        threads: usize,
        listener: Option<Py<PyAny>>,
    ) -> PyResult<String> {
        let (plain, rolling) = (&self.plain, &rollout_player.contender);
        let players = [self, rollout_player];
        let found = work::run_with(py, listener, Place::None, &players, move |control| {
            let board = GameBoard::parse(text, &plain.game, plain.shape)?;
            let (mut analysis, contender) = self.searched(&board, control)?;
            if let Some(model) = &mut analysis.model {
                model.hash()?;
            }
            let stop = || control.is_cancelled();
            let found = lines(&contender, &*plain.agent, &board, &Direction::ALL, &stop)?;
            analysis.add_lines(found);
            if let Some(games) = rollouts {
                let options = RolloutOptions {
                    tile: None,
                    games,
                    seed,
                    threads,
                    control,
                };
                analysis.add_rollouts(play_on(rolling, &board, &options)?);
            }
            Ok(analysis)
        })?;
        json(&found)
    }

    /// The move it would make on a board: its direction by number; none if the game is over.
    fn choose(
        &self,
        py: Python<'_>,
        position: &crate::position::Position,
    ) -> PyResult<Option<usize>> {
        let state: BoardState = position.board_state();
        let found = self.watched(py, 1, |stop| {
            let found = self.contender.agent.analyze_many(&[state], stop);
            Ok(found.into_iter().next().flatten())
        })?;
        let found = found.ok_or_else(|| input("the position is not of the model's game"))?;
        Ok(found.chosen.map(|direction| direction as usize))
    }
}

/// The weights of one table, for numpy.
#[pyclass(frozen, module = "afterstate._afterstate")]
pub struct Table {
    array: WeightArray,
    /// Keeps the weights in memory.
    #[expect(dead_code, reason = "owned, not read")]
    agent: Arc<dyn Agent>,
}

#[pymethods]
impl Table {
    /// Where the weights are: numpy reads them there and keeps this object alive.
    #[getter]
    fn __array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let WeightArray {
            address,
            shape,
            strides,
            ..
        } = &self.array;
        let interface = PyDict::new(py);
        interface.set_item("version", 3)?;
        interface.set_item(
            "typestr",
            if cfg!(target_endian = "big") {
                ">f4"
            } else {
                "<f4"
            },
        )?;
        interface.set_item("shape", pyo3::types::PyTuple::new(py, shape)?)?;
        interface.set_item("strides", pyo3::types::PyTuple::new(py, strides)?)?;
        // Read only: a weight that is written while a search reads it would be a surprise.
        interface.set_item("data", (*address, true))?;
        Ok(interface)
    }
}
