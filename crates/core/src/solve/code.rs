//! A position of a small board as a number: four bits a cell, the smallest among all symmetric
//! boards.
//!
//! A symmetry moves cells by only a few distances: flipping three columns moves one of them by two
//! cells, one by none, one back by two. So a symmetric board takes a few masks and rotations of the
//! number.
//!
//! The chance state, if the game has one, and the spawn cells are stored above the cells.

use std::sync::Arc;

use crate::game::{
    After, ChanceState, Game, GridBoard, PackedBoard, Position, Rules, Shape, State,
};

/// A position that fits into a number.
pub trait Packed: Position {
    /// Its cells in four bits each, the first one lowest.
    #[inline(always)]
    fn cells(self, shape: Shape) -> u64 {
        let pack = |all, i| all << BITS | u64::from(self.cell(i));
        (0..shape.cells()).rev().fold(0, pack)
    }

    /// The chance state.
    fn chance_state(self) -> ChanceState;

    /// In an afterstate, the cells in which a tile may spawn if they are empty; in a state, none.
    fn spawn_mask(self) -> u32;

    /// The position with these cells, chance state and spawn mask; a state ignores the mask.
    fn unpacked(shape: Shape, cells: u64, chance_state: ChanceState, spawn_mask: u32) -> Self;
}

fn unpacked(shape: Shape, cells: u64, chance_state: ChanceState) -> GridBoard {
    let tile = |board: GridBoard, i| board.with(i, (cells >> (BITS * i as u32) & 15) as u8);
    let board = (0..shape.cells()).fold(GridBoard::empty(shape), tile);
    board.with_chance_state(chance_state)
}

impl Packed for GridBoard {
    fn chance_state(self) -> ChanceState {
        GridBoard::chance_state(&self)
    }

    fn spawn_mask(self) -> u32 {
        self.spawn_cells()
    }

    fn unpacked(shape: Shape, cells: u64, chance_state: ChanceState, spawn_mask: u32) -> Self {
        unpacked(shape, cells, chance_state).with_spawn_mask(spawn_mask)
    }
}

impl Packed for PackedBoard {
    #[inline(always)]
    fn cells(self, _shape: Shape) -> u64 {
        self.cells
    }

    #[inline(always)]
    fn chance_state(self) -> ChanceState {
        self.chance_state
    }

    #[inline(always)]
    fn spawn_mask(self) -> u32 {
        self.spawn_mask.into()
    }

    #[inline(always)]
    fn unpacked(shape: Shape, cells: u64, chance_state: ChanceState, spawn_mask: u32) -> Self {
        Self {
            cells,
            chance_state,
            spawn_mask: spawn_mask as u16,
            shape,
        }
    }
}

macro_rules! codes {
    ($($(#[$doc:meta])* $code:ident),*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(transparent)]
        pub struct $code(u64);

        impl $code {
            /// The code with this number, as read from a file.
            #[inline(always)]
            pub fn from_number(number: u64) -> Self {
                Self(number)
            }

            /// Its number.
            #[inline(always)]
            pub fn number(self) -> u64 {
                self.0
            }
        }

        impl From<$code> for u64 {
            #[inline(always)]
            fn from(code: $code) -> Self {
                code.0
            }
        }
    )*};
}

codes! {
    /// A state as a number.
    StateCode,
    /// An afterstate as a number. The same board has the same number as a state, so the two are
    /// different types.
    AfterCode
}

/// Converts positions of one shape to codes and back.
#[derive(Clone, Debug)]
pub struct Code {
    shape: Shape,
    flip_cols: Moves,
    flip_rows: Moves,
    /// `None` where the board is not square.
    transpose: Option<Moves>,
    /// The sum of the tile values of every two cells.
    pairs: Arc<[u64; 256]>,
    /// For games with chance state: for each symmetry and each cell, the source cell.
    sources: Option<Arc<[Vec<usize>]>>,
}

/// Bits of a cell.
const BITS: u32 = 4;

impl Code {
    /// The largest tile index that fits into a cell.
    pub const LARGEST: u8 = 15;

    /// The largest number of cells of a board whose positions fit into a number.
    pub fn most_cells(rules: &dyn Rules) -> usize {
        let (whole, cell) = match rules.has_chance_state() {
            true => (u64::BITS - ChanceState::BITS, BITS + 1),
            false => (u64::BITS, BITS),
        };
        (whole / cell) as usize
    }

    /// The code of a game's positions, if they fit into a number.
    pub fn new<G: Game<Board: Packed>>(game: &G) -> Option<Self> {
        let (shape, has_chance_state) = (game.shape(), game.rules().has_chance_state());
        let fits = shape.cells() <= Self::most_cells(game.rules());
        // The order of symmetries: columns flipped, rows flipped, transposed.
        let symmetries = shape.symmetries();
        fits.then(|| Self {
            shape,
            flip_cols: Moves::new(&symmetries[1]),
            flip_rows: Moves::new(&symmetries[2]),
            transpose: symmetries.get(4).map(|cells| Moves::new(cells)),
            pairs: Arc::new(std::array::from_fn(|two| {
                game.tile_value(two as u8 & 15) + game.tile_value(two as u8 >> BITS)
            })),
            sources: has_chance_state.then(|| symmetries.into()),
        })
    }

    /// The board.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// The number of symmetries.
    pub fn symmetries(&self) -> usize {
        if self.transpose.is_some() { 8 } else { 4 }
    }

    /// The code of a state: the same for all symmetric states, and for no other state.
    #[inline]
    pub fn of_state<B: Packed>(&self, State(board): State<B>) -> StateCode {
        StateCode(self.smallest(board))
    }

    /// The code of an afterstate: the same for all symmetric afterstates, and for no other one.
    #[inline]
    pub fn of_afterstate<B: Packed>(&self, After(board): After<B>) -> AfterCode {
        AfterCode(self.smallest(board))
    }

    #[inline]
    fn smallest<P: Packed>(&self, position: P) -> u64 {
        let codes = self.symmetric_codes(position);
        let codes = &codes[..self.symmetries()];
        codes.iter().fold(u64::MAX, |least, &code| least.min(code))
    }

    /// A code that is unique to the state, even among symmetric ones.
    #[inline]
    pub fn exact_state<B: Packed>(&self, State(board): State<B>) -> StateCode {
        let cells = board.cells(self.shape);
        StateCode(match &self.sources {
            Some(sources) => cells | self.chance_bits(board, &sources[0]),
            None => cells,
        })
    }

    /// A state with this code.
    #[inline]
    pub fn state<B: Packed>(&self, code: StateCode) -> State<B> {
        let (cells, chance_state, _) = self.parts(code.0);
        State(B::unpacked(self.shape, cells, chance_state, 0))
    }

    /// An afterstate with this code.
    #[inline]
    pub fn afterstate<B: Packed>(&self, code: AfterCode) -> After<B> {
        let (cells, chance_state, spawn_mask) = self.parts(code.0);
        After(B::unpacked(self.shape, cells, chance_state, spawn_mask))
    }

    /// Cells, chance state and spawn cells; all cells where the slide does not matter.
    #[inline(always)]
    fn parts(&self, code: u64) -> (u64, ChanceState, u32) {
        let cells = self.cells_of(code);
        if self.sources.is_none() {
            return (cells, ChanceState::NONE, u32::MAX);
        }
        let chance_bits = code >> self.cells();
        let packed = (chance_bits & ((1 << ChanceState::BITS) - 1)) as u16;
        let spawn_mask = (chance_bits >> ChanceState::BITS) as u32;
        (cells, ChanceState::unpacked(packed), spawn_mask)
    }

    /// The chance state and the spawn cells of a position, transformed by a symmetry.
    #[inline]
    fn chance_bits<P: Packed>(&self, position: P, sources: &[usize]) -> u64 {
        let empty = |i: usize| position.cell(i) == 0;
        let enters = |&source: &usize| position.spawn_mask() >> source & 1 == 1 && empty(source);
        let bit = |(i, source)| u64::from(enters(source)) << i;
        let spawn_cells: u64 = sources.iter().enumerate().map(bit).sum();
        (u64::from(position.chance_state().packed()) | spawn_cells << ChanceState::BITS)
            << self.cells()
    }

    /// The tile indices of a state in row-major order.
    #[inline]
    pub fn tiles(&self, StateCode(code): StateCode) -> [u8; 16] {
        let cells = self.shape.cells();
        std::array::from_fn(|i| {
            if i < cells {
                (code >> (BITS * i as u32) & 15) as u8
            } else {
                0
            }
        })
    }

    /// The sum of the tile values of a state.
    #[inline]
    pub fn sum(&self, StateCode(code): StateCode) -> u64 {
        let mut sum = 0;
        for pair in 0..self.shape.cells().div_ceil(2) as u32 {
            sum += self.pairs[usize::from((self.cells_of(code) >> (2 * BITS * pair)) as u8)];
        }
        sum
    }

    /// The number of different states with the code of this one.
    pub fn count_symmetric<B: Packed>(&self, State(board): State<B>) -> usize {
        let codes = self.symmetric_codes(board);
        let codes = &codes[..self.symmetries()];
        let is_new = |&(n, code): &(usize, &u64)| !codes[..n].contains(code);
        codes.iter().enumerate().filter(is_new).count()
    }

    #[inline(always)]
    fn cells_of(&self, code: u64) -> u64 {
        code & u64::MAX >> (u64::BITS - self.cells())
    }

    /// Bits of all cells.
    fn cells(&self) -> u32 {
        self.shape.cells() as u32 * BITS
    }

    /// All symmetric codes in the order of symmetries; a rectangle has four.
    #[inline(always)]
    fn symmetric_codes<P: Packed>(&self, position: P) -> [u64; 8] {
        let mut codes = self.transformed(position.cells(self.shape));
        if let Some(sources) = &self.sources {
            for (code, sources) in codes.iter_mut().zip(sources.iter()) {
                *code |= self.chance_bits(position, sources);
            }
        }
        codes
    }

    #[inline(always)]
    fn transformed(&self, cells: u64) -> [u64; 8] {
        let flipped = self.flip_rows.of(cells);
        let upright @ [a, b, c, d] = [
            cells,
            self.flip_cols.of(cells),
            flipped,
            self.flip_cols.of(flipped),
        ];
        let [e, f, g, h] = match &self.transpose {
            Some(transpose) => upright.map(|cells| transpose.of(cells)),
            None => upright,
        };
        [a, b, c, d, e, f, g, h]
    }
}

/// A symmetry as groups of cells that move by the same distance.
#[derive(Clone, Debug)]
struct Moves(Arc<[(u64, u32)]>);

impl Moves {
    /// From the source of each cell.
    fn new(sources: &[usize]) -> Self {
        let mut moves: Vec<(u64, u32)> = Vec::new();
        for (to, &from) in sources.iter().enumerate() {
            let left = (to as u32 * BITS).wrapping_sub(from as u32 * BITS) % u64::BITS;
            let mask = 15 << (from as u32 * BITS);
            match moves.iter_mut().find(|(_, other)| *other == left) {
                Some((all, _)) => *all |= mask,
                None => moves.push((mask, left)),
            }
        }
        Self(moves.into())
    }

    #[inline(always)]
    fn of(&self, cells: u64) -> u64 {
        let moved = |cells_so_far, &(mask, left): &(u64, u32)| {
            cells_so_far | (cells & mask).rotate_left(left)
        };
        self.0.iter().fold(0, moved)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::game::{Grid, PowersOfTwo};
    use crate::random::game_rng;

    #[test]
    fn transformed_codes_are_the_symmetries_of_the_shape() {
        for (rows, cols) in [(2, 2), (2, 3), (3, 2), (3, 3), (2, 5), (5, 3), (4, 4)] {
            let shape = Shape::new(rows, cols).unwrap();
            let code = Code::new(&Grid::new(shape, &PowersOfTwo)).unwrap();
            let bits = BITS * shape.cells() as u32;
            let board = game_rng(1, 2).bits() >> (u64::BITS - bits);
            let symmetries = shape.symmetries();
            assert_eq!(symmetries.len(), code.symmetries());
            let transformed = code.transformed(board).into_iter();
            for (symmetric, symmetry) in transformed.zip(symmetries) {
                let tiles = code.tiles(StateCode(symmetric));
                for (i, &source) in symmetry.iter().enumerate() {
                    assert_eq!(tiles[i], code.tiles(StateCode(board))[source], "{shape}");
                }
            }
        }
    }
}
