//! What a game is: states, four slides to afterstates, and the tiles that chance may add.
//!
//! A turn has two halves. The player slides a [`Game::State`] into a [`Game::After`]; then chance
//! places a tile and makes it a state again. They are two types, and a
//! [`Viewpoint`](crate::play::Viewpoint) says which of them a player's network is about.
//!
//! To add a game: implement [`Rules`] in a file of its own under `rules/`, which makes it a game on boards of any
//! size by [`Grid`]; let it pass `conformance`, name it in the registry of the lab, and give it a page in `docs/games/`. A
//! [`Game`] of its own is only for speed: [`Classic`] and its like are equal to the grid in every result.

mod board;
mod classic;
#[cfg(test)]
mod conformance;
mod fibonacci;
mod grid;
mod luck;
mod row;
mod rules;
mod small;
mod threes;

use std::fmt;
use std::hash::Hash;

pub use board::Board;
pub(crate) use board::{HALF_TURN, images};
pub use classic::Classic;
pub use fibonacci::{FibonacciBoard, FourFibonacci};
pub use grid::{Grid, GridBoard};
pub use luck::{Arrival, Luck};
pub use rules::{Fibonacci, Rules, TWOS_TILES, Threes, Twos};
pub use small::{Small, SmallBoard};
pub use threes::{FourThrees, ThreesBoard};

use crate::ntuple::{Indices, Plan};
use crate::random::{Rng, scale};

/// The four slides, in the order of episode records: up, right, down, left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// Towards the first row.
    Up,
    /// Towards the last column.
    Right,
    /// Towards the last row.
    Down,
    /// Towards the first column.
    Left,
}

impl Direction {
    /// All of them, in order.
    pub const ALL: [Self; 4] = [Self::Up, Self::Right, Self::Down, Self::Left];

    /// The name in lower case, as printed and as in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Up => "up",
            Self::Right => "right",
            Self::Down => "down",
            Self::Left => "left",
        }
    }
}

/// Rows and columns of a board: 2x2 to 5x5.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shape {
    rows: u8,
    cols: u8,
}

impl Shape {
    /// The smallest and the largest number of rows or columns.
    pub const SIDES: std::ops::RangeInclusive<usize> = 2..=5;
    /// The most cells a board can have.
    pub const MAX_CELLS: usize = 25;
    /// The board most people know.
    pub const FOUR: Self = Self { rows: 4, cols: 4 };

    /// A shape, if both sides are within [`Shape::SIDES`].
    pub fn new(rows: usize, cols: usize) -> Option<Self> {
        let fits = Self::SIDES.contains(&rows) && Self::SIDES.contains(&cols);
        fits.then_some(Self {
            rows: rows as u8,
            cols: cols as u8,
        })
    }

    /// Rows.
    pub fn rows(self) -> usize {
        self.rows.into()
    }

    /// Columns.
    pub fn cols(self) -> usize {
        self.cols.into()
    }

    /// Rows times columns.
    pub fn cells(self) -> usize {
        self.rows() * self.cols()
    }

    /// The symmetries as permutations: image `s` shows in its cell `i` what the board has in cell
    /// `symmetries()[s][i]`. Eight of a square, four of a rectangle; the first changes nothing.
    pub fn symmetries(self) -> Vec<Vec<usize>> {
        let (rows, cols) = (self.rows(), self.cols());
        let transposes: &[bool] = if rows == cols {
            &[false, true]
        } else {
            &[false]
        };
        let mut all = Vec::new();
        for &transpose in transposes {
            for flip_rows in [false, true] {
                for flip_cols in [false, true] {
                    let source = |i: usize| {
                        let (r, c) = (i / cols, i % cols);
                        let (r, c) = if transpose { (c, r) } else { (r, c) };
                        let r = if flip_rows { rows - 1 - r } else { r };
                        let c = if flip_cols { cols - 1 - c } else { c };
                        r * cols + c
                    };
                    all.push((0..self.cells()).map(source).collect());
                }
            }
        }
        all
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}", self.rows, self.cols)
    }
}

/// Something a network can value: cells that hold tile indices (0 empty, 1 the first tile, ...).
pub trait Position: Copy + Eq + Hash + fmt::Debug + Send + Sync {
    /// The tile index in cell `i`, counted by rows.
    fn cell(self, i: usize) -> u8;

    /// The tile to come, as it is shown: see [`Luck::hint`].
    #[inline(always)]
    fn hint(self) -> u8 {
        0
    }

    /// Finds the index of each lookup of `plan`, in their order, for each of four positions. A tile beyond what a table knows looks like the largest it
    /// knows.
    fn indices(four: [Self; 4], plan: &Plan, found: &mut Indices);
}

/// A position before a slide: the player is to move.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct State<B>(pub B);

/// A position after a slide and before the new tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct After<B>(pub B);

impl<B: Position> Position for State<B> {
    #[inline(always)]
    fn cell(self, i: usize) -> u8 {
        self.0.cell(i)
    }
    #[inline(always)]
    fn hint(self) -> u8 {
        self.0.hint()
    }
    #[inline(always)]
    fn indices(four: [Self; 4], plan: &Plan, found: &mut Indices) {
        B::indices(four.map(|position| position.0), plan, found);
    }
}

impl<B: Position> Position for After<B> {
    #[inline(always)]
    fn cell(self, i: usize) -> u8 {
        self.0.cell(i)
    }
    #[inline(always)]
    fn hint(self) -> u8 {
        self.0.hint()
    }
    #[inline(always)]
    fn indices(four: [Self; 4], plan: &Plan, found: &mut Indices) {
        B::indices(four.map(|position| position.0), plan, found);
    }
}

/// The four slides of a state, legal or not, by [`Direction`].
#[derive(Clone, Copy, Debug)]
pub struct Slides<A> {
    after: [A; 4],
    reward: [u32; 4],
    legal: [bool; 4],
}

impl<A: Copy> Slides<A> {
    /// From each direction's afterstate, its reward, and whether the slide is legal. Of an illegal slide the other two do not count.
    #[inline(always)]
    pub fn of(slide: impl Fn(Direction) -> (A, u32, bool)) -> Self {
        let [up, right, down, left] = [
            slide(Direction::Up),
            slide(Direction::Right),
            slide(Direction::Down),
            slide(Direction::Left),
        ];
        Self {
            after: [up.0, right.0, down.0, left.0],
            reward: [up.1, right.1, down.1, left.1],
            legal: [up.2, right.2, down.2, left.2],
        }
    }

    /// From each direction's afterstate and reward, or `None` where the slide changes nothing;
    /// `unused` only fills the places of illegal slides.
    pub fn new(unused: A, slide: impl Fn(Direction) -> Option<(A, u32)>) -> Self {
        Self::of(|direction| match slide(direction) {
            Some((after, reward)) => (after, reward, true),
            None => (unused, 0, false),
        })
    }

    /// All four afterstates by direction, where an illegal slide leads to any position at all.
    #[inline(always)]
    pub fn afters(&self) -> [A; 4] {
        self.after
    }

    /// The afterstate and the reward of one direction, or `None` if that slide is illegal.
    pub fn get(&self, direction: Direction) -> Option<(A, u32)> {
        let i = direction as usize;
        self.legal[i].then(|| (self.after[i], self.reward[i]))
    }

    /// The legal slides, in the order of directions.
    pub fn legal(&self) -> impl Iterator<Item = (Direction, A, u32)> + '_ {
        Direction::ALL.into_iter().filter_map(|direction| {
            self.get(direction)
                .map(|(after, reward)| (direction, after, reward))
        })
    }
}

/// The cells of a mask, from the lowest.
#[inline(always)]
pub fn each_cell(mask: u32) -> impl Iterator<Item = usize> + Clone {
    let mut left = mask;
    std::iter::from_fn(move || {
        let cell = left.trailing_zeros() as usize;
        (left != 0).then(|| {
            left &= left - 1;
            cell
        })
    })
}

/// The place of a set bit, each with the same chance: `random` below 2^32 picks the one with so many set
/// bits below it. Every move waits for this, so it takes one way through for every mask, without jumps:
/// first the byte, then the bit from a table. A search in five steps, each waiting for the one before it, took
/// a few percent of a game.
/// At least one bit is set.
#[inline(always)]
fn random_bit(mask: u32, random: u32) -> usize {
    const EACH_BYTE: u32 = 0x0101_0101;
    let twos = mask - (mask >> 1 & 0x5555_5555);
    let fours = (twos & 0x3333_3333) + (twos >> 2 & 0x3333_3333);
    let counts = (fours + (fours >> 4)) & 0x0F0F_0F0F;
    // In each byte, how many bits are set up to its end.
    let up_to = counts.wrapping_mul(EACH_BYTE);
    let n = scale(random, up_to >> 24);
    // The highest bit of each byte whose bits are all among the first n, pushed together and counted.
    let passed = ((n + 0x80) * EACH_BYTE - up_to) >> 7 & EACH_BYTE;
    let byte = passed.wrapping_mul(EACH_BYTE) >> 24 << 3;
    let below = (up_to << 8) >> byte & 0xFF;
    let places = &NTH_BIT[(mask >> byte & 0xFF) as usize];
    byte as usize + usize::from(places[(n - below) as usize & 7])
}

/// For each byte the places of its set bits, from the lowest.
static NTH_BIT: [[u8; 8]; 256] = {
    let mut places = [[0; 8]; 256];
    let mut byte = 0;
    while byte < 256 {
        let (mut place, mut n) = (0, 0);
        while place < 8 {
            if byte >> place & 1 == 1 {
                places[byte][n] = place;
                n += 1;
            }
            place += 1;
        }
        byte += 1;
    }
    places
};

/// A game on a board. A game is a small value that is copied freely; it holds no position.
pub trait Game: Copy + Send + Sync + 'static {
    /// A position in which the player is to move.
    type State: Position;
    /// A position in which chance is to place a tile.
    type After: Position;

    /// The rows and columns.
    fn shape(&self) -> Shape;

    /// What is the same on every board.
    fn rules(&self) -> &dyn Rules;

    /// The board without tiles, before the first of them.
    fn blank(&self) -> Self::After;

    /// A state as if no slide had led to it, into which one more of the first tiles comes.
    fn unslid(&self, state: Self::State) -> Self::After;

    /// What each of the four slides leads to.
    fn slides(&self, state: Self::State) -> Slides<Self::After>;

    /// The cells that a new tile may enter, a bit each, all with the same chance. At least one after a legal slide.
    fn entries(&self, after: Self::After) -> u32;

    /// What may enter any of them, with the chances of each, which sum to 1.
    fn for_each_arrival(&self, after: Self::After, visit: impl FnMut(Arrival, f64));

    /// The state that a new tile makes of an afterstate.
    fn place(&self, after: Self::After, cell: usize, arrival: Arrival) -> Self::State;

    /// The state with these tile indices, by rows, and this luck; `None` if there are too few, too many, or one
    /// that the game does not have.
    fn state(&self, tiles: &[u8], luck: Luck) -> Option<Self::State>;

    /// What chance remembers.
    fn luck(&self, _: Self::State) -> Luck {
        Luck::NONE
    }

    /// What a new tile adds to the score.
    #[inline(always)]
    fn brings(&self, tile: u8) -> u32 {
        self.rules().brings(tile)
    }

    /// The face value of a tile index: 11 is 2048 in the game of that name.
    fn face(&self, tile: u8) -> u64 {
        self.rules().face(tile)
    }

    /// The largest tile index that play on this board can reach.
    fn largest_tile(&self) -> u8 {
        self.rules().largest_tile(self.shape())
    }

    /// The first position.
    #[inline(always)]
    fn start(&self, rng: &mut Rng) -> Self::State {
        let mut state = self.spawn(self.blank(), rng);
        for _ in 1..self.rules().first_tiles(self.shape()) {
            state = self.spawn(self.unslid(state), rng);
        }
        state
    }

    /// A random new tile and its cell, from one number of 64 bits.
    #[inline(always)]
    fn draw(&self, after: Self::After, rng: &mut Rng) -> (usize, Arrival) {
        let bits = rng.bits();
        let cell = random_bit(self.entries(after), bits as u32);
        let mut chance = (bits >> 32) as f64 / 4_294_967_296.0;
        let mut drawn = Arrival::default();
        self.for_each_arrival(after, |arrival, p| {
            if chance >= 0.0 {
                drawn = arrival;
            }
            chance -= p;
        });
        (cell, drawn)
    }

    /// The state that a random new tile makes.
    #[inline(always)]
    fn spawn(&self, after: Self::After, rng: &mut Rng) -> Self::State {
        let (cell, arrival) = self.draw(after, rng);
        self.place(after, cell, arrival)
    }

    /// Every state that a game may start with, with its chance; the same state may come several times. Only where the
    /// first tiles are few are these so few that one would want to see them all.
    fn for_each_start(&self, mut visit: impl FnMut(Self::State, f64)) {
        let mut starts = vec![];
        self.for_each_spawn(self.blank(), |state, _, p| starts.push((state, p)));
        for _ in 1..self.rules().first_tiles(self.shape()) {
            let mut more = Vec::new();
            for (state, chance) in starts {
                let after = self.unslid(state);
                self.for_each_spawn(after, |next, _, p| more.push((next, chance * p)));
            }
            starts = more;
        }
        for (state, chance) in starts {
            visit(state, chance);
        }
    }

    /// Every state that chance can make of an afterstate, with what its new tile brings and its chance.
    #[inline(always)]
    fn for_each_spawn(&self, after: Self::After, mut visit: impl FnMut(Self::State, u32, f64)) {
        let entries = self.entries(after);
        let cells = f64::from(entries.count_ones());
        for cell in each_cell(entries) {
            self.for_each_arrival(after, |arrival, chance| {
                let brought = self.brings(arrival.tile);
                visit(self.place(after, cell, arrival), brought, chance / cells);
            });
        }
    }

    /// The score that a game starts with.
    #[inline(always)]
    fn score_of_start(&self, state: Self::State) -> u64 {
        let tiles = (0..self.shape().cells()).map(|i| state.cell(i));
        tiles.map(|tile| u64::from(self.brings(tile))).sum()
    }

    /// The largest tile index of a state.
    fn largest(&self, state: Self::State) -> u8 {
        (0..self.shape().cells())
            .map(|i| state.cell(i))
            .max()
            .unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symmetries_are_different_permutations() {
        for (rows, cols, count) in [(4, 4, 8), (2, 3, 4), (3, 3, 8), (5, 2, 4)] {
            let shape = Shape::new(rows, cols).unwrap();
            let all = shape.symmetries();
            assert_eq!(all.len(), count);
            assert_eq!(all[0], (0..shape.cells()).collect::<Vec<_>>());
            for (n, image) in all.iter().enumerate() {
                let mut sorted = image.clone();
                sorted.sort_unstable();
                assert_eq!(sorted, all[0]);
                assert!(!all[..n].contains(image));
            }
        }
    }

    /// Every bit of every mask of 16 cells and of many masks of more, by the lowest and the highest number
    /// that leads to it.
    #[test]
    fn each_bit_has_its_share_of_the_numbers() {
        let mut rng = crate::random::game_rng(1, 1);
        let larger = (0..1000).map(|n| rng.bits() as u32 & rng.bits() as u32 | 1 << (n % 32));
        for cells in (1..=0xFFFF).chain(larger).chain([u32::MAX]) {
            let count = u64::from(cells.count_ones());
            for (n, cell) in (0_u64..).zip(each_cell(cells)) {
                // The numbers x with x count / 2^32 = n, rounded down.
                let first = (n << 32).div_ceil(count);
                let last = ((n + 1) << 32).div_ceil(count) - 1;
                assert_eq!(random_bit(cells, first as u32), cell, "{cells:032b}");
                assert_eq!(random_bit(cells, last as u32), cell, "{cells:032b}");
            }
        }
    }

    #[test]
    fn shapes_beyond_the_sizes_are_refused() {
        assert!(Shape::new(1, 4).is_none() && Shape::new(4, 6).is_none());
        assert_eq!(Shape::new(2, 5).unwrap().to_string(), "2x5");
    }
}
