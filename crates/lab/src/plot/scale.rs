//! Scales: where a value lies between two ends, and which lines and numbers lead the eye.

use crate::numbers::{tick, trimmed};

/// The largest number that is drawn; beyond it, sums and steps would not stay finite.
const LARGEST: f64 = 1e15;

/// Whether a number has a place in a plot.
pub(super) fn drawable(number: f64) -> bool {
    number.abs() <= LARGEST
}

/// What the numbers of a scale are.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum AxisUnit {
    Points,
    /// Whole ones: there are no halves of games.
    Games,
    /// Shares from 0 to 1, written in percent.
    Share,
}

/// How values lie along one side of a frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Scale {
    /// From 0 on.
    Linear { max: f64 },
    /// From anywhere: for what differs by little.
    Between { min: f64, max: f64 },
    /// Every power of ten takes the same room; what is below `min` lies there, too.
    Logarithmic { min: f64, max: f64 },
}

/// A line of the grid.
pub(super) struct Tick {
    pub at: f64,
    /// Drawn thin, since it only divides a power of ten.
    pub thin: bool,
    /// None where there is no room for it.
    pub number: Option<String>,
}

/// The factors of a power of ten that have a line of a logarithmic scale.
const LINES: &[f64] = &[1.0, 2.0, 5.0];
/// The same where the scale is narrow.
const FINE: &[f64] = &[1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0];
/// A scale whose ends differ by less than this factor is narrow.
const NARROW: f64 = 10.0;
/// The ends of a scale differ by this factor at least.
const LEAST: f64 = 1.2;
/// The most lines of a linear scale, however its ends and steps are rounded.
const MOST_TICKS: u32 = 100;
/// Two numbers that differ by less are one.
const ROUNDING: f64 = 1e-9;

impl Scale {
    /// A logarithmic scale that contains these values, all above 0, and ends with lines.
    pub fn around(values: impl Iterator<Item = f64>) -> Self {
        let ends = |(least, most): (f64, f64), value: f64| (least.min(value), most.max(value));
        let (least, most) = values.fold((f64::INFINITY, 0.0), ends);
        let lines = if most < NARROW * least { FINE } else { LINES };
        let min = round_down(least, lines);
        let max = round_up(most.max(LEAST * min), lines);
        Self::Logarithmic { min, max }
    }

    /// A linear scale that contains these values, none below 0, and ends with lines.
    pub fn spanning(values: impl Iterator<Item = f64>, steps: usize) -> Self {
        let ends = |(least, most): (f64, f64), value: f64| (least.min(value), most.max(value));
        let (least, most) = values.fold((f64::INFINITY, f64::NEG_INFINITY), ends);
        if least > most {
            return Self::Linear { max: 1.0 };
        }
        let least = least.max(0.0);
        // Equal values still need some room.
        let most = most.max(least + 1e-3 * least.max(1.0));
        let step = step(most - least, steps);
        Self::Between {
            min: (least / step + ROUNDING).floor() * step,
            max: (most / step - ROUNDING).ceil() * step,
        }
    }

    /// The place of a value, from 0 at the scale's begin to 1 at its end. What is beyond an end
    /// lies there, and what is not a number at the begin.
    pub fn place(self, value: f64) -> f64 {
        let place = match self {
            Self::Linear { max } => value / max,
            Self::Between { min, max } => (value - min) / (max - min),
            Self::Logarithmic { min, max } => (value / min).ln() / (max / min).ln(),
        };
        if place.is_nan() {
            return 0.0;
        }
        place.clamp(0.0, 1.0)
    }

    /// The lines of the grid, if `steps` or fewer have room for their numbers.
    pub fn ticks(self, steps: usize, unit: AxisUnit) -> Vec<Tick> {
        match self {
            Self::Linear { max } => linear_ticks((0.0, max), step(max, steps), unit),
            Self::Between { min, max } => {
                linear_ticks((min, max), even_step(min, max, steps), unit)
            }
            Self::Logarithmic { min, max } => logarithmic_ticks(min, max, steps, unit),
        }
    }
}

/// A step with a line at both ends, where there is one of two digits; otherwise a round one.
fn even_step(min: f64, max: f64, steps: usize) -> f64 {
    let whole = |number: f64| (number - number.round()).abs() < 1e-6;
    let meets_ends = |&step: &f64| whole(min / step) && whole(max / step);
    let is_short = |&step: &f64| whole(step / 10f64.powf(step.log10().floor() - 1.0));
    let parts = (2..=steps).rev().map(|parts| (max - min) / parts as f64);
    let round = step(max - min, steps);
    let even = parts.filter(is_short).find(meets_ends);
    Some(round).filter(meets_ends).or(even).unwrap_or(round)
}

fn linear_ticks((min, max): (f64, f64), step: f64, unit: AxisUnit) -> Vec<Tick> {
    let least = if unit == AxisUnit::Games { 1.0 } else { 0.0 };
    let step = step.max(least);
    let line = |at| Tick {
        at,
        thin: false,
        number: Some(match unit {
            // Whole numbers would read the same.
            AxisUnit::Points if step < 1.0 => trimmed(at, 4),
            _ => number(at, max, unit),
        }),
    };
    let first = (min / step - ROUNDING).ceil();
    (0..MOST_TICKS)
        .map(|i| (first + f64::from(i)) * step)
        .take_while(|&at| at <= max * (1.0 + ROUNDING))
        .map(line)
        .collect()
}

/// Powers of ten, and thin lines between them, which have numbers only if all have room. Two lines
/// have numbers however little room there is, or a scale would not say what it measures.
fn logarithmic_ticks(min: f64, max: f64, steps: usize, unit: AxisUnit) -> Vec<Tick> {
    let narrow = max <= NARROW * min * (1.0 + ROUNDING);
    let fine = lines(min, max, FINE, unit);
    if narrow && fine.len() <= steps + 1 {
        return fine;
    }
    let mut ticks = lines(min, max, LINES, unit);
    if ticks.len() > steps + 1 {
        for tick in ticks.iter_mut().filter(|tick| tick.thin) {
            tick.number = None;
        }
    }
    if ticks.iter().filter(|tick| tick.number.is_some()).count() < 2 {
        let end = |at| Tick {
            at,
            thin: true,
            number: Some(number(at, at, unit)),
        };
        return vec![end(min), end(max)];
    }
    ticks
}

/// The lines between two ends, all with numbers.
fn lines(min: f64, max: f64, factors: &[f64], unit: AxisUnit) -> Vec<Tick> {
    let powers = min.log10().floor() as i32..=max.log10().ceil() as i32;
    let range = min * (1.0 - ROUNDING)..=max * (1.0 + ROUNDING);
    let all = powers.flat_map(|power| factors.iter().map(move |&f| (f, f * 10f64.powi(power))));
    let within = all.filter(|(_, at)| range.contains(at));
    within
        .map(|(factor, at)| Tick {
            at,
            thin: factor > 1.0,
            number: Some(number(at, at, unit)),
        })
        .collect()
}

/// The least round number (1, 2, 2.5 or 5 times a power of ten) of which `count` steps reach `max`.
pub(super) fn step(max: f64, count: usize) -> f64 {
    round_up(max / count.max(1) as f64, &[1.0, 2.0, 2.5, 5.0])
}

/// The least number at or above `value` that is one of the factors times a power of ten.
fn round_up(value: f64, factors: &[f64]) -> f64 {
    let power = 10f64.powf(value.log10().floor());
    let factor = factors
        .iter()
        .find(|&factor| factor * power >= value * (1.0 - ROUNDING))
        .unwrap_or(&10.0);
    factor * power
}

/// The largest number at or below `value` that is one of the factors times a power of ten.
fn round_down(value: f64, factors: &[f64]) -> f64 {
    let power = 10f64.powf(value.log10().floor());
    // Rounding may have made the power too large, or ten times too small.
    let factor = [&[0.5], factors, &[10.0]].concat();
    let factor = factor
        .iter()
        .rfind(|&factor| factor * power <= value * (1.0 + ROUNDING));
    factor.unwrap_or(&1.0) * power
}

/// A number of a scale that ends at `max`: 20%, 5,000 or 50k.
fn number(value: f64, max: f64, unit: AxisUnit) -> String {
    match unit {
        AxisUnit::Share => trimmed(100.0 * value, 4) + "%",
        AxisUnit::Points | AxisUnit::Games => tick(value, max),
    }
}
