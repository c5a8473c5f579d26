use std::collections::{BTreeMap, HashMap};

use super::*;
use crate::game::{Grid, Shape};

const SCORE: Goal = Goal::Score { discount: 1.0 };

fn grid(rows: usize, cols: usize) -> Grid {
    Grid::new(Shape::new(rows, cols).unwrap())
}

/// Every layer upwards, then every value downwards, on one thread.
fn by_layers(game: Grid, goal: Goal) -> (Solver<Grid>, HashMap<u64, f64>) {
    let solver = Solver::new(game, goal).unwrap();
    let mut waiting: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    for (state, _) in solver.starts() {
        waiting.entry(solver.sum(state)).or_default().push(state);
    }
    let mut layers = Vec::new();
    while let Some((sum, states)) = waiting.pop_first() {
        let states = sorted(states);
        for above in solver.above(&solver.afters(&states)) {
            assert!(above.sum > sum, "a new tile raises the sum");
            waiting.entry(above.sum).or_default().extend(above.states);
        }
        layers.push(Layer { sum, states });
    }
    let mut values = HashMap::new();
    for layer in layers.iter().rev() {
        let afters: HashMap<u64, f64> = solver
            .afters(&layer.states)
            .into_iter()
            .map(|after| (after, solver.after_value(after, |state| values[&state])))
            .collect();
        for &state in &layer.states {
            values.insert(state, solver.state_value(state, |after| afters[&after]));
        }
    }
    (solver, values)
}

fn start(solver: &Solver<Grid>, values: &HashMap<u64, f64>) -> f64 {
    let starts = solver.starts();
    starts
        .iter()
        .map(|(state, chance)| chance * values[state])
        .sum()
}

/// The known values, to all digits given.
#[test]
fn two_by_two() {
    let value = |goal| {
        let (solver, values) = by_layers(grid(2, 2), goal);
        start(&solver, &values)
    };
    let near =
        |found: f64, known: f64, digit: f64| assert!((found - known).abs() < digit, "{found}");
    near(value(SCORE), 66.964_149_457_10, 5e-12);
    near(value(Goal::Reach(3)), 1.0, 1e-15);
    near(value(Goal::Reach(4)), 0.962_511_253_75, 5e-12);
    near(value(Goal::Reach(5)), 0.082_887_289_07, 5e-12);
    assert_eq!(value(Goal::Reach(6)), 0.0);
}

#[test]
fn layers_and_the_definition_agree_on_every_position() {
    let goals = [
        SCORE,
        Goal::Score { discount: 0.9 },
        Goal::Reach(4),
        Goal::Reach(5),
    ];
    for (rows, cols) in [(2, 2), (2, 3), (3, 2)] {
        for goal in goals {
            let game = grid(rows, cols);
            let (solver, values) = by_layers(game, goal);
            let mut slow = Recursive::new(game, goal);
            let value = slow.start();
            assert!((start(&solver, &values) - value).abs() <= 1e-12 * value.max(1.0));
            let mut images: HashMap<u64, usize> = HashMap::new();
            for (&state, &value) in slow.values() {
                let code = solver.code().of(state);
                let fast = values[&code];
                assert!((fast - value).abs() <= 1e-12 * value.max(1.0), "{state:?}");
                *images.entry(code).or_default() += 1;
            }
            assert_eq!(images.len(), values.len(), "{rows}x{cols} {goal:?}");
            for (code, count) in images {
                assert_eq!(solver.code().images(code), count);
            }
        }
    }
}

#[test]
fn a_board_with_more_than_16_cells_has_no_code() {
    assert!(Solver::new(grid(4, 4), SCORE).is_some());
    assert!(Solver::new(grid(4, 5), SCORE).is_none());
}
