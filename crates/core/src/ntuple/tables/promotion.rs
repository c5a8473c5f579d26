//! Weight promotion: where a weight is read that its stage does not have yet, and what it starts
//! from when it is updated first: see `stages.rs`.
//!
//! `stage` is the distance from a weight to that of the stage before. All indices of a position are
//! in the bank of its stage, so that the first of them tells whether there is anything to do.

use crate::Value;
use crate::machine::{AtomicF32, Indices};

use super::{WeightCell, WeightTables};

/// The mark of a weight that was updated to 0.
const ZERO: Value = -0.0;

/// Whether no update has reached a weight of a later stage.
#[inline(always)]
fn is_untouched(weight: &AtomicF32) -> bool {
    weight.get().to_bits() == 0
}

impl<C: WeightCell> WeightTables<C> {
    /// Lowers indices to where the weights are: in the stage of the position, or the nearest one
    /// before it that has them.
    #[inline(never)]
    pub(super) fn fall_back(&self, found: &mut Indices, stage: usize) {
        for lane in self.later(found, stage) {
            self.at(found).prefetch(lane);
        }
        for lane in self.later(found, stage) {
            found.lower(lane, |at| self.holder(at, stage));
        }
    }

    /// Copies to the stage of each position the weights that it does not have yet.
    #[inline(never)]
    pub(super) fn promote(&self, found: &Indices, stage: usize) {
        for lane in self.later(found, stage) {
            self.at(found).prefetch(lane);
        }
        for lane in self.later(found, stage) {
            found
                .of_lane(lane)
                .for_each(|at| self.promote_one(at, stage));
        }
    }

    /// Marks weights that an update left at 0.
    #[inline(never)]
    pub(super) fn mark(&self, at: &Indices, lane: usize, stage: usize) {
        if self.later(at, stage).any(|later| later == lane) {
            for place in at.of_lane(lane) {
                let weight = self.cells[place].weight();
                if is_untouched(weight) {
                    weight.set(ZERO);
                }
            }
        }
    }

    /// Copies to every later stage the weights that it does not have, so that no table depends on
    /// another: for programs that know no promotion.
    pub fn promote_all(&self) {
        if let Some(stage) = self.plan.promotion() {
            (stage..self.cells.len()).for_each(|at| self.promote_one(at, stage));
        }
    }

    /// The lanes of positions of a later stage.
    fn later(&self, found: &Indices, stage: usize) -> impl Iterator<Item = usize> + use<C> {
        let later: [bool; 4] = std::array::from_fn(|lane| {
            let first = found.of_lane(lane).next();
            first.is_some_and(|at| at >= stage)
        });
        (0..4).filter(move |&lane| later[lane])
    }

    /// The place of the weight that a lookup reads.
    #[inline(always)]
    pub(in crate::ntuple) fn holder(&self, mut at: usize, stage: usize) -> usize {
        while at >= stage && is_untouched(self.cells[at].weight()) {
            at -= stage;
        }
        at
    }

    #[inline(always)]
    fn promote_one(&self, at: usize, stage: usize) {
        let weight = self.cells[at].weight();
        if is_untouched(weight) {
            let value = self.cells[self.holder(at, stage)].weight().get();
            weight.set(if value == 0.0 { ZERO } else { value });
        }
    }
}
