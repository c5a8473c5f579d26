//! 2584: the slide of 2048 with Fibonacci tiles 1, 2, 3, 5, 8, ..., index 1, 2, 3, 4, 5, ...
//!
//! Neighbours in the sequence merge into their sum, the next number in it; two 1-tiles merge, too.

use super::{Rules, slide_all_the_way};
use crate::game::{ChanceState, Shape, Spawn};

/// The rules of 2584, in two variants that differ in the spawned tiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fibonacci {
    /// A spawned tile is 1 or, with probability 1/10, 2.
    OneTwo,
    /// A spawned tile is 1 or, with probability 1/4, 3.
    OneThree,
}

impl Fibonacci {
    /// The largest tile index on any board: 2,178,309, more than any observed game has reached. Two
    /// tiles that would make a larger one do not merge.
    pub const LARGEST: u8 = 31;

    /// The spawned tiles with their probabilities.
    pub const fn tiles(self) -> &'static [(u8, f64); 2] {
        match self {
            Self::OneTwo => &[(1, 0.9), (2, 0.1)],
            Self::OneThree => &[(1, 0.75), (3, 0.25)],
        }
    }
}

fn merge(ahead: u8, tile: u8) -> Option<u8> {
    let made = match ahead.abs_diff(tile) {
        0 if tile == 1 => 2,
        1 => ahead.max(tile) + 1,
        _ => return None,
    };
    (made <= Fibonacci::LARGEST).then_some(made)
}

impl Rules for Fibonacci {
    #[inline(always)]
    fn tile_value(&self, tile: u8) -> u64 {
        TILE_VALUES[usize::from(tile.min(Self::LARGEST))]
    }

    /// The largest tile takes one cell and the other cells build its neighbour, so each cell adds
    /// two to the index.
    fn largest_tile(&self, shape: Shape) -> u8 {
        let alone = self.tiles()[1].0;
        (alone + 2 * (shape.cells() as u8 - 1)).min(Self::LARGEST)
    }

    fn slide_line(&self, line: &mut [u8]) -> u32 {
        slide_all_the_way(line, merge, |tile| self.tile_value(tile))
    }

    fn is_possible(&self, shape: Shape, tiles: &[u8], chance_state: ChanceState) -> bool {
        let known = tiles.iter().all(|&tile| tile <= self.largest_tile(shape));
        known && tiles.len() == shape.cells() && chance_state == ChanceState::NONE
    }

    #[inline(always)]
    fn for_each_new_tile(
        &self,
        _: Shape,
        _: ChanceState,
        _largest: u8,
        visit: &mut dyn FnMut(Spawn, f64),
    ) {
        for &(tile, chance) in self.tiles() {
            visit(Spawn::of(tile), chance);
        }
    }

    fn tile_bits(&self, shape: Shape) -> usize {
        if self.largest_tile(shape) < 16 { 4 } else { 5 }
    }

    /// 2584.
    fn goal_tile(&self) -> Option<u8> {
        Some(17)
    }

    fn uniform_spawns(&self) -> Option<&'static [(u8, f64)]> {
        Some(self.tiles())
    }
}

/// 0, 1, 2, 3, 5, 8, ...
const TILE_VALUES: [u64; Fibonacci::LARGEST as usize + 1] = {
    let mut tile_values = [0; Fibonacci::LARGEST as usize + 1];
    tile_values[1] = 1;
    tile_values[2] = 2;
    let mut tile = 3;
    while tile < tile_values.len() {
        tile_values[tile] = tile_values[tile - 1] + tile_values[tile - 2];
        tile += 1;
    }
    tile_values
};

#[cfg(test)]
mod tests {
    use super::*;

    fn slid(line: &[u8]) -> (Vec<u8>, u32) {
        let mut line = line.to_vec();
        let reward = Fibonacci::OneTwo.slide_line(&mut line);
        (line, reward)
    }

    #[test]
    fn neighbours_of_the_sequence_merge() {
        assert_eq!(Fibonacci::OneTwo.tile_value(17), 2584);
        assert_eq!(slid(&[1, 1, 0, 0]), (vec![2, 0, 0, 0], 2));
        assert_eq!(slid(&[2, 2, 0, 0]), (vec![2, 2, 0, 0], 0));
        assert_eq!(slid(&[1, 2, 0, 0]), (vec![3, 0, 0, 0], 3));
        assert_eq!(slid(&[5, 0, 0, 4]), (vec![6, 0, 0, 0], 13));
        // A tile merges once a slide, and the pair nearest the wall merges first.
        assert_eq!(slid(&[1, 1, 2, 3]), (vec![2, 4, 0, 0], 7));
        assert_eq!(slid(&[3, 1, 1, 0]), (vec![3, 2, 0, 0], 2));
        assert_eq!(slid(&[31, 30, 0, 0]), (vec![31, 30, 0, 0], 0));
    }

    #[test]
    fn a_line_may_earn_more_from_one_side() {
        assert_eq!(slid(&[1, 1, 2, 0]), (vec![2, 2, 0, 0], 2));
        assert_eq!(slid(&[0, 2, 1, 1]), (vec![3, 1, 0, 0], 3));
    }
}
