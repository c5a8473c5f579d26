use std::path::Path;
use std::sync::Arc;

use afterstate::game::Shape;

use super::*;
use crate::agent::Baseline;
use crate::control::{Control, quiet};
use crate::solve::{SolveOptions, solve};

fn baseline(game: &str, shape: Shape) -> Contender {
    Contender::baseline(Baseline::Greedy, game, shape).unwrap()
}

fn exact(rows: usize, cols: usize) -> Contender {
    let solved = solve(&SolveOptions {
        game: "2048",
        shape: Shape::new(rows, cols).unwrap(),
        target: None,
        discount: 1.0,
        bounds: false,
        threads: 1,
        memory: None,
        control: quiet(),
    });
    let solution = Arc::new(solved.unwrap().unwrap().solution);
    Contender::exact(solution, Path::new("solution")).unwrap()
}

fn options(games: u64, threads: usize, control: &Control) -> RolloutOptions<'_> {
    RolloutOptions {
        tile: None,
        games,
        seed: 3,
        threads,
        control,
    }
}

#[test]
fn rollouts_do_not_depend_on_threads() {
    for game in ["2048", "threes-hint", "2584"] {
        let contender = baseline(game, Shape::FOUR);
        let text = match game {
            "threes-hint" => "1 2 3 0/0 0 0 0/0 0 3 0/6 0 0 1+2",
            _ => "2 0 0 2/0 0 0 0/0 0 8 0/1 0 0 0",
        };
        let text = if game == "2048" {
            text.replace('1', "4")
        } else {
            text.to_owned()
        };
        let board = GameBoard::parse(&text, game, Shape::FOUR).unwrap();
        let [one, three] = [1, 3]
            .map(|threads| rollouts(&contender, &board, &options(100, threads, quiet())).unwrap());
        assert_eq!(one, three, "{game}");
        assert_eq!((one.info.games, one.info.interrupted), (100, false));
        for found in &one.moves {
            let (chances, rest) = found.as_ref().unwrap();
            assert_eq!(chances.len(), 3);
            assert!(chances.is_sorted_by(|a, b| a.tile < b.tile && a.p >= b.p));
            assert!(
                chances
                    .iter()
                    .all(|it| it.ci95[0] <= it.p && it.p <= it.ci95[1])
            );
            let [low, high] = rest.mean_ci95.unwrap();
            assert!(low < rest.mean && rest.mean < high);
        }
    }
}

/// Under optimal play the mean of the rest is the exact value, and 16 on 2x2 is reached as the
/// solution says.
#[test]
fn rollouts_of_optimal_play_agree_with_the_solution() {
    let contender = exact(2, 2);
    let board = GameBoard::parse("2 0/0 4", "2048", contender.shape).unwrap();
    let analysis = analyze_board(&contender, &board).unwrap();
    let found = rollouts(&contender, &board, &options(20_000, 2, quiet())).unwrap();
    for (one, found) in analysis.moves.iter().zip(&found.moves) {
        let (chances, rest) = found.as_ref().unwrap();
        let [low, high] = rest.mean_ci95.unwrap();
        // The interval is widened to five standard errors.
        let margin = 1.3 * (high - low);
        let value = f64::from(one.value.unwrap());
        assert!((rest.mean - value).abs() < margin, "{} {value}", rest.mean);
        assert_eq!((chances[0].tile, chances[0].p), (8, 1.0));
        assert!((chances[1].p - 0.9625).abs() < 0.02, "{:?}", chances[1]);
    }
}

#[test]
fn a_merge_that_makes_the_next_tile_reaches_it() {
    let contender = baseline("2048", Shape::FOUR);
    let board = GameBoard::parse("64 64 0 0/0 2 0 0/0 0 0 0/0 0 0 0", "2048", Shape::FOUR).unwrap();
    let found = rollouts(&contender, &board, &options(40, 1, quiet())).unwrap();
    let (chances, _) = found.moves[Direction::Left as usize].as_ref().unwrap();
    assert_eq!((chances[0].tile, chances[0].p), (128, 1.0));
    assert_eq!(found.moves[Direction::Up as usize], None, "up is illegal");
}

/// A further tile may be asked for, as when the next ones are certain.
#[test]
fn the_chance_of_a_further_tile_is_added() {
    let contender = baseline("2048", Shape::FOUR);
    let board = GameBoard::parse("2 2 0 0/0 4 0 0/0 0 0 0/0 0 0 0", "2048", Shape::FOUR).unwrap();
    let of = |tile| {
        let asked = RolloutOptions {
            tile,
            ..options(20, 1, quiet())
        };
        rollouts(&contender, &board, &asked).map(|found| {
            let (chances, _) = found.moves[Direction::Left as usize].clone().unwrap();
            let tiles: Vec<u64> = chances.iter().map(|chance| chance.tile).collect();
            (tiles, found.info.tile)
        })
    };
    assert_eq!(of(None).unwrap(), (vec![8, 16, 32], None));
    assert_eq!(of(Some(128)).unwrap(), (vec![8, 16, 32, 128], Some(128)));
    assert_eq!(of(Some(16)).unwrap(), (vec![8, 16, 32], Some(16)));
    let error = of(Some(48)).unwrap_err().to_string();
    assert!(error.contains("no tile 48 in 2048 on 4x4"), "{error}");
}

/// 16 on 2x2 is reached as the solution says, a tile that is there always, and none after the end.
#[test]
fn the_chance_of_a_tile_agrees_with_the_solution() {
    let contender = exact(2, 2);
    let chance = |text: &str, tile: u64| {
        let board = GameBoard::parse(text, "2048", contender.shape).unwrap();
        chance_of(&contender, &board, tile, &options(20_000, 2, quiet()))
    };
    let found = chance("2 0/0 4", 16).unwrap().unwrap();
    assert!((found.p - 0.9625).abs() < 0.01, "{found:?}");
    assert!(found.ci95[0] < found.p && found.p < found.ci95[1]);
    assert_eq!(chance("2 0/0 16", 16).unwrap().unwrap().p, 1.0);
    assert_eq!(chance("2 4/4 2", 16).unwrap(), None, "the game is over");
    let error = chance("2 0/0 4", 48).unwrap_err().to_string();
    assert!(error.contains("no tile 48 in 2048 on 2x2"), "{error}");
}

/// Cancelled rollouts keep the games that every move has.
#[test]
fn cancelled_rollouts_are_paired() {
    let control = Control::new();
    let cancel = control.cancel_token();
    let control = control.on_event(move |event| {
        if matches!(event, crate::control::Event::Progress(_)) {
            cancel.cancel();
        }
    });
    let control = control.with_interval(std::time::Duration::ZERO);
    let contender = baseline("2048", Shape::FOUR);
    let board = GameBoard::parse("2 0 0 2/0 0 0 0/0 0 8 0/4 0 0 0", "2048", Shape::FOUR).unwrap();
    let found = rollouts(&contender, &board, &options(100_000, 2, &control)).unwrap();
    assert!(found.info.interrupted && found.info.games < 100_000);
    let cancelled = Control::new();
    cancelled.cancel_token().cancel();
    let found = rollouts(&contender, &board, &options(100, 2, &cancelled)).unwrap();
    assert_eq!((found.info.games, &found.moves), (0, &[const { None }; 4]));
}

/// On 2x2 after left the only spawns are in the right column; the line follows the best moves.
#[test]
fn a_line_alternates_moves_and_typical_spawns() {
    let contender = exact(2, 2);
    let board = GameBoard::parse("2 2/0 0", "2048", contender.shape).unwrap();
    let lines = lines(
        &contender,
        &*contender.agent,
        &board,
        &Direction::ALL,
        &|| false,
    )
    .unwrap();
    assert_eq!(lines[Direction::Up as usize], None);
    let line = lines[Direction::Left as usize].as_ref().unwrap();
    assert_eq!(
        (line.len(), line[0].direction),
        (LINE_MOVES, Direction::Left)
    );
    let first = line[0].spawn.as_ref().unwrap();
    assert_eq!(first.tile, 2);
    assert!(["b1", "a2", "b2"].contains(&&*first.cell), "{first:?}");
    assert_eq!(line[LINE_MOVES - 1].spawn, None);
    let wanted = [Direction::Left];
    let one = super::lines(&contender, &*contender.agent, &board, &wanted, &|| false).unwrap();
    let expected = [&None, &None, &None, &lines[Direction::Left as usize]];
    assert_eq!(one.each_ref(), expected);
    let text = line_text(line);
    assert!(text.starts_with("left, 2 at "), "{text}");

    // The next move is the best one of the state that the line leads to.
    let cell = ["a1", "b1", "a2", "b2"]
        .iter()
        .position(|it| *it == first.cell)
        .unwrap();
    let mut tiles = vec![2, 0, 0, 0];
    tiles[cell] = 1;
    let next = GameBoard::new("2048", contender.shape, tiles, board.chance_state()).unwrap();
    let next = analyze_board(&contender, &next).unwrap();
    assert_eq!(next.best, Some(line[1].direction));
}

#[test]
fn an_analysis_with_lines_and_rollouts_is_read_back_from_json() {
    let contender = baseline("2048", Shape::FOUR);
    let board = GameBoard::parse("2 2 0 0/0 0 0 0/0 0 0 0/0 0 0 0", "2048", Shape::FOUR).unwrap();
    let mut analysis = analyze_board(&contender, &board).unwrap();
    analysis.add_lines(
        lines(
            &contender,
            &*contender.agent,
            &board,
            &Direction::ALL,
            &|| false,
        )
        .unwrap(),
    );
    analysis.add_rollouts(rollouts(&contender, &board, &options(5, 1, quiet())).unwrap());
    let text = serde_json::to_string(&analysis).unwrap();
    assert_eq!(
        serde_json::from_str::<Analysis<f32>>(&text).unwrap(),
        analysis
    );
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    let [up, right] = [&json["moves"][0], &json["moves"][1]];
    assert_eq!(up["legal"], false);
    for key in ["loss", "chances", "rest", "line"] {
        assert_eq!(up.get(key), Some(&serde_json::Value::Null), "{key}: {up}");
    }
    let keys = |one: &serde_json::Value| -> Vec<String> {
        let fields = one.as_object().unwrap();
        fields.keys().cloned().collect()
    };
    assert_eq!(keys(up), keys(right));
    assert!(right["chances"][0]["ci95"].is_array(), "{right}");
    assert_eq!(right["line"][0]["direction"], "right");
    assert_eq!(json["rollouts"]["games"], 5);
}

/// A line ends with the game.
#[test]
fn a_line_ends_with_the_game() {
    let contender = baseline("2048", Shape::new(2, 2).unwrap());
    let board = GameBoard::parse("2 4/0 8", "2048", contender.shape).unwrap();
    let lines = lines(
        &contender,
        &*contender.agent,
        &board,
        &Direction::ALL,
        &|| false,
    )
    .unwrap();
    // Up moves nothing; left makes 2 4 / 8 and a 2 fills the last cell, after which nothing moves.
    let line = lines[Direction::Left as usize].as_ref().unwrap();
    assert_eq!(line_text(line), "left, 2 at b2");
    assert_eq!(line.len(), 1);
}
