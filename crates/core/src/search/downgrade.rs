//! Tile-downgrading: searching a board that is larger than what was trained.
//!
//! A network that has hardly seen the 32768-tile values boards with it badly. Such a board plays
//! as one in which all large tiles are lower by one step, as long as no two tiles become equal. So
//! take the largest tile that is missing below the largest one on the board, and lower every tile
//! above it by one: 32768, 8192, 64 becomes 16384, 8192, 64 (Guei, Chen and Wu, 2021).

use crate::game::{Direction, Game, State};

/// The state with its large tiles lowered by one step, if it has a tile of index `from` or more.
/// Equal tiles stay equal and different ones different. `None` also in games where this changes
/// which tiles merge, if it changes the legal slides.
pub fn downgraded<G: Game>(game: &G, state: State<G::Board>, from: u8) -> Option<State<G::Board>> {
    let cells = game.shape().cells();
    let mut tiles: Vec<u8> = (0..cells).map(|i| state.cell(i)).collect();
    let largest = tiles.iter().copied().max().filter(|&max| max >= from)?;
    let missing = (1..largest).rev().find(|tile| !tiles.contains(tile))?;
    for tile in tiles.iter_mut().filter(|tile| **tile > missing) {
        *tile -= 1;
    }
    let lower = game.state(&tiles, game.chance_state(state))?;
    let legal = |state| {
        let slides = game.slides(state);
        Direction::ALL.map(|direction| slides.get(direction).is_some())
    };
    (legal(lower) == legal(state)).then_some(lower)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::game::{ChanceState, Fast2048};

    fn lowered(first: [u8; 4], from: u8) -> Option<Vec<u8>> {
        let game = Fast2048::new();
        let mut tiles = [0; 16];
        tiles[..4].copy_from_slice(&first);
        let state = game.state(&tiles, ChanceState::NONE).unwrap();
        let lower = downgraded(&game, state, from)?;
        Some((0..4).map(|i| lower.cell(i)).collect())
    }

    #[test]
    fn tiles_above_the_largest_missing_one_are_lowered() {
        assert_eq!(lowered([15, 13, 6, 0], 15), Some(vec![14, 13, 6, 0]));
        assert_eq!(lowered([15, 14, 12, 1], 15), Some(vec![14, 13, 12, 1]));
        assert_eq!(lowered([17, 16, 15, 14], 15), Some(vec![16, 15, 14, 13]));
        assert_eq!(lowered([14, 13, 6, 0], 15), None);
        // Nothing is missing.
        assert_eq!(lowered([4, 3, 2, 1], 4), None);
    }
}
