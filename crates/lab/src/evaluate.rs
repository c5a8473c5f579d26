//! How good a player is: games without learning, every figure with its 95% interval.

use std::ops::Range;
use std::path::Path;
use std::time::Instant;

use afterstate::game::Shape;
use afterstate::tally::{Outcome, Tally};
use serde::Serialize;

use crate::LabError;
use crate::model::Model;
use crate::recorder::Sink;
use crate::records;
use crate::session::Lesson;
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

/// Someone who can be evaluated.
pub trait Contender {
    /// The game's name and the board.
    fn game(&self) -> (&str, Shape);

    /// How it chooses its moves, in a word.
    fn search(&self) -> &'static str;

    /// Plays some games, and hands over a record of each if someone takes it.
    fn play(&self, lesson: &Lesson<'_>, sink: Option<Sink<'_>>) -> Vec<Outcome>;
}

impl Contender for Model {
    fn game(&self) -> (&str, Shape) {
        (self.player.game(), self.player.shape())
    }

    fn search(&self) -> &'static str {
        "1ply"
    }

    fn play(&self, lesson: &Lesson<'_>, sink: Option<Sink<'_>>) -> Vec<Outcome> {
        match sink {
            Some(sink) => self.session.record(lesson, sink),
            None => self.session.play(lesson),
        }
    }
}

/// Plays and counts.
pub fn evaluate(contender: &dyn Contender, plan: &Plan<'_>) -> Evaluation {
    let begun = Instant::now();
    let outcomes = contender.play(&lesson(plan, 0..plan.games), None);
    let seconds = begun.elapsed().as_secs_f64();
    summary(contender, plan.seed, &outcomes, seconds)
}

/// Plays and counts, and writes a record of each game to a file.
///
/// # Errors
/// When the file cannot be written.
pub fn record(
    contender: &dyn Contender,
    plan: &Plan<'_>,
    path: &Path,
) -> Result<Evaluation, LabError> {
    let begun = Instant::now();
    let outcomes = records::write(path, contender.game(), |sink, failed| {
        let lesson = Lesson {
            stop: &|| failed() || (plan.stop)(),
            ..lesson(plan, 0..plan.games)
        };
        contender.play(&lesson, Some(sink))
    })?;
    let seconds = begun.elapsed().as_secs_f64();
    Ok(summary(contender, plan.seed, &outcomes, seconds))
}

fn lesson<'a>(plan: &Plan<'a>, numbers: Range<u64>) -> Lesson<'a> {
    Lesson {
        numbers,
        seed: plan.seed,
        threads: threads(plan.threads),
        stop: plan.stop,
        seen: plan.seen,
        updates: u64::MAX,
        learned: &|_| (),
    }
}

/// The figures of games that were played.
pub(crate) fn summary(
    contender: &dyn Contender,
    seed: u64,
    outcomes: &[Outcome],
    seconds: f64,
) -> Evaluation {
    let (game, shape) = contender.game();
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
        game: game.to_owned(),
        board: shape.to_string(),
        games: tally.games,
        seed,
        search: contender.search(),
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
