use std::io;

use serde_json::{Value as Json, json};

use super::entries::LONGEST_HEADER;
use super::*;
use crate::game::{After, Board, Fast2048, POWERS_OF_TWO_SPAWNS, Shape};
use crate::ntuple::Trainable;
use crate::ntuple::{AfterstateNetwork, Indices, NetworkOptions, StateNetwork, Tc, WeightPart};
use proptest::prelude::*;

fn tuples() -> TupleSet {
    TupleSet::parse("0123 45", Shape::FOUR, true).unwrap()
}

/// A network without the sums of TC.
fn plain(tuples: &TupleSet) -> AfterstateNetwork {
    AfterstateNetwork::new(tuples, &NetworkOptions::default()).unwrap()
}

fn coherent(tuples: &TupleSet) -> AfterstateNetwork {
    let options = NetworkOptions {
        coherence: true,
        ..NetworkOptions::default()
    };
    AfterstateNetwork::new(tuples, &options).unwrap()
}

fn trained() -> AfterstateNetwork {
    let network = coherent(&tuples());
    let mut at = Indices::default();
    for (n, target) in [3.0, -5.0, 7.0].into_iter().enumerate() {
        let after = After(Board::from_packed(0x1234_5678_0000_1111 << n));
        Trainable::<Fast2048>::locate_positions(&network, [after; 4], &mut at);
        Trainable::<Fast2048>::update::<Tc>(&network, after, &mut at, 0, target, 0.5);
    }
    network
}

fn metadata() -> Metadata {
    let entries = [("afterstate", "1"), ("game", "2048")];
    entries
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .into()
}

fn file(keep: StoredParts) -> Vec<u8> {
    let mut bytes = Vec::new();
    write(trained().tables(), &metadata(), keep, &mut bytes).unwrap();
    bytes
}

fn read_header(bytes: &[u8]) -> Result<Header, NativeError> {
    Header::read(&mut &bytes[..], bytes.len() as u64)
}

/// A file with this header and `data` bytes of tensors.
fn file_of(header: &Json, data: usize) -> Vec<u8> {
    let text = header.to_string();
    let length = (text.len() as u64).to_le_bytes();
    [&length[..], text.as_bytes(), &vec![0; data]].concat()
}

fn numbers(network: &AfterstateNetwork) -> Vec<u32> {
    let sums = [WeightPart::ErrorSum, WeightPart::AbsoluteSum];
    let sums = sums
        .into_iter()
        .filter(|_| network.tables().has_coherence());
    let parts = [WeightPart::Weight].into_iter().chain(sums);
    parts
        .flat_map(|kind| part(network.tables(), kind))
        .collect()
}

fn part<C: WeightCell>(tables: &WeightTables<C>, part: WeightPart) -> Vec<u32> {
    let export = |(table, (_, weights)): (usize, (String, usize))| {
        let mut values = vec![0.0; weights];
        tables.export(table, part, 0, &mut values);
        values.into_iter().map(f32::to_bits)
    };
    tables
        .tuples()
        .tables()
        .enumerate()
        .flat_map(export)
        .collect()
}

#[test]
fn models_and_checkpoints_are_read_back() {
    for keep in [StoredParts::Weights, StoredParts::Everything] {
        let bytes = file(keep);
        let mut found = read_header(&bytes).unwrap().metadata().clone();
        assert_eq!(peek_metadata(&mut &bytes[..]), Some(found.clone()));
        assert_eq!(peek_metadata(&mut &bytes[..100]), None);
        let order = found.remove(ORDER);
        assert_eq!(
            order,
            (keep == StoredParts::Everything).then(|| trained().tables().order())
        );
        assert_eq!(found, metadata());
        let network = coherent(&tuples());
        read(&bytes, network.tables(), keep).unwrap();
        let weights = |network: &AfterstateNetwork| part(network.tables(), WeightPart::Weight);
        assert_eq!(weights(&network), weights(&trained()));
        assert_eq!(
            numbers(&network) == numbers(&trained()),
            keep == StoredParts::Everything
        );
        assert_eq!(bytes, file(keep), "the same bytes every time");
    }
}

/// A format 1 checkpoint with a replay buffer has megabytes of metadata.
#[test]
fn long_metadata_is_read_completely() {
    let mut metadata = metadata();
    metadata.insert("replay".to_owned(), "x".repeat(3 << 20));
    let mut bytes = Vec::new();
    write(
        trained().tables(),
        &metadata,
        StoredParts::Weights,
        &mut bytes,
    )
    .unwrap();
    assert_eq!(peek_metadata(&mut &bytes[..]), Some(metadata));
}

#[test]
fn pieces_may_be_copied_in_any_order() {
    // Two interleaved tables of several pieces, and one table that is a single piece.
    let tuples = TupleSet::parse("012345 012346 45", Shape::FOUR, true).unwrap();
    let network = plain(&tuples);
    let tables = network.tables();
    for (place, value) in [(0, 1.5), (65_535, 2.5), (65_536, -3.5), (16_777_215, 4.5)] {
        tables.import(0, WeightPart::Weight, place, &[value]);
        tables.import(1, WeightPart::Weight, place, &[value / 2.0]);
    }
    tables.import(2, WeightPart::Weight, 255, &[9.0]);
    let stretches = (1 << 25) / (1 << 14);
    for (keep, count) in [
        (StoredParts::Weights, 16 + 16 + 1),
        (StoredParts::Everything, stretches + 1),
    ] {
        let mut serial = Vec::new();
        write(tables, &metadata(), keep, &mut serial).unwrap();

        let (header, layout) = lay_out(tables, &metadata(), keep);
        let mut bytes = vec![0; layout.end() as usize];
        let mut buffer = Buffer::default();
        let pieces = layout.pieces(tables);
        assert_eq!(pieces.len(), count);
        for piece in pieces.iter().rev() {
            let put = |run: &[u8], at: u64| {
                bytes[at as usize..][..run.len()].copy_from_slice(run);
                header.sums().add(run, at);
                Ok(())
            };
            piece.export(tables, &mut buffer, put).unwrap();
        }
        bytes[..header.length() as usize].copy_from_slice(&header.finish());
        assert!(bytes == serial);

        let header = read_header(&bytes).unwrap();
        let copy = plain(&tuples);
        let found = header.layout(copy.tables(), keep).unwrap();
        assert_eq!(found, layout);
        for piece in found.pieces(copy.tables()).iter().rev() {
            let fill = |run: &mut [u8], at: u64| (&bytes[at as usize..]).read_exact(run);
            piece.import(copy.tables(), &mut buffer, fill).unwrap();
        }
        assert!(numbers(&copy) == numbers(&network));
    }

    tables.import(0, WeightPart::Weight, 200_000, &[f32::NAN]);
    let broken = write(tables, &metadata(), StoredParts::Weights, &mut io::sink()).unwrap_err();
    assert!(
        matches!(broken, NativeError::NotFinite { table, index: 200_000, .. } if table == "012345")
    );
    let broken = write(
        tables,
        &metadata(),
        StoredParts::Everything,
        &mut io::sink(),
    )
    .unwrap_err();
    assert!(matches!(broken, NativeError::NotFinite { table, .. } if table == CELLS));
}

/// The example in docs/formats/native.md.
#[test]
fn the_order_says_where_a_weight_of_a_checkpoint_is() {
    let tuples = TupleSet::parse("0123 45 0124", Shape::FOUR, true).unwrap();
    let network = plain(&tuples);
    let tables = network.tables();
    assert_eq!(tables.order(), "3210+4210 54");
    // Tiles 1, 2, 3, 4 in the cells 0, 1, 2, and 3 or 4.
    tables.import(0, WeightPart::Weight, 0x4321, &[1.0]);
    tables.import(2, WeightPart::Weight, 0x4321, &[2.0]);
    // Tiles 6 and 7 in the cells 4 and 5.
    tables.import(1, WeightPart::Weight, 0x76, &[3.0]);
    let mut cells = vec![0.0; tables.block_len(MemoryBlock::Cells)];
    tables.export_block(MemoryBlock::Cells, 0, &mut cells);
    let cells = cells.into_iter().enumerate();
    let found: Vec<(usize, f32)> = cells.filter(|(_, value)| *value != 0.0).collect();
    let pair = 2 * 0x1234;
    assert_eq!(
        found,
        [(pair, 1.0), (pair + 1, 2.0), (2 * 0x10000 + 0x67, 3.0)]
    );
}

#[test]
fn playing_needs_no_sums() {
    for keep in [StoredParts::Weights, StoredParts::Everything] {
        let network = plain(&tuples());
        read(&file(keep), network.tables(), StoredParts::Weights).unwrap();
        let after = After(Board::from_packed(0x1234_5678_0000_1111));
        assert_eq!(network.value(after), trained().value(after));
    }
    let learner = coherent(&tuples());
    let read = |bytes: &[u8]| read(bytes, learner.tables(), StoredParts::Everything);
    let missing = read(&file(StoredParts::Weights)).unwrap_err();
    assert!(matches!(missing, NativeError::NoTable(name) if name == CELLS));
    // A checkpoint of TD has no sums for a TC learner.
    let mut bytes = Vec::new();
    write(
        plain(&tuples()).tables(),
        &metadata(),
        StoredParts::Everything,
        &mut bytes,
    )
    .unwrap();
    let missing = read(&bytes).unwrap_err();
    assert!(matches!(missing, NativeError::NoTable(name) if name == SUMS));
}

/// A checkpoint of a network of states has its expected changes; a model has only the weights, and
/// a refresh computes the changes.
#[test]
fn networks_of_states_are_read_back() {
    let new =
        || StateNetwork::new(&tuples(), &NetworkOptions::default(), &POWERS_OF_TWO_SPAWNS).unwrap();
    let network = new();
    for (place, value) in [(0, 8.0), (1, 1.5), (0x4321, -2.5)] {
        network
            .tables()
            .import(0, WeightPart::Weight, place, &[value]);
    }
    network.refresh();
    let numbers = |network: &StateNetwork| {
        let parts = [WeightPart::Weight, WeightPart::ExpectedChange];
        parts.map(|kind| part(network.tables(), kind))
    };
    for keep in [StoredParts::Weights, StoredParts::Everything] {
        let mut bytes = Vec::new();
        write(network.tables(), &metadata(), keep, &mut bytes).unwrap();
        let copy = new();
        read(&bytes, copy.tables(), keep).unwrap();
        assert_eq!(
            numbers(&copy) == numbers(&network),
            keep == StoredParts::Everything
        );
        copy.refresh();
        assert_eq!(numbers(&copy), numbers(&network));
    }
}

#[test]
fn a_checkpoint_in_another_order_is_refused() {
    let bytes = file(StoredParts::Everything);
    // The same sizes, but other cells.
    let network = coherent(&TupleSet::parse("4567 45", Shape::FOUR, true).unwrap());
    for keep in [StoredParts::Weights, StoredParts::Everything] {
        let refused = read(&bytes, network.tables(), keep).unwrap_err();
        let order = trained().tables().order();
        assert!(matches!(&refused, NativeError::Order { found, .. } if *found == order));
    }
}

#[test]
fn errors_name_missing_and_mismatched_tables() {
    let bytes = file(StoredParts::Weights);
    let network = plain(&TupleSet::parse("0123 4567", Shape::FOUR, true).unwrap());
    let missing = read(&bytes, network.tables(), StoredParts::Weights).unwrap_err();
    assert!(matches!(missing, NativeError::NoTable(name) if name == "4567"));
}

#[test]
fn a_nan_is_neither_written_nor_read() {
    let network = trained();
    let tables = network.tables();
    tables.import(1, WeightPart::Weight, 7, &[f32::NAN]);
    let broken = write(
        tables,
        &Metadata::new(),
        StoredParts::Weights,
        &mut Vec::new(),
    )
    .unwrap_err();
    assert!(matches!(broken, NativeError::NotFinite { table, index: 7, .. } if table == "45"));

    let mut bytes = file(StoredParts::Weights);
    let end = bytes.len();
    bytes[end - 4..].copy_from_slice(&f32::INFINITY.to_le_bytes());
    assert!(matches!(
        read(&bytes, plain(&tuples()).tables(), StoredParts::Weights),
        Err(NativeError::NotFinite { index: 255, .. })
    ));
}

#[test]
fn every_truncation_is_an_error() {
    let bytes = file(StoredParts::Weights);
    let cut = read_header(&bytes[..bytes.len() - 9]).unwrap_err();
    let NativeError::Length {
        part: "numbers",
        expected,
        found,
    } = cut
    else {
        panic!("{cut}")
    };
    assert_eq!(expected - found, 9);
    for end in (0..5000).chain((5000..bytes.len()).step_by(997)) {
        assert!(read_header(&bytes[..end]).is_err(), "{end} bytes");
    }
}

#[test]
fn a_header_longer_than_its_file_is_not_allocated() {
    let mut bytes = file(StoredParts::Weights);
    for (length, error) in [
        (bytes.len() as u64 - 7, "its header should have"),
        (LONGEST_HEADER, "its header should have"),
        (LONGEST_HEADER + 1, "header too large"),
        (u64::MAX, "header too large"),
    ] {
        bytes[..8].copy_from_slice(&length.to_le_bytes());
        let found = read_header(&bytes).unwrap_err().to_string();
        assert!(found.contains(error), "{length}: {found}");
    }
    // A file that was truncated after its size was read.
    let bytes = file(StoredParts::Weights);
    let shorter = Header::read(&mut &bytes[..100], bytes.len() as u64);
    assert!(matches!(shorter, Err(NativeError::Io(_))));
}

#[test]
fn tensors_that_overlap_or_leave_gaps_are_errors() {
    let of = |offsets: [[u64; 2]; 2], data| {
        let tensor = |[start, end]: [u64; 2]| {
            let numbers = end.saturating_sub(start) / 4;
            json!({ "dtype": "F32", "shape": [numbers], "data_offsets": [start, end] })
        };
        let [a, b] = offsets.map(tensor);
        let header = json!({ "__metadata__": metadata(), "0123": a, "45": b });
        read_header(&file_of(&header, data)).map(|_| ())
    };
    of([[0, 64], [64, 128]], 128).unwrap();
    for (offsets, data) in [
        ([[0, 64], [32, 96]], 96),
        ([[0, 64], [0, 64]], 64),
        ([[0, 64], [96, 128]], 128),
        ([[64, 0], [64, 128]], 128),
        ([[0, 64], [64, 128]], 127),
        ([[0, 64], [64, 128]], 129),
        ([[0, 1 << 60], [1 << 60, 1 << 61]], 0),
        ([[0, u64::MAX], [u64::MAX, u64::MAX]], 0),
    ] {
        let found = of(offsets, data);
        assert!(
            matches!(
                found,
                Err(NativeError::Safetensors(_) | NativeError::Length { .. })
            ),
            "{offsets:?}"
        );
    }
}

proptest! {
    #[test]
    fn garbage_is_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..4096)) {
        prop_assert!(read_header(&bytes).is_err());
    }

    #[test]
    fn damage_never_panics(place in 0usize..5000, byte: u8) {
        let mut bytes = file(StoredParts::Weights);
        bytes[place] = byte;
        let _ = read(&bytes, plain(&tuples()).tables(), StoredParts::Weights);
    }
}
