//! Exact solutions.

use std::path::PathBuf;
use std::sync::Arc;

use afterstate_lab::evaluate::Contender;
use afterstate_lab::solve::{Solution as Solved, SolveReport};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::convert::json;
use crate::errors::OrRaise;
use crate::player::Player;

/// The exact values of a small board.
#[pyclass(frozen, module = "afterstate._afterstate")]
pub struct Solution {
    /// The values.
    pub solved: Arc<Solved>,
    path: Option<PathBuf>,
    report: Option<SolveReport>,
}

impl Solution {
    /// A solution that was just computed.
    pub fn new(solved: Solved, path: Option<PathBuf>, report: SolveReport) -> Self {
        Self {
            solved: Arc::new(solved),
            path,
            report: Some(report),
        }
    }
}

#[pymethods]
impl Solution {
    /// Reads a file.
    #[staticmethod]
    fn open(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let solved = py.detach(|| Solved::open(&path)).or_raise()?;
        Ok(Self {
            solved: Arc::new(solved),
            path: Some(path),
            report: None,
        })
    }

    #[getter]
    fn game(&self) -> &str {
        &self.solved.info().game
    }

    #[getter]
    fn board(&self) -> String {
        self.solved.info().shape.to_string()
    }

    #[getter]
    fn expected_score(&self) -> f64 {
        self.solved.info().expected_score
    }

    #[getter]
    fn discount(&self) -> f64 {
        self.solved.info().discount
    }

    #[getter]
    fn states(&self) -> u64 {
        self.solved.info().states
    }

    #[getter]
    fn canonical_states(&self) -> usize {
        self.solved.layers().codes().len()
    }

    /// The target tile, the probability of reaching it, and whether the game ends there.
    #[getter]
    fn target(&self) -> Option<(u64, f64, bool)> {
        let target = self.solved.info().target?;
        Some((target.value, target.probability, target.ends))
    }

    #[getter]
    fn path(&self) -> Option<PathBuf> {
        self.path.clone()
    }

    /// What `solve` reports, as JSON; none for a solution that was read from a file.
    #[getter]
    fn report(&self) -> PyResult<Option<String>> {
        self.report.as_ref().map(json).transpose()
    }

    /// Analyses a board, as JSON.
    fn analyze(&self, text: &str) -> PyResult<String> {
        json(&self.solved.analyze(text).or_raise()?)
    }

    /// Writes it to a file.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        py.detach(|| self.solved.write(&path)).or_raise()
    }

    /// The player that plays optimally.
    fn player(&self) -> PyResult<Player> {
        let path = self.path.clone().unwrap_or_else(|| "solution".into());
        let contender = Contender::exact(Arc::clone(&self.solved), &path).or_raise()?;
        let model = self.path.as_ref().and(contender.model.clone());
        Ok(Player::of(Contender { model, ..contender }))
    }

    /// The expected score, or the probability of the target, of every canonical state.
    fn vector(&self, wins: bool) -> Option<Vector> {
        if wins {
            self.solved.wins()?;
        }
        let solved = Arc::clone(&self.solved);
        Some(Vector { solved, wins })
    }
}

/// Values of all states of a solution, for numpy.
#[pyclass(frozen, module = "afterstate._afterstate")]
pub struct Vector {
    solved: Arc<Solved>,
    wins: bool,
}

#[pymethods]
impl Vector {
    /// Where the values are: numpy reads them there and keeps this object alive.
    #[getter]
    fn __array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let values = match self.wins {
            true => self.solved.wins().unwrap_or_default(),
            false => self.solved.scores(),
        };
        let interface = PyDict::new(py);
        interface.set_item("version", 3)?;
        interface.set_item(
            "typestr",
            if cfg!(target_endian = "big") {
                ">f8"
            } else {
                "<f8"
            },
        )?;
        interface.set_item("shape", (values.len(),))?;
        interface.set_item("data", (values.as_ptr().expose_provenance(), true))?;
        Ok(interface)
    }
}
