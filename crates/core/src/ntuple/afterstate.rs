//! V of afterstates: the value of a slide is r + gamma V(s').

use super::tables::{WeightTables, value};
use super::{NetworkError, NetworkOptions, TupleSet, UpdateRule};
use crate::Value;
use crate::episode::Step;
use crate::game::{After, Game, Position, Slide};
use crate::machine::{AtomicF32, Indices};
use crate::ntuple::{Trainable, TrajectoryStep, Updated};
use crate::value::{ActionValue, AfterstateValues, Decision, Pending, ValueFunction};

/// An n-tuple network of afterstates.
pub struct AfterstateNetwork {
    tables: WeightTables<AtomicF32>,
    discount: Value,
}

impl AfterstateNetwork {
    /// Creates a network.
    ///
    /// # Errors
    /// When the system refuses the memory.
    pub fn new(tuples: &TupleSet, options: &NetworkOptions) -> Result<Self, NetworkError> {
        Ok(Self {
            tables: WeightTables::new(tuples, options)?,
            discount: options.discount,
        })
    }

    /// Its tables.
    pub fn tables(&self) -> &WeightTables<AtomicF32> {
        &self.tables
    }

    /// The value of an afterstate.
    ///
    /// # Panics
    /// In debug builds, when the board has another shape than the tuples.
    pub fn value<B: Position>(&self, After(board): After<B>) -> Value {
        self.tables.value(board)
    }
}

impl<G: Game> ValueFunction<G> for AfterstateNetwork {
    type Lookup = Indices;

    #[inline(always)]
    fn locate(&self, _: &G, decision: &Decision<G>, at: &mut Indices) {
        self.tables.locate_slides(decision.slides(), at);
    }

    #[inline(always)]
    fn evaluate(
        &self,
        _: &G,
        pending: &Pending<'_, G, Indices>,
        mut visit: impl FnMut(Slide<G::Board>, ActionValue),
    ) {
        let cells = self.tables.at(pending.lookup());
        for slide in pending.decision().slides().legal() {
            let value = self.discount * value(cells, slide.direction() as usize);
            let total = slide.reward() as Value + value;
            visit(slide, ActionValue { value, total });
        }
    }

    fn fits(&self, game: &G) -> bool {
        self.tables.tuples().shape() == game.shape()
    }

    #[inline(always)]
    fn discount(&self) -> Value {
        self.discount
    }

    fn by_afterstate(&self) -> Option<&dyn AfterstateValues<G, Lookup = Indices>> {
        Some(self)
    }
}

impl<G: Game> AfterstateValues<G> for AfterstateNetwork {
    type Lookup = Indices;

    fn afterstate_values(
        &self,
        _: &G,
        afters: &[After<G::Board>],
        lookups: &mut [Indices; 2],
        values: &mut Vec<Value>,
    ) {
        values.clear();
        self.tables.each_located(afters, lookups, |_, at, lane| {
            let value = self.discount * value(self.tables.at(at), lane);
            values.push(value);
        });
    }
}

impl<G: Game> Trainable<G> for AfterstateNetwork {
    type Input = After<G::Board>;
    type Located = Indices;

    #[inline(always)]
    fn trajectory_step(&self, step: &Step<G>) -> TrajectoryStep<After<G::Board>> {
        let reward_in = match step.spawn_reward {
            0 => step.reward as Value,
            _ if self.discount == 1.0 => (step.spawn_reward + step.reward) as Value,
            spawn => Trainable::<G>::spawn_reward(self, spawn) + step.reward as Value,
        };
        TrajectoryStep {
            position: step.after,
            reward_in,
            reward_out: 0.0,
        }
    }

    /// The spawn belongs to the move before it, whose value r + gamma V(s') discounts V(s') as a
    /// whole: hence the division.
    fn spawn_reward(&self, reward: u32) -> Value {
        match self.discount {
            0.0 => 0.0,
            discount => reward as Value / discount,
        }
    }

    #[inline(always)]
    fn known_value(chosen: ActionValue) -> Option<Value> {
        Some(chosen.value)
    }

    #[inline(always)]
    fn locate_positions(&self, four: [After<G::Board>; 4], at: &mut Indices) {
        self.tables
            .find_to_update(four.map(|After(board)| board), at);
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
        _: After<G::Board>,
        at: &mut Indices,
        lane: usize,
        target: Value,
        learning_rate: Value,
    ) -> Updated {
        self.tables.update::<R>(at, lane, target, learning_rate)
    }
}
