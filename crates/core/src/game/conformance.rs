//! One suite that every game passes: what all of them promise, checked over many positions.

use std::collections::HashSet;

use super::{Direction, Game, ChanceState, Position};
use crate::random::{Rng, game_rng};

/// Plays random games and checks every position on the way.
///
/// # Panics
/// When the game breaks a promise; the message says which.
pub fn conformance<G: Game>(game: &G, games: u64) {
    let few = game.rules().initial_tiles(game.shape()) <= 2;
    let starts = few.then(|| starts(game));
    for number in 0..games {
        let mut rng = game_rng(2048, number);
        let mut state = game.start(&mut rng);
        if let Some(starts) = &starts {
            assert!(starts.contains(&state), "a start that has no chance");
        }
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
fn starts<G: Game>(game: &G) -> HashSet<State<G::Board>> {
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

fn check<G: Game>(game: &G, state: State<G::Board>) {
    let before = tiles(game, state);
    assert_eq!(
        game.state(&before, game.chance_state(state)),
        Some(state),
        "state() reads its own tiles and chance_state"
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
    check_symmetry(game, &before, game.chance_state(state));
}

/// The chances of all new tiles sum to 1, no state comes twice, and each differs in one empty cell.
fn check_spawns<G: Game>(game: &G, after: After<G::Board>) {
    let before = tiles(game, after);
    let mut total = 0.0;
    let mut seen = HashSet::new();
    game.for_each_spawn(after, |state, spawn_reward, chance| {
        assert!(chance > 0.0, "a spawn without a chance");
        total += chance;
        assert!(seen.insert(state), "a spawn that comes twice");
        let now = tiles(game, state);
        let changed: Vec<_> = (0..now.len()).filter(|&i| now[i] != before[i]).collect();
        assert!(
            changed.len() == 1 && before[changed[0]] == 0,
            "{before:?} became {now:?}"
        );
        assert_eq!(spawn_reward, game.spawn_reward(now[changed[0]]));
    });
    assert!((total - 1.0).abs() < 1e-12, "chances sum to {total}");
}

fn spawn_checked<G: Game>(game: &G, after: After<G::Board>, rng: &mut Rng) -> State<G::Board> {
    let state = game.spawn(after, rng);
    let mut possible = false;
    game.for_each_spawn(after, |other, _, _| possible |= other == state);
    assert!(possible, "a spawn that for_each_spawn does not know");
    state
}

/// The slides of a turned or mirrored board are the turned or mirrored slides, with the same rewards.
fn check_symmetry<G: Game>(game: &G, board: &[u8], chance_state: ChanceState) {
    let slides = |board: &[u8], symmetry: &[usize]| {
        let state = game.state(board, chance_state);
        let state = state.expect("an image of a state is a state");
        // The tiles, and where a new one may enter.
        let image = |after: After<G::Board>| {
            let spawn_cells = game.spawn_cells(after);
            let cell = |&source: &usize| (after.cell(source), spawn_cells >> source & 1);
            symmetry.iter().map(cell).collect()
        };
        let slides = game.slides(state);
        let mut found: Vec<(Vec<(u8, u32)>, u32)> = slides
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
    use super::super::{
        Fast2048, Fibonacci, FastFibonacci, FastThrees, Grid, Rules, Shape, PackedGrid, Threes, PowersOfTwo,
    };
    use super::*;

    #[test]
    fn the_fast_games_conform() {
        conformance(&Fast2048::new(), 20);
        for rules in [Threes::Course, Threes::Hint, Threes::Original] {
            conformance(&FastThrees::new(rules), 20);
        }
        for rules in [Fibonacci::OneTwo, Fibonacci::OneThree] {
            conformance(&FastFibonacci::new(rules), 20);
        }
    }

    fn on_every_board<R: Rules + Copy>(rules: &'static R) {
        for rows in Shape::SIDES {
            for cols in Shape::SIDES {
                let shape = Shape::new(rows, cols).unwrap();
                conformance(&Grid::new(shape, rules), 3);
                if let Some(small) = PackedGrid::new(shape, *rules) {
                    conformance(&small, 3);
                }
            }
        }
    }

    #[test]
    fn every_game_conforms_on_every_board() {
        on_every_board(&PowersOfTwo);
        on_every_board(&Threes::Course);
        on_every_board(&Threes::Hint);
        on_every_board(&Threes::Original);
        on_every_board(&Fibonacci::OneTwo);
        on_every_board(&Fibonacci::OneThree);
    }
}
