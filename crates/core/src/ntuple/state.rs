//! V of states: the value of a slide is r + gamma E[V(s'')] over every possible spawn.
//!
//! An afterstate has some 30 successors. Each differs from it in one empty cell, and so in one
//! digit of the lookups that contain this cell. The effect of a spawn is therefore a sum over
//! lookups, as V itself is. For an index i with empty digits d, and new tiles k of probability p_k,
//! the expected change of its weight is
//!
//! change(i) = sum over d of ( sum over k of p_k w(i with k at d) - w(i) )
//!
//! E[V] = V + (sum of change over all lookups) / (number of empty cells)
//!
//! This holds for games whose spawns are equally likely in every empty cell. Choosing a move reads
//! the expected change beside the weight, from the same cache line, instead of the weights of all
//! successors. The update pays for it: a change of w(i) also goes into the expected change of the
//! few indices that have an empty cell where i has a new tile. It takes four more bytes a weight.
//! With the tuples of `state-6`, three legal moves and five empty cells, a choice looks up 144
//! places instead of 624; training is 6.7 times as fast as with the plain mean
//! (benchmarks/2026-11-16.md).
//!
//! Two threads that write one expected change at the same moment lose an update, as with weights,
//! but here no later update corrects it. So [`StateNetwork::refresh`] recomputes them from time to
//! time.

use std::ops::Range;

use super::layout::TableLayout;
use super::tables::{WeightTables, sum, value};
use super::{NetworkError, NetworkOptions, Td, TupleSet, UpdateRule};
use crate::Value;
use crate::episode::Step;
use crate::game::{After, Game, Position, Slide, State};
use crate::machine::{AtomicF32, F32x2, Indices};
use crate::ntuple::{Trainable, TrajectoryStep, Updated};
use crate::value::{ActionValue, AfterstateValues, Decision, Pending, ValueFunction};

/// The largest tile that four bits tell apart.
const LARGEST_TILE: usize = 15;

/// An n-tuple network of states that stores the expectation over spawns.
pub struct StateNetwork {
    tables: WeightTables<[AtomicF32; 2]>,
    /// The new tiles with their probabilities.
    spawns: &'static [(u8, f64)],
    /// The probability that a new tile is this one; 0 for the largest, which stands for all
    /// larger ones.
    chances: [Value; LARGEST_TILE + 1],
    discount: Value,
}

impl StateNetwork {
    /// The number of bits a tile in the tables that it can read.
    pub const TILE_BITS: usize = 4;

    /// Creates a network for a game whose spawns have these tiles and probabilities in every empty
    /// cell.
    ///
    /// # Errors
    /// When the tables have more than four bits a tile or several banks, or the system refuses the
    /// memory.
    ///
    /// # Panics
    /// When a spawn has the largest tile that four bits tell apart.
    pub fn new(
        tuples: &TupleSet,
        options: &NetworkOptions,
        spawns: &'static [(u8, f64)],
    ) -> Result<Self, NetworkError> {
        let (found, expected) = (tuples.tile_bits(), Self::TILE_BITS);
        if found != expected {
            return Err(NetworkError::TileBits { found, expected });
        }
        if tuples.banks() > 1 {
            let found = tuples.banks();
            return Err(NetworkError::Banks { found });
        }
        let mut chances = [0.0; LARGEST_TILE + 1];
        for &(tile, chance) in spawns {
            let largest = LARGEST_TILE - 1;
            assert!(
                usize::from(tile) <= largest,
                "a new tile of index {tile}: at most {largest}"
            );
            chances[usize::from(tile)] = chance as Value;
        }
        // With equal weights a spawn changes no value, so the expected changes are 0.
        Ok(Self {
            tables: WeightTables::new(tuples, options)?,
            spawns,
            chances,
            discount: options.discount,
        })
    }

    /// Its tables.
    pub fn tables(&self) -> &WeightTables<[AtomicF32; 2]> {
        &self.tables
    }

    /// The value of a state.
    ///
    /// # Panics
    /// In debug builds, when the board has another shape than the tuples.
    pub fn value<B: Position>(&self, State(board): State<B>) -> Value {
        self.tables.value(board)
    }

    /// The expected value of the position in this lane after the next spawn, which is equally
    /// likely in each of `empty` cells.
    #[inline(always)]
    fn expectation(&self, at: &Indices, lane: usize, empty: u32) -> Value {
        let cells = self.tables.at(at);
        let [value, change] = sum(cells.lane(lane), |sum: F32x2, cell| sum + cell.both()).parts();
        value + change / empty as Value
    }

    /// The value of each tuple alone: the sum of its lookups under all symmetries.
    pub fn tuple_values<B: Position>(
        &self,
        State(board): State<B>,
        at: &mut Indices,
    ) -> Vec<Value> {
        self.tables.find([board; 4], at);
        let weights: Vec<Value> = self
            .tables
            .at(at)
            .each(0)
            .map(|cell| cell.get()[0].get())
            .collect();
        let sums = weights.chunks(self.lookups_of_a_tuple());
        sums.map(|weights| weights.iter().sum()).collect()
    }

    /// Moves the value of each tuple alone towards a target of its own, as if each were a network,
    /// and returns their errors.
    pub fn update_tuples<B: Position>(
        &self,
        State(board): State<B>,
        targets: &[Value],
        learning_rate: Value,
        at: &mut Indices,
    ) -> Vec<Value> {
        let values = self.tuple_values(State(board), at);
        let errors: Vec<Value> = targets
            .iter()
            .zip(values)
            .map(|(target, value)| target - value)
            .collect();
        let lookups = self.lookups_of_a_tuple();
        let mut changes = std::mem::take(&mut at.change);
        let step = learning_rate / lookups as Value;
        self.adjust::<Td>(at, 0, |lookup| errors[lookup / lookups], step, &mut changes);
        self.spread(board, at, 0, &changes);
        at.change = changes;
        errors
    }

    /// The lookups of a tuple: one for each symmetry.
    fn lookups_of_a_tuple(&self) -> usize {
        self.tables.lookups() / self.tables.tuples().patterns().len()
    }

    /// Adjusts every weight and the part of its own expected change that depends on it, and records
    /// the changes.
    #[inline(always)]
    fn adjust<R: UpdateRule>(
        &self,
        at: &Indices,
        lane: usize,
        delta: impl Fn(usize) -> Value,
        step: Value,
        changes: &mut Vec<Value>,
    ) -> Value {
        let tables = &self.tables;
        let sums = R::sums(&tables.sums).at(at).each(lane);
        let cells = tables.at(at).each(lane).zip(sums);
        let mut value = 0.0;
        changes.resize(tables.lookups(), 0.0);
        // Not `extend`, whose closure is compiled into a function of its own: learning would take
        // 4% more instructions.
        let lookups = cells.zip(tables.plan.numberings()).zip(&mut *changes);
        lookups
            .enumerate()
            .for_each(|(lookup, (((cell, sums), numbering), change))| {
                let [weight, expected_change] = cell.get();
                let (before, after) = R::adjust(weight, sums.get(), delta(lookup), step);
                value += after;
                let tiles = numbering.tiles(cell.place());
                let empty = count(digits_equal(tiles, 0, numbering.ones()));
                add(expected_change, (before - after) * empty);
                *change = after - before;
            });
        value
    }

    /// Corrects the expected changes that depend on these weights: where the position has a newly
    /// spawned tile, they belong to the positions with an empty cell there.
    #[inline(always)]
    fn spread<B: Position>(&self, board: B, at: &Indices, lane: usize, changes: &[Value]) {
        let (plan, cells) = (&self.tables.plan, self.tables.at(at));
        for cell in 0..plan.cells() {
            let shown = board.cell(cell);
            let chance = self.chances[usize::from(shown).min(LARGEST_TILE)];
            if chance == 0.0 {
                continue;
            }
            for touched in plan.at_cell(cell) {
                let lookup = touched.lookup as usize;
                let changed = cells.weight(lookup, lane);
                let [_, expected_change] =
                    changed.before(usize::from(shown) << touched.shift).get();
                add(expected_change, changes[lookup] * chance);
            }
        }
    }

    /// Recomputes every expected change: after reading weights, and from time to time when several
    /// threads write.
    pub fn refresh(&self) {
        (0..self.refresh_pieces()).for_each(|piece| self.refresh_piece(piece));
    }

    /// The number of pieces of a refresh; threads may share them.
    pub fn refresh_pieces(&self) -> usize {
        self.pieces().count()
    }

    /// Recomputes the expected changes of one piece, while no weight changes.
    pub fn refresh_piece(&self, piece: usize) {
        if let Some((table, tiles)) = self.pieces().nth(piece) {
            tiles.for_each(|tiles| self.refresh_one(table, tiles));
        }
    }

    fn pieces(&self) -> impl Iterator<Item = (&TableLayout, Range<usize>)> {
        const PIECE: usize = 1 << 18;
        self.tables.plan.tables().iter().flat_map(|table| {
            let weights = table.weights();
            let starts = (0..weights).step_by(PIECE);
            starts.map(move |start| (table, start..weights.min(start + PIECE)))
        })
    }

    /// Adds the terms in index order, which is the same for any number of threads.
    fn refresh_one(&self, table: &TableLayout, tiles: usize) {
        let numbering = table.numbering();
        let weight = |tiles| self.tables.cells[numbering.place(tiles)][0].get();
        let mut empty = digits_equal(tiles, 0, numbering.ones());
        let mut expected = 0.0;
        if weight(tiles) != 0.0 {
            expected += -weight(tiles) * count(empty);
        }
        while empty != 0 {
            let lowest = empty & empty.wrapping_neg();
            for &(tile, chance) in self.spawns {
                let spawned = weight(tiles + usize::from(tile) * lowest);
                if spawned != 0.0 {
                    expected += spawned * chance as Value;
                }
            }
            empty ^= lowest;
        }
        let [_, expected_change] = &self.tables.cells[numbering.place(tiles)];
        if expected_change.get() != expected {
            expected_change.set(expected);
        }
    }
}

#[inline(always)]
fn add(number: &AtomicF32, change: Value) {
    number.set(number.get() + change);
}

/// The lowest bit of every digit that equals `tile`.
#[inline(always)]
fn digits_equal(digits: usize, tile: u8, ones: usize) -> usize {
    let differ = digits ^ (ones * usize::from(tile));
    let any = differ | differ >> 1;
    !(any | any >> 2) & ones
}

/// The number of marks in at most eight digits: the product sums them in its eighth digit.
#[inline(always)]
fn count(marks: usize) -> Value {
    ((marks as u32).wrapping_mul(0x1111_1111) >> 28) as Value
}

impl<G: Game> ValueFunction<G> for StateNetwork {
    type Lookup = Indices;

    #[inline(always)]
    fn locate(&self, _: &G, decision: &Decision<G>, at: &mut Indices) {
        self.tables.locate_slides(decision.slides(), at);
    }

    #[inline(always)]
    fn evaluate(
        &self,
        game: &G,
        pending: &Pending<'_, G, Indices>,
        mut visit: impl FnMut(Slide<G::Board>, ActionValue),
    ) {
        for slide in pending.decision().slides().legal() {
            let empty = game.spawn_cells(slide.after()).count_ones();
            let lane = slide.direction() as usize;
            let value = self.discount * self.expectation(pending.lookup(), lane, empty);
            let total = slide.reward() as Value + value;
            visit(slide, ActionValue { value, total });
        }
    }

    fn fits(&self, game: &G) -> bool {
        let same_spawns = game.rules().uniform_spawns() == Some(self.spawns);
        self.tables.tuples().shape() == game.shape() && same_spawns
    }

    #[inline(always)]
    fn discount(&self) -> Value {
        self.discount
    }

    fn by_afterstate(&self) -> Option<&dyn AfterstateValues<G, Lookup = Indices>> {
        Some(self)
    }
}

impl<G: Game> AfterstateValues<G> for StateNetwork {
    type Lookup = Indices;

    fn afterstate_values(
        &self,
        game: &G,
        afters: &[After<G::Board>],
        lookups: &mut [Indices; 2],
        values: &mut Vec<Value>,
    ) {
        values.clear();
        self.tables
            .each_located(afters, lookups, |after, at, lane| {
                let empty = game.spawn_cells(*after).count_ones();
                let value = self.discount * self.expectation(at, lane, empty);
                values.push(value);
            });
    }
}

impl<G: Game> Trainable<G> for StateNetwork {
    type Input = State<G::Board>;
    type Located = Indices;

    #[inline(always)]
    fn trajectory_step(&self, step: &Step<G>) -> TrajectoryStep<State<G::Board>> {
        TrajectoryStep {
            position: step.state,
            reward_in: step.spawn_reward as Value,
            reward_out: step.reward as Value,
        }
    }

    fn spawn_reward(&self, reward: u32) -> Value {
        reward as Value
    }

    /// A choice reads expectations, not the value of a state.
    #[inline(always)]
    fn known_value(_: ActionValue) -> Option<Value> {
        None
    }

    #[inline(always)]
    fn locate_positions(&self, four: [State<G::Board>; 4], at: &mut Indices) {
        self.tables.find(four.map(|State(board)| board), at);
    }

    #[inline(always)]
    fn prefetch_update<R: UpdateRule>(&self, at: &Indices, lane: usize) {
        self.tables.prefetch_update::<R>(at, lane);
    }

    #[inline(always)]
    fn value_at(&self, at: &Indices, lane: usize) -> Value {
        value(self.tables.at(at), lane)
    }

    #[inline(always)]
    fn update<R: UpdateRule>(
        &self,
        State(board): State<G::Board>,
        at: &mut Indices,
        lane: usize,
        target: Value,
        learning_rate: Value,
    ) -> Updated {
        let mut changes = std::mem::take(&mut at.change);
        let delta = target - value(self.tables.at(at), lane);
        let step = learning_rate / self.tables.lookups() as Value;
        let value = self.adjust::<R>(at, lane, |_| delta, step, &mut changes);
        self.spread(board, at, lane, &changes);
        at.change = changes;
        Updated { value, delta }
    }
}

#[cfg(test)]
mod tests;
