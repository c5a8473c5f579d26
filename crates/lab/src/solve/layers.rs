//! The states of a game by layers of their tile sum, each layer in the order of its codes.

use std::ops::Range;

use afterstate::solve::Layer;

/// All states, one for each and its images.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Layers {
    sums: Vec<u64>,
    /// Where each layer begins, and the end.
    starts: Vec<usize>,
    codes: Vec<u64>,
}

impl Layers {
    /// From layers with ascending sums.
    pub(super) fn new(layers: Vec<Layer>) -> Self {
        let states = layers.iter().map(|layer| layer.states.len()).sum();
        let mut all = Self {
            sums: Vec::with_capacity(layers.len()),
            starts: vec![0],
            codes: Vec::with_capacity(states),
        };
        // Each layer is given back before the next is copied: there are never two copies of all.
        for layer in layers {
            all.sums.push(layer.sum);
            all.codes.extend(layer.states);
            all.starts.push(all.codes.len());
        }
        all
    }

    /// The same from the numbers of a file, if they make sense.
    pub(super) fn checked(sums: Vec<u64>, starts: &[u64], codes: Vec<u64>) -> Option<Self> {
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

    /// How many layers there are.
    pub fn count(&self) -> usize {
        self.sums.len()
    }

    /// All codes, layer after layer.
    pub fn codes(&self) -> &[u64] {
        &self.codes
    }

    /// The sum of the tiles of a layer, and where its states are among all codes.
    pub fn layer(&self, number: usize) -> (u64, Range<usize>) {
        let states = self.starts[number]..self.starts[number + 1];
        (self.sums[number], states)
    }

    /// The sums and places of all layers, from the smallest sum.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (u64, Range<usize>)> + '_ {
        (0..self.count()).map(|number| self.layer(number))
    }

    /// Where the layers begin, and the end.
    pub(super) fn starts(&self) -> &[usize] {
        &self.starts
    }

    /// The place of a state with this sum of tiles among all codes.
    pub fn place(&self, sum: u64, code: u64) -> Option<usize> {
        let (_, states) = self.layer(self.sums.binary_search(&sum).ok()?);
        let found = self.codes[states.clone()].binary_search(&code).ok()?;
        Some(states.start + found)
    }
}
