//! Checksums of the tensors and of the header of a file.
//!
//! Each tensor is divided into pieces of 1 MiB, and each piece into units of 4 KiB; the last ones may
//! be shorter. The checksum of a piece is the sum, modulo 2^64, of (2 i + 1) h over its units, where
//! i is the number of the unit in its piece and h its XXH3 (64 bits). A sum does not depend on the
//! order of its terms: threads that copy a table in another order than that of the file add their
//! units while the bytes are in the cache. A multiple by an odd number differs whenever h does.
//!
//! XXH3 reads 19 GB/s a core in units of 4 KiB, CRC32C 11 GB/s (benchmarks/2026-11-18.md).
//!
//! The metadata `checksums` has the checksum of the header, then those of the pieces in the order of
//! the tensors in the file: 16 hexadecimal digits each. That of the header is the XXH3 of all bytes
//! before the first tensor with its own digits as zeros. The metadata `checksum_bytes`, the length
//! of a piece, is in the same files: a damaged key cannot pass for a file without checksums.

use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};

use twox_hash::XxHash3_64;

use super::{Metadata, NativeError};

/// Bytes of a piece.
pub(super) const PIECE: u64 = 1 << 20;
/// Bytes of a unit. A tensor that is copied in parts is copied in whole units.
const UNIT: usize = 4096;
/// The metadata key of the checksums.
const CHECKSUMS: &str = "checksums";
/// The metadata key of the length of a piece.
const CHECKSUM_BYTES: &str = "checksum_bytes";
/// The algorithm, the first word of the value.
const ALGORITHM: &str = "xxh3";
/// Hexadecimal digits of a checksum.
const DIGITS: usize = 16;

/// Whether a key of the metadata belongs to the checksums, which [`Header`](super::Header) removes.
pub(super) fn is_key(key: &str) -> bool {
    [CHECKSUMS, CHECKSUM_BYTES].contains(&key)
}

/// A tensor with its pieces.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Span {
    name: String,
    /// The offset of its first byte after the header.
    at: u64,
    bytes: u64,
    /// The number of its first piece.
    first: usize,
}

impl Span {
    fn pieces(&self) -> usize {
        self.bytes.div_ceil(PIECE) as usize
    }
}

/// The sums of the pieces of a file, while it is copied.
#[derive(Debug)]
pub struct Checksums {
    /// In the order of the file, without empty ones.
    spans: Vec<Span>,
    sums: Vec<AtomicU64>,
    /// The length of the header.
    data: u64,
}

impl Checksums {
    /// No sums yet of tensors with these offsets after the header.
    pub(super) fn new(tensors: impl Iterator<Item = (String, u64, u64)>) -> Self {
        let spans = tensors.map(|(name, from, to)| Span {
            name,
            at: from,
            bytes: to - from,
            first: 0,
        });
        let mut spans: Vec<Span> = spans.filter(|span| span.bytes > 0).collect();
        spans.sort_by_key(|span| span.at);
        let mut pieces = 0;
        for span in &mut spans {
            span.first = pieces;
            pieces += span.pieces();
        }
        Self {
            spans,
            sums: (0..pieces).map(|_| AtomicU64::new(0)).collect(),
            data: 0,
        }
    }

    /// The same with this length of the header.
    pub(super) fn after_header(self, data: u64) -> Self {
        Self { data, ..self }
    }

    /// Adds bytes at an offset in the file, which is that of a unit; they end with one, too, or with
    /// a tensor. Any thread may add any bytes, but each byte once.
    pub fn add(&self, mut bytes: &[u8], at: u64) {
        let mut at = at.saturating_sub(self.data);
        while !bytes.is_empty() {
            let next = self.spans.partition_point(|span| span.at <= at);
            let Some(span) = next.checked_sub(1).and_then(|place| self.spans.get(place)) else {
                return;
            };
            let from = at - span.at;
            debug_assert!(
                from.is_multiple_of(UNIT as u64) || from >= span.bytes,
                "{at} is within a unit of {}",
                span.name
            );
            let piece = span.first + (from / PIECE) as usize;
            let left = (span.bytes.saturating_sub(from)).min(PIECE - from % PIECE);
            let now = bytes.len().min(left as usize);
            let Some(sum) = self.sums.get(piece).filter(|_| now > 0) else {
                return;
            };
            let (part, rest) = bytes.split_at(now);
            sum.fetch_add(units(part, from % PIECE), Ordering::Relaxed);
            (bytes, at) = (rest, at + now as u64);
        }
    }

    /// The metadata of a new file, with zeros in place of the checksums.
    pub(super) fn reserve(&self, metadata: &mut Metadata) {
        metadata.insert(CHECKSUM_BYTES.to_owned(), PIECE.to_string());
        metadata.insert(CHECKSUMS.to_owned(), self.value(0, |_| 0));
    }

    fn value(&self, header: u64, sum: impl Fn(usize) -> u64) -> String {
        let mut text = format!("{ALGORITHM} {header:016x}");
        for piece in 0..self.sums.len() {
            // Writing to a string cannot fail.
            let _ = write!(text, " {:016x}", sum(piece));
        }
        text
    }

    /// Replaces the zeros in a new header by the checksums.
    pub(super) fn fill(&self, header: &mut [u8]) {
        let Some(at) = place_of_value(header) else {
            return;
        };
        let sum = |piece: usize| self.sums[piece].load(Ordering::Relaxed);
        let put = |header: &mut [u8], own| {
            let value = self.value(own, sum);
            header[at..at + value.len()].copy_from_slice(value.as_bytes());
        };
        put(header, 0);
        let own = XxHash3_64::oneshot(header);
        put(header, own);
    }

    /// The same tensors, nothing added.
    pub(super) fn fresh(&self) -> Self {
        Self {
            spans: self.spans.clone(),
            sums: self.sums.iter().map(|_| AtomicU64::new(0)).collect(),
            data: self.data,
        }
    }

    /// Takes the checksums out of the metadata of a header, which they are compared with; `None` if
    /// the file has none.
    pub(super) fn read(self, header: &[u8], metadata: &mut Metadata) -> Found {
        let damaged = |found: &str| NativeError::Header(found.to_owned());
        let (length, value) = (metadata.remove(CHECKSUM_BYTES), metadata.remove(CHECKSUMS));
        let (length, value) = match (length, value) {
            (None, None) => return Ok(None),
            (Some(length), Some(value)) => (length, value),
            _ => return Err(damaged("one of its keys of checksums is missing")),
        };
        let mut words = value.split(' ');
        if words.next() != Some(ALGORITHM) || length != PIECE.to_string() {
            return Err(damaged("its checksums are of an unknown kind"));
        }
        let numbers: Option<Vec<u64>> = words.map(number).collect();
        let numbers = numbers.ok_or_else(|| damaged("a checksum is not a number"))?;
        let (own, sums) = numbers
            .split_first()
            .ok_or_else(|| damaged("it has none"))?;
        let at = place_of_value(header).ok_or_else(|| damaged("its keys are in disorder"))?;
        let at = at + ALGORITHM.len() + 1;
        let mut copy = header.to_vec();
        copy[at..at + DIGITS].fill(b'0');
        if XxHash3_64::oneshot(&copy) != *own {
            return Err(damaged("its bytes do not have the checksum that they had"));
        }
        if sums.len() != self.sums.len() {
            return Err(damaged("it has another number of checksums than of pieces"));
        }
        for (sum, &number) in self.sums.iter().zip(sums) {
            sum.store(number, Ordering::Relaxed);
        }
        Ok(Some(self))
    }

    /// Compares the sums of a copied tensor with these.
    ///
    /// # Errors
    /// At the first piece that differs.
    pub(super) fn compare(&self, copied: &Self, tensor: &str) -> Result<(), NativeError> {
        let spans = self.spans.iter().filter(|span| span.name == tensor);
        let pieces = spans.flat_map(|span| (0..span.pieces()).map(move |piece| (span, piece)));
        let sum = |sums: &[AtomicU64], at: usize| sums.get(at).map(|it| it.load(Ordering::Relaxed));
        let differs = |place: usize| sum(&self.sums, place) != sum(&copied.sums, place);
        let mut damaged = pieces.filter(|(span, piece)| differs(span.first + piece));
        let Some((span, piece)) = damaged.next() else {
            return Ok(());
        };
        let from = piece as u64 * PIECE;
        let to = span.bytes.min(from + PIECE);
        let at = self.data + span.at;
        Err(NativeError::Damaged {
            tensor: span.name.clone(),
            from: at + from,
            to: at + to,
        })
    }

    /// The tensors that are not empty.
    pub(super) fn tensors(&self) -> impl Iterator<Item = &str> {
        self.spans.iter().map(|span| &*span.name)
    }

    /// The offset and the length of each piece in the file.
    pub(super) fn places(&self) -> Vec<(u64, usize)> {
        let pieces = self.spans.iter().flat_map(|span| {
            (0..span.pieces() as u64).map(move |piece| {
                let from = piece * PIECE;
                let length = (span.bytes - from).min(PIECE);
                (self.data + span.at + from, length as usize)
            })
        });
        pieces.collect()
    }
}

/// The checksums of a file, if it has any.
pub(super) type Found = Result<Option<Checksums>, NativeError>;

/// The sum over bytes from an offset within their piece.
fn units(bytes: &[u8], from: u64) -> u64 {
    let numbers = (from / UNIT as u64)..;
    bytes
        .chunks(UNIT)
        .zip(numbers)
        .fold(0, |sum: u64, (unit, number)| {
            let hash = XxHash3_64::oneshot(unit);
            sum.wrapping_add(hash.wrapping_mul(2 * number + 1))
        })
}

/// Where the value of `checksums` is in the bytes of a header. Quotes inside of other values are
/// escaped, so that no other text has these bytes.
fn place_of_value(header: &[u8]) -> Option<usize> {
    let key = format!("\"{CHECKSUMS}\":\"");
    let value = format!("{key}{ALGORITHM} ");
    let mut windows = header.windows(value.len());
    let at = windows.position(|bytes| bytes == value.as_bytes())?;
    let fits = at + value.len() + DIGITS <= header.len();
    fits.then_some(at + key.len())
}

/// A checksum as it is written: 16 lower-case digits.
fn number(word: &str) -> Option<u64> {
    let digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    let fine = word.len() == DIGITS && word.bytes().all(digit);
    fine.then(|| u64::from_str_radix(word, 16).ok())?
}
