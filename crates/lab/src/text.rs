//! Text files from other programs: some begin with a byte order mark, which is not part of the text.

/// The byte order mark.
pub(crate) const MARK: char = '\u{FEFF}';

/// The bytes of a text file without its byte order mark.
pub(crate) fn without_mark(bytes: &[u8]) -> &[u8] {
    let mut utf8 = [0; 4];
    let mark = MARK.encode_utf8(&mut utf8);
    bytes.strip_prefix(mark.as_bytes()).unwrap_or(bytes)
}
