//! Scales: where a value lies between two ends, and which lines and numbers lead the eye.

use super::chart::thousands;

/// What the numbers of a scale are.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
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
const LINES: [f64; 3] = [1.0, 2.0, 5.0];
/// Two numbers that differ by less are one.
const ROUNDING: f64 = 1e-9;

impl Scale {
    /// A logarithmic scale that holds these values, all above 0, and ends with lines.
    pub fn around(values: impl Iterator<Item = f64>) -> Self {
        let ends = |(least, most): (f64, f64), value: f64| (least.min(value), most.max(value));
        let (least, most) = values.fold((f64::INFINITY, 0.0), ends);
        // The lines' reciprocals are lines.
        let min = round_up(least.recip(), &LINES).recip();
        let max = round_up(most.max(1.5 * min), &LINES);
        Self::Logarithmic { min, max }
    }

    /// The place of a value, from 0 at the scale's begin to 1 at its end.
    pub fn place(self, value: f64) -> f64 {
        match self {
            Self::Linear { max } => value / max,
            Self::Logarithmic { min, max } => (value.max(min) / min).ln() / (max / min).ln(),
        }
    }

    /// The lines of the grid, if `steps` or fewer have room for their numbers.
    pub fn ticks(self, steps: usize, unit: Unit) -> Vec<Tick> {
        match self {
            Self::Linear { max } => linear_ticks(max, steps, unit),
            Self::Logarithmic { min, max } => logarithmic_ticks(min, max, steps, unit),
        }
    }
}

fn linear_ticks(max: f64, steps: usize, unit: Unit) -> Vec<Tick> {
    let least = if unit == Unit::Games { 1.0 } else { 0.0 };
    let step = step(max, steps).max(least);
    let tick = |at| Tick {
        at,
        thin: false,
        number: Some(number(at, max, unit)),
    };
    (0..)
        .map(|i| f64::from(i) * step)
        .take_while(|&at| at <= max * (1.0 + ROUNDING))
        .map(tick)
        .collect()
}

/// Powers of ten, and thin lines between them, which have numbers only if all have room.
fn logarithmic_ticks(min: f64, max: f64, steps: usize, unit: Unit) -> Vec<Tick> {
    let powers = min.log10().floor() as i32..=max.log10().ceil() as i32;
    let range = min * (1.0 - ROUNDING)..=max * (1.0 + ROUNDING);
    let mut ticks: Vec<Tick> = powers
        .flat_map(|power| LINES.map(|factor| (factor, factor * 10f64.powi(power))))
        .filter(|(_, at)| range.contains(at))
        .map(|(factor, at)| Tick {
            at,
            thin: factor > 1.0,
            number: Some(number(at, at, unit)),
        })
        .collect();
    if ticks.len() > steps + 1 {
        for tick in ticks.iter_mut().filter(|tick| tick.thin) {
            tick.number = None;
        }
    }
    ticks
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

/// A number of a scale that ends at `max`: 20%, 5,000 or 50k.
fn number(value: f64, max: f64, unit: Unit) -> String {
    let short = |value: f64, letter| {
        let text = format!("{value:.4}");
        let text = text.trim_end_matches('0').trim_end_matches('.');
        format!("{text}{letter}")
    };
    match unit {
        Unit::Share => short(100.0 * value, "%"),
        _ if value == 0.0 => "0".to_owned(),
        _ if max >= 1e6 => short(value / 1e6, "M"),
        _ if max >= 1e4 => short(value / 1e3, "k"),
        _ if max >= 10.0 => thousands(value),
        _ => short(value, ""),
    }
}
