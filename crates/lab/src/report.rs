//! What evaluations report. Reports are written as JSON by one process and read by another: each has
//! one schema.

use serde::{Deserialize, Serialize};

use crate::statistics::Interval;

/// The results of a player; these fields are the JSON of `eval --json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Evaluation {
    /// The model; `None` for a baseline.
    pub model: Option<ModelInfo>,
    /// Who played, where that is no model: the name of a baseline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub player: Option<String>,
    /// The game.
    pub game: String,
    /// The board.
    pub board: String,
    /// The seed of the games.
    pub seed: u64,
    /// How moves were chosen.
    pub search: String,
    /// The results; their fields stand beside the others in the JSON.
    #[serde(flatten)]
    pub scores: Scores,
}

/// The scores of finished games: what every table of results shows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scores {
    /// Games played.
    pub games: u64,
    /// The mean score.
    pub mean: f64,
    /// Its 95% interval; `None` for a single game.
    pub mean_ci95: Option<Interval>,
    /// The median score.
    pub median: f64,
    /// The highest score.
    pub max: u64,
    /// Mean number of moves per game.
    pub moves: f64,
    /// Moves per second of all threads together.
    pub moves_per_second: f64,
    /// A row for each largest tile.
    pub tiles: Vec<TileRow>,
}

/// How often a tile was reached.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TileRow {
    /// Its value.
    pub tile: u64,
    /// The share of games that reached it or a larger tile.
    pub reach: f64,
    /// Its 95% interval.
    pub reach_ci95: Interval,
    /// The share of games that ended with it as the largest.
    pub end: f64,
}

/// The description of a model in reports.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelInfo {
    /// The file it was read from.
    pub path: String,
    /// The SHA-256 digest of its file, in hexadecimal digits; see [`ModelInfo::hash`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// The game.
    pub game: String,
    /// The board.
    pub board: String,
    /// The recipe it was trained with, and what overrides changed, if known.
    #[serde(default)]
    pub recipe: Option<String>,
    /// Everything that overrides changed in the recipe, each `key=value`.
    #[serde(default)]
    pub changed: Vec<String>,
    /// The games it was trained for, if known.
    pub trained: Option<u64>,
}

#[cfg(test)]
mod tests;
