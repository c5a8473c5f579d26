//! One weight, alone or with more numbers beside it.
//!
//! TC (Beal and Smith 1999; Jaskowski 2018): a weight whose errors agree in sign keeps its full
//! step, one whose errors cancel out has nearly none.
//!
//! w += step |E|/A delta, *then* E += delta, A += |delta|; a weight not yet touched takes |E|/A = 1.
//!
//! A network of states has one more number, `ahead`, beside each weight; see `expecting.rs`.
//!
//! What choosing a move reads is in the cell, and only that: four bytes a weight, so that a cache line
//! holds 16 of them. The sums of TC, which only an update needs, are in a block of their own. With all
//! three numbers in one place a line held five weights, and choosing, three or four times the
//! reads of an update, waited for the other two thirds.

use crate::Value;
use crate::machine::{Number, Spot, Zeroed};

/// What choosing a move reads of a weight.
pub trait Cell: Zeroed + Send + Sync + 'static {
    /// The weight itself.
    fn weight(&self) -> &Number;

    /// The sum of `value` and the weight.
    #[inline(always)]
    fn added_to(spot: Spot<'_, Self>, value: Value) -> Value {
        value + spot.get().weight().get()
    }
}

impl Cell for Number {
    #[inline(always)]
    fn weight(&self) -> &Number {
        self
    }

    #[inline(always)]
    fn added_to(spot: Spot<'_, Self>, value: Value) -> Value {
        spot.added_to(value)
    }
}

/// A weight, and what looks ahead from it.
impl Cell for [Number; 2] {
    #[inline(always)]
    fn weight(&self) -> &Number {
        &self[0]
    }
}

/// A kind of weight: what it consists of and how it learns.
pub trait Weight: Send + Sync + 'static {
    /// What choosing a move reads.
    type Cell: Cell;
    /// What only an update needs.
    type Sums: Zeroed + Send + Sync + 'static;

    /// How many numbers it has: the weight itself, the sums of TC, what looks ahead.
    const PARTS: usize;

    /// Moves it by its share of `delta`; returns where it was and where it now is.
    fn adjust(weight: &Number, sums: &Self::Sums, delta: Value, step: Value) -> (Value, Value);

    /// One of its numbers, the weight itself first.
    fn part<'n>(cell: &'n Self::Cell, sums: &'n Self::Sums, part: usize) -> &'n Number;
}

/// TD: w += step delta.
#[derive(Debug)]
pub enum Plain {}

impl Weight for Plain {
    type Cell = Number;
    type Sums = ();

    const PARTS: usize = 1;

    #[inline(always)]
    fn adjust(weight: &Number, (): &(), delta: Value, step: Value) -> (Value, Value) {
        let before = weight.get();
        let after = before + step * delta;
        weight.set(after);
        (before, after)
    }

    #[inline(always)]
    fn part<'n>(cell: &'n Number, (): &(), _: usize) -> &'n Number {
        cell
    }
}

/// TC: the weight; E, the sum of errors; A, the sum of their sizes.
#[derive(Debug)]
pub enum Coherent {}

impl Weight for Coherent {
    type Cell = Number;
    type Sums = [Number; 2];

    const PARTS: usize = 3;

    #[inline(always)]
    fn adjust(weight: &Number, sums: &[Number; 2], delta: Value, step: Value) -> (Value, Value) {
        let [sum, size] = sums;
        let (e, a) = (sum.get(), size.get());
        let coherence = if a > 0.0 { e.abs() / a } else { 1.0 };
        let before = weight.get();
        let after = before + step * coherence * delta;
        weight.set(after);
        sum.set(e + delta);
        size.set(a + delta.abs());
        (before, after)
    }

    #[inline(always)]
    fn part<'n>(cell: &'n Number, sums: &'n [Number; 2], part: usize) -> &'n Number {
        match part {
            0 => cell,
            _ => &sums[part - 1],
        }
    }
}

/// A weight with a number beside it that depends on other weights; see `expecting.rs`.
#[derive(Debug)]
pub struct Ahead<W>(std::marker::PhantomData<W>);

impl<W: Weight<Cell = Number>> Weight for Ahead<W> {
    type Cell = [Number; 2];
    type Sums = W::Sums;

    const PARTS: usize = W::PARTS + 1;

    #[inline(always)]
    fn adjust(weight: &Number, sums: &W::Sums, delta: Value, step: Value) -> (Value, Value) {
        W::adjust(weight, sums, delta, step)
    }

    #[inline(always)]
    fn part<'n>(cell: &'n [Number; 2], sums: &'n W::Sums, part: usize) -> &'n Number {
        if part < W::PARTS {
            W::part(&cell[0], sums, part)
        } else {
            &cell[1]
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coherence_is_read_before_the_sums_grow() {
        let (weight, sums) = (Number::default(), <[Number; 2]>::default());
        let adjust = |delta| Coherent::adjust(&weight, &sums, delta, 0.5).1;
        // Untouched: the full step. 0 + 0.5 * 8 = 4; E = 8, A = 8.
        assert_eq!(adjust(8.0), 4.0);
        // Still coherent: 4 - 0.5 * 4 = 2; E = 4, A = 12.
        assert_eq!(adjust(-4.0), 2.0);
        // |E|/A = 1/3: 2 + 0.5 * 6/3 = 3; E = 10, A = 18.
        assert_eq!(adjust(6.0), 3.0);
        let parts = [0, 1, 2].map(|part| Coherent::part(&weight, &sums, part).get());
        assert_eq!(parts, [3.0, 10.0, 18.0]);
    }

    #[test]
    fn a_plain_weight_takes_the_whole_step() {
        let weight = Number::default();
        assert_eq!(Plain::adjust(&weight, &(), 8.0, 0.5), (0.0, 4.0));
        assert_eq!(Plain::adjust(&weight, &(), -4.0, 0.5), (4.0, 2.0));
    }
}
