//! One suite that every game passes: the guarantees of [`Game`], checked on many positions.

use std::collections::{HashMap, HashSet};

use super::{After, ChanceState, Direction, Game, Position, State};
use crate::random::{Rng, game_rng};

/// Plays random games and checks every position on the way.
///
/// # Panics
/// When the game violates a guarantee; the message says which.
pub fn conformance<G: Game>(game: &G, games: u64) {
    let few = game.rules().initial_tiles(game.shape()) <= 2;
    let starts = few.then(|| starts(game));
    let mut keys = Keys::default();
    for number in 0..games {
        let mut rng = game_rng(2048, number);
        let mut state = game.start(&mut rng);
        if let Some(starts) = &starts {
            assert!(
                starts.contains(&state),
                "an initial state that for_each_start does not visit"
            );
        }
        for moves in 0..10_000 {
            check(game, state);
            keys.check(game, state);
            let slides = game.slides(state);
            let legal: Vec<_> = slides.legal().collect();
            if legal.is_empty() {
                assert!(moves > 0, "an initial state without a legal slide");
                break;
            }
            let slide = legal[rng.below(legal.len() as u32) as usize];
            state = spawn_checked(game, slide.after(), &mut rng);
        }
    }
}

/// All initial states; their probabilities sum to 1.
fn starts<G: Game>(game: &G) -> HashSet<State<G::Board>> {
    let (mut starts, mut total) = (HashSet::new(), 0.0);
    game.for_each_start(|state, chance| {
        assert!(chance > 0.0, "an initial state of probability 0");
        starts.insert(state);
        total += chance;
    });
    assert!(
        (total - 1.0).abs() < 1e-12,
        "probabilities of the initial states sum to {total}"
    );
    starts
}

fn tiles<G: Game>(game: &G, board: G::Board) -> Vec<u8> {
    (0..game.shape().cells()).map(|i| board.cell(i)).collect()
}

fn check<G: Game>(game: &G, state: State<G::Board>) {
    let before = tiles(game, state.0);
    assert_eq!(
        game.state(&before, game.chance_state(state)),
        Some(state),
        "state() reads its own tiles and chance state"
    );
    assert!(
        game.max_tile(state) <= game.largest_tile(),
        "a tile larger than the largest: {before:?}"
    );

    for direction in Direction::ALL {
        if let Some(slide) = game.slides(state).get(direction) {
            assert_eq!(slide.direction(), direction);
            assert_ne!(
                tiles(game, slide.after().0),
                before,
                "a legal slide changes the board"
            );
            check_spawns(game, slide.after());
        }
    }
    check_symmetry(game, &before, game.chance_state(state));
    check_canonical(game, state);
}

/// The probabilities of all spawns sum to 1, no successor is visited twice, and each differs in one
/// empty cell.
fn check_spawns<G: Game>(game: &G, after: After<G::Board>) {
    let before = tiles(game, after.0);
    let mut total = 0.0;
    let mut seen = HashSet::new();
    game.for_each_spawn(after, |state, spawn_reward, chance| {
        assert!(chance > 0.0, "a spawn of probability 0");
        total += chance;
        assert!(seen.insert(state), "a spawn that is visited twice");
        let now = tiles(game, state.0);
        let changed: Vec<_> = (0..now.len()).filter(|&i| now[i] != before[i]).collect();
        assert!(
            changed.len() == 1 && before[changed[0]] == 0,
            "{before:?} became {now:?}"
        );
        assert_eq!(spawn_reward, game.spawn_reward(now[changed[0]]));
    });
    assert!(
        (total - 1.0).abs() < 1e-12,
        "spawn probabilities sum to {total}"
    );
}

fn spawn_checked<G: Game>(game: &G, after: After<G::Board>, rng: &mut Rng) -> State<G::Board> {
    let state = game.spawn(after, rng);
    let mut possible = false;
    game.for_each_spawn(after, |other, _, _| possible |= other == state);
    assert!(possible, "a spawn that for_each_spawn does not visit");
    state
}

/// The slides of a transformed board are the transformed slides, with the same rewards.
fn check_symmetry<G: Game>(game: &G, board: &[u8], chance_state: ChanceState) {
    let slides = |board: &[u8], symmetry: &[usize]| {
        let state = game.state(board, chance_state);
        let state = state.expect("a symmetric position of a state is a state");
        let mut found: Vec<(Vec<(u8, u32)>, u32)> = game
            .slides(state)
            .legal()
            .map(|slide| (shown(game, slide.after(), symmetry), slide.reward()))
            .collect();
        found.sort_unstable();
        found
    };
    let symmetries = game.shape().symmetries();
    for symmetry in &symmetries {
        let transformed: Vec<_> = symmetry.iter().map(|&source| board[source]).collect();
        assert_eq!(
            slides(&transformed, &symmetries[0]),
            slides(board, symmetry),
            "{board:?}"
        );
    }
}

/// The tiles of an afterstate and its spawn cells, transformed by a symmetry.
fn shown<G: Game>(game: &G, after: After<G::Board>, symmetry: &[usize]) -> Vec<(u8, u32)> {
    let spawn_cells = game.spawn_cells(after);
    let cell = |&source: &usize| (after.cell(source), spawn_cells >> source & 1);
    symmetry.iter().map(cell).collect()
}

/// All symmetric positions have the same canonical form: the one with the smallest key.
fn check_canonical<G: Game>(game: &G, state: State<G::Board>) {
    let board = tiles(game, state.0);
    let symmetries = game.shape().symmetries();
    let transform = |symmetry: &Vec<usize>| {
        let tiles: Vec<_> = symmetry.iter().map(|&source| board[source]).collect();
        let state = game.state(&tiles, game.chance_state(state));
        state.expect("a symmetric position of a state is a state")
    };
    let symmetric: Vec<_> = symmetries.iter().map(transform).collect();
    let canonical = state.canonical();
    assert!(symmetric.contains(&canonical), "{canonical:?} of {board:?}");
    assert_eq!(canonical.canonical(), canonical);
    let least = symmetric.iter().map(|state| state.key()).min();
    assert_eq!(Some(canonical.key()), least, "{board:?}");
    for other in &symmetric {
        assert_eq!(other.canonical(), canonical, "{board:?}");
    }

    // The afterstates of all symmetric states are the afterstates of one state and their symmetric
    // boards.
    let slides = symmetric.iter().map(|&state| game.slides(state));
    let afterstates: Vec<_> = slides
        .flat_map(|slides| {
            slides
                .legal()
                .map(|slide| slide.after())
                .collect::<Vec<_>>()
        })
        .collect();
    for &after in &afterstates {
        let same = |other: &&After<G::Board>| {
            let seen = shown(game, **other, &symmetries[0]);
            symmetries
                .iter()
                .any(|symmetry| shown(game, after, symmetry) == seen)
        };
        let symmetric: Vec<_> = afterstates.iter().filter(same).collect();
        let canonical = after.canonical();
        assert!(
            symmetric.iter().any(|after| after.key() == canonical.key()),
            "{canonical:?} of {after:?}"
        );
        assert_eq!(canonical.canonical(), canonical);
        let least = symmetric.iter().map(|after| after.key()).min();
        assert_eq!(Some(canonical.key()), least, "{after:?}");
        for other in symmetric {
            assert_eq!(other.canonical(), canonical, "{other:?} and {after:?}");
        }
    }
}

/// Positions by key.
struct Keys<G: Game> {
    states: HashMap<<G::Board as Position>::Key, State<G::Board>>,
    afterstates: HashMap<<G::Board as Position>::Key, After<G::Board>>,
}

impl<G: Game> Default for Keys<G> {
    fn default() -> Self {
        Self {
            states: HashMap::new(),
            afterstates: HashMap::new(),
        }
    }
}

impl<G: Game> Keys<G> {
    /// Checks that positions with the same key are equal.
    fn check(&mut self, game: &G, state: State<G::Board>) {
        assert_eq!(*self.states.entry(state.key()).or_insert(state), state);
        let cells: Vec<usize> = (0..game.shape().cells()).collect();
        for slide in game.slides(state).legal() {
            let after = slide.after();
            let first = *self.afterstates.entry(after.key()).or_insert(after);
            assert_eq!(shown(game, first, &cells), shown(game, after, &cells));
        }
    }
}

mod tests {
    use super::super::{
        Fast2048, FastFibonacci, FastThrees, Fibonacci, Grid, PackedGrid, PowersOfTwo, Rules,
        Shape, Threes,
    };
    use super::*;

    #[test]
    fn the_fast_games_conform() {
        conformance(&Fast2048::new(), 10);
        for rules in [Threes::Course, Threes::Hint, Threes::Original] {
            conformance(&FastThrees::new(rules), 10);
        }
        for rules in [Fibonacci::OneTwo, Fibonacci::OneThree] {
            conformance(&FastFibonacci::new(rules), 10);
        }
    }

    fn on_every_board(rules: &'static dyn Rules) {
        for rows in Shape::SIDES {
            for cols in Shape::SIDES {
                let shape = Shape::new(rows, cols).unwrap();
                conformance(&Grid::new(shape, rules), 1);
                if let Some(packed) = PackedGrid::new(shape, rules) {
                    conformance(&packed, 1);
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
