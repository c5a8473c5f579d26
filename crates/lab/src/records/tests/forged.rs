//! Records that follow the rules and are forged all the same, and honest ones that must pass.

use super::*;

/// Honest games of a baseline, as lines.
fn honest(game: &str, board: &str, games: u64) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("records.txt");
    let options = evaluate::EvalOptions {
        games,
        part: crate::part::Part::WHOLE,
        seed: 2,
        threads: 1,
        control: quiet(),
    };
    let (rows, cols) = crate::recipe::parse_board(board).unwrap();
    let shape = games::shape(rows, cols).unwrap();
    let greedy = Contender::baseline(Baseline::Greedy, game, shape).unwrap();
    record(&greedy, &options, &path).unwrap();
    let text = fs::read_to_string(&path).unwrap();
    text.lines().map(str::to_owned).collect()
}

/// The verdict on some lines; the game is guessed.
fn verdict(lines: &[String], change: impl FnOnce(&mut JudgeOptions<'_>)) -> JudgeReport {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("records.txt");
    fs::write(&path, lines.join("\n")).unwrap();
    let mut options = JudgeOptions::new(&path, quiet());
    change(&mut options);
    judge(&options).unwrap()
}

/// The kinds of the faults, each once.
fn kinds(report: &JudgeReport) -> Vec<FaultKind> {
    let mut kinds: Vec<FaultKind> = report.faults.iter().map(|fault| fault.kind).collect();
    kinds.sort_unstable();
    kinds.dedup();
    kinds
}

/// The name of a record, its actions, and its last part.
fn parts(line: &str) -> [&str; 3] {
    let parts: Vec<&str> = line.split('|').collect();
    parts.try_into().unwrap()
}

/// A record of a 4x4 board in a mirror: left becomes right.
fn mirrored(line: &str, hints: bool) -> String {
    let mut episode = EpisodeRecord::default();
    episode.read(line.as_bytes(), hints).unwrap();
    for one in &mut episode.moves {
        one.action = match one.action {
            Action::Slide(Direction::Left) => Action::Slide(Direction::Right),
            Action::Slide(Direction::Right) => Action::Slide(Direction::Left),
            Action::Place { cell, tile, hint } => Action::Place {
                cell: cell ^ 3,
                tile,
                hint,
            },
            vertical => vertical,
        };
    }
    episode.line(hints).to_string()
}

const GAMES: [&str; 6] = [
    "2048",
    "threes",
    "threes-hint",
    "threes-original",
    "2584",
    "2584-three",
];

#[test]
fn the_game_is_guessed() {
    for game in GAMES {
        let lines = honest(game, "4x4", 12);
        let report = verdict(&lines, |_| ());
        assert!(report.passed, "{game}: {:?}", report.faults);
        assert_eq!((&*report.game, report.guessed), (game, true));
        // Another game than the one that was named is told in one sentence.
        let other = if game == "2048" { "threes" } else { "2048" };
        let report = verdict(&lines, |options| options.game = Some(other));
        assert_eq!(kinds(&report), [FaultKind::Game], "{game}");
        assert_eq!((report.fault_count, report.episodes), (1, 0));
        let words = format!("the records are of {game} on 4x4, not of {other} on 4x4");
        let reason = &report.faults[0].reason;
        assert!(reason.starts_with(&words), "{reason}");
    }
    let lines = honest("2048", "3x5", 12);
    let report = verdict(&lines, |_| ());
    assert_eq!((&*report.game, &*report.board), ("2048", "3x5"));
    assert!(report.passed, "{:?}", report.faults);
}

#[test]
fn repeated_and_mirrored_games_are_caught() {
    for game in GAMES {
        let hints = games::rules(game).unwrap().shows_hint(Shape::FOUR);
        let lines = honest(game, "4x4", 20);
        let twice = verdict(&[lines.clone(), lines.clone()].concat(), |_| ());
        assert_eq!((twice.duplicates, twice.episodes), (20, 40));
        assert_eq!(kinds(&twice), [FaultKind::Duplicate], "{game}");
        assert_eq!(twice.failures, ["20 games are repeated"]);
        assert_eq!(twice.assessment, None);
        let first = &twice.faults[0];
        assert_eq!(
            (first.line, &*first.reason),
            (Some(21), "the same game as line 1")
        );
        let images: Vec<String> = lines.iter().map(|line| mirrored(line, hints)).collect();
        let alone = verdict(&images, |_| ());
        assert!(alone.passed, "{game}: {:?}", alone.faults);
        let both = verdict(&[lines, images].concat(), |_| ());
        assert_eq!((both.duplicates, both.fault_count), (20, 20), "{game}");
        let reason = &both.faults[0].reason;
        assert_eq!(reason, "a mirror image of the game of line 1");
    }
}

/// The end of a game that was played again is another game with the same beginning.
#[test]
fn games_with_the_same_beginning_are_caught() {
    let lines = honest("2048", "4x4", 10);
    let again = |line: &String| {
        let [begin, moves, end] = parts(line);
        let at = moves[..moves.len() * 9 / 10].rfind('#').unwrap();
        format!("{begin}|{}|{end}", &moves[..at])
    };
    let ends: Vec<String> = lines.iter().map(again).collect();
    let report = verdict(&[lines, ends].concat(), |_| ());
    assert_eq!((report.duplicates, report.episodes), (10, 20));
    assert_eq!(
        kinds(&report),
        [FaultKind::Unfinished, FaultKind::Duplicate]
    );
    let repeated = |fault: &&FaultReport| fault.kind == FaultKind::Duplicate;
    let first = report.faults.iter().find(repeated).unwrap();
    assert_eq!(first.line, Some(11));
    assert!(first.reason.starts_with("the first "), "{}", first.reason);
    assert!(first.reason.contains(" actions are those of line 1, or"));
}

/// On a tiny board honest games repeat.
#[test]
fn short_games_repeat_by_chance() {
    let report = verdict(&honest("2048", "2x2", 3000), |options| {
        options.shape = Shape::new(2, 2);
    });
    assert!(report.passed, "{:?}", report.faults);
    assert!(report.duplicates > 0);
    assert!(
        report.notes[0].contains("chance explains"),
        "{:?}",
        report.notes
    );
}

#[test]
fn games_that_were_cut_are_caught() {
    for game in ["2048", "threes-hint", "2584"] {
        let cut = |line: &String| {
            let [begin, moves, end] = parts(line);
            let at = moves[..moves.len() * 6 / 10].rfind('#').unwrap();
            format!("{begin}|{}|{end}", &moves[..at])
        };
        let lines: Vec<String> = honest(game, "4x4", 10).iter().map(cut).collect();
        let report = verdict(&lines, |_| ());
        assert_eq!((report.unfinished, report.fault_count), (10, 10), "{game}");
        assert_eq!(kinds(&report), [FaultKind::Unfinished]);
        let reason = &report.faults[0].reason;
        assert!(
            reason.starts_with("the game is not over: the slide"),
            "{reason}"
        );
        assert_eq!(report.failures, ["10 games are not over"]);
        assert_eq!(report.assessment, None);
    }
}

/// Times that cannot be true are faults; others are notes.
#[test]
fn forged_times_are_told() {
    let lines = honest("2048", "4x4", 20);
    let timed = |opened: u64, closed: u64| -> Vec<String> {
        let change = |line: &String| {
            let mut episode = EpisodeRecord::default();
            episode.read(line.as_bytes(), false).unwrap();
            (episode.opened.at, episode.closed.at) = (opened, closed);
            episode.moves.iter_mut().for_each(|one| one.millis = 0);
            episode.line(false).to_string()
        };
        lines.iter().map(change).collect()
    };
    let now = 1_600_000_000_000;
    let judged = |opened, closed| verdict(&timed(opened, closed), |options| options.now = now);
    let zero = judged(0, 0);
    assert_eq!(kinds(&zero), [FaultKind::Times]);
    assert_eq!(
        zero.faults[0].reason,
        "20 games start before 2014, the year of the games, first line 1 at 0 ms since 1970"
    );
    let year_1970 = judged(1, 30);
    assert_eq!(kinds(&year_1970), [FaultKind::Times]);
    let year_9999 = 253_370_764_800_000;
    let future = judged(year_9999, year_9999 + 5);
    assert_eq!(kinds(&future), [FaultKind::Times]);
    let reason = &future.faults[0].reason;
    assert!(
        reason.starts_with("20 games end in the future, first line 1"),
        "{reason}"
    );
    // A clock that is an hour ahead is no fault; equal times are odd.
    let equal = judged(now + 3_600_000, now + 3_600_020);
    assert!(equal.passed, "{:?}", equal.faults);
    assert_eq!(equal.notes.len(), 2, "{:?}", equal.notes);
    // More moves in a millisecond than any program makes.
    let many: Vec<String> = (0..30).flat_map(|_| timed(now, now)).collect();
    let report = verdict(&many, |options| options.now = now);
    assert!(report.tally.moves > 100_000);
    assert!(kinds(&report).contains(&FaultKind::Times));
}

#[test]
fn the_number_of_games_may_be_required() {
    let lines = honest("threes", "4x4", 10);
    let of = |games| verdict(&lines, |options| options.games = Some(games));
    assert!(of(10).passed);
    for (games, words) in [
        (11, "10 valid games, required 11"),
        (9, "10 valid games, required 9"),
    ] {
        let report = of(games);
        assert_eq!(kinds(&report), [FaultKind::Number]);
        assert_eq!(report.faults[0].reason, words);
    }
}

/// The verdict does not depend on the number of threads, nor does luck by a model fail fair games.
#[test]
fn verdicts_do_not_depend_on_threads() {
    let lines = honest("threes-hint", "4x4", 60);
    let model = beginner("threes-hint", "4x4");
    let model = LuckModel {
        label: "beginner".to_owned(),
        game: model.game,
        shape: model.shape,
        agent: model.agent,
    };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("records.txt");
    fs::write(&path, lines.join("\n")).unwrap();
    let of = |threads| {
        let report = judge(&JudgeOptions {
            threads,
            model: Some(&model),
            ..JudgeOptions::new(&path, quiet())
        });
        report.unwrap()
    };
    let one = of(1);
    assert!(one.passed, "{:?}", one.faults);
    assert_eq!(one, of(3));
    assert_eq!(one.luck_model.as_deref(), Some("beginner"));
    assert!(
        one.limits.contains("which games were left out"),
        "{}",
        one.limits
    );
}
