//! Value functions that learners update.

use super::UpdateRule;
use crate::Value;
use crate::episode::Step;
use crate::game::Game;
use crate::value::{ActionValue, ValueFunction};

/// A position on the trajectory of a game, with the reward of its move before or after it. Between
/// two positions, a game earns the `reward_out` of the first and the `reward_in` of the second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrajectoryStep<P> {
    /// The position.
    pub position: P,
    /// The reward on the way into the position.
    pub reward_in: Value,
    /// The reward on the way out of it.
    pub reward_out: Value,
}

/// The result of one update.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Updated {
    /// The value afterwards: the sum of the weights that each lookup wrote. Where two lookups share
    /// a weight, the first does not include the change by the second.
    pub value: Value,
    /// Target minus the value before.
    pub delta: Value,
}

/// A value function that a learner updates one position at a time. (A deep network learns in
/// batches: see [`crate::replay`].)
///
/// Positions are located four at a time, because SIMD computes four at the price of one. A lane, 0
/// to 3, selects a position.
pub trait Trainable<G: Game>: ValueFunction<G> {
    /// The positions that have values: states or afterstates.
    type Input: Copy;
    /// The indices of the weights of four positions, reused for every update.
    type Located: Default + Send;

    /// The position that a step visits.
    fn trajectory_step(&self, step: &Step<G>) -> TrajectoryStep<Self::Input>;

    /// The reward of a spawn, as counted in the value of the position before it.
    fn spawn_reward(&self, reward: u32) -> Value;

    /// The discounted value of the position that a step visits, if it is that of the chosen slide.
    fn known_value(chosen: ActionValue) -> Option<Value>;

    /// Computes the indices of four positions that will be updated.
    fn locate_positions(&self, four: [Self::Input; 4], at: &mut Self::Located);

    /// Prefetches everything that an update in this lane will change.
    fn prefetch_update<R: UpdateRule>(&self, at: &Self::Located, lane: usize);

    /// The value of the position in this lane.
    fn value_at(&self, at: &Self::Located, lane: usize) -> Value;

    /// Moves the value of `position`, whose weights are in this lane, towards a target: each weight
    /// by its share of the learning rate.
    fn update<R: UpdateRule>(
        &self,
        position: Self::Input,
        at: &mut Self::Located,
        lane: usize,
        target: Value,
        learning_rate: Value,
    ) -> Updated;
}
