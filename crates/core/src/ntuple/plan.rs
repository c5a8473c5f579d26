//! How a position finds its weights: worked out once for a tuple set, read at every lookup.
//!
//! The tables lie one behind the other in one block of memory, so a lookup yields one index into
//! all of them: the table's place plus the tiles as hexadecimal digits, first cell lowest.

use super::pattern::{Pattern, TILES_BITS, TupleSet};

const LARGEST_DIGIT: u8 = (1 << TILES_BITS) - 1;

/// One lookup of the general path: a tuple turned by one symmetry.
#[derive(Clone, Debug)]
pub struct Lookup {
    table: usize,
    cells: [u8; Pattern::MAX_CELLS],
    len: u8,
}

impl Lookup {
    /// Where the table begins, and a one in every digit of an index into it.
    #[inline(always)]
    pub(super) fn place(&self) -> (usize, usize) {
        (
            self.table,
            0x1111_1111 & ((1 << (TILES_BITS * usize::from(self.len))) - 1),
        )
    }

    /// The index for the tiles that `tile` reports.
    pub fn index(&self, tile: impl Fn(usize) -> u8) -> usize {
        let digits = self.cells[..usize::from(self.len)].iter().enumerate();
        self.table
            + digits
                .map(|(k, &cell)| {
                    usize::from(tile(cell.into()).min(LARGEST_DIGIT)) << (TILES_BITS * k)
                })
                .sum::<usize>()
    }
}

/// One lookup in a 4x4 board of four bits a cell: cells whose distance to their digit is the same
/// move together, so that `012456` takes two rotations and masks instead of six. Two such runs are
/// always worked out, since most tuples have no more: a jump less at each lookup.
#[derive(Clone, Debug)]
pub struct Gather {
    table: usize,
    first: Run,
    second: Run,
    others: Vec<Run>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Run {
    rotation: u32,
    mask: u64,
}

impl Run {
    #[inline(always)]
    fn of(self, cells: u64) -> u64 {
        cells.rotate_right(self.rotation) & self.mask
    }
}

impl Gather {
    fn new(table: usize, pattern: &Pattern) -> Self {
        let mut runs: Vec<Run> = Vec::new();
        for (k, &cell) in pattern.cells().iter().enumerate() {
            let rotation = (4 * (i32::from(cell) - k as i32)).rem_euclid(64) as u32;
            let mask = 0xF << (4 * k);
            match runs.iter_mut().find(|run| run.rotation == rotation) {
                Some(run) => run.mask |= mask,
                None => runs.push(Run { rotation, mask }),
            }
        }
        let mut runs = runs.into_iter();
        let mut next = || runs.next().unwrap_or_default();
        Self {
            table,
            first: next(),
            second: next(),
            others: runs.collect(),
        }
    }

    /// The index for each of some packed boards.
    #[inline(always)]
    pub fn indices(&self, boards: &[u64], found: &mut [usize]) {
        let Self {
            table,
            first,
            second,
            others,
        } = self;
        for (cells, i) in boards.iter().zip(found.iter_mut()) {
            *i = table + (first.of(*cells) + second.of(*cells)) as usize;
        }
        for run in others {
            for (cells, i) in boards.iter().zip(found.iter_mut()) {
                *i += run.of(*cells) as usize;
            }
        }
    }
}

/// A lookup that contains a certain cell, and where the cell's digit stands in its index.
#[derive(Clone, Copy, Debug)]
pub(super) struct Touched {
    pub(super) lookup: u32,
    pub(super) shift: u32,
}

/// Everything that depends on the tuple set and not on the weights.
#[derive(Clone, Debug)]
pub struct Plan {
    symmetries: usize,
    lookups: Vec<Lookup>,
    gathers: Vec<Gather>,
    at_cell: Vec<Vec<Touched>>,
}

impl Plan {
    /// The plan of a tuple set.
    pub fn new(tuples: &TupleSet) -> Self {
        let shape = tuples.shape();
        let mut symmetries = shape.symmetries();
        symmetries.truncate(if tuples.symmetry() {
            symmetries.len()
        } else {
            1
        });

        let mut tables = Vec::new();
        let mut place = 0;
        for pattern in tuples.patterns() {
            tables.push((place, pattern));
            place += pattern.weights();
        }

        let mut lookups = Vec::new();
        let mut at_cell = vec![Vec::new(); shape.cells()];
        for &(table, pattern) in &tables {
            for symmetry in &symmetries {
                let mut cells = [0; Pattern::MAX_CELLS];
                for (k, &cell) in pattern.cells().iter().enumerate() {
                    let source = symmetry[usize::from(cell)];
                    cells[k] = source as u8;
                    let (lookup, shift) = (lookups.len() as u32, (TILES_BITS * k) as u32);
                    at_cell[source].push(Touched { lookup, shift });
                }
                lookups.push(Lookup {
                    table,
                    cells,
                    len: pattern.cells().len() as u8,
                });
            }
        }
        let gathers = tables
            .iter()
            .map(|&(table, pattern)| Gather::new(table, pattern))
            .collect();
        Self {
            symmetries: symmetries.len(),
            lookups,
            gathers,
            at_cell,
        }
    }

    /// All lookups of one value: the first tuple turned by every symmetry, the second, ...
    pub fn lookups(&self) -> &[Lookup] {
        &self.lookups
    }

    /// The tuples as they stand, for a board that is turned instead.
    pub fn gathers(&self) -> &[Gather] {
        &self.gathers
    }

    /// The number of symmetries in use.
    pub fn symmetries(&self) -> usize {
        self.symmetries
    }

    /// The lookups that change when the tile in this cell does.
    #[inline(always)]
    pub(super) fn at_cell(&self, cell: usize) -> &[Touched] {
        &self.at_cell[cell]
    }

    /// The number of cells of the board.
    #[inline(always)]
    pub(super) fn cells(&self) -> usize {
        self.at_cell.len()
    }
}
