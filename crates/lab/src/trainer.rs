//! Training: rounds of games until the recipe is finished, with statistics, logs and checkpoints
//! between them.
//!
//! A round ends with a full block, when a checkpoint is due, or when it is cancelled; all threads
//! then pause, so that the saved state is consistent: the network after exactly the games 0..n,
//! each with its own random stream. A pause costs the rest of one game, and for a checkpoint the
//! time to copy the tables: another thread preallocates memory for the copy before, and waits for
//! the disk afterwards.

mod round;
mod save;

pub use save::TrainedModel;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use afterstate::format::native::{Metadata, NativeError};
use afterstate::replay::TrainingStats;

use crate::LabError;
use crate::agent::{Agent, BoardState, TrainableAgent, ntuple_agent, replay_agent};
use crate::block::ReplayResult;
use crate::control::{Control, Event, Meter, RunSubject, Status, Task, TrainResult, Unit};
use crate::evaluate::Contender;
use crate::finish::draw_plots;
use crate::foreign::is_packed;
use crate::games;
use crate::migrate::{Format, Migrated};
use crate::model::{self, metadata};
use crate::recipe::{Limit, Recipe};
use crate::run::{self, Divergence, Run, RunProgress};
use crate::spec::{AgentSpec, replay_config, replay_params};
use crate::tensorboard::EventWriter;

/// A training run between two rounds.
pub struct Trainer {
    recipe: Recipe,
    spec: AgentSpec,
    agent: Arc<dyn TrainableAgent>,
    /// `None` for training without a folder.
    run: Option<Run>,
    tensorboard: Option<EventWriter>,
    progress: RunProgress,
    /// The games of the checkpoint that is being written.
    saving: Option<u64>,
    tile_values: Vec<u64>,
    /// The format of the run folder when it was opened.
    format: Format,
    control: Control,
}

impl Trainer {
    /// Starts a run in a new folder.
    ///
    /// # Errors
    /// When the recipe does not define a network, or the folder cannot be used.
    pub fn new(recipe: Recipe, folder: &Path, control: &Control) -> Result<Self, LabError> {
        let mut trainer = Self::in_memory(recipe, control)?;
        trainer.create_run(folder)?;
        Ok(trainer)
    }

    /// Starts a run in a new folder under `parent`: `name`, or `name-2`, `name-3`, ... if that is
    /// taken.
    ///
    /// # Errors
    /// As for [`Trainer::new`].
    pub fn new_under(
        recipe: Recipe,
        parent: &Path,
        name: &str,
        control: &Control,
    ) -> Result<Self, LabError> {
        let mut trainer = Self::in_memory(recipe, control)?;
        let folder = run::claim_folder(parent, name)?;
        let created = trainer.create_run(&folder);
        if created.is_err() {
            // Only if it is empty; the first error matters.
            let _ = std::fs::remove_dir(&folder);
        }
        created.map(|()| trainer)
    }

    fn create_run(&mut self, folder: &Path) -> Result<(), LabError> {
        let run = Run::create(folder, &self.recipe, &self.tile_values)?;
        self.tensorboard = event_writer(&self.recipe, folder, 0)?;
        self.run = Some(run);
        Ok(())
    }

    /// Starts training without a folder: only the agent remains.
    ///
    /// # Errors
    /// When the recipe does not define a network.
    pub fn in_memory(recipe: Recipe, control: &Control) -> Result<Self, LabError> {
        recipe.validate()?;
        let (spec, agent) = first_agent(&recipe, control)?;
        Ok(Self {
            tile_values: games::tile_values(spec.game(), spec.shape())?,
            recipe,
            spec,
            agent,
            run: None,
            tensorboard: None,
            progress: RunProgress::default(),
            saving: None,
            format: Format::NOW,
            control: control.clone(),
        })
    }

    /// Resumes a run from its last checkpoint, or from its first game if it has none. `overrides`
    /// may change what does not affect past games, such as the number of episodes or threads, or
    /// the learning rate from here on.
    ///
    /// # Errors
    /// When there is nothing to resume, or it is damaged.
    pub fn resume(
        folder: &Path,
        overrides: &[String],
        control: &Control,
    ) -> Result<Self, LabError> {
        if is_packed(folder) {
            return Err(LabError::PackedResume(folder.to_owned()));
        }
        let Migrated {
            content: mut recipe,
            format,
        } = run::stored_recipe(folder, overrides)?;
        let games = run::saved(folder).checkpoint.map_or(0, |saved| saved.games);
        let past = run::stored_recipe(folder, &[])?.content;
        recipe.keep_before(games, &past)?;
        let saved = run::has_checkpoint(folder);
        // A checkpoint has every weight that is not 0, whatever their initial value.
        let (spec, agent) = match saved {
            true => new_agent(&recipe, 0.0, control)?,
            false => first_agent(&recipe, control)?,
        };
        let tile_values = games::tile_values(spec.game(), spec.shape())?;
        let (run, progress) = if saved {
            Run::resume(folder, &recipe, agent.as_ref())?
        } else {
            let run = Run::restart(folder, &recipe, &tile_values)?;
            (run, RunProgress::default())
        };
        let mut trainer = Self {
            tensorboard: event_writer(&recipe, folder, progress.games)?,
            recipe,
            spec,
            agent,
            run: Some(run),
            progress,
            saving: None,
            tile_values,
            format,
            control: control.clone(),
        };
        if trainer.is_done() {
            // Without a further game, an override has no effect.
            trainer.recipe = past;
        }
        if let (true, Some(run)) = (saved, &trainer.run) {
            run.save_recipe(&trainer.recipe)?;
        }
        Ok(trainer)
    }

    /// The earlier format of the run folder, if it was migrated to the current one.
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

    /// Whether all episodes are played and their model is saved.
    pub fn is_done(&self) -> bool {
        let saved = |folder| run::model_games(folder) == Some(self.progress.games);
        self.is_finished() && self.folder().is_none_or(saved)
    }

    /// The agent, which may be evaluated and analysed while it trains.
    pub fn agent(&self) -> Arc<dyn Agent> {
        self.agent.clone()
    }

    /// The agent with its game, to be evaluated, compared, analysed and measured while it trains.
    pub fn contender(&self) -> Contender {
        Contender::of_agent(self.recipe.title(), &self.spec, self.agent())
    }

    /// The specification of the agent.
    pub fn spec(&self) -> &AgentSpec {
        &self.spec
    }

    /// Whether all episodes are played, or all iterations or updates made.
    fn is_finished(&self) -> bool {
        let (iterations, updates) = self.left();
        self.progress.games >= self.recipe.episodes || iterations == 0 || updates == 0
    }

    /// The updates made so far, for runs with a replay buffer.
    pub fn updates(&self) -> u64 {
        self.totals().updates
    }

    /// The iterations made so far, for runs with a replay buffer.
    pub fn iterations(&self) -> u64 {
        self.totals().iterations
    }

    fn totals(&self) -> TrainingStats {
        let replay = self.progress.replay.as_ref();
        replay.map_or_else(TrainingStats::default, |replay| replay.total)
    }

    /// The iterations and updates that are left; `u64::MAX` where there is no limit.
    fn left(&self) -> (u64, u64) {
        let buffer = self.recipe.learner.buffer();
        let totals = self.totals();
        buffer.map_or((u64::MAX, u64::MAX), |buffer| {
            buffer.left(totals.iterations, totals.updates)
        })
    }

    /// How a run with a replay buffer has gone so far; `None` for other runs.
    pub fn replay_result(&self) -> Option<ReplayResult> {
        let replay = self.progress.replay.as_ref()?;
        let BoardState { tiles, .. } = self.agent.last_board()?;
        let value = |&tile: &u8| match tile {
            0 => Some(0),
            tile => self.tile_values.get(usize::from(tile) - 1).copied(),
        };
        let values: Vec<u64> = tiles.iter().map(value).collect::<Option<_>>()?;
        let rows = values.chunks(self.spec.shape().cols());
        Some(ReplayResult {
            iterations: replay.total.iterations,
            updates: replay.total.updates,
            scores: replay.scores,
            last_board: rows.map(<[u64]>::to_vec).collect(),
        })
    }

    /// The run folder, if there is one.
    pub fn folder(&self) -> Option<&Path> {
        self.run.as_ref().map(Run::folder)
    }

    /// What limits the run: its unit, the total, and the finished number.
    pub fn length(&self) -> (Unit, u64, u64) {
        match self.recipe.learner.limit() {
            Some(Limit::Iterations(most)) => (Unit::Iterations, most, self.iterations()),
            Some(Limit::Updates(most)) => (Unit::Updates, most, self.updates()),
            None => (Unit::Games, self.recipe.episodes, self.games()),
        }
    }

    /// Trains to the end of the recipe, or until it is cancelled. A run that is done keeps its files
    /// as they are; missing plots are drawn.
    ///
    /// # Errors
    /// When a file cannot be written or a weight diverges; the last checkpoint is then unchanged.
    pub fn train(&mut self) -> Result<Status, LabError> {
        let (unit, total, done) = self.length();
        self.control.emit(Event::Started {
            task: Task::Train,
            subject: self.recipe.title(),
            done,
            total: Some(total),
            unit,
            run: Some(self.subject()),
        });
        if !self.is_done() {
            let trained = self.train_and_save();
            if let Err(error) = &trained {
                // The error is what matters; a checkpoint that was committed before is reported.
                let _ = self.committed();
                self.control.emit(Event::Failed {
                    task: Task::Train,
                    error: error.to_string(),
                    run: Some(self.subject()),
                });
            }
            trained?;
        } else {
            self.draw_missing_plots()?;
        }
        let (unit, _, done) = self.length();
        let status = Status::of(self.is_finished());
        self.control.emit(Event::Finished {
            task: Task::Train,
            status,
            done,
            unit,
            result: Some(TrainResult {
                games: self.games(),
                replay: self.replay_result(),
                model: match (status, self.folder()) {
                    (Status::Finished, Some(folder)) => Some(run::model_path(folder)),
                    _ => None,
                }
                .map(|path| path.display().to_string()),
            }),
            run: Some(self.subject()),
        });
        Ok(status)
    }

    fn train_and_save(&mut self) -> Result<(), LabError> {
        let control = self.control.clone();
        let (unit, total, done) = self.length();
        let meter = Meter::new(&control, Task::Train, unit, done, total);
        let between = Duration::from_secs_f64(self.recipe.checkpoint_seconds);
        let mut due = Instant::now() + between;
        while !self.is_finished() && !control.is_cancelled() {
            self.round(due, &meter)?;
            let saved = self.checkpoint(due);
            if saved.or_else(|error| self.try_again(error))? {
                due = Instant::now() + between;
            }
        }
        self.save()?;
        self.committed()?;
        let (finished, metadata) = (self.is_finished(), self.metadata());
        if let Some(run) = &mut self.run {
            if finished {
                run.save_model(self.agent.as_ref(), &metadata)?;
            }
            let drawn = draw_plots(run.folder(), &run::title(&self.recipe));
            run.saved()?;
            drawn.map_err(|error| self.unplotted(error))?;
        }
        Ok(())
    }

    /// The run, as events name it.
    fn subject(&self) -> RunSubject {
        RunSubject {
            recipe: self.recipe.name.clone(),
            changed: self.recipe.changed.clone(),
            game: self.recipe.game.clone(),
            board: self.recipe.board.clone(),
            folder: self.folder().map(|folder| folder.display().to_string()),
        }
    }

    /// A weight that is found not to be finite when it is saved has diverged, too.
    fn or_diverged(&mut self, error: LabError) -> LabError {
        match error {
            LabError::Model {
                source: NativeError::NotFinite { .. },
                ..
            } => self.diverged(),
            other => other,
        }
    }

    fn diverged(&mut self) -> LabError {
        // Whether there is a checkpoint is known once the last one is committed, or has failed.
        let _ = self.committed();
        let kept = self.folder().is_some_and(run::has_checkpoint);
        let games = self.progress.games;
        let learning_rate = self.recipe.learner.learning_rate().at(games);
        if let Some(folder) = self.folder() {
            let diverged = Divergence {
                games,
                rate: learning_rate,
            };
            // The divergence is the error to report, not that its note could not be written.
            let _ = diverged.save(folder);
        }
        LabError::Diverged {
            games,
            learning_rate,
            kept,
        }
    }

    fn metadata(&self) -> Metadata {
        metadata(&self.spec, &self.recipe, self.progress.games)
    }
}

/// The TensorBoard event files of a run, if its recipe enables them.
fn event_writer(
    recipe: &Recipe,
    folder: &Path,
    games: u64,
) -> Result<Option<EventWriter>, LabError> {
    if !recipe.tensorboard {
        return Ok(None);
    }
    let blocks = run::blocks_of(folder)?;
    let folder = folder.join("tensorboard");
    let writer = EventWriter::resume(&folder, games, &blocks);
    writer.map(Some).map_err(LabError::file("write", &folder))
}

/// Creates the agent with which a recipe begins: with the weights of another model, or with equal
/// values for all positions.
fn first_agent(
    recipe: &Recipe,
    control: &Control,
) -> Result<(AgentSpec, Arc<dyn TrainableAgent>), LabError> {
    if recipe.from.is_empty() {
        return new_agent(recipe, recipe.network.initial_value() as f32, control);
    }
    let (spec, agent) = new_agent(recipe, 0.0, control)?;
    model::fill(agent.as_ref(), &spec, Path::new(&recipe.from))?;
    Ok((spec, agent))
}

/// Creates an agent that learns by a recipe, in which every position has the value `initial_value`.
fn new_agent(
    recipe: &Recipe,
    initial_value: f32,
    control: &Control,
) -> Result<(AgentSpec, Arc<dyn TrainableAgent>), LabError> {
    let spec = AgentSpec::of(recipe)?;
    let budget = control.memory();
    let agent = match &spec {
        AgentSpec::NTuple(spec) if recipe.learner.buffer().is_some() => {
            let config = replay_config(recipe)?;
            let params = replay_params(recipe);
            replay_agent(spec, params, config, recipe.seed, initial_value, budget)?
        }
        AgentSpec::NTuple(spec) => {
            ntuple_agent(spec, recipe.learner.rule(), initial_value, budget)?
        }
        #[cfg(feature = "deep")]
        AgentSpec::Deep(spec) => crate::agent::deep::new_agent(spec, recipe, budget)?,
        #[cfg(not(feature = "deep"))]
        AgentSpec::Deep(_) => return Err(LabError::NoDeep),
    };
    Ok((spec, agent.into()))
}

#[cfg(test)]
mod tests;
