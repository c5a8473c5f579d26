//! The extension module of the Python package `afterstate`.
//!
//! The package has two layers. This one converts between Rust and Python: arrays, exceptions,
//! events, signals. The other one, in `python/afterstate/`, has the names, the keyword arguments
//! and the documentation that people use. Neither contains an algorithm.

mod audit;
mod commands;
mod convert;
mod environment;
mod errors;
mod external;
mod player;
mod position;
mod solution;
mod sweep;
mod work;

use pyo3::prelude::*;

/// What `afterstate` is made of; its stubs are in `_afterstate.pyi`.
#[pymodule]
mod _afterstate {
    #[pymodule_export]
    use super::audit::EnvironmentJudge;
    #[pymodule_export]
    use super::commands::{compare, convert, evaluate, gaps, judge, merge, recipe, recipes};
    #[pymodule_export]
    use super::commands::{positions_of_play, positions_of_records, review, run_of, solve, train};
    #[pymodule_export]
    use super::environment::Environments;
    #[pymodule_export]
    use super::player::{Player, Table, can_cut_off, default_model, slides};
    #[pymodule_export]
    use super::position::{Afterstate, Game, Position, Random, board_shape, games};
    #[pymodule_export]
    use super::solution::{Solution, Vector};
    #[pymodule_export]
    use super::sweep::{merge_sweep, sweep, sweep_runs};
    use super::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        module.add("MAX_THREADS", afterstate_lab::MAX_THREADS)?;
        module.add("has_deep", cfg!(feature = "deep"))
    }
}
