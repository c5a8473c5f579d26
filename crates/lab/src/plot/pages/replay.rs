//! Learning from a replay buffer, over the updates made: the running average of scores, the loss
//! and the values, with a line for each run that has such a buffer. These learners are compared by
//! updates: good games are long and have more of them.

use super::several::{page, strokes};
use super::{STEPS, Text, below};
use crate::curve::{Curve, ReplayPoint};
use crate::numbers::{grouped, significant};
use crate::plot::band::{Ends, band};
use crate::plot::chart::YAxis;
use crate::plot::legend::LegendEntry;
use crate::plot::scale::{AxisUnit, Scale, drawable, step};
use crate::plot::scene::{Scene, Stroke};

/// The most points of a line: more than a page has room for.
const POINTS: usize = 300;
/// The least loss that has a place on a logarithmic scale.
const LEAST: f64 = 1e-9;

/// The running average.
pub(super) fn running_average(curves: &[Curve], text: &Text) -> Option<Scene> {
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
    let lines = lines(curves, of)?;
    let highest = lines.iter().flat_map(Line::heights).fold(LEAST, f64::max);
    let step = step(highest, STEPS);
    let max = (highest / step - 1e-9).ceil() * step;
    Some(draw(&lines, text, Scale::Linear { max }))
}

/// One run.
struct Line<'a> {
    label: &'a str,
    stroke: Stroke,
    /// Updates and what is drawn over them.
    values: Vec<(f64, f64)>,
    /// The band around it, where it is the mean of several runs.
    band: Vec<(f64, Ends)>,
    /// The updates of the whole run, and its iterations, where they are known.
    end: Option<(u64, u64)>,
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
    });
    let lines: Vec<Line> = all.filter(|line| !line.values.is_empty()).collect();
    (!lines.is_empty()).then_some(lines)
}

fn draw(lines: &[Line], text: &Text, scale: Scale) -> Scene {
    let updates = lines.iter().flat_map(|line| &line.values);
    let max = updates.map(|&(updates, _)| updates).fold(1.0, f64::max);
    let y = YAxis {
        scale,
        unit: AxisUnit::Points,
        steps: STEPS,
    };
    let entries = lines.iter().map(Line::entry).collect();
    let (mut scene, frame) = page(entries, text, Scale::Linear { max }, y);
    frame.scales(&mut scene, true, true);
    for line in lines {
        frame.band(&mut scene, &line.band, line.stroke);
    }
    for line in lines {
        frame.curve(&mut scene, &line.values, line.stroke);
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
        _ => "updates".to_owned(),
    }
}
