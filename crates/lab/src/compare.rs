//! Which of two players is better, and how sure that is.
//!
//! Game n of both has the same random stream. The games soon go different ways, so pairing gains
//! little, but the interval of the paired differences is right whether it does or not.

use std::time::Instant;

use afterstate::tally::Outcome;
use serde::{Deserialize, Serialize};

use crate::LabError;
use crate::control::{Meter, Task, Unit};
use crate::evaluate::{Contender, Evaluation, Plan, outcomes, summary};
use crate::statistics::{Interval, mean_interval};

/// Two players' figures and their difference; the JSON of `compare --json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// The first player.
    pub a: Evaluation,
    /// The second.
    pub b: Evaluation,
    /// The mean of A's scores minus the mean of B's.
    pub difference: f64,
    /// Its 95% interval; one game has none.
    pub difference_ci95: Option<Interval>,
    /// Which is better, if that is shown.
    pub better: Option<Side>,
}

/// One of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// The first.
    A,
    /// The second.
    B,
}

/// How many games one player plays at most before it is the other's turn, and how many at first: whoever stops a slow comparison early wants to know
/// something, too.
const TURN: u64 = 1000;
const FIRST_TURN: u64 = 64;

/// Plays the plan's games with both, in turns. An interval that leaves out 0 shows a difference.
///
/// # Errors
/// When the two play different games.
pub fn compare(a: &Contender, b: &Contender, plan: &Plan<'_>) -> Result<Comparison, LabError> {
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
    let meter = Meter::new(plan.control, Task::Compare, Unit::Games, 0, 2 * plan.games);
    let mut first = 0;
    while first < plan.games {
        let turn = first.clamp(FIRST_TURN, TURN);
        let numbers = first..(first + turn).min(plan.games);
        first = numbers.end;
        let play = |contender, games: &mut Vec<Outcome>, seconds: &mut f64| {
            let begun = Instant::now();
            games.extend(outcomes(contender, plan, numbers.clone(), &meter));
            *seconds += begun.elapsed().as_secs_f64();
        };
        play(a, &mut games_a, &mut seconds_a);
        play(b, &mut games_b, &mut seconds_b);
        if plan.control.is_cancelled() {
            break;
        }
    }
    // A stopped comparison counts the games that both have played.
    games_a.truncate(games_b.len());
    let pairs = games_a.iter().zip(&games_b);
    let differences: Vec<f64> = pairs
        .map(|(a, b)| a.score as f64 - b.score as f64)
        .collect();
    let (difference, difference_ci95) = mean_interval(&differences);
    let better = match difference_ci95 {
        Some([low, _]) if low > 0.0 => Some(Side::A),
        Some([_, high]) if high < 0.0 => Some(Side::B),
        _ => None,
    };
    Ok(Comparison {
        a: summary(a, plan.seed, &games_a, seconds_a),
        b: summary(b, plan.seed, &games_b, seconds_b),
        difference,
        difference_ci95,
        better,
    })
}
