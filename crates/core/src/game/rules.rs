//! What makes a game the game it is on boards of every size, told so that a beginner can read it.
//!
//! [`Grid`](super::Grid) plays any rules on any board; every faster path is made of them or compared with it.

mod fibonacci;
mod powers_of_two;
mod threes;

use std::fmt;

pub use fibonacci::Fibonacci;
pub use powers_of_two::{POWERS_OF_TWO_SPAWNS, PowersOfTwo};
pub use threes::Threes;

use super::{ChanceState, Direction, Shape, Spawn};

/// The rules of a game.
pub trait Rules: fmt::Debug + Send + Sync {
    /// The face value of a tile index; 0 is an empty cell.
    fn tile_value(&self, tile: u8) -> u64;

    /// The largest tile index that play on such a board can reach.
    fn largest_tile(&self, shape: Shape) -> u8;

    /// Slides a line towards its first cell, and returns what that earns.
    fn slide_line(&self, line: &mut [u8]) -> u32;

    /// Whether such a board can hold these tiles and this chance state; false for a wrong number of tiles.
    fn is_possible(&self, shape: Shape, tiles: &[u8], chance_state: ChanceState) -> bool;

    /// Every tile that may spawn on a board with this chance state and this largest tile, with its probability; these sum to 1.
    fn for_each_new_tile(
        &self,
        shape: Shape,
        chance_state: ChanceState,
        largest: u8,
        visit: &mut dyn FnMut(Spawn, f64),
    );

    /// How many tiles a game starts with.
    fn initial_tiles(&self, _: Shape) -> usize {
        2
    }

    /// Whether spawns depend on more than the empty cells: on a chance state, or on the last slide.
    fn has_chance_state(&self) -> bool {
        false
    }

    /// Whether the tile to come is shown on such a board.
    fn shows_hint(&self, _: Shape) -> bool {
        false
    }

    /// The luck that goes with these tiles and this hint (0: none), as far as it can be told; `None` if no game comes
    /// to them.
    fn chance_state_of(&self, _: Shape, _tiles: &[u8], hint: u8) -> Option<ChanceState> {
        (hint == 0).then_some(ChanceState::NONE)
    }

    /// The bits that a table needs to tell apart the tiles that matter.
    fn tile_bits(&self, _: Shape) -> usize {
        4
    }

    /// The cells that a new tile may enter after a slide, a bit each, if they are empty: all of them, or some at
    /// the edge that the tiles slid away from. Of `moved`, bit k is set if the k-th line changed.
    fn spawn_mask(&self, _: Shape, _: Direction, _moved: u32) -> u32 {
        u32::MAX
    }

    /// What a new tile adds to the score.
    #[inline(always)]
    fn spawn_reward(&self, _tile: u8) -> u32 {
        0
    }

    /// The tile that players of this game want, by which judges assess them.
    fn goal_tile(&self) -> Option<u8> {
        None
    }

    /// The new tiles and their chances where these are the same for every board and every empty cell.
    fn uniform_spawns(&self) -> Option<&'static [(u8, f64)]> {
        None
    }
}

/// The last cell of some lines, where the k-th of them stands in bit k: the edge that tiles slide away from.
pub(super) fn edge(shape: Shape, direction: Direction, lines: u32) -> u32 {
    let (rows, cols) = (shape.rows(), shape.cols());
    let cell = |line: usize| match direction {
        Direction::Up => (rows - 1) * cols + line,
        Direction::Down => line,
        Direction::Left => line * cols + cols - 1,
        Direction::Right => line * cols,
    };
    let count = match direction {
        Direction::Up | Direction::Down => cols,
        Direction::Left | Direction::Right => rows,
    };
    let cells = (0..count).filter(|&line| lines >> line & 1 == 1).map(cell);
    cells.fold(0, |mask, cell| mask | 1 << cell)
}

/// Slides one line towards its first cell, a tile after the other and a cell at a time, and returns the sum of the
/// faces that merges made. `merge` says what two neighbours become; a tile that was just made does not merge again.
fn slide_all_the_way(
    line: &mut [u8],
    merge: impl Fn(u8, u8) -> Option<u8>,
    face: impl Fn(u8) -> u64,
) -> u32 {
    let mut just_made = [false; 5];
    let mut reward = 0;
    for first in 1..line.len() {
        let mut at = first;
        while at > 0 && line[at] != 0 {
            let ahead = at - 1;
            if line[ahead] == 0 {
                line.swap(ahead, at);
                at = ahead;
            } else if let Some(made) = merge(line[ahead], line[at]).filter(|_| !just_made[ahead]) {
                line[ahead] = made;
                line[at] = 0;
                just_made[ahead] = true;
                reward += face(made) as u32;
            } else {
                break;
            }
        }
    }
    reward
}
