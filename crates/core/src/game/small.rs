//! 2048 on small boards in one 64-bit number: four bits a cell, cell 0 lowest, without gaps. The fast twin of
//! [`Grid`](super::Grid) for those who look at every position of a board.
//!
//! A slide gathers the cells of each line, from the wall that the tiles slide to, and reads the slid line from a
//! table of all lines of that length, which the slow rule has made.

use std::sync::LazyLock;

use super::grid::{possible, slide_line};
use super::{After, CLASSIC_SPAWNS, Direction, Game, Position, Shape, Slides, Spawns, State};
use crate::ntuple::{Indices, Plan};
use crate::random::Rng;

/// Bits of a cell.
const BITS: u32 = 4;
/// The longest line in the tables.
const LONGEST: usize = 4;
/// The largest tile that a cell can hold: 32768.
const LARGEST: u8 = 15;

/// Up to sixteen cells of tile indices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SmallBoard(pub u64);

impl Position for SmallBoard {
    #[inline(always)]
    fn cell(self, i: usize) -> u8 {
        (self.0 >> (BITS * i as u32) & 15) as u8
    }

    fn indices(four: [Self; 4], plan: &Plan, found: &mut Indices) {
        plan.find(four, Self::cell, found);
    }
}

/// A line slid towards its first cell: its cells, and what that earned.
type Line = (u16, u32);

/// All lines of two, three and four cells.
static LINES: LazyLock<[Vec<Line>; 3]> = LazyLock::new(|| [2, 3, 4].map(lines));

fn lines(length: usize) -> Vec<Line> {
    (0..1_u32 << (BITS as usize * length))
        .map(|packed| {
            let mut tiles: [u8; LONGEST] =
                std::array::from_fn(|i| (packed >> (BITS as usize * i) & 15) as u8);
            let reward = slide_line(&mut tiles[..length]);
            if tiles.iter().any(|&tile| tile > LARGEST) {
                return (packed as u16, 0);
            }
            let pack = |line, &tile: &u8| line << BITS | u16::from(tile);
            (tiles.iter().rev().fold(0, pack), reward)
        })
        .collect()
}

/// 2048 on a board of sides from 2 to 4. A line in which two 32768-tiles would merge does not move: only boards of
/// 15 cells and more can come to them.
#[derive(Clone, Copy, Debug)]
pub struct Small {
    shape: Shape,
    rows: &'static [Line],
    cols: &'static [Line],
}

impl Small {
    /// The game on this board, if its lines are short enough.
    pub fn new(shape: Shape) -> Option<Self> {
        let lines = |length: usize| LINES.get(length - 2).map(Vec::as_slice);
        Some(Self {
            shape,
            rows: lines(shape.cols())?,
            cols: lines(shape.rows())?,
        })
    }

    /// Slides so many lines of so many cells.
    #[inline(always)]
    fn slide(board: u64, lines: &[Line], count: usize, length: usize, way: Way) -> (u64, u32) {
        let (mut after, mut reward) = (0, 0);
        let mut first = way.first;
        for _ in 0..count {
            let (mut line, mut at) = (0, first);
            for k in 0..length as u32 {
                line |= (board >> at & 15) << (BITS * k);
                at = at.wrapping_add(way.step);
            }
            let (slid, earned) = lines[line as usize];
            reward += earned;
            let mut at = first;
            for k in 0..length as u32 {
                after |= (u64::from(slid) >> (BITS * k) & 15) << at;
                at = at.wrapping_add(way.step);
            }
            first = first.wrapping_add(way.next);
        }
        (after, reward)
    }

    #[inline(always)]
    fn slid(&self, board: u64, direction: Direction) -> (u64, u32) {
        let (rows, cols) = (self.shape.rows() as u32, self.shape.cols() as u32);
        let (down, right) = (BITS * cols, BITS);
        let (lines, count, length, way) = match direction {
            Direction::Up => (self.cols, cols, rows, Way::new(0, down, right)),
            Direction::Down => {
                let way = Way::new((rows - 1) * down, down.wrapping_neg(), right);
                (self.cols, cols, rows, way)
            }
            Direction::Left => (self.rows, rows, cols, Way::new(0, right, down)),
            Direction::Right => {
                let way = Way::new((cols - 1) * right, right.wrapping_neg(), down);
                (self.rows, rows, cols, way)
            }
        };
        Self::slide(board, lines, count as usize, length as usize, way)
    }
}

/// How lines run over the board, in bits, where a way back is a number that wraps around.
#[derive(Clone, Copy)]
struct Way {
    /// The first cell of the first line.
    first: u32,
    /// From a cell of a line to the next.
    step: u32,
    /// From a line to the next.
    next: u32,
}

impl Way {
    fn new(first: u32, step: u32, next: u32) -> Self {
        Self { first, step, next }
    }
}

impl Game for Small {
    type State = State<SmallBoard>;
    type After = After<SmallBoard>;

    fn shape(&self) -> Shape {
        self.shape
    }

    fn face(&self, tile: u8) -> u64 {
        if tile == 0 { 0 } else { 1 << tile }
    }

    fn largest_tile(&self) -> u8 {
        self.shape.cells() as u8 + 1
    }

    fn for_each_start(&self, mut visit: impl FnMut(Self::State, f64)) {
        self.for_each_spawn(After(SmallBoard(0)), |State(first), chance| {
            self.for_each_spawn(After(first), |second, then| visit(second, chance * then));
        });
    }

    fn start(&self, rng: &mut Rng) -> Self::State {
        let State(first) = self.spawn(After(SmallBoard(0)), rng);
        self.spawn(After(first), rng)
    }

    #[inline(always)]
    fn slides(&self, State(board): Self::State) -> Slides<Self::After> {
        Slides::new(After(board), |direction| {
            let (after, reward) = self.slid(board.0, direction);
            (after != board.0).then_some((After(SmallBoard(after)), reward))
        })
    }

    #[inline(always)]
    fn spawns(&self, After(board): Self::After) -> Spawns {
        let cells = 0..self.shape.cells();
        let empty = cells.map(|i| u32::from(board.cell(i) == 0) << i);
        Spawns {
            cells: empty.sum(),
            tiles: &CLASSIC_SPAWNS,
        }
    }

    #[inline(always)]
    fn place(&self, After(board): Self::After, cell: usize, tile: u8) -> Self::State {
        State(SmallBoard(
            board.0 | u64::from(tile) << (BITS * cell as u32),
        ))
    }

    fn state(&self, tiles: &[u8]) -> Option<Self::State> {
        let fits = possible(self.shape, tiles) && tiles.iter().all(|&tile| tile <= LARGEST);
        let pack = |board, &tile: &u8| board << BITS | u64::from(tile);
        fits.then(|| State(SmallBoard(tiles.iter().rev().fold(0, pack))))
    }
}

#[cfg(test)]
mod tests {
    use super::super::Grid;
    use super::*;
    use crate::random::game_rng;

    fn tiles<P: Position>(shape: Shape, position: P) -> Vec<u8> {
        (0..shape.cells()).map(|i| position.cell(i)).collect()
    }

    /// Random boards of every shape, most of them with tiles that merge.
    #[test]
    fn slides_and_spawns_are_those_of_the_slow_board() {
        let mut rng = game_rng(1, 3);
        for (rows, cols) in (2..=4).flat_map(|rows| (2..=4).map(move |cols| (rows, cols))) {
            let shape = Shape::new(rows, cols).unwrap();
            let (fast, slow) = (Small::new(shape).unwrap(), Grid::new(shape));
            for n in 0..2000 {
                let kinds = 2 + n % 6;
                let board: Vec<u8> = (0..shape.cells())
                    .map(|_| (rng.bits() % kinds) as u8)
                    .collect();
                let (Some(a), Some(b)) = (fast.state(&board), slow.state(&board)) else {
                    continue;
                };
                assert_eq!(tiles(shape, a), board);
                let (a, b) = (fast.slides(a), slow.slides(b));
                for direction in Direction::ALL {
                    let (a, b) = (a.get(direction), b.get(direction));
                    assert_eq!(
                        a.map(|(after, reward)| (tiles(shape, after), reward)),
                        b.map(|(after, reward)| (tiles(shape, after), reward)),
                        "{shape} {board:?} {direction:?}"
                    );
                    if let (Some((a, _)), Some((b, _))) = (a, b) {
                        assert_eq!(fast.spawns(a), slow.spawns(b));
                    }
                }
            }
        }
    }

    #[test]
    fn lines_of_five_are_too_long() {
        assert!(Small::new(Shape::new(2, 5).unwrap()).is_none());
    }
}
