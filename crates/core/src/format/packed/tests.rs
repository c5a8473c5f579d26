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
    table.for_each_block(|from, mask, some| {
        let digits = (0..32).filter(|digit| mask >> digit & 1 == 1);
        (digits.zip(some)).for_each(|(digit, weight)| weights[from + digit] = *weight);
    });
    weights
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

/// Any shape of table comes back within half a step, as often as bits are almost free.
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

/// The bytes of a table of 256 weights as this version writes them, and two sums over the
/// weights that a decoder on any machine must find in them. (Bytes of later versions may differ; what these
/// ones mean must not.)
#[test]
fn the_format_is_frozen() {
    let (weights, sums) = table(2, 4, 7);
    let coarse = Quantisation {
        step: 2.0,
        power: 0.5,
        price: 3e4,
    };
    let encoded = encode("01", 4, (&weights, &sums), coarse).unwrap();
    let hex: String = encoded
        .bytes
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let bytes = FROZEN.as_bytes().chunks(2);
    let bytes = bytes.map(|two| u8::from_str_radix(std::str::from_utf8(two).unwrap(), 16).unwrap());
    let bytes: Vec<u8> = bytes.collect();
    let found = model::decode(Form::new(2, 4), 2.0, FROZEN_KEPT, &bytes);
    let found = found.unwrap_or_else(|fault| panic!("{fault}: {} {hex}", encoded.entry.kept));
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

const FROZEN: &str = "06064cace980255c84a27c2193acbec6795c72ff9f2e3dda3545cf5171aa815ea901\
                      2098c6182139934a539dd0f7bf6cf4ef806038053de25a95ae83b6805a332c19a032fd0392408d26";
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
        let found = model::decode(Form::new(4, 4), 0.7, kept, &encoded.bytes).unwrap();
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
    let cases: [(Change<'_>, &str); 7] = [
        (&|entry| entry.digits = 9, "9 digits of 4 bits"),
        (&|entry| entry.digits = 0, "0 digits of 4 bits"),
        (&|entry| entry.bits = 31, "2 digits of 31 bits"),
        (&|entry| entry.step = 0.0, "step"),
        (&|entry| entry.step = -1.0, "step"),
        (&|entry| entry.kept = 257, "kept weights"),
        (&|entry| entry.bytes += 1, "bytes"),
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
    assert!(change(0, 0).contains("not a packed model"));
    assert!(change(23, 1).contains("at most"));
    assert!(file_length(b"safetensors").is_none());
    assert!(file_length(&bytes[..10]).unwrap().is_err());
    assert_eq!(file_length(&bytes).unwrap().unwrap(), bytes.len() as u64);
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
