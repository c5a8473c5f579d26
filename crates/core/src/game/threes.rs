//! Threes! on the 4x4 board: the fast path, equal in every result to [`Grid`](super::Grid) 4x4.
//!
//! Fifteen kinds of tiles fit into four bits a cell, so a board is a number as in 2048, and a slide reads its rows from
//! a table of all of them.

use std::fmt;
use std::sync::LazyLock;

use super::board::{empty_cells, transpose};
use super::row::{pack, unpack};
use super::rules::edge;
use super::{After, Arrival, Direction, Game, Luck, Position, Rules, Shape, Slides, State, Threes};
use crate::ntuple::{Indices, Plan};

/// Sixteen cells of tile indices, and what chance knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ThreesBoard {
    cells: u64,
    luck: Luck,
    /// Of an afterstate, the cells that the slide lets a new tile enter, empty or not. Of a state, none.
    entry: u16,
}

impl Position for ThreesBoard {
    #[inline(always)]
    fn cell(self, i: usize) -> u8 {
        (self.cells >> (4 * i) & 15) as u8
    }

    #[inline(always)]
    fn hint(self) -> u8 {
        self.luck.hint
    }

    #[inline(always)]
    fn indices(four: [Self; 4], plan: &Plan, found: &mut Indices) {
        let hints = four.map(|board| board.luck.hint);
        plan.find_packed(four.map(|board| board.cells), hints, found);
    }
}

/// A row, slid to either side.
#[derive(Clone, Copy, Default)]
struct Row {
    left: u16,
    right: u16,
    left_reward: u32,
    right_reward: u32,
}

static ROWS: LazyLock<Box<[Row]>> = LazyLock::new(|| {
    let slid = |mut tiles: [u8; 4]| {
        let reward = Threes::Course.slide_line(&mut tiles);
        (tiles, reward)
    };
    let turned = |mut tiles: [u8; 4]| {
        tiles.reverse();
        tiles
    };
    let row = |packed| {
        let (left, left_reward) = slid(unpack(packed));
        let (right, right_reward) = slid(turned(unpack(packed)));
        Row {
            left: pack(left),
            right: pack(turned(right)),
            left_reward,
            right_reward,
        }
    };
    (0..=u16::MAX).map(row).collect()
});

/// The cells of the edge that each direction slides away from, in lines of which bit k stands for the k-th.
static EDGES: LazyLock<[[u16; 16]; 4]> = LazyLock::new(|| {
    Direction::ALL.map(|direction| {
        std::array::from_fn(|lines| edge(Shape::FOUR, direction, lines as u32) as u16)
    })
});

/// Threes! on 4x4.
#[derive(Clone, Copy)]
pub struct FourThrees {
    rules: Threes,
    rows: &'static [Row],
    edges: &'static [[u16; 16]; 4],
}

/// Four lines slid one way: the cells, what that earned, and which lines moved.
#[derive(Clone, Copy)]
struct Slid {
    cells: u64,
    reward: u32,
    moved: usize,
}

impl FourThrees {
    /// This variant, with its tables made.
    pub fn new(rules: Threes) -> Self {
        Self {
            rules,
            rows: &ROWS,
            edges: &EDGES,
        }
    }

    /// Slides four lines towards their first cells, and towards their last.
    #[inline(always)]
    fn slide_lines(&self, lines: u64) -> [Slid; 2] {
        let nothing = Slid {
            cells: 0,
            reward: 0,
            moved: 0,
        };
        let mut both = [nothing; 2];
        for k in 0..4 {
            let before = (lines >> (16 * k)) as u16;
            let row = self.rows[usize::from(before)];
            let ways = [(row.left, row.left_reward), (row.right, row.right_reward)];
            for (slid, (after, reward)) in both.iter_mut().zip(ways) {
                slid.cells |= u64::from(after) << (16 * k);
                slid.reward += reward;
                slid.moved |= usize::from(after != before) << k;
            }
        }
        both
    }
}

impl fmt::Debug for FourThrees {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FourThrees({:?})", self.rules)
    }
}

impl Game for FourThrees {
    type State = State<ThreesBoard>;
    type After = After<ThreesBoard>;

    fn shape(&self) -> Shape {
        Shape::FOUR
    }

    #[inline(always)]
    fn rules(&self) -> &dyn Rules {
        &self.rules
    }

    fn blank(&self) -> Self::After {
        After(ThreesBoard {
            cells: 0,
            luck: Luck::NONE,
            entry: u16::MAX,
        })
    }

    fn unslid(&self, State(board): Self::State) -> Self::After {
        let entry = u16::MAX;
        After(ThreesBoard { entry, ..board })
    }

    #[inline(always)]
    fn slides(&self, State(board): Self::State) -> Slides<Self::After> {
        let [left, right] = self.slide_lines(board.cells);
        let [up, down] = self.slide_lines(transpose(board.cells)).map(|slid| Slid {
            cells: transpose(slid.cells),
            ..slid
        });
        let slid = [up, right, down, left];
        Slides::new(After(board), |direction| {
            let Slid {
                cells,
                reward,
                moved,
            } = slid[direction as usize];
            let lines = match self.rules {
                Threes::Course | Threes::Hint => 15,
                Threes::Original => moved,
            };
            let entry = self.edges[direction as usize][lines];
            let luck = board.luck;
            let after = After(ThreesBoard { cells, luck, entry });
            (moved != 0).then_some((after, reward))
        })
    }

    #[inline(always)]
    fn entries(&self, After(board): Self::After) -> u32 {
        u32::from(board.entry) & empty_cells(board.cells)
    }

    #[inline(always)]
    fn for_each_arrival(&self, After(board): Self::After, visit: impl FnMut(Arrival, f64)) {
        // Only bonus tiles ask for it.
        let largest = if self.rules == Threes::Course {
            0
        } else {
            self.largest(State(board))
        };
        self.rules.arrivals(Shape::FOUR, board.luck, largest, visit);
    }

    #[inline(always)]
    fn place(&self, After(board): Self::After, cell: usize, arrival: Arrival) -> Self::State {
        State(ThreesBoard {
            cells: board.cells | u64::from(arrival.tile) << (4 * cell),
            luck: arrival.luck,
            entry: 0,
        })
    }

    fn state(&self, tiles: &[u8], luck: Luck) -> Option<Self::State> {
        let possible = self.rules.is_possible(Shape::FOUR, tiles, luck);
        let pack = |cells, &tile: &u8| cells << 4 | u64::from(tile);
        possible.then(|| {
            State(ThreesBoard {
                cells: tiles.iter().rev().fold(0, pack),
                luck,
                entry: 0,
            })
        })
    }

    fn luck(&self, State(board): Self::State) -> Luck {
        board.luck
    }

    #[inline(always)]
    fn brings(&self, tile: u8) -> u32 {
        self.rules.brings(tile)
    }
}
