//! What a run of a sweep came to, in its folder's `result.json`: the figures of its evaluation, with the games it was trained for, or
//! that its training diverged. It is written whole or not at all. One that cannot be read, or is of other games than asked for, is as
//! good as none: it is made again.

use std::io::{self, Read};
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::LabError;
use crate::disk::replace;
use crate::evaluate::Evaluation;
use crate::migrate;
use crate::tables::open;

const RESULT: &str = "result.json";
/// No result of ours is longer.
const LONGEST: u64 = 1 << 20;

/// How a finished run was evaluated.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Evaluated {
    /// Games it was trained for.
    pub trained: u64,
    /// Games it was evaluated by.
    pub games: u64,
    /// Their seed.
    pub seed: u64,
    /// Their mean score.
    pub mean: f64,
}

/// How a training diverged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Broken {
    /// Games played by then.
    pub games: u64,
    /// The learning rate.
    #[serde(rename = "learning_rate")]
    pub rate: f32,
}

/// The file, as far as it is read.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Kept {
    Evaluated(Evaluated),
    #[serde(rename = "diverged")]
    Broken(Broken),
}

impl Kept {
    /// What is kept in a run folder.
    pub(super) fn read(folder: &Path) -> Option<Self> {
        let (file, _) = open(&folder.join(RESULT)).ok()?;
        let found = serde_json::from_reader(file.take(LONGEST)).ok()?;
        serde_json::from_value(migrate::result(found)).ok()
    }
}

/// The file as it is written: with all figures of `eval --json`.
#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum Written<'a> {
    Evaluated {
        trained: u64,
        #[serde(flatten)]
        evaluation: &'a Evaluation,
    },
    #[serde(rename = "diverged")]
    Broken(&'a Broken),
}

pub(super) fn keep_evaluation(
    folder: &Path,
    trained: u64,
    evaluation: &Evaluation,
) -> Result<Evaluated, LabError> {
    keep(
        folder,
        &Written::Evaluated {
            trained,
            evaluation,
        },
    )?;
    Ok(Evaluated {
        trained,
        games: evaluation.games,
        seed: evaluation.seed,
        mean: evaluation.mean,
    })
}

pub(super) fn keep_broken(folder: &Path, broken: &Broken) -> Result<(), LabError> {
    keep(folder, &Written::Broken(broken))
}

fn keep(folder: &Path, written: &Written<'_>) -> Result<(), LabError> {
    let path = folder.join(RESULT);
    let text = serde_json::to_string_pretty(written).map_err(io::Error::other);
    let kept = text.and_then(|text| replace(&path, (text + "\n").as_bytes()));
    kept.map_err(LabError::file("write", &path))
}
