use super::*;
use crate::agent::{BoardState, RoundSpec};
use crate::control::{CancelToken, quiet};
use crate::recipe::LearnerRecipe;
#[cfg(feature = "deep")]
use crate::spec::NetworkSize;
use std::fs;
use std::sync::atomic::{AtomicU64, Ordering};

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
    let token = cancel.clone();
    let control = Control::new().with_interval(Duration::ZERO);
    control
        .with_cancel(cancel)
        .on_event(move |event| match event {
            Event::Progress(progress) if progress.unit == Unit::Games && progress.done >= games => {
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

/// A periodic checkpoint that fails is reported and tried again; the one before stays. The run is as
/// long as that takes.
#[cfg(unix)]
#[test]
fn a_periodic_checkpoint_may_fail_once() {
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("run");
    let (checkpoint, aside) = (run::checkpoint_of(&folder), parent.path().join("aside"));
    let events = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let told = events.clone();
    let cancel = CancelToken::default();
    let control = Control::new().with_cancel(cancel.clone());
    let control = control.on_event(move |event| match event {
        Event::Checkpoint { games, .. } => {
            let mut told = told.lock().unwrap();
            match told.len() {
                0 => {
                    // What is a link cannot be replaced in a run folder.
                    fs::rename(&checkpoint, &aside).unwrap();
                    std::os::unix::fs::symlink(&aside, &checkpoint).unwrap();
                }
                _ => cancel.cancel(),
            }
            told.push((*games, None));
        }
        Event::CheckpointFailed { games, error, .. } => {
            fs::remove_file(&checkpoint).unwrap();
            fs::rename(&aside, &checkpoint).unwrap();
            told.lock().unwrap().push((*games, Some(error.clone())));
        }
        _ => {}
    });
    let mut recipe = small("0.000001");
    recipe.episodes = 1_000_000_000;
    let mut trainer = Trainer::new(recipe, &folder, &control).unwrap();
    assert_eq!(trainer.train().unwrap(), Status::Stopped);
    let events = events.lock().unwrap();
    let errors: Vec<_> = events.iter().map(|(_, error)| error.as_deref()).collect();
    let [None, Some(error), None, after @ ..] = &errors[..] else {
        panic!("{events:?}");
    };
    assert!(error.contains("it is a symbolic link"), "{error}");
    assert!(after.iter().all(Option::is_none), "{events:?}");
    let (games, _) = events.last().unwrap();
    assert_eq!(*games, trainer.games());
    assert_eq!(run::saved(&folder).checkpoint.unwrap().games, *games);
}

/// Training a run that is done reports its start and its end, and draws only missing plots.
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
    assert!(folder.join("plots").exists(), "drawn again");
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
        "network.dropout_hidden=0.2",
        "learner.learning_starts=0",
        // Progress is then told in games.
        "learner.max_iterations=0",
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
        "learner.log_iterations=0",
        "learner.max_iterations=0",
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

/// A round ends when a checkpoint is due. The sums of a block do not depend on that.
#[test]
fn checkpoints_do_not_change_the_logs() {
    let parent = tempfile::tempdir().unwrap();
    let logs = [0.001, 600.0].map(|seconds| {
        let folder = parent.path().join(seconds.to_string());
        let recipe = replay_of(&format!("checkpoint_seconds={seconds:?}"));
        let mut trainer = Trainer::new(recipe, &folder, quiet()).unwrap();
        assert_eq!(trainer.train().unwrap(), Status::Finished);
        untimed(&folder)
    });
    assert_eq!(logs[0], logs[1]);
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
fn iterations_can_end_a_run() {
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("run");
    let recipe = replay_of("learner.max_iterations=200");
    let mut trainer = Trainer::new(recipe, &folder, quiet()).unwrap();
    assert_eq!(trainer.length(), (Unit::Iterations, 200, 0));
    assert_eq!(trainer.train().unwrap(), Status::Finished);
    assert!(trainer.is_done() && trainer.games() < 200);
    assert_eq!((trainer.iterations(), trainer.updates()), (200, 1000));
    let result = trainer.replay_result().unwrap();
    assert_eq!((result.iterations, result.updates), (200, 1000));
    assert!(result.scores.highest_average >= result.scores.running_average);
    assert!(result.scores.highest_score > Some(100));
    let full = |row: &Vec<u64>| row.len() == 3 && row.iter().all(|&tile| tile >= 2);
    assert!(result.last_board.len() == 3 && result.last_board.iter().all(full));
    drop(trainer);
    let longer = [
        "max_iterations=210".to_owned(),
        "max_updates=1015".to_owned(),
    ];
    let mut longer = Trainer::resume(&folder, &longer, quiet()).unwrap();
    // 203 iterations have 1,015 updates.
    assert_eq!(longer.length(), (Unit::Updates, 1015, 1000));
    assert_eq!(longer.train().unwrap(), Status::Finished);
    assert_eq!((longer.iterations(), longer.updates()), (203, 1015));
}

/// A row for every tenth iteration, each once, whatever was saved in between; also where the log is
/// begun later.
#[test]
fn a_resumed_run_has_every_row_of_iterations_once() {
    let parent = tempfile::tempdir().unwrap();
    let mut recipe = replay_of("learner.max_iterations=400");
    recipe.episodes = 10_000;
    let LearnerRecipe::Replay(learner) = &mut recipe.learner else {
        panic!("a learner of kind replay");
    };
    learner.buffer.log_iterations = 10;
    learner.buffer.learning_starts = 150;
    let rows = |folder: &Path| fs::read_to_string(folder.join("iterations.csv")).unwrap();
    let begin = |folder: &Path, seconds: f64, control: &Control| {
        let recipe = Recipe {
            checkpoint_seconds: seconds,
            ..recipe.clone()
        };
        Trainer::new(recipe, folder, control)
            .unwrap()
            .train()
            .unwrap()
    };
    let whole = parent.path().join("whole");
    assert_eq!(begin(&whole, 60.0, quiet()), Status::Finished);
    let expected = rows(&whole);
    let numbers = expected.lines().skip(1);
    let numbers: Vec<u64> = numbers
        .map(|line| line.split(',').next().unwrap().parse().unwrap())
        .collect();
    assert_eq!(numbers, (1..=40).map(|n| 10 * n).collect::<Vec<_>>());
    for (name, seconds) in [("often", 1e-6), ("once", 60.0)] {
        let cut = parent.path().join(name);
        let cancel = CancelToken::default();
        let token = cancel.clone();
        let control = Control::new().with_interval(Duration::ZERO);
        let control = control.with_cancel(cancel).on_event(move |event| {
            if matches!(event, Event::Progress(progress) if progress.done == 237) {
                token.cancel();
            }
        });
        assert_eq!(begin(&cut, seconds, &control), Status::Stopped);
        // Rows that no checkpoint covers, as after a crash.
        let torn = rows(&cut) + "240,1,2\n25";
        fs::write(cut.join("iterations.csv"), torn).unwrap();
        let mut resumed = Trainer::resume(&cut, &[], quiet()).unwrap();
        assert_eq!(resumed.train().unwrap(), Status::Finished);
        assert_eq!(rows(&cut), expected, "{name}");
    }
    let late = parent.path().join("late");
    let short = replay_of("learner.max_iterations=100");
    Trainer::new(short, &late, quiet())
        .unwrap()
        .train()
        .unwrap();
    assert!(!late.join("iterations.csv").exists());
    let changes = ["max_iterations=200", "log_iterations=50"].map(str::to_owned);
    let mut resumed = Trainer::resume(&late, &changes, quiet()).unwrap();
    resumed.train().unwrap();
    drop(resumed);
    let logged = rows(&late);
    assert_eq!(logged.lines().count(), 3);
    // Switched off, the log loses the rows that no checkpoint covers, and goes on when it is on again.
    fs::write(late.join("iterations.csv"), logged.clone() + "250,1,2\n").unwrap();
    for (iterations, every, expected) in [(300, 0, 3), (400, 50, 5)] {
        let changes = [
            format!("max_iterations={iterations}"),
            format!("log_iterations={every}"),
            "episodes=10000".to_owned(),
        ];
        let mut resumed = Trainer::resume(&late, &changes, quiet()).unwrap();
        resumed.train().unwrap();
        drop(resumed);
        let found = rows(&late);
        assert!(found.starts_with(&logged), "{found}");
        assert_eq!(found.lines().count(), expected, "{found}");
    }
    let last = rows(&late);
    let last = last.lines().last().unwrap();
    assert!(last.starts_with("400,"), "{last}");
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

/// The size that is told before a deep network is built is that of the network.
#[cfg(feature = "deep")]
#[test]
fn deep_networks_have_as_many_parameters_as_are_told() {
    for (name, changes) in [
        ("dqn", vec![]),
        ("deep-best", vec![]),
        ("dqn", vec!["convolutions=[]", "hidden=[]", "outputs=3"]),
        ("dqn", vec!["board=3x4", "convolutions=[\"2x3\"]"]),
    ] {
        let changes: Vec<String> = changes.iter().map(ToString::to_string).collect();
        let recipe = Recipe::load(name, &changes).unwrap();
        let spec = crate::spec::DeepSpec::of(&recipe).unwrap();
        let built = crate::agent::deep::architecture(&spec).unwrap().count();
        let count = built.unwrap() as u64;
        let expected = NetworkSize::Parameters {
            count,
            bytes: 4 * count,
        };
        assert_eq!(
            NetworkSize::of(&recipe).unwrap(),
            expected,
            "{name} {changes:?}"
        );
    }
}

mod learners;
