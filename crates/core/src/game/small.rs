//! Any game on small boards in one 64-bit number: four bits a cell, cell 0 lowest, without gaps. The fast twin of
//! [`Grid`](super::Grid) for those who look at every position of a board.
//!
//! A slide gathers the cells of each line, from the wall that the tiles slide to, and reads the slid line from a
//! table of all lines of that length, which the slow rule has made.

use std::any::TypeId;
use std::sync::{Mutex, PoisonError};

use super::{After, Arrival, Direction, Game, Luck, Position, Rules, Shape, Slides, State};
use crate::ntuple::{Indices, Plan};

/// Bits of a cell.
const BITS: u32 = 4;
/// The longest line in the tables.
const LONGEST: usize = 4;
/// The largest tile that a cell can hold: 32768.
const LARGEST: u8 = 15;

/// Up to sixteen cells of tile indices, and what chance knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SmallBoard {
    pub(crate) cells: u64,
    pub(crate) luck: Luck,
    /// Of an afterstate, the cells that the slide lets a new tile enter, empty or not. Of a state, none.
    pub(crate) entry: u32,
}

impl Position for SmallBoard {
    #[inline(always)]
    fn cell(self, i: usize) -> u8 {
        (self.cells >> (BITS * i as u32) & 15) as u8
    }

    #[inline(always)]
    fn hint(self) -> u8 {
        self.luck.hint
    }

    fn indices(four: [Self; 4], plan: &Plan, found: &mut Indices) {
        plan.find(four, found);
    }
}

/// A line slid towards its first cell: its cells, and what that earned.
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

/// A game on a board of sides from 2 to 4, none of whose tiles is larger than 15.
#[derive(Clone, Copy, Debug)]
pub struct Small<R> {
    shape: Shape,
    rules: R,
    rows: &'static [Line],
    cols: &'static [Line],
}

impl<R: Rules + Copy + 'static> Small<R> {
    /// The game on this board, if its lines are short enough and its tiles small enough.
    pub fn new(shape: Shape, rules: R) -> Option<Self> {
        let short = shape.rows() <= LONGEST && shape.cols() <= LONGEST;
        let fits = short && rules.largest_tile(shape) <= LARGEST;
        fits.then(|| Self {
            shape,
            rules,
            rows: LINES.get(&rules, shape.cols()),
            cols: LINES.get(&rules, shape.rows()),
        })
    }

    /// Slides so many lines of so many cells.
    #[inline(always)]
    fn slide(board: u64, lines: &[Line], count: usize, length: usize, way: Way) -> (u64, u32, u32) {
        let (mut after, mut reward, mut moved) = (0, 0, 0);
        let mut first = way.first;
        for number in 0..count {
            let (mut line, mut at) = (0, first);
            for k in 0..length as u32 {
                line |= (board >> at & 15) << (BITS * k);
                at = at.wrapping_add(way.step);
            }
            let (slid, earned) = lines[line as usize];
            reward += earned;
            moved |= u32::from(u64::from(slid) != line) << number;
            let mut at = first;
            for k in 0..length as u32 {
                after |= (u64::from(slid) >> (BITS * k) & 15) << at;
                at = at.wrapping_add(way.step);
            }
            first = first.wrapping_add(way.next);
        }
        (after, reward, moved)
    }

    /// The cells after a slide, what it earned, and which lines it moved.
    #[inline(always)]
    fn slid(&self, board: u64, direction: Direction) -> (u64, u32, u32) {
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

impl<R: Rules + Copy + 'static> Game for Small<R> {
    type State = State<SmallBoard>;
    type After = After<SmallBoard>;

    fn shape(&self) -> Shape {
        self.shape
    }

    #[inline(always)]
    fn rules(&self) -> &dyn Rules {
        &self.rules
    }

    fn blank(&self) -> Self::After {
        After(SmallBoard {
            cells: 0,
            luck: Luck::NONE,
            entry: u32::MAX,
        })
    }

    fn unslid(&self, State(board): Self::State) -> Self::After {
        let entry = u32::MAX;
        After(SmallBoard { entry, ..board })
    }

    #[inline(always)]
    fn slides(&self, State(board): Self::State) -> Slides<Self::After> {
        Slides::new(After(board), |direction| {
            let (cells, reward, moved) = self.slid(board.cells, direction);
            let after = || SmallBoard {
                cells,
                luck: board.luck,
                entry: self.rules.entry(self.shape, direction, moved),
            };
            (moved != 0).then(|| (After(after()), reward))
        })
    }

    #[inline(always)]
    fn entries(&self, After(board): Self::After) -> u32 {
        let cells = 0..self.shape.cells();
        let empty = cells.map(|i| u32::from(board.cell(i) == 0) << i);
        board.entry & empty.sum::<u32>()
    }

    #[inline(always)]
    fn for_each_arrival(&self, After(board): Self::After, mut visit: impl FnMut(Arrival, f64)) {
        let largest = if self.rules.remembers() {
            self.largest(State(board))
        } else {
            0
        };
        self.rules
            .for_each_arrival(self.shape, board.luck, largest, &mut visit);
    }

    #[inline(always)]
    fn place(&self, After(board): Self::After, cell: usize, arrival: Arrival) -> Self::State {
        State(SmallBoard {
            cells: board.cells | u64::from(arrival.tile) << (BITS * cell as u32),
            luck: arrival.luck,
            entry: 0,
        })
    }

    fn state(&self, tiles: &[u8], luck: Luck) -> Option<Self::State> {
        let pack = |board, &tile: &u8| board << BITS | u64::from(tile);
        let possible = self.rules.is_possible(self.shape, tiles, luck);
        possible.then(|| {
            State(SmallBoard {
                cells: tiles.iter().rev().fold(0, pack),
                luck,
                entry: 0,
            })
        })
    }

    fn luck(&self, State(board): Self::State) -> Luck {
        board.luck
    }
}

/// The lines of every game and length that was asked for, made once a program.
static LINES: Lines = Lines(Mutex::new(Vec::new()));

struct Lines(Mutex<Vec<(Key, &'static [Line])>>);

/// The type of the rules, what they look like, and the length of a line.
type Key = (TypeId, String, usize);

impl Lines {
    fn get<R: Rules + 'static>(&self, rules: &R, length: usize) -> &'static [Line] {
        let key = (TypeId::of::<R>(), format!("{rules:?}"), length);
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, lines)) = known.iter().find(|(other, _)| *other == key) {
            return lines;
        }
        let made = Vec::leak(lines(rules, length));
        known.push((key, made));
        made
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Fibonacci, Grid, Threes, Twos};
    use super::*;
    use crate::random::game_rng;

    fn tiles<P: Position>(shape: Shape, position: P) -> Vec<u8> {
        (0..shape.cells()).map(|i| position.cell(i)).collect()
    }

    /// Random boards of every shape, most of them with tiles that merge.
    fn slides_and_spawns_are_those_of_the_slow_board<R: Rules + Copy + 'static>(rules: &'static R) {
        let mut rng = game_rng(1, 3);
        for (rows, cols) in (2..=4).flat_map(|rows| (2..=4).map(move |cols| (rows, cols))) {
            let shape = Shape::new(rows, cols).unwrap();
            let Some(fast) = Small::new(shape, *rules) else {
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
                let luck = Luck {
                    bag: [0; 3].map(|_| (rng.bits() % (2 + n % 4)) as u8),
                    hint: if rules.shows_hint(shape) { hint } else { 0 },
                };
                let luck = if rules.remembers() { luck } else { Luck::NONE };
                met += usize::from(fast.state(&board, luck).is_some());
                let (Some(a), Some(b)) = (fast.state(&board, luck), slow.state(&board, luck))
                else {
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
                        assert_eq!(fast.entries(a), slow.entries(b));
                        let (mut of_a, mut of_b) = (Vec::new(), Vec::new());
                        fast.for_each_arrival(a, |arrival, p| of_a.push((arrival, p)));
                        slow.for_each_arrival(b, |arrival, p| of_b.push((arrival, p)));
                        assert_eq!(of_a, of_b);
                    }
                }
            }
            assert!(met > 100, "{shape}: {met} positions are possible");
        }
    }

    #[test]
    fn every_game_is_that_of_the_slow_board() {
        slides_and_spawns_are_those_of_the_slow_board(&Twos);
        slides_and_spawns_are_those_of_the_slow_board(&Fibonacci::OneTwo);
        slides_and_spawns_are_those_of_the_slow_board(&Fibonacci::OneThree);
        slides_and_spawns_are_those_of_the_slow_board(&Threes::Course);
        slides_and_spawns_are_those_of_the_slow_board(&Threes::Hint);
        slides_and_spawns_are_those_of_the_slow_board(&Threes::Original);
    }

    #[test]
    fn lines_of_five_are_too_long_and_some_tiles_too_large() {
        let shape = |rows, cols| Shape::new(rows, cols).unwrap();
        assert!(Small::new(shape(2, 5), Twos).is_none());
        assert!(Small::new(shape(4, 4), Twos).is_none());
        assert!(Small::new(shape(4, 4), Threes::Course).is_some());
        assert!(Small::new(shape(2, 4), Fibonacci::OneTwo).is_none());
    }
}
