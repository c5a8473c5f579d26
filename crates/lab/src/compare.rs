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
use crate::part::{PartInfo, PlayedGames};
use crate::report::Evaluation;
use crate::statistics::{
    ERROR_RATE, Interval, PairCounts, anytime_interval, mean_interval, median_difference,
};

/// The results of two players and their difference; the JSON of `compare --json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// The first player.
    pub a: Evaluation,
    /// The second.
    pub b: Evaluation,
    /// The mean of A's scores minus the mean of B's.
    pub difference: f64,
    /// Its 95% interval, in a sequential test one that is valid at every look; `None` for too few
    /// games.
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
    /// The result of the sequential test, if there was one: [`Comparison::better`] is then its
    /// verdict, and there are no intervals of medians and win rates, which would not be valid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sequential: Option<SequentialResult>,
}

/// A part of a comparison; the JSON of `compare --part --json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ComparisonPart {
    /// The results of its own games.
    #[serde(flatten)]
    pub comparison: Comparison,
    /// By which it is merged.
    pub part: PartInfo,
}

/// When a comparison stops before its last game.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SequentialTest {
    /// Also stop once the difference of the means is surely smaller than this, on either side.
    pub margin: Option<f64>,
}

/// The result of a sequential test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SequentialResult {
    /// The probability that the verdict is wrong, however often it was looked at; asymptotically.
    pub error_rate: f64,
    /// The margin, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub margin: Option<f64>,
    /// What it shows.
    pub verdict: SequentialVerdict,
}

/// What a sequential test shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SequentialVerdict {
    /// The first is better.
    A,
    /// The second is better.
    B,
    /// The difference is smaller than the margin.
    WithinMargin,
    /// Both are the same player, so no further game can differ.
    Equal,
    /// All games were played, and nothing is sure.
    Undecided,
}

impl SequentialTest {
    /// The result after pairs of games whose differences have this interval, of players that are the
    /// same or not.
    fn result(&self, interval: Option<Interval>, are_equal: bool) -> SequentialResult {
        let verdict = match (interval, self.margin) {
            _ if are_equal => SequentialVerdict::Equal,
            (Some([low, _]), _) if low > 0.0 => SequentialVerdict::A,
            (Some([_, high]), _) if high < 0.0 => SequentialVerdict::B,
            (Some([low, high]), Some(margin)) if -margin < low && high < margin => {
                SequentialVerdict::WithinMargin
            }
            _ => SequentialVerdict::Undecided,
        };
        SequentialResult {
            error_rate: ERROR_RATE,
            margin: self.margin,
            verdict,
        }
    }
}

impl SequentialResult {
    /// Whether it shows anything.
    pub fn is_decided(&self) -> bool {
        self.verdict != SequentialVerdict::Undecided
    }

    /// The better player.
    fn better(&self) -> Option<Side> {
        match self.verdict {
            SequentialVerdict::A => Some(Side::A),
            SequentialVerdict::B => Some(Side::B),
            SequentialVerdict::WithinMargin
            | SequentialVerdict::Equal
            | SequentialVerdict::Undecided => None,
        }
    }
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
    compare_part(a, b, options).map(|part| part.comparison)
}

/// The same, and stops as soon as the verdict of a sequential test is sure.
///
/// # Errors
/// As [`compare`].
pub fn compare_until_sure(
    a: &Contender,
    b: &Contender,
    options: &EvalOptions<'_>,
    test: SequentialTest,
) -> Result<Comparison, LabError> {
    run(a, b, options, Some(test)).map(|part| part.comparison)
}

/// The same, with every outcome, so that the parts can be merged.
///
/// # Errors
/// As [`compare`].
pub fn compare_part(
    a: &Contender,
    b: &Contender,
    options: &EvalOptions<'_>,
) -> Result<ComparisonPart, LabError> {
    run(a, b, options, None)
}

fn run(
    a: &Contender,
    b: &Contender,
    options: &EvalOptions<'_>,
    test: Option<SequentialTest>,
) -> Result<ComparisonPart, LabError> {
    let numbers = options.numbers();
    let games = numbers.end - numbers.start;
    let job = Job {
        task: Task::Compare,
        subject: format!("{} and {}", a.label, b.label),
        total: Some(2 * games),
        unit: Unit::Games,
    };
    options.control.run(
        job,
        || compared(a, b, options, test),
        |done| {
            let comparison = &done.as_ref().ok()?.comparison;
            let played = comparison.a.scores.games;
            let test = comparison.sequential.as_ref();
            let decided = test.is_some_and(SequentialResult::is_decided);
            Some((Status::of(decided || played >= games), 2 * played))
        },
    )
}

fn compared(
    a: &Contender,
    b: &Contender,
    options: &EvalOptions<'_>,
    test: Option<SequentialTest>,
) -> Result<ComparisonPart, LabError> {
    if (&a.game, a.shape) != (&b.game, b.shape) {
        return Err(LabError::DifferentGames {
            a: a.label.clone(),
            game_a: a.game_on(),
            b: b.label.clone(),
            game_b: b.game_on(),
        });
    }
    let (mut played_a, mut played_b) = (PlayedGames::default(), PlayedGames::default());
    let mut left = options.numbers();
    let total = 2 * (left.end - left.start);
    let mut same = false;
    let meter = Meter::new(options.control, Task::Compare, Unit::Games, 0, total);
    while !left.is_empty() && !options.control.is_cancelled() {
        let turn = (played_a.outcomes.len() as u64).clamp(FIRST_TURN, TURN);
        let is_first = played_a.outcomes.is_empty();
        let numbers = left.start..(left.start + turn).min(left.end);
        left.start = numbers.end;
        for (contender, played) in [(a, &mut played_a), (b, &mut played_b)] {
            let begun = Instant::now();
            let found = outcomes(contender, options, numbers.clone(), &meter);
            played.outcomes.extend(found);
            played.seconds += begun.elapsed().as_secs_f64();
        }
        let games = [&*played_a.outcomes, &played_b.outcomes];
        let Some(test) = test else { continue };
        // Asked once: players that differ later are not the same.
        if is_first {
            same = !games[0].is_empty()
                && games[0] == games[1]
                && same_search(a, b)
                && are_equal(a, b)?;
        }
        let result = test.result(anytime_interval(&differences(games)), same);
        if result.is_decided() {
            break;
        }
    }
    // A cancelled comparison counts the games that both have played.
    played_a.outcomes.truncate(played_b.outcomes.len());
    played_b.outcomes.truncate(played_a.outcomes.len());
    let [of_a, of_b] = [(a, &played_a), (b, &played_b)]
        .map(|(player, played)| summary(player, options.seed, &played.outcomes, played.seconds));
    let games = [&*played_a.outcomes, &played_b.outcomes];
    let mut comparison = Comparison::of([of_a, of_b], games, || are_equal(a, b))?;
    if let Some(test) = test {
        let interval = anytime_interval(&differences(games));
        comparison.set_sequential(interval, test.result(interval, same));
    }
    let part = options.part_info(vec![played_a, played_b]);
    Ok(ComparisonPart { comparison, part })
}

impl Comparison {
    /// Makes it that of a sequential test with this interval of the difference.
    fn set_sequential(&mut self, interval: Option<Interval>, result: SequentialResult) {
        self.difference_ci95 = interval;
        self.better = result.better();
        self.median_difference_ci95 = None;
        self.tiles.clear();
        self.sequential = Some(result);
    }

    /// The comparison of players with these results and games; whether they are the same player is
    /// asked for only if they play alike.
    pub(crate) fn of<E>(
        [a, b]: [Evaluation; 2],
        [games_a, games_b]: [&[Outcome]; 2],
        are_equal: impl FnOnce() -> Result<bool, E>,
    ) -> Result<Self, E> {
        let pairs = || games_a.iter().zip(games_b);
        let differences = differences([games_a, games_b]);
        let (difference, difference_ci95) = mean_interval(&differences);
        let better = match difference_ci95 {
            Some([low, _]) if low > 0.0 => Some(Side::A),
            Some([_, high]) if high < 0.0 => Some(Side::B),
            _ => None,
        };
        let scores: Vec<(u64, u64)> = pairs().map(|(a, b)| (a.score, b.score)).collect();
        let (median_difference, median_difference_ci95) = median_difference(&scores);
        let identical = !games_a.is_empty() && games_a == games_b;
        Ok(Self {
            a,
            b,
            difference,
            difference_ci95,
            better,
            median_difference,
            median_difference_ci95,
            tiles: tiles(games_a, games_b),
            identical,
            equal: identical && are_equal()?,
            sequential: None,
        })
    }
}

/// The differences of the scores of games that are paired.
fn differences([games_a, games_b]: [&[Outcome]; 2]) -> Vec<f64> {
    let pairs = games_a.iter().zip(games_b);
    pairs
        .map(|(a, b)| a.score as f64 - b.score as f64)
        .collect()
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

/// Whether two players search alike, and as far in every game.
fn same_search(a: &Contender, b: &Contender) -> bool {
    a.agent.search() == b.agent.search() && !a.agent.is_timed()
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

#[cfg(test)]
mod tests {
    use super::*;

    /// 2,000 differences of 3 and -1, or turned: the mean is 1 or -1 and the deviation 2, so the interval
    /// has a half width of 0.14.
    #[test]
    fn verdicts_follow_the_interval() {
        let verdict = |turned: f64, offset: f64, margin: Option<f64>| {
            let each = (0..2_000).map(|n| turned * (if n % 2 == 0 { 3.0 } else { -1.0 }) + offset);
            let differences: Vec<f64> = each.collect();
            let test = SequentialTest { margin };
            test.result(anytime_interval(&differences), false).verdict
        };
        assert_eq!(verdict(1.0, 0.0, None), SequentialVerdict::A);
        assert_eq!(verdict(-1.0, 0.0, None), SequentialVerdict::B);
        assert_eq!(verdict(1.0, -1.0, None), SequentialVerdict::Undecided);
        assert_eq!(verdict(1.0, -1.0, Some(0.1)), SequentialVerdict::Undecided);
        assert_eq!(
            verdict(1.0, -1.0, Some(0.2)),
            SequentialVerdict::WithinMargin
        );
        // A difference that is shown is one, within the margin or not.
        assert_eq!(verdict(1.0, 0.0, Some(5.0)), SequentialVerdict::A);
    }
}
