//! Environments: one call makes a step of all of them.

use afterstate::game::Shape;
use afterstate_lab::agent::BoardState;
use afterstate_lab::board::GameBoard;
use afterstate_lab::environment::{
    Autoreset, EnvironmentBatch as Erased, Observation, environments, one_hot,
};
use afterstate_lab::games;
use numpy::{PyArray1, PyArrayMethods, PyReadonlyArray1};
use pyo3::prelude::*;

use crate::convert::shape;
use crate::errors::{OrRaise, input};

/// Environments of one game.
#[pyclass(module = "afterstate._afterstate")]
pub struct Environments {
    inner: Box<dyn Erased>,
    game: String,
    shape: Shape,
    /// The length of one-hot vectors; 0 for tile indices.
    kinds: usize,
    afterstates: bool,
}

/// Tiles, hints, masks, afterstates, their rewards, scores, moves and game numbers.
type Seen<'py> = (
    Bound<'py, PyAny>,
    Bound<'py, PyArray1<u8>>,
    Bound<'py, PyAny>,
    Option<Bound<'py, PyAny>>,
    Option<Bound<'py, PyAny>>,
    Bound<'py, PyArray1<i64>>,
    Bound<'py, PyArray1<i64>>,
    Bound<'py, PyArray1<i64>>,
);

/// What is observed, rewards, which terminated, were illegal and are new games, which ended, and
/// what was last observed of those.
type Stepped<'py> = (
    Seen<'py>,
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyArray1<bool>>,
    Bound<'py, PyArray1<bool>>,
    Bound<'py, PyArray1<bool>>,
    Bound<'py, PyArray1<i64>>,
    Seen<'py>,
);

#[pymethods]
impl Environments {
    #[new]
    #[pyo3(signature = (game, board, count, autoreset, one_hot, afterstates, seed))]
    fn new(
        game: &str,
        board: &str,
        count: usize,
        autoreset: &str,
        one_hot: bool,
        afterstates: bool,
        seed: u64,
    ) -> PyResult<Self> {
        let shape = shape(board)?;
        let autoreset = match autoreset {
            "next-step" => Autoreset::NextStep,
            "same-step" => Autoreset::SameStep,
            "disabled" => Autoreset::Disabled,
            other => return Err(input(&format!("unknown autoreset mode `{other}`"))),
        };
        let largest = games::rules(game).or_raise()?.largest_tile(shape);
        Ok(Self {
            inner: environments(game, shape, count, autoreset, seed).or_raise()?,
            game: game.to_owned(),
            shape,
            kinds: if one_hot { usize::from(largest) + 1 } else { 0 },
            afterstates,
        })
    }

    #[getter]
    fn count(&self) -> usize {
        self.inner.count()
    }

    /// Starts one with the first of the games `number`, `number + stride`, ... of a seed.
    fn restart(&mut self, environment: usize, seed: u64, number: u64, stride: u64) -> PyResult<()> {
        self.check(environment)?;
        self.inner.restart(environment, seed, number, stride);
        Ok(())
    }

    /// Starts the next game in one.
    fn start_next(&mut self, environment: usize) -> PyResult<()> {
        self.check(environment)?;
        self.inner.start_next(environment);
        Ok(())
    }

    /// Continues one on another board.
    fn set_board(&mut self, environment: usize, text: &str) -> PyResult<()> {
        self.check(environment)?;
        let board = GameBoard::parse(text, &self.game, self.shape).or_raise()?;
        let state = BoardState {
            tiles: board.tiles().to_vec(),
            chance_state: board.chance_state(),
        };
        match self.inner.set_state(environment, &state) {
            true => Ok(()),
            false => Err(input(&format!(
                "the board `{}` cannot occur in {} on {}",
                board.text(),
                self.game,
                self.shape
            ))),
        }
    }

    /// The board of one, drawn and in one line.
    fn board(&self, environment: usize) -> PyResult<(String, String)> {
        self.check(environment)?;
        let BoardState {
            tiles,
            chance_state,
        } = self.inner.state(environment);
        let board = GameBoard::new(&self.game, self.shape, tiles, chance_state).or_raise()?;
        Ok((board.to_string(), board.text()))
    }

    fn observe<'py>(&self, py: Python<'py>) -> PyResult<Seen<'py>> {
        self.arrays(py, self.inner.observe(self.afterstates))
    }

    fn step<'py>(
        &mut self,
        py: Python<'py>,
        actions: PyReadonlyArray1<'py, i64>,
    ) -> PyResult<Stepped<'py>> {
        // A copy: while the lock is released, other threads may write to the array.
        let actions = actions.as_slice()?.to_vec();
        let (inner, afterstates) = (&mut self.inner, self.afterstates);
        let done = py.detach(|| inner.step(&actions, afterstates)).or_raise()?;
        let results = done.results.iter();
        let rewards = results.clone().map(|it| it.reward.into()).collect();
        let flags = |flag: fn(&afterstate_lab::environment::StepResult) -> bool| {
            PyArray1::from_vec(py, results.clone().map(flag).collect())
        };
        let (terminated, illegal, new) = (
            flags(|it| it.terminated),
            flags(|it| it.illegal),
            flags(|it| it.is_new),
        );
        let ended = done.ended.iter().map(|&n| n as i64).collect();
        Ok((
            self.arrays(py, done.observation)?,
            PyArray1::from_vec(py, rewards),
            terminated,
            illegal,
            new,
            PyArray1::from_vec(py, ended),
            self.arrays(py, done.last)?,
        ))
    }
}

impl Environments {
    fn check(&self, environment: usize) -> PyResult<()> {
        let count = self.inner.count();
        match environment < count {
            true => Ok(()),
            false => Err(input(&format!(
                "there is no environment {environment}; there are {count}, from 0"
            ))),
        }
    }

    fn arrays<'py>(&self, py: Python<'py>, seen: Observation) -> PyResult<Seen<'py>> {
        let (count, rows, cols) = (seen.scores.len(), self.shape.rows(), self.shape.cols());
        let tiles = match self.kinds {
            0 => PyArray1::from_vec(py, seen.tiles)
                .reshape([count, rows, cols])?
                .into_any(),
            kinds => PyArray1::from_vec(py, one_hot(&seen.tiles, kinds))
                .reshape([count, rows, cols, kinds])?
                .into_any(),
        };
        let masks = PyArray1::from_vec(py, seen.masks).reshape([count, 4])?;
        let (mut after, mut rewards) = (None, None);
        if self.afterstates {
            let tiles = PyArray1::from_vec(py, seen.afterstates);
            after = Some(tiles.reshape([count, 4, rows, cols])?.into_any());
            let earned = PyArray1::from_vec(py, seen.afterstate_rewards);
            rewards = Some(earned.reshape([count, 4])?.into_any());
        }
        Ok((
            tiles,
            PyArray1::from_vec(py, seen.hints),
            masks.into_any(),
            after,
            rewards,
            PyArray1::from_vec(py, seen.scores),
            PyArray1::from_vec(py, seen.moves),
            PyArray1::from_vec(py, seen.games),
        ))
    }
}
