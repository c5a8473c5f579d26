//! Keys of positions, for hash tables.

use std::fmt;
use std::hash::Hash;

use super::Shape;

/// A number, or a few, that identify a position of a game.
pub trait PositionKey: Copy + Eq + Ord + Hash + fmt::Debug + Send + Sync {
    /// The key in two words. A key of at most 128 bits is these words; a longer one is hashed to
    /// them, so that two keys have the same words with a probability of 2^-128.
    fn words(self) -> [u64; 2];
}

impl PositionKey for u128 {
    #[inline(always)]
    fn words(self) -> [u64; 2] {
        [self as u64, (self >> 64) as u64]
    }
}

/// Cells, chance state and spawn cells of a board of any size.
pub type GridKey = ([u8; Shape::MAX_CELLS], u16, u32);

impl PositionKey for GridKey {
    fn words(self) -> [u64; 2] {
        let (cells, chance_state, spawn_cells) = self;
        let mut bytes = [0; 32];
        bytes[..cells.len()].copy_from_slice(&cells);
        let rest = u64::from(chance_state) << 32 | u64::from(spawn_cells);
        let mut words = [0x243F_6A88_85A3_08D3, 0x1319_8A2E_0370_7344];
        let eights = bytes.as_chunks::<8>().0.iter();
        for word in eights.map(|eight| u64::from_le_bytes(*eight)).chain([rest]) {
            words = [
                fold(words[0] ^ word, 0x9E37_79B9_7F4A_7C15),
                fold(words[1] ^ word, 0xD6E8_FEB8_6659_FD93),
            ];
        }
        words
    }
}

/// The halves of the product of two words, combined.
#[inline(always)]
pub(crate) fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    (product as u64) ^ (product >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_of_a_key_changes_its_words() {
        let key: GridKey = ([3; Shape::MAX_CELLS], 7, 0x1FF_FFFF);
        let mut others = vec![(key.0, 8, key.2), (key.0, key.1, 0)];
        for cell in 0..Shape::MAX_CELLS {
            let mut cells = key.0;
            cells[cell] = 4;
            others.push((cells, key.1, key.2));
        }
        for (n, other) in others.iter().enumerate() {
            let [first, second] = other.words();
            assert!(
                first != key.words()[0] && second != key.words()[1],
                "{other:?}"
            );
            assert!(
                others[..n]
                    .iter()
                    .all(|before| before.words() != [first, second])
            );
        }
        assert_eq!((5_u128 << 64 | 9).words(), [9, 5]);
    }
}
