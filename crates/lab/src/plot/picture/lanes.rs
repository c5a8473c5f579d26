//! Things that are compared by a number, a row each: what the single runs came to as dots, and above them the mean with its interval.
//! The scale does not begin with 0, since what is compared differs by little; the line through all rows is the mean of the first.

use super::{STEPS, Text};
use crate::plot::chart::{self, Frame, HEADING, MIDDLE, PLAIN, RIM, STRONG, Upright, WIDTH};
use crate::plot::scale::{Scale, Unit};
use crate::plot::scene::{Anchor, Colour, Scene, Stroke, Type};
use crate::plot::{Lane, Tint};

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

pub(super) fn lanes(lanes: &[Lane], text: &Text) -> Scene {
    let height = ROW * lanes.len() as f32;
    let mut scene = Scene::new(WIDTH, HEADING + height + BELOW);
    chart::heading(&mut scene, text.letters, text.title, &text.about);
    let widest = |of: fn(&Lane) -> &String, face: Type| {
        let widths = lanes.iter().map(|lane| text.letters.room(of(lane), face));
        widths.fold(0.0, f32::max)
    };
    let names = widest(|lane| &lane.label, PLAIN).min(NAMES);
    let values = widest(|lane| &lane.value, STRONG);
    let remarks = widest(|lane| &lane.remark, PLAIN);
    // Where nobody has a remark, there is no column for it.
    let remarks = if remarks > 0.0 { remarks + GAP } else { 0.0 };
    let frame = Frame {
        left: RIM + names + GAP,
        right: WIDTH - RIM - remarks - values - GAP,
        top: HEADING,
        bottom: HEADING + height,
        x: Scale::spanning(lanes.iter().flat_map(numbers), STEPS),
        // Rows are counted from below.
        y: Upright {
            scale: Scale::Linear {
                max: lanes.len() as f64,
            },
            unit: Unit::Games,
            steps: 1,
        },
    };
    for row in (1..lanes.len()).step_by(2) {
        let (top, left, right) = (HEADING + ROW * row as f32, 0.0, WIDTH);
        let corners = [(left, top), (right, top), (right, top + ROW), (left, top + ROW)];
        scene.area(corners.to_vec(), SHADE);
    }
    frame.columns(&mut scene, Unit::Points, true);
    if let Some(mean) = lanes.first().and_then(|lane| lane.mean) {
        let (across, _) = frame.at(mean, 0.0);
        scene.line(vec![(across, frame.top), (across, frame.bottom)], FIRST);
    }
    for (row, lane) in lanes.iter().enumerate() {
        let (_, middle) = frame.at(0.0, (lanes.len() - row) as f64 - 0.5);
        let baseline = middle + PLAIN.size * MIDDLE;
        let name = text.letters.fit(&lane.label, PLAIN, names);
        scene.text((RIM, baseline), &name, Anchor::Start, PLAIN);
        let value = frame.right + GAP + values;
        scene.text((value, baseline), &lane.value, Anchor::End, STRONG);
        let remark = Type {
            colour: colour(lane),
            ..PLAIN
        };
        if !lane.remark.is_empty() {
            scene.text((value + GAP, baseline), &lane.remark, Anchor::Start, remark);
        }
        draw(&mut scene, &frame, lane, middle);
    }
    scene
}

/// Everything that has to be on the scale.
fn numbers(lane: &Lane) -> impl Iterator<Item = f64> {
    let interval = lane.interval.into_iter().flatten();
    lane.dots.iter().copied().chain(lane.mean).chain(interval)
}

fn draw(scene: &mut Scene, frame: &Frame, lane: &Lane, middle: f32) {
    let colour = colour(lane);
    let across = |x: f64| frame.at(x, 0.0).0;
    for &dot in &lane.dots {
        scene.dot((across(dot), middle + DOWN), 5.5, colour.tint(0.35));
    }
    let height = middle - UP;
    if let Some(ends) = lane.interval {
        let ends = ends.map(across);
        let stroke = Stroke::solid(colour, 4.5);
        scene.line(ends.map(|end| (end, height)).to_vec(), stroke);
        for end in ends {
            let mark = vec![(end, height - MARK), (end, height + MARK)];
            scene.line(mark, stroke);
        }
    }
    if let Some(mean) = lane.mean {
        scene.dot((across(mean), height), 9.0, colour);
    }
}

/// Of Okabe and Ito's, as those of runs are.
fn colour(lane: &Lane) -> Colour {
    match lane.tint {
        Tint::Plain => Colour(0x0072b2),
        Tint::Better => Colour(0x009e73),
        Tint::Worse => Colour(0xd55e00),
    }
}
