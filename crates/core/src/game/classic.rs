//! 2048 on the 4x4 board: the fast path, equal in every result to [`Grid`](super::Grid) 4x4.

use std::fmt;

use super::board::transpose;
use super::grid::possible;
use super::row::Rows;
use super::{After, Board, Direction, Game, Shape, Slides, Spawns, State};
use crate::random::Rng;

/// A new tile of 2048: 2 in nine of ten cases, else 4.
pub const CLASSIC_SPAWNS: [(u8, f64); 2] = [(1, 0.9), (2, 0.1)];

/// 2048 on 4x4.
#[derive(Clone, Copy)]
pub struct Classic {
    rows: &'static Rows,
}

impl Classic {
    /// The game, with its row tables made.
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

    /// Boards on which a tile beyond 32768 is, or could come next.
    #[cold]
    fn slow_slides(board: Board) -> Slides<After<Board>> {
        let grid = board.to_grid();
        Slides::new(After(board), |direction| {
            grid.slide(direction)
                .map(|(after, reward)| (After(Board::from_grid(after)), reward))
        })
    }
}

impl Default for Classic {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Classic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Classic")
    }
}

impl Game for Classic {
    type State = State<Board>;
    type After = After<Board>;

    fn shape(&self) -> Shape {
        Shape::FOUR
    }

    fn face(&self, tile: u8) -> u64 {
        if tile == 0 { 0 } else { 1 << tile }
    }

    fn largest_tile(&self) -> u8 {
        17
    }

    fn for_each_start(&self, mut visit: impl FnMut(Self::State, f64)) {
        self.for_each_spawn(After(Board::EMPTY), |State(first), chance| {
            self.for_each_spawn(After(first), |second, then| visit(second, chance * then));
        });
    }

    fn start(&self, rng: &mut Rng) -> Self::State {
        let State(first) = self.spawn(After(Board::EMPTY), rng);
        self.spawn(After(first), rng)
    }

    #[inline(always)]
    fn slides(&self, State(board): Self::State) -> Slides<Self::After> {
        if board.needs_slow_slide() {
            return Self::slow_slides(board);
        }
        let (after, reward) = self.slide_rows(board.packed());
        Slides::new(After(board), |direction: Direction| {
            let i = direction as usize;
            (after[i] != board.packed()).then(|| (After(Board::from_packed(after[i])), reward[i]))
        })
    }

    #[inline(always)]
    fn spawns(&self, After(board): Self::After) -> Spawns {
        Spawns {
            cells: board.empty_cells(),
            tiles: &CLASSIC_SPAWNS,
        }
    }

    #[inline(always)]
    fn place(&self, After(board): Self::After, cell: usize, tile: u8) -> Self::State {
        State(board.with(cell, tile))
    }

    fn state(&self, tiles: &[u8]) -> Option<Self::State> {
        let tiles: &[u8; 16] = tiles.try_into().ok()?;
        possible(Shape::FOUR, tiles).then(|| State(Board::from_tiles(tiles)))
    }
}
