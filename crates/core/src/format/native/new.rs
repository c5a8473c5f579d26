//! Headers of new files.

use serde_json::{Value as Json, json};

use super::checksum::Checksums;
use super::{Metadata, TensorSpan};
use crate::format::floats::Float;

/// The header of a new file. Its checksums are those of the bytes that have been added to
/// [`NewHeader::sums`], so it is complete after everything else.
#[derive(Debug)]
pub struct NewHeader {
    bytes: Vec<u8>,
    sums: Checksums,
}

impl NewHeader {
    /// Its length: the offset of the first tensor.
    pub fn length(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// A header of the same length without checksums, to be overwritten.
    pub fn draft(&self) -> &[u8] {
        &self.bytes
    }

    /// The sums of the tensors.
    pub fn sums(&self) -> &Checksums {
        &self.sums
    }

    /// The complete header.
    pub fn finish(&self) -> Vec<u8> {
        let mut bytes = self.bytes.clone();
        self.sums.fill(&mut bytes);
        bytes
    }
}

/// The header of a file with these tensors: name, type, number of values, start and end offset. It
/// is padded so that the first tensor starts at a multiple of 4096 bytes; a writer can then leave
/// out whole pages of zeros as holes.
pub(in crate::format) fn header<'a>(
    tensors: impl Iterator<Item = (&'a str, &'a str, usize, u64, u64)>,
    metadata: &Metadata,
) -> NewHeader {
    let flat = |(name, dtype, numbers, from, to)| (name, dtype, vec![numbers], from, to);
    shaped_header(tensors.map(flat), metadata)
}

/// The same for tensors of any shape.
pub(super) fn shaped_header<'a>(
    tensors: impl Iterator<Item = (&'a str, &'a str, Vec<usize>, u64, u64)>,
    metadata: &Metadata,
) -> NewHeader {
    let tensors: Vec<_> = tensors.collect();
    let spans = tensors.iter();
    let sums = Checksums::new(spans.map(|(name, .., from, to)| ((*name).to_owned(), *from, *to)));
    let mut metadata = metadata.clone();
    sums.reserve(&mut metadata);
    let mut entries = serde_json::Map::new();
    entries.insert("__metadata__".to_owned(), json!(metadata));
    for (name, dtype, shape, from, to) in tensors {
        let entry = json!({ "dtype": dtype, "shape": shape, "data_offsets": [from, to] });
        entries.insert(name.to_owned(), entry);
    }
    let mut text = Json::Object(entries).to_string();
    let padded = (text.len() + 8).next_multiple_of(4096) - 8;
    text.extend(std::iter::repeat_n(' ', padded - text.len()));
    let bytes = [&(text.len() as u64).to_le_bytes(), text.as_bytes()].concat();
    NewHeader {
        sums: sums.after_header(bytes.len() as u64),
        bytes,
    }
}

/// The header of a new file of these spans; sets the offset of each, and returns the file length.
pub fn lay_out_spans(metadata: &Metadata, spans: &mut [TensorSpan]) -> (NewHeader, u64) {
    let mut end = 0;
    for span in spans.iter_mut() {
        span.at = end;
        end += span.bytes();
    }
    let entries = spans.iter().map(|span| {
        let dtype = span.float.map_or("U8", Float::name);
        let (from, to) = (span.at, span.at + span.bytes());
        (&*span.tensor, dtype, span.count as usize, from, to)
    });
    let header = header(entries, metadata);
    for span in spans {
        span.at += header.length();
    }
    let end = end + header.length();
    (header, end)
}
