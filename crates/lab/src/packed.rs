//! Tables of packed models, from a file or from the program itself, decoded on all cores.

use std::borrow::Cow;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};

use afterstate::format::native::{Metadata, NativeError};
use afterstate::format::packed::{self, PackedError, PackedHeader, SparseTable};
use afterstate::ntuple::{WeightCell, WeightTables};

use crate::memory::MemoryBudget;
use crate::share::{threads, try_share};

/// A packed model whose header is read.
pub struct PackedTables {
    header: PackedHeader,
    bytes: Cow<'static, [u8]>,
}

impl PackedTables {
    /// Reads a file of this size and verifies its checksum.
    ///
    /// # Errors
    /// When it cannot be read, is damaged, or is longer or shorter than it says.
    pub(crate) fn read(file: &mut File, size: u64) -> Result<Self, NativeError> {
        let mut start = Vec::new();
        file.take(packed::START as u64).read_to_end(&mut start)?;
        let expected = packed::file_length(&start).ok_or(PackedError::Magic)??;
        if size != expected {
            return Err(PackedError::Length {
                expected,
                found: size,
            }
            .into());
        }
        file.seek(SeekFrom::Start(0))?;
        // At most 1 GiB, and no more than the file has.
        let mut bytes = Vec::with_capacity(expected as usize);
        file.take(expected).read_to_end(&mut bytes)?;
        Self::of_bytes(Cow::Owned(bytes))
    }

    /// The same for bytes in memory.
    ///
    /// # Errors
    /// When they are damaged.
    pub(crate) fn of_bytes(bytes: Cow<'static, [u8]>) -> Result<Self, NativeError> {
        let header = PackedHeader::read(&bytes)?;
        Ok(Self { header, bytes })
    }

    /// The metadata.
    pub(crate) fn metadata(&self) -> &Metadata {
        self.header.metadata()
    }

    /// Fills new tables: those of the first `banks` banks.
    ///
    /// # Errors
    /// When a table is missing or damaged, has the wrong size, or needs more memory than is free.
    pub(crate) fn read_into<C: WeightCell>(
        &self,
        tables: &WeightTables<C>,
        banks: usize,
    ) -> Result<(), NativeError> {
        let tuples = tables.tuples();
        let named = tuples.tables().take(banks * tuples.patterns().len());
        let numbers = named.map(|(name, weights)| self.header.table(&name, weights as u64));
        let numbers: Vec<usize> = numbers.collect::<Result<_, _>>()?;
        self.decode_all(&numbers, |tuple, table| {
            let weight = |block, number| table.weight(block, number);
            tables.import_masked(tuple, table.masks(), weight);
        })
    }

    /// Decodes all tables.
    ///
    /// # Errors
    /// When one is damaged, or needs more memory than is free.
    pub(crate) fn verify(&self) -> Result<(), NativeError> {
        let numbers: Vec<usize> = (0..self.header.tables().len()).collect();
        self.decode_all(&numbers, |_, _| {})
    }

    /// Decodes tables by their numbers, and visits each with its place in the list.
    fn decode_all(
        &self,
        numbers: &[usize],
        visit: impl Fn(usize, &SparseTable) + Sync,
    ) -> Result<(), NativeError> {
        let budget = MemoryBudget::process();
        try_share(threads(0), numbers.len(), || {
            let visit = &visit;
            let budget = budget.clone();
            move |place| {
                let entry = &self.header.tables()[numbers[place]];
                let reserved = budget.reserve(entry.memory());
                let reserved = reserved.map_err(|over| {
                    NativeError::Io(std::io::Error::new(
                        std::io::ErrorKind::OutOfMemory,
                        format!(
                            "decoding table `{}` needs {} bytes of memory, and {} are free",
                            entry.name, over.needed, over.available
                        ),
                    ))
                })?;
                let table = self.header.decode(&self.bytes, numbers[place])?;
                visit(place, &table);
                drop((table, reserved));
                Ok(())
            }
        })
    }
}
