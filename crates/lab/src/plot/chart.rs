//! What every plot is made of: a heading, and frames with their grid and lines.
//!
//! Sizes are chosen so that a plot of 1,200 pixels can still be read at 600, as in a README.

use super::letters::Letters;
use super::scale::{AxisUnit, Scale, Tick};
use super::scene::{Anchor, Colour, PixelPoint, Scene, Stroke, Type};

pub(super) const WIDTH: f32 = 1200.0;
pub(super) const HEIGHT: f32 = 800.0;
/// The margin of the page.
pub(super) const MARGIN: f32 = 28.0;
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
const THIN: Stroke = Stroke { width: 1.0, ..GRID };
const AXIS: Stroke = Stroke {
    colour: Colour(0x808080),
    width: 2.0,
    dash: None,
};
/// From the baseline to the middle of a letter, as a share of its size.
pub(super) const MIDDLE: f32 = 0.35;

/// The title, and below it what the y axis shows.
pub(super) fn heading(scene: &mut Scene, letters: &Letters, title: &str, about: &str) {
    let room = scene.width - 2.0 * MARGIN;
    let title = letters.fit_title(title, TITLE, room);
    let about = letters.fit(about, PLAIN, room);
    scene.text((MARGIN, 46.0), &title, Anchor::Start, TITLE);
    scene.text((MARGIN, 84.0), &about, Anchor::Start, PLAIN);
}

/// The y axis of a frame.
#[derive(Clone, Copy)]
pub(super) struct YAxis {
    pub scale: Scale,
    pub unit: AxisUnit,
    /// The largest number of steps.
    pub steps: usize,
}

impl YAxis {
    fn ticks(&self) -> Vec<Tick> {
        self.scale.ticks(self.steps, self.unit)
    }
}

/// Where data meets the page: both scales begin in the lower left corner.
#[derive(Clone, Copy)]
pub(super) struct ChartFrame {
    pub left: f32,
    pub right: f32,
    pub top: f32,
    pub bottom: f32,
    /// Games played, mostly.
    pub x: Scale,
    pub y: YAxis,
}

impl ChartFrame {
    /// The place of a value.
    pub fn at(&self, x: f64, y: f64) -> PixelPoint {
        (self.across(x), self.height(y))
    }

    fn across(&self, x: f64) -> f32 {
        self.left + self.x.place(x) as f32 * (self.right - self.left)
    }

    /// The height of a value on the page.
    pub fn height(&self, y: f64) -> f32 {
        self.bottom - self.y.scale.place(y) as f32 * (self.bottom - self.top)
    }

    /// The grid and the axis, with numbers at the left and below if requested.
    pub fn scales(&self, scene: &mut Scene, left: bool, below: bool) {
        for tick in self.y.ticks() {
            let at = self.height(tick.at);
            scene.line(vec![(self.left, at), (self.right, at)], grid(&tick));
            if let (true, Some(text)) = (left, tick.number) {
                let baseline = at + NUMBER.size * MIDDLE;
                scene.text((self.left - 12.0, baseline), &text, Anchor::End, NUMBER);
            }
        }
        self.columns(scene, AxisUnit::Games, below);
    }

    /// The vertical lines of the grid and the axis, with numbers below if requested.
    pub fn columns(&self, scene: &mut Scene, unit: AxisUnit, below: bool) {
        // As many as have room for their numbers.
        let columns = ((self.right - self.left) / 100.0) as usize;
        for tick in self.x.ticks(columns, unit) {
            let at = self.across(tick.at);
            scene.line(vec![(at, self.top), (at, self.bottom)], grid(&tick));
            if let (true, Some(text)) = (below, tick.number) {
                scene.text((at, self.bottom + 30.0), &text, Anchor::Middle, NUMBER);
            }
        }
        let corner = (self.left, self.bottom);
        scene.line(vec![corner, (self.right, self.bottom)], AXIS);
    }

    /// Moves the frame's left side so that the numbers beside it begin at the margin.
    pub fn with_numbers(mut self, letters: &Letters) -> Self {
        let numbers = self.y.ticks().into_iter().filter_map(|tick| tick.number);
        let widths = numbers.map(|number| letters.room(&number, NUMBER));
        self.left = MARGIN + widths.fold(0.0, f32::max) + 12.0;
        self
    }

    /// A line through the values. Where they are far apart, and for a single one, dots mark them.
    pub fn curve(&self, scene: &mut Scene, values: &[(f64, f64)], stroke: Stroke) {
        let far_apart = match values {
            [first, second, ..] => self.across(second.0) - self.across(first.0) > 40.0,
            _ => true,
        };
        if far_apart {
            self.dots(scene, values, stroke);
        }
        self.line(scene, values, stroke);
    }

    /// The area between the lower and the upper end at each x, or a bar for a single one.
    pub fn band(&self, scene: &mut Scene, ends: &[(f64, [f64; 2])], stroke: Stroke) {
        let at = |end: usize| move |&(x, y): &(f64, [f64; 2])| self.at(x, y[end]);
        match ends {
            [] => {}
            [(x, [low, high])] => {
                let bar = Stroke::solid(stroke.colour.tint(0.6), 8.0);
                scene.line(vec![self.at(*x, *low), self.at(*x, *high)], bar);
            }
            _ => {
                let back = ends.iter().rev().map(at(0));
                let outline = ends.iter().map(at(1)).chain(back);
                scene.veil(outline.collect(), stroke.colour);
            }
        }
    }

    /// A line through the values, if there are two.
    pub fn line(&self, scene: &mut Scene, values: &[(f64, f64)], stroke: Stroke) {
        if values.len() > 1 {
            let spots = values.iter().map(|&(x, y)| self.at(x, y));
            scene.line(spots.collect(), stroke);
        }
    }

    /// A dot at each value.
    pub fn dots(&self, scene: &mut Scene, values: &[(f64, f64)], stroke: Stroke) {
        let radius = if values.len() == 1 { 8.0 } else { 6.0 };
        for &(x, y) in values {
            scene.dot(self.at(x, y), radius, stroke.colour);
        }
    }
}

fn grid(tick: &Tick) -> Stroke {
    if tick.thin { THIN } else { GRID }
}
