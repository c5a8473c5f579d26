//! Exact values of boards that are solved in a moment, so that they can stand beside learned ones.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use afterstate::game::Shape;

use crate::control::Control;
use crate::evaluate::Contender;
use crate::memory::MemoryBudget;
use crate::solve::{SolveOptions, solve};
use crate::{ErrorClass, LabError};

/// The most cells of a board that is solved.
const CELLS: usize = 6;
/// The memory for a solution. 2584 with tiles 1 and 3 on 2x3 needs 6 MB for 363,550 positions. Threes!
/// with large bags on 2x3 has millions: the solver predicts them after 100,000 and gives up.
const MOST_BYTES: u64 = 32 << 20;

/// Perfect play; `None` on boards that are too large.
type Solved = Option<Arc<Contender>>;

/// Solutions of small boards. Each is found once; that a board is too large is kept, too.
#[derive(Default)]
pub struct SmallSolutions(Mutex<HashMap<(String, Shape), Solved>>);

impl SmallSolutions {
    /// Perfect play of a game on a board; `None` if the board is too large, or if it is cancelled.
    ///
    /// # Errors
    /// When there is no such game.
    pub fn find(
        &self,
        game: &str,
        shape: Shape,
        control: &Control,
    ) -> Result<Option<Arc<Contender>>, LabError> {
        if shape.cells() > CELLS {
            return Ok(None);
        }
        let key = (game.to_owned(), shape);
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = known.get(&key) {
            return Ok(known.clone());
        }
        // Other boards do not wait while this one is solved.
        drop(known);
        let found = solved(game, shape, control)?;
        if !control.is_cancelled() {
            let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            known.insert(key, found.clone());
        }
        Ok(found)
    }
}

fn solved(game: &str, shape: Shape, control: &Control) -> Result<Option<Arc<Contender>>, LabError> {
    let quiet = Control::new()
        .with_cancel(control.cancel_token())
        .with_memory(MemoryBudget::new(MOST_BYTES));
    let solved = solve(&SolveOptions {
        game,
        shape,
        target: None,
        discount: 1.0,
        bounds: false,
        threads: 1,
        memory: Some(MOST_BYTES),
        control: &quiet,
    });
    let solved = match solved {
        Err(error) if error.class() == ErrorClass::System => None,
        solved => solved?,
    };
    let contender = |solution| Contender::exact(Arc::new(solution), Path::new("exact"));
    let found = solved
        .map(|solved| contender(solved.solution))
        .transpose()?;
    Ok(found.map(Arc::new))
}
