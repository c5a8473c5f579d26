//! Stages: parts of a game with tables of their own (Wu et al. 2014; Yeh et al. 2016; Jaskowski
//! 2018).
//!
//! A position's tiles are one number: bit i is set if some cell shows tile i. In 2048 it is the sum
//! of the different tiles on the board. The stage of a position is the number of thresholds that
//! this number has reached: `16384` means that the largest tile is at least 16384, `16384 + 8192`
//! that there is an 8192-tile beside a 16384-tile, or something larger. So a stage depends on the
//! position alone, and symmetric positions have the same.
//!
//! **Weight promotion** (Jaskowski 2018): a weight of stage k starts from that of stage k-1. The
//! papers copy it when it is first read. We copy it when it is first updated, and until then a
//! lookup reads it in the nearest earlier stage that has it. Reading writes nothing, so that games
//! of an evaluation neither change a network nor take memory. A weight that no update has reached
//! has the bits of +0, those of new memory; one that was updated to 0 is stored as -0, which is
//! equal in every sum.
//!
//! Without stages none of this costs anything: the tables have one bank, and no index moves.

use crate::game::Position;

/// The stages of a network, by thresholds. The default is one stage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stages {
    /// Ascending sets of tiles, bit i for tile i.
    thresholds: Vec<u32>,
    promotion: bool,
}

impl Default for Stages {
    fn default() -> Self {
        Self {
            thresholds: Vec::new(),
            promotion: true,
        }
    }
}

impl Stages {
    /// The largest number of stages.
    pub const MOST: usize = 32;

    /// A stage begins at each of these sets of tiles, bit i for tile i; the first stage has none.
    /// With `promotion` weights start from those of the stage before, otherwise from the initial
    /// value.
    ///
    /// # Panics
    /// When the thresholds are not in ascending order, or 0, or too many.
    pub fn new(thresholds: Vec<u32>, promotion: bool) -> Self {
        assert!(thresholds.is_sorted_by(|a, b| a < b) && !thresholds.contains(&0));
        assert!(thresholds.len() < Self::MOST);
        Self {
            thresholds,
            promotion,
        }
    }

    /// The number of stages.
    pub fn count(&self) -> usize {
        self.thresholds.len() + 1
    }

    /// The sets of tiles at which the second stage begins, the third, ...
    pub fn thresholds(&self) -> &[u32] {
        &self.thresholds
    }

    /// Whether weights of a later stage start from those of the stage before.
    pub fn promotes(&self) -> bool {
        self.promotion && self.count() > 1
    }

    /// Whether each stage of `self` is a stage of `later`, which may have further ones.
    pub fn begins(&self, later: &Self) -> bool {
        let alike = self.count() == 1 || self.promotion == later.promotion;
        alike && later.thresholds.starts_with(&self.thresholds)
    }

    /// The stage of a position, from 0. Tiles beyond `largest` count as this one.
    #[inline(always)]
    pub fn of<B: Position>(&self, position: B, largest: u8) -> usize {
        let Some(first) = self.thresholds.first() else {
            return 0;
        };
        if B::PACKED && largest == 15 && !has_tile_from(position.packed(), first.ilog2()) {
            return 0;
        }
        let cells = 0..position.shape().cells();
        let tiles = cells.fold(0, |tiles, cell| {
            tiles | 1 << position.cell(cell).min(largest)
        });
        self.reached(tiles)
    }

    /// The stage of a board with these tiles, bit i for tile i.
    #[inline(always)]
    fn reached(&self, tiles: u32) -> usize {
        // Bit 0, an empty cell, is no tile, and in no threshold.
        let tiles = tiles & !1;
        let reached = self.thresholds.iter().filter(|&&from| tiles >= from);
        reached.count()
    }
}

/// Whether any cell of a packed board shows this tile or a later one.
#[inline(always)]
fn has_tile_from(packed: u64, tile: u32) -> bool {
    const HIGH: u64 = 0x8888_8888_8888_8888;
    // The sum of three bits and this number carries into the fourth from tile % 8 on.
    let up_to_eight = 0x1111_1111_1111_1111 * u64::from(8 - tile % 8);
    let low = (packed & !HIGH) + up_to_eight;
    let reached = match tile < 8 {
        true => low | packed,
        false => low & packed,
    };
    reached & HIGH != 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::game::{Board, Fast2048, Game, Grid, PowersOfTwo, Shape, State};

    fn tiles(all: &[u32]) -> u32 {
        all.iter().map(|tile| 1 << tile).sum()
    }

    #[test]
    fn a_stage_begins_at_its_tiles() {
        // 16384, 16384 + 8192, 32768.
        let stages = Stages::new(vec![1 << 14, 3 << 13, 1 << 15], true);
        for (board, expected) in [
            (&[][..], 0),
            (&[1, 2, 13], 0),
            (&[14], 1),
            (&[14, 12, 11, 10], 1),
            (&[14, 13], 2),
            (&[14, 13, 12], 2),
            (&[15], 3),
            (&[15, 14, 13], 3),
        ] {
            assert_eq!(stages.reached(tiles(board)), expected, "{board:?}");
            assert_eq!(stages.reached(tiles(board) | 1), expected, "{board:?}");
        }
    }

    #[test]
    fn a_packed_board_has_a_tile_from_here_on_if_a_cell_does() {
        for tile in 1..16 {
            for shown in 0..16_u64 {
                for cell in 0..16 {
                    let packed = shown << (4 * cell);
                    let expected = shown >= u64::from(tile);
                    assert_eq!(has_tile_from(packed, tile), expected, "{packed:x} {tile}");
                }
            }
        }
    }

    #[test]
    fn both_kinds_of_boards_have_the_same_stage() {
        let stages = Stages::new(vec![1 << 5, 1 << 6, 3 << 6, 1 << 11, 1 << 15], true);
        let (fast, slow) = (Fast2048::new(), Grid::new(Shape::FOUR, &PowersOfTwo));
        let mut rng = crate::random::game_rng(1, 1);
        let mut seen = [0; 6];
        for _ in 0..2000 {
            let most = 3 + rng.below(15);
            let tiles: Vec<u8> = (0..16).map(|_| rng.below(most) as u8).collect();
            let chance = crate::game::ChanceState::NONE;
            // Not every board has the tiles of a game.
            let states = (fast.state(&tiles, chance), slow.state(&tiles, chance));
            let (Some(State(board)), Some(State(grid))) = states else {
                continue;
            };
            let stage = stages.of(board, 15);
            assert_eq!(stage, stages.of(grid, 15), "{tiles:?}");
            let largest = u32::from(*tiles.iter().max().unwrap()).min(15);
            assert_eq!(stage == 0, largest < 5);
            seen[stage] += 1;
        }
        assert!(seen.iter().all(|&count| count > 10), "{seen:?}");
        assert_eq!(stages.of(Board::EMPTY, 15), 0);
    }
}
