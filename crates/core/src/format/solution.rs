//! Exact solutions: safetensors, like our models (`native.rs`), with numbers of eight bytes.
//!
//! | tensor | numbers | what |
//! |---|---|---|
//! | `sums` | U64, one a layer | the sum of the tiles of all states in the layer, ascending |
//! | `starts` | U64, one a layer and one more | the first index of each layer in the tensors below,
//! and the end |
//! | `codes` | U64, one a state | the states, ascending in each layer |
//! | `score` | F64, one a state | the expected future score |
//! | `win` | F64, one a state | the probability of reaching the target, if the solution has one |
//!
//! docs/formats/solution.md explains the metadata and the codes.

use safetensors::Dtype;

use super::native::{Header, Metadata, NativeError, NewHeader, header};

/// Bytes of a number.
pub const BYTES: usize = 8;

/// The place of a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The offset of its first byte in the file.
    pub at: u64,
    /// The number of its values.
    pub numbers: usize,
}

impl Place {
    /// The offset after its last byte.
    pub fn end(self) -> u64 {
        self.at + (self.numbers * BYTES) as u64
    }
}

/// The places of all tensors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SolutionLayout {
    /// The tile sums of the layers.
    pub sums: Place,
    /// The first states of the layers.
    pub starts: Place,
    /// The states.
    pub codes: Place,
    /// Their values.
    pub score: Place,
    /// Their probabilities of reaching the target.
    pub win: Option<Place>,
}

impl SolutionLayout {
    /// Finds the tensors in a header.
    ///
    /// # Errors
    /// When one is missing, or does not match the others.
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

/// The header of a new file with this number of layers and states, and the layout of its numbers.
pub fn lay_out(
    metadata: &Metadata,
    layers: usize,
    states: usize,
    win: bool,
) -> (NewHeader, SolutionLayout) {
    let mut end = 0;
    let mut place = |numbers| {
        let place = Place { at: end, numbers };
        end = place.end();
        place
    };
    let mut layout = SolutionLayout {
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
        place.at += header.length();
    }
    (header, layout)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_written_layout_is_read_back() {
        let metadata = Metadata::from([("afterstate".to_owned(), "1".to_owned())]);
        for win in [false, true] {
            let (header, layout) = lay_out(&metadata, 3, 10, win);
            let mut bytes = header.finish();
            assert_eq!(bytes.len() % 4096, 0);
            bytes.resize(layout.end() as usize, 0);
            let header = Header::read(&mut &bytes[..], bytes.len() as u64).unwrap();
            assert_eq!(SolutionLayout::of(&header, win).unwrap(), layout);
            assert_eq!(SolutionLayout::of(&header, true).is_ok(), win);
        }
    }
}
