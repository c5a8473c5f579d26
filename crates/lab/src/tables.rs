//! Reading and writing tables, in pieces on every core, without a second copy in memory.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use afterstate::format::floats::Float;
use afterstate::format::foreign::TensorSpan;
use afterstate::format::native::{
    self, Buffer, Header, Metadata, NativeError, Piece, RawTensor, StoredParts, TensorLayout,
};
use afterstate::ntuple::{WeightCell, WeightTables};

use crate::LabError;
use crate::disk::{AtomicFile, SharedFile};
use crate::packed::PackedTables;
use crate::share::{threads, try_share};

/// Writes a temporary file, which the caller commits. A draft that was written before is
/// overwritten.
///
/// # Errors
/// When it cannot be written, or at the first weight that is not finite.
#[cfg(test)]
pub(crate) fn write<C: WeightCell>(
    tables: &WeightTables<C>,
    metadata: &Metadata,
    keep: StoredParts,
    output: &AtomicFile,
    threads: usize,
) -> Result<(), NativeError> {
    write_with(tables, metadata, keep, &[], output, threads)
}

/// The same with further tensors.
pub(crate) fn write_with<C: WeightCell>(
    tables: &WeightTables<C>,
    metadata: &Metadata,
    keep: StoredParts,
    further: &[RawTensor],
    output: &AtomicFile,
    threads: usize,
) -> Result<(), NativeError> {
    let (header, layout, places) = native::lay_out_with(tables, metadata, keep, further);
    let bytes: usize = further.iter().map(|raw| raw.bytes().len()).sum();
    output.write_header(header.draft(), layout.end() + bytes as u64)?;
    let put = |bytes: &[u8], at| {
        // While the bytes are in the cache.
        header.sums().add(bytes, at);
        output.write_at(bytes, at)
    };
    for (raw, &at) in further.iter().zip(&places) {
        put(raw.bytes(), at)?;
    }
    carry(&layout.pieces(tables), threads, |piece, buffer| {
        piece.export(tables, buffer, put)
    })?;
    Ok(output.write_at(&header.finish(), 0)?)
}

/// Tables in an open file.
pub struct StoredTables {
    places: TableOffsets,
    /// The tables of each tuple that it has, if a network that reads it has more.
    banks: Option<usize>,
}

/// Where they are.
enum TableOffsets {
    /// In a model or a checkpoint: as its header says.
    Ours(SharedFile, Header),
    /// In a file of another program: the float type and the offset of each table.
    Theirs(SharedFile, Vec<(Float, u64)>),
    /// In a packed model.
    Packed(PackedTables),
}

/// The metadata of a file of another program.
static NO_METADATA: Metadata = Metadata::new();

impl StoredTables {
    /// Opens a file and checks its header.
    ///
    /// # Errors
    /// When it cannot be read, is damaged, or is not one of ours.
    pub(crate) fn open(path: &Path) -> Result<Self, LabError> {
        let (mut file, size) = open(path).map_err(LabError::file("read", path))?;
        let header = Header::read(&mut file, size).map_err(LabError::model("read", path))?;
        Ok(Self {
            places: TableOffsets::Ours(SharedFile::new(file), header),
            banks: None,
        })
    }

    /// Tables in a file of another program: the float type and the offset of each.
    pub(crate) fn of_theirs(file: File, places: Vec<(Float, u64)>) -> Self {
        Self {
            places: TableOffsets::Theirs(SharedFile::new(file), places),
            banks: None,
        }
    }

    /// A packed model.
    pub(crate) fn of_packed(packed: PackedTables) -> Self {
        Self {
            places: TableOffsets::Packed(packed),
            banks: None,
        }
    }

    /// Whether it is a packed model.
    pub(crate) fn is_packed(&self) -> bool {
        matches!(self.places, TableOffsets::Packed(_))
    }

    /// Says how many tables of each tuple it has, so that a network with more can read them as its
    /// first ones.
    pub(crate) fn set_banks(&mut self, banks: usize) {
        self.banks = Some(banks);
    }

    /// The metadata.
    pub(crate) fn metadata(&self) -> &Metadata {
        match &self.places {
            TableOffsets::Ours(_, header) => header.metadata(),
            TableOffsets::Theirs(..) => &NO_METADATA,
            TableOffsets::Packed(packed) => packed.metadata(),
        }
    }

    /// The span of a tensor, if there is one of this name.
    pub(crate) fn span(&self, name: &str) -> Option<TensorSpan> {
        match &self.places {
            TableOffsets::Ours(_, header) => header.span(name),
            TableOffsets::Theirs(..) | TableOffsets::Packed(_) => None,
        }
    }

    /// The same, if it has this type and count.
    pub(crate) fn span_of(
        &self,
        name: &str,
        float: Option<Float>,
        count: u64,
    ) -> Result<TensorSpan, NativeError> {
        match &self.places {
            TableOffsets::Ours(_, header) => header.span_of(name, float, count),
            TableOffsets::Theirs(..) | TableOffsets::Packed(_) => {
                Err(NativeError::NoTable(name.to_owned()))
            }
        }
    }

    /// Whether there is an f32 tensor of this shape.
    ///
    /// # Errors
    /// When there is none, or its shape differs.
    #[cfg(feature = "deep")]
    pub(crate) fn check_shape(&self, name: &str, shape: &[usize]) -> Result<(), NativeError> {
        let count = shape.iter().product::<usize>() as u64;
        self.span_of(name, Some(Float::F32), count)?;
        let found = match &self.places {
            TableOffsets::Ours(_, header) => header.shape(name),
            TableOffsets::Theirs(..) | TableOffsets::Packed(_) => None,
        };
        if found == Some(shape) {
            return Ok(());
        }
        Err(NativeError::Table {
            table: name.to_owned(),
            found: format!("numbers of the shape {:?}", found.unwrap_or_default()),
            expected: format!("{shape:?}"),
        })
    }

    /// All numbers of an f32 tensor.
    ///
    /// # Errors
    /// When there is no such tensor of this size, or a number is not finite.
    #[cfg(feature = "deep")]
    pub(crate) fn numbers(&self, name: &str, count: usize) -> Result<Vec<f32>, NativeError> {
        let run = self.span_of(name, Some(Float::F32), count as u64)?;
        let mut bytes = vec![0; 4 * count];
        self.read_at(&mut bytes, run.at)?;
        self.verify_tensor(name, &bytes)?;
        let numbers = bytes
            .as_chunks()
            .0
            .iter()
            .map(|four| f32::from_le_bytes(*four));
        let numbers: Vec<f32> = numbers.collect();
        match numbers.iter().position(|number| !number.is_finite()) {
            Some(index) => Err(NativeError::NotFinite {
                table: name.to_owned(),
                index,
                found: numbers[index],
            }),
            None => Ok(numbers),
        }
    }

    /// All bytes of a tensor of any type.
    ///
    /// # Errors
    /// When there is no such tensor, or it cannot be read.
    pub(crate) fn bytes(&self, name: &str) -> Result<Vec<u8>, NativeError> {
        let (at, count) = match &self.places {
            TableOffsets::Ours(_, header) => header.bytes_of(name)?,
            TableOffsets::Theirs(..) | TableOffsets::Packed(_) => {
                return Err(NativeError::NoTable(name.to_owned()));
            }
        };
        // Within the file: its size was checked against the header.
        let mut bytes = vec![0; count as usize];
        self.read_at(&mut bytes, at)?;
        self.verify_tensor(name, &bytes)?;
        Ok(bytes)
    }

    fn verify_tensor(&self, name: &str, bytes: &[u8]) -> Result<(), NativeError> {
        match &self.places {
            TableOffsets::Ours(_, header) => header.verify_tensor(name, bytes),
            TableOffsets::Theirs(..) | TableOffsets::Packed(_) => Ok(()),
        }
    }

    /// Reads bytes at an offset of the file.
    fn read_at(&self, bytes: &mut [u8], at: u64) -> io::Result<()> {
        match &self.places {
            TableOffsets::Ours(file, _) | TableOffsets::Theirs(file, _) => file.read_at(bytes, at),
            TableOffsets::Packed(_) => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    /// Whether it is one of our files, but without checksums: an earlier version wrote it.
    pub(crate) fn lacks_checksums(&self) -> bool {
        matches!(&self.places, TableOffsets::Ours(_, header) if !header.has_checksums())
    }

    /// Reads the whole file and compares it with its checksums, if it has any.
    ///
    /// # Errors
    /// When it cannot be read, or at the first piece that is damaged.
    pub(crate) fn verify(&self) -> Result<(), NativeError> {
        match &self.places {
            TableOffsets::Ours(file, header) => verify(file, header),
            TableOffsets::Theirs(..) => Ok(()),
            TableOffsets::Packed(packed) => packed.verify(),
        }
    }

    /// The file alone; a packed model has none, since nothing is at an offset of it.
    pub(crate) fn into_file(self) -> Option<SharedFile> {
        match self.places {
            TableOffsets::Ours(file, _) | TableOffsets::Theirs(file, _) => Some(file),
            TableOffsets::Packed(_) => None,
        }
    }

    /// Fills new tables.
    ///
    /// # Errors
    /// When a table is missing, has the wrong size, or holds a number that is not finite.
    pub(crate) fn read<C: WeightCell>(
        &self,
        tables: &WeightTables<C>,
        keep: StoredParts,
    ) -> Result<(), NativeError> {
        let (file, layout, header) = match &self.places {
            TableOffsets::Ours(file, header) => {
                let banks = self.banks.unwrap_or(tables.tuples().banks());
                let layout = header.layout_of_banks(tables, keep, banks)?;
                (file, layout, Some(header))
            }
            TableOffsets::Theirs(file, places) => {
                (file, TensorLayout::of_tables(tables, places), None)
            }
            TableOffsets::Packed(packed) => {
                let banks = self.banks.unwrap_or(tables.tuples().banks());
                return packed.read_into(tables, banks);
            }
        };
        let sums = header.and_then(Header::sums);
        carry(&layout.pieces(tables), threads(0), |piece, buffer| {
            piece.import(tables, buffer, |bytes, at| {
                file.read_at(bytes, at)?;
                sums.iter().for_each(|sums| sums.add(bytes, at));
                Ok(())
            })
        })?;
        header.map_or(Ok(()), |header| {
            header.verify(sums.as_ref(), layout.names())
        })
    }
}

/// Reads a whole file on all cores and compares it with its checksums, if it has any.
///
/// # Errors
/// When it cannot be read, or at the first piece that is damaged.
pub(crate) fn verify(file: &SharedFile, header: &Header) -> Result<(), NativeError> {
    let (pieces, sums) = (header.checked_pieces(), header.sums());
    try_share(threads(0), pieces.len(), || {
        let (pieces, sums) = (&pieces, &sums);
        let mut bytes = Vec::new();
        move |number| {
            let (at, length) = pieces[number];
            bytes.resize(length, 0);
            file.read_at(&mut bytes, at)?;
            sums.iter().for_each(|sums| sums.add(&bytes, at));
            Ok::<_, NativeError>(())
        }
    })?;
    header.verify_all(sums.as_ref())
}

/// Opens a file and returns its size. Devices and pipes have none, and opening a pipe would block
/// forever.
pub(crate) fn open(path: &Path) -> io::Result<(File, u64)> {
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let file = File::open(path)?;
    let size = file.metadata()?.len();
    Ok((file, size))
}

fn carry(
    pieces: &[Piece<'_>],
    threads: usize,
    one: impl Fn(&Piece<'_>, &mut Buffer) -> Result<(), NativeError> + Sync,
) -> Result<(), NativeError> {
    try_share(threads, pieces.len(), || {
        let mut buffer = Buffer::default();
        let one = &one;
        move |number| one(&pieces[number], &mut buffer)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use afterstate::game::Shape;
    use afterstate::ntuple::{AtomicF32, NetworkOptions, TupleSet, WeightPart};

    /// Ten pieces with some numbers, most of them zeros.
    fn new(tuples: &TupleSet, initial_value: f32) -> WeightTables {
        let options = NetworkOptions {
            initial_value,
            coherence: true,
            ..NetworkOptions::default()
        };
        WeightTables::<AtomicF32>::new(tuples, &options).unwrap()
    }

    const PARTS: [WeightPart; 3] = [
        WeightPart::Weight,
        WeightPart::ErrorSum,
        WeightPart::AbsoluteSum,
    ];

    fn network() -> WeightTables {
        let tuples = TupleSet::parse("12 01234 45679 567", Shape::FOUR, true).unwrap();
        let network = new(&tuples, 0.0);
        for n in 0..500 {
            let values: Vec<f32> = (0..n).map(|k| (n * k) as f32 / 8.0).collect();
            network.import(1 + n % 2, PARTS[n % 3], n * 2000, &values);
        }
        network.import(3, WeightPart::Weight, 4095, &[5.0]);
        network
    }

    fn bytes(network: &WeightTables) -> Vec<u8> {
        let mut bytes = Vec::new();
        native::write(network, &about(), StoredParts::Everything, &mut bytes).unwrap();
        bytes
    }

    fn about() -> Metadata {
        Metadata::from([("afterstate".to_owned(), "1".to_owned())])
    }

    #[test]
    fn many_threads_write_and_read_the_same_as_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model");
        let output = AtomicFile::create(&path).unwrap();
        write(&network(), &about(), StoredParts::Everything, &output, 3).unwrap();
        output.commit().unwrap();
        assert!(fs::read(&path).unwrap() == bytes(&network()));

        let copy = new(network().tuples(), 0.0);
        let saved = StoredTables::open(&path).unwrap();
        assert_eq!(saved.metadata()["afterstate"], "1");
        saved.read(&copy, StoredParts::Everything).unwrap();
        assert!(bytes(&copy) == bytes(&network()));
    }

    #[test]
    fn nothing_of_a_draft_remains() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model");
        let other = new(network().tuples(), 3.5);
        for length in [0, 5000, 50_000] {
            // Also one whose header is longer by pages.
            let mut metadata = about();
            metadata.insert("long".to_owned(), "x".repeat(length));
            let output = AtomicFile::create(&path).unwrap();
            write(&other, &metadata, StoredParts::Everything, &output, 1).unwrap();
            write(&network(), &about(), StoredParts::Everything, &output, 3).unwrap();
            output.commit().unwrap();
            assert!(fs::read(&path).unwrap() == bytes(&network()));

            // Or shorter.
            let output = AtomicFile::create(&path).unwrap();
            write(&network(), &about(), StoredParts::Everything, &output, 1).unwrap();
            write(&other, &metadata, StoredParts::Everything, &output, 3).unwrap();
            output.commit().unwrap();
            let mut expected = Vec::new();
            native::write(&other, &metadata, StoredParts::Everything, &mut expected).unwrap();
            assert!(fs::read(&path).unwrap() == expected);
        }
    }

    #[test]
    fn the_first_of_several_non_finite_numbers_is_reported() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model");
        let network = network();
        network.import(1, WeightPart::AbsoluteSum, 7, &[f32::INFINITY]);
        network.import(1, WeightPart::Weight, 300_000, &[f32::NAN]);
        network.import(2, WeightPart::Weight, 7, &[f32::NAN]);
        let output = AtomicFile::create(&path).unwrap();
        let broken = write(&network, &about(), StoredParts::Weights, &output, 3).unwrap_err();
        assert!(
            matches!(broken, NativeError::NotFinite { table, index: 300_000, .. } if table == "01234")
        );
        let broken = write(&network, &about(), StoredParts::Everything, &output, 3).unwrap_err();
        assert!(matches!(broken, NativeError::NotFinite { table, .. } if table == "cells"));
        drop(output);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_file_truncated_after_its_header_was_read_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model");
        fs::write(&path, bytes(&network())).unwrap();
        let saved = StoredTables::open(&path).unwrap();
        File::options()
            .write(true)
            .open(&path)
            .unwrap()
            .set_len(100_000)
            .unwrap();
        let copy = new(network().tuples(), 0.0);
        assert!(matches!(
            saved.read(&copy, StoredParts::Everything),
            Err(NativeError::Io(_))
        ));
        assert!(matches!(
            StoredTables::open(&path),
            Err(LabError::Model { .. })
        ));
    }

    /// One bit in each of many places: the header with its padding, and every tensor.
    #[test]
    fn every_flipped_bit_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model.safetensors");
        let tuples = TupleSet::parse("01 12 0123", Shape::FOUR, true).unwrap();
        let network = new(&tuples, 0.0);
        for table in 0..3 {
            network.import(table, WeightPart::Weight, 7, &[1.5, -2.0, 0.25]);
        }
        let further = [RawTensor::u8("replay.more", &[5000], &[3; 5000])];
        for keep in [StoredParts::Weights, StoredParts::Everything] {
            let output = AtomicFile::create(&path).unwrap();
            write_with(&network, &about(), keep, &further, &output, 2).unwrap();
            output.commit().unwrap();
            let good = fs::read(&path).unwrap();
            let opened = || {
                let saved = StoredTables::open(&path)?;
                assert!(!saved.lacks_checksums());
                let read = saved.read(&new(&tuples, 0.0), keep);
                read.map_err(LabError::model("read", &path))?;
                let more = saved.bytes("replay.more");
                more.map_err(LabError::model("read", &path)).map(drop)?;
                Ok::<_, LabError>(saved)
            };
            opened().unwrap().verify().unwrap();
            let header = 8 + u64::from_le_bytes(*good.first_chunk().unwrap()) as usize;
            // A linear congruential generator.
            let mut state = 1_u64;
            let mut below = |end: usize| {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                ((state >> 33) % end as u64) as usize
            };
            for number in 0..600 {
                let at = match number % 2 {
                    0 => below(header),
                    _ => header + below(good.len() - header),
                };
                let mut bad = good.clone();
                bad[at] ^= 1 << below(8);
                fs::write(&path, bad).unwrap();
                assert!(opened().is_err(), "{keep:?}: byte {at} of {}", good.len());
                if at >= header {
                    let found = StoredTables::open(&path).unwrap().verify().unwrap_err();
                    let NativeError::Damaged { from, to, .. } = found else {
                        panic!("{found}");
                    };
                    assert!((from..to).contains(&(at as u64)), "{at}: {from} to {to}");
                }
            }
        }
    }

    /// The pause of a checkpoint of 4x6 with TC over its draft, with checksums and without. Run with
    /// `--release --run-ignored only`.
    #[test]
    #[ignore = "a measurement that needs 2 GiB"]
    fn the_pause_with_and_without_checksums() {
        let folder = tempfile::tempdir_in(".").unwrap();
        let path = folder.path().join("checkpoint");
        let tuples = "012345 456789 012456 45689a";
        let tuples = TupleSet::parse(tuples, Shape::FOUR, true).unwrap();
        let network = new(&tuples, 320_000.0);
        let output = AtomicFile::create(&path).unwrap();
        write(&network, &about(), StoredParts::Everything, &output, 2).unwrap();
        let (_, layout) = native::lay_out(&network, &about(), StoredParts::Everything);
        let mut times = [const { Vec::new() }; 2];
        for number in 0..20 {
            let start = std::time::Instant::now();
            match number % 2 {
                0 => carry(&layout.pieces(&network), threads(0), |piece, buffer| {
                    piece.export(&network, buffer, |bytes, at| output.write_at(bytes, at))
                })
                .unwrap(),
                _ => write(
                    &network,
                    &about(),
                    StoredParts::Everything,
                    &output,
                    threads(0),
                )
                .unwrap(),
            }
            times[number % 2].push(start.elapsed().as_secs_f64());
        }
        for (name, times) in ["without", "with"].into_iter().zip(&mut times) {
            times.sort_by(f64::total_cmp);
            println!(
                "{name}: {:.3} s, the fastest of 10; median {:.3} s",
                times[0], times[5]
            );
        }
    }
}
