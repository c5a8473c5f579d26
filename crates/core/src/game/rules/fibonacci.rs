//! 2584: 2048's slide with Fibonacci tiles 1, 2, 3, 5, 8, ..., index 1, 2, 3, 4, 5, ...
//!
//! Neighbours in the sequence merge into their sum, which is the next of it, and so do two 1-tiles.

use super::{Rules, slide_all_the_way};
use crate::game::{ChanceState, Shape, Spawn};

/// The rules of 2584, in two variants of its new tiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fibonacci {
    /// A new tile is 1 or, in one of ten cases, 2.
    OneTwo,
    /// A new tile is 1 or, in one of four cases, 3.
    OneThree,
}

impl Fibonacci {
    /// The largest tile index of any board: 2,178,309, more than any game was ever seen to reach. Two tiles
    /// that would make a larger one do not merge.
    pub const LARGEST: u8 = 31;

    /// New tiles with their chances.
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
        FACES[usize::from(tile.min(Self::LARGEST))]
    }

    /// Who has n cells keeps the largest in one and makes its neighbour in the others: each cell is worth two steps.
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
const FACES: [u64; Fibonacci::LARGEST as usize + 1] = {
    let mut faces = [0; Fibonacci::LARGEST as usize + 1];
    faces[1] = 1;
    faces[2] = 2;
    let mut tile = 3;
    while tile < faces.len() {
        faces[tile] = faces[tile - 1] + faces[tile - 2];
        tile += 1;
    }
    faces
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
        // Once a slide, and nearest the wall first.
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
