//! A position of a small board as a number: four bits a cell, the least of all its images.

use crate::game::{After, GridBoard, Position, Shape, State};

/// A position that is its cells and nothing else.
pub trait Packed: Position {
    /// The position with these tile indices, one for every cell of the shape.
    fn from_tiles(shape: Shape, tiles: &[u8]) -> Self;
}

impl Packed for State<GridBoard> {
    fn from_tiles(shape: Shape, tiles: &[u8]) -> Self {
        State(board(shape, tiles))
    }
}

impl Packed for After<GridBoard> {
    fn from_tiles(shape: Shape, tiles: &[u8]) -> Self {
        After(board(shape, tiles))
    }
}

fn board(shape: Shape, tiles: &[u8]) -> GridBoard {
    GridBoard::from_tiles(shape, tiles).expect("a tile for every cell")
}

/// From positions of one shape to codes and back.
#[derive(Clone, Debug)]
pub struct Code {
    shape: Shape,
    /// For each image and each of its cells, where the board has the tile's bits.
    images: Vec<Vec<u32>>,
}

/// Bits of a cell: tiles up to index 15.
const BITS: u32 = 4;

impl Code {
    /// The code of a shape, if a number has room for it.
    pub fn new(shape: Shape) -> Option<Self> {
        let fits = shape.cells() as u32 * BITS <= u64::BITS;
        let bits = |cells: Vec<usize>| cells.into_iter().map(|cell| cell as u32 * BITS);
        fits.then(|| Self {
            shape,
            images: shape
                .symmetries()
                .into_iter()
                .map(|cells| bits(cells).collect())
                .collect(),
        })
    }

    /// The code of a position: the same for all its images, and for no other position of its kind.
    pub fn of<P: Packed>(&self, position: P) -> u64 {
        self.images_of(position).min().unwrap_or(0)
    }

    /// A position with this code.
    pub fn position<P: Packed>(&self, code: u64) -> P {
        P::from_tiles(self.shape, &self.tiles(code)[..self.shape.cells()])
    }

    /// The tile indices by rows.
    pub fn tiles(&self, code: u64) -> [u8; 16] {
        std::array::from_fn(|i| (code >> (BITS * i as u32) & 15) as u8)
    }

    /// How many different positions have this code.
    pub fn images(&self, code: u64) -> usize {
        let mut images: Vec<u64> = self.turned(code).collect();
        images.sort_unstable();
        images.dedup();
        images.len()
    }

    fn images_of<P: Packed>(&self, position: P) -> impl Iterator<Item = u64> {
        let cells = 0..self.shape.cells();
        let packed = cells.fold(0, |all, i| {
            all | u64::from(position.cell(i)) << (BITS * i as u32)
        });
        self.turned(packed)
    }

    fn turned(&self, packed: u64) -> impl Iterator<Item = u64> {
        self.images.iter().map(move |from| {
            let cells = from.iter().rev();
            cells.fold(0, |image, bits| image << BITS | packed >> bits & 15)
        })
    }
}
