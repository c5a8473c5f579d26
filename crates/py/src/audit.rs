//! The judge of environments.

use afterstate::game::{Direction, Grid};
use afterstate::judge::{EnvironmentJudge as Judge, ObservedAction};
use afterstate_lab::games;
use pyo3::prelude::*;

use crate::convert::{direction, json, shape};
use crate::errors::{OrRaise, input};

/// Judges an environment by its transitions.
#[pyclass(module = "afterstate._afterstate")]
pub struct EnvironmentJudge(Judge<Grid>);

#[pymethods]
impl EnvironmentJudge {
    #[new]
    fn new(game: &str, board: &str) -> PyResult<Self> {
        let rules = games::rules(game).or_raise()?;
        let judge = Judge::new(Grid::new(shape(board)?, rules));
        let unknown = || {
            input(&format!(
                "the new tiles of {game} depend on more than the empty cells, which an environment \
                 does not show; expected 2048 or 2584"
            ))
        };
        judge.map(Self).ok_or_else(unknown)
    }

    /// Sees the tile indices at the start of a game.
    fn start(&mut self, tiles: Vec<u8>) {
        self.0.start(&tiles);
    }

    /// Sees an action; the direction is a number.
    fn see(
        &mut self,
        before: Vec<u8>,
        action: usize,
        after: Vec<u8>,
        reward: Option<f64>,
        terminated: bool,
        mask: Option<[bool; 4]>,
    ) -> PyResult<()> {
        let seen = ObservedAction {
            before: &before,
            action: direction(action)?,
            after: &after,
            reward,
            terminated,
            mask,
        };
        self.0.see(&seen).map_err(|error| input(&error.to_string()))
    }

    /// The numbers of the directions by which a slide and a spawn lead from one board to another.
    fn explains(&self, before: Vec<u8>, after: Vec<u8>) -> Vec<usize> {
        let explains = |it: &Direction| self.0.explains(&before, *it, &after);
        let all = Direction::ALL.into_iter().filter(explains);
        all.map(|direction| direction as usize).collect()
    }

    /// What was found, as JSON.
    fn findings(&self) -> PyResult<String> {
        json(&self.0.results())
    }
}
