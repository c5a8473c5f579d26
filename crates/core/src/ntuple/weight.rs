//! One weight, alone or with the two sums of temporal coherence beside it.
//!
//! TC (Beal and Smith 1999; Jaskowski 2018): a weight whose errors agree in sign keeps its full
//! step, one whose errors cancel out has nearly none.
//!
//! w += step |E|/A delta, *then* E += delta, A += |delta|; a weight not yet touched takes |E|/A = 1.
//!
//! A network of states has one more number, `ahead`, beside each weight; see `expecting.rs`.
//!
//! The numbers stand in one struct, so an adjustment costs one cache miss and not three. All are
//! relaxed atomics: plain moves to the processor, no data race to the language.

use std::sync::atomic::{AtomicU32, Ordering};

use super::memory::Zeroed;
use crate::Value;

/// A number that learns.
pub trait Weight: Zeroed + Send + Sync + 'static {
    /// The names of its numbers in files, behind the table's: the weight itself has none.
    const PARTS: &'static [&'static str];
    /// The same for [`Ahead`] of this weight.
    const PARTS_AND_AHEAD: &'static [&'static str];

    /// The weight.
    fn get(&self) -> Value;

    /// Moves it by its share of `delta`; returns where it was and where it now is.
    fn adjust(&self, delta: Value, step: Value) -> (Value, Value);

    /// One of its numbers, in the order of [`Weight::PARTS`].
    fn part(&self, part: usize) -> Value;

    /// Replaces one of its numbers.
    fn set_part(&self, part: usize, value: Value);
}

#[inline(always)]
fn load(cell: &AtomicU32) -> Value {
    Value::from_bits(cell.load(Ordering::Relaxed))
}

#[inline(always)]
fn store(cell: &AtomicU32, value: Value) {
    cell.store(value.to_bits(), Ordering::Relaxed);
}

/// TD: w += step delta.
#[derive(Debug)]
#[repr(transparent)]
pub struct Plain(AtomicU32);

impl Weight for Plain {
    const PARTS: &'static [&'static str] = &[""];
    const PARTS_AND_AHEAD: &'static [&'static str] = &["", ".ahead"];

    #[inline(always)]
    fn get(&self) -> Value {
        load(&self.0)
    }

    #[inline(always)]
    fn adjust(&self, delta: Value, step: Value) -> (Value, Value) {
        let before = load(&self.0);
        let after = before + step * delta;
        store(&self.0, after);
        (before, after)
    }

    fn part(&self, _: usize) -> Value {
        self.get()
    }

    fn set_part(&self, _: usize, value: Value) {
        store(&self.0, value);
    }
}

/// TC: the weight, E (the sum of errors) and A (the sum of their sizes).
#[derive(Debug)]
#[repr(C)]
pub struct Coherent([AtomicU32; 3]);

impl Weight for Coherent {
    const PARTS: &'static [&'static str] = &["", ".e", ".a"];
    const PARTS_AND_AHEAD: &'static [&'static str] = &["", ".e", ".a", ".ahead"];

    #[inline(always)]
    fn get(&self) -> Value {
        load(&self.0[0])
    }

    #[inline(always)]
    fn adjust(&self, delta: Value, step: Value) -> (Value, Value) {
        let [weight, sum, size] = &self.0;
        let (e, a) = (load(sum), load(size));
        let coherence = if a > 0.0 { e.abs() / a } else { 1.0 };
        let before = load(weight);
        let after = before + step * coherence * delta;
        store(weight, after);
        store(sum, e + delta);
        store(size, a + delta.abs());
        (before, after)
    }

    fn part(&self, part: usize) -> Value {
        load(&self.0[part])
    }

    fn set_part(&self, part: usize, value: Value) {
        store(&self.0[part], value);
    }
}

/// A weight with a number beside it that depends on other weights; see `expecting.rs`.
#[derive(Debug)]
#[repr(C)]
pub struct Ahead<W> {
    weight: W,
    ahead: AtomicU32,
}

impl<W> Ahead<W> {
    #[inline(always)]
    pub(super) fn ahead(&self) -> Value {
        load(&self.ahead)
    }

    #[inline(always)]
    pub(super) fn set_ahead(&self, ahead: Value) {
        store(&self.ahead, ahead);
    }
}

impl<W: Weight> Weight for Ahead<W> {
    const PARTS: &'static [&'static str] = W::PARTS_AND_AHEAD;
    const PARTS_AND_AHEAD: &'static [&'static str] = W::PARTS_AND_AHEAD;

    #[inline(always)]
    fn get(&self) -> Value {
        self.weight.get()
    }

    #[inline(always)]
    fn adjust(&self, delta: Value, step: Value) -> (Value, Value) {
        self.weight.adjust(delta, step)
    }

    fn part(&self, part: usize) -> Value {
        if part < W::PARTS.len() {
            self.weight.part(part)
        } else {
            self.ahead()
        }
    }

    fn set_part(&self, part: usize, value: Value) {
        if part < W::PARTS.len() {
            self.weight.set_part(part, value)
        } else {
            self.set_ahead(value)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coherence_is_read_before_the_sums_grow() {
        let weight = Coherent(Default::default());
        // Untouched: the full step. 0 + 0.5 * 8 = 4; E = 8, A = 8.
        assert_eq!(weight.adjust(8.0, 0.5).1, 4.0);
        // Still coherent: 4 - 0.5 * 4 = 2; E = 4, A = 12.
        assert_eq!(weight.adjust(-4.0, 0.5).1, 2.0);
        // |E|/A = 1/3: 2 + 0.5 * 6/3 = 3; E = 10, A = 18.
        assert_eq!(weight.adjust(6.0, 0.5).1, 3.0);
        assert_eq!(
            [weight.part(0), weight.part(1), weight.part(2)],
            [3.0, 10.0, 18.0]
        );
    }

    #[test]
    fn a_plain_weight_takes_the_whole_step() {
        let weight = Plain(Default::default());
        assert_eq!(weight.adjust(8.0, 0.5).1, 4.0);
        assert_eq!(weight.adjust(-4.0, 0.5).1, 2.0);
    }
}
