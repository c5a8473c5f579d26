//! 2584 on the 4x4 board: a fast path with the same results as [`Grid`](super::Grid) 4x4.
//!
//! The 2584-tile has index 17, so four bits a cell are not enough: a cell takes a byte. A table of
//! all lines, packed with five bits a cell, gives the slid line.

use std::fmt;
use std::sync::LazyLock;

use super::symmetry::canonical;
use super::{
    After, ChanceState, Direction, Fibonacci, Game, Position, Rules, Shape, Slides, Spawn, State,
};

/// Sixteen cells of tile indices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FibonacciBoard([u8; 16]);

impl Position for FibonacciBoard {
    type Key = u128;

    #[inline(always)]
    fn shape(self) -> Shape {
        Shape::FOUR
    }

    #[inline(always)]
    fn cell(self, i: usize) -> u8 {
        self.0[i]
    }

    fn key(self) -> u128 {
        let digits = self.0.iter().rev();
        digits.fold(0, |key, &tile| key << BITS | u128::from(tile))
    }

    fn canonical(self) -> Self {
        canonical(Shape::FOUR, |sources| {
            Self(std::array::from_fn(|i| self.0[sources[i]]))
        })
    }
}

/// Bits of a cell in a packed line.
const BITS: u32 = 5;

/// A line slid towards its first cell, and the reward.
#[derive(Clone, Copy)]
struct Line {
    tiles: [u8; 4],
    reward: u32,
}

/// All lines, by their packed cells.
static LINES: LazyLock<Box<[Line]>> = LazyLock::new(|| {
    let line = |packed: u32| {
        let mut tiles = [0, 1, 2, 3].map(|k| (packed >> (BITS * k) & 31) as u8);
        let reward = Fibonacci::OneTwo.slide_line(&mut tiles);
        Line { tiles, reward }
    };
    (0..1 << (4 * BITS)).map(line).collect()
});

/// The cells of every line, starting at the wall that the tiles slide to.
const LINE_CELLS: [[[usize; 4]; 4]; 4] = {
    let mut lines = [[[0; 4]; 4]; 4];
    let mut line = 0;
    while line < 4 {
        let mut k = 0;
        while k < 4 {
            lines[Direction::Up as usize][line][k] = 4 * k + line;
            lines[Direction::Right as usize][line][k] = 4 * line + 3 - k;
            lines[Direction::Down as usize][line][k] = 4 * (3 - k) + line;
            lines[Direction::Left as usize][line][k] = 4 * line + k;
            k += 1;
        }
        line += 1;
    }
    lines
};

/// 2584 on 4x4.
#[derive(Clone, Copy)]
pub struct FastFibonacci {
    rules: Fibonacci,
    lines: &'static [Line],
}

impl FastFibonacci {
    /// Creates the game in this variant; the first call builds the table of lines.
    pub fn new(rules: Fibonacci) -> Self {
        Self {
            rules,
            lines: &LINES,
        }
    }
}

impl fmt::Debug for FastFibonacci {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FastFibonacci({:?})", self.rules)
    }
}

impl Game for FastFibonacci {
    type Board = FibonacciBoard;

    fn shape(&self) -> Shape {
        Shape::FOUR
    }

    #[inline(always)]
    fn rules(&self) -> &dyn Rules {
        &self.rules
    }

    fn empty(&self) -> After<Self::Board> {
        After(FibonacciBoard([0; 16]))
    }

    fn as_afterstate(&self, State(board): State<Self::Board>) -> After<Self::Board> {
        After(board)
    }

    #[inline(always)]
    fn slides(&self, State(board): State<Self::Board>) -> Slides<Self::Board> {
        Slides::new(board, |direction| {
            let (mut after, mut reward) = ([0; 16], 0);
            for cells in &LINE_CELLS[direction as usize] {
                let pack = |line: u32, &cell: &usize| line << BITS | u32::from(board.0[cell]);
                let line = self.lines[cells.iter().rev().fold(0, pack) as usize];
                for (&cell, tile) in cells.iter().zip(line.tiles) {
                    after[cell] = tile;
                }
                reward += line.reward;
            }
            (after != board.0).then_some((After(FibonacciBoard(after)), reward))
        })
    }

    #[inline(always)]
    fn spawn_cells(&self, After(board): After<Self::Board>) -> u32 {
        let bit = |(i, &tile): (usize, &u8)| u32::from(tile == 0) << i;
        board.0.iter().enumerate().map(bit).sum()
    }

    #[inline(always)]
    fn for_each_new_tile(&self, _: After<Self::Board>, mut visit: impl FnMut(Spawn, f64)) {
        for &(tile, chance) in self.rules.tiles() {
            visit(Spawn::of(tile), chance);
        }
    }

    #[inline(always)]
    fn place(
        &self,
        After(mut board): After<Self::Board>,
        cell: usize,
        spawn: Spawn,
    ) -> State<Self::Board> {
        debug_assert_eq!(board.0[cell], 0, "cell {cell} is occupied");
        board.0[cell] = spawn.tile;
        State(board)
    }

    fn state(&self, tiles: &[u8], chance_state: ChanceState) -> Option<State<Self::Board>> {
        let possible = self.rules.is_possible(Shape::FOUR, tiles, chance_state);
        let cells = tiles.try_into().ok()?;
        possible.then_some(State(FibonacciBoard(cells)))
    }
}
