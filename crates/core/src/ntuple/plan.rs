//! How a position finds its weights: computed once for a tuple set, used at every lookup.
//!
//! All tables are in one block of memory, so a lookup yields one index: the start of the table plus
//! the tiles as hexadecimal digits, in the order of `layout.rs`. There are two ways to compute it,
//! with equal results: a [`TupleLookup`] reads a tuple's cells one by one, on any board; a `Gather`
//! extracts them from a packed 4x4 board.

use super::layout::{Numbering, TableLayout, for_every_bank, lay_out, source};
use super::pattern::{Pattern, TupleSet};
use super::stages::Stages;
use crate::game::{Position, Shape};
use crate::machine::{Cpu, Gather, Gathers, Indices, Member, Shift};

/// One lookup of the general path: a tuple under one symmetry.
#[derive(Clone, Debug)]
struct TupleLookup {
    start: usize,
    /// Cells, and the position of each one's digit in the index.
    cells: [(u8, u8); Pattern::MAX_CELLS],
    len: u8,
    /// The largest tile that the table distinguishes; larger tiles count as this one.
    largest: u8,
}

impl TupleLookup {
    /// The index for the tiles that `tile` returns.
    fn index(&self, tile: impl Fn(usize) -> u8) -> usize {
        let cells = self.cells[..usize::from(self.len)].iter();
        let digit =
            |&(cell, shift): &(u8, u8)| usize::from(tile(cell.into()).min(self.largest)) << shift;
        self.start + cells.map(digit).sum::<usize>()
    }
}

/// The gather of one tuple, or of two whose tables are interleaved.
fn gather(tables: &[TableLayout], group: &[usize]) -> Gather {
    let turned = tables[group[0]].turned();
    let shift = |(cell, place): (u8, u32)| (source(cell, turned) - place, 0xF << place);
    let wide = |(by, mask): (u32, u64)| Shift::new(by, mask);
    let mut shared: Vec<(u32, u64)> = Vec::new();
    for (by, mask) in tables[group[0]].digits().skip(1).map(shift) {
        match shared.iter_mut().find(|(found, _)| *found == by) {
            Some((_, bits)) => *bits |= mask,
            None => shared.push((by, mask)),
        }
    }
    let member = |&tuple: &usize| {
        let table = &tables[tuple];
        Member::new(tuple, table.start(), wide(shift(table.lowest())))
    };
    Gather {
        turned,
        shared: shared.into_iter().map(wide).collect(),
        members: group.iter().map(member).collect(),
    }
}

/// Several banks: consecutive sets of tables, of which each position reads one. Stage and hint
/// select it: those of the first stage come first, by hint.
#[derive(Clone, Debug)]
struct Banks {
    /// The banks of a stage.
    hints: usize,
    stages: Stages,
    /// The number of weights in a bank.
    weights: usize,
    /// The largest tile that the tables distinguish.
    largest: u8,
    /// With weight promotion: the distance from a weight to that of the stage before.
    promotion: Option<usize>,
}

impl Banks {
    fn new(tuples: &TupleSet) -> Option<Self> {
        let count = tuples.banks();
        let (hints, weights) = (tuples.banks_of_a_stage(), tuples.weights() as usize / count);
        let promotes = tuples.stages().promotes();
        (count > 1).then(|| Self {
            hints,
            stages: tuples.stages().clone(),
            weights,
            largest: largest(tuples.tile_bits()),
            promotion: promotes.then_some(weights * hints),
        })
    }

    /// The bank of a position.
    #[inline(always)]
    fn select<B: Position>(&self, position: B) -> usize {
        let hint = usize::from(position.hint().saturating_sub(1)).min(self.hints - 1);
        self.stages.of(position, self.largest) * self.hints + hint
    }

    /// Moves indices of the first bank to the bank of each position.
    #[inline(always)]
    fn shift<B: Position>(&self, four: [B; 4], found: &mut Indices) {
        let further = |position| self.weights * self.select(position);
        let last = self.stages.count() * self.hints - 1;
        found.shift(four.map(further), self.weights * last);
    }
}

/// The largest tile that this number of bits distinguishes.
fn largest(tile_bits: usize) -> u8 {
    (1 << tile_bits) - 1
}

/// A lookup that contains a given cell, and the position of the cell's digit in its index.
#[derive(Clone, Copy, Debug)]
pub(super) struct CellLookup {
    pub(super) lookup: u32,
    pub(super) shift: u32,
}

/// Everything that depends on the tuple set and not on the weights.
#[derive(Clone, Debug)]
pub struct LookupPlan {
    cpu: Cpu,
    shape: Shape,
    /// The tables of all tuples in the first bank, in the second, ...
    tables: Vec<TableLayout>,
    /// `None` for a single bank.
    banks: Option<Banks>,
    groups: Vec<Vec<usize>>,
    lookups: Vec<TupleLookup>,
    /// For 4x4 boards.
    gathers: Option<Gathers>,
    at_cell: Vec<Vec<CellLookup>>,
    /// The numbering of each lookup's table.
    numberings: Vec<Numbering>,
}

impl LookupPlan {
    /// The plan of a tuple set, for this processor.
    pub fn new(tuples: &TupleSet, cpu: Cpu) -> Self {
        let shape = tuples.shape();
        let mut symmetries = shape.symmetries();
        if !tuples.symmetry() {
            symmetries.truncate(1);
        }
        let (tables, groups) = lay_out(tuples);

        let mut lookups = Vec::new();
        let mut numberings = Vec::new();
        let mut at_cell = vec![Vec::new(); shape.cells()];
        let tile_bits = tuples.patterns()[0].tile_bits();
        for table in &tables {
            for symmetry in &symmetries {
                let mut cells = [(0, 0); Pattern::MAX_CELLS];
                let mut len = 0;
                for (cell, shift) in table.digits() {
                    let source = symmetry[usize::from(cell)];
                    cells[len] = (source as u8, shift as u8);
                    let lookup = lookups.len() as u32;
                    at_cell[source].push(CellLookup { lookup, shift });
                    len += 1;
                }
                numberings.push(table.numbering());
                lookups.push(TupleLookup {
                    start: table.start(),
                    cells,
                    len: len as u8,
                    largest: largest(tile_bits),
                });
            }
        }
        let gathers = (shape == Shape::FOUR && tile_bits == 4).then(|| {
            let each = groups.iter().map(|group| gather(&tables, group));
            Gathers::new(each.collect(), symmetries.len())
        });
        Self {
            cpu,
            shape,
            tables: for_every_bank(&tables, tuples),
            banks: Banks::new(tuples),
            groups,
            lookups,
            gathers,
            at_cell,
            numberings,
        }
    }

    /// The number of lookups of one value: the first tuple under every symmetry, the second, ...
    pub fn lookups(&self) -> usize {
        self.lookups.len()
    }

    /// Computes the index of each lookup for each of four boards, in the order of lookups. A tile
    /// beyond the largest one that a table distinguishes counts as that one.
    ///
    /// Packed boards are transformed rather than tuples: a tuple of the transformed board takes a
    /// few shifts and masks, as its cells are in runs, while most cells of a transformed tuple are
    /// apart.
    ///
    /// # Panics
    /// In debug builds, when a board has another shape than the tuples.
    #[inline(always)]
    pub(crate) fn find<B: Position>(&self, four: [B; 4], found: &mut Indices) {
        debug_assert!(
            four.iter().all(|board| board.shape() == self.shape),
            "the tuples are made for another board: {}",
            self.shape
        );
        match &self.gathers {
            Some(gathers) if B::PACKED => {
                found.fill_packed(self.cpu, gathers, four.map(B::packed));
            }
            _ => self.find_by_cells(four, found),
        }
        if let Some(banks) = &self.banks {
            banks.shift(four, found);
        }
    }

    /// The bank whose tables a position reads.
    pub(super) fn bank_of<B: Position>(&self, position: B) -> usize {
        let banks = self.banks.as_ref();
        banks.map_or(0, |banks| banks.select(position))
    }

    /// With weight promotion: the distance from a weight to that of the stage before.
    #[inline(always)]
    pub(super) fn promotion(&self) -> Option<usize> {
        self.banks.as_ref()?.promotion
    }

    #[inline(always)]
    fn find_by_cells<B: Position>(&self, four: [B; 4], found: &mut Indices) {
        let weights = match &self.banks {
            Some(banks) => banks.weights,
            None => self.tables.iter().map(TableLayout::weights).sum(),
        };
        found.fill(self.lookups.len(), weights, |k| {
            four.map(|position| self.lookups[k].index(|cell| position.cell(cell)))
        });
    }

    /// The layout of the tables in memory: one after the other, with a `+` between those that are
    /// interleaved, each as its cells from the lowest digit.
    pub(super) fn order(&self) -> String {
        let order = |&tuple: &usize| self.tables[tuple].order();
        let group = |group: &Vec<usize>| group.iter().map(order).collect::<Vec<_>>().join("+");
        self.groups.iter().map(group).collect::<Vec<_>>().join(" ")
    }

    /// The place of each tuple's weights.
    pub(super) fn tables(&self) -> &[TableLayout] {
        &self.tables
    }

    /// How each lookup maps tiles to places.
    #[inline(always)]
    pub(super) fn numberings(&self) -> &[Numbering] {
        &self.numberings
    }

    /// The lookups that depend on the tile in this cell.
    #[inline(always)]
    pub(super) fn at_cell(&self, cell: usize) -> &[CellLookup] {
        &self.at_cell[cell]
    }

    /// The number of cells of the board.
    #[inline(always)]
    pub(super) fn cells(&self) -> usize {
        self.at_cell.len()
    }
}
