use std::collections::{BTreeMap, HashMap, HashSet};

use super::*;
use crate::game::{
    ChanceState, Fibonacci, Grid, PackedBoard, PackedGrid, Position, PowersOfTwo, Rules, Shape,
    Threes,
};
use crate::random::game_rng;

const SCORE: Goal = Goal::Score { discount: 1.0 };

fn grid(rows: usize, cols: usize) -> Grid {
    Grid::new(Shape::new(rows, cols).unwrap(), &PowersOfTwo)
}

fn mean(goal: Goal) -> Criterion {
    let spawn_mode = SpawnMode::Mean;
    Criterion { goal, spawn_mode }
}

/// Every layer upwards, then every value downwards, on one thread and the packed board.
fn by_layers(
    rules: &'static dyn Rules,
    shape: Shape,
    ending: Ending,
    criterion: Criterion,
) -> (Solver<PackedGrid>, HashMap<StateCode, f64>) {
    let solver = Solver::new(PackedGrid::new(shape, rules).unwrap(), ending).unwrap();
    let mut waiting: BTreeMap<u64, Vec<StateCode>> = BTreeMap::new();
    for (state, ..) in solver.starts() {
        waiting
            .entry(solver.code().sum(state))
            .or_default()
            .push(state);
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
        let value = |after| solver.after_value(criterion, after, |state| values[&state]);
        let afters = solver.afters(&layer.states).into_iter();
        let afters: HashMap<AfterCode, f64> = afters.map(|after| (after, value(after))).collect();
        for &state in &layer.states {
            let value = solver.state_value(criterion.goal, state, |after| afters[&after]);
            values.insert(state, value);
        }
    }
    (solver, values)
}

fn start(
    solver: &Solver<PackedGrid>,
    Criterion { goal, spawn_mode }: Criterion,
    values: &HashMap<StateCode, f64>,
) -> f64 {
    let starts = solver.starts();
    starts
        .iter()
        .fold(spawn_mode.nothing(), |all, (state, score, p)| {
            spawn_mode.and(all, goal.started(*score, values[state]), *p)
        })
}

/// The known values, to all given digits.
#[test]
fn values_of_2x2_are_the_known_ones() {
    let value = |goal| {
        let criterion = mean(goal);
        let (solver, values) =
            by_layers(&PowersOfTwo, grid(2, 2).shape(), Ending::Stuck, criterion);
        start(&solver, criterion, &values)
    };
    let near =
        |found: f64, known: f64, digit: f64| assert!((found - known).abs() < digit, "{found}");
    near(value(SCORE), 66.964_149_457_10, 5e-12);
    near(value(Goal::Reach(3)), 1.0, 1e-15);
    near(value(Goal::Reach(4)), 0.962_511_253_75, 5e-12);
    near(value(Goal::Reach(5)), 0.082_887_289_07, 5e-12);
    assert_eq!(value(Goal::Reach(6)), 0.0);
}

fn layers_and_the_definition_agree<R: Rules + Copy + PartialEq>(
    rules: &'static R,
    shapes: &[(usize, usize)],
) {
    let by_spawns = |goal, spawn_mode| Criterion { goal, spawn_mode };
    let criteria = [
        (Ending::Stuck, mean(SCORE)),
        (Ending::Stuck, mean(Goal::Score { discount: 0.9 })),
        (Ending::Stuck, mean(Goal::Reach(4))),
        (Ending::Tile(4), mean(Goal::Reach(4))),
        (Ending::Tile(5), mean(Goal::Reach(5))),
        (Ending::Tile(5), mean(SCORE)),
        (Ending::Stuck, by_spawns(SCORE, SpawnMode::Worst)),
        (Ending::Tile(5), by_spawns(SCORE, SpawnMode::Best)),
    ];
    for &(rows, cols) in shapes {
        let game = Grid::new(Shape::new(rows, cols).unwrap(), rules);
        for (ending, criterion) in criteria {
            let (solver, values) = by_layers(rules, game.shape(), ending, criterion);
            let mut slow = Recursive::new(game, ending, criterion);
            let value = slow.start();
            let found = start(&solver, criterion, &values);
            assert!((found - value).abs() <= 1e-12 * value.max(1.0));
            let mut counts: HashMap<StateCode, usize> = HashMap::new();
            for (&state, &value) in slow.values() {
                let code = solver.code().of_state(state);
                let fast = values[&code];
                assert!((fast - value).abs() <= 1e-12 * value.max(1.0), "{state:?}");
                *counts.entry(code).or_default() += 1;
            }
            // The definition stops where a value is decided, the layers only where the game is
            // over.
            let all_listed = ending != Ending::Stuck || criterion.goal == SCORE;
            if all_listed {
                assert_eq!(counts.len(), values.len(), "{rows}x{cols} {criterion:?}");
                for (code, count) in counts {
                    assert_eq!(solver.count_symmetric(code), count);
                }
            }
        }
    }
}

#[test]
fn layers_and_the_definition_agree_on_every_position_of_2048() {
    layers_and_the_definition_agree(&PowersOfTwo, &[(2, 2), (2, 3), (3, 2)]);
}

#[test]
fn layers_and_the_definition_agree_on_every_position_of_threes() {
    layers_and_the_definition_agree(&Threes::Course, &[(2, 2), (2, 3)]);
    layers_and_the_definition_agree(&Threes::Hint, &[(2, 2)]);
    layers_and_the_definition_agree(&Threes::Original, &[(2, 2)]);
}

#[test]
fn layers_and_the_definition_agree_on_every_position_of_2584() {
    layers_and_the_definition_agree(&Fibonacci::OneTwo, &[(2, 2)]);
    layers_and_the_definition_agree(&Fibonacci::OneThree, &[(2, 2)]);
}

/// On 2x3 a state and its mirror image have one code, including the hint: 1 and +2 in opposite
/// corners.
#[test]
fn symmetric_positions_of_threes_have_one_code() {
    let game = PackedGrid::new(grid(2, 3).shape(), &Threes::Course).unwrap();
    let solver = Solver::new(game, Ending::Stuck).unwrap();
    let chance_state = |hint| ChanceState {
        memory: [0, 0, 1],
        hint,
    };
    let code = |tiles: &[u8], hint| {
        let state = game.state(tiles, chance_state(hint)).unwrap();
        solver.code().of_state(state)
    };
    let one = code(&[1, 0, 0, 0, 0, 0], 2);
    assert_eq!(one, code(&[0, 0, 0, 0, 0, 1], 2));
    assert_ne!(one, code(&[0, 0, 0, 0, 0, 1], 3));
    // The tile in the middle of the bottom row can slide left, up and right; after left, a tile
    // spawns in the right column.
    let state = game.state(&[0, 0, 0, 0, 1, 0], chance_state(2)).unwrap();
    let slides = game.slides(state);
    assert!(slides.get(Direction::Down).is_none() && slides.legal().count() == 3);
    let left = slides.get(Direction::Left).unwrap();
    assert_eq!(
        (game.spawn_cells(left.after()), left.reward()),
        (0b100_100, 0)
    );
}

/// Random positions of 3x3 near the end, so that the definition can be evaluated.
#[test]
fn late_positions_of_3x3_agree_with_the_definition() {
    let game = grid(3, 3);
    let ending = Ending::Tile(5);
    for criterion in [mean(SCORE), mean(Goal::Reach(5))] {
        let (solver, values) = by_layers(&PowersOfTwo, game.shape(), ending, criterion);
        let mut slow = Recursive::new(game, ending, criterion);
        let mut codes: Vec<StateCode> = values.keys().copied().collect();
        codes.sort_unstable_by_key(|&code| (solver.code().sum(code), code));
        let mut rng = game_rng(1, 1);
        for _ in 0..300 {
            let late = codes.len() / 2 + rng.bits() as usize % (codes.len() / 2);
            let value = slow.value(solver.code().state(codes[late]));
            let found = values[&codes[late]];
            assert!(
                (found - value).abs() <= 1e-12 * value.max(1.0),
                "{criterion:?}"
            );
        }
    }
}

#[test]
fn a_board_with_more_than_16_cells_has_no_code() {
    assert!(Solver::new(grid(4, 4), Ending::Stuck).is_some());
    assert!(Solver::new(grid(2, 5), Ending::Stuck).is_some());
    assert!(Solver::new(grid(4, 5), Ending::Stuck).is_none());
}

/// Visits all reachable positions. Two of them have the same code exactly if they have the same
/// canonical form.
fn codes_are_those_of_canonical_forms(rules: &'static dyn Rules, shape: Shape) {
    let game = PackedGrid::new(shape, rules).unwrap();
    let code = Code::new(&game).unwrap();
    let (mut states, mut afterstates) = (Codes::default(), Codes::default());
    let (mut waiting, mut met) = (Vec::new(), HashSet::new());
    game.for_each_start(|state, _| waiting.push(state));
    while let Some(state) = waiting.pop() {
        if !met.insert(state) {
            continue;
        }
        states.check(code.of_state(state).number(), state.0);
        for slide in game.slides(state).legal() {
            let after = slide.after();
            if afterstates.check(code.of_afterstate(after).number(), after.0) {
                game.for_each_spawn(slide.after(), |next, _, _| waiting.push(next));
            }
        }
    }
    assert!(states.met.len() > states.of_canonical.len() && afterstates.met.len() > 20);
    assert_eq!(states.met.len(), met.len());
}

/// Positions by code and canonical form.
#[derive(Default)]
struct Codes {
    met: HashSet<u128>,
    of_canonical: HashMap<u128, u64>,
    canonical_of: HashMap<u64, u128>,
}

impl Codes {
    /// Returns whether the position is new.
    fn check(&mut self, found: u64, board: PackedBoard) -> bool {
        let canonical = board.canonical().key();
        assert_eq!(
            *self.of_canonical.entry(canonical).or_insert(found),
            found,
            "{board:?}"
        );
        assert_eq!(
            *self.canonical_of.entry(found).or_insert(canonical),
            canonical,
            "{board:?}"
        );
        self.met.insert(board.key())
    }
}

#[test]
fn positions_have_one_code_exactly_if_they_have_one_canonical_form() {
    let [square, rectangle] = [grid(2, 2), grid(2, 3)].map(|game| game.shape());
    for shape in [square, rectangle] {
        codes_are_those_of_canonical_forms(&PowersOfTwo, shape);
        codes_are_those_of_canonical_forms(&Threes::Course, shape);
    }
    codes_are_those_of_canonical_forms(&Threes::Hint, square);
    codes_are_those_of_canonical_forms(&Threes::Original, square);
}
