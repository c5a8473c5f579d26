//! Tables whose indices tell another number of tiles apart: 15^n weights instead of 16^n, as players
//! of Threes! have them, whose largest tile is number 14.
//!
//! A [`Rebased`] source presents tables of one base as tables of the other, so that copying does not
//! know of it. Indices that only the larger base has are 0 in one direction and left out in the
//! other: no board of such a game has a tile that they stand for.

use std::io;

use afterstate::format::foreign::TensorSpan;

use super::input::ReadAt;

/// The base of our own tables.
pub(super) const USUAL: u64 = 16;

/// Numbers that are not in the order of their source.
pub(super) struct Rebased {
    source: Box<dyn ReadAt>,
    spans: Vec<Span>,
    end: u64,
}

/// One table: its numbers in the source, and as they are presented.
struct Span {
    from: TensorSpan,
    from_base: u64,
    to: TensorSpan,
    to_base: u64,
}

impl Rebased {
    /// No tables of this source yet.
    pub(super) fn new(source: Box<dyn ReadAt>) -> Self {
        Self {
            source,
            spans: Vec::new(),
            end: 0,
        }
    }

    /// Adds a table of `from_base`^`cells` numbers; returns its span in the other base.
    pub(super) fn add(
        &mut self,
        from: TensorSpan,
        cells: u32,
        (from_base, to_base): (u64, u64),
    ) -> TensorSpan {
        let to = TensorSpan {
            count: to_base.saturating_pow(cells),
            at: self.end,
            ..from.clone()
        };
        self.end = self.end.saturating_add(to.bytes());
        self.spans.push(Span {
            from,
            from_base,
            to: to.clone(),
            to_base,
        });
        to
    }
}

impl ReadAt for Rebased {
    /// Reads numbers of one table.
    fn read_at(&self, bytes: &mut [u8], at: u64) -> io::Result<()> {
        let within = |span: &&Span| {
            let end = span.to.at + span.to.bytes();
            (span.to.at..end).contains(&at) && bytes.len() as u64 <= end - at
        };
        let span = self.spans.iter().find(within);
        let span = span.ok_or(io::ErrorKind::UnexpectedEof)?;
        span.read(&*self.source, bytes, (at - span.to.at) / span.to.width())
    }
}

impl Span {
    /// The index in the source of a number.
    fn source_index(&self, mut index: u64) -> Option<u64> {
        let (mut found, mut place) = (0, 1);
        while index > 0 {
            let tile = index % self.to_base;
            if tile >= self.from_base {
                return None;
            }
            found += tile * place;
            place *= self.from_base;
            index /= self.to_base;
        }
        Some(found)
    }

    /// Reads the part of the source that contains all numbers from `first` on, and picks them.
    fn read(&self, source: &dyn ReadAt, bytes: &mut [u8], first: u64) -> io::Result<()> {
        let width = self.to.width() as usize;
        let count = (bytes.len() / width) as u64;
        let indices = || (first..first + count).map(|index| self.source_index(index));
        bytes.fill(0);
        // The order is the same in both bases.
        let Some(low) = indices().flatten().next() else {
            return Ok(());
        };
        let high = indices().flatten().last().unwrap_or(low);
        let mut found = vec![0; (high - low + 1) as usize * width];
        source.read_at(&mut found, self.from.at + low * width as u64)?;
        for (number, index) in bytes.chunks_exact_mut(width).zip(indices()) {
            if let Some(index) = index {
                let at = (index - low) as usize * width;
                number.copy_from_slice(&found[at..at + width]);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use afterstate::format::floats::Float;

    use super::*;

    /// A file of floats that tell their index.
    struct Numbered;

    impl ReadAt for Numbered {
        fn read_at(&self, bytes: &mut [u8], at: u64) -> io::Result<()> {
            for (number, index) in bytes.chunks_exact_mut(4).zip(at / 4..) {
                number.copy_from_slice(&(index as f32).to_le_bytes());
            }
            Ok(())
        }
    }

    /// Three cells, read in pieces of any length, agree with the digits of each index.
    #[test]
    fn pieces_of_any_length_agree_with_the_digits() {
        for (from_base, to_base) in [(15_u64, 16_u64), (16, 15)] {
            let mut source = Rebased::new(Box::new(Numbered));
            let from = TensorSpan {
                tensor: "012".to_owned(),
                float: Some(Float::F32),
                count: from_base.pow(3),
                at: 0,
            };
            let to = source.add(from, 3, (from_base, to_base));
            assert_eq!(to.count, to_base.pow(3));
            for length in [1, 7, 16, to.count] {
                let mut all = Vec::new();
                for first in (0..to.count).step_by(length as usize) {
                    let mut bytes = vec![1; 4 * length.min(to.count - first) as usize];
                    source.read_at(&mut bytes, 4 * first).unwrap();
                    all.extend(bytes);
                }
                for (number, index) in all.chunks_exact(4).zip(0..) {
                    let [a, b, c] = [1, to_base, to_base * to_base].map(|p| index / p % to_base);
                    let known = [a, b, c].iter().all(|&tile| tile < from_base);
                    let expected = if known {
                        (a + from_base * (b + from_base * c)) as f32
                    } else {
                        0.0
                    };
                    assert_eq!(number, expected.to_le_bytes(), "{index} by {length}");
                }
            }
            assert!(source.read_at(&mut [0; 8], to.bytes() - 4).is_err());
        }
    }
}
