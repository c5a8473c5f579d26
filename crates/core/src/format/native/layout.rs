//! Where in a file the numbers of a network stand, in pieces that can be carried in any order.
//!
//! A piece fits a small buffer and has its own places in the file and in the network, so threads can
//! share the pieces out among themselves. Nothing here knows of threads or files: who carries a
//! piece, and where its bytes come from or go to, is the caller's business.

use std::io;

use super::NativeError;
use crate::Value;
use crate::ntuple::{Tables, Tiling, Weight};

/// Numbers between the ends and the beginnings of runs in a buffer: runs are as long as many ways of a cache
/// are, and the same number of each would fall on the same one.
const APART: usize = 16;

/// One number of every weight of a table, and where the file has them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Tensor {
    pub(super) name: String,
    pub(super) tuple: usize,
    pub(super) part: usize,
    pub(super) numbers: usize,
    /// The place of its first byte.
    pub(super) at: u64,
}

impl Tensor {
    /// The place of the first byte of one of its numbers.
    fn place(&self, number: usize) -> u64 {
        self.at + 4 * number as u64
    }

    /// The place behind its last byte.
    pub(super) fn end(&self) -> u64 {
        self.place(self.numbers)
    }

    pub(super) fn check(&self, from: usize, values: &[Value]) -> Result<(), NativeError> {
        // Without a way out of the loop it takes many numbers at a time.
        if values.iter().fold(true, |all, v| all & v.is_finite()) {
            return Ok(());
        }
        let place = values.iter().position(|value| !value.is_finite());
        let place = place.unwrap_or_default();
        Err(NativeError::NotFinite {
            table: self.name.clone(),
            index: from + place,
            found: values[place],
        })
    }
}

/// All tensors of a file that a network takes part in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    pub(super) tensors: Vec<Tensor>,
}

impl Layout {
    /// All of it, in the order of the network's tables.
    pub fn pieces<'a, W: Weight>(&'a self, network: &'a Tables<W>) -> Vec<Piece<'a>> {
        let pieces = self.tensors.iter().flat_map(|tensor| {
            let tiling = network.tiling(tensor.tuple);
            (0..tiling.tiles()).map(move |tile| Piece {
                tensor,
                tiling,
                tile,
            })
        });
        pieces.collect()
    }

    /// The length of a file that ends with these tensors.
    pub fn end(&self) -> u64 {
        self.tensors.iter().map(Tensor::end).max().unwrap_or(0)
    }
}

/// Numbers that are near each other both in the file, where they are some runs, and in the network.
#[derive(Clone, Copy, Debug)]
pub struct Piece<'a> {
    tensor: &'a Tensor,
    tiling: &'a Tiling,
    tile: usize,
}

/// Room for one piece, to be used again for the next.
#[derive(Default)]
pub struct Buffer {
    values: Vec<Value>,
    bytes: Vec<u8>,
}

impl Piece<'_> {
    /// Takes it out of the network, as the bytes of a file: `put` takes each run with the place of its
    /// first byte.
    ///
    /// # Errors
    /// When `put` fails, or at a number that is not finite.
    pub fn export<W: Weight>(
        &self,
        network: &Tables<W>,
        buffer: &mut Buffer,
        mut put: impl FnMut(&[u8], u64) -> io::Result<()>,
    ) -> Result<(), NativeError> {
        let Buffer { values, bytes } = buffer.of(self);
        network.export_tile(self.tile(), self.tensor.part, values, self.stride());
        for (from, values) in self
            .tiling
            .runs(self.tile)
            .zip(values.chunks(self.stride()))
        {
            let values = &values[..self.tiling.run()];
            self.tensor.check(from, values)?;
            to_bytes(values, bytes);
            put(bytes, self.tensor.place(from))?;
        }
        Ok(())
    }

    /// Puts it into a new network; `fill` brings the bytes of each run, given the place of its first byte.
    ///
    /// # Errors
    /// When `fill` fails, or at a number that is not finite.
    pub fn import<W: Weight>(
        &self,
        network: &Tables<W>,
        buffer: &mut Buffer,
        mut fill: impl FnMut(&mut [u8], u64) -> io::Result<()>,
    ) -> Result<(), NativeError> {
        let Buffer { values, bytes } = buffer.of(self);
        let runs = values.chunks_mut(self.stride());
        for (from, values) in self.tiling.runs(self.tile).zip(runs) {
            let values = &mut values[..self.tiling.run()];
            fill(bytes, self.tensor.place(from))?;
            for (value, bytes) in values.iter_mut().zip(bytes.as_chunks().0) {
                *value = Value::from_le_bytes(*bytes);
            }
            self.tensor.check(from, values)?;
        }
        network.import_tile(self.tile(), self.tensor.part, values, self.stride());
        Ok(())
    }

    fn tile(&self) -> (usize, usize) {
        (self.tensor.tuple, self.tile)
    }

    /// From the beginning of a run in a buffer to that of the next.
    fn stride(&self) -> usize {
        self.tiling.run() + APART
    }
}

/// Numbers as the bytes of a file.
pub(super) fn to_bytes(values: &[Value], bytes: &mut [u8]) {
    for (bytes, value) in bytes.as_chunks_mut().0.iter_mut().zip(values) {
        *bytes = value.to_le_bytes();
    }
}

impl Buffer {
    /// Itself, with as much room as the piece needs.
    fn of(&mut self, piece: &Piece<'_>) -> &mut Self {
        let runs = piece.tiling.runs(piece.tile).len();
        self.values.resize(runs * piece.stride(), 0.0);
        self.bytes.resize(4 * piece.tiling.run(), 0);
        self
    }
}
