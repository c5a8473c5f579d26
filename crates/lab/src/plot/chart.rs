//! What every picture is made of: a heading, and frames with their scales and lines.
//!
//! Sizes are chosen so that a picture of 1,200 pixels can still be read at 600, as in a README.

use super::letters::Letters;
use super::scene::{Anchor, Colour, Scene, Spot, Stroke, Type};

pub(super) const WIDTH: f32 = 1200.0;
pub(super) const HEIGHT: f32 = 800.0;
/// The free rim of the page.
pub(super) const RIM: f32 = 28.0;
/// From one line of text to the next.
pub(super) const LINE: f32 = 32.0;
/// Where the frame begins below the heading's two lines.
pub(super) const HEADING: f32 = 112.0;
/// Room below the frame for its numbers and the word "episodes".
pub(super) const FOOT: f32 = 84.0;

const TITLE: Type = Type {
    size: 32.0,
    bold: true,
    colour: Colour(0x1a1a1a),
};
pub(super) const PLAIN: Type = Type {
    size: 24.0,
    bold: false,
    colour: Colour(0x333333),
};
pub(super) const STRONG: Type = Type {
    bold: true,
    ..PLAIN
};
const NUMBER: Type = Type {
    size: 22.0,
    bold: false,
    colour: Colour(0x4d4d4d),
};
const GRID: Stroke = Stroke {
    colour: Colour(0xe0e0e0),
    width: 1.5,
    dash: None,
};
const AXIS: Stroke = Stroke {
    colour: Colour(0x808080),
    width: 2.0,
    dash: None,
};
/// From the baseline to the middle of a letter, as a share of its size.
pub(super) const MIDDLE: f32 = 0.35;

/// What the numbers of the upright scale are.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    Points,
    /// Shares from 0 to 1, written in percent.
    Share,
}

/// The title, and below it what the upright scale shows.
pub(super) fn heading(scene: &mut Scene, letters: &Letters, title: &str, about: &str) {
    let room = scene.width - 2.0 * RIM;
    let title = letters.fit(title, TITLE, room);
    let about = letters.fit(about, PLAIN, room);
    scene.text((RIM, 46.0), &title, Anchor::Start, TITLE);
    scene.text((RIM, 84.0), &about, Anchor::Start, PLAIN);
}

/// Where data meets the page: both scales begin at 0 in the lower left corner.
#[derive(Clone, Copy)]
pub(super) struct Frame {
    pub left: f32,
    pub right: f32,
    pub top: f32,
    pub bottom: f32,
    pub x_max: f64,
    pub y_max: f64,
    /// At most so many steps upwards.
    pub y_steps: usize,
    pub unit: Unit,
}

impl Frame {
    /// The place of a value.
    pub fn at(&self, x: f64, y: f64) -> Spot {
        let (right, up) = ((x / self.x_max) as f32, (y / self.y_max) as f32);
        (
            self.left + right * (self.right - self.left),
            self.bottom - up * (self.bottom - self.top),
        )
    }

    /// The grid and the axis, with numbers at the left and below where asked for.
    pub fn scales(&self, scene: &mut Scene, left: bool, below: bool) {
        for y in ticks(self.y_max, step(self.y_max, self.y_steps)) {
            let (_, at) = self.at(0.0, y);
            scene.line(vec![(self.left, at), (self.right, at)], GRID);
            if left {
                let baseline = at + NUMBER.size * MIDDLE;
                let text = number(y, self.y_max, self.unit);
                scene.text((self.left - 12.0, baseline), &text, Anchor::End, NUMBER);
            }
        }
        // As many as have room for their numbers; there are no halves of games.
        let columns = ((self.right - self.left) / 100.0) as usize;
        for x in ticks(self.x_max, step(self.x_max, columns).max(1.0)) {
            let (at, _) = self.at(x, 0.0);
            scene.line(vec![(at, self.top), (at, self.bottom)], GRID);
            if below {
                let text = number(x, self.x_max, Unit::Points);
                scene.text((at, self.bottom + 30.0), &text, Anchor::Middle, NUMBER);
            }
        }
        let corner = (self.left, self.bottom);
        scene.line(vec![corner, (self.right, self.bottom)], AXIS);
    }

    /// Moves the frame's left side so that the numbers beside it begin at the rim.
    pub fn with_numbers(mut self, letters: &Letters) -> Self {
        let width = |y: f64| letters.room(&number(y, self.y_max, self.unit), NUMBER);
        let numbers = ticks(self.y_max, step(self.y_max, self.y_steps));
        let widest = numbers.into_iter().map(width).fold(0.0, f32::max);
        self.left = RIM + widest + 12.0;
        self
    }

    /// A line through the values. Where they are far apart, and for a single one, dots mark them.
    pub fn curve(&self, scene: &mut Scene, values: &[(f64, f64)], stroke: Stroke) {
        let spots: Vec<Spot> = values.iter().map(|&(x, y)| self.at(x, y)).collect();
        let radius = match spots[..] {
            [_] => Some(8.0),
            [first, second, ..] if second.0 - first.0 > 40.0 => Some(6.0),
            _ => None,
        };
        if let Some(radius) = radius {
            for &spot in &spots {
                scene.dot(spot, radius, stroke.colour);
            }
        }
        if spots.len() > 1 {
            scene.line(spots, stroke);
        }
    }
}

/// The multiples of `step` from 0 to `max`.
fn ticks(max: f64, step: f64) -> Vec<f64> {
    (0..)
        .map(|i| f64::from(i) * step)
        .take_while(|&tick| tick <= max * (1.0 + 1e-9))
        .collect()
}

/// The least round number (1, 2, 2.5 or 5 times a power of ten) of which `count` steps reach `max`.
pub(super) fn step(max: f64, count: usize) -> f64 {
    let least = max / count.max(1) as f64;
    let power = 10f64.powf(least.log10().floor());
    let factor = [1.0, 2.0, 2.5, 5.0, 10.0]
        .into_iter()
        .find(|factor| factor * power >= least * (1.0 - 1e-9))
        .unwrap_or(10.0);
    factor * power
}

/// A number of a scale that ends at `max`: 20%, 5,000 or 50k.
fn number(value: f64, max: f64, unit: Unit) -> String {
    let short = |value: f64, letter| {
        let text = format!("{value:.2}");
        let text = text.trim_end_matches('0').trim_end_matches('.');
        format!("{text}{letter}")
    };
    match unit {
        Unit::Share => short(100.0 * value, "%"),
        Unit::Points if value == 0.0 => "0".to_owned(),
        Unit::Points if max >= 1e6 => short(value / 1e6, "M"),
        Unit::Points if max >= 1e4 => short(value / 1e3, "k"),
        Unit::Points if max >= 10.0 => thousands(value),
        Unit::Points => short(value, ""),
    }
}

/// A whole number with its thousands apart: 177,340.
pub(super) fn thousands(value: f64) -> String {
    let digits = format!("{value:.0}");
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A share in percent with one decimal; more than nothing never reads 0.0%, nor less than all 100%.
pub(super) fn percent(share: f64) -> String {
    match 100.0 * share {
        p if p > 0.0 && p < 0.05 => "<0.1%".to_owned(),
        p if (99.95..100.0).contains(&p) => ">99.9%".to_owned(),
        p if p == 0.0 || p == 100.0 => format!("{p:.0}%"),
        p => format!("{p:.1}%"),
    }
}
