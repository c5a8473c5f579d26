//! Sweeps as their folders tell, without their files: runs by variant, the table of the summary, and
//! curves. A sweep that is not finished has no table yet.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::summary::together;
use super::{SUMMARY_CSV, SUMMARY_MD};
use crate::curve::Curve;
use crate::disk::inside;
use crate::run::curve_of;
use crate::runs::RunInfo;

/// A sweep in a folder.
#[derive(Clone, Debug, PartialEq)]
pub struct FoundSweep {
    /// Its folder.
    pub folder: PathBuf,
    /// What its table contains, in one line; `None` until it is finished.
    pub heading: Option<String>,
    /// Its variants: in the order of the table, then those that it lacks.
    pub variants: Vec<FoundVariant>,
}

/// A variant.
#[derive(Clone, Debug, PartialEq)]
pub struct FoundVariant {
    /// Its name; that of its folder, until there is a table.
    pub name: String,
    /// Its runs by seed.
    pub runs: BTreeMap<u64, RunInfo>,
    /// Its row of the table.
    pub row: Option<SavedRow>,
}

/// A row of `summary.csv`. What is not known is `None`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SavedRow {
    /// The name of the variant.
    pub variant: String,
    /// The folder of its runs.
    pub folder: String,
    /// Seeds that did not diverge.
    pub seeds: u64,
    /// Seeds that diverged.
    #[serde(alias = "broken")]
    pub diverged: u64,
    /// The mean over the seeds, with its 95% interval.
    pub mean: Option<f64>,
    /// The lower end.
    pub mean_low: Option<f64>,
    /// The upper end.
    pub mean_high: Option<f64>,
    /// The difference to the first variant, with its 95% interval.
    pub difference: Option<f64>,
    /// The lower end.
    pub difference_low: Option<f64>,
    /// The upper end.
    pub difference_high: Option<f64>,
    /// `better`, `worse` or `not shown`; empty for the first.
    pub verdict: String,
    /// The tile of the win rate.
    pub tile: Option<u64>,
    /// The win rate over the seeds, with its 95% interval.
    pub reach: Option<f64>,
    /// The lower end.
    pub reach_low: Option<f64>,
    /// The upper end.
    pub reach_high: Option<f64>,
    /// Updates or games per second of one run.
    pub speed: Option<f64>,
    /// Which of the two.
    pub speed_unit: String,
}

/// The sweeps that these runs below `root` belong to: a run of a sweep is `SWEEP/VARIANT/seed-N`.
pub fn sweeps_of(root: &Path, runs: &[RunInfo]) -> Vec<FoundSweep> {
    let mut sweeps: BTreeMap<&Path, BTreeMap<String, BTreeMap<u64, RunInfo>>> = BTreeMap::new();
    for run in runs {
        let Some((sweep, variant, seed)) = place_of(&run.path).filter(|(it, ..)| *it != root)
        else {
            continue;
        };
        let variants = sweeps.entry(sweep).or_default();
        let seeds = variants.entry(variant).or_default();
        seeds.insert(seed, run.clone());
    }
    let all = sweeps.into_iter();
    all.map(|(folder, variants)| FoundSweep::read(folder, variants))
        .collect()
}

/// The folder of the sweep, the folder of the variant and the seed of a run.
fn place_of(run: &Path) -> Option<(&Path, String, u64)> {
    let seed = run.file_name()?.to_str()?.strip_prefix("seed-")?;
    let variant = run.parent()?;
    let name = variant.file_name()?.to_str()?.to_owned();
    Some((variant.parent()?, name, seed.parse().ok()?))
}

impl FoundSweep {
    fn read(folder: &Path, mut runs: BTreeMap<String, BTreeMap<u64, RunInfo>>) -> Self {
        let read = |name: &str| inside::read(&folder.join(name)).ok();
        // A table that cannot be read is as one that is not there: the runs are shown.
        let rows = read(SUMMARY_CSV).map_or_else(Vec::new, |csv| rows_of(&csv));
        let heading = read(SUMMARY_MD).and_then(|text| {
            let text = String::from_utf8(text).ok()?;
            Some(text.lines().next()?.to_owned())
        });
        let mut variants: Vec<FoundVariant> = Vec::new();
        for row in rows {
            if let Some(runs) = runs.remove(&row.folder) {
                variants.push(FoundVariant {
                    name: row.variant.clone(),
                    runs,
                    row: Some(row),
                });
            }
        }
        variants.extend(runs.into_iter().map(|(name, runs)| FoundVariant {
            name,
            runs,
            row: None,
        }));
        Self {
            folder: folder.to_owned(),
            heading,
            variants,
        }
    }

    /// The learning curve of each variant that has one: the blocks that all runs have which have any.
    pub fn curves(&self) -> Vec<Curve> {
        let of = |variant: &FoundVariant| {
            let runs = variant.runs.values();
            let curves = runs.filter_map(|run| curve_of(&run.path).ok());
            let begun: Vec<Curve> = curves.filter(|it| !it.points.is_empty()).collect();
            together(&variant.name, &begun)
        };
        self.variants.iter().filter_map(of).collect()
    }
}

fn rows_of(csv: &[u8]) -> Vec<SavedRow> {
    let mut reader = csv::Reader::from_reader(csv);
    reader.deserialize().flatten().collect()
}
