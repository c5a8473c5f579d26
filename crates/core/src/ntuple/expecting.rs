//! V(state) without looking at every child: what the next tile will add, kept beside each weight.
//!
//! A player by V(state) chooses by r + E[V] over every new tile: some 30 children of an afterstate.
//! Each child differs from its parent in one empty cell, so in one digit of the lookups that contain
//! the cell, and what a new tile adds is a sum over lookups as V itself is. For an index i with empty
//! digits d, and new tiles k of chance p_k,
//!
//! ahead(i) = sum over d of ( sum over k of p_k w(i with k at d) - w(i) )
//!
//! E[V] = V + (sum of ahead over all lookups) / (number of empty cells)
//!
//! This holds for games whose new tile may enter any empty cell with the same chance. Choosing a move
//! reads `ahead` beside the weight, from the same cache line, instead of the weights of all children.
//! The price is paid at the update: a change of w(i) goes into `ahead` of the few indices that have an
//! empty cell where i has a new tile. It takes four bytes more a weight; with R1's tuples, three legal
//! moves and five empty cells, a choice looks up 144 places instead of 624; a training is 6.7 times as fast as by
//! the plain mean (benchmarks/2026-11-16.md).
//!
//! Two threads that write one `ahead` at the same moment lose a change, as with weights, but here
//! nothing would ever mend it. So [`Network::refresh`] works them out anew, now and then.

use std::io;

use super::{Cells, Indices, Network, Tables, TupleSet, Updated, Weight, sum, value};
use crate::Value;
use crate::game::Position;
use crate::machine::{Both, Cpu};
use crate::ntuple::{Ahead, Number};

/// A network of states that knows the expectation over new tiles.
pub struct Expecting<W: Weight<Cell = Number>> {
    tables: Tables<Ahead<W>>,
    tiles: &'static [(u8, f64)],
}

impl<W: Weight<Cell = Number>> Expecting<W> {
    /// A network in which every position is worth `initial`, for a game with these new tiles.
    ///
    /// # Errors
    /// When the system refuses the memory.
    pub fn new(tuples: &TupleSet, initial: Value, tiles: &'static [(u8, f64)]) -> io::Result<Self> {
        Self::on(Cpu::best(), tuples, initial, tiles)
    }

    /// The same with a choice of instructions; they change the speed and no result.
    ///
    /// # Errors
    /// When the system refuses the memory.
    pub fn on(
        cpu: Cpu,
        tuples: &TupleSet,
        initial: Value,
        tiles: &'static [(u8, f64)],
    ) -> io::Result<Self> {
        // Where all weights are equal a new tile adds nothing: `ahead` is rightly 0 everywhere.
        Ok(Self {
            tables: Tables::on(cpu, tuples, initial)?,
            tiles,
        })
    }

    /// The expected value of the position in this lane after the next new tile, which may enter any of
    /// `empty` cells.
    #[inline(always)]
    pub fn expectation(&self, cells: Cells<'_, Self>, lane: usize, empty: u32) -> Value {
        let [value, ahead] = sum(cells.lane(lane), |sum: Both, cell| sum + cell.both()).parts();
        value + ahead / empty as Value
    }

    /// Adjusts every weight, with the part of its own `ahead` that falls by it, and notes the changes.
    #[inline(always)]
    fn adjust(
        &self,
        at: &Indices,
        lane: usize,
        delta: Value,
        rate: Value,
        change: &mut Vec<Value>,
    ) -> Value {
        let tables = &self.tables;
        let step = rate / tables.active() as Value;
        let cells = self.cells(at).each(lane).zip(tables.sums.at(at).each(lane));
        let mut value = 0.0;
        change.clear();
        change.extend(
            cells
                .zip(tables.plan.numberings())
                .map(|((cell, sums), numbering)| {
                    let [weight, ahead] = cell.get();
                    let (before, after) = W::adjust(weight, sums.get(), delta, step);
                    value += after;
                    let tiles = numbering.tiles(cell.place());
                    let empty = count(digits_equal(tiles, 0, numbering.ones()));
                    add(ahead, (before - after) * empty);
                    after - before
                }),
        );
        value
    }

    /// Tells all that look ahead to these weights that they have changed: where the position shows
    /// a new tile, it was expected by the positions with an empty cell there.
    #[inline(always)]
    fn spread<P: Position>(&self, position: P, at: &Indices, lane: usize, change: &[Value]) {
        let (plan, cells) = (&self.tables.plan, self.cells(at));
        for cell in 0..plan.cells() {
            let shown = position.cell(cell);
            for &(_, chance) in self.tiles.iter().filter(|(tile, _)| *tile == shown) {
                for touched in plan.at_cell(cell) {
                    let lookup = touched.lookup as usize;
                    let changed = cells.spot(lookup, lane);
                    let [_, ahead] = changed.before(usize::from(shown) << touched.shift).get();
                    add(ahead, change[lookup] * chance as Value);
                }
            }
        }
    }
}

#[inline(always)]
fn add(number: &Number, change: Value) {
    number.set(number.get() + change);
}

/// The lowest bit of every digit that equals `tile`.
#[inline(always)]
fn digits_equal(digits: usize, tile: u8, ones: usize) -> usize {
    let differ = digits ^ (ones * usize::from(tile));
    let any = differ | differ >> 1;
    !(any | any >> 2) & ones
}

/// How many of at most eight digits are marked: the product sums them all in its eighth.
#[inline(always)]
fn count(marks: usize) -> Value {
    ((marks as u32).wrapping_mul(0x1111_1111) >> 28) as Value
}

impl<W: Weight<Cell = Number>> Network for Expecting<W> {
    type Weight = Ahead<W>;

    #[inline(always)]
    fn tables(&self) -> &Tables<Ahead<W>> {
        &self.tables
    }

    #[inline(always)]
    fn update<P: Position>(
        &self,
        position: P,
        at: &mut Indices,
        lane: usize,
        target: Value,
        rate: Value,
    ) -> Updated {
        let mut change = std::mem::take(&mut at.change);
        let delta = target - value(self.cells(at), lane);
        let value = self.adjust(at, lane, delta, rate, &mut change);
        self.spread(position, at, lane, &change);
        at.change = change;
        Updated { value, delta }
    }

    fn refresh(&self) {
        for [_, ahead] in self.tables.cells.iter() {
            if ahead.get() != 0.0 {
                ahead.set(0.0);
            }
        }
        let ahead = |place: usize| &self.tables.cells[place][1];
        for table in self.tables.plan.tables() {
            let numbering = table.numbering();
            for place in table.places() {
                let weight = self.tables.cells[place][0].get();
                if weight == 0.0 {
                    continue;
                }
                let (tiles, ones) = (numbering.tiles(place), numbering.ones());
                add(ahead(place), -weight * count(digits_equal(tiles, 0, ones)));
                for &(tile, chance) in self.tiles {
                    let mut found = digits_equal(tiles, tile, ones);
                    while found != 0 {
                        let lowest = found & found.wrapping_neg();
                        let expected = numbering.place(tiles - usize::from(tile) * lowest);
                        add(ahead(expected), weight * chance as Value);
                        found ^= lowest;
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::game::{After, Board, Classic, Game, Shape, TWOS_TILES};
    use crate::ntuple::{Coherent, Plain};
    use crate::random::game_rng;

    fn random_board(number: u64) -> Board {
        let mut rng = game_rng(4, number);
        Board::from_tiles(&std::array::from_fn(|_| {
            rng.below(10).saturating_sub(5) as u8
        }))
    }

    /// The mean over every new tile, by its definition.
    fn slow_expectation<W: Weight<Cell = Number>>(
        network: &Expecting<W>,
        after: After<Board>,
    ) -> f64 {
        let mut mean = 0.0;
        Classic::new().for_each_spawn(after, |state, _, chance| {
            mean += chance * f64::from(network.value(state))
        });
        mean
    }

    fn agrees<W: Weight<Cell = Number>>(network: &Expecting<W>) {
        let mut at = Indices::default();
        for number in 0..500 {
            let board = random_board(number);
            let slow = slow_expectation(network, After(board));
            network.find([After(board); 4], &mut at);
            let fast = f64::from(network.expectation(
                network.cells(&at),
                1,
                board.empty_cells().count_ones(),
            ));
            assert!(
                (fast - slow).abs() < 1e-3 + 1e-5 * slow.abs(),
                "{fast} and {slow} for {board:?}"
            );
        }
    }

    fn trained<W: Weight<Cell = Number>>(set: &str, symmetry: bool) -> Expecting<W> {
        let tuples = TupleSet::parse(set, Shape::FOUR, symmetry).unwrap();
        let network = Expecting::new(&tuples, 50.0, &TWOS_TILES).unwrap();
        let mut at = Indices::default();
        for number in 0..3000 {
            let board = random_board(number % 700);
            network.find([board; 4], &mut at);
            network.update(board, &mut at, 3, (number % 13) as Value * 20.0, 0.5);
        }
        network
    }

    #[test]
    fn the_expectation_follows_every_update() {
        agrees(&trained::<Plain>("01256 0145 048c 4589 9", true));
        agrees(&trained::<Plain>("31 02468", false));
        agrees(&trained::<Coherent>("0123 4567", true));
    }

    #[test]
    fn a_refresh_mends_what_was_lost() {
        let network = trained::<Plain>("0123 4567", true);
        for [_, ahead] in network.tables.cells.iter() {
            ahead.set(ahead.get() + 1000.0);
        }
        network.refresh();
        agrees(&network);
    }

    #[test]
    fn digits_are_found() {
        assert_eq!(digits_equal(0x1021, 1, 0x1111), 0x1001);
        assert_eq!(digits_equal(0x1021, 0, 0x1111), 0x0100);
        assert_eq!(digits_equal(0x0, 0, 0x111), 0x111);
        assert_eq!(digits_equal(0xF2F2, 2, 0x1111), 0x0101);
        assert_eq!(count(0x1111_1111), 8.0);
        assert_eq!(count(0x1010), 2.0);
    }
}
