//! Compares two players: which one is better, and with what confidence.
//!
//! Game n of both has the same random stream. The games soon diverge, so pairing gains little, but
//! the intervals of the paired differences are valid in any case: that of the mean is Student's over
//! the differences of the pairs, that of a win rate Newcombe's for paired proportions, that of the
//! median a bootstrap over the pairs (`statistics/paired.rs`).

use std::collections::BTreeSet;
use std::time::Instant;

use afterstate::tally::Outcome;
use serde::{Deserialize, Serialize};

use crate::LabError;
use crate::control::{Job, Meter, Status, Task, Unit};
use crate::evaluate::{Contender, EvalOptions, outcomes, summary};
use crate::report::Evaluation;
use crate::statistics::{Interval, PairCounts, mean_interval, median_difference};

/// The results of two players and their difference; the JSON of `compare --json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// The first player.
    pub a: Evaluation,
    /// The second.
    pub b: Evaluation,
    /// The mean of A's scores minus the mean of B's.
    pub difference: f64,
    /// Its 95% interval; `None` for a single game.
    pub difference_ci95: Option<Interval>,
    /// The better one, if the difference is significant.
    pub better: Option<Side>,
    /// The median of A's scores minus that of B's.
    #[serde(default)]
    pub median_difference: f64,
    /// Its 95% interval; `None` for a single game.
    #[serde(default)]
    pub median_difference_ci95: Option<Interval>,
    /// The differences of the win rates, for each tile that was the largest of a game of either.
    #[serde(default)]
    pub tiles: Vec<TileDifference>,
    /// Whether each pair of games had the same score, moves and largest tile: the two play alike.
    #[serde(default)]
    pub identical: bool,
    /// Whether they are also the same player: the same weights of the same network, the same file,
    /// or the same baseline.
    #[serde(default)]
    pub equal: bool,
}

/// How much more often A reached a tile than B.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TileDifference {
    /// The value of the tile.
    pub tile: u64,
    /// The share of A's games that reached it or a larger one, minus that of B's.
    pub reach_difference: f64,
    /// Its 95% interval.
    pub reach_difference_ci95: Interval,
}

/// One of the two players.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// The first.
    A,
    /// The second.
    B,
}

/// The largest number of games one player plays before the other's turn, and the initial number: a
/// slow comparison that is cancelled early has results of both.
const TURN: u64 = 1000;
const FIRST_TURN: u64 = 64;

/// Plays the games with both players in turns. An interval without 0 shows a difference.
///
/// # Errors
/// When the two play different games.
pub fn compare(
    a: &Contender,
    b: &Contender,
    options: &EvalOptions<'_>,
) -> Result<Comparison, LabError> {
    let job = Job {
        task: Task::Compare,
        subject: format!("{} and {}", a.label, b.label),
        total: Some(2 * options.games),
        unit: Unit::Games,
    };
    options.control.run(
        job,
        || compared(a, b, options),
        |done| {
            let played = done.as_ref().ok()?.a.scores.games;
            Some((Status::of(played >= options.games), 2 * played))
        },
    )
}

fn compared(
    a: &Contender,
    b: &Contender,
    options: &EvalOptions<'_>,
) -> Result<Comparison, LabError> {
    if (&a.game, a.shape) != (&b.game, b.shape) {
        return Err(LabError::DifferentGames {
            a: a.label.clone(),
            game_a: a.game_on(),
            b: b.label.clone(),
            game_b: b.game_on(),
        });
    }
    let (mut games_a, mut games_b) = (Vec::new(), Vec::new());
    let (mut seconds_a, mut seconds_b) = (0.0, 0.0);
    let meter = Meter::new(
        options.control,
        Task::Compare,
        Unit::Games,
        0,
        2 * options.games,
    );
    let mut first = 0;
    while first < options.games {
        let turn = first.clamp(FIRST_TURN, TURN);
        let numbers = first..(first + turn).min(options.games);
        first = numbers.end;
        let play = |contender, games: &mut Vec<Outcome>, seconds: &mut f64| {
            let begun = Instant::now();
            games.extend(outcomes(contender, options, numbers.clone(), &meter));
            *seconds += begun.elapsed().as_secs_f64();
        };
        play(a, &mut games_a, &mut seconds_a);
        play(b, &mut games_b, &mut seconds_b);
        if options.control.is_cancelled() {
            break;
        }
    }
    // A cancelled comparison counts the games that both have played.
    games_a.truncate(games_b.len());
    games_b.truncate(games_a.len());
    comparison(
        a,
        b,
        options.seed,
        (&games_a, seconds_a),
        (&games_b, seconds_b),
    )
}

/// The comparison of games that were played in these times.
fn comparison(
    a: &Contender,
    b: &Contender,
    seed: u64,
    (games_a, seconds_a): (&[Outcome], f64),
    (games_b, seconds_b): (&[Outcome], f64),
) -> Result<Comparison, LabError> {
    let pairs = || games_a.iter().zip(games_b);
    let differences: Vec<f64> = pairs()
        .map(|(a, b)| a.score as f64 - b.score as f64)
        .collect();
    let (difference, difference_ci95) = mean_interval(&differences);
    let better = match difference_ci95 {
        Some([low, _]) if low > 0.0 => Some(Side::A),
        Some([_, high]) if high < 0.0 => Some(Side::B),
        _ => None,
    };
    let scores: Vec<(u64, u64)> = pairs().map(|(a, b)| (a.score, b.score)).collect();
    let (median_difference, median_difference_ci95) = median_difference(&scores);
    let identical = !games_a.is_empty() && games_a == games_b;
    Ok(Comparison {
        a: summary(a, seed, games_a, seconds_a),
        b: summary(b, seed, games_b, seconds_b),
        difference,
        difference_ci95,
        better,
        median_difference,
        median_difference_ci95,
        tiles: tiles(games_a, games_b),
        identical,
        equal: identical && are_equal(a, b)?,
    })
}

/// The differences of the win rates of games that are paired.
fn tiles(games_a: &[Outcome], games_b: &[Outcome]) -> Vec<TileDifference> {
    let both = games_a.iter().chain(games_b);
    let tiles: BTreeSet<u64> = both.map(|game| game.largest).collect();
    let row = |tile: u64| {
        let pairs = games_a.iter().zip(games_b);
        let hits = pairs.map(|(a, b)| (a.largest >= tile, b.largest >= tile));
        let (reach_difference, reach_difference_ci95) = PairCounts::of(hits).difference();
        TileDifference {
            tile,
            reach_difference,
            reach_difference_ci95,
        }
    };
    tiles.into_iter().map(row).collect()
}

/// Whether two players that play alike are the same.
fn are_equal(a: &Contender, b: &Contender) -> Result<bool, LabError> {
    if let (Some(a), Some(b)) = (a.agent.digest(), b.agent.digest()) {
        return Ok(a == b);
    }
    match (a.model.clone(), b.model.clone()) {
        (None, None) => Ok(a.label == b.label),
        (Some(mut a), Some(mut b)) => {
            a.hash()?;
            b.hash()?;
            Ok(a.sha256 == b.sha256)
        }
        _ => Ok(false),
    }
}
