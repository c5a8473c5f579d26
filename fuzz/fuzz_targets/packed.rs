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
            decoded.for_each_block(|at, weights| {
                assert!((at + weights.len()) as u64 <= table.weights());
            });
        }
    }
});
