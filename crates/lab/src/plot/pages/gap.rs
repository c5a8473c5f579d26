//! The optimality gap over the games played. Both scales are logarithmic: a gap falls by factors,
//! and most of the learning happens early.

use super::several::{page, strokes};
use super::{Text, episodes};
use crate::curve::{Curve, GapPoint};
use crate::numbers::percent_significant;
use crate::plot::chart::YAxis;
use crate::plot::legend::LegendEntry;
use crate::plot::scale::{AxisUnit, Scale, drawable};
use crate::plot::scene::{Scene, Stroke};

/// The smallest gap that is distinguished from 0, which has no place on a logarithmic scale:
/// 0.001%.
const LEAST: f64 = 1e-5;
/// Steps of the y axis, three for a power of ten.
const STEPS: usize = 12;

/// A line with dots for each run that was measured, in its colour of the other plots.
pub(super) fn gap(curves: &[Curve], text: &Text) -> Option<Scene> {
    let measured: Vec<Line> = curves.iter().zip(strokes()).filter_map(Line::new).collect();
    if measured.is_empty() {
        return None;
    }
    let values = || measured.iter().flat_map(|line| &line.values);
    let x = Scale::around(values().map(|&(games, _)| games));
    let y = YAxis {
        scale: Scale::around(values().map(|&(_, gap)| gap)),
        unit: AxisUnit::Share,
        steps: STEPS,
    };
    let entries = measured.iter().map(Line::entry).collect();
    let (mut scene, frame) = page(entries, text, x, y);
    frame.scales(&mut scene, true, true);
    for line in &measured {
        frame.line(&mut scene, &line.values, line.stroke);
        frame.dots(&mut scene, &line.values, line.stroke);
    }
    episodes(&mut scene, &frame);
    Some(scene)
}

/// One run.
struct Line<'a> {
    label: &'a str,
    stroke: Stroke,
    /// Games and gap, as they are drawn.
    values: Vec<(f64, f64)>,
    last: f64,
}

impl<'a> Line<'a> {
    /// None if the run was not measured.
    fn new((curve, stroke): (&'a Curve, Stroke)) -> Option<Self> {
        let drawn = |gap: &&GapPoint| drawable(gap.relative) && drawable(gap.games as f64);
        let gaps = || curve.gaps.iter().filter(drawn);
        let value = |gap: &GapPoint| (gap.games.max(1) as f64, gap.relative.max(LEAST));
        Some(Self {
            label: &curve.label,
            stroke,
            values: gaps().map(value).collect(),
            last: gaps().next_back()?.relative,
        })
    }

    fn entry(&self) -> LegendEntry {
        LegendEntry {
            stroke: self.stroke,
            name: self.label.to_owned(),
            value: percent_significant(self.last, LEAST),
            end: 0.0,
        }
    }
}
