//! Evaluation: games without learning, every result with its 95% interval.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use afterstate::game::Shape;
use afterstate::tally::{Outcome, Tally};

use crate::LabError;
use crate::agent::{Agent, Baseline, RoundSpec};
use crate::control::{Control, Event, Meter, Task, Unit};
use crate::error::game_on;
use crate::model::Model;
use crate::records;
use crate::report::{Evaluation, ModelInfo, TileRow};
use crate::share::threads;
use crate::statistics::{mean_interval, median, share_interval};

/// The options of an evaluation.
pub struct EvalOptions<'a> {
    /// The number of games; game n of a seed has the same random stream for every player and any
    /// number of threads.
    pub games: u64,
    /// The seed.
    pub seed: u64,
    /// Threads; 0 means one for each core.
    pub threads: usize,
    /// Events and cancellation: a cancelled evaluation counts the games it has played.
    pub control: &'a Control,
}

/// An agent that can be evaluated and compared: a model, a baseline, anything with a game.
#[derive(Clone)]
pub struct Contender {
    /// Its name: the path of its model, or the name of a baseline.
    pub label: String,
    /// The game.
    pub game: String,
    /// The board.
    pub shape: Shape,
    /// The agent.
    pub agent: Arc<dyn Agent>,
    /// The model it was read from.
    pub model: Option<ModelInfo>,
}

impl Contender {
    /// A baseline.
    ///
    /// # Errors
    /// When there is no such game.
    pub fn baseline(baseline: Baseline, game: &str, shape: Shape) -> Result<Self, LabError> {
        Ok(Self {
            label: baseline.name().to_owned(),
            game: game.to_owned(),
            shape,
            agent: baseline.agent(game, shape)?,
            model: None,
        })
    }

    /// The game and the board, as in `2048 on 4x4`.
    pub fn game_on(&self) -> String {
        game_on(&self.game, self.shape)
    }
}

impl From<&Model> for Contender {
    fn from(model: &Model) -> Self {
        Self {
            label: model.path.display().to_string(),
            game: model.spec.game().to_owned(),
            shape: model.spec.shape(),
            agent: Arc::clone(&model.agent),
            model: Some(model.info()),
        }
    }
}

/// Plays some of the games, in the order of their numbers.
pub(crate) fn outcomes(
    contender: &Contender,
    options: &EvalOptions<'_>,
    numbers: Range<u64>,
    meter: &Meter<'_>,
) -> Vec<Outcome> {
    let round = RoundSpec {
        stop: &|| options.control.is_cancelled(),
        on_game: &|outcome| meter.game(outcome),
        ..RoundSpec::new(numbers, options.seed, threads(options.threads))
    };
    contender.agent.play(&round, None)
}

/// Plays the games and reports the results.
pub fn evaluate(contender: &Contender, options: &EvalOptions<'_>) -> Evaluation {
    let meter = Meter::new(
        options.control,
        Task::Evaluate,
        Unit::Games,
        0,
        options.games,
    );
    let begun = Instant::now();
    let outcomes = outcomes(contender, options, 0..options.games, &meter);
    let seconds = begun.elapsed().as_secs_f64();
    finished(
        options,
        summary(contender, options.seed, &outcomes, seconds),
    )
}

/// The same, and writes a record of each game to a file.
///
/// # Errors
/// When the file cannot be written.
pub fn record(
    contender: &Contender,
    options: &EvalOptions<'_>,
    path: &Path,
) -> Result<Evaluation, LabError> {
    let meter = Meter::new(
        options.control,
        Task::Evaluate,
        Unit::Games,
        0,
        options.games,
    );
    let begun = Instant::now();
    let game = (&*contender.game, contender.shape);
    let outcomes = records::write(path, game, |sink, failed| {
        let round = RoundSpec {
            stop: &|| failed() || options.control.is_cancelled(),
            on_game: &|outcome| meter.game(outcome),
            ..RoundSpec::new(0..options.games, options.seed, threads(options.threads))
        };
        contender.agent.play(&round, Some(sink))
    })?;
    let seconds = begun.elapsed().as_secs_f64();
    Ok(finished(
        options,
        summary(contender, options.seed, &outcomes, seconds),
    ))
}

fn finished(options: &EvalOptions<'_>, evaluation: Evaluation) -> Evaluation {
    options
        .control
        .emit(Event::Evaluation(Box::new(evaluation.clone())));
    evaluation
}

/// The results of finished games.
pub(crate) fn summary(
    contender: &Contender,
    seed: u64,
    outcomes: &[Outcome],
    seconds: f64,
) -> Evaluation {
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
        model: contender.model.clone(),
        game: contender.game.clone(),
        board: contender.shape.to_string(),
        games: tally.games,
        seed,
        search: contender.agent.search().to_owned(),
        mean,
        mean_ci95,
        median: median(&sorted),
        max: tally.max,
        moves: tally.moves_per_game(),
        moves_per_second: tally.speed(),
        tiles: tally.ended.keys().map(row).collect(),
    }
}
