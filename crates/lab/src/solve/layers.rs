//! The states of a game by layers of their tile sum; each layer is sorted by code.

use std::ops::Range;

use afterstate::solve::{Layer, StateCode};

use super::work::{WorkError, with_room};

/// All states, one for each class of symmetric states.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Layers {
    sums: Vec<u64>,
    /// The start of each layer, and the end.
    starts: Vec<usize>,
    codes: Vec<StateCode>,
}

impl Layers {
    /// From layers with ascending sums.
    pub(super) fn new(layers: Vec<Layer>) -> Result<Self, WorkError> {
        let states = layers.iter().map(|layer| layer.states.len()).sum();
        let mut all = Self {
            sums: Vec::with_capacity(layers.len()),
            starts: vec![0],
            codes: with_room(states)?,
        };
        // Each layer is freed before the next is copied, so there are never two copies of all.
        for layer in layers {
            all.sums.push(layer.sum);
            all.codes.extend(layer.states);
            all.starts.push(all.codes.len());
        }
        Ok(all)
    }

    /// The same from the numbers of a file, if they are valid.
    pub(super) fn checked(sums: Vec<u64>, starts: &[u64], codes: Vec<StateCode>) -> Option<Self> {
        let starts: Vec<usize> = starts
            .iter()
            .map(|&start| usize::try_from(start).ok())
            .collect::<Option<_>>()?;
        let ascending = sums.is_sorted_by(|a, b| a < b) && starts.is_sorted_by(|a, b| a < b);
        let whole = starts.first() == Some(&0) && starts.last() == Some(&codes.len());
        (ascending && whole && starts.len() == sums.len() + 1).then_some(Self {
            sums,
            starts,
            codes,
        })
    }

    /// The number of layers.
    pub fn count(&self) -> usize {
        self.sums.len()
    }

    /// All codes, layer after layer.
    pub fn codes(&self) -> &[StateCode] {
        &self.codes
    }

    /// The tile sum of a layer, and the range of its states among all codes.
    pub fn layer(&self, number: usize) -> (u64, Range<usize>) {
        let states = self.starts[number]..self.starts[number + 1];
        (self.sums[number], states)
    }

    /// The sums and ranges of all layers, in ascending order of the sum.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (u64, Range<usize>)> + '_ {
        (0..self.count()).map(|number| self.layer(number))
    }

    /// The starts of the layers, and the end.
    pub(super) fn starts(&self) -> &[usize] {
        &self.starts
    }

    /// The index of a state with this tile sum among all codes.
    pub fn place(&self, sum: u64, code: StateCode) -> Option<usize> {
        let (_, states) = self.layer(self.sums.binary_search(&sum).ok()?);
        let found = self.codes[states.clone()].binary_search(&code).ok()?;
        Some(states.start + found)
    }
}
