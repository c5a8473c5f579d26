//! Exact solutions: safetensors, as our models are (`native.rs`), with numbers of eight bytes.
//!
//! | tensor | numbers | what |
//! |---|---|---|
//! | `sums` | U64, one a layer | the sum of the tiles of all states in the layer, ascending |
//! | `starts` | U64, one a layer and one more | where the layers begin in the tensors below, and their end |
//! | `codes` | U64, one a state | the states, ascending in each layer |
//! | `score` | F64, one a state | the expected score to come |
//! | `win` | F64, one a state | the probability of the target, where there is one |
//!
//! Its metadata and the codes are explained in docs/formats/solution.md.

use safetensors::Dtype;

use super::native::{Header, Metadata, NativeError, header};

/// Bytes of a number.
pub const BYTES: usize = 8;

/// Where a tensor is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The place of its first byte in the file.
    pub at: u64,
    /// How many numbers it holds.
    pub numbers: usize,
}

impl Place {
    /// The place behind its last byte.
    pub fn end(self) -> u64 {
        self.at + (self.numbers * BYTES) as u64
    }
}

/// Where all tensors are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// The sums of layers.
    pub sums: Place,
    /// Their first states.
    pub starts: Place,
    /// The states.
    pub codes: Place,
    /// Their values.
    pub score: Place,
    /// Their chances of the target.
    pub win: Option<Place>,
}

impl Layout {
    /// Where a file has its tensors.
    ///
    /// # Errors
    /// When one is missing, or does not fit the others.
    pub fn of(header: &Header, win: bool) -> Result<Self, NativeError> {
        let place = |name: &str, dtype: Dtype, numbers: Option<usize>| {
            let (at, numbers) = header.tensor(name, dtype, numbers)?;
            Ok::<_, NativeError>(Place { at, numbers })
        };
        let sums = place("sums", Dtype::U64, None)?;
        let codes = place("codes", Dtype::U64, None)?;
        let states = Some(codes.numbers);
        Ok(Self {
            sums,
            starts: place("starts", Dtype::U64, Some(sums.numbers + 1))?,
            codes,
            score: place("score", Dtype::F64, states)?,
            win: win.then(|| place("win", Dtype::F64, states)).transpose()?,
        })
    }

    /// The length of the file.
    pub fn end(&self) -> u64 {
        self.win.unwrap_or(self.score).end()
    }
}

/// The beginning of a new file with so many layers and states, and where its numbers go behind it.
pub fn lay_out(metadata: &Metadata, layers: usize, states: usize, win: bool) -> (Vec<u8>, Layout) {
    let mut end = 0;
    let mut place = |numbers| {
        let place = Place { at: end, numbers };
        end = place.end();
        place
    };
    let mut layout = Layout {
        sums: place(layers),
        starts: place(layers + 1),
        codes: place(states),
        score: place(states),
        win: win.then(|| place(states)),
    };
    let tensors = [
        ("sums", "U64", Some(layout.sums)),
        ("starts", "U64", Some(layout.starts)),
        ("codes", "U64", Some(layout.codes)),
        ("score", "F64", Some(layout.score)),
        ("win", "F64", layout.win),
    ];
    let entries = tensors.into_iter().filter_map(|(name, dtype, place)| {
        place.map(|place| (name, dtype, place.numbers, place.at, place.end()))
    });
    let header = header(entries, metadata);
    let places = [
        &mut layout.sums,
        &mut layout.starts,
        &mut layout.codes,
        &mut layout.score,
    ];
    for place in places.into_iter().chain(&mut layout.win) {
        place.at += header.len() as u64;
    }
    (header, layout)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_laid_out_is_found() {
        let metadata = Metadata::from([("afterstate".to_owned(), "1".to_owned())]);
        for win in [false, true] {
            let (mut bytes, layout) = lay_out(&metadata, 3, 10, win);
            assert_eq!(bytes.len() % 4096, 0);
            bytes.resize(layout.end() as usize, 0);
            let header = Header::read(&mut &bytes[..], bytes.len() as u64).unwrap();
            assert_eq!(Layout::of(&header, win).unwrap(), layout);
            assert_eq!(Layout::of(&header, true).is_ok(), win);
        }
    }
}
