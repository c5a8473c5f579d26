//! Packed models: any bytes are read or refused, also where the checksum is right.

#![no_main]

use afterstate::format::packed::PackedHeader;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let _ = PackedHeader::read(bytes);
    // A fuzzer does not find checksums, so the content is framed for it.
    let (length, content) = match bytes {
        [a, b, content @ ..] => (u16::from_le_bytes([*a, *b]), content),
        _ => return,
    };
    let file = afterstate::format::packed::frame(length.into(), content);
    let Ok(header) = PackedHeader::read(&file) else {
        return;
    };
    for (number, table) in header.tables().iter().enumerate() {
        if table.memory() > 1 << 24 {
            continue;
        }
        if let Ok(decoded) = header.decode(&file, number) {
            assert_eq!(decoded.kept() as u64, table.kept);
            assert_eq!((decoded.masks().len() as u64) << table.bits, table.weights());
            let mut kept = 0;
            for (block, mask) in decoded.masks().iter().enumerate() {
                for number in 0..mask.count_ones() as usize {
                    assert!(decoded.weight(block, number).is_finite());
                    kept += 1;
                }
            }
            assert_eq!(kept, table.kept);
        }
    }
});
