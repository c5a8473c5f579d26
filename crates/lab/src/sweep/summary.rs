//! What a sweep says: for each variant the mean over its seeds, and how it differs from the first one.
//!
//! A seed is one number: the mean score of its evaluation. The games behind it do not count as so many numbers, since they are all
//! played by one network, and the question is what the recipe does, not what this network does. So an interval is Student's over
//! seeds, and that of a difference Welch's, who does not ask that two variants spread alike. A variant is called better or worse if
//! the interval of its difference leaves out 0. That is an interval for each variant: of twenty that change nothing, one is expected
//! to be called better or worse.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{
    Broken, Evaluated, Finding, PLOTS, SUMMARY_CSV, SUMMARY_MD, Sweep, SweepError, Task, table,
};
use crate::LabError;
use crate::curve::{Curve, Point, ReplayPoint};
use crate::disk::replace;
use crate::numbers::{decimals, grouped};
use crate::plot::{self, Lane, Tint};
use crate::run::curve_of;
use crate::statistics::{Interval, difference_interval, mean_interval};

/// The result of a sweep; these fields are the JSON of `sweep --json`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Summary {
    /// The sweep's name.
    pub name: String,
    /// What it is for.
    pub purpose: String,
    /// The game and the board.
    pub game: String,
    /// What the scores are.
    pub figure: Figure,
    /// Games of each evaluation.
    pub games: u64,
    /// A row for each variant; the first is the one that the others are compared with.
    pub variants: Vec<Row>,
    /// The learning curve of each variant that has one.
    #[serde(skip)]
    pub(super) curves: Vec<Curve>,
}

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Figure {
    /// The mean score of the evaluation.
    Evaluated,
    /// Without evaluation, of runs that learn from memory: R4's running average at the end.
    Average,
    /// Without evaluation, of other runs: the mean score of the last block.
    LastBlock,
}

/// One variant.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Row {
    /// Its name.
    pub name: String,
    /// The folder of its runs.
    pub folder: String,
    /// What each seed came to, but for those that broke.
    pub scores: Vec<Score>,
    /// Those that broke.
    pub broken: Vec<BrokenSeed>,
    /// The mean of the scores; none if all have broken.
    pub mean: Option<f64>,
    /// Its 95% interval; one score has none.
    pub mean_ci95: Option<Interval>,
    /// The mean less that of the first variant.
    pub difference: Option<f64>,
    /// Its 95% interval.
    pub difference_ci95: Option<Interval>,
    /// What that says.
    pub verdict: Option<Verdict>,
    /// The mean of R4's running averages at the end, where it learns from memory.
    pub average: Option<f64>,
    /// Its 95% interval.
    pub average_ci95: Option<Interval>,
    /// Updates a second of one run where it learns from memory, otherwise games a second.
    pub speed: Option<f64>,
    /// Which of the two.
    pub speed_unit: String,
}

/// What a run came to.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Score {
    /// Its seed.
    pub seed: u64,
    /// Its score.
    pub score: f64,
}

/// A run that broke.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BrokenSeed {
    /// Its seed.
    pub seed: u64,
    /// How.
    #[serde(flatten)]
    pub broken: Broken,
}

/// How a variant compares with the first one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The whole interval of the difference is above 0.
    Better,
    /// The whole interval is below 0.
    Worse,
    /// It holds 0, or there are too few seeds for one.
    NotShown,
}

impl Verdict {
    fn of(interval: Option<Interval>) -> Self {
        match interval {
            Some([low, _]) if low > 0.0 => Self::Better,
            Some([_, high]) if high < 0.0 => Self::Worse,
            _ => Self::NotShown,
        }
    }

    /// In a word or two.
    pub fn words(self) -> &'static str {
        match self {
            Self::Better => "better",
            Self::Worse => "worse",
            Self::NotShown => "not shown",
        }
    }
}

impl Sweep {
    /// Makes a summary of what [`Sweep::run`] has found in the folder `out`.
    ///
    /// # Errors
    /// When the log of a run cannot be read.
    pub fn summary(&self, out: &Path, findings: &[Finding]) -> Result<Summary, LabError> {
        let tasks = self.tasks(out);
        let mut variants: Vec<Runs> = self.variants.iter().map(|_| Runs::default()).collect();
        for (task, finding) in tasks.iter().zip(findings) {
            variants[task.variant].add(task, finding)?;
        }
        let figure = match variants.iter().all(Runs::all_study) {
            _ if self.games > 0 => Figure::Evaluated,
            true => Figure::Average,
            false => Figure::LastBlock,
        };
        let scores = |runs: &Runs| runs.scores(figure);
        let first: Vec<f64> = variants.first().map_or_else(Vec::new, scores);
        let named = self.variants.iter().zip(&variants).enumerate();
        let rows = named.map(|(number, (variant, runs))| {
            let compared = (number > 0 && !first.is_empty()).then_some(&first[..]);
            let (name, folder) = (variant.name.clone(), variant.folder.clone());
            runs.row(name, folder, figure, compared)
        });
        let rows = rows.collect();
        let named = self.variants.iter().zip(&variants);
        let curves = named.filter_map(|(variant, runs)| together(&variant.name, &runs.curves));
        let curves = curves.collect();
        let recipe = self.variants.first().map(|variant| &variant.recipe);
        Ok(Summary {
            name: self.name.clone(),
            purpose: self.purpose.clone(),
            game: recipe.map_or_else(String::new, |r| format!("{} on {}", r.game, r.board)),
            figure,
            games: self.games,
            variants: rows,
            curves,
        })
    }
}

/// The runs of a variant that did not break, and those that did.
#[derive(Default)]
struct Runs {
    seeds: Vec<u64>,
    evaluated: Vec<Option<Evaluated>>,
    curves: Vec<Curve>,
    broken: Vec<BrokenSeed>,
}

impl Runs {
    fn add(&mut self, task: &Task, finding: &Finding) -> Result<(), LabError> {
        let seed = task.seed;
        match finding {
            Finding::Broken(broken) => {
                let broken = broken.clone();
                self.broken.push(BrokenSeed { seed, broken });
            }
            Finding::Trained(evaluated) => {
                let curve = curve_of(&task.folder)?;
                if evaluated.is_none() && curve.points.is_empty() {
                    let run = task.label.clone();
                    return Err(SweepError::NoGame { run }.into());
                }
                self.seeds.push(seed);
                self.evaluated.push(evaluated.clone());
                self.curves.push(curve);
            }
        }
        Ok(())
    }

    /// Whether all that came to anything have learned from memory.
    fn all_study(&self) -> bool {
        self.curves.iter().all(|curve| !curve.replay.is_empty())
    }

    fn scores(&self, figure: Figure) -> Vec<f64> {
        let runs = self.evaluated.iter().zip(&self.curves);
        let score = |(evaluated, curve): (&Option<Evaluated>, &Curve)| match figure {
            Figure::Evaluated => evaluated.as_ref().map(|evaluated| evaluated.mean),
            Figure::Average => curve.replay.last().map(|study| study.running_average),
            Figure::LastBlock => curve.points.last().map(|point| point.tally.mean()),
        };
        runs.map(|run| score(run).unwrap_or(0.0)).collect()
    }

    fn averages(&self) -> Vec<f64> {
        let last = |curve: &Curve| Some(curve.replay.last()?.running_average);
        self.curves.iter().filter_map(last).collect()
    }

    /// Of one run: all that was done by the time it took.
    fn speed(&self) -> (Option<f64>, &'static str) {
        let studies = self.all_study() && !self.curves.is_empty();
        let done = |curve: &Curve| match curve.replay.last() {
            Some(study) if studies => study.updates,
            _ => curve.points.last().map_or(0, |point| point.games),
        };
        let points = self.curves.iter().flat_map(|curve| &curve.points);
        let seconds: f64 = points.map(|point| point.tally.seconds).sum();
        let all: u64 = self.curves.iter().map(done).sum();
        let unit = if studies { "updates/s" } else { "games/s" };
        ((seconds > 0.0).then(|| all as f64 / seconds), unit)
    }

    fn row(&self, name: String, folder: String, figure: Figure, first: Option<&[f64]>) -> Row {
        let scores = self.scores(figure);
        let (mean, mean_ci95) = mean_interval(&scores);
        let first = first.filter(|_| !scores.is_empty());
        let difference = first.map(|first| difference_interval(&scores, first));
        let averages = self.averages();
        let (average, average_ci95) = mean_interval(&averages);
        let (speed, speed_unit) = self.speed();
        let seeds = self.seeds.iter().zip(&scores);
        Row {
            name,
            folder,
            mean: (!scores.is_empty()).then_some(mean),
            mean_ci95,
            difference: difference.map(|(difference, _)| difference),
            difference_ci95: difference.and_then(|(_, interval)| interval),
            verdict: difference.map(|(_, interval)| Verdict::of(interval)),
            average: (!averages.is_empty()).then_some(average),
            average_ci95,
            speed,
            speed_unit: speed_unit.to_owned(),
            scores: seeds.map(|(&seed, &score)| Score { seed, score }).collect(),
            broken: self.broken.clone(),
        }
    }
}

/// The learning curve of several runs: those blocks that all of them have, with the games of all; none if there are no such blocks.
fn together(label: &str, curves: &[Curve]) -> Option<Curve> {
    let (first, others) = curves.split_first()?;
    let points = first.points.iter().filter_map(|point| {
        let mut tally = point.tally.clone();
        for other in others {
            let same = other.points.iter().find(|p| p.games == point.games)?;
            tally.merge(&same.tally);
        }
        let games = point.games;
        Some(Point { games, tally })
    });
    let curve = Curve {
        label: label.to_owned(),
        points: points.collect(),
        gaps: Vec::new(),
        replay: replay_together(curves),
    };
    (!curve.points.is_empty()).then_some(curve)
}

/// What the runs had learned after the same number of updates, as far as all of them went: at each block of the first, the means of
/// the last blocks that the others had finished by then.
fn replay_together(curves: &[Curve]) -> Vec<ReplayPoint> {
    let ends = curves.iter().map(|curve| curve.replay.last());
    let end = ends.map(|last| last.map_or(0, |study| study.updates)).min();
    let Some((first, end)) = curves.first().zip(end) else {
        return Vec::new();
    };
    let points = first.replay.iter().filter(|point| point.updates <= end);
    let together = |point: &ReplayPoint| {
        let by_then = |curve: &Curve| {
            let mut latest = curve.replay.iter().rev();
            latest.find(|study| study.updates <= point.updates).copied()
        };
        let all: Option<Vec<ReplayPoint>> = curves.iter().map(by_then).collect();
        all.map(|all| mean_study(&all, point.updates))
    };
    points.filter_map(together).collect()
}

fn mean_study(studies: &[ReplayPoint], updates: u64) -> ReplayPoint {
    let mean = |of: fn(&ReplayPoint) -> f64| {
        studies.iter().map(of).sum::<f64>() / studies.len().max(1) as f64
    };
    ReplayPoint {
        games: mean(|study| study.games as f64) as u64,
        loss: mean(|study| study.loss),
        value: mean(|study| study.value),
        updates,
        running_average: mean(|point| point.running_average),
    }
}

impl Summary {
    /// How many trainings broke.
    pub fn broken(&self) -> usize {
        self.variants.iter().map(|row| row.broken.len()).sum()
    }

    /// The table as people read it, with its columns aligned.
    pub fn text(&self) -> String {
        format!("{}\n\n{}", self.heading(), table::of(self).text())
    }

    /// What the table shows.
    fn heading(&self) -> String {
        let first = self.variants.first().map_or("", |row| &row.name);
        let figure = self.figure.words(self.games);
        let against = match self.variants.len() {
            0 | 1 => String::new(),
            _ => format!("; differences are to `{first}`"),
        };
        let Self { name, game, .. } = self;
        format!("{name}: {game}, {figure}, mean over seeds with 95% intervals{against}")
    }

    /// Writes `summary.csv`, `summary.md` and the plots into the folder of the sweep, and returns the paths of the plots.
    ///
    /// # Errors
    /// When they cannot be drawn or written.
    pub fn save(&self, out: &Path) -> Result<Vec<PathBuf>, LabError> {
        let path = out.join(SUMMARY_CSV);
        let csv = table::csv(self).map_err(LabError::file("write", &path))?;
        replace(&path, &csv).map_err(LabError::file("write", &path))?;
        let path = out.join(SUMMARY_MD);
        let markdown = format!("{}\n\n{}", self.heading(), table::of(self).markdown());
        replace(&path, markdown.as_bytes()).map_err(LabError::file("write", &path))?;
        self.draw(&out.join(PLOTS))
    }

    fn draw(&self, folder: &Path) -> Result<Vec<PathBuf>, LabError> {
        let about = format!(
            "{}: seeds, their mean and its 95% interval",
            self.figure.words(self.games)
        );
        let title = format!("{}: {}", self.name, self.game);
        let lanes: Vec<Lane> = self.variants.iter().map(|row| self.lane(row)).collect();
        let mut plots = vec![plot::lanes(&lanes, &title, &about, "sweep")?];
        if !self.curves.is_empty() {
            plots.extend(plot::plots(&self.curves, &title)?);
        }
        Ok(plot::save(&plots, folder)?)
    }

    fn lane(&self, row: &Row) -> Lane {
        let broke = match (row.scores.len(), row.broken.len()) {
            (_, 0) => None,
            (0, _) => Some("broke".to_owned()),
            (_, some) => Some(format!("{some} broke")),
        };
        let verdict = row.verdict.map(|verdict| verdict.words().to_owned());
        let remark: Vec<String> = verdict.into_iter().chain(broke).collect();
        let value = row.mean.map(|mean| decimals(mean, self.decimals()));
        Lane {
            label: row.name.clone(),
            dots: row.scores.iter().map(|score| score.score).collect(),
            mean: row.mean,
            interval: row.mean_ci95,
            value: value.unwrap_or_default(),
            remark: remark.join(", "),
            tint: match row.verdict {
                Some(Verdict::Better) => Tint::Better,
                Some(Verdict::Worse) => Tint::Worse,
                Some(Verdict::NotShown) => Tint::Plain,
                None => Tint::First,
            },
        }
    }

    /// As many decimals as tell scores of this size apart.
    pub(super) fn decimals(&self) -> usize {
        let means = self.variants.iter().filter_map(|row| row.mean);
        match means.fold(0.0, f64::max) {
            mean if mean >= 1000.0 => 0,
            mean if mean >= 100.0 => 1,
            _ => 2,
        }
    }
}

impl Figure {
    fn words(self, games: u64) -> String {
        match self {
            Self::Evaluated => {
                let games = grouped(games as f64);
                format!("mean score of {games} games after each training")
            }
            Self::Average => "R4's running average at the end of each training".to_owned(),
            Self::LastBlock => "mean score of the last block of each training".to_owned(),
        }
    }
}
