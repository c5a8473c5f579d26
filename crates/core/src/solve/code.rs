//! A position of a small board as a number: four bits a cell, the least of all its images.
//!
//! A symmetry moves cells by a few distances only: to flip three columns is to move one of them by two
//! cells, one by none, one back by two. So an image is a few masks and rotations of the number.
//!
//! Where there is a chance state, it and the cells that a new tile may enter stand above the cells.

use std::sync::Arc;

use crate::game::{
    After, ChanceState, Game, GridBoard, PackedBoard, Position, Rules, Shape, State,
};

/// A position that a number can hold.
pub trait Packed: Position {
    /// Its cells in four bits each, the first one lowest.
    #[inline(always)]
    fn cells(self, shape: Shape) -> u64 {
        let pack = |all, i| all << BITS | u64::from(self.cell(i));
        (0..shape.cells()).rev().fold(0, pack)
    }

    /// The chance state.
    fn chance_state(self) -> ChanceState;

    /// Of an afterstate, the cells that its slide lets a new tile enter; of a state, none.
    fn spawn_mask(self) -> u32;

    /// The position with these cells, and this beside them; a state has no use for the spawn_mask.
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

/// From positions of one shape to codes and back.
#[derive(Clone, Debug)]
pub struct Code {
    shape: Shape,
    flip_cols: Moves,
    flip_rows: Moves,
    /// Where rows may become columns.
    transpose: Option<Moves>,
    /// The sum of the faces of every two cells.
    pairs: Arc<[u64; 256]>,
    /// Of games that remember: for each image and each of its cells, the cell that it shows.
    turns: Option<Arc<[Vec<usize>]>>,
}

/// Bits of a cell.
const BITS: u32 = 4;

impl Code {
    /// The largest tile index that fits into a cell.
    pub const LARGEST: u8 = 15;

    /// The most cells of a board whose positions a number has room for.
    pub fn most_cells(rules: &dyn Rules) -> usize {
        let (whole, cell) = match rules.has_chance_state() {
            true => (u64::BITS - ChanceState::BITS, BITS + 1),
            false => (u64::BITS, BITS),
        };
        (whole / cell) as usize
    }

    /// The code of a game's positions, if a number has room for them.
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
            turns: has_chance_state.then(|| symmetries.into()),
        })
    }

    /// The board.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// How many images a position has, of which some may be equal.
    pub fn symmetries(&self) -> usize {
        if self.transpose.is_some() { 8 } else { 4 }
    }

    /// The code of a position: the same for all its images, and for no other position of its kind.
    #[inline]
    pub fn of<P: Packed>(&self, position: P) -> u64 {
        let images = self.images_of(position);
        let images = &images[..self.symmetries()];
        images
            .iter()
            .fold(u64::MAX, |least, &image| least.min(image))
    }

    /// A position as a number that no other position of its kind has, not even an image. [`Code::state`] and [`Code::afterstate`]
    /// lead back to it.
    #[inline]
    pub fn exact<P: Packed>(&self, position: P) -> u64 {
        let cells = position.cells(self.shape);
        match &self.turns {
            Some(turns) => cells | self.beside(position, &turns[0]),
            None => cells,
        }
    }

    /// A state with this code.
    #[inline]
    pub fn state<B: Packed>(&self, code: u64) -> State<B> {
        let (cells, chance_state, _) = self.parts(code);
        State(B::unpacked(self.shape, cells, chance_state, 0))
    }

    /// An afterstate with this code.
    #[inline]
    pub fn afterstate<B: Packed>(&self, code: u64) -> After<B> {
        let (cells, chance_state, spawn_mask) = self.parts(code);
        After(B::unpacked(self.shape, cells, chance_state, spawn_mask))
    }

    /// Cells, chance state, and the cells that a new tile may enter: any, where the slide does not matter.
    #[inline(always)]
    fn parts(&self, code: u64) -> (u64, ChanceState, u32) {
        let cells = self.cells_of(code);
        if self.turns.is_none() {
            return (cells, ChanceState::NONE, u32::MAX);
        }
        let beside = code >> self.cells();
        let packed = (beside & ((1 << ChanceState::BITS) - 1)) as u16;
        let spawn_mask = (beside >> ChanceState::BITS) as u32;
        (cells, ChanceState::unpacked(packed), spawn_mask)
    }

    /// What a position holds beside its cells, as the image with these sources has it.
    #[inline]
    fn beside<P: Packed>(&self, position: P, sources: &[usize]) -> u64 {
        let empty = |i: usize| position.cell(i) == 0;
        let enters = |&source: &usize| position.spawn_mask() >> source & 1 == 1 && empty(source);
        let bit = |(i, source)| u64::from(enters(source)) << i;
        let spawn_cells: u64 = sources.iter().enumerate().map(bit).sum();
        (u64::from(position.chance_state().packed()) | spawn_cells << ChanceState::BITS)
            << self.cells()
    }

    /// The tile indices by rows.
    #[inline]
    pub fn tiles(&self, code: u64) -> [u8; 16] {
        let cells = self.shape.cells();
        std::array::from_fn(|i| {
            if i < cells {
                (code >> (BITS * i as u32) & 15) as u8
            } else {
                0
            }
        })
    }

    /// The sum of the tiles' faces.
    #[inline]
    pub fn sum(&self, code: u64) -> u64 {
        let mut sum = 0;
        for pair in 0..self.shape.cells().div_ceil(2) as u32 {
            sum += self.pairs[usize::from((self.cells_of(code) >> (2 * BITS * pair)) as u8)];
        }
        sum
    }

    /// How many different positions have the code of this one.
    pub fn count_symmetric<P: Packed>(&self, position: P) -> usize {
        let images = self.images_of(position);
        let images = &images[..self.symmetries()];
        let is_new = |&(n, image): &(usize, &u64)| !images[..n].contains(image);
        images.iter().enumerate().filter(is_new).count()
    }

    #[inline(always)]
    fn cells_of(&self, code: u64) -> u64 {
        code & u64::MAX >> (u64::BITS - self.cells())
    }

    /// Bits of all cells.
    fn cells(&self) -> u32 {
        self.shape.cells() as u32 * BITS
    }

    /// All images with what is beside their cells, in the order of symmetries; a rectangle has four.
    #[inline(always)]
    fn images_of<P: Packed>(&self, position: P) -> [u64; 8] {
        let mut images = self.turned(position.cells(self.shape));
        if let Some(turns) = &self.turns {
            for (image, sources) in images.iter_mut().zip(turns.iter()) {
                *image |= self.beside(position, sources);
            }
        }
        images
    }

    #[inline(always)]
    fn turned(&self, cells: u64) -> [u64; 8] {
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

/// A symmetry as cells that move by the same distance.
#[derive(Clone, Debug)]
struct Moves(Arc<[(u64, u32)]>);

impl Moves {
    /// From the cell that each cell of the image shows.
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
        let moved = |image, &(mask, left): &(u64, u32)| image | (cells & mask).rotate_left(left);
        self.0.iter().fold(0, moved)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::game::{Grid, PowersOfTwo};
    use crate::random::game_rng;

    #[test]
    fn images_are_the_symmetries_of_the_shape() {
        for (rows, cols) in [(2, 2), (2, 3), (3, 2), (3, 3), (2, 5), (5, 3), (4, 4)] {
            let shape = Shape::new(rows, cols).unwrap();
            let code = Code::new(&Grid::new(shape, &PowersOfTwo)).unwrap();
            let bits = BITS * shape.cells() as u32;
            let board = game_rng(1, 2).bits() >> (u64::BITS - bits);
            let symmetries = shape.symmetries();
            assert_eq!(symmetries.len(), code.symmetries());
            for (image, symmetry) in code.turned(board).into_iter().zip(symmetries) {
                let image = code.tiles(image);
                for (i, &source) in symmetry.iter().enumerate() {
                    assert_eq!(image[i], code.tiles(board)[source], "{shape}");
                }
            }
        }
    }
}
