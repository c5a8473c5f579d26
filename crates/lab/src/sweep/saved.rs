//! The saved result of a run of a sweep, in its folder's `result.json`: its evaluation, with the
//! number of training games, or that it diverged. The file is replaced atomically. A file that
//! cannot be read, or has another number of games, is ignored, and the result is computed again.

use std::io::{self, Read};
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::LabError;
use crate::disk::{inside, replace_inside};
use crate::migrate;
use crate::report::{Evaluation, TileRow};
use crate::run::Divergence;
use crate::tables::open;

const RESULT: &str = "result.json";
/// The largest size of a result.
const LONGEST: u64 = 1 << 20;

/// The evaluation of a finished run.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Evaluated {
    /// Games it was trained for.
    pub trained: u64,
    /// Evaluation games.
    pub games: u64,
    /// Their seed.
    pub seed: u64,
    /// Their mean score.
    pub mean: f64,
    /// Their median score; older files may lack it.
    #[serde(default)]
    pub median: Option<f64>,
    /// How often each tile was reached.
    #[serde(default)]
    pub tiles: Vec<TileRow>,
}

/// The file as read.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum SavedResult {
    Evaluated(Evaluated),
    #[serde(rename = "diverged")]
    Diverged(Divergence),
}

impl SavedResult {
    /// Reads the result of a run folder.
    pub(super) fn read(folder: &Path) -> Option<Self> {
        let path = folder.join(RESULT);
        inside::check(&path).ok()?;
        let (file, _) = open(&path).ok()?;
        let found = serde_json::from_reader(file.take(LONGEST)).ok()?;
        serde_json::from_value(migrate::result(found)).ok()
    }
}

/// The file as written: with all fields of `eval --json`.
#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum Written<'a> {
    Evaluated {
        trained: u64,
        #[serde(flatten)]
        evaluation: &'a Evaluation,
    },
    #[serde(rename = "diverged")]
    Diverged(&'a Divergence),
}

pub(super) fn save_evaluation(
    folder: &Path,
    trained: u64,
    evaluation: &Evaluation,
) -> Result<Evaluated, LabError> {
    save(
        folder,
        &Written::Evaluated {
            trained,
            evaluation,
        },
    )?;
    Ok(Evaluated {
        trained,
        games: evaluation.scores.games,
        seed: evaluation.seed,
        mean: evaluation.scores.mean,
        median: Some(evaluation.scores.median),
        tiles: evaluation.scores.tiles.clone(),
    })
}

pub(super) fn save_divergence(folder: &Path, diverged: &Divergence) -> Result<(), LabError> {
    save(folder, &Written::Diverged(diverged))
}

fn save(folder: &Path, written: &Written<'_>) -> Result<(), LabError> {
    let path = folder.join(RESULT);
    let text = serde_json::to_string_pretty(written).map_err(io::Error::other);
    let saved = text.and_then(|text| replace_inside(&path, (text + "\n").as_bytes()));
    saved.map_err(LabError::file("write", &path))
}
