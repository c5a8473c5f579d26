//! Hash tables of values by code, for the layers that are being looked up.
//!
//! A binary search in a sorted layer takes some seventeen steps, each at another place in memory;
//! here a value is adjacent to its code, in the slot that a multiplicative hash selects or soon
//! after it.

use std::marker::PhantomData;

use super::work::{WorkError, filled};

/// Bytes for each value, at most.
pub(super) const BYTES: u64 = 64;

/// Marks an empty slot: the code of a board full of 32768-tiles.
const EMPTY: u64 = u64::MAX;

/// A hash table with at least two slots for each value.
pub(super) struct ValueTable<C> {
    slots: Vec<(u64, f64)>,
    shift: u32,
    codes: PhantomData<C>,
}

impl<C: Copy + Into<u64>> ValueTable<C> {
    pub(super) fn new(codes: &[C], values: &[f64]) -> Result<Self, WorkError> {
        let bits = (2 * codes.len()).next_power_of_two().ilog2().max(1);
        let mut table = Self {
            slots: filled((EMPTY, 0.0), 1 << bits)?,
            shift: u64::BITS - bits,
            codes: PhantomData,
        };
        for (&code, &value) in codes.iter().zip(values) {
            let code = code.into();
            let slot = table.slot(code);
            table.slots[slot] = (code, value);
        }
        Ok(table)
    }

    /// The value of a code, if the table has it.
    #[inline]
    pub(super) fn get(&self, code: C) -> Option<f64> {
        let code = code.into();
        let (found, value) = self.slots[self.slot(code)];
        (found == code).then_some(value)
    }

    /// The slot of a code, or the empty slot where it would be.
    #[inline]
    fn slot(&self, code: u64) -> usize {
        // The golden ratio spreads consecutive codes.
        let mut slot = (code.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> self.shift) as usize;
        while self.slots[slot].0 != code && self.slots[slot].0 != EMPTY {
            slot = (slot + 1) & (self.slots.len() - 1);
        }
        slot
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_is_found_and_nothing_else() {
        for count in [0, 1, 2, 1000] {
            let codes: Vec<u64> = (0..count).map(|n| n * n).collect();
            let values: Vec<f64> = (0..count).map(|n| n as f64).collect();
            let table = ValueTable::new(&codes, &values).unwrap();
            for (&code, &value) in codes.iter().zip(&values) {
                assert_eq!(table.get(code), Some(value));
                assert_eq!(table.get(1_000_000 + code), None);
            }
        }
    }
}
