use super::error::Fault;
use super::*;

fn numbers(seed: u64) -> impl FnMut() -> u32 {
    let mut state = seed;
    move || {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (state >> 33) as u32
    }
}

/// A table as training makes it: smooth, sparse, with sums that fall off.
fn table(digits: u32, bits: u32, seed: u64) -> (Vec<f32>, Vec<f32>) {
    let mut next = numbers(seed);
    let count = 1usize << (digits * bits);
    let digit = |index: usize, k: u32| (index >> (bits * k) & ((1 << bits) - 1)) as f32;
    (0..count)
        .map(|index| {
            let sum: f32 = (0..digits).map(|k| digit(index, k)).sum();
            let used = next() % 100 < 60 && sum < 8.0 * digits as f32;
            let weight = 30.0 * sum + (next() % 200) as f32 - 400.0;
            match used {
                true => (weight, 1e6 / (1.0 + sum * sum)),
                false => (0.0, 0.0),
            }
        })
        .unzip()
}

fn unpacked(table: &SparseTable, count: usize) -> Vec<f32> {
    let mut weights = vec![0.0; count];
    let side = count / table.masks().len();
    for (block, mask) in table.masks().iter().enumerate() {
        let digits = (0..side).filter(|digit| mask >> digit & 1 == 1);
        for (number, digit) in digits.enumerate() {
            weights[side * block + digit] = table.weight(block, number);
        }
    }
    weights
}

/// Which weights are kept, and their values.
fn streams(encoded: &EncodedTable) -> (&[u8], &[u8]) {
    encoded.bytes.split_at(encoded.entry.mask_bytes as usize)
}

fn fine() -> Quantisation {
    Quantisation {
        step: 1.0,
        power: 0.5,
        price: 1e-3,
    }
}

fn file(tables: &[EncodedTable]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let metadata = Metadata::from([("game".to_owned(), "2048".to_owned())]);
    let length = write(&metadata, tables, &mut bytes).unwrap();
    assert_eq!(length, bytes.len() as u64);
    bytes
}

fn with_checksum(mut bytes: Vec<u8>) -> Vec<u8> {
    let content = bytes.len() - END;
    let sum = checksum(&bytes[..content]);
    bytes[content..].copy_from_slice(&sum);
    bytes
}

/// Any shape of table comes back within half a step, as bits are almost free.
#[test]
fn tables_come_back_within_half_a_step() {
    let shapes = [(1, 4), (2, 4), (4, 4), (3, 5), (5, 4)];
    let of = |(n, &(digits, bits)): (usize, &(u32, u32))| {
        let (weights, sums) = table(digits, bits, n as u64);
        let encoded = encode(&n.to_string(), bits, (&weights, &sums), fine()).unwrap();
        (weights, encoded)
    };
    let all: Vec<(Vec<f32>, EncodedTable)> = shapes.iter().enumerate().map(of).collect();
    let tables: Vec<EncodedTable> = all.iter().map(|(_, table)| table.clone()).collect();
    let bytes = file(&tables);
    let header = PackedHeader::read(&bytes).unwrap();
    assert_eq!(header.metadata()["game"], "2048");
    for (k, (weights, encoded)) in all.iter().enumerate() {
        let name = k.to_string();
        let number = header.table(&name, weights.len() as u64).unwrap();
        assert_eq!(number, k);
        let found = unpacked(&header.decode(&bytes, k).unwrap(), weights.len());
        for (index, (weight, found)) in weights.iter().zip(&found).enumerate() {
            assert!((weight - found).abs() <= 0.5, "{index}: {weight} {found}");
        }
        let nonzero = weights.iter().filter(|weight| **weight != 0.0).count();
        assert_eq!(encoded.nonzero, nonzero as u64);
    }
}

/// The words of a table of 256 weights as this version writes them, and two sums over the weights
/// that a decoder on any machine must find in them. Later encoders may write other words; these
/// must keep their meaning.
#[test]
fn the_format_is_frozen() {
    let (weights, sums) = table(2, 4, 7);
    let coarse = Quantisation {
        step: 2.0,
        power: 0.5,
        price: 3e4,
    };
    let encoded = encode("01", 4, (&weights, &sums), coarse).unwrap();
    let hex = |bytes: &[u8]| -> String {
        let words = bytes.as_chunks::<4>().0;
        words
            .iter()
            .map(|word| format!("{:08x}", u32::from_le_bytes(*word)))
            .collect()
    };
    let (masks, values) = streams(&encoded);
    let written = (hex(masks), hex(values), encoded.entry.kept);
    let bytes = |words: &str| -> Vec<u8> {
        let words = words.as_bytes().chunks(8);
        let words = words.map(|word| std::str::from_utf8(word).unwrap());
        let words = words.map(|word| u32::from_str_radix(word, 16).unwrap());
        words.flat_map(u32::to_le_bytes).collect()
    };
    let frozen = FROZEN.map(bytes);
    let found = model::decode(Form::new(2, 4), 2.0, FROZEN_KEPT, (&frozen[0], &frozen[1]));
    let found = found.unwrap_or_else(|fault| panic!("{fault}: {written:?}"));
    let found = unpacked(&found, 256);
    let numbered = (1..)
        .zip(&found)
        .map(|(number, weight)| number as f32 * weight);
    assert_eq!(numbered.sum::<f32>(), 398_720.0);
    assert_eq!(
        found.iter().map(|weight| weight * weight).sum::<f32>(),
        1_593_344.0
    );
}

const FROZEN: [&str; 2] = [
    "4a5c5a8bbf558c79238d06b1c46640573d42909bcb5a35af4d0105eacb6c8772",
    "08710b79b480d389125a42ee53faca1bc62342954820588244e26b9c6042e58988e1d5a96f69d15a315d783f764e61e1",
];
const FROZEN_KEPT: u64 = 70;

#[test]
fn a_higher_price_makes_smaller_files_with_larger_errors() {
    let (weights, sums) = table(4, 4, 3);
    let at = |price| {
        let quantisation = Quantisation {
            step: 0.7,
            power: 0.5,
            price,
        };
        encode("0123", 4, (&weights, &sums), quantisation).unwrap()
    };
    let all = [1.0, 1e3, 1e4, 1e5, 1e6].map(at);
    for pair in all.windows(2) {
        assert!(pair[0].bytes.len() > pair[1].bytes.len());
        assert!(pair[0].error < pair[1].error);
    }
    assert_eq!(at(1e12).entry.kept, 0);
    // The error is that of the decoded weights.
    for encoded in all {
        let kept = encoded.entry.kept;
        let found = model::decode(Form::new(4, 4), 0.7, kept, streams(&encoded)).unwrap();
        let found = unpacked(&found, weights.len());
        let error = |((w, f), a): ((&f32, &f32), &f32)| f64::from(a.sqrt() * (w - f) * (w - f));
        let error: f64 = weights.iter().zip(&found).zip(&sums).map(error).sum();
        assert!((error / encoded.error - 1.0).abs() < 1e-4);
    }
}

#[test]
fn every_damaged_byte_is_noticed() {
    let (weights, sums) = table(2, 4, 5);
    let bytes = file(&[encode("01", 4, (&weights, &sums), fine()).unwrap()]);
    assert!(PackedHeader::read(&bytes).is_ok());
    for at in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x20;
        assert!(PackedHeader::read(&damaged).is_err(), "byte {at}");
        assert!(PackedHeader::read(&bytes[..at]).is_err(), "cut at {at}");
    }
    let longer = [&bytes[..], &[0]].concat();
    assert!(matches!(
        PackedHeader::read(&longer),
        Err(PackedError::Length { .. })
    ));
}

/// Files whose checksum is right, but not their content: an error or a table of the promised size.
#[test]
fn wrong_content_is_an_error_or_a_table() {
    let (weights, sums) = table(2, 4, 6);
    let bytes = file(&[encode("01", 4, (&weights, &sums), fine()).unwrap()]);
    let mut next = numbers(1);
    let mut decoded = 0;
    for _ in 0..3000 {
        let mut damaged = bytes.clone();
        for _ in 0..1 + next() % 3 {
            let at = START + next() as usize % (bytes.len() - START - END);
            damaged[at] = next() as u8;
        }
        let damaged = with_checksum(damaged);
        let Ok(header) = PackedHeader::read(&damaged) else {
            continue;
        };
        for (k, entry) in header.tables().iter().enumerate() {
            if entry.weights() > 1 << 16 {
                continue;
            }
            if let Ok(table) = header.decode(&damaged, k) {
                assert_eq!(table.kept() as u64, entry.kept);
                decoded += 1;
            }
        }
    }
    assert!(decoded > 10, "{decoded}");
}

type Change<'a> = &'a dyn Fn(&mut TableEntry);

#[test]
fn impossible_headers_are_refused() {
    let (weights, sums) = table(2, 4, 8);
    let good = encode("01", 4, (&weights, &sums), fine()).unwrap();
    let of = |change: Change<'_>| {
        let mut table = good.clone();
        change(&mut table.entry);
        PackedHeader::read(&file(&[table])).unwrap_err().to_string()
    };
    let cases: [(Change<'_>, &str); 11] = [
        (&|entry| entry.digits = 9, "9 digits of 4 bits"),
        (&|entry| entry.digits = 0, "0 digits of 4 bits"),
        (&|entry| entry.digits = 8, "8 digits of 4 bits"),
        (&|entry| entry.bits = 31, "2 digits of 31 bits"),
        (&|entry| entry.step = 0.0, "step"),
        (&|entry| entry.step = -1.0, "step"),
        (&|entry| entry.kept = 257, "kept weights"),
        (&|entry| entry.bytes += 4, "bytes"),
        (&|entry| entry.bytes += 1, "streams"),
        (&|entry| entry.mask_bytes += 2, "streams"),
        (&|entry| entry.mask_bytes = entry.bytes + 4, "streams"),
    ];
    for (change, expected) in cases {
        let found = of(change);
        assert!(found.contains(expected), "{found}");
    }
    let twice = PackedHeader::read(&file(&[good.clone(), good.clone()]));
    assert!(twice.unwrap_err().to_string().contains("two tables"));
    // A wrong number of weights is found while decoding.
    let mut fewer = good;
    fewer.entry.kept -= 1;
    let bytes = file(&[fewer]);
    let header = PackedHeader::read(&bytes).unwrap();
    let error = header.decode(&bytes, 0).err().unwrap().to_string();
    assert!(error.contains("where the header says"), "{error}");
    let missing = header.table("02", 256).unwrap_err().to_string();
    assert!(missing.contains("no table `02`"), "{missing}");
    assert!(header.table("01", 4096).is_err());
}

#[test]
fn other_versions_and_lengths_are_named() {
    let bytes = file(&[]);
    let change = |at: usize, byte: u8| {
        let mut bytes = bytes.clone();
        bytes[at] = byte;
        PackedHeader::read(&bytes).unwrap_err().to_string()
    };
    assert!(change(8, 9).contains("version 9"));
    // It was never released.
    let first = change(8, 1);
    assert!(first.contains("version 1") && first.contains("pack the run again"));
    assert!(change(0, 0).contains("not a packed model"));
    assert!(change(23, 1).contains("at most"));
    assert!(file_length(b"safetensors").is_none());
    assert!(file_length(&bytes[..10]).unwrap().is_err());
    assert_eq!(file_length(&bytes).unwrap().unwrap(), bytes.len() as u64);
}

/// A word less or more in either stream.
#[test]
fn streams_of_another_length_are_refused() {
    let (weights, sums) = table(2, 4, 10);
    let good = encode("01", 4, (&weights, &sums), fine()).unwrap();
    let (masks, values) = streams(&good);
    let more = |bytes: &[u8]| [bytes, &[0; 4]].concat();
    let decode = |masks: &[u8], values: &[u8]| {
        let kept = good.entry.kept;
        model::decode(Form::new(2, 4), 1.0, kept, (masks, values)).map(|table| table.kept())
    };
    assert_eq!(decode(masks, values), Ok(good.entry.kept as usize));
    let less = |bytes: &[u8]| bytes[..bytes.len() - 4].to_vec();
    assert_eq!(decode(&less(masks), values), Err(Fault::Short));
    assert_eq!(decode(masks, &less(values)), Err(Fault::Short));
    assert_eq!(decode(&more(masks), values), Err(Fault::Long));
    assert_eq!(decode(masks, &more(values)), Err(Fault::Long));
}

/// A block of which nothing is kept takes part of a bit, not the decisions for its weights.
#[test]
fn blocks_that_keep_nothing_are_not_opened() {
    let (mut weights, mut sums) = table(4, 4, 11);
    // Weights that cost more bits than they save errors, alone in their blocks.
    for index in 1 << 15..1 << 16 {
        let alone = index % 16 == 7;
        weights[index] = if alone { 3.0 } else { 0.0 };
        sums[index] = if alone { 1.0 } else { 0.0 };
    }
    let coarse = Quantisation {
        price: 1.5,
        ..fine()
    };
    let all = encode("0123", 4, (&weights, &sums), coarse).unwrap();
    let found = model::decode(Form::new(4, 4), 1.0, all.entry.kept, streams(&all)).unwrap();
    assert!(found.masks()[1 << 11..].iter().all(|mask| *mask == 0));
    weights[1 << 15..].fill(0.0);
    let half = encode("0123", 4, (&weights, &sums), coarse).unwrap();
    assert_eq!(all.bytes, half.bytes);
}

/// The prediction without a division is that of docs/formats/packed.md.
#[test]
fn predictions_are_those_by_division() {
    let mut next = numbers(4);
    for n in 0..200_000 {
        let shift = (next() % 15) as u8;
        let count = n % 8;
        let widest = 1 + next() % 16;
        let values: Vec<i16> = (0..count)
            .map(|_| (next() as i16) >> (16 - widest))
            .collect();
        let mut neighbours = grid::Neighbours::default();
        values.iter().for_each(|value| neighbours.add(*value));
        let found = model::Prediction::of(&neighbours, shift);
        let (unit, value, class) = predicted(&values, shift);
        assert_eq!(
            (found.value, found.class),
            (value, class),
            "{values:?} {shift} {unit}"
        );
    }
}

fn predicted(values: &[i16], shift: u8) -> (i64, i32, usize) {
    let (count, sum) = (
        values.len() as i64,
        values.iter().map(|v| i64::from(*v)).sum::<i64>(),
    );
    let unit = count << shift;
    if count == 0 {
        return (unit, 0, 0);
    }
    let value = (2 * sum + unit).div_euclid(2 * unit);
    let class = match count {
        1 => 1 + (1 + value.abs()).ilog2().min(6) as usize,
        _ => {
            let apart = values
                .iter()
                .map(|other| (i64::from(*other) - (value << shift)).abs());
            let spread = unit + apart.sum::<i64>();
            let octaves = (spread * spread / (unit * unit)).ilog2().min(12) as usize;
            8 + 3 * octaves + [0, 1, 1, 2][count.min(5) as usize - 2]
        }
    };
    (unit, value as i32, class)
}

#[test]
fn weights_that_cannot_be_packed_are_named() {
    let (mut weights, sums) = table(2, 4, 9);
    weights[17] = f32::NAN;
    let error = encode("01", 4, (&weights, &sums), fine()).unwrap_err();
    assert!(matches!(error, PackedError::NotFinite { index: 17, .. }));
    weights[17] = 40_000.0;
    let error = encode("01", 4, (&weights, &sums), fine()).unwrap_err();
    assert!(matches!(error, PackedError::TooLarge { index: 17, .. }));
}
