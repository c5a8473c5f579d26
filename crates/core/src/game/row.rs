//! All 65,536 rows of four cells, slid in both directions by the slow rule at first use.
//!
//! A slide of a 4x4 board is then four table reads. Both directions of a row earn the same: equal
//! neighbours form runs, and a run of n tiles makes n/2 merges from either end.

use std::sync::LazyLock;

use super::{PowersOfTwo, Rules};

/// A row slid in both directions. The three fields are adjacent, so that a row costs one read: 512
/// KiB in all, of which play touches a small part.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SlidRow {
    /// The row slid towards its first cell.
    pub(super) left: u16,
    /// The row slid towards its last cell.
    pub(super) right: u16,
    /// The reward of either slide.
    pub(super) reward: u32,
}

/// All rows, by their packed cells.
pub(super) struct Rows(Box<[SlidRow; 65_536]>);

impl Rows {
    /// The table, built once per process.
    pub(super) fn get() -> &'static Self {
        static ROWS: LazyLock<Rows> = LazyLock::new(Rows::build);
        &ROWS
    }

    fn build() -> Self {
        let mut rows = Box::new([SlidRow::default(); 65_536]);
        for (packed, row) in (0..=u16::MAX).zip(rows.iter_mut()) {
            let mut tiles = unpack(packed);
            row.reward = PowersOfTwo.slide_line(&mut tiles);
            row.left = pack(tiles);

            let mut tiles = unpack(packed);
            tiles.reverse();
            PowersOfTwo.slide_line(&mut tiles);
            tiles.reverse();
            row.right = pack(tiles);
        }
        Self(rows)
    }

    /// The row with these packed cells.
    #[inline(always)]
    pub(super) fn row(&self, packed: u16) -> SlidRow {
        self.0[usize::from(packed)]
    }
}

fn unpack(row: u16) -> [u8; 4] {
    [0, 4, 8, 12].map(|shift| (row >> shift & 15) as u8)
}

/// Two 32768-tiles make a tile that does not fit into four bits. Such a row is packed as if it did
/// not merge, and never read: [`Fast2048`](super::Fast2048) takes the slow path for these boards.
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

    /// Checks every row against the slow board; the two rows of a 2x4 board do not interact.
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
                (Direction::Left, rows.row(row).left),
                (Direction::Right, rows.row(row).right),
            ] {
                let (slow, reward) = board.slide(&PowersOfTwo, direction).unwrap_or((board, 0));
                assert_eq!(
                    slow.tiles()[..4],
                    unpack(fast),
                    "row {row:04x} {direction:?}"
                );
                assert_eq!(reward, rows.row(row).reward, "row {row:04x} {direction:?}");
            }
        }
    }
}
