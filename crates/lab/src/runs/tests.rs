//! Runs in every state, listed.

use std::fs;
use std::path::Path;

use super::*;
use crate::control::{Control, quiet};
use crate::trainer::Trainer;

fn recipe(episodes: u64, more: &[&str]) -> Recipe {
    let episodes = format!("episodes={episodes}");
    let overrides = ["tuples=0123", "threads=1", "block_games=10", &episodes];
    let overrides = overrides.iter().chain(more).map(|text| (*text).to_owned());
    Recipe::load("td-4x6", &overrides.collect::<Vec<_>>()).unwrap()
}

fn train(folder: &Path, episodes: u64, control: &Control) {
    let mut trainer = Trainer::new(recipe(episodes, &[]), folder, control).unwrap();
    trainer.train().unwrap();
}

#[test]
fn every_status_is_told() {
    let root = tempfile::tempdir().unwrap();
    let folder = |name: &str| root.path().join(name);
    train(&folder("finished"), 25, quiet());
    train(&folder("sweep/variant/seed-1"), 25, quiet());
    train(&folder("longer"), 25, quiet());
    let recipe_file = run::recipe_path(&folder("longer"));
    fs::write(&recipe_file, recipe(90, &[]).to_toml()).unwrap();
    fs::create_dir(folder("new")).unwrap();
    fs::write(run::recipe_path(&folder("new")), recipe(9, &[]).to_toml()).unwrap();
    for name in ["damaged", "cut", "torn"] {
        train(&folder(name), 25, quiet());
    }
    fs::write(run::recipe_path(&folder("damaged")), "episodes = [").unwrap();
    let model = folder("cut").join("model.safetensors");
    fs::write(&model, &fs::read(&model).unwrap()[..100]).unwrap();
    let mut blocks = fs::read(run::blocks_path(&folder("torn"))).unwrap();
    blocks.extend(b"30,10,12");
    fs::write(run::blocks_path(&folder("torn")), blocks).unwrap();
    let trainer = Trainer::new(recipe(25, &["seed=2"]), &folder("running"), quiet()).unwrap();

    let runs = list_runs(root.path()).unwrap();
    let statuses: Vec<(String, RunStatus, u64)> = {
        let name = |run: &RunInfo| {
            let path = run.path.strip_prefix(root.path()).unwrap();
            path.display().to_string()
        };
        let mut all: Vec<_> = runs
            .iter()
            .map(|run| (name(run), run.status, run.games))
            .collect();
        all.sort_by(|a, b| a.0.cmp(&b.0));
        all
    };
    let expected = [
        ("cut", RunStatus::Damaged, 25),
        ("damaged", RunStatus::Damaged, 25),
        ("finished", RunStatus::Finished, 25),
        ("longer", RunStatus::Stopped, 25),
        ("new", RunStatus::New, 0),
        ("running", RunStatus::Running, 0),
        ("sweep/variant/seed-1", RunStatus::Finished, 25),
        ("torn", RunStatus::Finished, 25),
    ];
    assert_eq!(
        statuses,
        expected.map(|(name, status, games)| (name.to_owned(), status, games))
    );
    drop(trainer);
    assert_eq!(run_info(&folder("running")).status, RunStatus::New);
}

/// A run whose weights overflow says so until it is resumed.
#[test]
fn a_run_that_diverged_is_told() {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("run");
    let wild = recipe(5000, &["learning_rate=10"]);
    let error = Trainer::new(wild, &folder, quiet()).unwrap().train();
    assert!(matches!(error, Err(LabError::Diverged { .. })), "{error:?}");
    assert_eq!(run_info(&folder).status, RunStatus::Diverged);
    let lower = ["learning_rate=0.1", "episodes=25"].map(str::to_owned);
    let mut resumed = Trainer::resume(&folder, &lower, quiet()).unwrap();
    assert_eq!(run_info(&folder).status, RunStatus::Running);
    resumed.train().unwrap();
    drop(resumed);
    assert_eq!(run_info(&folder).status, RunStatus::Finished);
}

#[test]
fn a_run_is_described() {
    let root = tempfile::tempdir().unwrap();
    train(root.path(), 25, quiet());
    let runs = list_runs(root.path()).unwrap();
    assert_eq!(runs.len(), 1, "the folder itself");
    let run = &runs[0];
    assert_eq!(run.recipe.as_deref(), Some("td-4x6"));
    assert_eq!(run.title(), recipe(25, &[]).title());
    assert!(
        run.changed
            .iter()
            .any(|change| change.ends_with("tuples=0123"))
    );
    assert_eq!(run.game.as_deref(), Some("2048"));
    assert_eq!(run.board.as_deref(), Some("4x4"));
    assert_eq!(run.updates, None);
    let blocks = run::blocks_of(root.path()).unwrap();
    assert_eq!(run.mean, Some(blocks.last().unwrap().mean));
    let json = serde_json::to_value(run).unwrap();
    assert_eq!(json["status"], "finished");
    for key in ["started", "finished"] {
        let time = json[key].as_str().unwrap();
        assert!(humantime::parse_rfc3339(time).is_ok(), "{key}: {time}");
    }
    assert_eq!(serde_json::from_value::<RunInfo>(json).unwrap(), *run);
}

#[test]
fn the_newest_is_first_and_what_is_no_folder_is_an_error() {
    let root = tempfile::tempdir().unwrap();
    for name in ["b", "a", "c"] {
        let folder = root.path().join(name);
        fs::create_dir(&folder).unwrap();
        fs::write(run::recipe_path(&folder), recipe(9, &[]).to_toml()).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let runs = list_runs(root.path()).unwrap();
    let names: Vec<_> = runs
        .iter()
        .map(|run| run.path.file_name().unwrap())
        .collect();
    assert_eq!(names, ["c", "a", "b"]);
    assert!(list_runs(&root.path().join("missing")).is_err());
}

/// A training that starts while its folder is listed waits for the moment that takes.
#[test]
fn listing_does_not_keep_a_training_from_starting() {
    let root = tempfile::tempdir().unwrap();
    train(root.path(), 5, quiet());
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                run_info(root.path());
            }
        });
        let resumed: Vec<_> = (0..200)
            .map(|_| Trainer::resume(root.path(), &[], quiet()).map(drop))
            .collect();
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        let refused = resumed.iter().filter(|it| it.is_err()).count();
        assert_eq!(refused, 0);
    });
}

/// Only the ends of a long file are read: rows in its middle are not looked at.
#[test]
fn the_last_block_of_a_long_file_is_read() {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("run");
    train(&folder, 25, quiet());
    let path = run::blocks_path(&folder);
    let text = fs::read_to_string(&path).unwrap();
    let (header, rows) = text.split_once('\n').unwrap();
    let middle = "no row of blocks\n".repeat(20_000);
    let padding = rows.lines().next().unwrap();
    let rest: String = (0..2000)
        .map(|n| format!("{}{}\n", 30 + n, &padding[padding.find(',').unwrap()..]))
        .collect();
    fs::write(&path, format!("{header}\n{middle}{rest}99,7")).unwrap();
    let last = last_block(&folder).unwrap().unwrap();
    assert_eq!((last.games, last.block_games), (2029, 10));
}

/// Opening a FIFO would wait for a writer.
#[cfg(unix)]
#[test]
fn a_fifo_is_not_opened() {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("run");
    train(&folder, 25, quiet());
    let path = run::blocks_path(&folder);
    fs::remove_file(&path).unwrap();
    let made = std::process::Command::new("mkfifo").arg(&path).status();
    assert!(made.unwrap().success());
    assert_eq!(run_info(&folder).status, RunStatus::Damaged);
}
