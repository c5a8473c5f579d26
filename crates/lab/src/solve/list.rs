//! Upwards: every reachable state, by layers of the tile sum.

use std::collections::BTreeMap;

use afterstate::game::Game;
use afterstate::solve::{AfterCode, Layer, Packed, Solver, StateCode};

use super::estimate::{BoardCounts, Memory};
use super::work::{Waiting, Work, WorkError};
use super::{Layers, SolveFailure};

/// Afterstates processed before their successors, which are many times as many, are merged.
const AT_ONCE: usize = 1 << 20;

/// Lists all states, and counts them including symmetric ones. Calls `seen` with the sum of each
/// finished layer and the number of states.
pub(super) fn list<G: Game<Board: Packed>>(
    solver: &Solver<G>,
    work: &Work<'_>,
    memory: &Memory,
    boards: &BoardCounts,
    seen: impl Fn(u64, u64),
) -> Result<(Layers, u64), SolveFailure> {
    let mut starts: BTreeMap<u64, Vec<StateCode>> = BTreeMap::new();
    for (state, ..) in solver.starts() {
        let layer = starts.entry(solver.code().sum(state)).or_default();
        layer.push(state);
    }
    let mut waiting = Waiting::new(starts);
    let (mut layers, mut listed, mut largest, mut symmetric) = (Vec::new(), 0, 0, 0);
    while let Some((sum, states)) = waiting.0.pop_first() {
        listed += states.len() as u64;
        largest = largest.max(states.len() as u64);
        symmetric += count_symmetric(solver, work, &states)?;
        let afters = afters(solver, work, &states)?;
        let check = |waiting: &Waiting<StateCode>| {
            memory.check(listed, largest, waiting.count() + afters.len() as u64)
        };
        check(&waiting)?;
        for some in afters.chunks(AT_ONCE) {
            let above = work.in_parts(some, |part| solver.above(part))?;
            let above = above.into_iter().flatten();
            waiting.add(work, above.map(|layer| (layer.sum, layer.states)))?;
            check(&waiting)?;
        }
        layers.push(Layer { sum, states });
        memory.foresee(boards, sum, listed)?;
        seen(sum, listed);
    }
    Ok((Layers::new(layers)?, symmetric))
}

/// The distinct afterstates of some states, sorted.
pub(super) fn afters<G: Game<Board: Packed>>(
    solver: &Solver<G>,
    work: &Work<'_>,
    states: &[StateCode],
) -> Result<Vec<AfterCode>, WorkError> {
    work.merged(work.in_parts(states, |part| solver.afters(part))?)
}

fn count_symmetric<G: Game<Board: Packed>>(
    solver: &Solver<G>,
    work: &Work<'_>,
    states: &[StateCode],
) -> Result<u64, WorkError> {
    let count = |part: &[StateCode]| {
        let symmetric = part
            .iter()
            .map(|&state| solver.count_symmetric(state) as u64);
        symmetric.sum::<u64>()
    };
    Ok(work.in_parts(states, count)?.into_iter().sum())
}
