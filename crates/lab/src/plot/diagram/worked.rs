//! The worked examples: small positions and a few set weights; everything else is computed by the
//! rules, networks and update rules of the core.
//!
//! The examples of learning are one game of four moves on a 2x2 board of 2048. The network has one
//! tuple of all cells and no symmetries, so a value is one weight, and m is 1.

mod dqn;
mod lookup;

pub(in crate::plot) use dqn::{Dqn, dqn};
pub(in crate::plot) use lookup::{
    Digit, Lookup, Lookups, TableSize, lookup_update, lookups, table_sizes,
};

use afterstate::Value;
use afterstate::game::{
    After, ChanceState, Direction, Game, Grid, GridBoard, POWERS_OF_TWO_SPAWNS, PowersOfTwo, Shape,
    Spawn, State,
};
use afterstate::ntuple::{
    AfterstateNetwork, NetworkError, NetworkOptions, StateNetwork, Tc, Td, Trainable, TupleSet,
    UpdateRule, Updated, WeightPart,
};
use afterstate::random::game_rng;
use afterstate::value::{Decision, ValueFunction};

/// The learning rate of the examples: halves are easy to follow.
pub(in crate::plot) const ALPHA: Value = 0.5;
/// Lambda of the example of TD(lambda).
pub(in crate::plot) const LAMBDA: Value = 0.5;
/// Games after which the values of a repeated game no longer change.
pub(in crate::plot) const REPEATS: usize = 200;

const LEGAL: &str = "the example follows the rules";

fn shape(rows: usize, cols: usize) -> Shape {
    Shape::new(rows, cols).expect("the example's board is within the limits")
}

fn tuples(patterns: &str, shape: Shape, symmetry: bool) -> TupleSet {
    TupleSet::parse(patterns, shape, symmetry).expect("the example's tuples fit its board")
}

/// Moves the value of a position towards a target.
fn update<G: Game, N: Trainable<G>, R: UpdateRule>(
    network: &N,
    position: N::Input,
    target: Value,
    learning_rate: Value,
) -> Updated {
    let mut at = N::Located::default();
    network.locate_positions([position; 4], &mut at);
    network.update::<R>(position, &mut at, 0, target, learning_rate)
}

/// The value of a position.
fn value<N: Trainable<Grid>>(network: &N, position: N::Input) -> Value {
    let mut at = N::Located::default();
    network.locate_positions([position; 4], &mut at);
    network.value_at(&at, 0)
}

/// One move of the example's game.
#[derive(Clone, Copy, Debug)]
pub(in crate::plot) struct Move {
    pub state: State<GridBoard>,
    pub direction: Direction,
    pub reward: u32,
    pub after: After<GridBoard>,
}

/// The game of four moves that the examples of learning share.
#[derive(Clone, Debug)]
pub(in crate::plot) struct Example {
    pub game: Grid,
    pub moves: Vec<Move>,
    /// The state in which no slide is legal.
    pub end: State<GridBoard>,
}

/// The values of its states before it is learned.
const STATE_VALUES: [Value; 4] = [20.0, 10.0, 8.0, 6.0];

/// Plays the example's game.
pub(in crate::plot) fn example() -> Example {
    let game = Grid::new(shape(2, 2), &PowersOfTwo);
    let mut state = game.state(&[0, 1, 2, 1], ChanceState::NONE).expect(LEGAL);
    let mut moves = Vec::new();
    // A slide, then the cell of a new 2.
    for (direction, cell) in [
        (Direction::Down, 0),
        (Direction::Left, 1),
        (Direction::Down, 1),
        (Direction::Right, 0),
    ] {
        let slide = game.slides(state).get(direction).expect(LEGAL);
        moves.push(Move {
            state,
            direction,
            reward: slide.reward(),
            after: slide.after(),
        });
        state = game.place(slide.after(), cell, Spawn::of(1));
    }
    let end = state;
    Example { game, moves, end }
}

/// One update.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::plot) struct Row {
    /// V before.
    pub value: Value,
    pub target: Value,
    pub delta: Value,
    /// V after.
    pub after: Value,
}

/// One update of a backward pass.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::plot) struct PassRow {
    pub reward: Value,
    /// What is carried from the move after it.
    pub z: Value,
    pub row: Row,
}

impl Example {
    /// A network in which the states have the values of the example.
    pub fn network(&self) -> Result<StateNetwork, NetworkError> {
        let tuples = tuples("0123", self.game.shape(), false);
        let options = NetworkOptions::default();
        let network = StateNetwork::new(&tuples, &options, &POWERS_OF_TWO_SPAWNS)?;
        for (step, value) in self.moves.iter().zip(STATE_VALUES) {
            update::<Grid, _, Td>(&network, step.state, value, 1.0);
        }
        Ok(network)
    }

    /// The rewards of all moves.
    pub fn rewards(&self) -> Vec<Value> {
        self.moves.iter().map(|step| step.reward as Value).collect()
    }

    /// The values of all states.
    pub fn values(&self, network: &StateNetwork) -> Vec<Value> {
        let states = self.moves.iter().map(|step| step.state);
        states.map(|state| value(network, state)).collect()
    }

    fn learn(&self, network: &StateNetwork, t: usize, target: Value) -> Row {
        let state = self.moves[t].state;
        let before = value(network, state);
        let updated = update::<Grid, _, Td>(network, state, target, ALPHA);
        Row {
            value: before,
            target,
            delta: updated.delta,
            after: updated.value,
        }
    }

    /// TD(0) during the game: each state moves towards its reward plus the value of the next.
    pub fn td(&self) -> Result<Vec<Row>, NetworkError> {
        let network = self.network()?;
        let rewards = self.rewards();
        let update = |t: usize| {
            let next = self.moves.get(t + 1);
            let next = next.map_or(0.0, |next| value(&network, next.state));
            self.learn(&network, t, rewards[t] + next)
        };
        Ok((0..self.moves.len()).map(update).collect())
    }

    /// Monte Carlo: each state moves towards its return.
    pub fn monte_carlo(&self) -> Result<Vec<Row>, NetworkError> {
        let network = self.network()?;
        let rewards = self.rewards();
        let update = |t: usize| self.learn(&network, t, rewards[t..].iter().sum());
        Ok((0..self.moves.len()).map(update).collect())
    }

    /// A backward pass in the order of states. `carry` says what the state before gets, from the
    /// reward of a move and its update.
    fn pass(&self, network: &StateNetwork, carry: impl Fn(Value, Row) -> Value) -> Vec<PassRow> {
        let rewards = self.rewards();
        let mut z = 0.0;
        let mut rows = Vec::new();
        for t in (0..self.moves.len()).rev() {
            let row = self.learn(network, t, rewards[t] + z);
            rows.push(PassRow {
                reward: rewards[t],
                z,
                row,
            });
            z = carry(rewards[t], row);
        }
        rows.reverse();
        rows
    }

    /// TD(lambda) after the game.
    pub fn td_lambda(&self) -> Result<Vec<PassRow>, NetworkError> {
        let mixed = |_, row: Row| LAMBDA * row.target + (1.0 - LAMBDA) * row.after;
        Ok(self.pass(&self.network()?, mixed))
    }

    /// The n-step returns of the first state with the values before the game, each with its weight
    /// in the lambda-return; the last one is the return.
    pub fn n_step_returns(&self) -> Result<Vec<(Value, Value)>, NetworkError> {
        let values = self.values(&self.network()?);
        let rewards = self.rewards();
        let steps = self.moves.len();
        let one = |n: usize| {
            let earned: Value = rewards[..n].iter().sum();
            let last = n == steps;
            let rest = if last { 0.0 } else { values[n] };
            let share = if last { 1.0 } else { 1.0 - LAMBDA };
            (earned + rest, share * LAMBDA.powi(n as i32 - 1))
        };
        Ok((1..=steps).map(one).collect())
    }

    /// A backward pass by TD(0) as in textbooks.
    pub fn textbook(&self) -> Result<Flaw, NetworkError> {
        self.repeated(|network| self.pass(network, |_, row| row.after))
    }

    /// The pass of the DLP lab report: the reward is carried a second time.
    pub fn reward_twice(&self) -> Result<Flaw, NetworkError> {
        self.repeated(|network| self.pass(network, |reward, row| reward + row.after))
    }

    /// The pass of DLP Homework 2: the last state is not updated, and the one before it moves
    /// towards its reward *minus* the value of the last.
    pub fn odd_end(&self) -> Result<Flaw, NetworkError> {
        let rewards = self.rewards();
        self.repeated(|network| {
            let last = self.moves.len() - 1;
            let kept = value(network, self.moves[last].state);
            let row = Row {
                value: kept,
                target: kept,
                delta: 0.0,
                after: kept,
            };
            let (reward, z) = (rewards[last], 0.0);
            let mut rows = vec![PassRow { reward, z, row }];
            let mut z = -kept;
            for t in (0..last).rev() {
                let (reward, row) = (rewards[t], self.learn(network, t, rewards[t] + z));
                rows.push(PassRow { reward, z, row });
                z = row.after;
            }
            rows.reverse();
            rows
        })
    }

    fn repeated(&self, pass: impl Fn(&StateNetwork) -> Vec<PassRow>) -> Result<Flaw, NetworkError> {
        let network = self.network()?;
        let first = pass(&network);
        (1..REPEATS).for_each(|_| drop(pass(&network)));
        let limit = self.values(&network);
        Ok(Flaw { first, limit })
    }

    /// The returns of all states.
    pub fn returns(&self) -> Vec<Value> {
        let rewards = self.rewards();
        (0..rewards.len())
            .map(|t| rewards[t..].iter().sum())
            .collect()
    }
}

/// A backward pass, and the values after the game was learned again and again.
#[derive(Clone, Debug)]
pub(in crate::plot) struct Flaw {
    pub first: Vec<PassRow>,
    pub limit: Vec<Value>,
}

/// The backup of an afterstate and of a state, at the first move of the example.
#[derive(Clone, Debug)]
pub(in crate::plot) struct Backups {
    pub afterstate: Row,
    pub state: Row,
    /// The possible spawns after the first slide: cell, tile index and probability.
    pub spawns: Vec<(usize, u8, f64)>,
    /// Which of them came.
    pub spawned: usize,
    /// The slides of the next state: direction, reward, V of the afterstate, and their sum.
    pub slides: Vec<(Direction, u32, Value, Value)>,
    /// Which of them is made.
    pub chosen: usize,
}

/// Computes both backups.
pub(in crate::plot) fn backups() -> Result<Backups, NetworkError> {
    let example = example();
    let (game, first, second) = (example.game, example.moves[0], example.moves[1]);
    let tuples = tuples("0123", game.shape(), false);
    let network = AfterstateNetwork::new(&tuples, &NetworkOptions::default())?;
    update::<Grid, _, Td>(&network, first.after, 12.0, 1.0);
    let decision = Decision::new(&game, second.state).expect(LEGAL);
    for (slide, value) in decision.slides().legal().zip([9.0, 5.0, 6.0]) {
        update::<Grid, _, Td>(&network, slide.after(), value, 1.0);
    }
    let values = network.action_values(&game, &decision, &mut Default::default());
    let slides: Vec<_> = decision
        .slides()
        .legal()
        .zip(values.legal())
        .map(|(slide, (direction, value))| (direction, slide.reward(), value.value, value.total))
        .collect();
    let best = values.best().expect(LEGAL);
    let chosen = slides
        .iter()
        .position(|slide| slide.0 == best)
        .expect(LEGAL);
    let target = slides[chosen].3;
    let before = value(&network, first.after);
    let updated = update::<Grid, _, Td>(&network, first.after, target, ALPHA);
    let state = example.td()?[0];

    let spawns = spawns(&game, first.after);
    let is_next = |&(cell, tile, _): &(usize, u8, f64)| {
        game.place(first.after, cell, Spawn::of(tile)) == second.state
    };
    Ok(Backups {
        afterstate: Row {
            value: before,
            target,
            delta: updated.delta,
            after: updated.value,
        },
        state,
        spawned: spawns.iter().position(is_next).expect(LEGAL),
        spawns,
        slides,
        chosen,
    })
}

/// The spawns of an afterstate: cell, tile index and probability.
fn spawns(game: &Grid, after: After<GridBoard>) -> Vec<(usize, u8, f64)> {
    let mut all = Vec::new();
    let cells: Vec<usize> = afterstate::game::each_cell(game.spawn_cells(after)).collect();
    for &cell in &cells {
        game.for_each_new_tile(after, |spawn, chance| {
            all.push((cell, spawn.tile, chance / cells.len() as f64));
        });
    }
    all
}

/// A legal slide in the example of choosing.
#[derive(Clone, Debug)]
pub(in crate::plot) struct Choice {
    pub direction: Direction,
    pub reward: u32,
    pub after: After<GridBoard>,
    /// V of the afterstate, which the afterstate network stores.
    pub value: Value,
    /// The mean of V over spawns, which the state network computes.
    pub mean: Value,
    /// r + V(afterstate).
    pub total: Value,
    /// r + the mean.
    pub mean_total: Value,
    /// Every successor: the state, its probability and its value.
    pub successors: Vec<(State<GridBoard>, f64, Value)>,
}

/// A decision with the values of both networks.
#[derive(Clone, Debug)]
pub(in crate::plot) struct Choices {
    pub shape: Shape,
    pub state: State<GridBoard>,
    pub choices: Vec<Choice>,
    /// The largest total of each network.
    pub best: [usize; 2],
}

/// The values of the successors of the example, in the order of slides and spawns.
const SUCCESSOR_VALUES: [Value; 10] = [44.0, 40.0, 48.0, 42.0, 54.0, 58.0, 56.0, 60.0, 52.0, 64.0];

/// A decision on a 2x3 board. The afterstate network stores the mean over spawns of the state
/// network, which learning approximates.
pub(in crate::plot) fn choices() -> Result<Choices, NetworkError> {
    let shape = shape(2, 3);
    let game = Grid::new(shape, &PowersOfTwo);
    let state = game
        .state(&[1, 1, 2, 3, 4, 0], ChanceState::NONE)
        .expect(LEGAL);
    let decision = Decision::new(&game, state).expect(LEGAL);
    let options = NetworkOptions::default();
    let tuples = tuples("012345", shape, false);
    let states = StateNetwork::new(&tuples, &options, &POWERS_OF_TWO_SPAWNS)?;
    let mut given = SUCCESSOR_VALUES.into_iter();
    for slide in decision.slides().legal() {
        game.for_each_spawn(slide.after(), |next, _, _| {
            let value = given.next().expect("a value for each successor");
            update::<Grid, _, Td>(&states, next, value, 1.0);
        });
    }
    let means = states.action_values(&game, &decision, &mut Default::default());
    let afterstates = AfterstateNetwork::new(&tuples, &options)?;
    for slide in decision.slides().legal() {
        let mean = means.get(slide.direction()).expect(LEGAL);
        update::<Grid, _, Td>(&afterstates, slide.after(), mean.value, 1.0);
    }
    let values = afterstates.action_values(&game, &decision, &mut Default::default());
    let mut choices = Vec::new();
    for slide in decision.slides().legal() {
        let mut successors = Vec::new();
        game.for_each_spawn(slide.after(), |next, _, chance| {
            successors.push((next, chance, value(&states, next)));
        });
        let direction = slide.direction();
        let of_state = means.get(direction).expect(LEGAL);
        let of_after = values.get(direction).expect(LEGAL);
        choices.push(Choice {
            direction,
            reward: slide.reward(),
            after: slide.after(),
            value: of_after.value,
            mean: of_state.value,
            total: of_after.total,
            mean_total: of_state.total,
            successors,
        });
    }
    let place = |best: Option<Direction>| {
        let place = choices
            .iter()
            .position(|choice| Some(choice.direction) == best);
        place.expect(LEGAL)
    };
    let best = [place(values.best()), place(means.best())];
    Ok(Choices {
        shape,
        state,
        choices,
        best,
    })
}

/// One update of a weight by TC.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::plot) struct CoherenceRow {
    pub target: Value,
    pub delta: Value,
    /// |E|/A before the update.
    pub ratio: Value,
    /// The change of the weight.
    pub step: Value,
    /// The weight, E and A after the update.
    pub weight: Value,
    pub error_sum: Value,
    pub absolute_sum: Value,
    /// The weight by TD from the same targets.
    pub td: Value,
}

/// The updates of TC whose numbers are shown.
pub(in crate::plot) const COHERENCE_ROWS: usize = 8;
/// The number of targets of the example.
const NOISY_TARGETS: u64 = 40;

/// The targets of the example: 20 and a random whole number from -10 to 10.
fn noisy_targets() -> impl Iterator<Item = Value> {
    let mut rng = game_rng(1, 0);
    (0..NOISY_TARGETS).map(move |_| 10.0 + rng.below(21) as Value)
}

/// One weight of a one-cell tuple that gets noisy targets, by TC with b = 1 and by TD.
pub(in crate::plot) fn coherence() -> Result<Vec<CoherenceRow>, NetworkError> {
    let game_shape = shape(2, 2);
    let tuples = tuples("0", game_shape, false);
    let options = NetworkOptions {
        coherence: true,
        ..NetworkOptions::default()
    };
    let network = AfterstateNetwork::new(&tuples, &options)?;
    let plain = AfterstateNetwork::new(&tuples, &NetworkOptions::default())?;
    let board = GridBoard::from_tiles(game_shape, &[1, 0, 0, 0]).expect(LEGAL);
    let sum = |part| {
        let mut found = [0.0];
        network.tables().export(0, part, 1, &mut found);
        found[0]
    };
    let mut rows = Vec::new();
    for target in noisy_targets() {
        let before = network.value(After(board));
        let updated = update::<Grid, _, Tc>(&network, After(board), target, 1.0);
        let step = updated.value - before;
        rows.push(CoherenceRow {
            target,
            delta: updated.delta,
            ratio: step / updated.delta,
            step,
            weight: updated.value,
            error_sum: sum(WeightPart::ErrorSum),
            absolute_sum: sum(WeightPart::AbsoluteSum),
            td: update::<Grid, _, Td>(&plain, After(board), target, ALPHA).value,
        });
    }
    Ok(rows)
}
