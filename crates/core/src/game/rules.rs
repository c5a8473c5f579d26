//! What distinguishes one game from another, for boards of every size, written to be easy to read.
//!
//! [`Grid`](super::Grid) plays any rules on any board; every fast path is built from them or tested
//! against it.

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
    /// The number on a tile, by tile index; 0 for an empty cell.
    fn tile_value(&self, tile: u8) -> u64;

    /// The largest tile index that play on a board of this shape can reach.
    fn largest_tile(&self, shape: Shape) -> u8;

    /// Slides a line towards its first cell and returns the reward.
    fn slide_line(&self, line: &mut [u8]) -> u32;

    /// Whether a board of this shape can have these tiles and this chance state; false for a wrong
    /// number of tiles.
    fn is_possible(&self, shape: Shape, tiles: &[u8], chance_state: ChanceState) -> bool;

    /// Visits every tile that may spawn, given the chance state and the largest tile on the board,
    /// with its probability; the probabilities sum to 1.
    fn for_each_new_tile(
        &self,
        shape: Shape,
        chance_state: ChanceState,
        largest: u8,
        visit: &mut dyn FnMut(Spawn, f64),
    );

    /// The number of initial tiles.
    fn initial_tiles(&self, _: Shape) -> usize {
        2
    }

    /// Whether spawns depend on more than the empty cells: on a chance state, or on the last slide.
    fn has_chance_state(&self) -> bool {
        false
    }

    /// Whether a board of this shape shows a hint about the next tile.
    fn shows_hint(&self, _: Shape) -> bool {
        false
    }

    /// The chance state that belongs to these tiles and this hint (0: none), as far as they
    /// determine it; `None` if no game can reach them.
    fn chance_state_of(&self, _: Shape, _tiles: &[u8], hint: u8) -> Option<ChanceState> {
        (hint == 0).then_some(ChanceState::NONE)
    }

    /// The number of bits that a weight table needs for a tile.
    fn tile_bits(&self, _: Shape) -> usize {
        4
    }

    /// The cells in which a tile may spawn after a slide, if they are empty, one bit each: all
    /// cells, or some at the edge that the tiles slid away from. Bit k of `moved` is set if the
    /// k-th line changed.
    fn spawn_mask(&self, _: Shape, _: Direction, _moved: u32) -> u32 {
        u32::MAX
    }

    /// The reward of the spawn of a tile.
    #[inline(always)]
    fn spawn_reward(&self, _tile: u8) -> u32 {
        0
    }

    /// The tile that counts as winning; `judge` measures its frequency.
    fn goal_tile(&self) -> Option<u8> {
        None
    }

    /// The spawned tiles and their probabilities, where these are the same for every board and
    /// every empty cell.
    fn uniform_spawns(&self) -> Option<&'static [(u8, f64)]> {
        None
    }
}

/// The last cell of each line of a mask, where bit k selects the k-th line: the edge that the tiles
/// slide away from.
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

/// Slides one line towards its first cell, tile by tile and cell by cell, and returns the sum of
/// the tile values that merges made. `merge` returns what two neighbours become; a merged tile does
/// not merge again in the same slide.
fn slide_all_the_way(
    line: &mut [u8],
    merge: impl Fn(u8, u8) -> Option<u8>,
    tile_value: impl Fn(u8) -> u64,
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
                reward += tile_value(made) as u32;
            } else {
                break;
            }
        }
    }
    reward
}
