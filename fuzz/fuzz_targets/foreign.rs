//! What holds for the weight files of every other program.

use std::io::Cursor;

use afterstate::format::foreign::{Foreign, Program};

/// Bytes that are a file lie in it where the description says, and are written again as they were.
pub fn check(program: Program, bytes: &[u8], by_name: bool) {
    let size = bytes.len() as u64;
    let Ok(mut found) = Foreign::scan(program, &mut Cursor::new(bytes), size, by_name) else {
        return;
    };
    let meaning = found.table_patterns(None).ok();
    found.name_tables(meaning.as_ref());
    assert!(found.is_sound());
    let mut copy = found.clone();
    let frame = copy.lay_out(by_name);
    assert_eq!(frame.end(), size);
    for (at, piece) in frame.pieces() {
        assert_eq!(&bytes[*at as usize..][..piece.len()], &piece[..]);
    }
    assert_eq!(copy, found);
    for span in found.entries().iter().flat_map(|entry| &entry.spans) {
        assert!(span.at + span.bytes() <= size);
    }
}
