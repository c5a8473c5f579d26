//! Threes! on the 4x4 board: a fast path with the same results as [`Grid`](super::Grid) 4x4.
//!
//! Fifteen tile indices fit into four bits a cell, so a board is one number as in 2048. A line
//! moves by at most one cell, so a slide is a shift of all cells after the first gap or merge: a
//! few operations on the whole board. A table of all rows would evict weights from the caches.

use std::fmt;
use std::sync::LazyLock;

use super::board::{LOWEST_BITS, empty_cells, transpose};
use super::rules::edge;
use super::symmetry::{canonical, packed_key, transform_mask, transform_packed};
use super::{
    After, ChanceState, Direction, Game, Position, Rules, Shape, Slides, Spawn, State, Threes,
};

/// Sixteen cells of tile indices, and the chance state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ThreesBoard {
    cells: u64,
    chance_state: ChanceState,
    /// In an afterstate, the cells in which a tile may spawn if they are empty. In a state, none.
    spawn_mask: u16,
}

impl ThreesBoard {
    /// The cells in which a tile may spawn.
    #[inline(always)]
    fn spawn_cells(self) -> u32 {
        u32::from(self.spawn_mask) & empty_cells(self.cells)
    }
}

impl Position for ThreesBoard {
    const PACKED: bool = true;

    type Key = u128;

    #[inline(always)]
    fn shape(self) -> Shape {
        Shape::FOUR
    }

    #[inline(always)]
    fn cell(self, i: usize) -> u8 {
        (self.cells >> (4 * i) & 15) as u8
    }

    #[inline(always)]
    fn hint(self) -> u8 {
        self.chance_state.hint
    }

    #[inline(always)]
    fn packed(self) -> u64 {
        self.cells
    }

    #[inline(always)]
    fn key(self) -> u128 {
        packed_key(self.cells, self.chance_state.packed(), self.spawn_cells())
    }

    fn canonical(self) -> Self {
        canonical(Shape::FOUR, |sources| Self {
            cells: transform_packed(self.cells, sources),
            spawn_mask: transform_mask(self.spawn_cells(), sources) as u16,
            ..self
        })
    }
}

/// The first cell of every line.
const FIRST: u64 = 0x000F_000F_000F_000F;
/// The last cell of every line.
const LAST: u64 = FIRST << 12;

/// The reward for merges in two lines, indexed by the two merged tiles: 3 for a 3-tile, a third of
/// the tile's score from 6 on.
static MERGE_REWARDS: LazyLock<Box<[u32; 256]>> = LazyLock::new(|| {
    let score = |tile| Threes::Course.spawn_reward(tile);
    let earned = |tile: usize| match tile as u8 {
        made @ 4..=Threes::LARGEST => score(made) - 2 * score(made - 1),
        made @ 0..=3 => score(made),
        _ => 0,
    };
    Box::new(std::array::from_fn(|two| {
        earned(two & 15) + earned(two >> 4)
    }))
});

/// Four lines slid in one direction.
#[derive(Clone, Copy)]
struct SlidLines {
    cells: u64,
    /// The tile that a merge made in each line, or 0: those of the first two lines in the lowest
    /// byte, those of the others in the fifth.
    made: u64,
}

/// Slides four lines towards their first cells, and towards their last. Flags of a cell are in the
/// lowest of its four bits. Neighbours that merge in one direction also merge in the other.
#[inline(always)]
fn slide(tiles: u64) -> [SlidLines; 2] {
    let is_zero = |cells: u64| !(cells | cells >> 1 | cells >> 2 | cells >> 3) & LOWEST_BITS;
    let whole = |facts: u64| facts * 15;
    let behind = tiles >> 4 & !LAST;
    let before = tiles << 4 & !FIRST;
    let gap = is_zero(tiles);
    let large = tiles >> 2 | tiles >> 3;
    let from_three = large | tiles >> 1 & tiles;
    let below_largest = !(tiles >> 1 & tiles >> 2 & tiles >> 3);
    // Flags of a cell and its successor: equal tiles, or a 1 and a 2 (a low bit in one, the second
    // bit in the other).
    let equal = is_zero(tiles ^ behind) & from_three & below_largest;
    let pair = is_zero(tiles ^ behind ^ (3 * LOWEST_BITS)) & (tiles ^ tiles >> 1) & !large;

    // A line closes up at the first cell where it can, and all later cells move with it.
    let closed = |closes: u64, first: u64, from: u64, next: u64, equal: u64, pair: u64| {
        let merges = closes & first & !gap;
        let moved = tiles & !whole(from) | next & whole(from);
        let cells = (moved + (merges & equal)) | tiles & whole(merges & pair);
        let made = cells & whole(merges);
        let made = made | made >> 8;
        let made = (made | made >> 4) & FIRST;
        SlidLines {
            cells,
            made: made | made >> 12,
        }
    };
    let closes = (gap | equal | pair) & !LAST;
    let from = closes | closes << 4;
    let from = from | (from & 0x0011_0011_0011_0011) << 8;
    let forth = closed(closes, !(from << 4 & !FIRST), from, behind, equal, pair);
    let closes = (gap & !FIRST) | (equal | pair) << 4;
    let from = closes | closes >> 4;
    let from = from | (from & 0x1100_1100_1100_1100) >> 8;
    let back = closed(
        closes,
        !(from >> 4 & !LAST),
        from,
        before,
        equal << 4,
        pair << 4,
    );
    [forth, back]
}

/// The cells of the edge that each direction slides away from; bit k of the index selects the k-th
/// line.
static EDGES: LazyLock<[[u16; 16]; 4]> = LazyLock::new(|| {
    Direction::ALL.map(|direction| {
        std::array::from_fn(|lines| edge(Shape::FOUR, direction, lines as u32) as u16)
    })
});

/// The lines that have a bit set, one bit each.
#[inline(always)]
fn changed(cells: u64) -> usize {
    let has = |k: usize| usize::from((cells >> (16 * k)) as u16 != 0) << k;
    has(0) | has(1) | has(2) | has(3)
}

/// Threes! on 4x4.
#[derive(Clone, Copy)]
pub struct FastThrees {
    rules: Threes,
    earned: &'static [u32; 256],
    edges: &'static [[u16; 16]; 4],
}

impl FastThrees {
    /// Creates the game in this variant; the first call builds the tables.
    pub fn new(rules: Threes) -> Self {
        Self {
            rules,
            earned: &MERGE_REWARDS,
            edges: &EDGES,
        }
    }
}

impl fmt::Debug for FastThrees {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FastThrees({:?})", self.rules)
    }
}

impl Game for FastThrees {
    type Board = ThreesBoard;

    fn shape(&self) -> Shape {
        Shape::FOUR
    }

    #[inline(always)]
    fn rules(&self) -> &dyn Rules {
        &self.rules
    }

    fn empty(&self) -> After<Self::Board> {
        After(ThreesBoard {
            cells: 0,
            chance_state: ChanceState::NONE,
            spawn_mask: u16::MAX,
        })
    }

    fn as_afterstate(&self, State(board): State<Self::Board>) -> After<Self::Board> {
        let spawn_mask = u16::MAX;
        After(ThreesBoard {
            spawn_mask,
            ..board
        })
    }

    #[inline(always)]
    fn slides(&self, State(board): State<Self::Board>) -> Slides<Self::Board> {
        let columns = transpose(board.cells);
        let [left, right] = slide(board.cells);
        let [up, down] = slide(columns);
        let slid_by_direction = [
            (up, columns),
            (right, board.cells),
            (down, columns),
            (left, board.cells),
        ];
        let cells = [
            transpose(up.cells),
            right.cells,
            transpose(down.cells),
            left.cells,
        ];
        Slides::of(|direction| {
            let (slid, lines) = slid_by_direction[direction as usize];
            let spawn_cells = match self.rules {
                Threes::Course | Threes::Hint => 15,
                Threes::Original => changed(slid.cells ^ lines),
            };
            let after = After(ThreesBoard {
                cells: cells[direction as usize],
                spawn_mask: self.edges[direction as usize][spawn_cells],
                ..board
            });
            let earned = |made: u64| self.earned[(made & 0xFF) as usize];
            let reward = earned(slid.made) + earned(slid.made >> 32);
            (after, reward, slid.cells != lines)
        })
    }

    #[inline(always)]
    fn spawn_cells(&self, After(board): After<Self::Board>) -> u32 {
        board.spawn_cells()
    }

    #[inline(always)]
    fn for_each_new_tile(&self, After(board): After<Self::Board>, visit: impl FnMut(Spawn, f64)) {
        // Only bonus tiles depend on the largest tile.
        let largest = if self.rules == Threes::Course {
            0
        } else {
            self.max_tile(State(board))
        };
        self.rules
            .new_tiles(Shape::FOUR, board.chance_state, largest, visit);
    }

    #[inline(always)]
    fn place(
        &self,
        After(board): After<Self::Board>,
        cell: usize,
        spawn: Spawn,
    ) -> State<Self::Board> {
        debug_assert_eq!(board.cell(cell), 0, "cell {cell} is occupied");
        State(ThreesBoard {
            cells: board.cells | u64::from(spawn.tile) << (4 * cell),
            chance_state: spawn.chance_state,
            spawn_mask: 0,
        })
    }

    fn state(&self, tiles: &[u8], chance_state: ChanceState) -> Option<State<Self::Board>> {
        let possible = self.rules.is_possible(Shape::FOUR, tiles, chance_state);
        let pack = |cells, &tile: &u8| cells << 4 | u64::from(tile);
        possible.then(|| {
            State(ThreesBoard {
                cells: tiles.iter().rev().fold(0, pack),
                chance_state,
                spawn_mask: 0,
            })
        })
    }

    fn chance_state(&self, State(board): State<Self::Board>) -> ChanceState {
        board.chance_state
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks every row of every tile, in each of the four lines and in both directions, against
    /// the rule.
    #[test]
    fn lines_slide_by_the_rule() {
        let tiles = |line: u64| [0, 4, 8, 12].map(|shift| (line >> shift & 15) as u8);
        let rows =
            (0..=0xFFFF).filter(|&row| tiles(row).iter().all(|&tile| tile <= Threes::LARGEST));
        for row in rows {
            let mut forth = tiles(row);
            let mut back = forth;
            back.reverse();
            let rewards = [&mut forth, &mut back].map(|line| Threes::Course.slide_line(line));
            back.reverse();
            for k in 0..4 {
                let others = 0x3021_1203_0330_EE00_u64 & !(0xFFFF << (16 * k));
                let both = slide(others | row << (16 * k));
                for ((slid, line), reward) in both.into_iter().zip([forth, back]).zip(rewards) {
                    let found = tiles(slid.cells >> (16 * k));
                    assert_eq!(found, line, "{row:04x} in line {k}");
                    let made = slid.made >> [0, 4, 32, 36][k] & 15;
                    assert_eq!(
                        MERGE_REWARDS[made as usize], reward,
                        "{row:04x} in line {k}"
                    );
                }
            }
        }
    }
}
