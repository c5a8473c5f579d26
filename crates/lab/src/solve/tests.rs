use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use afterstate::game::{Grid, PowersOfTwo};
use afterstate::solve::Recursive;
use proptest::prelude::*;

use std::sync::Arc;

use super::*;
use crate::control::{CancelToken, Control, Event, quiet};

fn options(rows: usize, cols: usize) -> SolveOptions<'static> {
    SolveOptions {
        game: "2048",
        shape: Shape::new(rows, cols).unwrap(),
        target: None,
        discount: 1.0,
        bounds: false,
        threads: 1,
        memory: None,
        control: quiet(),
    }
}

fn solved(options: &SolveOptions<'_>) -> Solved {
    solve(options).unwrap().unwrap()
}

fn refused(options: &SolveOptions<'_>) -> String {
    match solve(options) {
        Err(error) => error.to_string(),
        Ok(_) => panic!("{} was not refused", options.shape),
    }
}

/// Solutions and what is measured by them reserve memory as long as they need it.
#[test]
fn solutions_share_the_budget() {
    let bytes = |solution: &Solution| 16 * solution.layers().codes().len() as u64;
    let small = solved(&options(2, 3)).solution;
    let budget = crate::memory::MemoryBudget::new(1 << 30);
    let control = Control::new().with_memory(budget.clone());
    let whole = SolveOptions {
        control: &control,
        ..options(2, 3)
    };
    let first = solved(&whole).solution;
    let _others = budget.reserve((1 << 30) - 2 * bytes(&small)).unwrap();
    let error = refused(&whole);
    assert!(error.contains("memory"), "{error}");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("2x3.safetensors");
    first.write(&path).unwrap();
    assert!(Solution::open_within(&path, &budget).is_err());
    drop(first);
    let read = Solution::open_within(&path, &budget).unwrap();
    assert_eq!(read.scores(), small.scores());
}

fn mean(goal: Goal) -> Criterion {
    let spawn_mode = SpawnMode::Mean;
    Criterion { goal, spawn_mode }
}

#[test]
fn every_value_agrees_with_the_definition() {
    for (rows, cols) in [(2, 2), (2, 3), (3, 2)] {
        let Solved { solution, .. } = solved(&SolveOptions {
            target: Some(32),
            discount: 0.9,
            ..options(rows, cols)
        });
        let info = solution.info();
        let game = Grid::new(info.shape, &PowersOfTwo);
        let mut score = Recursive::new(game, Ending::Stuck, mean(info.goal()));
        let mut win = Recursive::new(game, Ending::Stuck, mean(Goal::Reach(5)));
        let target = info.target.unwrap();
        assert!((info.expected_score - score.start()).abs() < 1e-9);
        assert!((target.probability - win.start()).abs() < 1e-12);
        assert!(!target.ends && target.tile == 5);
        assert_eq!(info.states, score.values().len() as u64);
        for (&state, &value) in score.values() {
            let place = solution.place(solution.code().of_state(state)).unwrap();
            assert!((solution.scores()[place] - value).abs() < 1e-9);
            let chance = win.value(state);
            assert!((solution.wins().unwrap()[place] - chance).abs() < 1e-12);
        }
    }
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let with = |threads| {
        solved(&SolveOptions {
            threads,
            target: Some(32),
            // Too little memory for the whole game: it ends at the target.
            memory: Some(100_000_000),
            bounds: true,
            ..options(3, 3)
        })
    };
    let one = with(1);
    assert!(one.solution.info().ends_at_target());
    let other = with(3);
    assert_eq!(one.solution.info(), other.solution.info());
    assert!(one.solution.layers() == other.solution.layers());
    assert!(one.solution.scores() == other.solution.scores());
    assert!(one.solution.wins() == other.solution.wins());
    assert_eq!(one.score_bounds, other.score_bounds);
}

#[test]
fn bounds_enclose_the_mean_and_agree_with_the_definition() {
    let solved = solved(&SolveOptions {
        bounds: true,
        target: Some(64),
        ..options(2, 3)
    });
    let [min, max] = solved.score_bounds.unwrap();
    let mean = solved.solution.info().expected_score;
    assert!(min < mean && mean < max);
    let of = |goal, spawn_mode| {
        Recursive::new(
            Grid::new(options(2, 3).shape, &PowersOfTwo),
            Ending::Stuck,
            Criterion { goal, spawn_mode },
        )
        .start()
    };
    let both = |goal| [of(goal, SpawnMode::Worst), of(goal, SpawnMode::Best)];
    assert_eq!([min, max], both(solved.solution.info().goal()));
    assert_eq!(solved.win_bounds, Some([0.0, 1.0]));
    assert_eq!(solved.win_bounds, Some(both(Goal::Reach(6))));
}

#[test]
fn games_far_too_large_are_refused_immediately() {
    let gib = Some(16 << 30);
    let memory = refused(&SolveOptions {
        memory: gib,
        ..options(3, 4)
    });
    assert!(memory.contains("16.0 GiB are free"), "{memory}");
    assert!(refused(&options(4, 4)).contains("tiles up to 32768"));
    assert!(refused(&options(5, 5)).contains("too many cells"));
    let largest = SolveOptions {
        memory: gib,
        target: Some(2048),
        ..options(4, 4)
    };
    assert!(refused(&largest).contains("16.0 GiB are free"));
}

/// A control that stores the last reported number of states.
fn counting() -> (Control, Arc<AtomicU64>) {
    let seen = Arc::new(AtomicU64::new(0));
    let states = Arc::clone(&seen);
    let control = Control::new().on_event(move |event| {
        if let Event::Progress(progress) = event {
            states.store(progress.done, Ordering::Relaxed);
        }
    });
    (control, seen)
}

#[test]
fn games_that_do_not_fit_are_refused_before_they_are_listed() {
    let (control, seen) = counting();
    let memory = SolveOptions {
        memory: Some(200_000),
        control: &control,
        ..options(2, 3)
    };
    assert!(refused(&memory).contains("are free"));
    let listed = seen.load(Ordering::Relaxed);
    assert!(listed > 0 && listed * 16 < 200_000, "{listed} states");
}

/// Listing 2x5 would take minutes before it fills a memory of this size.
#[test]
fn games_that_will_not_fit_are_refused_by_prediction() {
    let (control, seen) = counting();
    let memory = SolveOptions {
        memory: Some(22 << 30),
        threads: 2,
        control: &control,
        ..options(2, 5)
    };
    let told = refused(&memory);
    assert!(told.contains("22.0 GiB are free"), "{told}");
    let listed = seen.load(Ordering::Relaxed);
    assert!(listed > 0 && listed < 200_000, "{listed} states");
}

#[test]
fn invalid_targets_and_discounts_are_refused() {
    let target = |target| {
        refused(&SolveOptions {
            target: Some(target),
            ..options(2, 2)
        })
    };
    assert!(target(24).contains("24 is not a tile of this game; expected one of 2, 4, 8"));
    assert!(target(0).contains("not a tile") && target(65_536).contains("not a tile"));
    for discount in [-0.1, 1.5, f64::NAN] {
        let discount = SolveOptions {
            discount,
            ..options(2, 2)
        };
        assert!(refused(&discount).contains("from 0 to 1"));
    }
    let game = SolveOptions {
        game: "chess",
        ..options(2, 2)
    };
    assert!(refused(&game).contains("unknown game"));
}

#[test]
fn it_reports_progress_and_can_be_cancelled() {
    let cancel = CancelToken::default();
    let (asked, token) = (AtomicU64::new(0), cancel.clone());
    let control = Control::new().with_cancel(cancel).on_event(move |_| {
        if asked.fetch_add(1, Ordering::Relaxed) > 5 {
            token.cancel();
        }
    });
    let stopped = SolveOptions {
        control: &control,
        ..options(2, 3)
    };
    assert!(solve(&stopped).unwrap().is_none());

    let stages = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&stages);
    let control = Control::new().on_event(move |event| {
        if let Event::Progress(progress) = event {
            seen.lock().unwrap().push(progress.clone());
        }
    });
    let told = SolveOptions {
        target: Some(64),
        control: &control,
        ..options(2, 3)
    };
    solved(&told);
    let stages = stages.lock().unwrap();
    for doing in [Stage::Listing, Stage::Score, Stage::Win] {
        let name = Some(doing.stage());
        let done = stages.iter().filter(|stage| stage.stage.as_deref() == name);
        let done: Vec<f64> = done.map(|stage| stage.share).collect();
        assert!(done.is_sorted() && done[0] < 0.1, "{doing:?}");
        assert!(done[done.len() - 1] > 0.99, "{doing:?}");
    }
}

/// A solution in a file.
fn kept(options: &SolveOptions<'_>) -> (tempfile::TempDir, PathBuf, Solution) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("solution");
    let solution = solved(options).solution;
    solution.write(&path).unwrap();
    (folder, path, solution)
}

#[test]
fn a_written_solution_is_read_back() {
    for target in [None, Some(16)] {
        let (folder, path, solution) = kept(&SolveOptions {
            target,
            discount: 0.99,
            ..options(2, 3)
        });
        let read = Solution::open(&path).unwrap();
        assert_eq!(read.info(), solution.info());
        assert!(read.layers() == solution.layers());
        assert!(read.scores() == solution.scores() && read.wins() == solution.wins());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}

#[test]
fn the_value_of_every_move_agrees_with_the_definition() {
    let (_folder, path, _) = kept(&SolveOptions {
        target: Some(64),
        ..options(2, 3)
    });
    let solution = Solution::open(&path).unwrap();
    let game = Grid::new(solution.info().shape, &PowersOfTwo);
    let mut slow = Recursive::new(game, Ending::Stuck, mean(solution.info().goal()));
    slow.start();
    let mut wins = Recursive::new(game, Ending::Stuck, mean(Goal::Reach(6)));
    let states: HashMap<_, _> = slow.values().clone();
    for (&state, &value) in states.iter().take(500) {
        let tiles: Vec<String> = (0..6)
            .map(|i| state.cell(i))
            .map(|tile| game.tile_value(tile).to_string())
            .collect();
        let board = [tiles[..3].join(","), tiles[3..].join(",")].join("/");
        let analysis = solution.analyze(&board).unwrap();
        let totals = analysis.moves.iter().filter_map(|m| m.total);
        let best = totals.fold(0.0, f64::max);
        assert!((best - value).abs() < 1e-9, "{board}: {best} {value}");
        let chances = analysis.moves.iter().filter_map(|m| m.win_probability?);
        let chance = chances.fold(0.0, f64::max);
        let known = wins.value(state);
        assert!(analysis.best.is_none() || (chance - known).abs() < 1e-12);
    }
}

#[test]
fn boards_outside_the_solution_are_refused() {
    let solution = solved(&options(2, 3)).solution;
    let error = |board| solution.analyze(board).unwrap_err().to_string();
    assert!(
        error("2,0,0/0,0,0").contains("not in the solution"),
        "one tile"
    );
    assert!(
        error("8,0,0/0,0,8").contains("not in the solution"),
        "nothing new"
    );
    assert!(
        error("128,128,0/0,0,2").contains("not in the solution"),
        "too much"
    );
    assert!(
        error("0,0,0/0,0,0").contains("not in the solution"),
        "nothing"
    );
    assert!(error("2,0/0,4").contains("3 tiles"));
    assert!(error("2,0,3/0,4,0").contains("not a tile"));
}

#[test]
fn a_game_that_ends_at_its_target_has_no_moves_there() {
    let solution = solved(&SolveOptions {
        target: Some(16),
        memory: Some(3_000_000),
        ..options(3, 3)
    });
    let solution = solution.solution;
    assert!(solution.info().ends_at_target());
    let there = solution.analyze("16,2,0/0,0,0/0,0,2").unwrap();
    assert_eq!(there.best, None);
    let before = solution.analyze("8,8,0/0,0,0/0,0,2").unwrap();
    assert!(before.best_for_target().is_some());
    let win = before.moves[1].win_probability.flatten();
    assert!(win.is_some_and(|win| (win - 1.0).abs() < 1e-12));
    assert!(solution.wins().unwrap().iter().all(|&win| win <= 1.0));
    assert_eq!(before.moves[1].value, Some(0.0), "nothing comes after it");
}

#[test]
fn every_truncation_is_an_error() {
    let (_folder, path, _) = kept(&options(2, 2));
    let bytes = fs::read(&path).unwrap();
    for length in (0..bytes.len()).step_by(61).chain([bytes.len() - 1]) {
        fs::write(&path, &bytes[..length]).unwrap();
        assert!(Solution::open(&path).is_err(), "{length} bytes");
    }
    fs::write(&path, [&bytes[..], &[0]].concat()).unwrap();
    assert!(Solution::open(&path).is_err(), "a byte more");
}

/// The same file as of an earlier version, which ignored the keys of checksums.
fn without_checksums(mut bytes: Vec<u8>) -> Vec<u8> {
    for key in [&b"\"checksums\":"[..], b"\"checksum_bytes\":"] {
        let at = bytes.windows(key.len()).position(|found| found == key);
        bytes[at.unwrap() + 1] = b'_';
    }
    bytes
}

#[test]
fn a_solution_without_checksums_is_read_and_told() {
    let (_folder, path, solution) = kept(&options(2, 2));
    assert!(!Solution::open(&path).unwrap().lacks_checksums());
    let bytes = without_checksums(fs::read(&path).unwrap());
    fs::write(&path, bytes).unwrap();
    let read = Solution::open(&path).unwrap();
    assert!(read.lacks_checksums());
    assert_eq!(read.scores(), solution.scores());
}

#[test]
fn every_flipped_bit_is_found() {
    let (_folder, path, _) = kept(&SolveOptions {
        target: Some(16),
        ..options(2, 2)
    });
    let bytes = fs::read(&path).unwrap();
    for number in 0..300 {
        // Multiples of a prime: many places of the header, its padding and the numbers.
        let at = number * 7919 % bytes.len();
        let mut bad = bytes.clone();
        bad[at] ^= 1 << (number % 8);
        fs::write(&path, bad).unwrap();
        assert!(Solution::open(&path).is_err(), "byte {at}");
    }
    let mut bad = bytes.clone();
    let last = bad.len() - 1;
    bad[last] ^= 1;
    fs::write(&path, bad).unwrap();
    let found = Solution::open(&path).unwrap_err().to_string();
    assert!(found.contains("tensor `win`"), "{found}");
}

#[test]
fn damaged_numbers_are_refused() {
    let (_folder, path, solution) = kept(&SolveOptions {
        target: Some(16),
        ..options(2, 2)
    });
    // What is not covered by checksums is checked by its meaning.
    let bytes = without_checksums(fs::read(&path).unwrap());
    let states = solution.layers().codes().len();
    let with = |from_end: usize, number: [u8; 8]| {
        let mut bytes = bytes.clone();
        let at = bytes.len() - from_end;
        bytes[at..at + 8].copy_from_slice(&number);
        fs::write(&path, bytes).unwrap();
        Solution::open(&path).unwrap_err().to_string()
    };
    let (win, score, codes) = (8 * states, 16 * states, 24 * states);
    assert!(with(win, 2.0_f64.to_le_bytes()).contains("within 0 to 1"));
    assert!(with(score, f64::NAN.to_le_bytes()).contains("finite"));
    assert!(with(codes, [255; 8]).contains("states that are not in order"));
    assert!(with(codes + 8, [255; 8]).contains("layers that are not in order"));

    // The same state transformed, or with chance bits set: sums and order are right, but it is not
    // a code.
    let last = solution.layers().codes().last().unwrap().number();
    let turned = [12, 8, 4, 0].map(|bits| last >> bits & 15);
    let turned = turned
        .into_iter()
        .rev()
        .fold(0, |all, tile| all << 4 | tile);
    assert!(turned > last, "it is not its own image");
    for other in [turned, last | 1 << 40] {
        assert!(with(score + 8, other.to_le_bytes()).contains("or no states"));
    }
    // The first states are initial states.
    assert!(with(score, 1.0_f64.to_le_bytes()).contains("do not come to the value"));
    assert!(with(win, 0.0_f64.to_le_bytes()).contains("do not come to the value"));
}

#[test]
fn invalid_metadata_is_refused() {
    let (_folder, path, mut solution) = kept(&SolveOptions {
        target: Some(16),
        ..options(2, 2)
    });
    let mut with = |change: &dyn Fn(&mut Solution)| {
        let whole = solution.clone();
        change(&mut solution);
        solution.write(&path).unwrap();
        solution = whole;
        Solution::open(&path).unwrap_err().to_string()
    };
    let probability = |p| move |s: &mut Solution| s.info.target.as_mut().unwrap().probability = p;
    assert!(with(&|s| s.info.discount = 5.0).contains("from 0 to 1"));
    assert!(with(&|s| s.info.discount = -1.0).contains("from 0 to 1"));
    assert!(with(&probability(7.0)).contains("from 0 to 1"));
    assert!(with(&probability(0.5)).contains("do not come to the value"));
    assert!(with(&|s| s.info.expected_score = 1e9).contains("do not come to the value"));
    assert!(
        with(&|s| s.layers = Layers::new(Vec::new()).unwrap()).contains("not a usable solution")
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// A few bytes changed anywhere give an error, or a solution whose every answer is a result or
    /// an error.
    #[test]
    fn damage_never_panics(changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4)) {
        static BYTES: std::sync::OnceLock<Vec<u8>> = std::sync::OnceLock::new();
        let bytes = BYTES.get_or_init(|| {
            let (_folder, path, _) = kept(&SolveOptions { target: Some(16), ..options(2, 2) });
            without_checksums(fs::read(&path).unwrap())
        });
        let mut bytes = bytes.clone();
        // The padding after the header would take most of the changes.
        let header = bytes.iter().rposition(|&byte| byte == b'}').unwrap() + 1;
        let numbers = bytes.len() - 4096;
        for (place, byte) in changes {
            let place = place.index(header + numbers);
            bytes[if place < header { place } else { place - header + 4096 }] = byte;
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("solution");
        fs::write(&path, bytes).unwrap();
        if let Ok(solution) = Solution::open(&path) {
            for board in ["2,0/0,2", "2,4/0,0", "2,4/16,8"] {
                let _ = solution.analyze(board);
            }
        }
    }
}
