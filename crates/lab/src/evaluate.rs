//! How good a player is: games without learning, every figure with its 95% interval.

use std::ops::Range;
use std::path::Path;
use std::time::Instant;

use afterstate::tally::{Outcome, Tally};
use serde::Serialize;

use crate::LabError;
use crate::model::Model;
use crate::records;
use crate::registry::Lesson;
use crate::share::threads;
use crate::statistics::{Interval, mean_interval, median, share_interval};

/// What to play.
pub struct Plan<'a> {
    /// How many games; game n of a seed is the same for every player and any number of threads.
    pub games: u64,
    /// The seed.
    pub seed: u64,
    /// Threads; 0 means one for each core.
    pub threads: usize,
    /// Told of each game.
    pub seen: &'a (dyn Fn(&Outcome) + Sync),
    /// Asked before each game: an evaluation that is stopped counts the games it has played.
    pub stop: &'a (dyn Fn() -> bool + Sync),
}

/// A player's figures; these fields are the JSON of `eval --json`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Evaluation {
    /// The game.
    pub game: String,
    /// The board.
    pub board: String,
    /// Games played.
    pub games: u64,
    /// Their seed.
    pub seed: u64,
    /// How moves were chosen.
    pub search: &'static str,
    /// The mean score.
    pub mean: f64,
    /// Its 95% interval; one game has none.
    pub mean_ci95: Option<Interval>,
    /// The score that half of the games reach.
    pub median: f64,
    /// The highest score.
    pub max: u64,
    /// Moves a game.
    pub moves: f64,
    /// Moves a second of all threads together.
    pub moves_per_second: f64,
    /// A row for each largest tile.
    pub tiles: Vec<TileRow>,
}

/// How often a tile was reached.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TileRow {
    /// Its face value.
    pub tile: u64,
    /// The share of games that made it or a larger one.
    pub reach: f64,
    /// Its 95% interval.
    pub reach_ci95: Interval,
    /// The share of games that ended with it as the largest.
    pub end: f64,
}

/// Plays some games of a plan, in the order of their numbers.
pub(crate) fn outcomes(model: &Model, plan: &Plan<'_>, numbers: Range<u64>) -> Vec<Outcome> {
    model.session.play(&lesson(plan, numbers))
}

/// Plays and counts.
pub fn evaluate(model: &Model, plan: &Plan<'_>) -> Evaluation {
    let begun = Instant::now();
    let outcomes = outcomes(model, plan, 0..plan.games);
    summary(model, plan.seed, &outcomes, begun.elapsed().as_secs_f64())
}

/// Plays and counts, and writes a record of each game to a file.
///
/// # Errors
/// When the file cannot be written.
pub fn record(model: &Model, plan: &Plan<'_>, path: &Path) -> Result<Evaluation, LabError> {
    let begun = Instant::now();
    let game = (&*model.player.game, model.player.shape());
    let outcomes = records::write(path, game, |sink| {
        model.session.record(&lesson(plan, 0..plan.games), sink)
    })?;
    let seconds = begun.elapsed().as_secs_f64();
    Ok(summary(model, plan.seed, &outcomes, seconds))
}

fn lesson<'a>(plan: &Plan<'a>, numbers: Range<u64>) -> Lesson<'a> {
    Lesson {
        numbers,
        seed: plan.seed,
        threads: threads(plan.threads),
        stop: plan.stop,
        seen: plan.seen,
    }
}

/// The figures of games that were played.
pub(crate) fn summary(model: &Model, seed: u64, outcomes: &[Outcome], seconds: f64) -> Evaluation {
    let mut tally = Tally {
        seconds,
        ..Tally::default()
    };
    outcomes.iter().for_each(|outcome| tally.add(outcome));
    let scores: Vec<f64> = outcomes
        .iter()
        .map(|outcome| outcome.score as f64)
        .collect();
    let mut sorted: Vec<u64> = outcomes.iter().map(|outcome| outcome.score).collect();
    sorted.sort_unstable();
    let (mean, mean_ci95) = mean_interval(&scores);
    let row = |&tile: &u64| TileRow {
        tile,
        reach: tally.reach(tile),
        reach_ci95: share_interval(tally.reached(tile), tally.games),
        end: tally.end(tile),
    };
    Evaluation {
        game: model.player.game.clone(),
        board: model.player.shape().to_string(),
        games: tally.games,
        seed,
        search: "1ply",
        mean,
        mean_ci95,
        median: median(&sorted),
        max: tally.max,
        moves: if tally.games > 0 {
            tally.moves as f64 / tally.games as f64
        } else {
            0.0
        },
        moves_per_second: tally.speed(),
        tiles: tally.ended.keys().map(row).collect(),
    }
}
