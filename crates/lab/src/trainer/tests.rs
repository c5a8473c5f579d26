use super::*;
use crate::agent::BoardState;
use crate::control::{CancelToken, quiet};
use std::fs;
use std::sync::atomic::AtomicU64;

/// A control that calls `after` after every game with the number of games before it.
fn after_games(after: impl Fn(u64) + Send + Sync + 'static) -> Control {
    Control::new()
        .with_interval(Duration::ZERO)
        .on_event(move |event| {
            if let Event::Progress(progress) = event {
                after(progress.done - 1);
            }
        })
}

/// A control that cancels after a number of games, and looks at every block of replay training.
fn until(games: u64) -> Control {
    let cancel = CancelToken::default();
    let (token, played) = (cancel.clone(), AtomicU64::new(0));
    let control = Control::new().with_interval(Duration::ZERO);
    control
        .with_cancel(cancel)
        .on_event(move |event| match event {
            Event::Progress(progress)
                if progress.unit == Unit::Games
                    && played.fetch_add(1, Ordering::Relaxed) + 1 == games =>
            {
                token.cancel();
            }
            Event::Block(block) => {
                let replay = block.replay.expect("it learns from a replay buffer");
                assert!(replay.updates > 0 && replay.running_average > 10.0);
            }
            _ => {}
        })
}

fn train(
    folder: &Path,
    seconds: &str,
    after: impl Fn(u64) + Send + Sync + 'static,
) -> Result<Status, LabError> {
    Trainer::new(small(seconds), folder, &after_games(after))?.train()
}

/// A short run with a checkpoint after this time.
fn small(seconds: &str) -> Recipe {
    let overrides = [
        "tuples=012",
        "board=3x3",
        "episodes=300",
        "threads=2",
        &format!("checkpoint_seconds={seconds}"),
    ];
    Recipe::load("quick", &overrides.map(str::to_owned)).unwrap()
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let name = |entry: fs::DirEntry| entry.file_name().to_string_lossy().into_owned();
    entries.map(|entry| name(entry.unwrap())).collect()
}

/// A file that cannot be renamed is written successfully, and fails in the background.
#[test]
fn a_checkpoint_that_cannot_be_committed_is_an_error() {
    for seconds in ["0.000001", "60"] {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("run");
        let checkpoint = folder.join("checkpoint.safetensors");
        let taken = checkpoint.clone();
        let failed = train(&folder, seconds, move |game| {
            if game == 0 {
                fs::create_dir(&taken).unwrap();
            }
        });
        let error = failed.unwrap_err();
        assert!(
            matches!(&error, LabError::File { action: "write", path, .. } if *path == checkpoint),
            "{error}"
        );
        let names = names(&folder);
        assert!(!names.iter().any(|n| n.ends_with(".part")), "{names:?}");
        assert!(!names.contains(&"model.safetensors".to_owned()));
    }
}

/// A checkpoint is reported once it exists; one that could not be committed is not.
#[test]
fn a_checkpoint_is_reported_when_it_is_on_disk() {
    for (seconds, fails) in [("0.000001", false), ("60", false), ("60", true)] {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("run");
        let recipe = small(seconds);
        let reported = std::sync::Arc::new(AtomicU64::new(0));
        let (checkpoint, count) = (run::checkpoint_of(&folder), reported.clone());
        let control = Control::new().on_event(move |event| {
            if let Event::Checkpoint { games, path } = event {
                assert_eq!(Path::new(path), checkpoint);
                let saved = run::saved(checkpoint.parent().unwrap()).checkpoint.unwrap();
                assert_eq!(saved.games, *games);
                count.fetch_add(1, Ordering::Relaxed);
            }
        });
        let mut trainer = Trainer::new(recipe, &folder, &control).unwrap();
        if fails {
            fs::create_dir(run::checkpoint_of(&folder)).unwrap();
        }
        assert_eq!(trainer.train().is_err(), fails);
        let reported = reported.load(Ordering::Relaxed);
        assert_eq!(reported > 0, !fails, "{reported}");
    }
}

/// Training a run that is done reports its start and its end, and writes nothing.
#[test]
fn a_finished_run_keeps_its_files() {
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("run");
    assert_eq!(train(&folder, "60", |_| ()).unwrap(), Status::Finished);
    fs::remove_dir_all(folder.join("plots")).unwrap();
    for name in ["model.safetensors", "checkpoint.safetensors"] {
        let file = fs::File::options().write(true).open(folder.join(name));
        file.unwrap().set_modified(std::time::UNIX_EPOCH).unwrap();
    }
    let told = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let events = told.clone();
    let control = Control::new().on_event(move |event| {
        let json = serde_json::to_value(event).unwrap();
        events.lock().unwrap().push(json["event"].clone());
    });
    let mut trainer = Trainer::resume(&folder, &[], &control).unwrap();
    assert_eq!(trainer.train().unwrap(), Status::Finished);
    assert_eq!(*told.lock().unwrap(), ["started", "finished"]);
    assert!(!folder.join("plots").exists());
    for name in ["model.safetensors", "checkpoint.safetensors"] {
        let modified = fs::metadata(folder.join(name)).unwrap().modified();
        assert_eq!(modified.unwrap(), std::time::UNIX_EPOCH, "{name}");
    }
}

/// The same for a deep network, with everything that a checkpoint has to store.
#[cfg(feature = "deep")]
fn deep(of: &[&str]) -> Recipe {
    let overrides = [
        "board=3x3",
        "convolutions=[\"2x1\", \"1x2\"]",
        "filters=8",
        "hidden=[6]",
        "episodes=60",
        "block_games=20",
        "threads=1",
        "learning_rate=[{ from = 0, learning_rate = 0.001 }, { from = 30, learning_rate = 0.0005 }]",
        "learner.num_envs=8",
        "learner.buffer_size=300",
        "learner.n_step=3",
        "learner.updates_per_step=2",
        "learner.batch_size=8",
        "learner.optimiser=adamw",
        "network.dropout=0.2",
        // Progress is then told in games.
        "learner.max_updates=0",
    ];
    let overrides = overrides.iter().chain(of).map(|&text| text.to_owned());
    Recipe::load("dqn-report", &overrides.collect::<Vec<_>>()).unwrap()
}

fn replay(updates: u64) -> Recipe {
    replay_of(&format!("learner.max_updates={updates}"))
}

fn replay_of(change: &str) -> Recipe {
    let overrides = [
        "network.tuples=012 345 036",
        "board=3x3",
        "learning_rate=0.1",
        "episodes=200",
        "block_games=50",
        "threads=1",
        "learner.buffer_size=300",
        "learner.overwrite=random",
        "learner.epsilon=0.2",
        "learner.epsilon_iterations=900",
        "learner.max_updates=0",
        change,
    ];
    Recipe::load("ntuple-replay", &overrides.map(str::to_owned)).unwrap()
}

/// The columns of a log that do not depend on the clock.
fn untimed(folder: &Path) -> Vec<Vec<String>> {
    let text = fs::read_to_string(folder.join("blocks.csv")).unwrap();
    let timed = ["seconds", "moves_per_second"];
    let names: Vec<&str> = text.lines().next().unwrap().split(',').collect();
    assert!(names.contains(&"loss") && names.contains(&"running_average"));
    let row = |line: &str| {
        let fields = names.iter().zip(line.split(','));
        let kept = fields.filter(|(name, _)| !timed.contains(name));
        kept.map(|(_, field)| field.to_owned()).collect()
    };
    text.lines().map(row).collect()
}

/// The checkpoint has the replay buffer, the games in progress, and those that ended in the same
/// iteration as the last one.
#[test]
fn replay_training_resumes_exactly() {
    check_going_on(&replay(0));
}

#[cfg(feature = "deep")]
#[test]
fn deep_training_resumes_exactly() {
    check_going_on(&deep(&[
        "learner.target_update=soft",
        "learner.double=true",
    ]));
    check_going_on(&deep(&[
        "learner.target_update=soft",
        "learner.acting_network=target",
    ]));
    check_going_on(&deep(&[
        "learner.target_update_iterations=7",
        "network.outputs=3",
    ]));
    check_going_on(&deep(&["value=afterstate", "learner.augment=true"]));
}

fn check_going_on(recipe: &Recipe) {
    let games = recipe.episodes;
    let parent = tempfile::tempdir().unwrap();
    let (whole, cut) = (parent.path().join("whole"), parent.path().join("cut"));
    let begin = |folder: &Path, games| {
        let mut trainer = Trainer::new(recipe.clone(), folder, &until(games)).unwrap();
        trainer.train().unwrap()
    };
    assert_eq!(begin(&whole, u64::MAX), Status::Finished);
    assert_eq!(begin(&cut, games * 2 / 5 - 3), Status::Stopped);
    let mut resumed = Trainer::resume(&cut, &[], &until(u64::MAX)).unwrap();
    assert_eq!(resumed.train().unwrap(), Status::Finished);
    assert!(resumed.is_done() && resumed.games() == games);
    drop(resumed);
    assert!(Trainer::resume(&cut, &[], quiet()).unwrap().is_done());
    let model = |folder: &Path| fs::read(folder.join("model.safetensors")).unwrap();
    assert!(model(&whole) == model(&cut), "the models differ");
    assert_eq!(untimed(&whole), untimed(&cut));
    let blocks = games.div_ceil(recipe.block_games) as usize;
    assert_eq!(untimed(&whole).len(), 1 + blocks);
}

#[test]
fn updates_can_end_a_run() {
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("run");
    let mut trainer = Trainer::new(replay(1000), &folder, quiet()).unwrap();
    assert_eq!(trainer.train().unwrap(), Status::Finished);
    assert!(trainer.is_done() && trainer.games() < 200);
    // 5 in each of 200 iterations.
    let last = untimed(&folder).pop().unwrap();
    assert!(last.contains(&"1000".to_owned()), "{last:?}");
}

#[test]
fn a_finished_run_has_all_its_files() {
    for seconds in ["0.000001", "60"] {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("run");
        assert_eq!(train(&folder, seconds, |_| ()).unwrap(), Status::Finished);
        assert_eq!(run::model_games(&folder), Some(300));
        let names = names(&folder);
        assert!(!names.iter().any(|n| n.ends_with(".part")), "{names:?}");
        let resumed = Trainer::resume(&folder, &[], quiet()).unwrap();
        assert!(resumed.is_done());
    }
}

/// An agent can be analysed and evaluated while it trains, and training needs no folder.
#[test]
fn a_trainer_lends_its_agent() {
    let overrides = ["tuples=012", "board=3x3", "episodes=3000", "threads=1"];
    let recipe = Recipe::load("quick", &overrides.map(str::to_owned)).unwrap();
    let mut trainer = Trainer::in_memory(recipe, quiet()).unwrap();
    assert!(trainer.folder().is_none() && !trainer.is_done());
    let agent = trainer.agent();
    let mean = |agent: &dyn Agent| {
        let outcomes = agent.play(&RoundSpec::new(0..500, 7, 1), None);
        outcomes.iter().map(|outcome| outcome.score).sum::<u64>() as f64 / 500.0
    };
    let before = mean(&*agent);
    std::thread::scope(|scope| {
        scope.spawn(|| assert_eq!(trainer.train().unwrap(), Status::Finished));
        for n in 0..100 {
            let board = BoardState {
                tiles: vec![1, 0, 0, 0, 1 + n % 5, 0, 0, 0, 2],
                chance_state: Default::default(),
            };
            let analysis = agent.analyze(&[board])[0].unwrap();
            assert!(analysis.chosen.is_some());
        }
    });
    assert!(trainer.is_done() && trainer.games() == 3000);
    assert!(mean(&*agent) > 1.5 * before, "it learned");
}

/// Every recipe makes a network and plays, whatever it costs to train it in full.
#[test]
fn every_recipe_can_be_begun() {
    for (name, _) in Recipe::builtin() {
        let mut overrides = vec!["episodes=1".to_owned(), "threads=1".to_owned()];
        if Recipe::load(name, &[]).unwrap().learner.buffer().is_some() {
            overrides
                .extend(["num_envs=2", "updates_per_step=1", "batch_size=2"].map(str::to_owned));
        }
        let recipe = Recipe::load(name, &overrides).unwrap();
        if recipe.network.deep().is_some() && !cfg!(feature = "deep") {
            continue;
        }
        let mut trainer = Trainer::in_memory(recipe, quiet()).unwrap();
        assert_eq!(trainer.train().unwrap(), Status::Finished, "{name}");
    }
}

/// Jobs that fit alone do not fit together: each reserves its memory first.
#[test]
fn replay_buffers_share_the_budget() {
    let mut recipe = replay(0);
    let control = |bytes| Control::new().with_memory(crate::memory::MemoryBudget::new(bytes));
    let bytes = Trainer::in_memory(recipe.clone(), quiet())
        .unwrap()
        .agent()
        .bytes();
    let enough = control(bytes * 3 / 2);
    let first = Trainer::in_memory(recipe.clone(), &enough).unwrap();
    assert!(Trainer::in_memory(recipe.clone(), &enough).is_err());
    drop(first);
    assert!(Trainer::in_memory(recipe.clone(), &enough).is_ok());
    recipe.learner = replay_of("learner.buffer_size=1000000").learner;
    let error = Trainer::in_memory(recipe, &enough).err();
    let expected = LabError::BufferMemory {
        transitions: 1_000_000,
        needed: 0,
        available: 0,
    };
    let kind = std::mem::discriminant(&expected);
    assert_eq!(
        error.as_ref().map(std::mem::discriminant),
        Some(kind),
        "{error:?}"
    );
}
