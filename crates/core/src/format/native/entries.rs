//! The JSON of a header, read with bounded memory: a header from elsewhere may have any number of
//! entries, and each costs many times its text.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::io::Read;

use safetensors::SafeTensorError;
use safetensors::tensor::TensorInfo;
use serde::de::{Deserialize, Deserializer, Error, IgnoredAny, MapAccess, Visitor};
use serde_json::Value as Json;

use super::{Metadata, NativeError, checksum};

/// The longest header that is read. The format allows 100 MB; ours have some kilobytes, or
/// megabytes in a format 1 checkpoint, whose metadata may hold a hundred thousand moves.
pub(super) const LONGEST_HEADER: u64 = 1 << 25;
/// The most tensors of a file.
const MOST_TENSORS: usize = 100_000;
/// The key of the metadata, beside the tensors.
const METADATA: &str = "__metadata__";

/// The header entries.
pub(super) struct Entries {
    pub(super) metadata: HashMap<String, String>,
    pub(super) tensors: HashMap<String, TensorInfo>,
}

impl<'de> Deserialize<'de> for Entries {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        input.deserialize_map(EntriesVisitor)
    }
}

struct EntriesVisitor;

impl<'de> Visitor<'de> for EntriesVisitor {
    type Value = Entries;

    fn expecting(&self, text: &mut fmt::Formatter<'_>) -> fmt::Result {
        text.write_str("tensors and metadata by name")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Entries, A::Error> {
        let (mut metadata, mut tensors) = (None, HashMap::new());
        while let Some(name) = map.next_key::<String>()? {
            if name == METADATA {
                let earlier = metadata.replace(map.next_value::<Option<_>>()?);
                if earlier.is_some() {
                    return Err(Error::custom("the metadata is there twice"));
                }
            } else if tensors.len() == MOST_TENSORS {
                let found = format!("it has more than {MOST_TENSORS} tensors");
                return Err(Error::custom(found));
            } else {
                tensors.insert(name, map.next_value()?);
            }
        }
        Ok(Entries {
            metadata: metadata.flatten().unwrap_or_default(),
            tensors,
        })
    }
}

/// Reads the header with its length before it, from a file of `size` bytes; also returns the number
/// of bytes after it.
pub(super) fn read_header(file: &mut impl Read, size: u64) -> Result<(Vec<u8>, u64), NativeError> {
    let mut length = [0; 8];
    let room = size
        .checked_sub(8)
        .ok_or_else(|| NativeError::length("first number", 8, size))?;
    file.read_exact(&mut length)?;
    let length = u64::from_le_bytes(length);
    if length > LONGEST_HEADER {
        return Err(SafeTensorError::HeaderTooLarge.into());
    }
    if length > room {
        return Err(NativeError::length("header", length, room));
    }
    let mut header = length.to_le_bytes().to_vec();
    header.resize(8 + length as usize, 0);
    file.read_exact(&mut header[8..])?;
    Ok((header, room - length))
}

/// The metadata at the start of a file, without checking the rest; `None` if there is none.
pub fn peek_metadata(file: &mut impl Read) -> Option<Metadata> {
    let mut length = [0; 8];
    file.read_exact(&mut length).ok()?;
    let length = u64::from_le_bytes(length);
    if length > LONGEST_HEADER {
        return None;
    }
    let mut header = Vec::new();
    file.take(length).read_to_end(&mut header).ok()?;
    let Peeked(metadata) = serde_json::from_slice(&header).ok()?;
    let entries = metadata?
        .into_iter()
        .filter_map(|(key, value)| match value {
            Json::String(text) if !checksum::is_key(&key) => Some((key, text)),
            _ => None,
        });
    Some(entries.collect())
}

/// The metadata alone; tensors are skipped.
struct Peeked(Option<BTreeMap<String, Json>>);

impl<'de> Deserialize<'de> for Peeked {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        input.deserialize_map(PeekedVisitor)
    }
}

struct PeekedVisitor;

impl<'de> Visitor<'de> for PeekedVisitor {
    type Value = Peeked;

    fn expecting(&self, text: &mut fmt::Formatter<'_>) -> fmt::Result {
        text.write_str("metadata by name")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Peeked, A::Error> {
        let mut metadata = None;
        while let Some(name) = map.next_key::<String>()? {
            match name == METADATA {
                true => metadata = Some(map.next_value()?),
                false => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(Peeked(metadata))
    }
}

#[cfg(test)]
mod tests {
    use super::super::Header;
    use super::*;

    /// A file with this header and no numbers.
    fn file(header: &str) -> Vec<u8> {
        let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
        bytes.extend_from_slice(header.as_bytes());
        bytes
    }

    fn fault(bytes: &[u8]) -> String {
        let read = Header::read(&mut &bytes[..], bytes.len() as u64);
        read.err()
            .map_or_else(String::new, |fault| fault.to_string())
    }

    #[test]
    fn headers_with_too_many_entries_are_refused() {
        let tensor = |n: usize| {
            format!("\"t{n}\":{{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[0,0]}}")
        };
        let tensors = |count: usize| (0..count).map(tensor).collect::<Vec<_>>().join(",");
        let metadata = "\"__metadata__\":{\"afterstate\":\"2\"}";
        let header = |count| file(&format!("{{{metadata},{}}}", tensors(count)));
        assert_eq!(fault(&header(MOST_TENSORS)), "");
        let found = fault(&header(MOST_TENSORS + 1));
        assert!(found.contains("more than 100000 tensors"), "{found}");
        let peeked = peek_metadata(&mut &header(MOST_TENSORS + 1)[..]).unwrap();
        assert_eq!(peeked["afterstate"], "2");
        let found = fault(&file(&format!("{{{metadata},{metadata}}}")));
        assert!(found.contains("twice"), "{found}");
    }

    #[test]
    fn headers_that_are_too_long_are_not_read() {
        let long = file(&" ".repeat(LONGEST_HEADER as usize + 1));
        assert!(fault(&long).contains("too large"), "{}", fault(&long));
        assert!(peek_metadata(&mut &long[..]).is_none());
    }
}
