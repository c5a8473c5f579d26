//! One suite that every game passes: what all of them promise, checked over many positions.

use std::collections::HashSet;

use super::{Direction, Game, Position};
use crate::random::{Rng, game_rng};

/// Plays random games and checks every position on the way.
///
/// # Panics
/// When the game breaks a promise; the message says which.
pub fn conformance<G: Game>(game: &G, games: u64) {
    let starts = starts(game);
    for number in 0..games {
        let mut rng = game_rng(2048, number);
        let mut state = game.start(&mut rng);
        assert!(starts.contains(&state), "a start that has no chance");
        for moves in 0..10_000 {
            check(game, state);
            let slides = game.slides(state);
            let legal: Vec<_> = slides.legal().collect();
            if legal.is_empty() {
                assert!(moves > 0, "a first position without a move");
                break;
            }
            let (_, after, _) = legal[rng.below(legal.len() as u32) as usize];
            state = spawn_checked(game, after, &mut rng);
        }
    }
}

/// All states that a game may start with; their chances sum to 1.
fn starts<G: Game>(game: &G) -> HashSet<G::State> {
    let (mut starts, mut total) = (HashSet::new(), 0.0);
    game.for_each_start(|state, chance| {
        assert!(chance > 0.0, "a start without a chance");
        starts.insert(state);
        total += chance;
    });
    assert!((total - 1.0).abs() < 1e-12, "starts sum to {total}");
    starts
}

fn tiles<G: Game, P: Position>(game: &G, position: P) -> Vec<u8> {
    (0..game.shape().cells())
        .map(|i| position.cell(i))
        .collect()
}

fn check<G: Game>(game: &G, state: G::State) {
    let before = tiles(game, state);
    assert_eq!(
        game.state(&before).map(|s| tiles(game, s)),
        Some(before.clone()),
        "state() reads its own tiles"
    );
    assert!(
        game.largest(state) <= game.largest_tile(),
        "a tile larger than the largest: {before:?}"
    );

    for direction in Direction::ALL {
        if let Some((after, _)) = game.slides(state).get(direction) {
            assert_ne!(
                tiles(game, after),
                before,
                "a legal slide changes the board"
            );
            check_spawns(game, after);
        }
    }
    check_symmetry(game, &before);
}

/// The chances of all new tiles sum to 1, no state comes twice, and each differs in one empty cell.
fn check_spawns<G: Game>(game: &G, after: G::After) {
    let before = tiles(game, after);
    let mut total = 0.0;
    let mut seen = HashSet::new();
    game.for_each_spawn(after, |state, chance| {
        assert!(chance > 0.0, "a spawn without a chance");
        total += chance;
        assert!(seen.insert(state), "a spawn that comes twice");
        let now = tiles(game, state);
        let changed: Vec<_> = (0..now.len()).filter(|&i| now[i] != before[i]).collect();
        assert!(
            changed.len() == 1 && before[changed[0]] == 0,
            "{before:?} became {now:?}"
        );
    });
    assert!((total - 1.0).abs() < 1e-12, "chances sum to {total}");
}

fn spawn_checked<G: Game>(game: &G, after: G::After, rng: &mut Rng) -> G::State {
    let state = game.spawn(after, rng);
    let mut possible = false;
    game.for_each_spawn(after, |other, _| possible |= other == state);
    assert!(possible, "a spawn that for_each_spawn does not know");
    state
}

/// The slides of a turned or mirrored board are the turned or mirrored slides, with the same rewards.
fn check_symmetry<G: Game>(game: &G, board: &[u8]) {
    let slides = |board: &[u8], symmetry: &[usize]| {
        let state = game.state(board).expect("an image of a state is a state");
        let image = |after: G::After| symmetry.iter().map(|&source| after.cell(source)).collect();
        let slides = game.slides(state);
        let mut found: Vec<(Vec<u8>, u32)> = slides
            .legal()
            .map(|(_, after, reward)| (image(after), reward))
            .collect();
        found.sort_unstable();
        found
    };
    let symmetries = game.shape().symmetries();
    for symmetry in &symmetries {
        let image: Vec<_> = symmetry.iter().map(|&source| board[source]).collect();
        assert_eq!(
            slides(&image, &symmetries[0]),
            slides(board, symmetry),
            "{board:?}"
        );
    }
}

mod tests {
    use super::super::{Classic, Grid, Shape, Small};
    use super::*;

    #[test]
    fn classic_conforms() {
        conformance(&Classic::new(), 20);
    }

    #[test]
    fn every_grid_conforms() {
        for rows in Shape::SIDES {
            for cols in Shape::SIDES {
                let shape = Shape::new(rows, cols).unwrap();
                conformance(&Grid::new(shape), 3);
                if let Some(small) = Small::new(shape) {
                    conformance(&small, 3);
                }
            }
        }
    }
}
