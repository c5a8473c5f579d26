//! A sweep: variants of a recipe, each trained with several seeds, and what can be said of their differences.
//!
//! ```text
//! file -> Sweep (every recipe is checked) -> runs, as many at once as there are cores -> Summary: table and plots
//! ```
//!
//! Each pair of a variant and a seed is an ordinary run folder, `OUT/VARIANT/seed-N`, so that all that is known of runs holds for it:
//! it can be plotted, evaluated, compared and gone on with by itself. With one thread a recipe and a seed are one result; hence a run
//! has one thread, and the cores are filled with runs. What a run came to is kept beside it (`kept.rs`), and so a sweep that was stopped
//! goes on where it was, and one that is finished only draws its summary again.
//!
//! Runs are made seed by seed: after the first round every variant has been tried once.

mod error;
mod file;
mod kept;
mod summary;
mod table;
#[cfg(test)]
mod tests;

pub use error::SweepError;
pub use kept::{Broken, Evaluated};
pub use summary::{BrokenSeed, Figure, Row, Score, Summary, Verdict};

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use crate::LabError;
use crate::control::{self, CancelToken, Control, Event, Progress, Status, Unit};
use crate::evaluate::{Contender, Evaluation, Plan, evaluate};
use crate::model::Model;
use crate::recipe::{Difference, Recipe};
use crate::run;
use crate::share::{share, threads};
use crate::trainer::Trainer;
use kept::Kept;

const PLOTS: &str = "plots";
const SUMMARY_CSV: &str = "summary.csv";
const SUMMARY_MD: &str = "summary.md";

/// Added to the seed of a training for the games it is evaluated by: they are the same for all variants of that seed, others for
/// other seeds, and none that it was trained with.
pub const EVALUATION_SEED: u64 = 1_000_000;

/// A table of variants and seeds to train, checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Sweep {
    /// Its name, by the rule of recipes.
    pub name: String,
    /// What it is for, in one line.
    pub purpose: String,
    /// The seeds that each variant is trained with.
    pub seeds: Vec<u64>,
    /// Games of evaluation after each training; 0 for none.
    pub games: u64,
    /// The variants; the others are compared with the first.
    pub variants: Vec<Variant>,
}

/// One way to train.
#[derive(Clone, Debug, PartialEq)]
pub struct Variant {
    /// Its name.
    pub name: String,
    /// The folder of its runs.
    pub folder: String,
    /// Its recipe, with any seed.
    pub recipe: Recipe,
}

/// A variant with a seed: one run.
#[derive(Clone, Debug, PartialEq)]
pub struct Task {
    /// The number of its variant, from 0.
    pub variant: usize,
    /// Its seed.
    pub seed: u64,
    /// Both as people read them: `AdamW, seed 2`.
    pub label: String,
    /// Its run folder.
    pub folder: PathBuf,
    /// Its recipe.
    pub recipe: Recipe,
}

/// What a finished run came to.
#[derive(Clone, Debug, PartialEq)]
pub enum Finding {
    /// It was trained to its end, and evaluated if that was asked for.
    Trained(Option<Evaluated>),
    /// A weight became NaN or infinite.
    Broken(Broken),
}

impl Sweep {
    /// Reads a sweep and checks all of its recipes. A recipe that is a path is looked for beside the file.
    ///
    /// # Errors
    /// When anything in it is wrong.
    pub fn load(path: &Path) -> Result<Self, LabError> {
        file::load(path)
    }

    /// Every run of the sweep in the folder `out`, in the order in which they are made.
    pub fn tasks(&self, out: &Path) -> Vec<Task> {
        let of_seed = |&seed: &u64| {
            let variants = self.variants.iter().enumerate();
            variants.map(move |(number, variant)| Task {
                variant: number,
                seed,
                label: format!("{}, seed {seed}", variant.name),
                folder: out.join(&variant.folder).join(format!("seed-{seed}")),
                recipe: Recipe {
                    seed,
                    ..variant.recipe.clone()
                },
            })
        };
        self.seeds.iter().flat_map(of_seed).collect()
    }

    /// Makes the runs that are missing in the folder `out`, `jobs` at once (0 means one for each core), and says what each came to, in
    /// the order of [`Sweep::tasks`]; none if it was cancelled. A training that breaks is a finding and stops no other.
    ///
    /// # Errors
    /// When `out` is the folder of a run, or a run was trained by another recipe, before anything else is done. When one cannot be trained, read or written; the
    /// others are then stopped, and saved.
    pub fn run(
        &self,
        out: &Path,
        jobs: usize,
        control: &Control,
    ) -> Result<Option<Vec<Finding>>, LabError> {
        if run::exists(out) {
            return Err(SweepError::OfARun(out.to_owned()).into());
        }
        let tasks = self.tasks(out);
        tasks.iter().try_for_each(Task::is_unchanged)?;
        // A run that fails cancels the others, but not what else the token may belong to.
        let runs = RunsControl::new(control, &tasks, self.games);
        let work = |number: u64| {
            let number = number as usize;
            let task = &tasks[number];
            runs.tell(number, 0.0, false);
            let found = task.settle(self.games, &runs.of_run(number));
            match &found {
                Ok(Some(_)) => runs.tell(number, 1.0, true),
                Ok(None) => {}
                Err(_) => runs.cancel.cancel(),
            }
            found.map_err(|source| SweepError::Run {
                run: task.label.clone(),
                source: Box::new(source),
            })
        };
        let stop = || runs.cancel.is_cancelled();
        let jobs = threads(jobs).min(tasks.len());
        let found = share(jobs, 0..tasks.len() as u64, stop, || &work);
        let found: Vec<Option<Finding>> = found.into_iter().collect::<Result<_, _>>()?;
        let all: Option<Vec<Finding>> = found.into_iter().collect();
        Ok(all.filter(|all| all.len() == tasks.len()))
    }
}

impl Task {
    /// Whether there is nothing left to do for it.
    pub fn is_done(&self, games: u64) -> bool {
        let kept = Kept::read(&self.folder);
        matches!(kept, Some(Kept::Broken(_))) || self.finding(kept, games).is_some()
    }

    /// Refuses a run folder that was trained by another recipe.
    fn is_unchanged(&self) -> Result<(), LabError> {
        if !run::exists(&self.folder) {
            return Ok(());
        }
        let trained = run::recipe_of(&self.folder, &[])?;
        match trained.same_training(&self.recipe) {
            Ok(()) => Ok(()),
            Err(Difference { key, values }) => {
                let [trained, wanted] = values;
                let folder = self.folder.clone();
                Err(SweepError::Changed {
                    folder,
                    key,
                    trained,
                    wanted,
                }
                .into())
            }
        }
    }

    /// What is known of it without any work.
    fn finding(&self, kept: Option<Kept>, games: u64) -> Option<Finding> {
        let trained = self.trained();
        match kept {
            Some(Kept::Broken(broken)) => Some(Finding::Broken(broken)),
            _ if games == 0 => trained.map(|_| Finding::Trained(None)),
            Some(Kept::Evaluated(it)) => (Some(it.trained) == trained
                && it.games == games
                && it.seed == self.evaluation_seed())
            .then_some(Finding::Trained(Some(it))),
            None => None,
        }
    }

    /// The games that it was trained for, once it has been trained as its recipe says: it may have been gone on with since.
    fn trained(&self) -> Option<u64> {
        let recipe = run::model_recipe(&self.folder)?;
        let same = recipe.same_training(&self.recipe).is_ok();
        run::model_games(&self.folder).filter(|_| same)
    }

    fn evaluation_seed(&self) -> u64 {
        self.seed.saturating_add(EVALUATION_SEED)
    }

    /// Does what is left to do for it; none if it was stopped.
    fn settle(&self, games: u64, control: &Control) -> Result<Option<Finding>, LabError> {
        if let Some(found) = self.finding(Kept::read(&self.folder), games) {
            return Ok(Some(found));
        }
        if self.trained().is_none() {
            match self.train(control) {
                Ok(Status::Finished) => {}
                Ok(Status::Stopped) => return Ok(None),
                // With one thread it would diverge again in the same way.
                Err(LabError::Diverged {
                    games,
                    learning_rate: rate,
                    ..
                }) => {
                    let broken = Broken { games, rate };
                    kept::keep_broken(&self.folder, &broken)?;
                    return Ok(Some(Finding::Broken(broken)));
                }
                Err(error) => return Err(error),
            }
        }
        if games == 0 {
            return Ok(Some(Finding::Trained(None)));
        }
        let model = Model::open(&self.folder)?;
        let evaluation = self.evaluate(&model, games, control);
        if evaluation.games < games {
            return Ok(None);
        }
        let trained = model.episodes.unwrap_or(0);
        let kept = kept::keep_evaluation(&self.folder, trained, &evaluation)?;
        Ok(Some(Finding::Trained(Some(kept))))
    }

    fn train(&self, control: &Control) -> Result<Status, LabError> {
        let mut trainer = if run::exists(&self.folder) {
            Trainer::resume(&self.folder, &[], control)?
        } else {
            Trainer::new(self.recipe.clone(), &self.folder, control)?
        };
        trainer.train()
    }

    fn evaluate(&self, model: &Model, games: u64, control: &Control) -> Evaluation {
        evaluate(
            &Contender::from(model),
            &Plan {
                games,
                seed: self.evaluation_seed(),
                threads: self.recipe.threads,
                control: &control.silent(),
            },
        )
    }
}

/// The controls of all runs of a sweep, which report as one.
#[derive(Clone)]
struct RunsControl {
    control: Control,
    labels: Arc<[String]>,
    /// The share of each run that is done.
    shares: Arc<Mutex<Vec<f64>>>,
    /// Cancels the runs alone.
    cancel: CancelToken,
}

impl RunsControl {
    fn new(control: &Control, tasks: &[Task], games: u64) -> Self {
        let done = |task: &Task| if task.is_done(games) { 1.0 } else { 0.0 };
        Self {
            control: control.clone(),
            labels: tasks.iter().map(|task| task.label.clone()).collect(),
            shares: Arc::new(Mutex::new(tasks.iter().map(done).collect())),
            cancel: control.cancel_token().child(),
        }
    }

    /// The control of one run: its progress is told as that of the sweep.
    fn of_run(&self, run: usize) -> Control {
        let runs = self.clone();
        self.control
            .silent()
            .with_cancel(self.cancel.clone())
            .on_event(move |event| {
                if let Event::Progress(progress) = event {
                    runs.tell(run, progress.share, false);
                }
            })
    }

    /// Tells how far a run is, and all of them.
    fn tell(&self, run: usize, share: f64, done: bool) {
        let mut shares = self.shares.lock().unwrap_or_else(PoisonError::into_inner);
        shares[run] = share;
        self.control.emit(Event::Run {
            run,
            label: self.labels[run].clone(),
            share,
            done,
        });
        let finished = shares.iter().filter(|share| **share >= 1.0).count();
        self.control.emit(Event::Progress(Progress {
            task: control::Task::Sweep,
            stage: None,
            share: shares.iter().sum::<f64>() / shares.len().max(1) as f64,
            done: finished as u64,
            total: Some(shares.len() as u64),
            unit: Unit::Runs,
            mean: None,
            moves_per_second: None,
        }));
    }
}
