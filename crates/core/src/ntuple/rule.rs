//! Update rules: how an error changes one weight.
//!
//! TD: w += step delta.
//!
//! TC (Beal and Smith 1999; Jaskowski 2018): a weight whose errors agree in sign takes its full
//! step; a weight whose errors cancel out takes almost none.
//!
//! w += step |E|/A delta, *then* E += delta, A += |delta|; before the first update, |E|/A = 1.
//!
//! The cell holds only what choosing a move reads: four bytes a weight, so that a cache line holds
//! 16 of them. The sums of TC, which only an update needs, are in separate memory. With all three
//! numbers in one place a line held five weights, and choosing, which reads three or four times as
//! often as an update, waited for the other two thirds.
//!
//! E and A are one 64-bit word, read and written together. Threads that update one weight at the
//! same moment may lose an update, but never combine E of one with A of another, so |E| <= A always
//! holds.
//!
//! To add a rule, implement [`UpdateRule`]; it needs a variant of `Rule` in `recipe/learner.rs` of the
//! lab and an arm of `learn` in `agent/ntuple.rs`.

use crate::Value;
use crate::machine::{AtomicF32, AtomicF32x2, F32x2, WeightMemory, WeightRef, Zeroed};

/// The part of a weight that choosing a move reads.
pub trait WeightCell: Zeroed + Send + Sync + 'static {
    /// The weight itself.
    fn weight(&self) -> &AtomicF32;

    /// The sum of `value` and the weight.
    #[inline(always)]
    fn added_to(weight: WeightRef<'_, Self>, value: Value) -> Value {
        value + weight.get().weight().get()
    }
}

impl WeightCell for AtomicF32 {
    #[inline(always)]
    fn weight(&self) -> &AtomicF32 {
        self
    }

    #[inline(always)]
    fn added_to(weight: WeightRef<'_, Self>, value: Value) -> Value {
        weight.added_to(value)
    }
}

/// A weight and its expected change by the next spawn: see `state.rs`.
impl WeightCell for [AtomicF32; 2] {
    #[inline(always)]
    fn weight(&self) -> &AtomicF32 {
        &self[0]
    }
}

/// The sums that update rules store beside the weights.
pub(crate) struct Sums {
    pub(super) none: WeightMemory<()>,
    pub(super) coherence: Option<WeightMemory<AtomicF32x2>>,
}

/// How an error changes a weight.
pub trait UpdateRule: Send + Sync + 'static {
    /// What it stores beside each weight.
    type Sums: Zeroed + Send + Sync + 'static;

    /// Moves a weight by its share of `delta`; returns the old and the new weight.
    fn adjust(weight: &AtomicF32, sums: &Self::Sums, delta: Value, step: Value) -> (Value, Value);

    /// The memory of its sums.
    #[doc(hidden)]
    #[expect(private_interfaces, reason = "rules are those of this crate")]
    fn sums(all: &Sums) -> &WeightMemory<Self::Sums>;
}

/// Temporal difference: the same step for every weight.
#[derive(Debug)]
pub enum Td {}

impl UpdateRule for Td {
    type Sums = ();

    #[inline(always)]
    fn adjust(weight: &AtomicF32, (): &(), delta: Value, step: Value) -> (Value, Value) {
        let before = weight.get();
        let after = before + step * delta;
        weight.set(after);
        (before, after)
    }

    #[inline(always)]
    #[expect(private_interfaces, reason = "rules are those of this crate")]
    fn sums(all: &Sums) -> &WeightMemory<()> {
        &all.none
    }
}

/// Temporal coherence: E, the sum of errors, and A, the sum of their absolute values, beside each
/// weight.
#[derive(Debug)]
pub enum Tc {}

impl UpdateRule for Tc {
    type Sums = AtomicF32x2;

    #[inline(always)]
    fn adjust(weight: &AtomicF32, sums: &AtomicF32x2, delta: Value, step: Value) -> (Value, Value) {
        let before_sums = sums.get();
        let [e, a] = before_sums.parts();
        let coherence = if a > 0.0 { e.abs() / a } else { 1.0 };
        let before = weight.get();
        let after = before + step * coherence * delta;
        weight.set(after);
        sums.set(before_sums + F32x2::from([delta, delta.abs()]));
        (before, after)
    }

    #[inline(always)]
    #[expect(private_interfaces, reason = "rules are those of this crate")]
    fn sums(all: &Sums) -> &WeightMemory<AtomicF32x2> {
        let coherence = all.coherence.as_ref();
        coherence.expect("the tables were made with the sums of TC")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coherence_is_read_before_the_sums_grow() {
        let (weight, sums) = (AtomicF32::default(), AtomicF32x2::default());
        let adjust = |delta| Tc::adjust(&weight, &sums, delta, 0.5).1;
        // First update: the full step. 0 + 0.5 * 8 = 4; E = 8, A = 8.
        assert_eq!(adjust(8.0), 4.0);
        // Still coherent: 4 - 0.5 * 4 = 2; E = 4, A = 12.
        assert_eq!(adjust(-4.0), 2.0);
        // |E|/A = 1/3: 2 + 0.5 * 6/3 = 3; E = 10, A = 18.
        assert_eq!(adjust(6.0), 3.0);
        assert_eq!((weight.get(), sums.get().parts()), (3.0, [10.0, 18.0]));
    }

    #[test]
    fn td_takes_the_whole_step() {
        let weight = AtomicF32::default();
        assert_eq!(Td::adjust(&weight, &(), 8.0, 0.5), (0.0, 4.0));
        assert_eq!(Td::adjust(&weight, &(), -4.0, 0.5), (4.0, 2.0));
    }

    /// Threads that update one weight concurrently never leave a coherence above 1.
    #[test]
    fn the_sums_stay_consistent_under_threads() {
        let (weight, sums) = (AtomicF32::default(), AtomicF32x2::default());
        std::thread::scope(|scope| {
            for thread in 0..4_u32 {
                let (weight, sums) = (&weight, &sums);
                scope.spawn(move || {
                    for n in 0..100_000_u32 {
                        let delta = if n % 5 < 3 { 1.5 } else { -1.0 };
                        Tc::adjust(weight, sums, delta * thread as Value, 0.01);
                        let [e, a] = sums.get().parts();
                        assert!(e.abs() <= a, "|{e}| > {a}");
                    }
                });
            }
        });
        assert!(sums.get().parts()[1] > 0.0);
    }
}
