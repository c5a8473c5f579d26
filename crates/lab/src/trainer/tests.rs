use super::*;
use std::fs;
use std::sync::atomic::AtomicU64;

/// Does something after every game.
struct Meddler<F: Fn(u64) + Sync> {
    games: AtomicU64,
    after: F,
}

impl<F: Fn(u64) + Sync> Observer for Meddler<F> {
    fn game(&self, _: &Outcome) {
        (self.after)(self.games.fetch_add(1, Ordering::Relaxed));
    }
    fn block(&self, _: u64, _: &Tally, _: Option<&ReplayStats>) {}
    fn stop(&self) -> bool {
        false
    }
}

fn train(folder: &Path, seconds: &str, after: impl Fn(u64) + Sync) -> Result<Ending, LabError> {
    let overrides = [
        "tuples=012",
        "board=3x3",
        "episodes=300",
        "threads=2",
        &format!("checkpoint_seconds={seconds}"),
    ];
    let recipe = Recipe::load("quick", &overrides.map(str::to_owned))?;
    let mut trainer = Trainer::new(recipe, folder)?;
    let games = AtomicU64::new(0);
    trainer.train(&Meddler { games, after })
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let name = |entry: fs::DirEntry| entry.file_name().to_string_lossy().into_owned();
    entries.map(|entry| name(entry.unwrap())).collect()
}

/// What cannot get its name is written well enough, and fails behind the training's back.
#[test]
fn a_checkpoint_that_does_not_appear_is_an_error() {
    for seconds in ["0.000001", "60"] {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("run");
        let checkpoint = folder.join("checkpoint.safetensors");
        let failed = train(&folder, seconds, |game| {
            if game == 0 {
                fs::create_dir(&checkpoint).unwrap();
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

/// Stops after a number of games.
struct Until(AtomicU64);

impl Observer for Until {
    fn game(&self, _: &Outcome) {
        let left = self.0.load(Ordering::Relaxed);
        self.0.store(left.saturating_sub(1), Ordering::Relaxed);
    }
    fn block(&self, _: u64, _: &Tally, replay: Option<&ReplayStats>) {
        let replay = replay.expect("it learns from a replay buffer");
        assert!(replay.block.updates > 0 && replay.total.updates >= replay.block.updates);
        assert!(replay.running_average.is_some_and(|average| average > 10.0));
    }
    fn stop(&self) -> bool {
        self.0.load(Ordering::Relaxed) == 0
    }
}

/// The same for a deep network, with everything that a checkpoint has to remember.
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
    ];
    let overrides = overrides.iter().chain(of).map(|&text| text.to_owned());
    Recipe::load("dqn-r4", &overrides.collect::<Vec<_>>()).unwrap()
}

fn replay(updates: u64) -> Recipe {
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
        &format!("learner.max_updates={updates}"),
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

/// Memory, the games under way, and those that had ended beside the last one are all in the checkpoint.
#[test]
fn learning_from_memory_goes_on_as_if_it_had_not_stopped() {
    check_going_on(&replay(0));
}

#[cfg(feature = "deep")]
#[test]
fn deep_learning_goes_on_as_if_it_had_not_stopped() {
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
    let forever = || Until(AtomicU64::new(u64::MAX));
    let begin = |folder: &Path| Trainer::new(recipe.clone(), folder).unwrap();
    let ended = begin(&whole).train(&forever());
    assert_eq!(ended.unwrap(), Ending::Finished);
    let stopped = begin(&cut).train(&Until(AtomicU64::new(games * 2 / 5 - 3)));
    assert_eq!(stopped.unwrap(), Ending::Stopped);
    let mut resumed = Trainer::resume(&cut, &[]).unwrap();
    assert_eq!(resumed.train(&forever()).unwrap(), Ending::Finished);
    assert!(resumed.is_done() && resumed.games() == games);
    drop(resumed);
    assert!(Trainer::resume(&cut, &[]).unwrap().is_done());
    let model = |folder: &Path| fs::read(folder.join("model.safetensors")).unwrap();
    assert!(model(&whole) == model(&cut), "the models differ");
    assert_eq!(untimed(&whole), untimed(&cut));
    let blocks = games.div_ceil(recipe.block_games) as usize;
    assert_eq!(untimed(&whole).len(), 1 + blocks);
}

#[test]
fn updates_end_a_training_too() {
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("run");
    let forever = Until(AtomicU64::new(u64::MAX));
    let mut trainer = Trainer::new(replay(1000), &folder).unwrap();
    assert_eq!(trainer.train(&forever).unwrap(), Ending::Finished);
    assert!(trainer.is_done() && trainer.games() < 200);
    // 5 in each of 200 iterations.
    let last = untimed(&folder).pop().unwrap();
    assert!(last.contains(&"1000".to_owned()), "{last:?}");
}

#[test]
fn all_is_there_when_a_training_ends() {
    for seconds in ["0.000001", "60"] {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("run");
        assert_eq!(train(&folder, seconds, |_| ()).unwrap(), Ending::Finished);
        assert_eq!(run::model_games(&folder), Some(300));
        let names = names(&folder);
        assert!(!names.iter().any(|n| n.ends_with(".part")), "{names:?}");
        let resumed = Trainer::resume(&folder, &[]).unwrap();
        assert!(resumed.is_done());
    }
}
