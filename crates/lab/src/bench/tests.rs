//! Rows, slices and stopping, on networks that are small or barely trained.

use super::rows::{SUBJECTS, by_name};
use super::*;
use crate::control::{CancelToken, quiet};

fn options(networks: &[String]) -> BenchOptions<'_> {
    BenchOptions {
        time: Duration::from_millis(120),
        games: None,
        networks,
        searches: &[],
        threads: 2,
        control: quiet(),
    }
}

#[test]
fn every_network_can_be_created_and_names_are_unique() {
    let names = || SUBJECTS.iter().flat_map(|subject| subject.rows);
    for subject in &SUBJECTS {
        Trained::new(subject, &MemoryBudget::process()).unwrap();
    }
    for (name, _) in names() {
        assert_eq!(names().filter(|(other, _)| other == name).count(), 1);
    }
}

#[test]
fn rows_are_chosen_by_name_or_first_word() {
    let rows = |names: &[&str]| -> Vec<String> {
        let names: Vec<String> = names.iter().map(|&name| name.into()).collect();
        let chosen = by_name(&names).unwrap();
        let rows = chosen.iter().flat_map(|(_, rows)| rows);
        rows.map(|row| row.name.clone()).collect()
    };
    assert_eq!(rows(&["4x6"]), ["4x6 play", "4x6 td", "4x6 tc"]);
    assert_eq!(rows(&["8x4 td", "4x6 play", "8x4"]), ["4x6 play", "8x4 td"]);
    assert_eq!(
        rows(&[]),
        ["4x6 play", "4x6 td", "4x6 tc", "8x6 td", "state-6"]
    );
    let error = by_name(&["4x".into()]).err().unwrap().to_string();
    assert!(
        error.contains("`4x`") && error.contains("5x6 td"),
        "{error}"
    );
}

#[test]
fn slices_of_both_kinds_and_their_median() {
    let stages = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&stages);
    let control = Control::new().on_event(move |event| {
        if let Event::Progress(progress) = event {
            seen.lock().unwrap().push(progress.clone());
        }
    });
    let report = bench(&BenchOptions {
        control: &control,
        ..options(&["8x4".into()])
    });
    let report = report.unwrap();
    let kinds: Vec<usize> = report.rows.iter().map(|row| row.threads).collect();
    assert_eq!(kinds, [1, 2]);
    for row in &report.rows {
        assert_eq!(
            (&*row.network, row.mode, row.rule),
            ("8x4 td", Mode::Train, Rule::Td)
        );
        assert_eq!(row.memory_mib, 2.0);
        assert_eq!(row.slices.len() as u32, MIN_SLICES);
        let mut sorted = row.slices.clone();
        sorted.sort_unstable();
        assert_eq!(row.moves_per_second, sorted[1] as f64);
        assert!(sorted[0] > 1000 && row.games_before > 0, "{row:?}");
    }
    let stages = stages.lock().unwrap();
    assert!(
        stages
            .iter()
            .all(|stage| (0.0..=1.0).contains(&stage.share))
    );
    let stage = |n: usize| stages[n].stage.as_deref();
    assert_eq!(stage(0), Some("8x4 td: warming up"));
    assert_eq!(stage(stages.len() - 1), Some("8x4 td: measuring"));
}

#[test]
fn warm_up_games_are_respected_and_one_thread_gives_one_row() {
    let networks = ["8x4".into()];
    let report = bench(&BenchOptions {
        games: Some(37),
        threads: 1,
        ..options(&networks)
    });
    let rows = report.unwrap().rows;
    assert_eq!(rows.len(), 1);
    assert_eq!((rows[0].games_before, rows[0].threads), (37, 1));
}

#[test]
fn cancelling_keeps_finished_rows_only() {
    let networks = ["8x4".into(), "5x6".into()];
    let cancel = CancelToken::default();
    let control = Control::new().with_cancel(cancel.clone());
    let control = control.on_event(move |event| {
        if let Event::Progress(progress) = event
            && progress.stage.as_deref() == Some("8x4 td: measuring")
        {
            cancel.cancel();
        }
    });
    let report = bench(&BenchOptions {
        control: &control,
        ..options(&networks)
    });
    let rows = report.unwrap().rows;
    assert!(!rows.is_empty() && rows.iter().all(|row| row.network == "5x6 td"));
}

/// The axes of a search: its depth, its table and the threads.
#[test]
fn searches_are_measured_over_the_first_network() {
    let searches = ["2ply", "3ply"].map(|limit| SearchSpec {
        table_bytes: 1 << 20,
        ..SearchSpec::new(limit.parse().unwrap())
    });
    let report = bench(&BenchOptions {
        searches: &searches,
        ..options(&[])
    });
    let rows = report.unwrap().rows;
    let names: Vec<_> = rows
        .iter()
        .map(|row| (&*row.network, row.threads))
        .collect();
    assert_eq!(
        names,
        [
            ("4x6 2ply", 1),
            ("4x6 2ply", 2),
            ("4x6 3ply", 1),
            ("4x6 3ply", 2)
        ]
    );
    for (row, search) in rows.iter().zip(["2ply", "2ply", "3ply", "3ply"]) {
        let found = row.search.as_ref().unwrap();
        assert_eq!(
            (row.mode, &*found.search, found.hash_mib),
            (Mode::Search, search, 1.0)
        );
        assert!(row.moves_per_second > 0.0, "{row:?}");
    }
}
