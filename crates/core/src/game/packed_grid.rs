//! Any game on small boards in one 64-bit number: four bits a cell, cell 0 in the lowest bits,
//! without gaps. A fast path with the same results as [`Grid`](super::Grid), for code that
//! enumerates every position of a board.
//!
//! A slide gathers the cells of each line, starting at the wall that the tiles slide to, and reads
//! the slid line from a table of all lines of that length. The slow rule fills the table.

use std::sync::{Mutex, PoisonError};

use super::symmetry::{canonical, packed_key, transform_mask, transform_packed};
use super::{After, ChanceState, Direction, Game, Position, Rules, Shape, Slides, Spawn, State};

/// Bits of a cell.
const BITS: u32 = 4;
/// The longest line in the tables.
const LONGEST: usize = 4;
/// The largest tile that a cell can hold: 32768.
const LARGEST: u8 = 15;

/// Up to sixteen cells of tile indices, and the chance state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PackedBoard {
    pub(crate) cells: u64,
    pub(crate) chance_state: ChanceState,
    /// In an afterstate, the cells in which a tile may spawn if they are empty. In a state, none.
    pub(crate) spawn_mask: u16,
    pub(crate) shape: Shape,
}

impl PackedBoard {
    /// The empty cells, one bit each.
    #[inline(always)]
    fn empty_cells(self) -> u32 {
        let cells = 0..self.shape.cells();
        cells.map(|i| u32::from(self.cell(i) == 0) << i).sum()
    }

    /// The cells in which a tile may spawn.
    #[inline(always)]
    fn spawn_cells(self) -> u32 {
        u32::from(self.spawn_mask) & self.empty_cells()
    }
}

impl Position for PackedBoard {
    type Key = u128;

    #[inline(always)]
    fn shape(self) -> Shape {
        self.shape
    }

    #[inline(always)]
    fn cell(self, i: usize) -> u8 {
        (self.cells >> (BITS * i as u32) & 15) as u8
    }

    #[inline(always)]
    fn hint(self) -> u8 {
        self.chance_state.hint
    }

    fn key(self) -> u128 {
        packed_key(self.cells, self.chance_state.packed(), self.spawn_cells())
    }

    fn canonical(self) -> Self {
        canonical(self.shape, |sources| Self {
            cells: transform_packed(self.cells, sources),
            spawn_mask: transform_mask(self.spawn_cells(), sources) as u16,
            ..self
        })
    }
}

/// A line slid towards its first cell, and the reward.
type Line = (u16, u32);

fn lines(rules: &dyn Rules, length: usize) -> Vec<Line> {
    (0..1_u32 << (BITS as usize * length))
        .map(|packed| {
            let mut tiles: [u8; LONGEST] =
                std::array::from_fn(|i| (packed >> (BITS as usize * i) & 15) as u8);
            let reward = rules.slide_line(&mut tiles[..length]);
            if tiles.iter().any(|&tile| tile > LARGEST) {
                return (packed as u16, 0);
            }
            let pack = |line, &tile: &u8| line << BITS | u16::from(tile);
            (tiles.iter().rev().fold(0, pack), reward)
        })
        .collect()
}

/// A game on a board with sides from 2 to 4 and no tile index above 15.
#[derive(Clone, Copy, Debug)]
pub struct PackedGrid {
    shape: Shape,
    rules: &'static dyn Rules,
    rows: &'static [Line],
    cols: &'static [Line],
}

impl PackedGrid {
    /// Creates the game on this board; `None` if its lines are too long or its tiles too large.
    pub fn new(shape: Shape, rules: &'static dyn Rules) -> Option<Self> {
        let short = shape.rows() <= LONGEST && shape.cols() <= LONGEST;
        let fits = short && rules.largest_tile(shape) <= LARGEST;
        fits.then(|| Self {
            shape,
            rules,
            rows: LINES.get(rules, shape.cols()),
            cols: LINES.get(rules, shape.rows()),
        })
    }

    /// Slides `count` lines of `length` cells.
    #[inline(always)]
    fn slide(
        board: u64,
        lines: &[Line],
        count: usize,
        length: usize,
        path: LinePath,
    ) -> (u64, u32, u32) {
        let (mut after, mut reward, mut moved) = (0, 0, 0);
        let mut first = path.first;
        for number in 0..count {
            let (mut line, mut at) = (0, first);
            for k in 0..length as u32 {
                line |= (board >> at & 15) << (BITS * k);
                at = at.wrapping_add(path.step);
            }
            let (slid, earned) = lines[line as usize];
            reward += earned;
            moved |= u32::from(u64::from(slid) != line) << number;
            let mut at = first;
            for k in 0..length as u32 {
                after |= (u64::from(slid) >> (BITS * k) & 15) << at;
                at = at.wrapping_add(path.step);
            }
            first = first.wrapping_add(path.next);
        }
        (after, reward, moved)
    }

    /// The cells after a slide, the reward, and the lines that moved, one bit each.
    #[inline(always)]
    fn slid(&self, board: u64, direction: Direction) -> (u64, u32, u32) {
        let (rows, cols) = (self.shape.rows() as u32, self.shape.cols() as u32);
        let (down, right) = (BITS * cols, BITS);
        let (lines, count, length, path) = match direction {
            Direction::Up => (self.cols, cols, rows, LinePath::new(0, down, right)),
            Direction::Down => {
                let path = LinePath::new((rows - 1) * down, down.wrapping_neg(), right);
                (self.cols, cols, rows, path)
            }
            Direction::Left => (self.rows, rows, cols, LinePath::new(0, right, down)),
            Direction::Right => {
                let path = LinePath::new((cols - 1) * right, right.wrapping_neg(), down);
                (self.rows, rows, cols, path)
            }
        };
        Self::slide(board, lines, count as usize, length as usize, path)
    }
}

/// How lines run over the board, in bits. Backward steps are wrapping negative numbers.
#[derive(Clone, Copy)]
struct LinePath {
    /// The first cell of the first line.
    first: u32,
    /// Distance from a cell of a line to the next.
    step: u32,
    /// Distance from a line to the next.
    next: u32,
}

impl LinePath {
    fn new(first: u32, step: u32, next: u32) -> Self {
        Self { first, step, next }
    }
}

impl Game for PackedGrid {
    type Board = PackedBoard;

    fn shape(&self) -> Shape {
        self.shape
    }

    #[inline(always)]
    fn rules(&self) -> &dyn Rules {
        self.rules
    }

    fn empty(&self) -> After<Self::Board> {
        After(PackedBoard {
            cells: 0,
            chance_state: ChanceState::NONE,
            spawn_mask: u16::MAX,
            shape: self.shape,
        })
    }

    fn as_afterstate(&self, State(board): State<Self::Board>) -> After<Self::Board> {
        let spawn_mask = u16::MAX;
        After(PackedBoard {
            spawn_mask,
            ..board
        })
    }

    #[inline(always)]
    fn slides(&self, State(board): State<Self::Board>) -> Slides<Self::Board> {
        Slides::new(board, |direction| {
            let (cells, reward, moved) = self.slid(board.cells, direction);
            let after = || PackedBoard {
                cells,
                spawn_mask: self.rules.spawn_mask(self.shape, direction, moved) as u16,
                ..board
            };
            (moved != 0).then(|| (After(after()), reward))
        })
    }

    #[inline(always)]
    fn spawn_cells(&self, After(board): After<Self::Board>) -> u32 {
        board.spawn_cells()
    }

    #[inline(always)]
    fn for_each_new_tile(
        &self,
        After(board): After<Self::Board>,
        mut visit: impl FnMut(Spawn, f64),
    ) {
        let largest = if self.rules.has_chance_state() {
            self.max_tile(State(board))
        } else {
            0
        };
        self.rules
            .for_each_new_tile(self.shape, board.chance_state, largest, &mut visit);
    }

    #[inline(always)]
    fn place(
        &self,
        After(board): After<Self::Board>,
        cell: usize,
        spawn: Spawn,
    ) -> State<Self::Board> {
        debug_assert_eq!(board.cell(cell), 0, "cell {cell} is occupied");
        State(PackedBoard {
            cells: board.cells | u64::from(spawn.tile) << (BITS * cell as u32),
            chance_state: spawn.chance_state,
            spawn_mask: 0,
            ..board
        })
    }

    fn state(&self, tiles: &[u8], chance_state: ChanceState) -> Option<State<Self::Board>> {
        let pack = |board, &tile: &u8| board << BITS | u64::from(tile);
        let possible = self.rules.is_possible(self.shape, tiles, chance_state);
        possible.then(|| {
            State(PackedBoard {
                cells: tiles.iter().rev().fold(0, pack),
                chance_state,
                spawn_mask: 0,
                shape: self.shape,
            })
        })
    }

    fn chance_state(&self, State(board): State<Self::Board>) -> ChanceState {
        board.chance_state
    }
}

/// The tables of every game and line length used so far, built once per process.
static LINES: LineCache = LineCache(Mutex::new(Vec::new()));

/// The rules, the line length, and the table of all lines of that length.
type LineTable = (&'static dyn Rules, usize, &'static [Line]);

struct LineCache(Mutex<Vec<LineTable>>);

impl LineCache {
    fn get(&self, rules: &'static dyn Rules, length: usize) -> &'static [Line] {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Equal addresses are equal rules. Equal rules at several addresses build their table
        // again.
        let same = |(known, long, _): &&LineTable| *long == length && std::ptr::eq(*known, rules);
        if let Some((.., lines)) = known.iter().find(same) {
            return lines;
        }
        let made = Vec::leak(lines(rules, length));
        known.push((rules, length, made));
        made
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Fibonacci, Grid, PowersOfTwo, Threes};
    use super::*;
    use crate::random::game_rng;

    fn tiles<B: Position>(shape: Shape, board: B) -> Vec<u8> {
        (0..shape.cells()).map(|i| board.cell(i)).collect()
    }

    /// Checks random boards of every shape, most of them with tiles that merge.
    fn slides_and_spawns_agree_with_the_slow_board(rules: &'static dyn Rules) {
        let mut rng = game_rng(1, 3);
        for (rows, cols) in (2..=4).flat_map(|rows| (2..=4).map(move |cols| (rows, cols))) {
            let shape = Shape::new(rows, cols).unwrap();
            let Some(fast) = PackedGrid::new(shape, rules) else {
                continue;
            };
            let slow = Grid::new(shape, rules);
            let mut met = 0;
            for n in 0..2000 {
                let kinds = 2 + n % u64::from(rules.largest_tile(shape));
                let board: Vec<u8> = (0..shape.cells())
                    .map(|_| (rng.bits() % kinds) as u8)
                    .collect();
                let hint = (1 + rng.bits() % 4) as u8;
                let chance_state = ChanceState {
                    memory: [0; 3].map(|_| (rng.bits() % (2 + n % 4)) as u8),
                    hint: if rules.shows_hint(shape) { hint } else { 0 },
                };
                let chance_state = if rules.has_chance_state() {
                    chance_state
                } else {
                    ChanceState::NONE
                };
                met += usize::from(fast.state(&board, chance_state).is_some());
                let (Some(a), Some(b)) = (
                    fast.state(&board, chance_state),
                    slow.state(&board, chance_state),
                ) else {
                    continue;
                };
                assert_eq!(tiles(shape, a.0), board);
                let (a, b) = (fast.slides(a), slow.slides(b));
                for direction in Direction::ALL {
                    let (a, b) = (a.get(direction), b.get(direction));
                    assert_eq!(
                        a.map(|slide| (tiles(shape, slide.after().0), slide.reward())),
                        b.map(|slide| (tiles(shape, slide.after().0), slide.reward())),
                        "{shape} {board:?} {direction:?}"
                    );
                    if let (Some(a), Some(b)) = (a, b) {
                        let (a, b) = (a.after(), b.after());
                        assert_eq!(fast.spawn_cells(a), slow.spawn_cells(b));
                        let (mut of_a, mut of_b) = (Vec::new(), Vec::new());
                        fast.for_each_new_tile(a, |spawn, p| of_a.push((spawn, p)));
                        slow.for_each_new_tile(b, |spawn, p| of_b.push((spawn, p)));
                        assert_eq!(of_a, of_b);
                    }
                }
            }
            assert!(met > 100, "{shape}: {met} positions are possible");
        }
    }

    #[test]
    fn every_game_agrees_with_the_slow_board() {
        slides_and_spawns_agree_with_the_slow_board(&PowersOfTwo);
        slides_and_spawns_agree_with_the_slow_board(&Fibonacci::OneTwo);
        slides_and_spawns_agree_with_the_slow_board(&Fibonacci::OneThree);
        slides_and_spawns_agree_with_the_slow_board(&Threes::Course);
        slides_and_spawns_agree_with_the_slow_board(&Threes::Hint);
        slides_and_spawns_agree_with_the_slow_board(&Threes::Original);
    }

    /// Rules with equal debug output but different rewards.
    struct Lookalike {
        doubled: bool,
    }

    impl std::fmt::Debug for Lookalike {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("Lookalike")
        }
    }

    impl Rules for Lookalike {
        fn tile_value(&self, tile: u8) -> u64 {
            PowersOfTwo.tile_value(tile)
        }

        fn largest_tile(&self, shape: Shape) -> u8 {
            PowersOfTwo.largest_tile(shape)
        }

        fn slide_line(&self, line: &mut [u8]) -> u32 {
            PowersOfTwo.slide_line(line) * if self.doubled { 2 } else { 1 }
        }

        fn is_possible(&self, shape: Shape, tiles: &[u8], chance_state: ChanceState) -> bool {
            PowersOfTwo.is_possible(shape, tiles, chance_state)
        }

        fn for_each_new_tile(
            &self,
            shape: Shape,
            chance_state: ChanceState,
            largest: u8,
            visit: &mut dyn FnMut(Spawn, f64),
        ) {
            PowersOfTwo.for_each_new_tile(shape, chance_state, largest, visit);
        }
    }

    #[test]
    fn rules_with_equal_debug_output_have_separate_tables() {
        let shape = Shape::new(2, 2).unwrap();
        let reward = |doubled: bool| {
            let rules: &dyn Rules = if doubled {
                &Lookalike { doubled: true }
            } else {
                &Lookalike { doubled: false }
            };
            let game = PackedGrid::new(shape, rules).unwrap();
            let state = game.state(&[1, 1, 0, 0], ChanceState::NONE).unwrap();
            game.slides(state).get(Direction::Left).unwrap().reward()
        };
        assert_eq!([false, true, false].map(reward), [4, 8, 4]);
    }

    #[test]
    fn lines_of_five_and_large_tiles_are_refused() {
        let shape = |rows, cols| Shape::new(rows, cols).unwrap();
        assert!(PackedGrid::new(shape(2, 5), &PowersOfTwo).is_none());
        assert!(PackedGrid::new(shape(4, 4), &PowersOfTwo).is_none());
        assert!(PackedGrid::new(shape(4, 4), &Threes::Course).is_some());
        assert!(PackedGrid::new(shape(2, 4), &Fibonacci::OneTwo).is_none());
    }
}
