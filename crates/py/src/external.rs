//! Functions in Python as value functions.

use std::sync::{Mutex, PoisonError};

use afterstate::game::Shape;
use afterstate_lab::agent::{ExternalKind, ExternalValues};
use numpy::{PyArray1, PyArrayMethods, PyReadonlyArray1};
use pyo3::prelude::*;

/// A function of boards and hints, which returns an array of numbers.
pub struct Function {
    callable: Py<PyAny>,
    kind: ExternalKind,
    shape: Shape,
    failures: Mutex<Failures>,
}

/// How often it has raised, and what it raised last.
#[derive(Default)]
struct Failures {
    count: u64,
    last: Option<PyErr>,
}

impl Function {
    pub fn new(callable: Py<PyAny>, kind: ExternalKind, shape: Shape) -> Self {
        Self {
            callable,
            kind,
            shape,
            failures: Mutex::default(),
        }
    }

    /// How often it has raised so far.
    pub fn failures(&self) -> u64 {
        let failures = self.failures.lock();
        failures.unwrap_or_else(PoisonError::into_inner).count
    }

    /// What it has raised since there were so many failures.
    pub fn raised_since(&self, count: u64) -> Option<PyErr> {
        // The lock of the interpreter is taken first, here and in `values`.
        Python::attach(|py| {
            let failures = self.failures.lock();
            let failures = failures.unwrap_or_else(PoisonError::into_inner);
            let last = failures.last.as_ref().filter(|_| failures.count > count);
            last.map(|error| error.clone_ref(py))
        })
    }

    fn call(&self, py: Python<'_>, tiles: Vec<u8>, hints: Vec<u8>) -> PyResult<Vec<f32>> {
        let (rows, cols) = (self.shape.rows(), self.shape.cols());
        let boards = tiles.len() / self.shape.cells();
        let tiles = PyArray1::from_vec(py, tiles).reshape([boards, rows, cols])?;
        let hints = (!hints.is_empty()).then(|| PyArray1::from_vec(py, hints));
        let found = self.callable.bind(py).call1((tiles, hints))?;
        let found: PyReadonlyArray1<'_, f32> = found.extract()?;
        debug_assert_eq!(found.len()?, boards * self.kind.outputs());
        Ok(found.as_slice()?.to_vec())
    }
}

impl ExternalValues for Function {
    fn values(&self, tiles: Vec<u8>, hints: Vec<u8>) -> Option<Vec<f32>> {
        Python::attach(|py| match self.call(py, tiles, hints) {
            Ok(values) => Some(values),
            Err(error) => {
                let failures = self.failures.lock();
                let mut failures = failures.unwrap_or_else(PoisonError::into_inner);
                failures.count += 1;
                failures.last = Some(error);
                None
            }
        })
    }
}
