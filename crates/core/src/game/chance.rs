//! The state of the random process between two spawns.
//!
//! Some games draw their tiles from a bag, or show the next tile in advance. A [`ChanceState`] is
//! what the next spawn depends on apart from the board: a hint, which the player sees, and memory
//! that only the rules of the game interpret. Games with independent spawns, such as 2048, always
//! have [`ChanceState::NONE`].

use std::fmt;

/// What the next spawn depends on apart from the board.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ChanceState {
    /// Three numbers below 8; only the game's [`Rules`](super::Rules) interpret them.
    pub memory: [u8; 3],
    /// The hint about the next tile: its index, [`ChanceState::BONUS`], or 0 where the game shows
    /// none.
    pub hint: u8,
}

impl ChanceState {
    /// No memory and no hint.
    pub const NONE: Self = Self {
        memory: [0; 3],
        hint: 0,
    };
    /// The hint for a bonus tile, whose index is not known in advance.
    pub const BONUS: u8 = 4;
    /// The number of different hints, in games that show them.
    pub const HINTS: usize = 4;
    /// The number of bits of [`ChanceState::packed`].
    pub const BITS: u32 = 12;

    /// Packs the chance state into [`ChanceState::BITS`] bits.
    #[inline(always)]
    pub fn packed(self) -> u16 {
        let [first, second, third] = self.memory.map(u16::from);
        first | second << 3 | third << 6 | u16::from(self.hint) << 9
    }

    /// The inverse of [`ChanceState::packed`].
    #[inline(always)]
    pub fn unpacked(bits: u16) -> Self {
        let three_bits = |shift: u32| (bits >> shift & 7) as u8;
        Self {
            memory: [0, 3, 6].map(three_bits),
            hint: three_bits(9),
        }
    }
}

/// The hint as written after a board in text, `+2` or `+bonus`; empty where there is none.
impl fmt::Display for ChanceState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.hint {
            0 => Ok(()),
            Self::BONUS => f.write_str("+bonus"),
            tile => write!(f, "+{tile}"),
        }
    }
}

/// A spawned tile, and the chance state after it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spawn {
    /// The tile's index.
    pub tile: u8,
    /// The chance state after the spawn.
    pub chance_state: ChanceState,
}

impl Spawn {
    /// A tile in a game without chance state.
    #[inline(always)]
    pub fn of(tile: u8) -> Self {
        Self {
            tile,
            chance_state: ChanceState::NONE,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packed_chance_states_are_read_back() {
        for memory in [[0, 0, 0], [1, 0, 1], [4, 4, 4], [3, 2, 0]] {
            for hint in 0..=ChanceState::BONUS {
                let chance_state = ChanceState { memory, hint };
                assert!(u32::from(chance_state.packed()) < 1 << ChanceState::BITS);
                assert_eq!(ChanceState::unpacked(chance_state.packed()), chance_state);
            }
        }
    }
}
