//! Where in a file the numbers of a network stand, in pieces that can be carried in any order.
//!
//! A piece fits a small buffer and has its own place in the file and in the network, so threads can
//! share the pieces out among themselves. Nothing here knows of threads or files: who carries a
//! piece, and where its bytes come from or go to, is the caller's business.

use std::io;

use super::NativeError;
use crate::Value;
use crate::ntuple::{Tables, Weight};

/// Numbers in a piece: with its bytes beside it, half a megabyte, which a core's own cache holds.
const PIECE: usize = 1 << 16;

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
    /// The place behind its last byte.
    pub(super) fn end(&self) -> u64 {
        self.at + 4 * self.numbers as u64
    }

    fn pieces(&self) -> impl Iterator<Item = Piece<'_>> {
        (0..self.numbers).step_by(PIECE).map(|from| Piece {
            tensor: self,
            from,
            numbers: PIECE.min(self.numbers - from),
        })
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
    /// All of it, in the order of the network's tables.
    pub fn pieces(&self) -> Vec<Piece<'_>> {
        self.tensors.iter().flat_map(Tensor::pieces).collect()
    }

    /// The length of a file that ends with these tensors.
    pub fn end(&self) -> u64 {
        self.tensors.iter().map(Tensor::end).max().unwrap_or(0)
    }
}

/// Numbers that stand together both in the file and in the network.
#[derive(Clone, Copy, Debug)]
pub struct Piece<'a> {
    tensor: &'a Tensor,
    from: usize,
    numbers: usize,
}

/// Room for one piece, to be used again for the next.
#[derive(Default)]
pub struct Buffer {
    values: Vec<Value>,
    bytes: Vec<u8>,
}

impl Piece<'_> {
    /// The place of its first byte in the file.
    pub fn at(&self) -> u64 {
        self.tensor.at + 4 * self.from as u64
    }

    /// Takes it out of the network, as the bytes of a file.
    ///
    /// # Errors
    /// At a number that is not finite.
    pub fn export<'b, W: Weight>(
        &self,
        network: &Tables<W>,
        buffer: &'b mut Buffer,
    ) -> Result<&'b [u8], NativeError> {
        let Buffer { values, bytes } = buffer.of(self);
        network.export(self.tensor.tuple, self.tensor.part, self.from, values);
        self.tensor.check(self.from, values)?;
        for (bytes, value) in bytes.as_chunks_mut().0.iter_mut().zip(values) {
            *bytes = value.to_le_bytes();
        }
        Ok(bytes)
    }

    /// Puts it into a new network; `fill` brings the bytes that the file has at this place.
    ///
    /// # Errors
    /// When `fill` fails, or at a number that is not finite.
    pub fn import<W: Weight>(
        &self,
        network: &Tables<W>,
        buffer: &mut Buffer,
        fill: impl FnOnce(&mut [u8]) -> io::Result<()>,
    ) -> Result<(), NativeError> {
        let Buffer { values, bytes } = buffer.of(self);
        fill(bytes)?;
        for (value, bytes) in values.iter_mut().zip(bytes.as_chunks().0) {
            *value = Value::from_le_bytes(*bytes);
        }
        self.tensor.check(self.from, values)?;
        network.import(self.tensor.tuple, self.tensor.part, self.from, values);
        Ok(())
    }
}

impl Buffer {
    /// Itself, with as much room as the piece has numbers.
    fn of(&mut self, piece: &Piece<'_>) -> &mut Self {
        self.values.resize(piece.numbers, 0.0);
        self.bytes.resize(4 * piece.numbers, 0);
        self
    }
}
