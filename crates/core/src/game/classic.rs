//! 2048 on the 4x4 board: the fast path, equal in every result to [`Grid`](super::Grid) 4x4.

use std::fmt;

use super::board::transpose;
use super::row::Rows;
use super::{
    After, Arrival, Board, Direction, Game, Luck, Rules, Shape, Slides, State, TWOS_TILES, Twos,
};

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
            grid.slide(&Twos, direction)
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

    #[inline(always)]
    fn rules(&self) -> &dyn Rules {
        &Twos
    }

    fn blank(&self) -> Self::After {
        After(Board::EMPTY)
    }

    fn unslid(&self, State(board): Self::State) -> Self::After {
        After(board)
    }

    #[inline(always)]
    fn slides(&self, State(board): Self::State) -> Slides<Self::After> {
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
    fn entries(&self, After(board): Self::After) -> u32 {
        board.empty_cells()
    }

    #[inline(always)]
    fn for_each_arrival(&self, _: Self::After, mut visit: impl FnMut(Arrival, f64)) {
        for (tile, chance) in TWOS_TILES {
            visit(Arrival::of(tile), chance);
        }
    }

    #[inline(always)]
    fn place(&self, After(board): Self::After, cell: usize, arrival: Arrival) -> Self::State {
        State(board.with(cell, arrival.tile))
    }

    fn state(&self, tiles: &[u8], luck: Luck) -> Option<Self::State> {
        let possible = Twos.is_possible(Shape::FOUR, tiles, luck);
        let tiles: &[u8; 16] = tiles.try_into().ok()?;
        possible.then(|| State(Board::from_tiles(tiles)))
    }
}
