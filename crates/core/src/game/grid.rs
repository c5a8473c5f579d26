//! Any game on any board from 2x2 to 5x5, one line at a time: the slow path, written to be easy to
//! read.
//!
//! Every fast path is built from the same [`Rules`] or tested against this one: tests compare whole
//! games of [`Fast2048`](super::Fast2048) and `Grid` 4x4 move by move.

use super::symmetry::{canonical, transform_mask};
use super::{
    After, ChanceState, Direction, Game, GridKey, Position, Rules, Shape, Slides, Spawn, State,
};

/// Tile indices in row-major order, 0 for an empty cell, and the chance state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct GridBoard {
    shape: Shape,
    cells: [u8; Shape::MAX_CELLS],
    chance_state: ChanceState,
    /// In an afterstate, the cells in which a tile may spawn if they are empty. In a state, none.
    spawn_mask: u32,
}

impl GridBoard {
    /// The empty board.
    pub fn empty(shape: Shape) -> Self {
        Self {
            shape,
            cells: [0; Shape::MAX_CELLS],
            chance_state: ChanceState::NONE,
            spawn_mask: 0,
        }
    }

    /// The board with these tile indices; `None` unless there is one for each cell.
    pub fn from_tiles(shape: Shape, tiles: &[u8]) -> Option<Self> {
        let mut board = Self::empty(shape);
        (tiles.len() == shape.cells()).then(|| {
            board.cells[..tiles.len()].copy_from_slice(tiles);
            board
        })
    }

    /// The board with this chance state.
    pub fn with_chance_state(self, chance_state: ChanceState) -> Self {
        Self {
            chance_state,
            ..self
        }
    }

    /// The board as an afterstate in which a tile may spawn in these cells.
    pub fn with_spawn_mask(self, spawn_mask: u32) -> Self {
        Self { spawn_mask, ..self }
    }

    /// The chance state.
    pub fn chance_state(&self) -> ChanceState {
        self.chance_state
    }

    /// The cells in which a tile may spawn.
    pub fn spawn_cells(&self) -> u32 {
        self.spawn_mask & self.empty_cells()
    }

    /// The tile indices in row-major order.
    pub fn tiles(&self) -> &[u8] {
        &self.cells[..self.shape.cells()]
    }

    /// The board with a new tile in an empty cell.
    pub fn with(mut self, cell: usize, tile: u8) -> Self {
        debug_assert_eq!(self.cells[cell], 0, "cell {cell} is occupied");
        self.cells[cell] = tile;
        self
    }

    /// The empty cells, one bit each.
    pub fn empty_cells(&self) -> u32 {
        let bit = |(i, &tile): (usize, &u8)| u32::from(tile == 0) << i;
        self.tiles().iter().enumerate().map(bit).sum()
    }

    /// Slides every line; `None` if nothing changes.
    pub fn slide(self, rules: &dyn Rules, direction: Direction) -> Option<(Self, u32)> {
        let (lines, length) = lines(self.shape, direction);
        let cell = |line, k| cell_of_line(self.shape, direction, line, k);
        let mut after = self;
        let (mut reward, mut moved) = (0, 0);
        for line in 0..lines {
            let mut tiles = [0; 5];
            for (k, tile) in tiles[..length].iter_mut().enumerate() {
                *tile = self.cells[cell(line, k)];
            }
            let before = tiles;
            reward += rules.slide_line(&mut tiles[..length]);
            moved |= u32::from(tiles != before) << line;
            for (k, &tile) in tiles[..length].iter().enumerate() {
                after.cells[cell(line, k)] = tile;
            }
        }
        after.spawn_mask = rules.spawn_mask(self.shape, direction, moved);
        (moved != 0).then_some((after, reward))
    }

    /// The cell to which a slide moves the tile of each cell; `None` for an empty cell. Two tiles
    /// that merge have the same destination.
    ///
    /// No tile of a line depends on those behind it. So without them, it is the last one of the line
    /// also after the slide.
    pub fn destinations(&self, rules: &dyn Rules, direction: Direction) -> Vec<Option<usize>> {
        let (lines, length) = lines(self.shape, direction);
        let cell = |line, k| cell_of_line(self.shape, direction, line, k);
        let mut destinations = vec![None; self.shape.cells()];
        for line in 0..lines {
            for k in 0..length {
                let mut tiles = [0; 5];
                for (at, tile) in tiles[..=k].iter_mut().enumerate() {
                    *tile = self.cells[cell(line, at)];
                }
                if tiles[k] != 0 {
                    rules.slide_line(&mut tiles[..length]);
                    let last = tiles[..length].iter().rposition(|&tile| tile != 0);
                    destinations[cell(line, k)] = last.map(|last| cell(line, last));
                }
            }
        }
        destinations
    }
}

/// The number of lines that slide in this direction, and their length.
fn lines(shape: Shape, direction: Direction) -> (usize, usize) {
    match direction {
        Direction::Up | Direction::Down => (shape.cols(), shape.rows()),
        Direction::Left | Direction::Right => (shape.rows(), shape.cols()),
    }
}

/// The k-th cell of a line, counted from the wall that the tiles slide to.
fn cell_of_line(shape: Shape, direction: Direction, line: usize, k: usize) -> usize {
    let (rows, cols) = (shape.rows(), shape.cols());
    match direction {
        Direction::Up => k * cols + line,
        Direction::Down => (rows - 1 - k) * cols + line,
        Direction::Left => line * cols + k,
        Direction::Right => line * cols + (cols - 1 - k),
    }
}

impl Position for GridBoard {
    type Key = GridKey;

    fn shape(self) -> Shape {
        self.shape
    }

    fn cell(self, i: usize) -> u8 {
        self.cells[i]
    }

    fn hint(self) -> u8 {
        self.chance_state.hint
    }

    fn key(self) -> GridKey {
        (self.cells, self.chance_state.packed(), self.spawn_cells())
    }

    fn canonical(self) -> Self {
        canonical(self.shape, |sources| {
            let mut board = self.with_spawn_mask(transform_mask(self.spawn_cells(), sources));
            for (cell, &source) in board.cells.iter_mut().zip(sources) {
                *cell = self.cells[source];
            }
            board
        })
    }
}

/// A game on any board size, played by its rules alone.
#[derive(Clone, Copy, Debug)]
pub struct Grid {
    shape: Shape,
    rules: &'static dyn Rules,
}

impl Grid {
    /// The game of these rules on this board.
    pub fn new(shape: Shape, rules: &'static dyn Rules) -> Self {
        Self { shape, rules }
    }
}

impl Game for Grid {
    type Board = GridBoard;

    fn shape(&self) -> Shape {
        self.shape
    }

    #[inline(always)]
    fn rules(&self) -> &dyn Rules {
        self.rules
    }

    fn empty(&self) -> After<Self::Board> {
        After(GridBoard::empty(self.shape).with_spawn_mask(u32::MAX))
    }

    fn as_afterstate(&self, State(board): State<Self::Board>) -> After<Self::Board> {
        After(board.with_spawn_mask(u32::MAX))
    }

    fn slides(&self, State(board): State<Self::Board>) -> Slides<Self::Board> {
        Slides::new(board, |direction| {
            let slid = board.slide(self.rules, direction);
            slid.map(|(after, reward)| (After(after), reward))
        })
    }

    fn spawn_cells(&self, After(board): After<Self::Board>) -> u32 {
        board.spawn_cells()
    }

    fn for_each_new_tile(
        &self,
        After(board): After<Self::Board>,
        mut visit: impl FnMut(Spawn, f64),
    ) {
        let largest = board.tiles().iter().copied().max().unwrap_or(0);
        self.rules
            .for_each_new_tile(self.shape, board.chance_state, largest, &mut visit);
    }

    fn place(
        &self,
        After(board): After<Self::Board>,
        cell: usize,
        spawn: Spawn,
    ) -> State<Self::Board> {
        let placed = board
            .with(cell, spawn.tile)
            .with_chance_state(spawn.chance_state);
        State(placed.with_spawn_mask(0))
    }

    fn state(&self, tiles: &[u8], chance_state: ChanceState) -> Option<State<Self::Board>> {
        let possible = self.rules.is_possible(self.shape, tiles, chance_state);
        let board = || GridBoard::from_tiles(self.shape, tiles);
        possible
            .then(board)?
            .map(|board| State(board.with_chance_state(chance_state)))
    }

    fn chance_state(&self, State(board): State<Self::Board>) -> ChanceState {
        board.chance_state
    }
}

#[cfg(test)]
mod tests {
    use super::super::{PowersOfTwo, Threes};
    use super::*;

    #[test]
    fn each_direction_slides_its_way() {
        let shape = Shape::new(2, 3).unwrap();
        let board = GridBoard::from_tiles(shape, &[1, 0, 2, 1, 0, 0]).unwrap();
        let slide = |d| {
            board
                .slide(&PowersOfTwo, d)
                .map(|(b, r)| (b.tiles().to_vec(), r))
        };
        assert_eq!(slide(Direction::Up), Some((vec![2, 0, 2, 0, 0, 0], 4)));
        assert_eq!(slide(Direction::Down), Some((vec![0, 0, 0, 2, 0, 2], 4)));
        assert_eq!(slide(Direction::Left), Some((vec![1, 2, 0, 1, 0, 0], 0)));
        assert_eq!(slide(Direction::Right), Some((vec![0, 1, 2, 0, 0, 1], 0)));
    }

    #[test]
    fn tiles_go_where_the_slide_puts_them() {
        let shape = Shape::new(2, 4).unwrap();
        let board = GridBoard::from_tiles(shape, &[1, 1, 0, 2, 0, 3, 3, 3]).unwrap();
        let to = |cells: [Option<usize>; 8]| cells.to_vec();
        assert_eq!(
            board.destinations(&PowersOfTwo, Direction::Left),
            to([
                Some(0),
                Some(0),
                None,
                Some(1),
                None,
                Some(4),
                Some(4),
                Some(5)
            ])
        );
        assert_eq!(
            board.destinations(&PowersOfTwo, Direction::Right),
            to([
                Some(2),
                Some(2),
                None,
                Some(3),
                None,
                Some(6),
                Some(7),
                Some(7)
            ])
        );
        // In Threes! a tile moves by one cell, and only where there is room.
        let board = GridBoard::from_tiles(shape, &[3, 1, 2, 0, 1, 0, 0, 2]).unwrap();
        assert_eq!(
            board.destinations(&Threes::Course, Direction::Left),
            to([
                Some(0),
                Some(1),
                Some(1),
                None,
                Some(4),
                None,
                None,
                Some(6)
            ])
        );
    }
}
