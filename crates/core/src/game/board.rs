//! The 4x4 board in one 64-bit number: four bits a cell, cell 0 in the lowest bits, 16 bits a row.
//!
//! Four bits reach to 15, the 32768-tile, but play can reach 65,536 and 131,072. Such a cell holds
//! 15, and a second number holds the excess, two bits a cell. Empty cells, symmetries and tuple
//! indices never read the second number (networks do not distinguish tiles from 32768 on), and only
//! slides that could merge two such tiles take the slow path.

use super::symmetry::{canonical, packed_key};
use super::{GridBoard, Position, Shape};

/// Sixteen cells of tile indices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Board {
    cells: u64,
    beyond: u32,
}

/// The lowest bit of every cell.
pub(super) const LOWEST_BITS: u64 = 0x1111_1111_1111_1111;

impl Board {
    /// The board without tiles.
    pub const EMPTY: Self = Self {
        cells: 0,
        beyond: 0,
    };

    /// A board of tiles up to 32768 from its packed cells.
    #[inline(always)]
    pub fn from_packed(cells: u64) -> Self {
        Self { cells, beyond: 0 }
    }

    /// A board from tile indices in row-major order; larger indices than 18 do not occur and are
    /// clamped to 18.
    pub fn from_tiles(tiles: &[u8; 16]) -> Self {
        let mut board = Self::EMPTY;
        for (i, &tile) in tiles.iter().enumerate() {
            board.cells |= u64::from(tile.min(15)) << (4 * i);
            board.beyond |= u32::from(tile.saturating_sub(15).min(3)) << (2 * i);
        }
        board
    }

    /// The tile indices in row-major order.
    pub fn tiles(self) -> [u8; 16] {
        std::array::from_fn(|i| self.cell(i))
    }

    /// Converts the board to the general representation.
    pub fn to_grid(self) -> GridBoard {
        let mut grid = GridBoard::empty(Shape::FOUR);
        for (i, tile) in self.tiles().into_iter().enumerate() {
            grid = grid.with(i, tile);
        }
        grid
    }

    /// Converts a 4x4 board from the general representation.
    pub fn from_grid(grid: GridBoard) -> Self {
        Self::from_tiles(&std::array::from_fn(|i| grid.cell(i)))
    }

    /// Whether a slide could make, or has already made, a tile beyond 32768.
    #[inline(always)]
    pub(super) fn needs_slow_slide(self) -> bool {
        let x = self.cells;
        let full = x & x >> 1 & x >> 2 & x >> 3 & LOWEST_BITS;
        self.beyond != 0 || full & full.wrapping_sub(1) != 0
    }

    /// The empty cells, one bit each.
    #[inline(always)]
    pub fn empty_cells(self) -> u32 {
        empty_cells(self.cells)
    }

    /// The board with a new tile in an empty cell. The tile is at most 15.
    #[inline(always)]
    pub fn with(self, cell: usize, tile: u8) -> Self {
        debug_assert_eq!(self.cell(cell), 0, "cell {cell} is occupied");
        Self {
            cells: self.cells | u64::from(tile) << (4 * cell),
            ..self
        }
    }
}

/// The empty cells of packed cells, one bit each.
#[inline(always)]
pub(super) fn empty_cells(cells: u64) -> u32 {
    let x = cells | cells >> 1;
    let mut bits = !(x | x >> 2) & LOWEST_BITS;
    bits = (bits | bits >> 3) & 0x0303_0303_0303_0303;
    bits = (bits | bits >> 6) & 0x000F_000F_000F_000F;
    bits = (bits | bits >> 12) & 0x0000_00FF_0000_00FF;
    (bits | bits >> 24) as u32 & 0xFFFF
}

/// Packed cells, each in a byte of its own.
#[inline(always)]
fn spread(cells: u64) -> [u8; 16] {
    let eight = |cells: u64| {
        let x = (cells | cells << 16) & 0x0000_FFFF_0000_FFFF;
        let x = (x | x << 8) & 0x00FF_00FF_00FF_00FF;
        (x | x << 4) & 0x0F0F_0F0F_0F0F_0F0F
    };
    let low = u128::from(eight(cells & 0xFFFF_FFFF));
    (low | u128::from(eight(cells >> 32)) << 64).to_le_bytes()
}

/// Swaps rows and columns.
#[inline(always)]
pub(super) fn transpose(x: u64) -> u64 {
    let t = (x ^ x >> 12) & 0x0000_F0F0_0000_F0F0;
    let x = x ^ t ^ t << 12;
    let t = (x ^ x >> 24) & 0x0000_0000_FF00_FF00;
    x ^ t ^ t << 24
}

/// Reverses each row.
#[inline(always)]
fn flip_cols(x: u64) -> u64 {
    let x = (x & 0x00FF_00FF_00FF_00FF) << 8 | (x >> 8 & 0x00FF_00FF_00FF_00FF);
    (x & 0x0F0F_0F0F_0F0F_0F0F) << 4 | (x >> 4 & 0x0F0F_0F0F_0F0F_0F0F)
}

/// Reverses the order of the rows.
#[inline(always)]
fn flip_rows(x: u64) -> u64 {
    let x = x.rotate_left(32);
    (x & 0x0000_FFFF_0000_FFFF) << 16 | (x >> 16 & 0x0000_FFFF_0000_FFFF)
}

/// The symmetric boards of packed cells, in the order of [`Shape::symmetries`].
#[inline(always)]
pub(crate) fn symmetric_boards(x: u64) -> [u64; 8] {
    let upright = [x, flip_cols(x), flip_rows(x), flip_rows(flip_cols(x))];
    let [a, b, c, d] = upright;
    let [e, f, g, h] = upright.map(transpose);
    [a, b, c, d, e, f, g, h]
}

/// XOR of a symmetry's number with this gives the symmetry followed by a rotation by 180 degrees.
pub(crate) const HALF_TURN: usize = 3;

impl Position for Board {
    const PACKED: bool = true;

    type Key = u128;

    #[inline(always)]
    fn shape(self) -> Shape {
        Shape::FOUR
    }

    #[inline(always)]
    fn cell(self, i: usize) -> u8 {
        (self.cells >> (4 * i) & 15) as u8 + (self.beyond >> (2 * i) & 3) as u8
    }

    #[inline(always)]
    fn write_tiles(self, out: &mut [u8]) {
        match <&mut [u8; 16]>::try_from(&mut *out) {
            Ok(out) if self.beyond == 0 => *out = spread(self.cells),
            _ => {
                for (i, out) in out.iter_mut().enumerate() {
                    *out = self.cell(i);
                }
            }
        }
    }

    #[inline(always)]
    fn packed(self) -> u64 {
        self.cells
    }

    #[inline(always)]
    fn key(self) -> u128 {
        packed_key(self.cells, 0, self.beyond)
    }

    fn canonical(self) -> Self {
        if self.beyond == 0 {
            let all = symmetric_boards(self.cells).into_iter();
            return Self::from_packed(all.fold(self.cells, u64::min));
        }
        let tiles = self.tiles();
        canonical(Shape::FOUR, |sources| {
            Self::from_tiles(&std::array::from_fn(|i| tiles[sources[i]]))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::game_rng;

    #[test]
    fn tiles_are_written_as_they_are_read() {
        let mut rng = game_rng(1, 1);
        for n in 0..2_000_u32 {
            let largest = if n % 2 == 0 { 16 } else { 19 };
            let board = Board::from_tiles(&std::array::from_fn(|_| rng.below(largest) as u8));
            let mut tiles = [0; 16];
            board.write_tiles(&mut tiles);
            assert_eq!(tiles, board.tiles());
        }
    }

    #[test]
    fn symmetric_boards_are_those_of_the_shape() {
        let x = game_rng(1, 2).bits();
        for (symmetric, symmetry) in symmetric_boards(x)
            .into_iter()
            .zip(Shape::FOUR.symmetries())
        {
            for (i, &source) in symmetry.iter().enumerate() {
                assert_eq!(symmetric >> (4 * i) & 15, x >> (4 * source) & 15);
            }
        }
        for n in 0..8 {
            let (symmetric, turned) = (symmetric_boards(x)[n], symmetric_boards(x)[n ^ HALF_TURN]);
            assert_eq!(flip_rows(flip_cols(symmetric)), turned);
        }
    }

    #[test]
    fn tiles_beyond_32768_are_kept() {
        let mut tiles = [0u8; 16];
        tiles[3] = 17;
        tiles[9] = 16;
        tiles[15] = 15;
        let board = Board::from_tiles(&tiles);
        assert_eq!(board.tiles(), tiles);
        assert_eq!(Board::from_grid(board.to_grid()), board);
        assert!(board.needs_slow_slide());
        assert_eq!(board.empty_cells(), !(1 << 3 | 1 << 9 | 1 << 15) & 0xFFFF);
    }

    #[test]
    fn the_slow_slide_is_taken_only_when_needed() {
        assert!(!Board::from_packed(0xF).needs_slow_slide());
        assert!(Board::from_packed(0xF000_0000_0000_000F).needs_slow_slide());
        assert!(!Board::from_packed(0xEEEE_7777_BBBB_DDDD).needs_slow_slide());
    }
}
