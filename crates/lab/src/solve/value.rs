//! Downwards: what every state is worth, from the layers above it.

use afterstate::game::Game;
use afterstate::solve::{Aim, Packed, Solver};

use super::Layers;
use super::list::afters;
use super::work::{Stopped, Work};

/// The value of every state, in the order of the layers' codes. `seen` is told how many are valued.
pub(super) fn values<G: Game<State: Packed, After: Packed>>(
    solver: &Solver<G>,
    layers: &Layers,
    aim: Aim,
    work: &Work<'_>,
    seen: impl Fn(u64),
) -> Result<Vec<f64>, Stopped> {
    let mut values = vec![0.0; layers.codes().len()];
    for (_, places) in layers.iter().rev() {
        let states = &layers.codes()[places.clone()];
        let afters = afters(solver, work, states)?;
        let value = |state| values[known(layers.place(solver.code().sum(state), state))];
        let after_values = work.number_each(&afters, |after| {
            solver.after_value(aim.chance, after, value)
        })?;
        let after_value = |after| after_values[known(afters.binary_search(&after).ok())];
        let found = work.number_each(states, |state| {
            solver.state_value(aim.goal, state, after_value)
        })?;
        values[places.clone()].copy_from_slice(&found);
        seen((layers.codes().len() - places.start) as u64);
    }
    Ok(values)
}

/// The value of the start of a game.
pub(super) fn start<G: Game<State: Packed, After: Packed>>(
    solver: &Solver<G>,
    layers: &Layers,
    aim: Aim,
    values: &[f64],
) -> f64 {
    let starts = solver.starts().into_iter();
    starts.fold(aim.chance.nothing(), |all, (state, chance)| {
        let place = known(layers.place(solver.code().sum(state), state));
        aim.chance.and(all, values[place], chance)
    })
}

fn known(place: Option<usize>) -> usize {
    place.expect("every state that play comes to was listed")
}
