//! Learning from a replay buffer, over the updates made: the running average of scores, the loss
//! and the values, with a line for each run that has such a buffer. These learners are compared by
//! updates: good games are long and have more of them. Where all runs have logged the running average
//! by iterations, it is drawn over these, row by row, as the "2048 experiment report" does. A run
//! alone has marks where its learning rate changed.

use super::several::{page, strokes};
use super::{STEPS, Text, below, rates};
use crate::curve::{AveragePoint, Curve, ReplayPoint};
use crate::numbers::{grouped, significant};
use crate::plot::band::{Ends, band};
use crate::plot::chart::YAxis;
use crate::plot::legend::LegendEntry;
use crate::plot::scale::{AxisUnit, Scale, drawable, step};
use crate::plot::scene::{Scene, Stroke};

/// The most points of a line: more than a page has room for.
const POINTS: usize = 300;
/// The same of averages over iterations, of which single rows are drawn.
const ROWS: usize = 2000;
/// Room for the learning rates above the frame.
const RATES: f32 = 22.0;
/// The least loss that has a place on a logarithmic scale.
const LEAST: f64 = 1e-9;

/// The running average.
pub(super) fn running_average(curves: &[Curve], text: &Text) -> Option<Scene> {
    if let Some(lines) = lines_of_rows(curves) {
        return Some(draw_from_zero(&lines, text));
    }
    from_zero(curves, text, |point| point.running_average)
}

/// The loss, which falls by factors.
pub(super) fn loss(curves: &[Curve], text: &Text) -> Option<Scene> {
    let lines = lines(curves, |point| point.loss.max(LEAST))?;
    let scale = Scale::around(lines.iter().flat_map(Line::heights));
    Some(draw(&lines, text, scale))
}

/// The values; those below 0 are drawn at the start of the scale.
pub(super) fn value(curves: &[Curve], text: &Text) -> Option<Scene> {
    from_zero(curves, text, |point| point.value.max(0.0))
}

fn from_zero(curves: &[Curve], text: &Text, of: impl Fn(&ReplayPoint) -> f64) -> Option<Scene> {
    Some(draw_from_zero(&lines(curves, of)?, text))
}

fn draw_from_zero(lines: &[Line], text: &Text) -> Scene {
    let highest = lines.iter().flat_map(Line::heights).fold(LEAST, f64::max);
    let step = step(highest, STEPS);
    let max = (highest / step - 1e-9).ceil() * step;
    draw(lines, text, Scale::Linear { max })
}

/// One run.
struct Line<'a> {
    label: &'a str,
    stroke: Stroke,
    /// Updates or iterations, and what is drawn over them.
    values: Vec<(f64, f64)>,
    /// The band around it, where it is the mean of several runs.
    band: Vec<(f64, Ends)>,
    /// The updates of the whole run, and its iterations, where they are known.
    end: Option<(u64, u64)>,
    /// Where the learning rate changed, on the x axis, and the new one.
    rates: Vec<(f64, f32)>,
    /// Whether the x axis counts iterations.
    by_iterations: bool,
}

impl Line<'_> {
    fn heights(&self) -> impl Iterator<Item = f64> {
        let ends = self.band.iter().flat_map(|&(_, ends)| ends);
        let ends = ends.filter(|&end| end > 0.0);
        self.values.iter().map(|&(_, height)| height).chain(ends)
    }

    fn entry(&self) -> LegendEntry {
        let last = self.values.last().map_or(0.0, |&(_, height)| height);
        LegendEntry {
            stroke: self.stroke,
            name: self.label.to_owned(),
            value: significant(last),
            end: 0.0,
        }
    }
}

/// Where the learning rate of a run changed, by the block before.
fn rates_of(curve: &Curve, place: impl Fn(&ReplayPoint) -> Option<u64>) -> Vec<(f64, f32)> {
    let changes = curve.rate_changes.iter().filter_map(|change| {
        let before = |point: &&ReplayPoint| point.games == change.games;
        let place = place(curve.replay.iter().find(before)?)?;
        Some((place as f64, change.learning_rate))
    });
    changes.collect()
}

/// A line for each run, over its iterations; `None` if a run with a replay buffer has no rows.
fn lines_of_rows(curves: &[Curve]) -> Option<Vec<Line<'_>>> {
    let mut learning = curves.iter().filter(|curve| !curve.replay.is_empty());
    if !learning.all(|curve| curve.averages.len() > 1) {
        return None;
    }
    let values = |curve: &Curve| {
        let every = curve.averages.len().div_ceil(ROWS).max(1);
        let place = |row: &AveragePoint| (row.iteration as f64, row.running_average);
        let drawn = |&(x, y): &(f64, f64)| drawable(x) && drawable(y);
        // Counted from the end, so that the last row is drawn.
        let rows = curve.averages.iter().rev().step_by(every);
        let mut rows: Vec<_> = rows.map(place).filter(drawn).collect();
        rows.reverse();
        rows
    };
    let all = curves.iter().zip(strokes()).map(|(curve, stroke)| Line {
        label: &curve.label,
        stroke,
        values: values(curve),
        band: Vec::new(),
        end: None,
        rates: rates_of(curve, |point| point.iterations),
        by_iterations: true,
    });
    let lines: Vec<Line> = all.filter(|line| !line.values.is_empty()).collect();
    (!lines.is_empty()).then_some(lines)
}

/// A line for each run that has any points; `None` if no run has.
fn lines(curves: &[Curve], of: impl Fn(&ReplayPoint) -> f64) -> Option<Vec<Line<'_>>> {
    let values = |curve: &Curve| {
        let drawn = |point: &ReplayPoint| drawable(of(point)) && drawable(point.updates as f64);
        let points: Vec<ReplayPoint> = curve.replay.iter().copied().filter(drawn).collect();
        let size = points.len().div_ceil(POINTS).max(1);
        let mean = |points: &[ReplayPoint]| {
            let sum: f64 = points.iter().map(&of).sum();
            let updates = points.last().map_or(0, |point| point.updates);
            (updates as f64, sum / points.len() as f64)
        };
        points.chunks(size).map(mean).collect::<Vec<_>>()
    };
    let bands = |curve: &Curve| {
        let seeds: Vec<_> = curve.seeds.iter().map(values).collect();
        let at = |&(updates, _): &(f64, f64)| {
            let same = |seed: &Vec<(f64, f64)>| {
                let found = seed.iter().find(|value| value.0 == updates);
                found.map(|&(_, height)| height)
            };
            let heights: Vec<f64> = seeds.iter().filter_map(same).collect();
            Some((updates, band(&heights)?))
        };
        values(curve).iter().filter_map(at).collect()
    };
    let all = curves.iter().zip(strokes()).map(|(curve, stroke)| Line {
        label: &curve.label,
        stroke,
        values: values(curve),
        band: bands(curve),
        end: curve
            .replay
            .last()
            .and_then(|point| Some((point.updates, point.iterations?))),
        rates: rates_of(curve, |point| Some(point.updates)),
        by_iterations: false,
    });
    let lines: Vec<Line> = all.filter(|line| !line.values.is_empty()).collect();
    (!lines.is_empty()).then_some(lines)
}

fn draw(lines: &[Line], text: &Text, scale: Scale) -> Scene {
    let counts = lines.iter().flat_map(|line| &line.values);
    let max = counts.map(|&(count, _)| count).fold(1.0, f64::max);
    let y = YAxis {
        scale,
        unit: AxisUnit::Points,
        steps: STEPS,
    };
    let entries = lines.iter().map(Line::entry).collect();
    let (mut scene, mut frame) = page(entries, text, Scale::Linear { max }, y);
    let changes = match lines {
        [line] => &line.rates[..],
        _ => &[],
    };
    if !changes.is_empty() {
        frame.top += RATES;
    }
    frame.scales(&mut scene, true, true);
    rates::mark(&mut scene, &frame, changes, text.letters);
    for line in lines {
        frame.band(&mut scene, &line.band, line.stroke);
    }
    for line in lines {
        let mut stroke = line.stroke;
        if line.by_iterations {
            stroke.width = 2.5;
        }
        frame.curve(&mut scene, &line.values, stroke);
    }
    below(&mut scene, &frame, &axis(lines));
    scene
}

/// What the axis counts. A run alone also tells its iterations, which are no axis of their own.
fn axis(lines: &[Line]) -> String {
    match lines {
        [
            Line {
                end: Some((updates, iterations)),
                ..
            },
        ] => {
            let (updates, iterations) = (grouped(*updates as f64), grouped(*iterations as f64));
            format!("updates ({updates} in {iterations} iterations)")
        }
        [line, ..] if line.by_iterations => "iterations".to_owned(),
        _ => "updates".to_owned(),
    }
}
