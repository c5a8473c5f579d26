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
use afterstate::replay::TrainingStats;
use afterstate::tally::{Outcome, Tally};

use crate::LabError;
use crate::agent::{RoundSpec, TrainableAgent, ntuple_agent, replay_agent};
use crate::block::{Block, ReplayStats};
use crate::finish::draw_plots;
use crate::games;
use crate::memory::MemoryBudget;
use crate::migrate::{Format, Stored};
use crate::model::metadata;
use crate::recipe::Recipe;
use crate::run::{self, Progress, Run};
use crate::share::threads;
use crate::spec::{AgentSpec, TdSpec, replay_config};

/// Hears what happens in a training, and may end it.
pub trait Observer: Sync {
    /// A game was played.
    fn game(&self, outcome: &Outcome);
    /// So many updates were made, if it learns from memory.
    fn learned(&self, _updates: u64) {}
    /// A block is full; `games` is the number of all games so far.
    fn block(&self, games: u64, tally: &Tally, replay: Option<&ReplayStats>);
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
    spec: AgentSpec,
    agent: Arc<dyn TrainableAgent>,
    run: Run,
    progress: Progress,
    faces: Vec<u64>,
    /// The format that the run folder was in.
    format: Format,
}

impl Trainer {
    /// A new training in a new folder.
    ///
    /// # Errors
    /// When the recipe does not make a network, or the folder cannot be used.
    pub fn new(recipe: Recipe, folder: &Path) -> Result<Self, LabError> {
        recipe.validate()?;
        let (spec, agent) = new_agent(&recipe, recipe.network.initial_value() as f32)?;
        let faces = games::tile_values(spec.game(), spec.shape())?;
        let run = Run::create(folder, &recipe, &faces)?;
        Ok(Self {
            recipe,
            spec,
            agent,
            run,
            progress: Progress::default(),
            faces,
            format: Format::NOW,
        })
    }

    /// A training as its last checkpoint left it, or from its first game if it was ended before one. `overrides` may change what does not touch the
    /// past: the number of episodes, or of threads.
    ///
    /// # Errors
    /// When there is nothing to resume, or it is damaged.
    pub fn resume(folder: &Path, overrides: &[String]) -> Result<Self, LabError> {
        let Stored {
            content: recipe,
            format,
        } = run::stored_recipe(folder, overrides)?;
        let saved = run::has_checkpoint(folder);
        // A checkpoint has every weight that is not 0, whatever they all began with.
        let initial = if saved {
            0.0
        } else {
            recipe.network.initial_value()
        };
        let (spec, agent) = new_agent(&recipe, initial as f32)?;
        let faces = games::tile_values(spec.game(), spec.shape())?;
        let (run, progress) = if saved {
            Run::resume(folder, &recipe, agent.as_ref())?
        } else {
            let run = Run::restart(folder, &recipe, &faces)?;
            (run, Progress::default())
        };
        Ok(Self {
            recipe,
            spec,
            agent,
            run,
            progress,
            faces,
            format,
        })
    }

    /// The format that the run folder was in, if it was an earlier one; it is now of today.
    pub fn migrated_from(&self) -> Option<Format> {
        (self.format < Format::NOW).then_some(self.format)
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
        let most = self.recipe.learner.max_updates();
        let updated = most.is_some_and(|most| self.updates() >= most);
        self.progress.games >= self.recipe.episodes || updated
    }

    /// The updates made so far, if it learns from memory.
    pub fn updates(&self) -> u64 {
        let replay = self.progress.replay.as_ref();
        replay.map_or(0, |replay| replay.total.updates)
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
            let drafted = self.run.has_draft() || !self.agent.drafts() && Instant::now() >= due;
            if drafted {
                self.save()?;
                due = Instant::now() + between;
            } else if Instant::now() >= due {
                let (agent, metadata) = (Arc::clone(&self.agent), self.metadata());
                self.run.draft_checkpoint(agent, metadata)?;
            }
        }
        self.save()?;
        let finished = self.is_finished();
        if finished {
            let metadata = self.metadata();
            self.run.save_model(self.agent.as_ref(), &metadata)?;
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
            .block_games
            .saturating_sub(self.progress.block.games)
            .max(1);
        let last = first.saturating_add(left).min(self.recipe.episodes);
        let begun = Instant::now();
        let played = AtomicBool::new(false);
        let run = &self.run;
        let time_to_save = || Instant::now() >= due && !run.is_saving();
        let round = RoundSpec {
            numbers: first..last,
            seed: self.recipe.seed,
            threads: threads(self.recipe.threads),
            // A round has at least one game, however soon the next checkpoint is due.
            stop: &|| observer.stop() || (played.load(Ordering::Relaxed) && time_to_save()),
            on_game: &|outcome| {
                played.store(true, Ordering::Relaxed);
                observer.game(outcome);
            },
            max_updates: match self.recipe.learner.max_updates() {
                None => u64::MAX,
                Some(most) => most.saturating_sub(before),
            },
            on_update: &|updates| observer.learned(before + updates),
        };
        let result = self.agent.learn(&round, &TdSpec::of(&self.recipe));
        if round.threads > 1 {
            self.agent.refresh(round.threads);
        }
        self.progress.block.seconds += begun.elapsed().as_secs_f64();
        self.progress.games += result.outcomes.len() as u64;
        if !result.finite {
            return Err(self.broke());
        }
        result
            .outcomes
            .iter()
            .for_each(|outcome| self.progress.block.add(outcome));
        if let Some(stats) = result.stats {
            let replay = self.progress.replay.get_or_insert_default();
            replay.add(&stats, &result.outcomes);
        }
        self.run.append_scores(first + 1, &result.outcomes)?;
        self.close_block(observer)
    }

    /// Reports the block if it is full, or if the training ends with it.
    fn close_block(&mut self, observer: &dyn Observer) -> Result<(), LabError> {
        let finished = self.is_finished();
        let Progress {
            games,
            block,
            replay,
            ..
        } = &mut self.progress;
        if block.games >= self.recipe.block_games || (finished && block.games > 0) {
            let rate = self
                .recipe
                .learner
                .learning_rate()
                .at(games.saturating_sub(1));
            let row = Block::new(*games, block, rate, replay.as_ref());
            self.run.append_block(&row, &self.faces)?;
            observer.block(*games, block, replay.as_ref());
            *block = Tally::default();
            if let Some(replay) = replay {
                replay.block = TrainingStats::default();
            }
        }
        Ok(())
    }

    fn save(&mut self) -> Result<(), LabError> {
        let (metadata, progress) = (self.metadata(), self.progress.clone());
        let agent = self.agent.as_ref();
        let saved = self.run.save_checkpoint(agent, metadata, progress);
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
            rate: self.recipe.learner.learning_rate().at(games),
            kept: run::has_checkpoint(self.run.folder()),
        }
    }

    fn metadata(&self) -> Metadata {
        metadata(&self.spec, &self.recipe, self.progress.games)
    }

    fn draw(&self) -> Result<(), LabError> {
        draw_plots(self.run.folder(), &run::title(&self.recipe))?;
        Ok(())
    }
}

/// A new agent that learns as a recipe says, every position of which has the value `initial_value`.
fn new_agent(
    recipe: &Recipe,
    initial_value: f32,
) -> Result<(AgentSpec, Arc<dyn TrainableAgent>), LabError> {
    let spec = AgentSpec::of(recipe)?;
    let budget = MemoryBudget::process();
    let agent = match &spec {
        AgentSpec::NTuple(spec) if recipe.learner.buffer().is_some() => {
            let config = replay_config(recipe)?;
            replay_agent(spec, config, recipe.seed, initial_value, &budget)?
        }
        AgentSpec::NTuple(spec) => {
            ntuple_agent(spec, recipe.learner.rule(), initial_value, &budget)?
        }
        #[cfg(feature = "deep")]
        AgentSpec::Deep(spec) => crate::agent::deep::new_agent(spec, recipe)?,
        #[cfg(not(feature = "deep"))]
        AgentSpec::Deep(_) => return Err(LabError::NoDeep),
    };
    Ok((spec, agent.into()))
}

#[cfg(test)]
mod tests;
