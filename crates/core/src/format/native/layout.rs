//! Where in a file the numbers of a network stand, in pieces that can be carried in any order.
//!
//! A model has a tensor for each table, in an order that others can read. A checkpoint has the two blocks of
//! memory as they are: to bring interleaved tables into another order takes several times as long as to copy them, and a
//! training rests meanwhile.
//!
//! A piece fits a small buffer and has its own places in the file and in the network, so threads can
//! share the pieces out among themselves. Nothing here knows of threads or files: who carries a
//! piece, and where its bytes come from or go to, is the caller's business.

use std::io;
use std::ops::Range;

use super::NativeError;
use crate::Value;
use crate::format::floats::Float;
use crate::ntuple::{Block, Tiling, WeightCell, WeightPart, WeightTables};

/// Numbers between the ends and the beginnings of runs in a buffer: runs are as long as many ways of a cache
/// are, and the same number of each would fall on the same one.
const APART: usize = 16;

/// Numbers of a block that are carried at once: a second-level cache has room for them and their bytes.
const SOME: usize = 1 << 14;

/// What a tensor holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// The weights of a tuple, in the order of files.
    Table(usize),
    /// A block of memory.
    Block(Block),
}

/// Numbers of a network, and where the file has them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Tensor {
    pub(super) name: String,
    pub(super) source: Source,
    pub(super) float: Float,
    pub(super) numbers: usize,
    /// The place of its first byte.
    pub(super) at: u64,
}

impl Tensor {
    /// The place of the first byte of one of its numbers.
    fn place(&self, number: usize) -> u64 {
        self.at + (self.float.width() * number) as u64
    }

    /// The place behind its last byte.
    pub(super) fn end(&self) -> u64 {
        self.place(self.numbers)
    }

    /// All of it, piece by piece.
    fn pieces<'a, C: WeightCell>(&'a self, network: &'a WeightTables<C>) -> Vec<Piece<'a>> {
        let piece = |part| Piece { tensor: self, part };
        match self.source {
            Source::Table(tuple) => {
                let tiling = network.tiling(tuple);
                let part = |tile| Part::Tile {
                    tuple,
                    tiling,
                    tile,
                };
                (0..tiling.tiles()).map(|tile| piece(part(tile))).collect()
            }
            Source::Block(block) => {
                let starts = (0..self.numbers).step_by(SOME);
                let some = |start| start..self.numbers.min(start + SOME);
                let part = |start| Part::Stretch(block, some(start));
                starts.map(|start| piece(part(start))).collect()
            }
        }
    }

    /// Copies numbers of it out of the network, from number `from` on.
    pub(super) fn export<C: WeightCell>(
        &self,
        network: &WeightTables<C>,
        from: usize,
        values: &mut [Value],
    ) -> Result<(), NativeError> {
        match self.source {
            Source::Table(tuple) => network.export(tuple, WeightPart::Weight, from, values),
            Source::Block(block) => network.export_block(block, from, values),
        }
        self.check(from, values)
    }

    fn check(&self, from: usize, values: &[Value]) -> Result<(), NativeError> {
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
    /// All of it, in the order of its tensors.
    pub fn pieces<'a, C: WeightCell>(&'a self, network: &'a WeightTables<C>) -> Vec<Piece<'a>> {
        let tensors = self.tensors.iter();
        tensors.flat_map(|tensor| tensor.pieces(network)).collect()
    }

    /// The tables of a network in a file of somebody else's: how each is written, and where it begins.
    pub fn of_tables<C: WeightCell>(network: &WeightTables<C>, places: &[(Float, u64)]) -> Self {
        let mut tensors = super::tables(network.tuples());
        for (tensor, &(float, at)) in tensors.iter_mut().zip(places) {
            (tensor.float, tensor.at) = (float, at);
        }
        Self { tensors }
    }

    /// The length of a file that ends with these tensors.
    pub fn end(&self) -> u64 {
        self.tensors.iter().map(Tensor::end).max().unwrap_or(0)
    }
}

/// Numbers that are near each other both in the file, where they are some runs, and in the network.
#[derive(Clone, Debug)]
pub struct Piece<'a> {
    tensor: &'a Tensor,
    part: Part<'a>,
}

#[derive(Clone, Debug)]
enum Part<'a> {
    Tile {
        tuple: usize,
        tiling: &'a Tiling,
        tile: usize,
    },
    Stretch(Block, Range<usize>),
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
    pub fn export<C: WeightCell>(
        &self,
        network: &WeightTables<C>,
        buffer: &mut Buffer,
        mut put: impl FnMut(&[u8], u64) -> io::Result<()>,
    ) -> Result<(), NativeError> {
        let Buffer { values, bytes } = buffer.of(self);
        match &self.part {
            Part::Tile { tuple, tile, .. } => {
                network.export_tile((*tuple, *tile), values, self.stride());
            }
            Part::Stretch(block, range) => {
                network.export_block(*block, range.start, &mut values[..range.len()]);
            }
        }
        for (from, values) in self.runs().into_iter().zip(values.chunks(self.stride())) {
            let values = &values[..self.run()];
            self.tensor.check(from, values)?;
            to_bytes(values, bytes);
            put(bytes, self.tensor.place(from))?;
        }
        Ok(())
    }

    /// Puts it into a new network; `fill` brings the bytes of each run, given the place of its first byte.
    /// Zeros are skipped: they are there already, and writing them would only take up memory.
    ///
    /// # Errors
    /// When `fill` fails, or at a number that is not finite.
    pub fn import<C: WeightCell>(
        &self,
        network: &WeightTables<C>,
        buffer: &mut Buffer,
        mut fill: impl FnMut(&mut [u8], u64) -> io::Result<()>,
    ) -> Result<(), NativeError> {
        let Buffer { values, bytes } = buffer.of(self);
        let runs = values.chunks_mut(self.stride());
        for (from, values) in self.runs().into_iter().zip(runs) {
            let values = &mut values[..self.run()];
            fill(bytes, self.tensor.place(from))?;
            self.tensor.float.decode(bytes, values);
            self.tensor.check(from, values)?;
        }
        match &self.part {
            Part::Tile { tuple, tile, .. } => {
                network.import_tile((*tuple, *tile), values, self.stride());
            }
            Part::Stretch(block, range) => {
                network.import_block(*block, range.start, &values[..range.len()]);
            }
        }
        Ok(())
    }

    /// Where its runs begin in the tensor.
    fn runs(&self) -> Vec<usize> {
        match &self.part {
            Part::Tile { tiling, tile, .. } => tiling.runs(*tile).collect(),
            Part::Stretch(_, range) => vec![range.start],
        }
    }

    /// Numbers in a run.
    fn run(&self) -> usize {
        match &self.part {
            Part::Tile { tiling, .. } => tiling.run(),
            Part::Stretch(_, range) => range.len(),
        }
    }

    /// From the beginning of a run in a buffer to that of the next.
    fn stride(&self) -> usize {
        self.run() + APART
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
        let runs = match &piece.part {
            Part::Tile { tiling, tile, .. } => tiling.runs(*tile).len(),
            Part::Stretch(..) => 1,
        };
        self.values.resize(runs * piece.stride(), 0.0);
        let width = piece.tensor.float.width();
        self.bytes.resize(width * piece.run(), 0);
        self
    }
}
