//! What a game is: states, four slides to afterstates, and random spawns of new tiles.
//!
//! A turn has two halves. The player slides a [`State`] into an [`After`]; then chance
//! spawns a tile, which gives a state again. They are two types, so that the compiler rejects a
//! state where a value function expects an afterstate.
//!
//! To add a game, implement [`Rules`] in a file under `rules/`; [`Grid`] then plays it on boards of
//! any size. Add a line to `every_game_conforms_on_every_board` in `game/conformance.rs`, a line
//! `("NAME", Family::Slow(&Name))` to `GAMES` in `games.rs` of the lab, and a page `docs/games/NAME.md`:
//! all commands then work on all boards. An example is `games/toy.rs` of the lab. A [`Game`] of its own
//! is only needed for speed: [`Fast2048`] and the other fast paths give the same results as the grid,
//! which `tests/twins.rs` compares; `with_game` of the lab chooses them.

mod board;
mod chance;
#[cfg(test)]
mod conformance;
mod fast2048;
mod fast_fibonacci;
mod fast_threes;
mod grid;
mod key;
mod packed_grid;
mod row;
mod rules;
mod symmetry;

use std::fmt;
use std::hash::Hash;

pub use board::Board;
pub(crate) use board::{HALF_TURN, symmetric_boards};
pub use chance::{ChanceState, Spawn};
pub use fast_fibonacci::{FastFibonacci, FibonacciBoard};
pub use fast_threes::{FastThrees, ThreesBoard};
pub use fast2048::Fast2048;
pub use grid::{Grid, GridBoard};
pub(crate) use key::fold;
pub use key::{GridKey, PositionKey};
pub use packed_grid::{PackedBoard, PackedGrid};
pub use rules::{Fibonacci, POWERS_OF_TWO_SPAWNS, PowersOfTwo, Rules, Threes};

use crate::random::{Rng, scale};

/// The four slides. Episode records use this order: up, right, down, left.
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
    /// All four, in order.
    pub const ALL: [Self; 4] = [Self::Up, Self::Right, Self::Down, Self::Left];

    /// The lower-case name, as in printed text and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Up => "up",
            Self::Right => "right",
            Self::Down => "down",
            Self::Left => "left",
        }
    }
}

/// Rows and columns of a board, from 2x2 to 5x5.
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
    /// The standard board.
    pub const FOUR: Self = Self { rows: 4, cols: 4 };

    /// Creates a shape if both sides are within [`Shape::SIDES`].
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

    /// The number of cells.
    pub fn cells(self) -> usize {
        self.rows() * self.cols()
    }

    /// The symmetries as permutations: cell `i` of the board transformed by symmetry `s` holds what
    /// cell `symmetries()[s][i]` of the original holds. A square has eight, a rectangle four; the
    /// first is the identity.
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

/// A board: cells that hold tile indices (0 is empty, 1 the first tile, ...), and whatever else the
/// rest of the game depends on. [`State`] and [`After`] distinguish whose turn it is.
pub trait Position: Copy + Eq + Hash + fmt::Debug + Send + Sync + 'static {
    /// Whether callers should use [`Position::packed`] in place of [`Position::cell`].
    const PACKED: bool = false;

    /// A number that is unique among the positions of one game; symmetric positions have different
    /// keys.
    type Key: PositionKey;

    /// Rows and columns.
    fn shape(self) -> Shape;

    /// The tile index in cell `i`, in row-major order.
    fn cell(self, i: usize) -> u8;

    /// Writes the tile indices in row-major order.
    ///
    /// # Panics
    /// When `out` is longer than the board.
    #[inline(always)]
    fn write_tiles(self, out: &mut [u8]) {
        for (i, out) in out.iter_mut().enumerate() {
            *out = self.cell(i);
        }
    }

    /// The 4x4 board in one number: four bits a cell, cell 0 in the lowest bits, every tile beyond
    /// 15 as 15. Only implemented where [`Position::PACKED`] is true.
    #[inline(always)]
    fn packed(self) -> u64 {
        0
    }

    /// The hint about the next tile: see [`ChanceState::hint`].
    #[inline(always)]
    fn hint(self) -> u8 {
        0
    }

    /// The key, for hash tables of positions.
    fn key(self) -> Self::Key;

    /// The symmetric position with the smallest key. Symmetric positions have the same value. The
    /// canonical form of an afterstate keeps only those spawn cells that are empty.
    fn canonical(self) -> Self;
}

/// A position in which the player is to move.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct State<B>(pub B);

/// An afterstate: a position after a slide and before the spawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct After<B>(pub B);

macro_rules! position_of_turn {
    ($($turn:ident),*) => {$(
        impl<B: Position> $turn<B> {
            /// The tile index in cell `i`, in row-major order.
            #[inline(always)]
            pub fn cell(self, i: usize) -> u8 {
                self.0.cell(i)
            }

            /// The key of the board: see [`Position::key`].
            #[inline(always)]
            pub fn key(self) -> B::Key {
                self.0.key()
            }

            /// The canonical position among all symmetric ones: see [`Position::canonical`].
            #[inline(always)]
            pub fn canonical(self) -> Self {
                Self(self.0.canonical())
            }
        }
    )*};
}

position_of_turn!(State, After);

/// A legal slide of a state. Only [`Slides`] creates it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slide<B> {
    direction: Direction,
    after: After<B>,
    reward: u32,
}

impl<B: Copy> Slide<B> {
    /// Its direction.
    #[inline(always)]
    pub fn direction(&self) -> Direction {
        self.direction
    }

    /// The afterstate it leads to.
    #[inline(always)]
    pub fn after(&self) -> After<B> {
        self.after
    }

    /// Its reward.
    #[inline(always)]
    pub fn reward(&self) -> u32 {
        self.reward
    }
}

/// The four slides of a state, legal or not, by [`Direction`].
#[derive(Clone, Copy, Debug)]
pub struct Slides<B> {
    after: [After<B>; 4],
    reward: [u32; 4],
    legal: [bool; 4],
}

impl<B: Copy> Slides<B> {
    /// Creates the slides from each direction's afterstate, reward and legality. The afterstate and
    /// reward of an illegal slide are ignored.
    #[inline(always)]
    pub fn of(slide: impl Fn(Direction) -> (After<B>, u32, bool)) -> Self {
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

    /// Creates the slides from each direction's afterstate and reward, or `None` where the slide is
    /// illegal; `unused` only fills the slots of illegal slides.
    pub fn new(unused: B, slide: impl Fn(Direction) -> Option<(After<B>, u32)>) -> Self {
        Self::of(|direction| match slide(direction) {
            Some((after, reward)) => (after, reward, true),
            None => (After(unused), 0, false),
        })
    }

    /// All four afterstates by direction; the one of an illegal slide is unspecified.
    #[inline(always)]
    pub fn afterstates(&self) -> [After<B>; 4] {
        self.after
    }

    /// The slide in a direction, or `None` if it is illegal.
    #[inline(always)]
    pub fn get(&self, direction: Direction) -> Option<Slide<B>> {
        let i = direction as usize;
        self.legal[i].then(|| Slide {
            direction,
            after: self.after[i],
            reward: self.reward[i],
        })
    }

    /// Whether any slide is legal; if none is, the game is over.
    #[inline(always)]
    pub fn any(&self) -> bool {
        self.legal.contains(&true)
    }

    /// The legal slides, in order of direction.
    #[inline(always)]
    pub fn legal(&self) -> impl Iterator<Item = Slide<B>> + Clone + '_ {
        let slides = Direction::ALL.into_iter();
        slides.filter_map(|direction| self.get(direction))
    }
}

/// The cells of a mask, in ascending order.
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

/// The position of a uniformly chosen set bit: with n = `random` * count / 2^32, the bit that has n
/// set bits below it.
///
/// Every move waits for this function, so it is branch-free: it first finds the byte, then looks up
/// the bit in a table. A five-step binary search, each step waiting for the one before, took a few
/// percent of a game.
///
/// At least one bit must be set: after a legal slide some cell is free.
#[inline(always)]
fn random_bit(mask: u32, random: u32) -> usize {
    debug_assert_ne!(mask, 0, "no cell is free for a new tile");
    const EACH_BYTE: u32 = 0x0101_0101;
    let twos = mask - (mask >> 1 & 0x5555_5555);
    let fours = (twos & 0x3333_3333) + (twos >> 2 & 0x3333_3333);
    let counts = (fours + (fours >> 4)) & 0x0F0F_0F0F;
    // For each byte, the number of bits set up to its end.
    let up_to = counts.wrapping_mul(EACH_BYTE);
    let n = scale(random, up_to >> 24);
    // Marks the highest bit of each byte whose set bits are all among the first n, and counts the
    // marks.
    let passed = ((n + 0x80) * EACH_BYTE - up_to) >> 7 & EACH_BYTE;
    let byte = passed.wrapping_mul(EACH_BYTE) >> 24 << 3;
    let below = (up_to << 8) >> byte & 0xFF;
    let places = &NTH_BIT[(mask >> byte & 0xFF) as usize];
    byte as usize + usize::from(places[(n - below) as usize & 7])
}

/// For each byte, the positions of its set bits in ascending order.
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

/// A game on a board. A game is a small value that is cheap to copy; it holds no position.
pub trait Game: Copy + Send + Sync + 'static {
    /// Its board. In a [`State`] the player is to move; in an [`After`] chance is to spawn a tile.
    type Board: Position;

    /// Rows and columns of the board.
    fn shape(&self) -> Shape;

    /// The rules, which are the same for every board size.
    fn rules(&self) -> &dyn Rules;

    /// The empty board, on which setup spawns the initial tiles.
    fn empty(&self) -> After<Self::Board>;

    /// Views a state as an afterstate, so that setup can spawn another initial tile.
    fn as_afterstate(&self, state: State<Self::Board>) -> After<Self::Board>;

    /// The result of each of the four slides.
    fn slides(&self, state: State<Self::Board>) -> Slides<Self::Board>;

    /// The cells in which a tile may spawn, one bit each, all equally likely. At least one bit is
    /// set after a legal slide.
    fn spawn_cells(&self, after: After<Self::Board>) -> u32;

    /// Visits every tile that may spawn, with its probability; the probabilities sum to 1.
    fn for_each_new_tile(&self, after: After<Self::Board>, visit: impl FnMut(Spawn, f64));

    /// The state after a spawn in a cell of an afterstate.
    fn place(&self, after: After<Self::Board>, cell: usize, spawn: Spawn) -> State<Self::Board>;

    /// The state with these tile indices in row-major order and this chance state; `None` if no
    /// game can reach it.
    fn state(&self, tiles: &[u8], chance_state: ChanceState) -> Option<State<Self::Board>>;

    /// The chance state of a state.
    fn chance_state(&self, _: State<Self::Board>) -> ChanceState {
        ChanceState::NONE
    }

    /// The reward of the spawn of a tile.
    #[inline(always)]
    fn spawn_reward(&self, tile: u8) -> u32 {
        self.rules().spawn_reward(tile)
    }

    /// The number that players see on a tile: index 11 is 2048 in the game of that name.
    fn tile_value(&self, tile: u8) -> u64 {
        self.rules().tile_value(tile)
    }

    /// The largest tile index that play on this board can reach.
    fn largest_tile(&self) -> u8 {
        self.rules().largest_tile(self.shape())
    }

    /// Draws an initial state.
    #[inline(always)]
    fn start(&self, rng: &mut Rng) -> State<Self::Board> {
        self.start_by(|after| self.spawn(after, rng))
    }

    /// The initial state if `spawn` places each of the initial tiles in turn.
    #[inline(always)]
    fn start_by(
        &self,
        mut spawn: impl FnMut(After<Self::Board>) -> State<Self::Board>,
    ) -> State<Self::Board> {
        let mut state = spawn(self.empty());
        for _ in 1..self.rules().initial_tiles(self.shape()) {
            state = spawn(self.as_afterstate(state));
        }
        state
    }

    /// Draws the cell and the tile of a spawn from one 64-bit random number.
    #[inline(always)]
    fn draw_spawn(&self, after: After<Self::Board>, rng: &mut Rng) -> (usize, Spawn) {
        let bits = rng.bits();
        let cell = random_bit(self.spawn_cells(after), bits as u32);
        let mut chance = (bits >> 32) as f64 / 4_294_967_296.0;
        let mut drawn = Spawn::default();
        self.for_each_new_tile(after, |spawn, p| {
            if chance >= 0.0 {
                drawn = spawn;
            }
            chance -= p;
        });
        (cell, drawn)
    }

    /// Draws a spawn and returns the resulting state.
    #[inline(always)]
    fn spawn(&self, after: After<Self::Board>, rng: &mut Rng) -> State<Self::Board> {
        let (cell, spawn) = self.draw_spawn(after, rng);
        self.place(after, cell, spawn)
    }

    /// Visits every initial state with its probability; the same state may be visited several
    /// times. Only practical where a game starts with few tiles.
    fn for_each_start(&self, mut visit: impl FnMut(State<Self::Board>, f64)) {
        let mut starts = vec![];
        self.for_each_spawn(self.empty(), |state, _, p| starts.push((state, p)));
        for _ in 1..self.rules().initial_tiles(self.shape()) {
            let mut more = Vec::new();
            for (state, chance) in starts {
                let after = self.as_afterstate(state);
                self.for_each_spawn(after, |next, _, p| more.push((next, chance * p)));
            }
            starts = more;
        }
        for (state, chance) in starts {
            visit(state, chance);
        }
    }

    /// Visits every successor of an afterstate, with the spawn's reward and its probability.
    #[inline(always)]
    fn for_each_spawn(
        &self,
        after: After<Self::Board>,
        mut visit: impl FnMut(State<Self::Board>, u32, f64),
    ) {
        let spawn_cells = self.spawn_cells(after);
        let count = f64::from(spawn_cells.count_ones());
        for cell in each_cell(spawn_cells) {
            self.for_each_new_tile(after, |spawn, chance| {
                let spawn_reward = self.spawn_reward(spawn.tile);
                visit(self.place(after, cell, spawn), spawn_reward, chance / count);
            });
        }
    }

    /// The score of an initial state.
    #[inline(always)]
    fn initial_score(&self, state: State<Self::Board>) -> u64 {
        let tiles = (0..self.shape().cells()).map(|i| state.cell(i));
        tiles.map(|tile| u64::from(self.spawn_reward(tile))).sum()
    }

    /// The largest tile index of a state.
    fn max_tile(&self, state: State<Self::Board>) -> u8 {
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
            for (n, permutation) in all.iter().enumerate() {
                let mut sorted = permutation.clone();
                sorted.sort_unstable();
                assert_eq!(sorted, all[0]);
                assert!(!all[..n].contains(permutation));
            }
        }
    }

    /// Checks every bit of every mask of 16 cells, and of many larger masks, with the lowest and
    /// the highest random number that select it.
    #[test]
    fn each_set_bit_is_equally_likely() {
        let mut rng = crate::random::game_rng(1, 1);
        let larger = (0..1000).map(|n| rng.bits() as u32 & rng.bits() as u32 | 1 << (n % 32));
        for cells in (1..=0xFFFF).chain(larger).chain([u32::MAX]) {
            let count = u64::from(cells.count_ones());
            for (n, cell) in (0_u64..).zip(each_cell(cells)) {
                // The numbers x for which x * count / 2^32, rounded down, is n.
                let first = (n << 32).div_ceil(count);
                let last = ((n + 1) << 32).div_ceil(count) - 1;
                assert_eq!(random_bit(cells, first as u32), cell, "{cells:032b}");
                assert_eq!(random_bit(cells, last as u32), cell, "{cells:032b}");
            }
        }
    }

    #[test]
    fn shapes_outside_the_limits_are_refused() {
        assert!(Shape::new(1, 4).is_none() && Shape::new(4, 6).is_none());
        assert_eq!(Shape::new(2, 5).unwrap().to_string(), "2x5");
    }
}
