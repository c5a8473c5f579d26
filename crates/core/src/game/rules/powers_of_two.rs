//! 2048: equal tiles merge into their sum, and a spawned tile is 2 or, with probability 1/10, 4.

use super::{Rules, slide_all_the_way};
use crate::game::{ChanceState, Shape, Spawn};

/// The spawned tiles of 2048: 2 with probability 9/10, else 4.
pub const POWERS_OF_TWO_SPAWNS: [(u8, f64); 2] = [(1, 0.9), (2, 0.1)];

/// The rules of 2048.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PowersOfTwo;

impl Rules for PowersOfTwo {
    #[inline(always)]
    fn tile_value(&self, tile: u8) -> u64 {
        if tile == 0 { 0 } else { 1 << tile }
    }

    fn largest_tile(&self, shape: Shape) -> u8 {
        shape.cells() as u8 + 1
    }

    fn slide_line(&self, line: &mut [u8]) -> u32 {
        let merge = |ahead, tile| (ahead == tile).then_some(tile + 1);
        slide_all_the_way(line, merge, |tile| self.tile_value(tile))
    }

    /// A slide preserves the sum of the tile values, and the fullest board of n cells is 4, 8, ...
    /// 2^(n+1), whose sum is 2^(n+2) - 4.
    fn is_possible(&self, shape: Shape, tiles: &[u8], chance_state: ChanceState) -> bool {
        let cells = shape.cells();
        let known = tiles.iter().all(|&tile| tile <= self.largest_tile(shape));
        let sum = |tiles: &[u8]| tiles.iter().map(|&tile| self.tile_value(tile)).sum::<u64>();
        let counted = tiles.len() == cells && chance_state == ChanceState::NONE;
        counted && known && sum(tiles) <= (1 << (cells + 2)) - 4
    }

    #[inline(always)]
    fn for_each_new_tile(
        &self,
        _: Shape,
        _: ChanceState,
        _largest: u8,
        visit: &mut dyn FnMut(Spawn, f64),
    ) {
        for (tile, chance) in POWERS_OF_TWO_SPAWNS {
            visit(Spawn::of(tile), chance);
        }
    }

    /// 2048.
    fn goal_tile(&self) -> Option<u8> {
        Some(11)
    }

    fn uniform_spawns(&self) -> Option<&'static [(u8, f64)]> {
        Some(&POWERS_OF_TWO_SPAWNS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slid(line: &[u8]) -> (Vec<u8>, u32) {
        let mut line = line.to_vec();
        let reward = PowersOfTwo.slide_line(&mut line);
        (line, reward)
    }

    #[test]
    fn lines_merge_once_and_nearest_the_wall_first() {
        assert_eq!(slid(&[0, 1, 0, 1]), (vec![2, 0, 0, 0], 4));
        assert_eq!(slid(&[1, 1, 1, 0]), (vec![2, 1, 0, 0], 4));
        assert_eq!(slid(&[1, 1, 1, 1]), (vec![2, 2, 0, 0], 8));
        assert_eq!(slid(&[1, 1, 2, 0]), (vec![2, 2, 0, 0], 4));
        assert_eq!(slid(&[2, 1, 1, 0]), (vec![2, 2, 0, 0], 4));
        assert_eq!(slid(&[1, 2, 1, 2]), (vec![1, 2, 1, 2], 0));
        assert_eq!(slid(&[3, 3, 3, 3, 3]), (vec![4, 4, 3, 0, 0], 32));
        assert_eq!(slid(&[16, 0, 0, 16]), (vec![17, 0, 0, 0], 131_072));
    }

    #[test]
    fn impossible_boards_are_refused() {
        let possible = |tiles: &[u8]| {
            let shape = Shape::new(2, 2).unwrap();
            PowersOfTwo.is_possible(shape, tiles, ChanceState::NONE)
        };
        assert!(possible(&[5, 4, 3, 2]), "the fullest board");
        assert!(!possible(&[6, 0, 0, 0]), "a 64-tile");
        assert!(!possible(&[5, 5, 0, 0]), "two 32-tiles");
        assert!(!possible(&[1, 1, 1]), "three cells");
    }
}
