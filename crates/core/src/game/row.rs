//! All 65,536 rows of four cells, slid both ways beforehand by the slow rule.
//!
//! A slide of a 4x4 board is then four table reads. Both directions of a row earn the same: equal
//! neighbours form runs, and a run of n tiles makes n/2 merges from either end.

use std::sync::LazyLock;

use super::grid::slide_line;

/// The three tables: 128, 128 and 256 KiB, of which play touches a small part.
pub(super) struct Rows {
    left: Box<[u16; 65_536]>,
    right: Box<[u16; 65_536]>,
    reward: Box<[u32; 65_536]>,
}

impl Rows {
    /// The tables, made once a program.
    pub(super) fn get() -> &'static Self {
        static ROWS: LazyLock<Rows> = LazyLock::new(Rows::build);
        &ROWS
    }

    fn build() -> Self {
        let mut rows = Self {
            left: Box::new([0; 65_536]),
            right: Box::new([0; 65_536]),
            reward: Box::new([0; 65_536]),
        };
        for row in 0..=u16::MAX {
            let mut tiles = unpack(row);
            rows.reward[usize::from(row)] = slide_line(&mut tiles);
            rows.left[usize::from(row)] = pack(tiles);

            let mut tiles = unpack(row);
            tiles.reverse();
            slide_line(&mut tiles);
            tiles.reverse();
            rows.right[usize::from(row)] = pack(tiles);
        }
        rows
    }

    /// The row slid towards its first cell.
    #[inline(always)]
    pub(super) fn left(&self, row: u16) -> u16 {
        self.left[usize::from(row)]
    }

    /// The row slid towards its last cell.
    #[inline(always)]
    pub(super) fn right(&self, row: u16) -> u16 {
        self.right[usize::from(row)]
    }

    /// What either slide earns.
    #[inline(always)]
    pub(super) fn reward(&self, row: u16) -> u32 {
        self.reward[usize::from(row)]
    }
}

fn unpack(row: u16) -> [u8; 4] {
    [0, 4, 8, 12].map(|shift| (row >> shift & 15) as u8)
}

/// Two 32768-tiles make a tile that does not fit into four bits. Such a row is packed as if it did
/// not merge, and never read: [`Classic`](super::Classic) takes the slow path for these boards.
fn pack(tiles: [u8; 4]) -> u16 {
    tiles
        .iter()
        .rev()
        .fold(0, |row, &tile| row << 4 | u16::from(tile.min(15)))
}

#[cfg(test)]
mod tests {
    use super::super::{Direction, GridBoard, Shape};
    use super::*;

    /// Every row against the slow board, where one row of a 2x4 board does not touch the other.
    #[test]
    fn every_row_agrees_with_the_slow_rule() {
        let rows = Rows::get();
        let shape = Shape::new(2, 4).unwrap();
        for row in 0..=u16::MAX {
            let tiles = unpack(row);
            if tiles.iter().filter(|&&t| t == 15).count() > 1 {
                continue;
            }
            let board = GridBoard::from_tiles(shape, &[&tiles[..], &[0; 4]].concat()).unwrap();
            for (direction, fast) in [
                (Direction::Left, rows.left(row)),
                (Direction::Right, rows.right(row)),
            ] {
                let (slow, reward) = board.slide(direction).unwrap_or((board, 0));
                assert_eq!(
                    slow.tiles()[..4],
                    unpack(fast),
                    "row {row:04x} {direction:?}"
                );
                assert_eq!(reward, rows.reward(row), "row {row:04x} {direction:?}");
            }
        }
    }
}
