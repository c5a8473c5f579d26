//! A learning rate as a function of the games finished so far.
//!
//! rate(n) = the learning rate of the last step whose `from` is at most n. A constant is a single
//! step from game 0, so one representation serves every kind: constant, stepped, and (by
//! [`Schedule::then`]) one schedule after another. In a recipe it is a number or a list:
//!
//! ```toml
//! learning_rate = 0.1
//! learning_rate = [{ from = 0, learning_rate = 0.1 }, { from = 50000, learning_rate = 0.01 }]
//! ```
//!
//! Every `Schedule` is valid: it has a rate for every game, and every rate is above zero and
//! finite.

use std::fmt;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The largest accepted rate: TD uses rates below 1 and TC about 1, so a larger rate is a typing
/// error (10 for 1.0).
pub const MAX_RATE: f64 = 10.0;

/// The largest number of steps of a schedule; more would make a recipe longer than its file may be.
pub const MAX_STEPS: usize = 1000;

/// A rate that holds from this number of finished games on.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RateStep {
    /// Number of finished games at which the step begins.
    pub from: u64,
    /// The learning rate from there on. It is an `f64` so that 0.1 is written back as 0.1.
    pub learning_rate: f64,
}

/// A learning rate over the games of a run.
///
/// ```
/// use afterstate::learn::schedule::{RateStep, Schedule};
///
/// let schedule = Schedule::steps(vec![
///     RateStep { from: 0, learning_rate: 0.1 },
///     RateStep { from: 50_000, learning_rate: 0.01 },
/// ])?;
/// assert_eq!(schedule.at(49_999), 0.1);
/// assert_eq!(schedule.at(50_000), 0.01);
///
/// let read: Schedule = serde_json::from_str("0.1")?;
/// assert_eq!(read, Schedule::constant(0.1)?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Form", into = "Form")]
pub struct Schedule {
    /// Never empty; the first starts at 0, and the starts increase.
    steps: Vec<RateStep>,
}

/// Why a list of steps is not a schedule. Steps are counted from 1, in file order.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum ScheduleError {
    /// There is no step at all.
    #[error("the list of steps is empty: expected at least one, from game 0")]
    Empty,
    /// Too many steps.
    #[error("the list has {found} steps: expected at most {MAX_STEPS}")]
    TooMany {
        /// The number of steps.
        found: usize,
    },
    /// The games before the first step would have no rate.
    #[error("the first step begins at game {found}: expected 0, or the games before have no rate")]
    FirstStep {
        /// Where the first step begins.
        found: u64,
    },
    /// A step that begins where, or before, the previous one does.
    #[error("step {step} begins at game {found}: expected more than {previous}, where step {} begins", step - 1)]
    Order {
        /// The invalid step.
        step: usize,
        /// Where it begins.
        found: u64,
        /// Where the step before it begins.
        previous: u64,
    },
    /// A rate that is NaN, not positive, or implausibly large.
    #[error(
        "the learning rate of step {step} is {found:?}: expected a number above 0 and at most {MAX_RATE}"
    )]
    Rate {
        /// The invalid step.
        step: usize,
        /// Its rate.
        found: f64,
    },
    /// A step beyond the largest number of games that a recipe can hold.
    #[error("step {step} begins at game {found}: expected at most {}", i64::MAX)]
    TooLate {
        /// The invalid step.
        step: usize,
        /// Where it begins.
        found: u64,
    },
}

impl Schedule {
    /// The same rate for every game.
    pub fn constant(rate: f64) -> Result<Schedule, ScheduleError> {
        Schedule::steps(vec![RateStep {
            from: 0,
            learning_rate: rate,
        }])
    }

    /// A rate that changes at given numbers of games: the first step starts at 0, and each starts
    /// later than the one before it.
    pub fn steps(steps: Vec<RateStep>) -> Result<Schedule, ScheduleError> {
        let first = steps.first().ok_or(ScheduleError::Empty)?;
        if first.from != 0 {
            return Err(ScheduleError::FirstStep { found: first.from });
        }
        if steps.len() > MAX_STEPS {
            return Err(ScheduleError::TooMany { found: steps.len() });
        }
        for (i, pair) in steps.windows(2).enumerate() {
            let [previous, found] = [pair[0].from, pair[1].from];
            if found <= previous {
                return Err(ScheduleError::Order {
                    step: i + 2,
                    found,
                    previous,
                });
            }
        }
        for (
            step,
            &RateStep {
                from,
                learning_rate,
            },
        ) in (1..).zip(&steps)
        {
            // Checked as the f32 that learners use: 1e-60 would silently be a rate of 0 there. NaN
            // compares false with everything, and so fails.
            if !(learning_rate as f32 > 0.0 && learning_rate <= MAX_RATE) {
                let found = learning_rate;
                return Err(ScheduleError::Rate { step, found });
            }
            // The largest integer in TOML: every valid schedule can be written to a recipe.
            if i64::try_from(from).is_err() {
                return Err(ScheduleError::TooLate { step, found: from });
            }
        }
        Ok(Schedule { steps })
    }

    /// One schedule after another: this one up to game `from`, then `next`, which counts its own
    /// games from there.
    pub fn then(self, from: u64, next: Schedule) -> Result<Schedule, ScheduleError> {
        let earlier = self.steps.into_iter().filter(|step| step.from < from);
        let later = next.steps.into_iter().map(|step| RateStep {
            from: step.from.saturating_add(from),
            ..step
        });
        Schedule::steps(earlier.chain(later).collect())
    }

    /// This schedule up to game `from`, and `next` from there on; both count the games of the run.
    /// A step that would change nothing is left out.
    pub fn changed_at(&self, from: u64, next: &Schedule) -> Result<Schedule, ScheduleError> {
        let earlier = self.steps.iter().filter(|step| step.from < from);
        let mut steps: Vec<RateStep> = earlier.copied().collect();
        let begun = next.steps.partition_point(|step| step.from <= from);
        let first = RateStep {
            from,
            ..next.steps[begun.saturating_sub(1)]
        };
        if steps.last().map(|step| step.learning_rate) != Some(first.learning_rate) {
            steps.push(first);
        }
        steps.extend(&next.steps[begun..]);
        Schedule::steps(steps)
    }

    /// Whether both have the same rate for each game before `games`.
    pub fn agrees_before(&self, other: &Schedule, games: u64) -> bool {
        let starts = self.steps.iter().chain(&other.steps).map(|step| step.from);
        starts
            .filter(|&from| from < games)
            .all(|from| self.at(from) == other.at(from))
    }

    /// The rate after `games` finished games.
    pub fn at(&self, games: u64) -> f32 {
        let begun = self.steps.partition_point(|step| step.from <= games);
        self.steps[begun.saturating_sub(1)].learning_rate as f32
    }

    /// The steps, first to last; a constant is one step.
    pub fn as_steps(&self) -> &[RateStep] {
        &self.steps
    }
}

/// In a few words, as titles show it: `0.1`, `0.1, then 0.01 from game 50000`, and for more rates
/// `0.2 to 0.01 in 4 steps from game 20000 to 200000`.
impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.as_steps() {
            [] => Ok(()),
            [only] => write!(f, "{}", only.learning_rate),
            [first, last] => {
                let (from, rate) = (last.from, last.learning_rate);
                write!(f, "{}, then {rate} from game {from}", first.learning_rate)
            }
            [first, second, .., last] => {
                let (steps, rate) = (self.as_steps().len() - 1, last.learning_rate);
                write!(
                    f,
                    "{} to {rate} in {steps} steps from game {} to {}",
                    first.learning_rate, second.from, last.from
                )
            }
        }
    }
}

impl Default for Schedule {
    /// 0.1 throughout: the usual rate of TD(0).
    fn default() -> Schedule {
        Schedule {
            steps: vec![RateStep {
                from: 0,
                learning_rate: 0.1,
            }],
        }
    }
}

/// The serialised form: a number if the rate is constant, else a list of steps.
#[derive(Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "expected a number such as 0.1, or steps such as \
                 [{ from = 0, learning_rate = 0.1 }, { from = 50000, learning_rate = 0.01 }]"
)]
enum Form {
    Constant(f64),
    Steps(Vec<RateStep>),
}

impl TryFrom<Form> for Schedule {
    type Error = ScheduleError;

    fn try_from(form: Form) -> Result<Schedule, ScheduleError> {
        match form {
            Form::Constant(rate) => Schedule::constant(rate),
            Form::Steps(steps) => Schedule::steps(steps),
        }
    }
}

impl From<Schedule> for Form {
    fn from(schedule: Schedule) -> Form {
        match schedule.steps[..] {
            [step] => Form::Constant(step.learning_rate),
            _ => Form::Steps(schedule.steps),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(pairs: &[(u64, f64)]) -> Result<Schedule, ScheduleError> {
        let step = |&(from, learning_rate)| RateStep {
            from,
            learning_rate,
        };
        Schedule::steps(pairs.iter().map(step).collect())
    }

    #[test]
    fn a_constant_holds_for_every_game() -> Result<(), ScheduleError> {
        let schedule = Schedule::constant(0.1)?;
        assert_eq!(schedule.at(0), 0.1);
        assert_eq!(schedule.at(u64::MAX), 0.1);
        assert_eq!(schedule, Schedule::default());
        Ok(())
    }

    #[test]
    fn titles_show_it_in_a_few_words() -> Result<(), ScheduleError> {
        let shown = |pairs: &[(u64, f64)]| steps(pairs).map(|schedule| schedule.to_string());
        assert_eq!(shown(&[(0, 0.1)])?, "0.1");
        let two = shown(&[(0, 0.1), (3000, 0.01)])?;
        assert_eq!(two, "0.1, then 0.01 from game 3000");
        let three = shown(&[(0, 0.1), (10, 0.01), (20, 0.001)])?;
        assert_eq!(three, "0.1 to 0.001 in 2 steps from game 10 to 20");
        Ok(())
    }

    #[test]
    fn a_step_holds_from_its_game_on() -> Result<(), ScheduleError> {
        let schedule = steps(&[(0, 0.1), (10, 0.01), (20, 0.001)])?;
        let rates: Vec<f32> = [0, 9, 10, 19, 20, 1_000].map(|n| schedule.at(n)).into();
        assert_eq!(rates, [0.1, 0.1, 0.01, 0.01, 0.001, 0.001]);
        Ok(())
    }

    #[test]
    fn one_after_another_cuts_the_first_and_shifts_the_second() -> Result<(), ScheduleError> {
        let first = steps(&[(0, 0.1), (10, 0.05), (90, 0.02)])?;
        let second = steps(&[(0, 1.0), (5, 0.5)])?;
        let both = first.clone().then(50, second.clone())?;
        assert_eq!(both, steps(&[(0, 0.1), (10, 0.05), (50, 1.0), (55, 0.5)])?);
        assert_eq!(first.clone().then(0, second.clone())?, second);
        assert!(matches!(
            first.then(u64::MAX, second),
            Err(ScheduleError::Order { .. } | ScheduleError::TooLate { .. })
        ));
        Ok(())
    }

    #[test]
    fn invalid_steps_are_refused_with_the_reason() {
        assert_eq!(steps(&[]), Err(ScheduleError::Empty));
        let late = steps(&[(5, 0.1)]);
        assert_eq!(late, Err(ScheduleError::FirstStep { found: 5 }));
        for found in [10, 9] {
            let step = 3;
            let previous = 10;
            let result = steps(&[(0, 0.1), (10, 0.1), (found, 0.1)]);
            let expected = ScheduleError::Order {
                step,
                found,
                previous,
            };
            assert_eq!(result, Err(expected));
        }
        let many: Vec<(u64, f64)> = (0..=MAX_STEPS as u64).map(|from| (from, 0.1)).collect();
        let found = many.len();
        assert_eq!(steps(&many), Err(ScheduleError::TooMany { found }));
        assert!(
            steps(
                &many[1..]
                    .iter()
                    .map(|&(from, rate)| (from - 1, rate))
                    .collect::<Vec<_>>()
            )
            .is_ok()
        );
        let result = steps(&[(0, 0.1), (u64::MAX, 0.1)]);
        assert!(matches!(
            result,
            Err(ScheduleError::TooLate { step: 2, .. })
        ));
    }

    #[test]
    fn rates_are_positive_finite_and_plausible() {
        for rate in [0.0, -0.1, 1e-60, 10.5, f64::INFINITY, f64::NAN] {
            let result = steps(&[(0, 0.1), (1, rate)]);
            assert!(
                matches!(result, Err(ScheduleError::Rate { step: 2, .. })),
                "{rate}: {result:?}"
            );
        }
        for rate in [1e-30, 0.1 / 32.0, 1.0, 10.0] {
            assert!(Schedule::constant(rate).is_ok(), "{rate}");
        }
    }

    #[test]
    fn it_is_written_as_it_was_read() -> Result<(), serde_json::Error> {
        for text in [
            "0.1",
            r#"[{"from":0,"learning_rate":0.1},{"from":50000,"learning_rate":0.01}]"#,
        ] {
            let schedule: Schedule = serde_json::from_str(text)?;
            assert_eq!(serde_json::to_string(&schedule)?, text);
        }
        let whole: Schedule = serde_json::from_str("1")?;
        assert_eq!(whole.at(0), 1.0);
        let single: Schedule = serde_json::from_str(r#"[{"from":0,"learning_rate":0.1}]"#)?;
        assert_eq!(serde_json::to_string(&single)?, "0.1");
        Ok(())
    }

    #[test]
    fn invalid_text_is_refused_with_the_reason() {
        for (text, part) in [
            (r#""fast""#, "expected a number such as 0.1, or steps"),
            (r#"[{"from":0,"rat":0.1}]"#, "or steps such as"),
            (r#"[{"from":-1,"learning_rate":0.1}]"#, "or steps such as"),
            ("[]", "the list of steps is empty"),
            (
                r#"[{"from":7,"learning_rate":0.1}]"#,
                "first step begins at game 7",
            ),
            ("-1", "the learning rate of step 1 is -1.0"),
        ] {
            let result: Result<Schedule, _> = serde_json::from_str(text);
            let message = result.map_or_else(|error| error.to_string(), |_| "read".into());
            assert!(message.contains(part), "{text}: {message}");
        }
    }

    #[test]
    fn the_past_of_a_changed_schedule_stays() {
        let steps = |steps: &[(u64, f64)]| {
            let step = |&(from, learning_rate)| RateStep {
                from,
                learning_rate,
            };
            Schedule::steps(steps.iter().map(step).collect()).unwrap()
        };
        let past = steps(&[(0, 0.1), (50, 0.05), (90, 0.01)]);
        let constant = steps(&[(0, 0.02)]);
        let changed = past.changed_at(60, &constant).unwrap();
        assert_eq!(changed, steps(&[(0, 0.1), (50, 0.05), (60, 0.02)]));
        assert!(past.agrees_before(&changed, 60) && !past.agrees_before(&changed, 61));
        assert_eq!(past.changed_at(0, &constant).unwrap(), constant);
        // Steps of the new one count the games of the run.
        let later = steps(&[(0, 0.3), (60, 0.2), (80, 0.004)]);
        let changed = past.changed_at(60, &later).unwrap();
        let all = [(0, 0.1), (50, 0.05), (60, 0.2), (80, 0.004)];
        assert_eq!(changed, steps(&all));
        // The same rate needs no step.
        let same = past.changed_at(60, &steps(&[(0, 0.05)])).unwrap();
        assert_eq!(same, steps(&[(0, 0.1), (50, 0.05)]));
    }
}
