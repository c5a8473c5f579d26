//! 2048 on any board from 2x2 to 5x5: the slow rule that a beginner can read.
//!
//! Every fast path is built from this file or tested against it: the row tables of the 4x4 board
//! come from [`slide_line`], and whole games of [`Classic`](super::Classic) are compared with games
//! of `Grid` 4x4, move by move.

use super::{After, CLASSIC_SPAWNS, Direction, Game, Position, Shape, Slides, Spawns, State};
use crate::ntuple::{Indices, Plan};
use crate::random::Rng;

/// Cells by rows, each with a tile index: 0 is empty, 1 is the 2-tile, 2 the 4-tile, ...
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct GridBoard {
    shape: Shape,
    cells: [u8; Shape::MAX_CELLS],
}

impl GridBoard {
    /// A board without tiles.
    pub fn empty(shape: Shape) -> Self {
        Self {
            shape,
            cells: [0; Shape::MAX_CELLS],
        }
    }

    /// The board with these tile indices, if there is one for every cell.
    pub fn from_tiles(shape: Shape, tiles: &[u8]) -> Option<Self> {
        let mut board = Self::empty(shape);
        (tiles.len() == shape.cells()).then(|| {
            board.cells[..tiles.len()].copy_from_slice(tiles);
            board
        })
    }

    /// The tile indices by rows.
    pub fn tiles(&self) -> &[u8] {
        &self.cells[..self.shape.cells()]
    }

    /// The board with one more tile.
    pub fn with(mut self, cell: usize, tile: u8) -> Self {
        self.cells[cell] = tile;
        self
    }

    /// The empty cells as bits.
    pub fn empty_cells(&self) -> u32 {
        let bit = |(i, &tile): (usize, &u8)| u32::from(tile == 0) << i;
        self.tiles().iter().enumerate().map(bit).sum()
    }

    /// Slides every line; `None` if that changes nothing.
    pub fn slide(self, direction: Direction) -> Option<(Self, u32)> {
        let (rows, cols) = (self.shape.rows(), self.shape.cols());
        let (lines, length) = match direction {
            Direction::Up | Direction::Down => (cols, rows),
            Direction::Left | Direction::Right => (rows, cols),
        };
        // The k-th cell of a line, counted from the wall that the tiles slide to.
        let cell = |line: usize, k: usize| match direction {
            Direction::Up => k * cols + line,
            Direction::Down => (rows - 1 - k) * cols + line,
            Direction::Left => line * cols + k,
            Direction::Right => line * cols + (cols - 1 - k),
        };
        let mut after = self;
        let mut reward = 0;
        for line in 0..lines {
            let mut tiles = [0; 5];
            for (k, tile) in tiles[..length].iter_mut().enumerate() {
                *tile = self.cells[cell(line, k)];
            }
            reward += slide_line(&mut tiles[..length]);
            for (k, &tile) in tiles[..length].iter().enumerate() {
                after.cells[cell(line, k)] = tile;
            }
        }
        (after != self).then_some((after, reward))
    }
}

/// Slides one line towards its first cell, a tile after the other and a cell at a time, and returns
/// the sum of the tiles that merges made. A tile that was just made does not merge again.
pub(super) fn slide_line(line: &mut [u8]) -> u32 {
    let mut just_made = [false; 5];
    let mut reward = 0;
    for first in 1..line.len() {
        let mut at = first;
        while at > 0 && line[at] != 0 {
            let ahead = at - 1;
            if line[ahead] == 0 {
                line.swap(ahead, at);
                at = ahead;
            } else if line[ahead] == line[at] && !just_made[ahead] {
                line[ahead] += 1;
                line[at] = 0;
                just_made[ahead] = true;
                reward += 1 << line[ahead];
            } else {
                break;
            }
        }
    }
    reward
}

impl Position for GridBoard {
    fn cell(self, i: usize) -> u8 {
        self.cells[i]
    }

    fn indices(four: [Self; 4], plan: &Plan, found: &mut Indices) {
        plan.find(four, |board, cell| board.cells[cell], found);
    }
}

/// 2048 on any board size, one cell at a time.
#[derive(Clone, Copy, Debug)]
pub struct Grid {
    shape: Shape,
}

impl Grid {
    /// The game on this board.
    pub fn new(shape: Shape) -> Self {
        Self { shape }
    }
}

impl Game for Grid {
    type State = State<GridBoard>;
    type After = After<GridBoard>;

    fn shape(&self) -> Shape {
        self.shape
    }

    fn face(&self, tile: u8) -> u64 {
        if tile == 0 { 0 } else { 1 << tile }
    }

    /// With n cells the best that luck allows is 2^(n+1): a 4-tile in the last free cell beside
    /// 4, 8, 16, ... in all the others.
    fn largest_tile(&self) -> u8 {
        self.shape.cells() as u8 + 1
    }

    fn for_each_start(&self, mut visit: impl FnMut(Self::State, f64)) {
        self.for_each_spawn(
            After(GridBoard::empty(self.shape)),
            |State(first), chance| {
                self.for_each_spawn(After(first), |second, then| visit(second, chance * then));
            },
        );
    }

    fn start(&self, rng: &mut Rng) -> Self::State {
        let State(first) = self.spawn(After(GridBoard::empty(self.shape)), rng);
        self.spawn(After(first), rng)
    }

    fn slides(&self, State(board): Self::State) -> Slides<Self::After> {
        Slides::new(After(board), |direction| {
            board
                .slide(direction)
                .map(|(after, reward)| (After(after), reward))
        })
    }

    fn spawns(&self, After(board): Self::After) -> Spawns {
        Spawns {
            cells: board.empty_cells(),
            tiles: &CLASSIC_SPAWNS,
        }
    }

    fn place(&self, After(board): Self::After, cell: usize, tile: u8) -> Self::State {
        State(board.with(cell, tile))
    }

    fn state(&self, tiles: &[u8]) -> Option<Self::State> {
        if !possible(self.shape, tiles) {
            return None;
        }
        GridBoard::from_tiles(self.shape, tiles).map(State)
    }
}

/// Whether a board can hold these tiles at all. A slide keeps the sum of the faces, and the fullest
/// board of n cells is 4, 8, ... 2^(n+1), whose sum is 2^(n+2) - 4.
pub(super) fn possible(shape: Shape, tiles: &[u8]) -> bool {
    let cells = shape.cells();
    let known = tiles.len() == cells && tiles.iter().all(|&tile| usize::from(tile) <= cells + 1);
    let sum = |tiles: &[u8]| {
        tiles
            .iter()
            .filter(|&&t| t > 0)
            .map(|&t| 1u64 << t)
            .sum::<u64>()
    };
    known && sum(tiles) <= (1u64 << (cells + 2)) - 4
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slid(line: &[u8]) -> (Vec<u8>, u32) {
        let mut line = line.to_vec();
        let reward = slide_line(&mut line);
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
    fn directions_are_what_they_say() {
        let shape = Shape::new(2, 3).unwrap();
        let board = GridBoard::from_tiles(shape, &[1, 0, 2, 1, 0, 0]).unwrap();
        let slide = |d| board.slide(d).map(|(b, r)| (b.tiles().to_vec(), r));
        assert_eq!(slide(Direction::Up), Some((vec![2, 0, 2, 0, 0, 0], 4)));
        assert_eq!(slide(Direction::Down), Some((vec![0, 0, 0, 2, 0, 2], 4)));
        assert_eq!(slide(Direction::Left), Some((vec![1, 2, 0, 1, 0, 0], 0)));
        assert_eq!(slide(Direction::Right), Some((vec![0, 1, 2, 0, 0, 1], 0)));
    }

    #[test]
    fn impossible_boards_are_refused() {
        let grid = Grid::new(Shape::new(2, 2).unwrap());
        assert!(grid.state(&[5, 4, 3, 2]).is_some(), "the fullest board");
        assert!(grid.state(&[6, 0, 0, 0]).is_none(), "a 64-tile");
        assert!(grid.state(&[5, 5, 0, 0]).is_none(), "two 32-tiles");
        assert!(grid.state(&[1, 1, 1]).is_none(), "three cells");
    }
}
