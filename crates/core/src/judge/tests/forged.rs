//! Forged spawns that follow the rules and keep their frequencies, honest ones that must pass, and
//! games that occur twice.

use std::ops::Range;

use super::*;
use crate::game::{FastFibonacci, Fibonacci};
use crate::policy::GreedyReward;

/// How a forger chooses spawns.
#[derive(Clone, Copy)]
struct Forger {
    /// Of a hundred spawns, how many are chosen.
    percent: u32,
    /// Among which cells it chooses.
    among: Among,
}

/// What a forger keeps as it would be by chance.
#[derive(Clone, Copy, PartialEq)]
enum Among {
    /// Nothing: all cells.
    All,
    /// The frequencies of cells: those that came up least.
    Level,
    /// What is beside the cell, and whether it is a corner, at an edge or inside: the cells that
    /// are alike in this to the one that was drawn.
    Alike,
}

/// Plays games in which spawns are chosen for the player: the cell after which the next slide earns
/// most and the most slides are legal. Tiles are left to chance.
fn forged<G: Game>(game: G, games: Range<u64>, forger: Forger) -> Judge<G> {
    let mut judge = Judge::new(game);
    let neighbours = judge.context.neighbours.clone();
    let mut surplus = [0.0; Shape::MAX_CELLS];
    for number in games {
        let episode = record_of(&game, number, &mut GreedyReward, |rng, after, drawn| {
            let (mut cell, spawn) = drawn;
            let cells = game.spawn_cells(after);
            if rng.below(100) < forger.percent {
                let least = each(cells)
                    .map(|cell| surplus[cell])
                    .fold(f64::MAX, f64::min);
                let tiles = (0..game.shape().cells()).map(|i| after.cell(i));
                let tiles: Vec<u8> = tiles.collect();
                let kind = |cell: usize| {
                    let beside = neighbours.kind(&tiles, cell, spawn.tile);
                    (beside, neighbours.count_beside(cell))
                };
                let may = |&other: &usize| match forger.among {
                    Among::All => true,
                    Among::Level => surplus[other] <= least + 3.0,
                    Among::Alike => kind(other) == kind(cell),
                };
                let kindness = |&other: &usize| {
                    let slides = game.slides(game.place(after, other, spawn));
                    let reward = slides.legal().map(|slide| slide.reward()).max();
                    // Of equally kind cells the drawn one, or any: the last would stand out.
                    let tie = if other == cell { 100 } else { rng.below(100) };
                    (slides.legal().count(), reward, tie)
                };
                cell = each(cells).filter(may).max_by_key(kindness).unwrap();
            }
            for cell in each(cells) {
                surplus[cell] -= 1.0 / f64::from(cells.count_ones());
            }
            surplus[cell] += 1.0;
            (cell, spawn)
        });
        judge.watch(&episode).unwrap();
    }
    judge
}

fn each(cells: u32) -> impl Iterator<Item = usize> + Clone {
    crate::game::each_cell(cells)
}

fn p_of<G: Game>(judge: &Judge<G>, kind: SpawnTestKind) -> f64 {
    let tests = judge.tests();
    let test = tests.iter().find(|test| test.kind == kind);
    test.expect("enough spawns").p
}

#[test]
fn levelled_kind_spawns_are_caught() {
    fn caught<G: Game>(game: G) {
        let forger = Forger {
            percent: 100,
            among: Among::Level,
        };
        let judge = forged(game, 0..200, forger);
        assert!(
            p_of(&judge, SpawnTestKind::Cells) > 0.5,
            "the forger levels cells"
        );
        assert!(
            p_of(&judge, SpawnTestKind::Tiles) > 1e-4,
            "the forger leaves tiles"
        );
        assert!(p_of(&judge, SpawnTestKind::Luck) < 1e-9);
    }
    caught(Fast2048::new());
    caught(FastFibonacci::new(Fibonacci::OneTwo));
    caught(FastThrees::new(Threes::Course));
    caught(FastThrees::new(Threes::Hint));
    caught(FastThrees::new(Threes::Original));
    caught(Grid::new(Shape::new(3, 5).unwrap(), &PowersOfTwo));
}

/// The luck of every spawn is measured, however late in a game: a forger who knew where it is not
/// would choose the tiles there.
#[test]
fn no_spawn_is_unobserved() {
    let forger = Forger {
        percent: 0,
        among: Among::All,
    };
    let judge = forged(Fast2048::new(), 0..20, forger);
    let draws = |kind| {
        let tests = judge.tests();
        tests.iter().find(|test| test.kind == kind).unwrap().draws
    };
    let (luck, cells) = (draws(SpawnTestKind::Luck), draws(SpawnTestKind::Cells));
    assert!(100 * luck > 95 * cells, "{luck} of {cells}");
}

/// By a model, luck is measured in some positions, which depend on the whole line.
#[test]
fn positions_for_a_model_depend_on_the_line() {
    struct Constant;
    impl<G: Game> StateValues<G> for Constant {
        fn values(&self, _: &G, states: &[(State<G::Board>, u32)], values: &mut Vec<f64>) {
            // Any numbers that differ.
            values.extend((0..states.len()).map(|n| n as f64));
        }
    }
    let judge = Judge::new(Fast2048::new()).with_values(Arc::new(Constant));
    let mut episode = fair(&Fast2048::new(), 3);
    let mut z_of = |digest| {
        episode.digest = digest;
        let mut judge = judge.clone();
        judge.watch(&episode).unwrap();
        let luck = |test: &SpawnTest| (test.kind == SpawnTestKind::Luck).then_some(test.statistic);
        judge.tests().iter().find_map(luck)
    };
    assert!(z_of(1).is_some() && z_of(1) == z_of(1));
    assert_ne!(z_of(1), z_of(2));
}

/// Files of forgers who choose some of the spawns, and how many of them fail: in all tests together,
/// and by luck alone. AFTERSTATE_FORGERS=40 measures 40 files of each kind, as docs/judge.md shows
/// them; without it, there is one.
#[test]
fn a_few_kind_spawns_are_caught() {
    let asked = std::env::var("AFTERSTATE_FORGERS").ok();
    let files = asked.map(|files| files.parse::<u64>().expect("a number of files"));
    let caught = |name: &str, failing: fn(u64, u64, u32) -> [bool; 2], always_from: Option<u64>| {
        let measured = |percent: &u32| files.is_some() || [0, 20].contains(percent);
        for percent in [0, 5, 10, 20].into_iter().filter(measured) {
            let kinds = [100, 300, 1000].into_iter();
            for games in kinds.filter(|&games| files.is_some() || always_from == Some(games)) {
                let found: Vec<[bool; 2]> = (1..=files.unwrap_or(1))
                    .map(|file| failing(file * 1_000_000, games, percent))
                    .collect();
                let [failed, by_luck] =
                    [0, 1].map(|test| found.iter().filter(|found| found[test]).count());
                println!("{name}, {percent}% of {games} games: {failed} fail, {by_luck} by luck");
                if percent == 0 {
                    assert_eq!(failed, 0, "honest games fail");
                } else if percent == 20 && always_from.is_some_and(|least| games >= least) {
                    assert_eq!([failed, by_luck], [found.len(); 2], "forgers pass");
                }
            }
        }
    };
    caught(
        "2048",
        |seed, games, percent| fails(Fast2048::new(), seed, games, percent, Among::All),
        Some(300),
    );
    caught(
        "2048, cells alike",
        |seed, games, percent| fails(Fast2048::new(), seed, games, percent, Among::Alike),
        None,
    );
    caught(
        "threes-hint",
        |seed, games, percent| {
            let game = FastThrees::new(Threes::Hint);
            fails(game, seed, games, percent, Among::All)
        },
        Some(1000),
    );
    caught(
        "2584-three",
        |seed, games, percent| {
            let game = FastFibonacci::new(Fibonacci::OneThree);
            fails(game, seed, games, percent, Among::All)
        },
        Some(300),
    );
}

/// Whether a forger's file fails any test, and whether it fails the test of luck.
fn fails<G: Game>(game: G, first: u64, games: u64, percent: u32, among: Among) -> [bool; 2] {
    let forger = Forger { percent, among };
    let tests = forged(game, first..first + games, forger).tests();
    let limit = 1e-6 / tests.len() as f64;
    let failing = |test: &SpawnTest| test.p < limit || test.is_too_even(limit);
    let of_luck = |test: &&SpawnTest| test.kind == SpawnTestKind::Luck;
    [
        tests.iter().any(failing),
        tests.iter().filter(of_luck).any(failing),
    ]
}

/// Counts that are exactly level, with cells that do not depend on the board.
#[test]
fn level_counts_are_too_even() {
    let game = Fast2048::new();
    let mut surplus = [0.0; 16];
    let mut judge = Judge::new(game);
    for number in 0..50 {
        let episode = record_of(&game, number, &mut Random, |_, after, (_, spawn)| {
            let cells = game.spawn_cells(after);
            let least = |a: &usize, b: &usize| f64::total_cmp(&surplus[*a], &surplus[*b]);
            let cell = each(cells).min_by(least).unwrap();
            for cell in each(cells) {
                surplus[cell] -= 1.0 / f64::from(cells.count_ones());
            }
            surplus[cell] += 1.0;
            (cell, spawn)
        });
        judge.watch(&episode).unwrap();
    }
    let tests = judge.tests();
    let cells = tests.iter().find(|test| test.kind == SpawnTestKind::Cells);
    assert!(cells.unwrap().is_too_even(1e-7), "{cells:?}");
    assert!(p_of(&judge, SpawnTestKind::PastCells) < 1e-9);
}

/// All images of a game are one game, and different games are not.
#[test]
fn images_of_a_game_have_one_identity() {
    fn check<G: Game>(game: G) {
        let judge = Judge::new(game);
        let episode = fair(&game, 1);
        let identity = judge.replay(&episode, None).unwrap().identity();
        let mut different = std::collections::HashSet::new();
        let symmetries = game.shape().symmetries();
        for sources in &symmetries {
            let mut image = episode.clone();
            for one in &mut image.moves {
                if let Action::Place { cell, .. } = &mut one.action {
                    let from = usize::from(*cell);
                    *cell = sources.iter().position(|&it| it == from).unwrap() as u8;
                }
            }
            // The slides of the image are those that make it a game by the rules.
            let slides = Direction::ALL;
            let found = slides
                .iter()
                .flat_map(|&up| slides.iter().map(move |&left| (up, left)));
            let valid = found.filter_map(|(up, left)| {
                let turned = |direction| match direction {
                    Direction::Up => up,
                    Direction::Down => opposite(up),
                    Direction::Left => left,
                    Direction::Right => opposite(left),
                };
                let mut turned_image = image.clone();
                for one in &mut turned_image.moves {
                    if let Action::Slide(direction) = &mut one.action {
                        *direction = turned(*direction);
                    }
                }
                judge.replay(&turned_image, None).ok()
            });
            let valid: Vec<Replayed> = valid.collect();
            assert_eq!(valid.len(), 1, "one image is by the rules");
            let image = valid[0].identity();
            assert_eq!(image.canonical, identity.canonical);
            assert_eq!(
                (image.beginning, image.begins),
                (identity.beginning, identity.begins)
            );
            different.insert(valid[0].identity().actions);
        }
        assert_eq!(different.len(), symmetries.len());
        let other = judge.replay(&fair(&game, 2), None).unwrap().identity();
        assert_ne!(other.canonical, identity.canonical);
        assert_ne!(other.beginning, identity.beginning);
    }
    check(Fast2048::new());
    check(FastThrees::new(Threes::Original));
    check(FastFibonacci::new(Fibonacci::OneTwo));
    check(Grid::new(Shape::new(3, 4).unwrap(), &PowersOfTwo));
}

fn opposite(direction: Direction) -> Direction {
    match direction {
        Direction::Up => Direction::Down,
        Direction::Down => Direction::Up,
        Direction::Left => Direction::Right,
        Direction::Right => Direction::Left,
    }
}
