//! Agents that search: against exact solutions, on any number of threads, and until they are
//! stopped.

use std::path::Path;
use std::sync::Arc;

use afterstate::game::{Direction, Shape};
use afterstate_lab::LabError;
use afterstate_lab::agent::{Baseline, BoardState};
use afterstate_lab::analyze::analyze;
use afterstate_lab::control::{CancelToken, Control, Event};
use afterstate_lab::evaluate::{Contender, EvalOptions, evaluate};
use afterstate_lab::recipe::Recipe;
use afterstate_lab::search::SearchSpec;
use afterstate_lab::session::Session;
use afterstate_lab::solve::{GapOptions, Solution, SolveOptions, SymmetryMode, measure, solve};
use afterstate_lab::trainer::Trainer;

fn shape() -> Shape {
    Shape::new(2, 3).expect("a shape")
}

fn solution() -> Arc<Solution> {
    let solved = solve(&SolveOptions {
        game: "2048",
        shape: shape(),
        target: None,
        discount: 1.0,
        bounds: false,
        threads: 2,
        memory: None,
        control: &Control::new(),
    });
    Arc::new(
        solved
            .expect("it fits")
            .expect("it is not cancelled")
            .solution,
    )
}

/// A learner of 2x3 with small tuples, which cannot be exact.
fn learner() -> Contender {
    let overrides = ["board=2x3", "tuples=0134", "episodes=4000", "threads=1"];
    let overrides = overrides.map(str::to_owned);
    let recipe = Recipe::load("quick", &overrides).expect("a recipe");
    let control = Control::new();
    let mut trainer = Trainer::in_memory(recipe, &control).expect("a trainer");
    trainer.train().expect("a model");
    trainer.contender()
}

fn searching(contender: &Contender, search: &str) -> Contender {
    let spec = SearchSpec::new(search.parse().expect("a search"));
    contender.clone().with_search(&spec).expect("values")
}

fn expected_score(contender: &Contender, solution: &Solution) -> f64 {
    let measured = measure(&GapOptions {
        contender,
        solution,
        symmetries: SymmetryMode::One,
        threads: 2,
        memory: None,
        control: &Control::new(),
    });
    measured
        .expect("it fits")
        .expect("it is not cancelled")
        .expected_score
}

/// One board on several threads has the values of one thread, in deep searches and with small tables.
#[test]
fn a_board_on_several_threads_has_the_values_of_one() {
    let learner = learner();
    let analyzed = |threads, table_bytes, board| {
        let spec = SearchSpec {
            table_bytes,
            threads,
            ..SearchSpec::new("5ply".parse().expect("a search"))
        };
        let contender = learner.clone().with_search(&spec).expect("values");
        analyze(&contender, board).expect("a board").moves
    };
    for board in ["2,0,0/0,4,0", "8,4,2/2,0,16", "32,16,2/0,2,4"] {
        let one = analyzed(1, 1 << 20, board);
        assert!(one.iter().any(|a| a.total > Some(0.0)), "{one:?}");
        for (threads, table_bytes) in [(2, 1 << 20), (3, 1 << 10), (8, 1 << 20)] {
            assert_eq!(analyzed(threads, table_bytes, board), one, "{board}");
        }
    }
}

/// Over exact values any depth finds the same values; over learned values a deeper search plays
/// better, measured exactly.
#[test]
fn deeper_search_is_better_on_a_solved_board() {
    let (solution, learner) = (solution(), learner());
    let exact = Contender::exact(Arc::clone(&solution), Path::new("2x3")).expect("a solution");
    for board in ["2,0,0/0,4,0", "8,4,2/2,0,16", "32,16,2/0,2,4"] {
        let expected = analyze(&exact, board).expect("a board");
        for search in ["2ply", "3ply", "5ply"] {
            let found = analyze(&searching(&exact, search), board).expect("a board");
            assert_eq!(found.search, search);
            for (found, expected) in found.moves.iter().zip(&expected.moves) {
                let totals = found.total.zip(expected.total);
                let near = totals.is_none_or(|(a, b)| (a - b).abs() <= 1e-5 * b.abs());
                assert!(
                    near && found.legal == expected.legal,
                    "{board} {search} {totals:?}"
                );
            }
        }
    }
    let plies = ["2ply", "3ply"].map(|search| searching(&learner, search));
    let optimum = solution.info().expected_score;
    let mut before = expected_score(&learner, &solution);
    let greedy = before;
    for contender in &plies {
        let score = expected_score(contender, &solution);
        assert!(
            score <= optimum + 1e-6 && score > before - 1.0,
            "{score} after {before}"
        );
        before = score;
    }
    assert!(
        before > greedy + 5.0,
        "{before} after {greedy}, optimum {optimum}"
    );
}

/// The states that a search of some plies evaluates, some spawns after a position.
fn leaves(session: &Session, spawns: u8, into: &mut Vec<BoardState>) {
    if spawns == 0 {
        return into.extend(session.state());
    }
    for direction in Direction::ALL {
        let mut after = session.clone();
        if after.slide(direction).is_err() {
            continue;
        }
        for spawn in after.spawns() {
            let mut next = after.clone();
            next.spawn(spawn.placed).expect("it is possible");
            leaves(&next, spawns - 1, into);
        }
    }
}

/// Totals of a search are as far from the exact ones as its leaves at most, so the move that it
/// chooses loses at most twice the largest error of a leaf.
#[test]
fn a_search_loses_at_most_twice_the_error_of_its_leaves() {
    let (solution, learner) = (solution(), learner());
    let exact = Contender::exact(solution, Path::new("2x3")).expect("a solution");
    for plies in 1..=3 {
        let player = match plies {
            1 => learner.clone(),
            _ => searching(&learner, &format!("{plies}ply")),
        };
        let mut session = Session::new("2048", shape(), plies, 0).expect("a game");
        session.start();
        let mut moves = 0;
        while let Some(state) = session.state().filter(|_| moves < 30) {
            let found = player.agent.analyze(std::slice::from_ref(&state)).remove(0);
            let Some(chosen) = found.and_then(|found| found.chosen) else {
                break;
            };
            let mut all = Vec::new();
            leaves(&session, plies as u8 - 1, &mut all);
            let values = learner.agent.analyze(&all).into_iter();
            let both = values.zip(exact.agent.analyze(&all));
            let both = both.filter_map(|(value, truth)| value.zip(truth));
            let errors = both.flat_map(|(value, truth)| {
                Direction::ALL.map(|it| {
                    let both = value.values.get(it).zip(truth.values.get(it));
                    both.map_or(0.0, |(value, truth)| (value.value - truth.value).abs())
                })
            });
            let largest = errors.fold(0.0, f32::max);
            let truth = exact.agent.analyze(&[state]).remove(0).expect("a state");
            let loss = truth.loss(chosen).expect("a legal move");
            let most = 2.0 * f64::from(largest) + 1e-2;
            assert!(loss <= most, "{plies}ply, move {moves}: {loss} of {most}");
            session.slide(chosen).expect("a legal move");
            session.spawn_random();
            moves += 1;
        }
        assert!(moves > 20, "{moves}");
    }
}

#[test]
fn results_depend_neither_on_threads_nor_on_the_table() {
    let learner = learner();
    let result = |threads, table_bytes| {
        let spec = SearchSpec {
            table_bytes,
            ..SearchSpec::new("4ply".parse().expect("a search"))
        };
        let contender = learner.clone().with_search(&spec).expect("values");
        let found = evaluate(
            &contender,
            &EvalOptions {
                games: 40,
                part: afterstate_lab::part::Part::WHOLE,
                seed: 3,
                threads,
                control: &Control::new(),
            },
        );
        assert_eq!((found.search.as_str(), found.scores.games), ("4ply", 40));
        (found.scores.mean, found.scores.median, found.scores.max)
    };
    let one = result(1, 1 << 20);
    assert_eq!([result(2, 1 << 20), result(2, 1 << 10)], [one, one]);
}

/// A cancelled evaluation counts finished games only.
#[test]
fn games_that_are_stopped_are_left_out() {
    let learner = learner();
    let whole = |games| {
        let control = Control::new();
        let options = EvalOptions {
            games,
            part: afterstate_lab::part::Part::WHOLE,
            seed: 1,
            threads: 1,
            control: &control,
        };
        evaluate(&searching(&learner, "3ply"), &options).scores
    };
    let cancel = CancelToken::default();
    let token = cancel.clone();
    let control = Control::new().with_cancel(cancel);
    // The first event of progress comes after some games.
    let control = control.on_event(move |event| {
        if matches!(event, Event::Progress { .. }) {
            token.cancel();
        }
    });
    let options = EvalOptions {
        games: 1_000_000,
        part: afterstate_lab::part::Part::WHOLE,
        seed: 1,
        threads: 1,
        control: &control,
    };
    let stopped = evaluate(&searching(&learner, "3ply"), &options).scores;
    assert!(stopped.games < 1_000_000);
    assert_eq!(stopped.mean, whole(stopped.games).mean);
}

#[test]
fn what_cannot_be_searched_is_refused() {
    let random = Contender::baseline(Baseline::Random, "2048", shape()).expect("a baseline");
    let spec = SearchSpec::new("2ply".parse().expect("a search"));
    let refused = random.with_search(&spec).err();
    assert!(
        matches!(refused, Some(LabError::NoSearch(_))),
        "{refused:?}"
    );
    let huge = SearchSpec {
        table_bytes: 1 << 60,
        ..spec.clone()
    };
    let refused = learner().with_search(&huge).err();
    assert!(
        matches!(refused, Some(LabError::TableMemory { .. })),
        "{refused:?}"
    );
    let odd = SearchSpec {
        downgrade_from: Some(3),
        ..spec
    };
    assert!(learner().with_search(&odd).is_err());
}

/// A search that goes on has the values of any other; one that is given up has none.
#[test]
fn a_search_can_be_given_up() {
    let learner = learner();
    let mut session = Session::new("2048", shape(), 1, 0).expect("a game");
    session.start();
    let board = session.state().expect("a state");
    for search in ["1ply", "4ply"] {
        let agent = match search {
            "1ply" => learner.agent.clone(),
            search => searching(&learner, search).agent,
        };
        let whole = agent.analyze(std::slice::from_ref(&board)).remove(0);
        assert!(whole.is_some());
        let until = |stop: bool| agent.analyze_until(&board, &move || stop);
        assert_eq!(until(false), whole, "{search}");
        assert_eq!(until(true), None, "{search}");
    }
}
