//! Evaluation: games without learning, every result with its 95% interval.

use std::convert::Infallible;
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Instant, SystemTime};

use afterstate::format::episode::EpisodeRecord;
use afterstate::game::Shape;
use afterstate::tally::{Outcome, Tally};
use sha2::{Digest, Sha256};

use crate::LabError;
use crate::agent::{Agent, Baseline, RoundSpec};
use crate::control::{Control, Event, Job, Meter, Status, Task, Unit};
use crate::disk::hex;
use crate::error::game_on;
use crate::games;
use crate::model::Model;
use crate::part::{EvaluationPart, Part, PartError, PartInfo, PlayedGames};
use crate::recorder::InOrder;
use crate::records;
use crate::report::{Evaluation, ModelInfo, Scores, TileRow};
use crate::seal::own::{self, OwnGames};
use crate::seal::{Seal, number_of};
use crate::search::SearchSpec;
use crate::share::threads;
use crate::spec::AgentSpec;
use crate::statistics::{mean_interval, median, share_interval};

/// The options of an evaluation.
pub struct EvalOptions<'a> {
    /// The number of games; game n of a seed has the same random stream for every player and any
    /// number of threads.
    pub games: u64,
    /// Which part of these games is played.
    pub part: Part,
    /// The seed.
    pub seed: u64,
    /// Threads; 0 means one for each core.
    pub threads: usize,
    /// Events and cancellation: a cancelled evaluation counts the games it has played.
    pub control: &'a Control,
}

impl EvalOptions<'_> {
    /// The numbers of the games to play.
    pub(crate) fn numbers(&self) -> Range<u64> {
        self.part.games(self.games)
    }

    /// What a part adds to its report.
    pub(crate) fn part_info(&self, played: Vec<PlayedGames>) -> PartInfo {
        PartInfo {
            part: self.part,
            games_of_all: self.games,
            played,
        }
    }
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
    /// Whether symmetric boards have the same value.
    pub is_symmetric: bool,
    /// The file it was read from.
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
            is_symmetric: true,
            model: None,
        })
    }

    /// An agent in memory, such as one that a trainer lends.
    pub fn of_agent(label: impl Into<String>, spec: &AgentSpec, agent: Arc<dyn Agent>) -> Self {
        Self {
            label: label.into(),
            game: spec.game().to_owned(),
            shape: spec.shape(),
            agent,
            is_symmetric: spec.is_symmetric(),
            model: None,
        }
    }

    /// The same contender, searching over its values.
    ///
    /// # Errors
    /// When it has no values, or the search does not fit its game.
    pub fn with_search(self, spec: &SearchSpec) -> Result<Self, LabError> {
        Ok(Self {
            agent: self.agent.with_search(spec)?,
            ..self
        })
    }

    /// The game and the board, as in `2048 on 4x4`.
    pub fn game_on(&self) -> String {
        game_on(&self.game, self.shape)
    }
}

impl From<&Model> for Contender {
    fn from(model: &Model) -> Self {
        let (label, agent) = (model.path.display().to_string(), Arc::clone(&model.agent));
        Self {
            model: Some(model.info()),
            ..Self::of_agent(label, &model.spec, agent)
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
    evaluate_part(contender, options).evaluation
}

/// The same, with every outcome, so that the parts can be merged.
pub fn evaluate_part(contender: &Contender, options: &EvalOptions<'_>) -> EvaluationPart {
    let evaluation = evaluated(contender, options, |meter| {
        Ok::<_, Infallible>(outcomes(contender, options, options.numbers(), meter))
    });
    evaluation.unwrap_or_else(|never| match never {})
}

/// The same, and writes a record of each game to a file, and beside it the player's own seal.
///
/// # Errors
/// When a file cannot be written, there are the records of a match with their seal, or the options
/// name a part of the games.
pub fn record(
    contender: &Contender,
    options: &EvalOptions<'_>,
    path: &Path,
) -> Result<Evaluation, LabError> {
    if !options.part.is_whole() {
        return Err(PartError::Records.into());
    }
    Seal::check_place(path)?;
    let started = SystemTime::now();
    let hints = games::rules(&contender.game)?.shows_hint(contender.shape);
    // Of what is written here: another process may replace the file before it could be read again.
    let digest = Mutex::new(Sha256::new());
    let game = (&*contender.game, contender.shape);
    let recorded = evaluated(contender, options, |meter| {
        records::write(path, game, |sink, failed| {
            let hashed = |record: &EpisodeRecord| {
                let mut digest = digest.lock().unwrap_or_else(PoisonError::into_inner);
                digest.update(format!("{}\n", record.line(hints)));
                sink(record);
            };
            let in_order = InOrder::new(&hashed);
            let numbered = |record: &EpisodeRecord| {
                if let Some(number) = number_of(&record.opened.tag) {
                    in_order.record(number, record.clone());
                }
            };
            let round = RoundSpec {
                stop: &|| failed() || options.control.is_cancelled(),
                on_game: &|outcome| meter.game(outcome),
                ..RoundSpec::new(options.numbers(), options.seed, threads(options.threads))
            };
            contender.agent.play(&round, Some(&numbered))
        })
    })?;
    let evaluation = recorded.evaluation;
    let of = OwnGames {
        game: &contender.game,
        shape: contender.shape,
        games: evaluation.scores.games,
        seed: options.seed,
        draws_per_move: contender.agent.draws_per_move(),
        player: &contender.label,
        started,
        records_sha256: hex(&digest
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner)
            .finalize()),
    };
    own::write(path, &of)?;
    Ok(evaluation)
}

/// Reports the games that `play` plays, with the events of an evaluation.
fn evaluated<E: std::fmt::Display>(
    contender: &Contender,
    options: &EvalOptions<'_>,
    play: impl FnOnce(&Meter<'_>) -> Result<Vec<Outcome>, E>,
) -> Result<EvaluationPart, E> {
    let numbers = options.numbers();
    let (control, games) = (options.control, numbers.end - numbers.start);
    let job = Job {
        task: Task::Evaluate,
        subject: contender.label.clone(),
        total: Some(games),
        unit: Unit::Games,
    };
    let work = || {
        let meter = Meter::new(control, Task::Evaluate, Unit::Games, 0, games);
        let begun = Instant::now();
        let outcomes = play(&meter)?;
        let seconds = begun.elapsed().as_secs_f64();
        let evaluation = summary(contender, options.seed, &outcomes, seconds);
        control.emit(Event::Evaluation(Box::new(evaluation.clone())));
        let part = options.part_info(vec![PlayedGames { seconds, outcomes }]);
        Ok(EvaluationPart { evaluation, part })
    };
    control.run(job, work, |done| {
        let played = done.as_ref().ok()?.evaluation.scores.games;
        Some((Status::of(played >= games), played))
    })
}

/// The results of finished games.
pub(crate) fn summary(
    contender: &Contender,
    seed: u64,
    outcomes: &[Outcome],
    seconds: f64,
) -> Evaluation {
    Evaluation {
        model: contender.model.clone(),
        player: contender.model.is_none().then(|| contender.label.clone()),
        game: contender.game.clone(),
        board: contender.shape.to_string(),
        seed,
        search: contender.agent.search().to_owned(),
        scores: scores(outcomes, seconds),
    }
}

/// The scores of games that took this time together.
pub(crate) fn scores(outcomes: &[Outcome], seconds: f64) -> Scores {
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
    Scores {
        games: tally.games,
        mean,
        mean_ci95,
        median: median(&sorted),
        max: tally.max,
        moves: tally.moves_per_game(),
        moves_per_second: tally.speed(),
        tiles: tally.ended.keys().map(row).collect(),
    }
}
