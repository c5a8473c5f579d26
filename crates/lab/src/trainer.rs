//! Training: rounds of games until the recipe is done, with statistics, logs and checkpoints between.
//!
//! A round ends with a full block, when a checkpoint is due, or when someone wants to stop; all threads
//! then rest, so what is saved is one consistent moment: the network after exactly the games
//! 0..n, each with its own random stream. Resting costs the tail of one game a round, and for a
//! checkpoint as long as the tables take to copy: another thread makes room for the copy before, and
//! waits for the disk afterwards.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use afterstate::format::native::{Metadata, NativeError};
use afterstate::replay::Study;
use afterstate::tally::{Outcome, Tally};

use crate::LabError;
use crate::model::metadata;
use crate::recipe::Recipe;
use crate::registry::{self, AnyPlayer};
use crate::run::{self, BlockRow, Progress, Run, Studied};
use crate::session::{Lesson, Session};
use crate::share::threads;

/// Hears what happens in a training, and may end it.
pub trait Observer: Sync {
    /// A game was played.
    fn game(&self, outcome: &Outcome);
    /// So many updates were made, if it learns from memory.
    fn learned(&self, _updates: u64) {}
    /// A block is full; `games` is the number of all games so far. Whoever learns from memory has studied.
    fn block(&self, games: u64, tally: &Tally, studied: Option<&Studied>);
    /// Whether to save and stop; asked before every game.
    fn stop(&self) -> bool;
}

/// How a training ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// All episodes of the recipe were played.
    Finished,
    /// The observer stopped it; it can be resumed.
    Stopped,
}

/// A training between two rounds.
pub struct Trainer {
    recipe: Recipe,
    player: AnyPlayer,
    session: Arc<dyn Session>,
    run: Run,
    progress: Progress,
    faces: Vec<u64>,
}

impl Trainer {
    /// A new training in a new folder.
    ///
    /// # Errors
    /// When the recipe does not make a network, or the folder cannot be used.
    pub fn new(recipe: Recipe, folder: &Path) -> Result<Self, LabError> {
        recipe.validate()?;
        let (player, session) = network(&recipe, recipe.network.initial as f32)?;
        let faces = session.faces();
        let run = Run::create(folder, &recipe, &faces)?;
        Ok(Self {
            recipe,
            player,
            session,
            run,
            progress: Progress::default(),
            faces,
        })
    }

    /// A training as its last checkpoint left it, or from its first game if it was ended before one. `overrides` may change what does not touch the
    /// past: the number of episodes, or of threads.
    ///
    /// # Errors
    /// When there is nothing to resume, or it is damaged.
    pub fn resume(folder: &Path, overrides: &[String]) -> Result<Self, LabError> {
        let recipe = run::recipe_of(folder, overrides)?;
        let saved = run::has_checkpoint(folder);
        // A checkpoint has every weight that is not 0, whatever they all began with.
        let initial = if saved { 0.0 } else { recipe.network.initial };
        let (player, session) = network(&recipe, initial as f32)?;
        let faces = session.faces();
        let (run, progress) = if saved {
            Run::resume(folder, &recipe, session.as_ref())?
        } else {
            let run = Run::restart(folder, &recipe, &faces)?;
            (run, Progress::default())
        };
        Ok(Self {
            recipe,
            player,
            session,
            run,
            progress,
            faces,
        })
    }

    /// The recipe, with all overrides.
    pub fn recipe(&self) -> &Recipe {
        &self.recipe
    }

    /// The games played so far.
    pub fn games(&self) -> u64 {
        self.progress.games
    }

    /// Whether all episodes are played and the model of them is there.
    pub fn is_done(&self) -> bool {
        self.is_finished() && run::model_games(self.run.folder()) == Some(self.progress.games)
    }

    /// Whether all episodes are played, or all updates made.
    fn is_finished(&self) -> bool {
        let most = self.recipe.replay.updates;
        self.progress.games >= self.recipe.episodes || most > 0 && self.updates() >= most
    }

    /// The updates made so far, if it learns from memory.
    pub fn updates(&self) -> u64 {
        let studied = self.progress.studied.as_ref();
        studied.map_or(0, |studied| studied.all.updates)
    }

    /// The run folder.
    pub fn folder(&self) -> &Path {
        self.run.folder()
    }

    /// Trains to the end of the recipe, or until the observer stops it.
    ///
    /// # Errors
    /// When a file cannot be written or a weight breaks; the last checkpoint then stays.
    pub fn train(&mut self, observer: &dyn Observer) -> Result<Ending, LabError> {
        let between = Duration::from_secs_f64(self.recipe.checkpoint_seconds);
        let mut due = Instant::now() + between;
        while !self.is_finished() && !observer.stop() {
            self.round(due, observer)?;
            // On a slow disk checkpoints become rarer; the training does not wait for it.
            if self.run.is_saving() {
                continue;
            }
            self.run.saved()?;
            let drafted = self.run.has_draft() || !self.session.drafts() && Instant::now() >= due;
            if drafted {
                self.save()?;
                due = Instant::now() + between;
            } else if Instant::now() >= due {
                let (session, metadata) = (Arc::clone(&self.session), self.metadata());
                self.run.draft_checkpoint(session, metadata)?;
            }
        }
        self.save()?;
        let finished = self.is_finished();
        if finished {
            let metadata = self.metadata();
            self.run.save_model(self.session.as_ref(), &metadata)?;
        }
        self.draw()?;
        self.run.saved()?;
        Ok(if finished {
            Ending::Finished
        } else {
            Ending::Stopped
        })
    }

    /// Plays until the block is full, the time is up, or the observer wants to stop.
    fn round(&mut self, due: Instant, observer: &dyn Observer) -> Result<(), LabError> {
        let (first, before) = (self.progress.games, self.updates());
        let left = self
            .recipe
            .block
            .saturating_sub(self.progress.block.games)
            .max(1);
        let last = first.saturating_add(left).min(self.recipe.episodes);
        let begun = Instant::now();
        let played = AtomicBool::new(false);
        let run = &self.run;
        let time_to_save = || Instant::now() >= due && !run.is_saving();
        let lesson = Lesson {
            numbers: first..last,
            seed: self.recipe.seed,
            threads: threads(self.recipe.threads),
            // A round has at least one game, however soon the next checkpoint is due.
            stop: &|| observer.stop() || (played.load(Ordering::Relaxed) && time_to_save()),
            seen: &|outcome| {
                played.store(true, Ordering::Relaxed);
                observer.game(outcome);
            },
            updates: match self.recipe.replay.updates {
                0 => u64::MAX,
                most => most.saturating_sub(before),
            },
            learned: &|updates| observer.learned(before + updates),
        };
        let lived = self.session.learn(&lesson, &self.recipe.learner);
        if lesson.threads > 1 {
            self.session.refresh();
        }
        self.progress.block.seconds += begun.elapsed().as_secs_f64();
        self.progress.games += lived.outcomes.len() as u64;
        if !lived.finite {
            return Err(self.broke());
        }
        lived
            .outcomes
            .iter()
            .for_each(|outcome| self.progress.block.add(outcome));
        if let Some(study) = lived.study {
            let studied = self.progress.studied.get_or_insert_default();
            studied.add(&study, &lived.outcomes);
        }
        self.run.append_scores(first + 1, &lived.outcomes)?;
        self.close_block(observer)
    }

    /// Reports the block if it is full, or if the training ends with it.
    fn close_block(&mut self, observer: &dyn Observer) -> Result<(), LabError> {
        let finished = self.is_finished();
        let Progress {
            games,
            block,
            studied,
            ..
        } = &mut self.progress;
        if block.games >= self.recipe.block || (finished && block.games > 0) {
            let rate = self.recipe.learner.rate.at(games.saturating_sub(1));
            let row = BlockRow {
                games: *games,
                tally: block,
                rate,
                studied: studied.as_ref(),
            };
            self.run.append_block(&row, &self.faces)?;
            observer.block(*games, block, studied.as_ref());
            *block = Tally::default();
            if let Some(studied) = studied {
                studied.block = Study::default();
            }
        }
        Ok(())
    }

    fn save(&mut self) -> Result<(), LabError> {
        let (metadata, progress) = (self.metadata(), self.progress.clone());
        let session = self.session.as_ref();
        let saved = self.run.save_checkpoint(session, metadata, progress);
        saved.map_err(|error| self.broken(error))
    }

    /// A weight that turns out not to be a number when it is saved has broken the training as well.
    fn broken(&mut self, error: LabError) -> LabError {
        match error {
            LabError::Model {
                source: NativeError::NotFinite { .. },
                ..
            } => self.broke(),
            other => other,
        }
    }

    fn broke(&mut self) -> LabError {
        // Whether there is a checkpoint is known when the last one has appeared, or failed to.
        let _ = self.run.saved();
        let games = self.progress.games;
        LabError::Broken {
            games,
            rate: self.recipe.learner.rate.at(games),
            kept: run::has_checkpoint(self.run.folder()),
        }
    }

    fn metadata(&self) -> Metadata {
        metadata(&self.player, &self.recipe, self.progress.games)
    }

    fn draw(&self) -> Result<(), LabError> {
        run::draw(self.run.folder(), &run::title(&self.recipe))?;
        Ok(())
    }
}

fn network(recipe: &Recipe, initial: f32) -> Result<(AnyPlayer, Arc<dyn Session>), LabError> {
    let player = AnyPlayer::of(recipe)?;
    let session = registry::training(&player, recipe, initial)?;
    Ok((player, session.into()))
}

#[cfg(test)]
mod tests {
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
        fn block(&self, _: u64, _: &Tally, _: Option<&Studied>) {}
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
        fn block(&self, _: u64, _: &Tally, studied: Option<&Studied>) {
            let studied = studied.expect("it learns from memory");
            assert!(studied.block.updates > 0 && studied.all.updates >= studied.block.updates);
            assert!(studied.average.is_some_and(|average| average > 10.0));
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
            "block=20",
            "threads=1",
            "rate=[{ from = 0, rate = 0.001 }, { from = 30, rate = 0.0005 }]",
            "replay.games=8",
            "replay.memory=300",
            "replay.steps=3",
            "replay.batches=2",
            "replay.batch=8",
            "deep.optimiser=adamw",
            "deep.dropout=0.2",
        ];
        let overrides = overrides.iter().chain(of).map(|&text| text.to_owned());
        Recipe::load("dqn", &overrides.collect::<Vec<_>>()).unwrap()
    }

    fn replay(updates: u64) -> Recipe {
        let overrides = [
            "network.tuples=012 345 036",
            "board=3x3",
            "value=state",
            "update=replay",
            "rule=td",
            "rate=0.1",
            "episodes=200",
            "block=50",
            "threads=1",
            "replay.memory=300",
            "replay.overwrite=random",
            "replay.epsilon=0.2",
            "replay.epsilon_iterations=900",
            &format!("replay.updates={updates}"),
        ];
        Recipe::load("ntuple-replay", &overrides.map(str::to_owned)).unwrap()
    }

    /// The columns of a log that do not depend on the clock.
    fn untimed(folder: &Path) -> Vec<Vec<String>> {
        let text = fs::read_to_string(folder.join("blocks.csv")).unwrap();
        let timed = ["seconds", "moves_per_second"];
        let names: Vec<&str> = text.lines().next().unwrap().split(',').collect();
        assert!(names.contains(&"loss") && names.contains(&"average"));
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
        check_going_on(&deep(&["deep.follow=soft", "deep.double=true"]));
        check_going_on(&deep(&["deep.follow_iterations=7", "network.outputs=3"]));
        check_going_on(&deep(&["value=afterstate", "deep.turn=true"]));
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
        let blocks = games.div_ceil(recipe.block) as usize;
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
}
