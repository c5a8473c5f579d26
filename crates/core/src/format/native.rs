//! Our own models: safetensors, which numpy, PyTorch and many others open without us.
//!
//! A tensor a table, named by its pattern (`012345`), of 16^n little-endian f32: the weight of
//! tiles d0, d1, ... in the pattern's cells stands at d0 + 16 d1 + 256 d2 + ... A checkpoint of TC
//! also has `012345.e` and `012345.a`. The metadata is flat text; its keys are in docs/formats/native.md.
//!
//! The header is written here, not by the safetensors crate, whose unordered metadata would make two
//! equal models differ in their bytes. Reading and its checks are the crate's.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};

use safetensors::{Dtype, SafeTensorError, SafeTensors};
use serde_json::{Value as Json, json};
use thiserror::Error;

use crate::ntuple::{Pattern, Tables, TupleSet, Weight};

/// Flat text about a model.
pub type Metadata = BTreeMap<String, String>;

/// What is wrong with a file, or with what should become one.
#[derive(Debug, Error)]
pub enum NativeError {
    /// Not safetensors, truncated, or with an inconsistent header.
    #[error("not a readable safetensors file: {0}")]
    Safetensors(#[from] SafeTensorError),
    /// A safetensors file of somebody else's.
    #[error("the file has no metadata `{0}`; it is not a model of Afterstate")]
    Foreign(&'static str),
    /// A table is missing.
    #[error("the file has no tensor `{0}`")]
    NoTable(String),
    /// A table has another size than its pattern asks for.
    #[error("tensor `{table}` holds {found}; expected {expected} numbers of type F32")]
    Table {
        /// Its name.
        table: String,
        /// Shape and type as found.
        found: String,
        /// How many numbers it should hold.
        expected: usize,
    },
    /// A weight that is not a number.
    #[error("weight {index} of tensor `{table}` is {found}, not a finite number")]
    NotFinite {
        /// The tensor.
        table: String,
        /// The place in it.
        index: usize,
        /// NaN or an infinity.
        found: f32,
    },
    /// Writing failed.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// How many numbers of each weight a file keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// What playing needs.
    Weights,
    /// What learning needs, too: the sums of TC.
    Everything,
}

impl Keep {
    fn parts<W: Weight>(self) -> &'static [&'static str] {
        match self {
            Self::Weights => &W::PARTS[..1],
            Self::Everything => W::PARTS,
        }
    }
}

/// Writes a network; the same network and metadata always give the same bytes.
///
/// # Errors
/// When writing fails, or at a weight that is not finite: such a network is not worth keeping.
pub fn write<W: Weight>(
    network: &Tables<W>,
    metadata: &Metadata,
    keep: Keep,
    out: &mut impl Write,
) -> Result<(), NativeError> {
    let parts = keep.parts::<W>();
    let header = header(network.tuples(), metadata, parts);
    out.write_all(&(header.len() as u64).to_le_bytes())?;
    out.write_all(header.as_bytes())?;

    let mut buffer = Vec::with_capacity(1 << 16);
    for (tuple, pattern) in network.tuples().patterns().iter().enumerate() {
        for (part, suffix) in parts.iter().enumerate() {
            for n in 0..pattern.weights().div_ceil(1 << 14) {
                buffer.clear();
                let mut weights = vec![0f32; (1 << 14).min(pattern.weights())];
                network.export(tuple, part, n << 14, &mut weights);
                for (k, found) in weights.into_iter().enumerate() {
                    if !found.is_finite() {
                        let table = format!("{pattern}{suffix}");
                        return Err(NativeError::NotFinite {
                            table,
                            index: (n << 14) + k,
                            found,
                        });
                    }
                    buffer.extend_from_slice(&found.to_le_bytes());
                }
                out.write_all(&buffer)?;
            }
        }
    }
    Ok(())
}

/// The JSON header, padded so that the first tensor starts at a multiple of 4096 bytes: whole pages
/// of zeros can then be left out as holes by a writer that knows how.
fn header(tuples: &TupleSet, metadata: &Metadata, parts: &[&str]) -> String {
    let mut entries = serde_json::Map::new();
    entries.insert("__metadata__".to_owned(), json!(metadata));
    let mut start = 0;
    for pattern in tuples.patterns() {
        for part in parts {
            let end = start + 4 * pattern.weights();
            let entry = json!({ "dtype": "F32", "shape": [pattern.weights()], "data_offsets": [start, end] });
            entries.insert(format!("{pattern}{part}"), entry);
            start = end;
        }
    }
    let mut text = Json::Object(entries).to_string();
    let padded = (text.len() + 8).next_multiple_of(4096) - 8;
    text.extend(std::iter::repeat_n(' ', padded - text.len()));
    text
}

/// The metadata of a model, after the header has been checked against the size of the file.
///
/// # Errors
/// When the bytes are not safetensors, or not ours.
pub fn read_metadata(bytes: &[u8]) -> Result<Metadata, NativeError> {
    let (_, header) = SafeTensors::read_metadata(bytes)?;
    SafeTensors::deserialize(bytes)?;
    let metadata = header
        .metadata()
        .as_ref()
        .ok_or(NativeError::Foreign("afterstate"))?;
    if !metadata.contains_key("afterstate") {
        return Err(NativeError::Foreign("afterstate"));
    }
    Ok(metadata
        .iter()
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect())
}

/// The metadata from the beginning of a file, without a look at the rest; `None` if there is none.
pub fn peek_metadata(file: &mut impl Read) -> Option<Metadata> {
    let mut length = [0; 8];
    file.read_exact(&mut length).ok()?;
    let length = u64::from_le_bytes(length).min(1 << 20);
    let mut header = Vec::new();
    file.take(length).read_to_end(&mut header).ok()?;
    let header: Json = serde_json::from_slice(&header).ok()?;
    let entries = header.get("__metadata__")?.as_object()?.iter();
    Some(
        entries
            .filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned())))
            .collect(),
    )
}

/// Fills a new network from a file. Zeros are skipped: they are there already, and writing them
/// would only take up memory.
///
/// # Errors
/// When a table is missing, has the wrong size, or holds something that is not a number.
pub fn read<W: Weight>(bytes: &[u8], network: &Tables<W>, keep: Keep) -> Result<(), NativeError> {
    let tensors = SafeTensors::deserialize(bytes)?;
    for (tuple, pattern) in network.tuples().patterns().iter().enumerate() {
        for (part, suffix) in keep.parts::<W>().iter().enumerate() {
            read_table(&tensors, pattern, suffix, network, tuple, part)?;
        }
    }
    Ok(())
}

fn read_table<W: Weight>(
    tensors: &SafeTensors<'_>,
    pattern: &Pattern,
    suffix: &str,
    network: &Tables<W>,
    tuple: usize,
    part: usize,
) -> Result<(), NativeError> {
    let name = format!("{pattern}{suffix}");
    let tensor = tensors
        .tensor(&name)
        .map_err(|_| NativeError::NoTable(name.clone()))?;
    let numbers: usize = tensor.shape().iter().product();
    if tensor.dtype() != Dtype::F32 || numbers != pattern.weights() {
        let found = format!("{:?} numbers of type {:?}", tensor.shape(), tensor.dtype());
        return Err(NativeError::Table {
            table: name,
            found,
            expected: pattern.weights(),
        });
    }
    let (values, _) = tensor.data().as_chunks::<4>();
    for (index, value) in values.iter().enumerate() {
        let found = f32::from_le_bytes(*value);
        if !found.is_finite() {
            return Err(NativeError::NotFinite {
                table: name,
                index,
                found,
            });
        }
        if found != 0.0 {
            network.import(tuple, part, index, &[found]);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::game::{Board, Shape};
    use crate::ntuple::{Coherent, Indices, Network, Plain};
    use proptest::prelude::*;

    fn tuples() -> TupleSet {
        TupleSet::parse("0123 45", Shape::FOUR, true).unwrap()
    }

    fn trained() -> Tables<Coherent> {
        let network = Tables::new(&tuples(), 0.0).unwrap();
        let mut at = Indices::default();
        for (n, target) in [3.0, -5.0, 7.0].into_iter().enumerate() {
            let board = Board::from_packed(0x1234_5678_0000_1111 << n);
            network.find([board; 4], &mut at);
            network.update(board, &mut at, 0, target, 0.5);
        }
        network
    }

    fn file(keep: Keep) -> Vec<u8> {
        let metadata = Metadata::from([
            ("afterstate".into(), "1".into()),
            ("game".into(), "2048".into()),
        ]);
        let mut bytes = Vec::new();
        write(&trained(), &metadata, keep, &mut bytes).unwrap();
        bytes
    }

    fn parts<W: Weight>(network: &Tables<W>) -> Vec<u32> {
        let mut bits = Vec::new();
        for (tuple, pattern) in network.tuples().patterns().iter().enumerate() {
            for part in 0..W::PARTS.len() {
                let mut numbers = vec![0.0; pattern.weights()];
                network.export(tuple, part, 0, &mut numbers);
                bits.extend(numbers.into_iter().map(f32::to_bits));
            }
        }
        bits
    }

    #[test]
    fn there_and_back() {
        let bytes = file(Keep::Everything);
        assert_eq!(read_metadata(&bytes).unwrap()["game"], "2048");
        assert_eq!(peek_metadata(&mut &bytes[..]), read_metadata(&bytes).ok());
        assert_eq!(peek_metadata(&mut &bytes[..100]), None);
        let network: Tables<Coherent> = Tables::new(&tuples(), 0.0).unwrap();
        read(&bytes, &network, Keep::Everything).unwrap();
        assert_eq!(parts(&network), parts(&trained()));
        assert_eq!(bytes, file(Keep::Everything), "the same bytes every time");
    }

    #[test]
    fn a_player_needs_no_sums() {
        let bytes = file(Keep::Weights);
        let network: Tables<Plain> = Tables::new(&tuples(), 0.0).unwrap();
        read(&bytes, &network, Keep::Weights).unwrap();
        let board = Board::from_packed(0x1234_5678_0000_1111);
        assert_eq!(network.value(board), trained().value(board));
        let learner: Tables<Coherent> = Tables::new(&tuples(), 0.0).unwrap();
        let missing = read(&bytes, &learner, Keep::Everything).unwrap_err();
        assert!(matches!(missing, NativeError::NoTable(name) if name == "0123.e"));
    }

    #[test]
    fn wrong_tables_are_named() {
        let bytes = file(Keep::Weights);
        let other = TupleSet::parse("0123 4567", Shape::FOUR, true).unwrap();
        let network: Tables<Plain> = Tables::new(&other, 0.0).unwrap();
        let missing = read(&bytes, &network, Keep::Weights).unwrap_err();
        assert!(matches!(missing, NativeError::NoTable(name) if name == "4567"));
    }

    #[test]
    fn a_nan_is_neither_written_nor_read() {
        let network = trained();
        network.import(1, 0, 7, &[f32::NAN]);
        let broken = write(&network, &Metadata::new(), Keep::Weights, &mut Vec::new()).unwrap_err();
        assert!(matches!(broken, NativeError::NotFinite { table, index: 7, .. } if table == "45"));

        let mut bytes = file(Keep::Weights);
        let end = bytes.len();
        bytes[end - 4..].copy_from_slice(&f32::INFINITY.to_le_bytes());
        let network: Tables<Plain> = Tables::new(&tuples(), 0.0).unwrap();
        assert!(matches!(
            read(&bytes, &network, Keep::Weights),
            Err(NativeError::NotFinite { index: 255, .. })
        ));
    }

    #[test]
    fn every_truncation_is_an_error() {
        let bytes = file(Keep::Weights);
        for end in (0..5000).chain((5000..bytes.len()).step_by(997)) {
            assert!(read_metadata(&bytes[..end]).is_err(), "{end} bytes");
        }
    }

    proptest! {
        #[test]
        fn garbage_is_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..4096)) {
            prop_assert!(read_metadata(&bytes).is_err());
        }

        #[test]
        fn damage_never_panics(place in 0usize..5000, byte: u8) {
            let mut bytes = file(Keep::Weights);
            bytes[place] = byte;
            if read_metadata(&bytes).is_ok() {
                let network: Tables<Plain> = Tables::new(&tuples(), 0.0).unwrap();
                let _ = read(&bytes, &network, Keep::Weights);
            }
        }
    }
}
