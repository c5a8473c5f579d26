//! Redundant encoding (Jaskowski 2018): small tuples inside larger ones, which exist while a network
//! learns and are folded into the larger ones when its model is written.
//!
//! A small tuple says nothing that the larger one around it could not say: its weights could be
//! added to those of the larger one. But a weight of a small tuple is read in far more positions, so
//! that it learns what is common to them early, and the larger one only how its own cases differ.
//!
//! V is a sum over all symmetries, so a tuple and its image under one of them have the same sum. A
//! small tuple with the cells c_i belongs to the first larger one that contains all h(c_i) for a
//! symmetry h, and with w its weights
//!
//! W[tiles of the larger tuple] += w[tiles in the cells h(c_0), h(c_1), ...]

use super::pattern::{Pattern, TupleSet};

/// A small tuple, the larger one around it, and where its digits are in a file index of that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fold {
    /// The number of the larger tuple.
    pub(super) into: usize,
    /// The number of the small tuple.
    pub(super) small: usize,
    /// For each digit of the small tuple, the position of its bits in an index of the larger one.
    shifts: Vec<u32>,
    bits: u32,
}

impl Fold {
    /// The file index of the small tuple's weight that belongs to one of the larger tuple.
    #[inline(always)]
    pub(super) fn index(&self, file: usize) -> usize {
        let mask = (1 << self.bits) - 1;
        let digit = |(place, &shift): (u32, &u32)| (file >> shift & mask) << (place * self.bits);
        (0..).zip(&self.shifts).map(digit).sum()
    }
}

/// Where the digits of a small tuple are in an index of a larger one, if it is inside.
fn inside(small: &Pattern, large: &Pattern, symmetries: &[Vec<usize>]) -> Option<Vec<u32>> {
    let bits = large.tile_bits() as u32;
    symmetries.iter().find_map(|symmetry| {
        let digit = |&cell: &u8| {
            let image = symmetry[usize::from(cell)];
            let digit = large.cells().iter().position(|&c| usize::from(c) == image);
            digit.map(|digit| digit as u32 * bits)
        };
        small.cells().iter().map(digit).collect()
    })
}

impl TupleSet {
    /// How the redundant tuples are folded into the others; `Err` with the number of one that is
    /// inside none of them.
    pub(super) fn folds(&self) -> Result<Vec<Fold>, usize> {
        let mut symmetries = self.shape().symmetries();
        if !self.symmetry() {
            symmetries.truncate(1);
        }
        let (large, small) = self.patterns().split_at(self.kept());
        let fold = |(number, pattern): (usize, &Pattern)| {
            let number = number + large.len();
            let found = large
                .iter()
                .enumerate()
                .find_map(|(into, large)| Some((into, inside(pattern, large, &symmetries)?)));
            let (into, shifts) = found.ok_or(number)?;
            let bits = pattern.tile_bits() as u32;
            Ok(Fold {
                into,
                small: number,
                shifts,
                bits,
            })
        };
        small.iter().enumerate().map(fold).collect()
    }
}

#[cfg(test)]
mod tests {
    use crate::game::Shape;

    use super::*;

    fn folds(large: &str, small: &str, symmetry: bool) -> Result<Vec<Fold>, String> {
        let tuples = TupleSet::parse(large, Shape::FOUR, symmetry).unwrap();
        let tuples = tuples.with_redundant(small);
        Ok(tuples.map_err(|error| error.to_string())?.folds().unwrap())
    }

    #[test]
    fn a_small_tuple_is_inside_the_first_that_contains_it() {
        let fold = &folds("012345 456789", "54", true).unwrap()[0];
        // Cells 5 and 4 are digits 5 and 4 of the first tuple: tiles 7 and 9.
        assert_eq!((fold.into, fold.small), (0, 2));
        assert_eq!(fold.index(0x79_1234), 0x97);
        // The last row is the first one of a flipped board; without symmetry it is in none.
        let fold = &folds("012345", "cdef", true).unwrap()[0];
        assert_eq!(fold.into, 0);
        let error = folds("012345", "cdef", false).unwrap_err();
        assert!(error.contains("`cdef`"), "{error}");
        let error = folds("012345", "0f", true).unwrap_err();
        assert!(error.contains("`0f`"), "{error}");
        let error = folds("012345", "012345", true).unwrap_err();
        assert!(error.contains("twice"), "{error}");
    }
}
