mod files;
mod found;
mod summaries;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use super::{RunResult, Sweep, SweepError};
use crate::LabError;
use crate::control::{CancelToken, Control, Event, quiet};
use crate::trainer::Trainer;

/// Counts the events of a sweep, and cancels it after a number of games.
struct Counter {
    begun: Arc<AtomicUsize>,
    ended: Arc<AtomicUsize>,
    games: Arc<AtomicU64>,
    control: Control,
}

impl Counter {
    fn new(stop_after: u64) -> Self {
        let (begun, ended) = <(Arc<AtomicUsize>, Arc<AtomicUsize>)>::default();
        let games = Arc::new(AtomicU64::new(0));
        let cancel = CancelToken::default();
        let counts = (begun.clone(), ended.clone(), games.clone(), cancel.clone());
        let control = Control::new()
            .with_cancel(cancel)
            .with_interval(Duration::ZERO)
            .on_event(move |event| {
                let (begun, ended, games, cancel) = &counts;
                match event {
                    Event::Run { done: true, .. } => ended.fetch_add(1, Ordering::Relaxed),
                    Event::Run { share: 0.0, .. } => begun.fetch_add(1, Ordering::Relaxed),
                    Event::Run { share, .. } => {
                        assert!((0.0..=1.0).contains(share));
                        let played = games.fetch_add(1, Ordering::Relaxed) + 1;
                        if played >= stop_after {
                            cancel.cancel();
                        }
                        0
                    }
                    _ => 0,
                };
            });
        Self {
            begun,
            ended,
            games,
            control,
        }
    }

    fn patient() -> Self {
        Self::new(u64::MAX)
    }
}

/// A folder with a sweep of tiny runs.
struct SweepFolder(tempfile::TempDir);

const SMALL: &str = r#"
name = "small"
recipe = "quick"
set = ["board=3x3", "tuples=012 036", "episodes=150", "block_games=40"]
seeds = [3, 1, 2]
games = 60

[[variant]]
name = "as it is"

[[variant]]
name = "TD / 0.1"
set = ["rule=td", "learning_rate=0.1"]
"#;

impl SweepFolder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn load(&self, text: &str) -> Result<Sweep, LabError> {
        let path = self.path("sweep.toml");
        fs::write(&path, text).unwrap();
        Sweep::load(&path)
    }

    fn run(&self, sweep: &Sweep, out: &str, jobs: usize) -> Vec<RunResult> {
        let found = sweep.run(&self.path(out), jobs, &Counter::patient().control);
        found.unwrap().expect("nobody stops it")
    }
}

fn models(folder: &SweepFolder, sweep: &Sweep, out: &str) -> Vec<Vec<u8>> {
    let runs = sweep.runs(&folder.path(out));
    let model = |folder: &Path| fs::read(folder.join("model.safetensors")).unwrap();
    runs.iter().map(|task| model(&task.folder)).collect()
}

#[test]
fn cancelling_and_the_number_of_jobs_do_not_change_results() {
    let folder = SweepFolder::new();
    let sweep = folder.load(SMALL).unwrap();
    let whole = folder.run(&sweep, "whole", 1);
    assert_eq!(whole.len(), 6);
    assert_eq!(folder.run(&sweep, "two", 2), whole);

    // Each time some games further: during training, and during an evaluation.
    let mut stops = 0;
    let cut = loop {
        let watch = Counter::new(97);
        match sweep.run(&folder.path("cut"), 2, &watch.control).unwrap() {
            Some(found) => break found,
            None => stops += 1,
        }
        assert!(watch.ended.load(Ordering::Relaxed) < 6);
        assert!(stops < 20, "it does not get on");
    };
    assert!(stops >= 5, "{stops} stops: it was hardly disturbed");
    assert_eq!(cut, whole);
    for out in ["two", "cut"] {
        assert!(
            models(&folder, &sweep, out) == models(&folder, &sweep, "whole"),
            "{out}"
        );
    }
    // The six are not all equal.
    let means: Vec<f64> = whole.iter().filter_map(mean).collect();
    let distinct = means
        .iter()
        .enumerate()
        .all(|(n, mean)| !means[..n].contains(mean));
    assert!(means.len() == 6 && distinct, "{means:?}");
}

fn mean(result: &RunResult) -> Option<f64> {
    match result {
        RunResult::Trained(evaluated) => Some(evaluated.as_ref()?.mean),
        RunResult::Diverged(_) => None,
    }
}

#[test]
fn finished_results_are_saved() {
    let folder = SweepFolder::new();
    let sweep = folder.load(SMALL).unwrap();
    let found = folder.run(&sweep, "out", 0);
    let out = folder.path("out");
    assert!(sweep.runs(&out).iter().all(|task| task.is_done(60)));

    // An impossible result shows that no game is played again.
    let result = out.join("td-0.1/seed-1/result.json");
    let text = fs::read_to_string(&result).unwrap();
    let old = format!("\"mean\": {:?}", mean(&found[3]).unwrap());
    assert!(text.contains(&old), "{old} in {text}");
    fs::write(&result, text.replace(&old, "\"mean\": 12345.5")).unwrap();
    let watch = Counter::patient();
    let again = sweep.run(&out, 2, &watch.control).unwrap().unwrap();
    assert_eq!(mean(&again[3]), Some(12345.5));
    assert_eq!(watch.games.load(Ordering::Relaxed), 0, "nothing is trained");

    // Another number of games invalidates the result, and so does an invalid file.
    let more = folder
        .load(&SMALL.replace("games = 60", "games = 61"))
        .unwrap();
    let found = folder.run(&more, "out", 2);
    assert!(
        found
            .iter()
            .all(|found| matches!(found, RunResult::Trained(Some(it)) if it.games == 61))
    );
    fs::write(&result, "{").unwrap();
    assert!(!more.runs(&out)[3].is_done(61) && more.runs(&out)[2].is_done(61));
    assert_eq!(folder.run(&more, "out", 2), found);

    // More seeds are more runs; the others are unchanged.
    let wider = folder
        .load(&SMALL.replace("[3, 1, 2]", "[1, 2, 3, 4]"))
        .unwrap();
    let watch = Counter::patient();
    assert_eq!(
        wider.run(&out, 1, &watch.control).unwrap().unwrap().len(),
        8
    );
    // Two runs, each reported once at its start.
    assert_eq!(watch.games.load(Ordering::Relaxed), 2 * 150);
}

/// A run that is extended has a model that does not correspond to its recipe yet.
#[test]
fn a_run_that_is_extended_is_not_finished() {
    let folder = SweepFolder::new();
    let sweep = folder.load(SMALL).unwrap();
    folder.run(&sweep, "out", 2);
    for task in sweep.runs(&folder.path("out")) {
        let longer = ["episodes=200".to_owned()];
        drop(Trainer::resume(&task.folder, &longer, quiet()).unwrap());
    }
    let longer = SMALL.replace("episodes=150", "episodes=200");
    let found = folder.run(&folder.load(&longer).unwrap(), "out", 2);
    let trained = |result: &RunResult| match result {
        RunResult::Trained(evaluated) => evaluated.as_ref().map(|it| it.trained),
        RunResult::Diverged(_) => None,
    };
    assert!(found.iter().all(|found| trained(found) == Some(200)));
}

#[test]
fn a_changed_variant_is_refused_before_anything_runs() {
    let folder = SweepFolder::new();
    let sweep = folder.load(SMALL).unwrap();
    let out = folder.path("out");
    let stopped = sweep.run(&out, 1, &Counter::new(400).control).unwrap();
    assert!(stopped.is_none());
    let words = SMALL.replace(
        "\"block_games=40\"",
        "\"block_games=40\", \"purpose=other words\"",
    );
    for (text, key, trained, wanted) in [
        (
            SMALL.replace("learning_rate=0.1", "learning_rate=0.2"),
            "learner.learning_rate",
            "0.1",
            "0.2",
        ),
        (
            SMALL.replace("episodes=150", "episodes=160"),
            "episodes",
            "150",
            "160",
        ),
        (
            SMALL.replace("012 036", "012"),
            "network.tuples",
            "012 036",
            "012",
        ),
    ] {
        let changed = folder.load(&text).unwrap();
        let watch = Counter::patient();
        let error = changed.run(&out, 1, &watch.control).unwrap_err();
        let sentence = error.to_string();
        let LabError::Sweep(SweepError::Changed {
            key: found, folder, ..
        }) = error
        else {
            panic!("{sentence}");
        };
        assert_eq!(found, key);
        assert!(folder.starts_with(&out));
        for word in [trained, wanted] {
            assert!(sentence.contains(word), "{word} in {sentence}");
        }
        assert_eq!(watch.begun.load(Ordering::Relaxed), 0);
    }
    // Descriptive keys do not affect training.
    let sweep = folder.load(&words).unwrap();
    assert_eq!(folder.run(&sweep, "out", 2).len(), 6);
}

/// Weights near the largest float diverge immediately.
const DIVERGING: &str = "[[variant]]\nname = \"diverges\"\nset = [\"initial_value=3e38\"]\n";

#[test]
fn a_run_that_diverges_stops_no_other() {
    let folder = SweepFolder::new();
    let sweep = folder.load(&format!("{SMALL}{DIVERGING}")).unwrap();
    let found = folder.run(&sweep, "out", 2);
    let diverged = |found: &RunResult| matches!(found, RunResult::Diverged(_));
    let places: Vec<usize> = (0..9).filter(|&n| diverged(&found[n])).collect();
    assert_eq!(places, [2, 5, 8]);
    let out = folder.path("out");
    let watch = Counter::patient();
    assert_eq!(sweep.run(&out, 1, &watch.control).unwrap().unwrap(), found);
    assert_eq!(
        watch.games.load(Ordering::Relaxed),
        0,
        "nor is it tried again"
    );

    let summary = sweep.summary(&out, &found).unwrap();
    assert_eq!(summary.diverged(), 3);
    let row = &summary.variants[2];
    assert_eq!((row.mean, row.difference, row.verdict), (None, None, None));
    assert!(summary.text().contains("3 diverged"), "{}", summary.text());
    summary.save(&out).unwrap();
}

#[test]
fn an_error_cancels_the_others_and_names_the_run() {
    let folder = SweepFolder::new();
    let sweep = folder.load(SMALL).unwrap();
    let out = folder.path("out");
    // A run folder that cannot be created.
    fs::create_dir(&out).unwrap();
    fs::write(out.join("td-0.1"), "in the way").unwrap();
    let watch = Counter::patient();
    let error = sweep.run(&out, 1, &watch.control).unwrap_err().to_string();
    assert!(error.contains("TD / 0.1, seed 3"), "{error}");
    assert_eq!(watch.begun.load(Ordering::Relaxed), 2);
}

/// The files of the folder `sweeps/` fit the recipes of today.
#[test]
fn the_sweeps_of_the_project_are_valid() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../sweeps");
    let files = fs::read_dir(folder).unwrap();
    let paths: Vec<PathBuf> = files.map(|file| file.unwrap().path()).collect();
    assert!(paths.len() > 3);
    for path in paths {
        let error = Sweep::load(&path).err().map(|error| error.to_string());
        let needs_deep = |error: &String| error.contains("built without deep learning");
        let error = error.filter(|error| cfg!(feature = "deep") || !needs_deep(error));
        assert_eq!(error, None, "{}", path.display());
    }
}
