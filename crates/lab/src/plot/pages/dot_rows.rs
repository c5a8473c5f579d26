//! Items that are compared by a number, a row each: the results of single runs as dots, and above
//! them the mean with its interval. The scale does not start at 0, since the items differ by
//! little; the line through all rows is the mean of the first.

use super::{STEPS, Text};
use crate::plot::chart::{self, ChartFrame, HEADING, MARGIN, MIDDLE, PLAIN, STRONG, WIDTH, YAxis};
use crate::plot::scale::{AxisUnit, Scale, drawable};
use crate::plot::scene::{Anchor, Colour, Scene, Stroke, Type};
use crate::plot::{DotRow, RowColour};

/// The height of a row.
const ROW: f32 = 64.0;
/// Room below the rows for numbers.
const BELOW: f32 = 64.0;
/// The widest name that is not cut.
const NAMES: f32 = 380.0;
/// Between the columns.
const GAP: f32 = 22.0;
/// From the middle of a row up to its mean, and down to its dots.
const UP: f32 = 9.0;
const DOWN: f32 = 14.0;
/// Half of the mark at either end of an interval.
const MARK: f32 = 9.0;

const SHADE: Colour = Colour(0xf4f4f4);
const FIRST: Stroke = Stroke {
    colour: Colour(0x4d4d4d),
    width: 2.5,
    dash: Some([8.0, 7.0]),
};

pub(super) fn dot_rows(dot_rows: &[DotRow], text: &Text) -> Scene {
    let columns = Columns::new(dot_rows, text);
    let frame = &columns.frame;
    let mut scene = Scene::new(WIDTH, frame.bottom + BELOW);
    chart::heading(&mut scene, text.letters, text.title, &text.about);
    for row in (1..dot_rows.len()).step_by(2) {
        let top = HEADING + ROW * row as f32;
        let (upper, lower) = ([(0.0, top), (WIDTH, top)], [WIDTH, 0.0]);
        let lower = lower.map(|across| (across, top + ROW));
        scene.area([upper, lower].concat(), SHADE);
    }
    frame.columns(&mut scene, AxisUnit::Points, true);
    if let Some(mean) = dot_rows.first().and_then(|dot_row| dot_row.mean) {
        let (across, _) = frame.at(mean, 0.0);
        scene.line(vec![(across, frame.top), (across, frame.bottom)], FIRST);
    }
    for (row, dot_row) in dot_rows.iter().enumerate() {
        let (_, middle) = frame.at(0.0, (dot_rows.len() - row) as f64 - 0.5);
        columns.write(&mut scene, text, dot_row, middle + PLAIN.size * MIDDLE);
        draw(&mut scene, frame, dot_row, middle);
    }
    scene
}

/// Names, the frame, values and remarks, beside each other.
struct Columns {
    names: f32,
    frame: ChartFrame,
    values: f32,
}

impl Columns {
    fn new(dot_rows: &[DotRow], text: &Text) -> Self {
        let widest = |of: fn(&DotRow) -> &String, face: Type| {
            let widths = dot_rows
                .iter()
                .map(|dot_row| text.letters.room(of(dot_row), face));
            widths.fold(0.0, f32::max)
        };
        let names = widest(|dot_row| &dot_row.label, PLAIN).min(NAMES);
        let values = widest(|dot_row| &dot_row.value, STRONG);
        let remarks = widest(|dot_row| &dot_row.remark, PLAIN);
        // Without remarks, there is no column for them.
        let remarks = if remarks > 0.0 { remarks + GAP } else { 0.0 };
        let frame = ChartFrame {
            left: MARGIN + names + GAP,
            right: WIDTH - MARGIN - remarks - values - GAP,
            top: HEADING,
            bottom: HEADING + ROW * dot_rows.len() as f32,
            x: Scale::spanning(dot_rows.iter().flat_map(numbers), STEPS),
            // Rows are counted from below.
            y: YAxis {
                scale: Scale::Linear {
                    max: dot_rows.len() as f64,
                },
                unit: AxisUnit::Games,
                steps: 1,
            },
        };
        Self {
            names,
            frame,
            values,
        }
    }

    /// The texts of a row.
    fn write(&self, scene: &mut Scene, text: &Text, dot_row: &DotRow, baseline: f32) {
        let name = text.letters.fit(&dot_row.label, PLAIN, self.names);
        let value = self.frame.right + GAP + self.values;
        let remark = Type {
            colour: colour(dot_row),
            ..PLAIN
        };
        let texts = [
            (MARGIN, &name, Anchor::Start, PLAIN),
            (value, &dot_row.value, Anchor::End, STRONG),
            (value + GAP, &dot_row.remark, Anchor::Start, remark),
        ];
        for (at, text, anchor, face) in texts {
            if !text.is_empty() {
                scene.text((at, baseline), text, anchor, face);
            }
        }
    }
}

/// Everything that has to be on the scale.
fn numbers(dot_row: &DotRow) -> impl Iterator<Item = f64> {
    let interval = dot_row.interval.into_iter().flatten();
    let numbers = dot_row
        .dots
        .iter()
        .copied()
        .chain(dot_row.mean)
        .chain(interval);
    numbers.filter(|&number| drawable(number))
}

fn draw(scene: &mut Scene, frame: &ChartFrame, dot_row: &DotRow, middle: f32) {
    let colour = colour(dot_row);
    let across = |x: f64| frame.at(x, 0.0).0;
    for &dot in &dot_row.dots {
        scene.dot((across(dot), middle + DOWN), 5.5, colour.tint(0.35));
    }
    let height = middle - UP;
    if let Some(ends) = dot_row.interval {
        let stroke = Stroke::solid(colour, 4.5);
        scene.line(ends.map(|end| (across(end), height)).to_vec(), stroke);
        // An interval that continues below 0, where the scale starts, has no end to mark.
        for end in ends.into_iter().filter(|&end| end >= 0.0).map(across) {
            let mark = vec![(end, height - MARK), (end, height + MARK)];
            scene.line(mark, stroke);
        }
    }
    if let Some(mean) = dot_row.mean {
        scene.dot((across(mean), height), 9.0, colour);
    }
}

/// Colours of Okabe and Ito, as for runs, and grey for results that are not significant.
fn colour(dot_row: &DotRow) -> Colour {
    match dot_row.colour {
        RowColour::First => Colour(0x0072b2),
        RowColour::Plain => Colour(0x6e6e6e),
        RowColour::Better => Colour(0x009e73),
        RowColour::Worse => Colour(0xd55e00),
    }
}
