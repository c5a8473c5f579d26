//! A sweep: variants of a recipe, each trained with several seeds, and a statistical comparison of
//! them.
//!
//! ```text
//! file -> Sweep (every recipe is checked) -> runs, one per core at a time -> SweepSummary: table and
//! plots
//! ```
//!
//! Each pair of a variant and a seed is an ordinary run folder, `OUT/VARIANT/seed-N`, which can be
//! plotted, evaluated, compared and resumed separately. With one thread, a recipe and a seed
//! determine the result; hence a run has one thread, and several runs fill the cores. The result of
//! a run is saved in its folder (`saved.rs`), so that an interrupted sweep can be resumed, and a
//! finished one only draws its summary again.
//!
//! Runs are ordered by seed: after the first round every variant has been tried once.

mod file;
mod found;
mod other;
mod parts;
mod rates;
mod saved;
mod summary;
mod table;
#[cfg(test)]
mod tests;

pub use crate::error::SweepError;
pub use crate::run::Divergence;
pub use found::{FoundSweep, FoundVariant, SavedRow, sweeps_of};
pub use rates::{OverSeeds, TileRate};
pub use saved::Evaluated;
pub use summary::{DivergedSeed, Metric, Score, SummaryRow, SweepSummary, Verdict};

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use crate::LabError;
use crate::control::{CancelToken, Control, Event, Job, Progress, Status, Task, Unit};
use crate::disk::inside;
use crate::evaluate::{Contender, EvalOptions, evaluate};
use crate::model::Model;
use crate::part::Part;
use crate::recipe::{Recipe, RecipeDifference};
use crate::report::Evaluation;
use crate::run;
use crate::share::{share, threads};
use crate::trainer::Trainer;
use saved::SavedResult;

const PLOTS: &str = "plots";
const SUMMARY_CSV: &str = "summary.csv";
const SUMMARY_MD: &str = "summary.md";

/// Added to the seed of a run for its evaluation games: they are the same for all variants of that
/// seed, differ between seeds, and differ from the training games.
pub const EVALUATION_SEED: u64 = 1_000_000;

/// Whether a folder holds a sweep with its summary.
pub fn is_sweep(folder: &Path) -> bool {
    !run::exists(folder) && folder.join(SUMMARY_CSV).is_file()
}

/// A validated table of variants and seeds to train.
#[derive(Clone, Debug, PartialEq)]
pub struct Sweep {
    /// Its name, which follows the rules for recipe names.
    pub name: String,
    /// What it is for, in one line.
    pub purpose: String,
    /// The seeds that each variant is trained with.
    pub seeds: Vec<u64>,
    /// Evaluation games after each run; 0 for none.
    pub games: u64,
    /// The variants; the others are compared with the first.
    pub variants: Vec<SweepVariant>,
}

/// One variant of the recipe.
#[derive(Clone, Debug, PartialEq)]
pub struct SweepVariant {
    /// Its name.
    pub name: String,
    /// The folder of its runs.
    pub folder: String,
    /// Its recipe, with any seed.
    pub recipe: Recipe,
}

/// A variant with a seed: one run.
#[derive(Clone, Debug, PartialEq)]
pub struct SweepRun {
    /// The number of its variant, from 0.
    pub variant: usize,
    /// Its seed.
    pub seed: u64,
    /// The name of variant and seed: `AdamW, seed 2`.
    pub label: String,
    /// Its run folder in that of the sweep.
    pub path: PathBuf,
    /// Its run folder.
    pub folder: PathBuf,
    /// Its recipe.
    pub recipe: Recipe,
}

/// The result of a finished run.
#[derive(Clone, Debug, PartialEq)]
pub enum RunResult {
    /// It finished, and was evaluated if the sweep has evaluation games.
    Trained(Option<Evaluated>),
    /// It diverged: a weight became NaN or infinite.
    Diverged(Divergence),
}

impl Sweep {
    /// Reads a sweep and checks all of its recipes. A recipe path is relative to the file.
    ///
    /// # Errors
    /// When anything in it is invalid.
    pub fn load(path: &Path) -> Result<Self, LabError> {
        file::load(path)
    }

    /// Every run of the sweep in the folder `out`, in the order of execution.
    pub fn runs(&self, out: &Path) -> Vec<SweepRun> {
        let of_seed = |&seed: &u64| {
            let variants = self.variants.iter().enumerate();
            variants.map(move |(number, variant)| {
                let path = Path::new(&variant.folder).join(format!("seed-{seed}"));
                SweepRun {
                    variant: number,
                    seed,
                    label: format!("{}, seed {seed}", variant.name),
                    folder: out.join(&path),
                    path,
                    recipe: Recipe {
                        seed,
                        ..variant.recipe.clone()
                    },
                }
            })
        };
        self.seeds.iter().flat_map(of_seed).collect()
    }

    /// The runs of a part.
    pub fn runs_of(&self, out: &Path, part: Part) -> Vec<SweepRun> {
        let runs = self.runs(out).into_iter().enumerate();
        let of_part = runs.filter(|(number, _)| part.takes(*number));
        of_part.map(|(_, run)| run).collect()
    }

    /// Trains the missing runs in the folder `out`, `jobs` at once (0 means one for each core), and
    /// returns the result of each, in the order of [`Sweep::runs`]; `None` if it was cancelled. A
    /// run that diverges is a result and stops no other.
    ///
    /// # Errors
    /// When `out` is the folder of a run or of another sweep, another process uses it, or a run has
    /// another recipe, before anything else is done. When a run cannot be trained, read or written; the others are then cancelled and
    /// saved.
    pub fn run(
        &self,
        out: &Path,
        jobs: usize,
        control: &Control,
    ) -> Result<Option<Vec<RunResult>>, LabError> {
        self.run_part(out, Part::WHOLE, jobs, control)
    }

    /// The same for the runs of a part; the results are those of the part.
    ///
    /// # Errors
    /// As [`Sweep::run`].
    pub fn run_part(
        &self,
        out: &Path,
        part: Part,
        jobs: usize,
        control: &Control,
    ) -> Result<Option<Vec<RunResult>>, LabError> {
        let tasks = self.runs_of(out, part);
        let total = tasks.len() as u64;
        let job = Job {
            task: Task::Sweep,
            subject: out.display().to_string(),
            total: Some(total),
            unit: Unit::Runs,
        };
        let work = || self.run_tasks(out, &tasks, jobs, control);
        control.run(job, work, |done| {
            let all = done.as_ref().ok()?.is_some();
            let count = || tasks.iter().filter(|task| task.is_done(self.games)).count();
            let done = if all { total } else { count() as u64 };
            Some((Status::of(all), done))
        })
    }

    fn run_tasks(
        &self,
        out: &Path,
        tasks: &[SweepRun],
        jobs: usize,
        control: &Control,
    ) -> Result<Option<Vec<RunResult>>, LabError> {
        self.check_place(out, tasks)?;
        let _lock = self.lock_place(out)?;
        // A run that fails cancels the others, but not other work with the same token.
        let runs = RunsControl::new(control, tasks, self.games);
        let work = |number: u64| {
            let number = number as usize;
            let task = &tasks[number];
            runs.report(number, 0.0, false);
            let found = task.settle(self.games, &runs.of_run(number));
            match &found {
                Ok(Some(_)) => runs.report(number, 1.0, true),
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
        let found: Vec<Option<RunResult>> = found.into_iter().collect::<Result<_, _>>()?;
        let all: Option<Vec<RunResult>> = found.into_iter().collect();
        Ok(all.filter(|all| all.len() == tasks.len()))
    }
}

impl SweepRun {
    /// Whether nothing remains to be done for it.
    pub fn is_done(&self, games: u64) -> bool {
        let saved = SavedResult::read(&self.folder);
        matches!(saved, Some(SavedResult::Diverged(_))) || self.result(saved, games).is_some()
    }

    /// Refuses a run folder with another recipe, and links in place of folders.
    fn is_unchanged(&self) -> Result<(), LabError> {
        let folders = self.folder.ancestors().take(2);
        for folder in folders.filter(|folder| folder.is_symlink()) {
            inside::check_folder(folder).map_err(LabError::file("use", folder))?;
        }
        if !run::exists(&self.folder) {
            return Ok(());
        }
        let trained = run::recipe_of(&self.folder, &[])?;
        match trained.same_training(&self.recipe) {
            Ok(()) => Ok(()),
            Err(RecipeDifference { key, values }) => {
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

    /// Its result, if that is known without further work.
    fn result(&self, saved: Option<SavedResult>, games: u64) -> Option<RunResult> {
        let trained = self.trained();
        match saved {
            Some(SavedResult::Diverged(diverged)) => Some(RunResult::Diverged(diverged)),
            _ if games == 0 => trained.map(|_| RunResult::Trained(None)),
            Some(SavedResult::Evaluated(it)) => (Some(it.trained) == trained
                && it.games == games
                && it.seed == self.evaluation_seed())
            .then_some(RunResult::Trained(Some(it))),
            None => None,
        }
    }

    /// The games it was trained for, once it has finished its recipe; it may have been extended
    /// since.
    fn trained(&self) -> Option<u64> {
        let recipe = run::model_recipe(&self.folder)?;
        let same = recipe.same_training(&self.recipe).is_ok();
        run::model_games(&self.folder).filter(|_| same)
    }

    fn evaluation_seed(&self) -> u64 {
        self.seed.saturating_add(EVALUATION_SEED)
    }

    /// Does the remaining work; `None` if it was cancelled.
    fn settle(&self, games: u64, control: &Control) -> Result<Option<RunResult>, LabError> {
        if let Some(found) = self.result(SavedResult::read(&self.folder), games) {
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
                    let diverged = Divergence { games, rate };
                    saved::save_divergence(&self.folder, &diverged)?;
                    return Ok(Some(RunResult::Diverged(diverged)));
                }
                Err(error) => return Err(error),
            }
        }
        if games == 0 {
            return Ok(Some(RunResult::Trained(None)));
        }
        let model = Model::open_within(&self.folder, control.memory())?;
        let evaluation = self.evaluate(&model, games, control);
        if evaluation.scores.games < games {
            return Ok(None);
        }
        let trained = model.episodes.unwrap_or(0);
        let saved = saved::save_evaluation(&self.folder, trained, &evaluation)?;
        Ok(Some(RunResult::Trained(Some(saved))))
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
            &EvalOptions {
                games,
                part: Part::WHOLE,
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
    /// The finished share of each run.
    shares: Arc<Mutex<Vec<f64>>>,
    /// Cancels only the runs.
    cancel: CancelToken,
}

impl RunsControl {
    fn new(control: &Control, tasks: &[SweepRun], games: u64) -> Self {
        let done = |task: &SweepRun| if task.is_done(games) { 1.0 } else { 0.0 };
        Self {
            control: control.clone(),
            labels: tasks.iter().map(|task| task.label.clone()).collect(),
            shares: Arc::new(Mutex::new(tasks.iter().map(done).collect())),
            cancel: control.cancel_token().child(),
        }
    }

    /// The control of one run: its progress is reported as that of the sweep.
    fn of_run(&self, run: usize) -> Control {
        let runs = self.clone();
        self.control
            .silent()
            .with_cancel(self.cancel.clone())
            .on_event(move |event| {
                if let Event::Progress(progress) = event {
                    runs.report(run, progress.share, false);
                }
            })
    }

    /// Reports the progress of a run, and of all of them.
    fn report(&self, run: usize, share: f64, done: bool) {
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
            task: Task::Sweep,
            stage: None,
            share: shares.iter().sum::<f64>() / shares.len().max(1) as f64,
            done: finished as u64,
            total: Some(shares.len() as u64),
            unit: Unit::Runs,
            mean: None,
            moves_per_second: None,
            replay: None,
        }));
    }
}
