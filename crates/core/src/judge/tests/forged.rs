//! Forged spawns that follow the rules and keep their frequencies, honest ones that must pass, and
//! games that occur twice.

use super::*;
use crate::game::{FastFibonacci, Fibonacci};
use crate::policy::GreedyReward;

/// How a forger chooses spawns.
#[derive(Clone, Copy)]
struct Forger {
    /// Of a hundred spawns, how many are chosen.
    percent: u32,
    /// Whether the frequencies of cells are kept level.
    level: bool,
}

/// Plays games in which spawns are chosen for the player: of the cells that came up least, the one
/// after which the next slide earns most and the most slides are legal. Tiles are left to chance.
fn forged<G: Game>(game: G, games: u64, forger: Forger) -> Judge<G> {
    let mut judge = Judge::new(game);
    let mut surplus = [0.0; Shape::MAX_CELLS];
    for number in 0..games {
        let episode = record_of(&game, number, &mut GreedyReward, |rng, after, drawn| {
            let (mut cell, spawn) = drawn;
            let cells = game.spawn_cells(after);
            if rng.below(100) < forger.percent {
                let least = each(cells)
                    .map(|cell| surplus[cell])
                    .fold(f64::MAX, f64::min);
                let may = |cell: &usize| !forger.level || surplus[*cell] <= least + 3.0;
                let kindness = |cell: &usize| {
                    let slides = game.slides(game.place(after, *cell, spawn));
                    let reward = slides.legal().map(|slide| slide.reward()).max();
                    (slides.legal().count(), reward)
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

fn p_of<G: Game>(judge: &Judge<G>, subject: Subject) -> f64 {
    let tests = judge.tests();
    let test = tests.iter().find(|test| test.subject == subject);
    test.expect("enough spawns").p
}

#[test]
fn levelled_kind_spawns_are_caught() {
    fn caught<G: Game>(game: G) {
        let forger = Forger {
            percent: 100,
            level: true,
        };
        let judge = forged(game, 200, forger);
        for test in judge.tests() {
            println!("{test:?}");
        }
        assert!(
            p_of(&judge, Subject::Cells) > 0.5,
            "the forger levels cells"
        );
        assert!(
            p_of(&judge, Subject::Tiles) > 1e-4,
            "the forger leaves tiles"
        );
        assert!(p_of(&judge, Subject::Luck) < 1e-9);
    }
    caught(Fast2048::new());
    caught(FastFibonacci::new(Fibonacci::OneTwo));
    caught(FastThrees::new(Threes::Course));
    caught(FastThrees::new(Threes::Hint));
    caught(FastThrees::new(Threes::Original));
    caught(Grid::new(Shape::new(3, 5).unwrap(), &PowersOfTwo));
}
