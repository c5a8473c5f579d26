//! Where the numbers of a network are in a file, in pieces that can be copied in any order.
//!
//! A model has a tensor for each table, in an order that other programs can read. A checkpoint has
//! the two memory blocks unchanged: reordering interleaved tables takes several times as long as
//! copying them, and training is paused meanwhile.
//!
//! A piece fits into a small buffer and has its own places in the file and in the network, so
//! threads can share the pieces. This module knows nothing of threads or files: the caller decides
//! which thread copies a piece, and where its bytes come from or go to.

use std::io;
use std::ops::Range;

use super::NativeError;
use crate::Value;
use crate::format::floats::Float;
use crate::ntuple::{Chunking, MemoryBlock, WeightCell, WeightTables};

/// Numbers between the runs in a buffer. The length of a run is a multiple of the size of a cache
/// way, so without a gap the same number of each run would map to the same cache set.
const APART: usize = 16;

/// Numbers of a block that are copied at once: they and their bytes fit into a second-level cache.
const SOME: usize = 1 << 14;

/// What a tensor holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TensorSource {
    /// The weights of a tuple, in file order.
    Table(usize),
    /// A block of memory, in memory order.
    Block(MemoryBlock),
}

/// Numbers of a network, and their place in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Tensor {
    pub(super) name: String,
    pub(super) source: TensorSource,
    pub(super) float: Float,
    pub(super) numbers: usize,
    /// The offset of its first byte.
    pub(super) at: u64,
}

impl Tensor {
    /// The offset of one of its numbers.
    fn place(&self, number: usize) -> u64 {
        self.at + (self.float.width() * number) as u64
    }

    /// The offset after its last byte.
    pub(super) fn end(&self) -> u64 {
        self.place(self.numbers)
    }

    /// Divides it into pieces.
    fn pieces<'a, C: WeightCell>(&'a self, network: &'a WeightTables<C>) -> Vec<Piece<'a>> {
        let piece = |part| Piece { tensor: self, part };
        match self.source {
            TensorSource::Table(tuple) => {
                let chunking = network.chunking(tuple);
                let part = |chunk| Part::Chunk {
                    tuple,
                    chunking,
                    chunk,
                };
                (0..chunking.chunks())
                    .map(|chunk| piece(part(chunk)))
                    .collect()
            }
            TensorSource::Block(block) => {
                let starts = (0..self.numbers).step_by(SOME);
                let some = |start| start..self.numbers.min(start + SOME);
                let part = |start| Part::Stretch(block, some(start));
                starts.map(|start| piece(part(start))).collect()
            }
        }
    }

    /// Copies its numbers out of the network, starting at number `from`.
    pub(super) fn export<C: WeightCell>(
        &self,
        network: &WeightTables<C>,
        from: usize,
        values: &mut [Value],
    ) -> Result<(), NativeError> {
        match self.source {
            TensorSource::Table(tuple) => network.export_kept(tuple, from, values),
            TensorSource::Block(block) => network.export_block(block, from, values),
        }
        self.check(from, values)
    }

    fn check(&self, from: usize, values: &[Value]) -> Result<(), NativeError> {
        // Without an early exit the loop is vectorised.
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

/// All tensors of a file that belong to a network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorLayout {
    pub(super) tensors: Vec<Tensor>,
}

impl TensorLayout {
    /// All pieces, in the order of the tensors.
    pub fn pieces<'a, C: WeightCell>(&'a self, network: &'a WeightTables<C>) -> Vec<Piece<'a>> {
        let tensors = self.tensors.iter();
        tensors.flat_map(|tensor| tensor.pieces(network)).collect()
    }

    /// The tables of a network in a file of another program: the float type and the offset of each.
    pub fn of_tables<C: WeightCell>(network: &WeightTables<C>, places: &[(Float, u64)]) -> Self {
        let mut tensors = super::tables(network.tuples());
        // A file may have the first stages alone.
        tensors.truncate(places.len());
        for (tensor, &(float, at)) in tensors.iter_mut().zip(places) {
            (tensor.float, tensor.at) = (float, at);
        }
        Self { tensors }
    }

    /// The names of the tensors.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.tensors.iter().map(|tensor| &*tensor.name)
    }

    /// The length of a file that ends with these tensors.
    pub fn end(&self) -> u64 {
        self.tensors.iter().map(Tensor::end).max().unwrap_or(0)
    }
}

/// Numbers that are close to each other both in the file, where they are some runs, and in the
/// network.
#[derive(Clone, Debug)]
pub struct Piece<'a> {
    tensor: &'a Tensor,
    part: Part<'a>,
}

#[derive(Clone, Debug)]
enum Part<'a> {
    Chunk {
        tuple: usize,
        chunking: &'a Chunking,
        chunk: usize,
    },
    Stretch(MemoryBlock, Range<usize>),
}

/// A buffer for one piece, reused for the next.
#[derive(Default)]
pub struct Buffer {
    values: Vec<Value>,
    bytes: Vec<u8>,
}

impl Piece<'_> {
    /// Copies the piece out of the network as bytes: calls `put` with the offset and the bytes of
    /// each run.
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
            Part::Chunk { tuple, chunk, .. } => {
                network.export_kept_chunk((*tuple, *chunk), values, self.stride());
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

    /// Copies the piece into a network; `fill` reads the bytes of each run at the given offset.
    /// Zeros do not commit the memory of a new network.
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
            Part::Chunk { tuple, chunk, .. } => {
                network.import_chunk((*tuple, *chunk), values, self.stride());
            }
            Part::Stretch(block, range) => {
                network.import_block(*block, range.start, &values[..range.len()]);
            }
        }
        Ok(())
    }

    /// Where its runs start in the tensor.
    fn runs(&self) -> Vec<usize> {
        match &self.part {
            Part::Chunk {
                chunking, chunk, ..
            } => chunking.runs(*chunk).collect(),
            Part::Stretch(_, range) => vec![range.start],
        }
    }

    /// Numbers in a run.
    fn run(&self) -> usize {
        match &self.part {
            Part::Chunk { chunking, .. } => chunking.run(),
            Part::Stretch(_, range) => range.len(),
        }
    }

    /// The distance between the starts of two runs in a buffer.
    fn stride(&self) -> usize {
        self.run() + APART
    }
}

/// Encodes numbers as the bytes of a file.
pub(super) fn to_bytes(values: &[Value], bytes: &mut [u8]) {
    for (bytes, value) in bytes.as_chunks_mut().0.iter_mut().zip(values) {
        *bytes = value.to_le_bytes();
    }
}

impl Buffer {
    /// Resizes the buffer for a piece.
    fn of(&mut self, piece: &Piece<'_>) -> &mut Self {
        let runs = match &piece.part {
            Part::Chunk {
                chunking, chunk, ..
            } => chunking.runs(*chunk).len(),
            Part::Stretch(..) => 1,
        };
        self.values.resize(runs * piece.stride(), 0.0);
        let width = piece.tensor.float.width();
        self.bytes.resize(width * piece.run(), 0);
        self
    }
}
