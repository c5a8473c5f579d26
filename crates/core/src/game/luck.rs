//! What chance remembers between two tiles: a bag from which tiles are drawn, and the tile that it shows beforehand.
//!
//! Games without memory, such as 2048, have [`Luck::NONE`] throughout.

use std::fmt;

/// The bag and the tile shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Luck {
    /// How many tiles of index 1, 2 and 3 are left in the bag. An empty bag is filled before the next tile is drawn.
    pub bag: [u8; 3],
    /// The tile to come: its index, [`Luck::BONUS`], or 0 where none is shown.
    pub hint: u8,
}

impl Luck {
    /// Nothing to remember.
    pub const NONE: Self = Self {
        bag: [0; 3],
        hint: 0,
    };
    /// Shown for any tile that does not come from the bag.
    pub const BONUS: u8 = 4;
    /// How many different hints there are, where there are any.
    pub const HINTS: usize = 4;
    /// The bits of a packed luck.
    pub const BITS: u32 = 12;

    /// In a number of [`Luck::BITS`] bits.
    #[inline(always)]
    pub fn packed(self) -> u16 {
        let [one, two, three] = self.bag.map(u16::from);
        one | two << 3 | three << 6 | u16::from(self.hint) << 9
    }

    /// From [`Luck::packed`].
    #[inline(always)]
    pub fn unpacked(bits: u16) -> Self {
        let three_bits = |shift: u32| (bits >> shift & 7) as u8;
        Self {
            bag: [0, 3, 6].map(three_bits),
            hint: three_bits(9),
        }
    }

    /// Without one tile of the bag.
    #[inline(always)]
    pub(super) fn without(mut self, tile: u8) -> Self {
        self.bag[usize::from(tile) - 1] -= 1;
        self
    }
}

/// As it follows a board in text: `+2` for a hint, nothing where none is shown.
impl fmt::Display for Luck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.hint {
            0 => Ok(()),
            Self::BONUS => f.write_str("+bonus"),
            tile => write!(f, "+{tile}"),
        }
    }
}

/// A new tile, and what chance remembers from then on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arrival {
    /// The tile's index.
    pub tile: u8,
    /// The luck after it.
    pub luck: Luck,
}

impl Arrival {
    /// A tile of a game without memory.
    #[inline(always)]
    pub fn of(tile: u8) -> Self {
        Self {
            tile,
            luck: Luck::NONE,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packed_luck_is_read_back() {
        for bag in [[0, 0, 0], [1, 0, 1], [4, 4, 4], [3, 2, 0]] {
            for hint in 0..=Luck::BONUS {
                let luck = Luck { bag, hint };
                assert!(u32::from(luck.packed()) < 1 << Luck::BITS);
                assert_eq!(Luck::unpacked(luck.packed()), luck);
            }
        }
    }
}
