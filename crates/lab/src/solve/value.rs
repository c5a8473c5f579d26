//! Downwards: the value of every state, from the layers above it.

use std::collections::VecDeque;

use afterstate::game::Game;
use afterstate::solve::{Criterion, Packed, Solver, StateCode};

use super::Layers;
use super::list::afters;
use super::table::ValueTable;
use super::work::{Work, WorkError, filled};

/// The value of every state, in the order of the layers' codes. Calls `seen` with the number of
/// finished values.
pub(super) fn values<G: Game<Board: Packed>>(
    solver: &Solver<G>,
    layers: &Layers,
    criterion: Criterion,
    work: &Work<'_>,
    seen: impl Fn(u64),
) -> Result<Vec<f64>, WorkError> {
    let codes = layers.codes();
    let mut values = filled(0.0, codes.len())?;
    let mut recent = Recent::default();
    for (sum, places) in layers.iter().rev() {
        let states = &codes[places.clone()];
        let afters = afters(solver, work, states)?;
        let value = |state| {
            let sum = solver.code().sum(state);
            let found = recent.get(sum, state);
            found.unwrap_or_else(|| values[known(layers.place(sum, state))])
        };
        let after_values =
            work.number_each(&afters, |after| solver.after_value(criterion, after, value))?;
        let after_values = ValueTable::new(&afters, &after_values)?;
        let found = work.number_each(states, |state| {
            solver.state_value(criterion.goal, state, |after| {
                known(after_values.get(after))
            })
        })?;
        values[places.clone()].copy_from_slice(&found);
        recent.add(sum, ValueTable::new(states, &found)?);
        seen((codes.len() - places.start) as u64);
    }
    Ok(values)
}

/// The layers that were evaluated last: most spawns lead to one of them.
#[derive(Default)]
struct Recent(VecDeque<(u64, ValueTable<StateCode>)>);

/// The number of layers in hash tables.
pub(super) const RECENT: usize = 2;

impl Recent {
    fn get(&self, sum: u64, state: StateCode) -> Option<f64> {
        let (_, table) = self.0.iter().find(|(other, _)| *other == sum)?;
        table.get(state)
    }

    fn add(&mut self, sum: u64, table: ValueTable<StateCode>) {
        self.0.push_front((sum, table));
        self.0.truncate(RECENT);
    }
}

/// The value of the start of a game.
pub(super) fn start<G: Game<Board: Packed>>(
    solver: &Solver<G>,
    layers: &Layers,
    criterion: Criterion,
    values: &[f64],
) -> f64 {
    let starts = solver.starts().into_iter();
    let value = starts.fold(
        criterion.spawn_mode.nothing(),
        |all, (state, score, chance)| {
            let place = known(layers.place(solver.code().sum(state), state));
            let value = criterion.goal.started(score, values[place]);
            criterion.spawn_mode.and(all, value, chance)
        },
    );
    criterion.goal.bounded(value)
}

fn known<T>(found: Option<T>) -> T {
    found.expect("every position that play comes to was listed")
}
