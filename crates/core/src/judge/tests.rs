mod forged;

use super::*;
use crate::format::episode::RecordedMove;
use crate::game::{ChanceState, Direction, Fast2048, FastThrees, Grid, PowersOfTwo, Shape, Threes};
use crate::policy::{Policy, Random};
use crate::random::{Rng, game_rng};
use crate::value::Decision;

/// A random game as a record. `tamper` may change each spawn before it is placed.
fn record<G: Game>(
    game: &G,
    number: u64,
    mut tamper: impl FnMut(&mut Rng, (usize, Spawn)) -> (usize, Spawn),
) -> EpisodeRecord {
    record_of(game, number, &mut Random, |rng, _, drawn| {
        tamper(rng, drawn)
    })
}

/// The same of any policy, with the afterstate of each spawn.
fn record_of<G: Game>(
    game: &G,
    number: u64,
    policy: &mut dyn Policy<G>,
    mut tamper: impl FnMut(&mut Rng, After<G::Board>, (usize, Spawn)) -> (usize, Spawn),
) -> EpisodeRecord {
    let mut rng = game_rng(7, number);
    let mut episode = EpisodeRecord::default();
    let first = game.rules().initial_tiles(game.shape());
    let mut after = game.empty();
    loop {
        let drawn = game.draw_spawn(after, &mut rng);
        let (cell, spawn) = tamper(&mut rng, after, drawn);
        let state = game.place(after, cell, spawn);
        let tile = spawn.tile;
        let place = Action::Place {
            cell: cell as u8,
            tile,
            hint: spawn.chance_state.hint,
        };
        push(&mut episode, place, u64::from(game.spawn_reward(tile)));
        if episode.moves.len() < first {
            after = game.as_afterstate(state);
            continue;
        }
        let Some(decision) = Decision::new(game, state) else {
            return episode;
        };
        let slide = policy.choose(game, &decision, &mut rng);
        let action = Action::Slide(slide.direction());
        push(&mut episode, action, slide.reward().into());
        after = slide.after();
    }
}

fn push(episode: &mut EpisodeRecord, action: Action, reward: u64) {
    episode.moves.push(RecordedMove {
        action,
        reward,
        millis: 0,
        column: episode.moves.len() + 1,
    });
}

fn fair<G: Game>(game: &G, number: u64) -> EpisodeRecord {
    record(game, number, |_, drawn| drawn)
}

#[test]
fn games_by_the_rules_pass() {
    fn pass<G: Game>(game: G) {
        let mut judge = Judge::new(game);
        for number in 0..300 {
            let outcome = judge.watch(&fair(&game, number)).unwrap();
            assert!(outcome.moves > 0 && outcome.score > 0);
        }
        assert_eq!((judge.tally().games, judge.unfinished()), (300, 0));
        for test in judge.tests() {
            assert!(test.p > 1e-4 && !test.is_too_even(1e-4), "{test:?}");
        }
        assert!(judge.tests().len() >= 5);
    }
    pass(Fast2048::new());
    pass(FastThrees::new(Threes::Course));
    pass(FastThrees::new(Threes::Hint));
    pass(FastThrees::new(Threes::Original));
    pass(Grid::new(Shape::new(3, 5).unwrap(), &PowersOfTwo));
    pass(Grid::new(Shape::new(2, 3).unwrap(), &Threes::Course));
}

/// The example in the documentation of the format: an unfinished game.
#[test]
fn a_record_may_end_early() {
    let line = b"slide:place@1794770036503|C1E2#L92#D[8]A1#LA1#D[4]31|place@1794770036503";
    let mut episode = EpisodeRecord::default();
    episode.read(line, false).unwrap();
    let mut judge = Judge::new(Fast2048::new());
    let outcome = judge.watch(&episode).unwrap();
    assert_eq!((outcome.score, outcome.moves, outcome.largest), (12, 4, 8));
    assert_eq!(judge.unfinished(), 1);
}

/// The fault that the judge finds after a change to a record.
fn caught<G: Game>(
    game: G,
    episode: &EpisodeRecord,
    change: impl FnOnce(&mut EpisodeRecord),
) -> Fault {
    let mut forged = episode.clone();
    change(&mut forged);
    let mut judge = Judge::new(game);
    (0..50).for_each(|number| {
        judge.watch(&fair(&game, number)).unwrap();
    });
    let before = judge.tests();
    let fault = judge.watch(&forged).unwrap_err();
    assert_eq!(judge.tally().games, 50, "a forged game is not counted");
    assert_eq!(judge.tests(), before, "nor its tiles");
    fault
}

#[test]
fn forged_records_are_caught() {
    let game = Fast2048::new();
    let episode = fair(&game, 1);
    let slides: Vec<usize> = (0..episode.moves.len())
        .filter(|&n| matches!(episode.moves[n].action, Action::Slide(_)))
        .collect();
    let (slide, place) = (slides[5], slides[5] + 1);
    let check = |at: usize, fault: Fault, expected: fn(&Reason) -> bool| {
        assert!(expected(&fault.reason), "{fault}");
        assert_eq!(
            (fault.action, fault.column),
            (Some(at + 1), at + 1),
            "{fault}"
        );
    };
    // A slide that changes nothing: the same slide repeated until nothing moves.
    let fault = caught(game, &episode, |e| {
        for &n in &slides {
            e.moves[n].action = Action::Slide(Direction::Up);
            e.moves[n].reward = 0;
        }
    });
    let stuck = |reason: &Reason| {
        matches!(
            reason,
            Reason::Illegal(Direction::Up) | Reason::Reward { found: 0, .. } | Reason::Taken(_)
        )
    };
    assert!(stuck(&fault.reason), "{fault}");
    let fault = caught(game, &episode, |e| e.moves[slide].reward += 4);
    check(slide, fault, |r| matches!(r, Reason::Reward { .. }));
    let fault = caught(game, &episode, |e| e.moves[place].reward = 2);
    check(place, fault, |r| {
        matches!(
            r,
            Reason::Reward {
                found: 2,
                expected: 0
            }
        )
    });
    let tile = |tile| Action::Place {
        cell: 15,
        tile,
        hint: 0,
    };
    let fault = caught(game, &episode, |e| e.moves[0].action = tile(3));
    check(0, fault, |r| matches!(r, Reason::Tile { found: 3, .. }));
    let fault = caught(game, &episode, |e| {
        e.moves[0].action = tile(1);
        e.moves[1].action = tile(1);
    });
    check(1, fault, |r| matches!(r, Reason::Taken(15)));
    let beyond = Action::Place {
        cell: 16,
        tile: 1,
        hint: 0,
    };
    let fault = caught(game, &episode, |e| e.moves[0].action = beyond);
    check(0, fault, |r| matches!(r, Reason::NoCell(16)));
    let fault = caught(game, &episode, |e| e.moves[slide].action = tile(1));
    check(slide, fault, |r| matches!(r, Reason::SlideDue));
    let left = Action::Slide(Direction::Left);
    let fault = caught(game, &episode, |e| e.moves[place].action = left);
    check(place, fault, |r| matches!(r, Reason::TileDue));
    let fault = caught(game, &episode, |e| e.moves.truncate(1));
    assert!(matches!(
        fault.reason,
        Reason::NoStart {
            found: 1,
            expected: 2
        }
    ));
    let fault = caught(game, &episode, |e| (e.opened.at, e.closed.at) = (10, 9));
    assert!(matches!(fault.reason, Reason::Backwards { .. }), "{fault}");
    let fault = caught(game, &episode, |e| e.moves[slide].millis = 5);
    assert!(matches!(
        fault.reason,
        Reason::TooLong {
            actions: 5,
            whole: 0
        }
    ));
}

#[test]
fn an_illegal_slide_is_named() {
    let mut episode = EpisodeRecord::default();
    episode.read(b"a@1|0111#U|b@1", false).unwrap();
    let fault = Judge::new(Fast2048::new()).watch(&episode).unwrap_err();
    assert_eq!(fault.to_string(), "column 9: a slide up changes nothing");
}

#[test]
fn threes_has_a_bag_and_edges() {
    let game = FastThrees::new(Threes::Course);
    let episode = fair(&game, 1);
    // The first three tiles are one bag: no two of them are equal.
    let fault = caught(game, &episode, |e| {
        let Action::Place { tile, .. } = e.moves[0].action else {
            unreachable!()
        };
        if let Action::Place { tile: second, .. } = &mut e.moves[1].action {
            *second = tile;
        }
    });
    assert!(matches!(fault.reason, Reason::Tile { .. }), "{fault}");
    assert_eq!(fault.action, Some(2));
    // After a slide, tiles spawn at one edge. An empty cell elsewhere is refused.
    let mut edges = 0;
    for number in 0..50 {
        let episode = fair(&game, number);
        for cell in 0..16 {
            let mut forged = episode.clone();
            if let Action::Place { cell: at, .. } = &mut forged.moves[10].action {
                *at = cell;
            }
            let fault = Judge::new(game).watch(&forged);
            edges += usize::from(matches!(
                fault,
                Err(Fault {
                    action: Some(11),
                    reason: Reason::Edge { .. },
                    ..
                })
            ));
        }
    }
    assert!(edges > 50, "{edges}");
    // A hint that the next spawn contradicts.
    let game = FastThrees::new(Threes::Hint);
    let episode = fair(&game, 1);
    let fault = caught(game, &episode, |e| {
        if let Action::Place { hint, .. } = &mut e.moves[12].action {
            *hint = ChanceState::BONUS;
        }
    });
    assert!(
        matches!(fault.reason, Reason::Hint { found: 4, .. }),
        "{fault}"
    );
}

/// Changes what was drawn.
type Tamper<'a> = &'a mut dyn FnMut(&mut Rng, (usize, Spawn)) -> (usize, Spawn);

/// Environments that follow the rules, but with wrong probabilities.
#[test]
fn a_biased_environment_is_caught() {
    let game = Fast2048::new();
    let least = |tamper: Tamper<'_>| {
        let mut judge = Judge::new(game);
        for number in 0..200 {
            judge.watch(&record(&game, number, &mut *tamper)).unwrap();
        }
        let tests = judge.tests();
        tests.iter().map(|test| test.p).fold(1.0, f64::min)
    };
    // Leaves out half of the 4-tiles.
    let fewer = least(&mut |rng, (cell, spawn)| {
        let spared = spawn.tile == 2 && rng.below(2) == 0;
        (cell, if spared { Spawn::of(1) } else { spawn })
    });
    assert!(fewer < 1e-6, "{fewer}");
    assert!(least(&mut |_, drawn| drawn) > 1e-4);
}

/// The largest possible times.
#[test]
fn huge_times_do_not_overflow() {
    let mut judge = Judge::new(Fast2048::new());
    let mut watch = |line: &str| {
        let mut episode = EpisodeRecord::default();
        episode.read(line.as_bytes(), false).unwrap();
        judge.watch(&episode).map(|_| ())
    };
    let most = u64::MAX;
    assert_eq!(watch(&format!("a@0|0111|b@{most}")), Ok(()));
    assert_eq!(watch(&format!("a@1|0111#L[4]F1({most})|b@{most}")), Ok(()));
    let fault = watch(&format!("a@2|0111#L[4]F1({most})|b@{most}"));
    let expected = Reason::TooLong {
        actions: most,
        whole: most - 2,
    };
    assert_eq!(fault.unwrap_err().reason, expected);
    let fault = watch("a@5|0111|b@4").unwrap_err();
    assert_eq!((fault.action, fault.column), (None, 10));
}

/// Each spawn is compared with the one that was drawn, also where both are possible.
#[test]
fn spawns_are_those_that_were_drawn() {
    fn check<G: Game>(game: G) {
        let drawn = std::cell::RefCell::new(Vec::new());
        let episode = record(&game, 3, |_, spawn| {
            drawn.borrow_mut().push(spawn);
            spawn
        });
        let drawn = drawn.into_inner();
        let mut judge = Judge::new(game);
        let mut known = drawn.iter().copied();
        judge
            .watch_drawn(&episode, &mut |_| known.next().unwrap())
            .unwrap();
        assert_eq!(known.next(), None, "every spawn was asked for");

        // The second initial tile in another empty cell.
        let mut other = drawn.clone();
        let cells = 0..game.shape().cells();
        let mut free = cells.filter(|&cell| cell != drawn[0].0 && cell != drawn[1].0);
        other[1].0 = free.next().unwrap();
        let mut known = other.iter().copied();
        let fault = judge
            .watch_drawn(&episode, &mut |_| known.next().unwrap())
            .unwrap_err();
        assert_eq!(fault.action, Some(2));
        let words = format!("but the one that was drawn is of index {}", other[1].1.tile);
        assert!(fault.to_string().contains(&words), "{fault}");
        assert_eq!(judge.tally().games, 1, "it is not counted");
    }
    check(Fast2048::new());
    check(FastThrees::new(Threes::Hint));
    check(Grid::new(Shape::new(2, 3).unwrap(), &PowersOfTwo));
}
