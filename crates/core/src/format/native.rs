//! Our models: safetensors files, which numpy, PyTorch and many other programs can open.
//!
//! A model has one tensor per table, named by its pattern (`012345`), of 16^n little-endian f32:
//! the weight of tiles d0, d1, ... in the pattern's cells has the index d0 + 16 d1 + 256 d2 + ... A
//! checkpoint has the network's memory unchanged: `cells`, and with TC `sums`; the metadata `order`
//! describes its layout. Metadata is flat text; docs/formats/native.md lists its keys.
//!
//! This module writes the header itself, because the safetensors crate has unordered metadata, and
//! two equal models would differ in their bytes. The crate validates headers, but it wants the
//! whole file in memory, so the header is also read here, and tensors are read in pieces.

mod checksum;
mod entries;
mod error;
mod layout;
mod new;
mod raw;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::io::{Read, Write};

use safetensors::{Dtype, SafeTensorError};

use super::floats::Float;
use super::foreign::TensorSpan;
use crate::ntuple::{MemoryBlock, TupleSet, WeightCell, WeightTables};
pub use checksum::Checksums;
pub use entries::peek_metadata;
use entries::{Entries, read_header};
pub use error::NativeError;
pub use layout::{Buffer, Piece, TensorLayout};
use layout::{Tensor, TensorSource, to_bytes};
pub(super) use new::header;
use new::shaped_header;
pub use new::{NewHeader, lay_out_spans};
pub use raw::RawTensor;

/// Flat text metadata of a model.
pub type Metadata = BTreeMap<String, String>;

/// Which parts of a network a file stores, or a reader needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoredParts {
    /// What playing needs: the weights.
    Weights,
    /// What learning needs: all of the network's memory.
    Everything,
}

/// The metadata key for the memory layout of a checkpoint.
const ORDER: &str = "order";

/// The header of a new file, and the layout of the network's numbers after it. The result depends
/// only on the network and the metadata.
pub fn lay_out<C: WeightCell>(
    network: &WeightTables<C>,
    metadata: &Metadata,
    keep: StoredParts,
) -> (NewHeader, TensorLayout) {
    let (header, layout, _) = lay_out_with(network, metadata, keep, &[]);
    (header, layout)
}

/// The same with further tensors after those of the network, and the offset of each.
pub fn lay_out_with<C: WeightCell>(
    network: &WeightTables<C>,
    metadata: &Metadata,
    keep: StoredParts,
    further: &[RawTensor],
) -> (NewHeader, TensorLayout, Vec<u64>) {
    let mut at = 0;
    let (mut tensors, metadata) = match keep {
        StoredParts::Weights => (kept_tables(network.tuples()), metadata.clone()),
        StoredParts::Everything => {
            let mut metadata = metadata.clone();
            metadata.insert(ORDER.to_owned(), network.order());
            (blocks(network), metadata)
        }
    };
    for tensor in &mut tensors {
        tensor.at = at;
        at = tensor.end();
    }
    let entries = tensors.iter().map(|tensor| {
        let shape = vec![tensor.numbers];
        (&*tensor.name, "F32", shape, tensor.at, tensor.end())
    });
    let mut places = Vec::new();
    let raw = further.iter().map(|raw| {
        let from = at;
        places.push(from);
        at += raw.bytes.len() as u64;
        (&*raw.name, raw.dtype, raw.shape.clone(), from, at)
    });
    let entries: Vec<_> = entries.chain(raw).collect();
    let header = shaped_header(entries.into_iter(), &metadata);
    for tensor in &mut tensors {
        tensor.at += header.length();
    }
    places.iter_mut().for_each(|at| *at += header.length());
    (header, TensorLayout { tensors }, places)
}

/// The tensors of all tables, in the order of the tuples, without offsets.
fn tables(tuples: &TupleSet) -> Vec<Tensor> {
    tuples.tables().enumerate().map(table).collect()
}

/// The same for a new model, into which redundant tuples are folded.
fn kept_tables(tuples: &TupleSet) -> Vec<Tensor> {
    tuples.kept_tables().map(table).collect()
}

fn table((number, (name, numbers)): (usize, (String, usize))) -> Tensor {
    Tensor {
        name,
        source: TensorSource::Table(number),
        float: Float::F32,
        numbers,
        at: 0,
    }
}

/// The tensors of a checkpoint, without offsets.
fn blocks<C: WeightCell>(network: &WeightTables<C>) -> Vec<Tensor> {
    let tensor = |(name, block): (&str, MemoryBlock)| Tensor {
        name: name.to_owned(),
        source: TensorSource::Block(block),
        float: Float::F32,
        numbers: network.block_len(block),
        at: 0,
    };
    let blocks = [(CELLS, MemoryBlock::Cells), (SUMS, MemoryBlock::Sums)];
    let tensors = blocks.into_iter().map(tensor);
    tensors.filter(|tensor| tensor.numbers > 0).collect()
}

/// The tensor of what choosing a move reads of the weights.
const CELLS: &str = "cells";
/// The tensor of what only learning needs.
const SUMS: &str = "sums";

/// Writes a network sequentially; [`lay_out`] is for callers that write several pieces in parallel.
///
/// # Errors
/// When writing fails, or at a weight that is not finite: the network has diverged.
pub fn write<C: WeightCell>(
    network: &WeightTables<C>,
    metadata: &Metadata,
    keep: StoredParts,
    out: &mut impl Write,
) -> Result<(), NativeError> {
    let (header, layout) = lay_out(network, metadata, keep);
    // The checksums are in the header, so the numbers are copied twice.
    in_order(network, &layout, |bytes, at| {
        header.sums().add(bytes, at);
        Ok(())
    })?;
    out.write_all(&header.finish())?;
    in_order(network, &layout, |bytes, _| out.write_all(bytes))
}

/// Calls `put` with all numbers in order, as bytes, and with their offset.
fn in_order<C: WeightCell>(
    network: &WeightTables<C>,
    layout: &TensorLayout,
    mut put: impl FnMut(&[u8], u64) -> std::io::Result<()>,
) -> Result<(), NativeError> {
    const SOME: usize = 1 << 16;
    let (mut values, mut bytes) = (vec![0.0; SOME], vec![0; 4 * SOME]);
    for tensor in &layout.tensors {
        for from in (0..tensor.numbers).step_by(SOME) {
            let count = SOME.min(tensor.numbers - from);
            let (values, bytes) = (&mut values[..count], &mut bytes[..4 * count]);
            tensor.export(network, from, values)?;
            to_bytes(values, bytes);
            put(bytes, tensor.at + 4 * from as u64)?;
        }
    }
    Ok(())
}

/// An array of floats with a name and a shape.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedArray {
    /// Its name.
    pub name: String,
    /// The dimensions; the last one varies fastest.
    pub shape: Vec<usize>,
    /// The numbers.
    pub values: Vec<f32>,
}

/// A whole file of arrays, for networks that are not tables.
///
/// # Errors
/// At a number that is not finite.
pub fn file_of(
    arrays: &[NamedArray],
    further: &[RawTensor],
    metadata: &Metadata,
) -> Result<Vec<u8>, NativeError> {
    let mut at = 0;
    let entries = arrays.iter().map(|array| {
        let from = at;
        at += 4 * array.values.len() as u64;
        (&*array.name, "F32", array.shape.clone(), from, at)
    });
    let mut entries: Vec<_> = entries.collect();
    for raw in further {
        let from = at;
        at += raw.bytes.len() as u64;
        entries.push((&*raw.name, raw.dtype, raw.shape.clone(), from, at));
    }
    let header = shaped_header(entries.into_iter(), metadata);
    let data = header.draft().len();
    let mut file = header.draft().to_vec();
    for array in arrays {
        let broken = array.values.iter().position(|value| !value.is_finite());
        if let Some(index) = broken {
            return Err(NativeError::NotFinite {
                table: array.name.clone(),
                index,
                found: array.values[index],
            });
        }
        file.extend(array.values.iter().flat_map(|value| value.to_le_bytes()));
    }
    further.iter().for_each(|raw| file.extend(&raw.bytes));
    header.sums().add(&file[data..], data as u64);
    file[..data].copy_from_slice(&header.finish());
    Ok(file)
}

/// The header of one of our files, checked against the file size.
#[derive(Debug)]
pub struct Header {
    metadata: Metadata,
    tensors: safetensors::tensor::Metadata,
    /// The offset of the first tensor.
    data: u64,
    /// None in files of earlier versions.
    checksums: Option<Checksums>,
}

impl Header {
    /// Reads the header of a file of `size` bytes.
    ///
    /// # Errors
    /// When it is not a safetensors file, or not one of ours.
    pub fn read(file: &mut impl Read, size: u64) -> Result<Self, NativeError> {
        let (header, data) = read_header(file, size)?;
        Self::parse(&header, data)
    }

    /// The safetensors crate checks tensors against each other and their shapes.
    fn parse(header: &[u8], data: u64) -> Result<Self, NativeError> {
        let json = std::str::from_utf8(&header[8..]).map_err(SafeTensorError::InvalidHeader)?;
        let entries: Entries =
            serde_json::from_str(json).map_err(SafeTensorError::InvalidHeaderDeserialization)?;
        let mut tensors: Vec<_> = entries.tensors.into_iter().collect();
        tensors.sort_by_key(|(_, tensor)| tensor.data_offsets);
        let places = tensors.iter().map(|(name, tensor)| {
            let (from, to) = tensor.data_offsets;
            (name.clone(), from as u64, to as u64)
        });
        let places: Vec<_> = places.collect();
        let tensors = safetensors::tensor::Metadata::new(None, tensors)?;
        let expected = tensors.data_len() as u64;
        if expected != data {
            return Err(NativeError::length("numbers", expected, data));
        }
        let mut metadata: Metadata = entries.metadata.into_iter().collect();
        let sums = Checksums::new(places.into_iter()).after_header(header.len() as u64);
        let checksums = sums.read(header, &mut metadata)?;
        if !metadata.contains_key("afterstate") {
            return Err(NativeError::Foreign("afterstate"));
        }
        Ok(Self {
            metadata,
            tensors,
            data: header.len() as u64,
            checksums,
        })
    }

    /// Whether the file has checksums; those of earlier versions have none.
    pub fn has_checksums(&self) -> bool {
        self.checksums.is_some()
    }

    /// New sums for reading tensors of this file, if it has checksums.
    pub fn sums(&self) -> Option<Checksums> {
        self.checksums.as_ref().map(Checksums::fresh)
    }

    /// Compares the sums of tensors that have been read completely with the checksums.
    ///
    /// # Errors
    /// At the first piece that differs.
    pub fn verify<'a>(
        &self,
        sums: Option<&Checksums>,
        mut tensors: impl Iterator<Item = &'a str>,
    ) -> Result<(), NativeError> {
        match (&self.checksums, sums) {
            (Some(expected), Some(sums)) => {
                tensors.try_for_each(|name| expected.compare(sums, name))
            }
            _ => Ok(()),
        }
    }

    /// Compares the bytes of a whole tensor with the checksums.
    ///
    /// # Errors
    /// At the first piece that differs.
    pub fn verify_tensor(&self, name: &str, bytes: &[u8]) -> Result<(), NativeError> {
        let sums = self.sums();
        if let Some(sums) = &sums {
            let (at, _) = self.bytes_of(name)?;
            sums.add(bytes, at);
        }
        self.verify(sums.as_ref(), std::iter::once(name))
    }

    /// The offset and the length of each piece that has a checksum.
    pub fn checked_pieces(&self) -> Vec<(u64, usize)> {
        self.checksums
            .as_ref()
            .map_or_else(Vec::new, Checksums::places)
    }

    /// Compares the sums of all tensors with the checksums.
    ///
    /// # Errors
    /// At the first piece that differs.
    pub fn verify_all(&self, sums: Option<&Checksums>) -> Result<(), NativeError> {
        let tensors = self.checksums.iter().flat_map(Checksums::tensors);
        self.verify(sums, tensors)
    }

    /// The shape of a tensor, if there is one of this name.
    pub fn shape(&self, name: &str) -> Option<&[usize]> {
        self.tensors.info(name).map(|info| &*info.shape)
    }

    /// The metadata.
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// The offset and the length in bytes of a tensor of any type.
    ///
    /// # Errors
    /// When there is no such tensor.
    pub fn bytes_of(&self, name: &str) -> Result<(u64, u64), NativeError> {
        let found = self.tensors.info(name);
        let found = found.ok_or_else(|| NativeError::NoTable(name.to_owned()))?;
        let (from, to) = found.data_offsets;
        Ok((self.data + from as u64, (to - from) as u64))
    }

    /// The layout of a network's numbers in the file: a model has everything that playing needs, a
    /// checkpoint has that and more.
    ///
    /// # Errors
    /// When a tensor is missing or has the wrong size, or a checkpoint has another memory layout.
    pub fn layout<C: WeightCell>(
        &self,
        network: &WeightTables<C>,
        keep: StoredParts,
    ) -> Result<TensorLayout, NativeError> {
        self.layout_of_banks(network, keep, network.tuples().banks())
    }

    /// The same for a file that has only the first `banks` tables of each tuple.
    ///
    /// # Errors
    /// As for [`Header::layout`].
    pub fn layout_of_banks<C: WeightCell>(
        &self,
        network: &WeightTables<C>,
        keep: StoredParts,
        banks: usize,
    ) -> Result<TensorLayout, NativeError> {
        let is_model = keep == StoredParts::Weights && !self.metadata.contains_key(ORDER);
        let tuples = network.tuples();
        let mut tensors = if is_model {
            let mut tensors = tables(tuples);
            tensors.truncate(tuples.patterns().len() * banks);
            tensors
        } else {
            self.check_order(network)?;
            let mut tensors = blocks(network);
            for tensor in &mut tensors {
                tensor.numbers = tensor.numbers / tuples.banks() * banks;
            }
            tensors
        };
        if keep == StoredParts::Weights {
            tensors.retain(|tensor| tensor.source != TensorSource::Block(MemoryBlock::Sums));
        }
        let placed = tensors.into_iter().map(|tensor| self.place(tensor));
        Ok(TensorLayout {
            tensors: placed.collect::<Result<_, _>>()?,
        })
    }

    fn check_order<C: WeightCell>(&self, network: &WeightTables<C>) -> Result<(), NativeError> {
        let expected = network.order();
        match self.metadata.get(ORDER) {
            Some(found) if *found != expected => Err(NativeError::Order {
                found: found.chars().take(80).collect(),
                expected,
            }),
            // A model has no order, and no tensors of a checkpoint.
            _ => Ok(()),
        }
    }

    /// A converted table may have another float type.
    fn place(&self, tensor: Tensor) -> Result<Tensor, NativeError> {
        let found = self.tensors.info(&tensor.name).map(|found| found.dtype);
        let float = match tensor.source {
            TensorSource::Table(_) => found.and_then(Float::of_dtype),
            TensorSource::Block(_) => None,
        };
        let float = float.unwrap_or(Float::F32);
        let (at, _) = self.tensor(&tensor.name, dtype(Some(float)), Some(tensor.numbers))?;
        Ok(Tensor {
            at,
            float,
            ..tensor
        })
    }

    /// The span of a tensor, if there is one of this name.
    pub fn span(&self, name: &str) -> Option<TensorSpan> {
        let found = self.tensors.info(name)?;
        let float = Float::of_dtype(found.dtype);
        // Reading the header has checked this for overflow.
        let count: usize = found.shape.iter().product();
        let is_known = float.is_some() || found.dtype == Dtype::U8;
        is_known.then(|| TensorSpan {
            tensor: name.to_owned(),
            float,
            count: count as u64,
            at: self.data + found.data_offsets.0 as u64,
        })
    }

    /// The same, if it has this type and count.
    ///
    /// # Errors
    /// When there is none, or it has another type or count.
    pub fn span_of(
        &self,
        name: &str,
        float: Option<Float>,
        count: u64,
    ) -> Result<TensorSpan, NativeError> {
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        let (at, numbers) = self.tensor(name, dtype(float), Some(count))?;
        Ok(TensorSpan {
            tensor: name.to_owned(),
            float,
            count: numbers as u64,
            at,
        })
    }

    /// The offset of a tensor and its number of values, which is checked against `count` if that is
    /// given.
    pub(super) fn tensor(
        &self,
        name: &str,
        dtype: Dtype,
        numbers: Option<usize>,
    ) -> Result<(u64, usize), NativeError> {
        let Some(found) = self.tensors.info(name) else {
            return Err(NativeError::NoTable(name.to_owned()));
        };
        // Reading the header has checked this for overflow.
        let count: usize = found.shape.iter().product();
        if found.dtype != dtype || numbers.is_some_and(|numbers| numbers != count) {
            let some = numbers.map(|numbers| format!("{numbers} "));
            return Err(NativeError::Table {
                table: name.to_owned(),
                found: format!("{:?} numbers of type {:?}", found.shape, found.dtype),
                expected: format!("{}numbers of type {dtype:?}", some.unwrap_or_default()),
            });
        }
        Ok((self.data + found.data_offsets.0 as u64, count))
    }
}

fn dtype(float: Option<Float>) -> Dtype {
    match float {
        Some(Float::F16) => Dtype::F16,
        Some(Float::F32) => Dtype::F32,
        Some(Float::F64) => Dtype::F64,
        None => Dtype::U8,
    }
}

/// Fills a new network from the bytes of a file sequentially; [`Header`] is for callers that read
/// several pieces in parallel.
///
/// # Errors
/// When a table is missing, has the wrong size, or holds something that is not a number.
pub fn read<C: WeightCell>(
    bytes: &[u8],
    network: &WeightTables<C>,
    keep: StoredParts,
) -> Result<(), NativeError> {
    let header = Header::read(&mut &bytes[..], bytes.len() as u64)?;
    let (layout, sums) = (header.layout(network, keep)?, header.sums());
    let mut buffer = Buffer::default();
    for piece in layout.pieces(network) {
        piece.import(network, &mut buffer, |span: &mut [u8], at: u64| {
            // The header was checked against these bytes, so all offsets are within them.
            (&bytes[at as usize..]).read_exact(span)?;
            sums.iter().for_each(|sums| sums.add(span, at));
            Ok(())
        })?;
    }
    header.verify(sums.as_ref(), layout.names())
}
