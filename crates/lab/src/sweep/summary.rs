//! The summary of a sweep: for each variant the mean over its seeds, and its difference to the
//! first one.
//!
//! A seed contributes one number: the mean score of its evaluation. Its games are not independent
//! samples, since one network plays all of them, and the question is about the recipe, not about
//! this network. So an interval is Student's over seeds, and that of a difference Welch's, which
//! does not assume equal variances. A variant is called better or worse if the interval of its
//! difference excludes 0. These are intervals for each variant: of twenty variants without effect,
//! one is expected to be called better or worse.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::rates::{self, OverSeeds, Rates, TileRate};
use super::table::TextTable;
use super::{
    Divergence, Evaluated, PLOTS, RunResult, SUMMARY_CSV, SUMMARY_MD, Sweep, SweepError, SweepRun,
    other, table,
};
use crate::LabError;
use crate::curve::{Curve, Point, ReplayPoint};
use crate::disk::{inside, replace_inside};
use crate::numbers::{decimals, grouped};
use crate::plot::{self, DotRow, RowColour};
use crate::run::{self, curve_of};
use crate::statistics::{Interval, difference_interval, mean_interval};

/// The result of a sweep; these fields are the JSON of `sweep --json`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SweepSummary {
    /// The sweep's name.
    pub name: String,
    /// What it is for.
    pub purpose: String,
    /// The game.
    pub game: String,
    /// The board.
    #[serde(default)]
    pub board: String,
    /// What the scores measure.
    #[serde(alias = "figure")]
    pub metric: Metric,
    /// Games of each evaluation.
    pub games: u64,
    /// A row for each variant; the others are compared with the first.
    pub variants: Vec<SummaryRow>,
    /// The learning curve of each variant that has one.
    #[serde(skip)]
    pub(super) curves: Vec<Curve>,
}

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Metric {
    /// The mean score of the evaluation.
    Evaluated,
    /// Without evaluation, for runs with a replay buffer: the running average at the end.
    Average,
    /// Without evaluation, for other runs: the mean score of the last block.
    LastBlock,
}

/// One variant.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SummaryRow {
    /// Its name.
    pub name: String,
    /// The folder of its runs.
    pub folder: String,
    /// The score of each seed that did not diverge.
    pub scores: Vec<Score>,
    /// The seeds that diverged.
    #[serde(alias = "broken")]
    pub diverged: Vec<DivergedSeed>,
    /// The mean of the scores; `None` if all diverged.
    pub mean: Option<f64>,
    /// Its 95% interval; `None` for a single score.
    pub mean_ci95: Option<Interval>,
    /// The mean minus that of the first variant.
    pub difference: Option<f64>,
    /// Its 95% interval.
    pub difference_ci95: Option<Interval>,
    /// The conclusion.
    pub verdict: Option<Verdict>,
    /// The mean of the running averages at the end, for runs with a replay buffer.
    pub average: Option<f64>,
    /// Its 95% interval.
    pub average_ci95: Option<Interval>,
    /// The median score of each evaluation, over the seeds.
    #[serde(default)]
    pub median: Option<OverSeeds>,
    /// The win rate of each tile, over the seeds; for all tiles that any evaluation ended with.
    #[serde(default)]
    pub tiles: Vec<TileRate>,
    /// Updates per second of one run with a replay buffer, otherwise games per second.
    pub speed: Option<f64>,
    /// Which of the two.
    pub speed_unit: String,
}

/// The score of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Score {
    /// Its seed.
    pub seed: u64,
    /// Its score.
    pub score: f64,
    /// Its folder, in that of the sweep.
    #[serde(default)]
    pub path: PathBuf,
}

/// A run that diverged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DivergedSeed {
    /// Its seed.
    pub seed: u64,
    /// How it diverged.
    #[serde(flatten)]
    pub divergence: Divergence,
}

/// How a variant compares with the first one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The whole interval of the difference is above 0.
    Better,
    /// The whole interval is below 0.
    Worse,
    /// It includes 0, or there are too few seeds for an interval.
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
    /// Summarises the results of [`Sweep::run`] in the folder `out`.
    ///
    /// # Errors
    /// When the log of a run cannot be read.
    pub fn summary(&self, out: &Path, results: &[RunResult]) -> Result<SweepSummary, LabError> {
        let tasks = self.runs(out);
        let mut variants: Vec<Runs> = self.variants.iter().map(|_| Runs::default()).collect();
        for (task, result) in tasks.iter().zip(results) {
            variants[task.variant].add(task, result)?;
        }
        let metric = match variants.iter().all(Runs::all_have_replay) {
            _ if self.games > 0 => Metric::Evaluated,
            true => Metric::Average,
            false => Metric::LastBlock,
        };
        let rates: Vec<&[Option<Evaluated>]> =
            variants.iter().map(|runs| &runs.evaluated[..]).collect();
        let mut rates = rates::of(&rates).into_iter();
        let scores = |runs: &Runs| runs.scores(metric);
        let first: Vec<f64> = variants.first().map_or_else(Vec::new, scores);
        let named = self.variants.iter().zip(&variants).enumerate();
        let rows = named.map(|(number, (variant, runs))| {
            let compared = (number > 0 && !first.is_empty()).then_some(&first[..]);
            let (name, folder) = (variant.name.clone(), variant.folder.clone());
            let rates = rates.next().unwrap_or_default();
            runs.row((name, folder), metric, compared, rates)
        });
        let rows = rows.collect();
        let named = self.variants.iter().zip(&variants);
        let curves = named.filter_map(|(variant, runs)| together(&variant.name, &runs.curves));
        let curves = curves.collect();
        let recipe = self.variants.first().map(|variant| &variant.recipe);
        let (game, board) = recipe
            .map(|recipe| (recipe.game.clone(), recipe.board.clone()))
            .unwrap_or_default();
        Ok(SweepSummary {
            name: self.name.clone(),
            purpose: self.purpose.clone(),
            game,
            board,
            metric,
            games: self.games,
            variants: rows,
            curves,
        })
    }
}

/// The runs of a variant that did not diverge, and those that did.
#[derive(Default)]
struct Runs {
    seeds: Vec<u64>,
    folders: Vec<PathBuf>,
    evaluated: Vec<Option<Evaluated>>,
    curves: Vec<Curve>,
    diverged: Vec<DivergedSeed>,
}

impl Runs {
    fn add(&mut self, task: &SweepRun, result: &RunResult) -> Result<(), LabError> {
        let seed = task.seed;
        match result {
            RunResult::Diverged(diverged) => {
                let divergence = diverged.clone();
                self.diverged.push(DivergedSeed { seed, divergence });
            }
            RunResult::Trained(evaluated) => {
                let curve = curve_of(&task.folder)?;
                if evaluated.is_none() && curve.points.is_empty() {
                    let run = task.label.clone();
                    return Err(SweepError::NoGame { run }.into());
                }
                self.seeds.push(seed);
                self.folders.push(task.path.clone());
                self.evaluated.push(evaluated.clone());
                self.curves.push(curve);
            }
        }
        Ok(())
    }

    /// Whether all finished runs have a replay buffer.
    fn all_have_replay(&self) -> bool {
        self.curves.iter().all(|curve| !curve.replay.is_empty())
    }

    fn scores(&self, metric: Metric) -> Vec<f64> {
        let runs = self.evaluated.iter().zip(&self.curves);
        let score = |(evaluated, curve): (&Option<Evaluated>, &Curve)| match metric {
            Metric::Evaluated => evaluated.as_ref().map(|evaluated| evaluated.mean),
            Metric::Average => curve.replay.last().map(|point| point.running_average),
            Metric::LastBlock => curve.points.last().map(|point| point.tally.mean()),
        };
        runs.map(|run| score(run).unwrap_or(0.0)).collect()
    }

    fn averages(&self) -> Vec<f64> {
        let last = |curve: &Curve| Some(curve.replay.last()?.running_average);
        self.curves.iter().filter_map(last).collect()
    }

    /// Of one run: all updates or games divided by the time.
    fn speed(&self) -> (Option<f64>, &'static str) {
        let replay_points = self.all_have_replay() && !self.curves.is_empty();
        let done = |curve: &Curve| match curve.replay.last() {
            Some(point) if replay_points => point.updates,
            _ => curve.points.last().map_or(0, |point| point.games),
        };
        let points = self.curves.iter().flat_map(|curve| &curve.points);
        let seconds: f64 = points.map(|point| point.tally.seconds).sum();
        let all: u64 = self.curves.iter().map(done).sum();
        let unit = if replay_points {
            "updates/s"
        } else {
            "games/s"
        };
        ((seconds > 0.0).then(|| all as f64 / seconds), unit)
    }

    fn row(
        &self,
        (name, folder): (String, String),
        metric: Metric,
        first: Option<&[f64]>,
        rates: Rates,
    ) -> SummaryRow {
        let scores = self.scores(metric);
        let (mean, mean_ci95) = mean_interval(&scores);
        let first = first.filter(|_| !scores.is_empty());
        let difference = first.map(|first| difference_interval(&scores, first));
        let averages = self.averages();
        let (average, average_ci95) = mean_interval(&averages);
        let (speed, speed_unit) = self.speed();
        let runs = self.seeds.iter().zip(&self.folders).zip(&scores);
        let score = |((&seed, path), &score): ((&u64, &PathBuf), &f64)| Score {
            seed,
            score,
            path: path.clone(),
        };
        SummaryRow {
            name,
            folder,
            mean: (!scores.is_empty()).then_some(mean),
            mean_ci95,
            difference: difference.map(|(difference, _)| difference),
            difference_ci95: difference.and_then(|(_, interval)| interval),
            verdict: difference.map(|(_, interval)| Verdict::of(interval)),
            average: (!averages.is_empty()).then_some(average),
            average_ci95,
            median: rates.median,
            tiles: rates.tiles,
            speed,
            speed_unit: speed_unit.to_owned(),
            scores: runs.map(score).collect(),
            diverged: self.diverged.clone(),
        }
    }
}

/// The learning curve of several runs: the blocks that all of them have, with the games of all;
/// `None` if there are no such blocks.
pub(super) fn together(label: &str, curves: &[Curve]) -> Option<Curve> {
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
    let points: Vec<Point> = points.collect();
    let replay = replay_together(curves);
    let seeds = replay_seeds(curves, &replay);
    let seeds = curves.iter().zip(seeds).map(|(curve, replay)| {
        let place = |point: &Point| points.binary_search_by_key(&point.games, |it| it.games);
        let common = |point: &&Point| place(point).is_ok();
        Curve {
            points: curve.points.iter().filter(common).cloned().collect(),
            replay,
            ..Curve::default()
        }
    });
    let seeds = seeds.collect();
    let curve = Curve {
        label: label.to_owned(),
        points,
        replay,
        seeds,
        ..Curve::default()
    };
    (!curve.points.is_empty()).then_some(curve)
}

/// The latest block of a run that had made no more updates.
fn by_then(curve: &Curve, updates: u64) -> Option<ReplayPoint> {
    let mut latest = curve.replay.iter().rev();
    latest.find(|it| it.updates <= updates).copied()
}

/// The statistics of each run at the points of their mean.
fn replay_seeds(curves: &[Curve], mean: &[ReplayPoint]) -> Vec<Vec<ReplayPoint>> {
    let at = |curve: &Curve, updates| {
        let point = by_then(curve, updates)?;
        Some(ReplayPoint { updates, ..point })
    };
    let of = |curve: &Curve| {
        let points = mean.iter().filter_map(|point| at(curve, point.updates));
        points.collect()
    };
    curves.iter().map(of).collect()
}

/// The replay statistics of several runs after the same number of updates, as far as all of them
/// go: at each block of the first, the means of the last blocks that the others had finished by
/// then.
fn replay_together(curves: &[Curve]) -> Vec<ReplayPoint> {
    let ends = curves.iter().map(|curve| curve.replay.last());
    let end = ends.map(|last| last.map_or(0, |point| point.updates)).min();
    let Some((first, end)) = curves.first().zip(end) else {
        return Vec::new();
    };
    let points = first.replay.iter().filter(|point| point.updates <= end);
    let together = |point: &ReplayPoint| {
        let of = |curve: &Curve| by_then(curve, point.updates);
        let all: Option<Vec<ReplayPoint>> = curves.iter().map(of).collect();
        all.map(|all| mean_replay(&all, point.updates))
    };
    points.filter_map(together).collect()
}

fn mean_replay(replay_points: &[ReplayPoint], updates: u64) -> ReplayPoint {
    let mean = |of: fn(&ReplayPoint) -> f64| {
        replay_points.iter().map(of).sum::<f64>() / replay_points.len().max(1) as f64
    };
    ReplayPoint {
        games: mean(|point| point.games as f64) as u64,
        loss: mean(|point| point.loss),
        value: mean(|point| point.value),
        // Runs may have made these updates in different numbers of iterations.
        iterations: None,
        updates,
        running_average: mean(|point| point.running_average),
    }
}

impl SweepSummary {
    /// The number of runs that diverged.
    pub fn diverged(&self) -> usize {
        self.variants.iter().map(|row| row.diverged.len()).sum()
    }

    /// The table as text, with aligned columns.
    pub fn text(&self) -> String {
        let tables = self.tables().into_iter().map(|table| table.text());
        let tables: Vec<String> = tables.collect();
        format!("{}\n\n{}", self.heading(), tables.join("\n"))
    }

    /// The table of means; then that of medians and win rates, where they are known.
    fn tables(&self) -> Vec<TextTable> {
        [Some(table::of(self)), table::of_rates(self)]
            .into_iter()
            .flatten()
            .collect()
    }

    /// The heading of the table.
    fn heading(&self) -> String {
        let first = self.variants.first().map_or("", |row| &row.name);
        let metric = self.metric.words(self.games);
        let against = match self.variants.len() {
            0 | 1 => String::new(),
            _ => format!("; differences are to `{first}`"),
        };
        let Self {
            name, game, board, ..
        } = self;
        format!("{name}: {game} on {board}, {metric}, mean over seeds with 95% intervals{against}")
    }

    /// Writes `summary.csv`, `summary.md` and the plots into the folder of the sweep, and returns
    /// the paths of the plots.
    ///
    /// # Errors
    /// When they cannot be drawn or written, or the folder has the summary of another sweep.
    pub fn save(&self, out: &Path) -> Result<Vec<PathBuf>, LabError> {
        // No other sweep can begin or end in this folder meanwhile.
        let _lock = run::lock(out)?;
        other::check(out, &self.name, self.variants.iter().map(|row| &row.folder))?;
        let path = out.join(SUMMARY_CSV);
        let csv = table::csv(self).map_err(LabError::file("write", &path))?;
        replace_inside(&path, &csv).map_err(LabError::file("write", &path))?;
        let path = out.join(SUMMARY_MD);
        let tables = self.tables().into_iter().map(|table| table.markdown());
        let tables: Vec<String> = tables.collect();
        let markdown = format!("{}\n\n{}", self.heading(), tables.join("\n"));
        replace_inside(&path, markdown.as_bytes()).map_err(LabError::file("write", &path))?;
        let folder = out.join(PLOTS);
        inside::check_folder(&folder).map_err(LabError::file("write", &folder))?;
        self.draw(&folder)
    }

    fn draw(&self, folder: &Path) -> Result<Vec<PathBuf>, LabError> {
        let about = format!(
            "{}: seeds, their mean and its 95% interval",
            self.metric.words(self.games)
        );
        let title = format!("{}: {} on {}", self.name, self.game, self.board);
        let dot_rows: Vec<DotRow> = self.variants.iter().map(|row| self.dot_row(row)).collect();
        let mut plots = vec![plot::dot_rows(&dot_rows, &title, &about, "sweep")?];
        if !self.curves.is_empty() {
            plots.extend(plot::plots(&self.curves, &title)?);
        }
        Ok(plot::save(&plots, folder)?)
    }

    fn dot_row(&self, row: &SummaryRow) -> DotRow {
        let diverged = match (row.scores.len(), row.diverged.len()) {
            (_, 0) => None,
            (0, _) => Some("diverged".to_owned()),
            (_, some) => Some(format!("{some} diverged")),
        };
        let verdict = row.verdict.map(|verdict| verdict.words().to_owned());
        let remark: Vec<String> = verdict.into_iter().chain(diverged).collect();
        let value = row.mean.map(|mean| decimals(mean, self.decimals()));
        DotRow {
            label: row.name.clone(),
            dots: row.scores.iter().map(|score| score.score).collect(),
            mean: row.mean,
            interval: row.mean_ci95,
            value: value.unwrap_or_default(),
            remark: remark.join(", "),
            colour: match row.verdict {
                Some(Verdict::Better) => RowColour::Better,
                Some(Verdict::Worse) => RowColour::Worse,
                Some(Verdict::NotShown) => RowColour::Plain,
                None => RowColour::First,
            },
        }
    }

    /// Enough decimals to distinguish scores of this size.
    pub(super) fn decimals(&self) -> usize {
        let means = self.variants.iter().filter_map(|row| row.mean);
        match means.fold(0.0, f64::max) {
            mean if mean >= 1000.0 => 0,
            mean if mean >= 100.0 => 1,
            _ => 2,
        }
    }
}

impl Metric {
    fn words(self, games: u64) -> String {
        match self {
            Self::Evaluated => {
                let games = grouped(games as f64);
                format!("mean score of {games} games after each run")
            }
            Self::Average => "running average of halved scores at the end of each run".to_owned(),
            Self::LastBlock => "mean score of the last block of each run".to_owned(),
        }
    }
}
