//! Which spawns the rules allow, and why another one is refused.

use super::neighbours::TILES;
use super::spawns::HINTS;
use super::{PlacedTile, Reason};
use crate::game::{After, Game, Spawn, each_cell};

/// A spawn that the rules allow, with the probabilities of all that might have come instead.
#[derive(Clone, Debug)]
pub struct AllowedSpawn {
    /// The spawn.
    pub spawn: Spawn,
    /// The probability of each tile, by its index.
    pub(super) tiles: [f64; TILES],
    /// The probability of each hint together with the tile.
    pub(super) hints: [f64; HINTS],
}

/// Checks a spawn after an afterstate.
///
/// # Errors
/// When its cell is taken or at the wrong edge, or its tile or hint cannot come now.
pub fn allowed_spawn<G: Game>(
    game: &G,
    after: After<G::Board>,
    placed: PlacedTile,
) -> Result<AllowedSpawn, Reason> {
    check_cell(game, after, placed.cell)?;
    let (mut tiles, mut hints) = ([0.0; TILES], [0.0; HINTS]);
    let mut found = None;
    game.for_each_new_tile(after, |spawn, p| {
        tiles[usize::from(spawn.tile)] += p;
        if spawn.tile == placed.tile {
            hints[usize::from(spawn.chance_state.hint)] += p;
            if spawn.chance_state.hint == placed.hint {
                found = Some(spawn);
            }
        }
    });
    let indices =
        |chances: &[f64]| -> Vec<usize> { possible(chances).map(|(index, _)| index).collect() };
    let chance = tiles.get(usize::from(placed.tile)).copied().unwrap_or(0.0);
    if chance == 0.0 {
        return Err(Reason::Tile {
            found: placed.tile,
            expected: indices(&tiles),
        });
    }
    let spawn = found.ok_or_else(|| Reason::Hint {
        found: placed.hint,
        expected: indices(&hints),
    })?;
    Ok(AllowedSpawn {
        spawn,
        tiles,
        hints,
    })
}

fn check_cell<G: Game>(game: &G, after: After<G::Board>, at: usize) -> Result<(), Reason> {
    let cell = u8::try_from(at).unwrap_or(u8::MAX);
    if at >= game.shape().cells() {
        return Err(Reason::NoCell(cell));
    }
    if after.cell(at) != 0 {
        return Err(Reason::Taken(cell));
    }
    let spawn_cells = game.spawn_cells(after);
    if spawn_cells >> cell & 1 == 0 {
        return Err(Reason::Edge {
            found: cell,
            expected: each_cell(spawn_cells).collect(),
        });
    }
    Ok(())
}

/// The kinds that are possible, with their probabilities.
pub(super) fn possible(chances: &[f64]) -> impl Iterator<Item = (usize, f64)> + Clone + '_ {
    let all = chances.iter().copied().enumerate();
    all.filter(|(_, p)| *p > 0.0)
}
