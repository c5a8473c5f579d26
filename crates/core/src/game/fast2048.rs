//! 2048 on the 4x4 board: a fast path with the same results as [`Grid`](super::Grid) 4x4.

use std::fmt;

use super::board::transpose;
use super::row::Rows;
use super::{
    After, Board, ChanceState, Direction, Game, POWERS_OF_TWO_SPAWNS, Position, PowersOfTwo, Rules,
    Shape, Slides, Spawn, State,
};

/// 2048 on 4x4.
#[derive(Clone, Copy)]
pub struct Fast2048 {
    rows: &'static Rows,
}

impl Fast2048 {
    /// Creates the game; the first call builds the row tables.
    pub fn new() -> Self {
        Self { rows: Rows::get() }
    }

    /// All four slides at once: left and right from the rows, up and down from the columns.
    #[inline(always)]
    fn slide_rows(&self, cells: u64) -> ([u64; 4], [u32; 4]) {
        let columns = transpose(cells);
        let (left, right, across) = self.slide_lines(cells);
        let (up, down, along) = self.slide_lines(columns);
        (
            [transpose(up), right, transpose(down), left],
            [along, across, along, across],
        )
    }

    #[inline(always)]
    fn slide_lines(&self, lines: u64) -> (u64, u64, u32) {
        let (mut left, mut right, mut reward) = (0, 0, 0);
        for shift in [0, 16, 32, 48] {
            let row = self.rows.row((lines >> shift) as u16);
            left |= u64::from(row.left) << shift;
            right |= u64::from(row.right) << shift;
            reward += row.reward;
        }
        (left, right, reward)
    }

    /// Slides for boards that have, or could make, a tile beyond 32768.
    #[cold]
    fn slow_slides(board: Board) -> Slides<Board> {
        let grid = board.to_grid();
        Slides::new(board, |direction| {
            grid.slide(&PowersOfTwo, direction)
                .map(|(after, reward)| (After(Board::from_grid(after)), reward))
        })
    }
}

impl Default for Fast2048 {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Fast2048 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Fast2048")
    }
}

impl Game for Fast2048 {
    type Board = Board;

    fn shape(&self) -> Shape {
        Shape::FOUR
    }

    #[inline(always)]
    fn rules(&self) -> &dyn Rules {
        &PowersOfTwo
    }

    fn empty(&self) -> After<Self::Board> {
        After(Board::EMPTY)
    }

    fn as_afterstate(&self, State(board): State<Self::Board>) -> After<Self::Board> {
        After(board)
    }

    #[inline(always)]
    fn slides(&self, State(board): State<Self::Board>) -> Slides<Self::Board> {
        if board.needs_slow_slide() {
            return Self::slow_slides(board);
        }
        let (after, reward) = self.slide_rows(board.packed());
        Slides::of(|direction: Direction| {
            let i = direction as usize;
            let slid = After(Board::from_packed(after[i]));
            (slid, reward[i], after[i] != board.packed())
        })
    }

    #[inline(always)]
    fn spawn_cells(&self, After(board): After<Self::Board>) -> u32 {
        board.empty_cells()
    }

    #[inline(always)]
    fn for_each_new_tile(&self, _: After<Self::Board>, mut visit: impl FnMut(Spawn, f64)) {
        for (tile, chance) in POWERS_OF_TWO_SPAWNS {
            visit(Spawn::of(tile), chance);
        }
    }

    #[inline(always)]
    fn place(
        &self,
        After(board): After<Self::Board>,
        cell: usize,
        spawn: Spawn,
    ) -> State<Self::Board> {
        State(board.with(cell, spawn.tile))
    }

    fn state(&self, tiles: &[u8], chance_state: ChanceState) -> Option<State<Self::Board>> {
        let possible = PowersOfTwo.is_possible(Shape::FOUR, tiles, chance_state);
        let tiles: &[u8; 16] = tiles.try_into().ok()?;
        possible.then(|| State(Board::from_tiles(tiles)))
    }
}
