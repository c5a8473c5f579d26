//! How a position finds its weights: worked out once for a tuple set, read at every lookup.
//!
//! All tables lie in one block of memory, so a lookup yields one index into all of them: where the table
//! starts plus the tiles as hexadecimal digits, in the order of `layout.rs`. There are two ways to it
//! that always agree: a [`Lookup`] reads a tuple's cells one by one, on any board; a [`Gather`] cuts them
//! out of a 4x4 board in one number.

use super::layout::{Table, lay_out};
use super::pattern::{Pattern, TILES_BITS, TupleSet};
use crate::game::Shape;
use crate::machine::{Cpu, find_four};

const LARGEST_DIGIT: u8 = (1 << TILES_BITS) - 1;

/// One lookup of the general path: a tuple turned by one symmetry.
#[derive(Clone, Debug)]
pub struct Lookup {
    start: usize,
    /// Cells, and where the digit of each one stands in the index.
    cells: [(u8, u8); Pattern::MAX_CELLS],
    len: u8,
}

impl Lookup {
    /// The index for the tiles that `tile` reports.
    pub fn index(&self, tile: impl Fn(usize) -> u8) -> usize {
        let cells = self.cells[..usize::from(self.len)].iter();
        let digit = |&(cell, shift): &(u8, u8)| {
            usize::from(tile(cell.into()).min(LARGEST_DIGIT)) << shift
        };
        self.start + cells.map(digit).sum::<usize>()
    }
}

/// The lookups of one tuple, or of two whose tables are woven together, in a 4x4 board of four bits a
/// cell. Cells whose distance to their digits is the same move together, so that `012345` takes two
/// shifts and masks instead of six; and what two tuples share is worked out once.
#[derive(Clone, Debug)]
pub(crate) struct Gather {
    pub(crate) shared: Vec<Shift>,
    pub(crate) members: Vec<Member>,
}

/// One tuple of a [`Gather`].
#[derive(Clone, Debug)]
pub(crate) struct Member {
    /// Its number in the set.
    pub(crate) tuple: usize,
    /// Where its table starts.
    pub(crate) start: usize,
    /// The cell that its partner does not have.
    pub(crate) own: Vec<Shift>,
}

/// Bits of a board that move by one distance, to one side, on their way into an index.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shift {
    pub(crate) left: u32,
    pub(crate) right: u32,
    /// The bits of the index that they become.
    pub(crate) mask: u64,
}

impl Gather {
    fn new(tables: &[Table], group: &[usize]) -> Self {
        let own = if group.len() > 1 { 1 } else { 0 };
        let member = |&tuple: &usize| Member {
            tuple,
            start: tables[tuple].start(),
            own: shifts(tables[tuple].digits().take(own)),
        };
        Self {
            shared: shifts(tables[group[0]].digits().skip(own)),
            members: group.iter().map(member).collect(),
        }
    }
}

/// Cells of a board with the place of each one's digit, as few shifts as will do.
fn shifts(digits: impl Iterator<Item = (u8, u32)>) -> Vec<Shift> {
    let mut shifts: Vec<Shift> = Vec::new();
    for (cell, place) in digits {
        let source = u32::from(cell) * TILES_BITS as u32;
        let (left, right) = (place.saturating_sub(source), source.saturating_sub(place));
        let mask = u64::from(LARGEST_DIGIT) << place;
        match shifts
            .iter_mut()
            .find(|shift| (shift.left, shift.right) == (left, right))
        {
            Some(shift) => shift.mask |= mask,
            None => shifts.push(Shift { left, right, mask }),
        }
    }
    shifts
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
    cpu: Cpu,
    symmetries: usize,
    tables: Vec<Table>,
    lookups: Vec<Lookup>,
    /// For 4x4 boards.
    gathers: Vec<Gather>,
    at_cell: Vec<Vec<Touched>>,
}

impl Plan {
    /// The plan of a tuple set, for this processor.
    pub fn new(tuples: &TupleSet, cpu: Cpu) -> Self {
        let shape = tuples.shape();
        let mut symmetries = shape.symmetries();
        if !tuples.symmetry() {
            symmetries.truncate(1);
        }
        let (tables, groups) = lay_out(tuples);

        let mut lookups = Vec::new();
        let mut at_cell = vec![Vec::new(); shape.cells()];
        for table in &tables {
            for symmetry in &symmetries {
                let mut cells = [(0, 0); Pattern::MAX_CELLS];
                let mut len = 0;
                for (cell, shift) in table.digits() {
                    let source = symmetry[usize::from(cell)];
                    cells[len] = (source as u8, shift as u8);
                    let lookup = lookups.len() as u32;
                    at_cell[source].push(Touched { lookup, shift });
                    len += 1;
                }
                lookups.push(Lookup {
                    start: table.start(),
                    cells,
                    len: len as u8,
                });
            }
        }
        let gather = |group: &Vec<usize>| Gather::new(&tables, group);
        let gathers = match shape {
            Shape::FOUR => groups.iter().map(gather).collect(),
            _ => Vec::new(),
        };
        Self {
            cpu,
            symmetries: symmetries.len(),
            tables,
            lookups,
            gathers,
            at_cell,
        }
    }

    /// All lookups of one value: the first tuple turned by every symmetry, the second, ...
    pub fn lookups(&self) -> &[Lookup] {
        &self.lookups
    }

    /// Writes the index of each lookup for each of four packed 4x4 boards.
    #[inline(always)]
    pub(crate) fn find_packed(&self, boards: [u64; 4], found: &mut [[usize; 4]]) {
        find_four(self.cpu, &self.gathers, self.symmetries, boards, found);
    }

    /// The number of symmetries in use.
    pub fn symmetries(&self) -> usize {
        self.symmetries
    }

    /// The place of each tuple's weights.
    pub(super) fn tables(&self) -> &[Table] {
        &self.tables
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
