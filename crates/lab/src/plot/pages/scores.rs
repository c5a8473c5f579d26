//! Scores of single games: a dot for every k-th game, joined by a line where there are few, and a
//! line of means.

use super::several::{page, strokes};
use super::{Text, below};
use crate::curve::GameScore;
use crate::numbers::grouped;
use crate::plot::chart::YAxis;
use crate::plot::legend::LegendEntry;
use crate::plot::scale::{AxisUnit, Scale, step};
use crate::plot::scene::{Scene, Stroke};
use crate::plot::{ScoreSeries, ScoreStyle};

/// Steps of the y axis.
const STEPS: usize = 6;
/// The radius of the dot of a game.
const DOT: f32 = 2.5;
/// As many dots, or fewer, are joined by a line, where there is no line of means.
const JOINED: usize = 200;
/// The line that joins them.
const THIN: f32 = 2.5;
/// How pale a dot is beside its line of means.
const PALE: f32 = 0.55;

/// All series in one frame; `None` if no game is inside of it.
pub(super) fn scores(series: &[ScoreSeries], style: &ScoreStyle, text: &Text) -> Option<Scene> {
    let games = |one: &ScoreSeries| one.scores.last().map_or(1, |last| last.episode);
    let longest = series.iter().map(games).max()? as f64;
    let x = match style.x_range {
        Some([min, max]) => Scale::Between { min, max },
        None => Scale::Linear { max: longest },
    };
    let (low, high) = match x {
        Scale::Between { min, max } => (min, max),
        _ => (0.0, longest),
    };
    let shown = |score: &&GameScore| (low..=high).contains(&(score.episode as f64));
    let lines: Vec<Line> = series
        .iter()
        .zip(strokes())
        .map(|(one, stroke)| {
            let games: Vec<GameScore> = one.scores.iter().filter(shown).copied().collect();
            Line::new(one, &games, stroke, style)
        })
        .collect();
    let values = || {
        lines
            .iter()
            .flat_map(|line| line.dots.iter().chain(&line.means))
    };
    let highest = values().map(|&(_, score)| score).fold(0.0, f64::max);
    values().next()?;
    let y = match style.y_range {
        Some([min, max]) => Scale::Between { min, max },
        None => {
            let step = step(highest.max(1.0), STEPS);
            let max = (highest.max(1.0) / step - 1e-9).ceil() * step;
            Scale::Linear { max }
        }
    };
    let axis = YAxis {
        scale: y,
        unit: AxisUnit::Points,
        steps: STEPS,
    };
    let entries = lines.iter().map(Line::entry).collect();
    let (mut scene, frame) = page(entries, text, x, axis);
    frame.scales(&mut scene, true, true);
    let inside = |&&(_, score): &&(f64, f64)| match style.y_range {
        Some([min, max]) => (min..=max).contains(&score),
        None => true,
    };
    for line in &lines {
        let colour = match line.means.is_empty() {
            true => line.stroke.colour,
            false => line.stroke.colour.tint(PALE),
        };
        for &(x, score) in line.dots.iter().filter(inside) {
            scene.dot(frame.at(x, score), DOT, colour);
        }
    }
    for line in &lines {
        if line.means.is_empty() && line.dots.len() <= JOINED {
            let inside: Vec<_> = line.dots.iter().filter(inside).copied().collect();
            frame.line(&mut scene, &inside, Stroke::solid(line.stroke.colour, THIN));
        }
        frame.curve(&mut scene, &line.means, line.stroke);
    }
    below(&mut scene, &frame, "episodes");
    Some(scene)
}

/// One series.
struct Line<'a> {
    label: &'a str,
    stroke: Stroke,
    dots: Vec<(f64, f64)>,
    means: Vec<(f64, f64)>,
    mean: f64,
}

impl<'a> Line<'a> {
    fn new(
        series: &'a ScoreSeries,
        games: &[GameScore],
        stroke: Stroke,
        style: &ScoreStyle,
    ) -> Self {
        let place = |game: &GameScore| (game.episode as f64, game.score as f64);
        let mean = |games: &[GameScore]| {
            let sum: f64 = games.iter().map(|game| game.score as f64).sum();
            sum / games.len().max(1) as f64
        };
        let dots = games.iter().filter(|game| match style.every {
            Some(every) => game.episode % every == 0,
            None => false,
        });
        let means = style.mean_of.map_or_else(Vec::new, |size| {
            let size = usize::try_from(size).unwrap_or(usize::MAX);
            let chunks = games.chunks(size.max(1));
            let whole = chunks.filter(|chunk| chunk.len() == size || games.len() < size);
            let point = |chunk: &[GameScore]| {
                let last = chunk.last()?;
                Some((last.episode as f64, mean(chunk)))
            };
            whole.filter_map(point).collect()
        });
        Self {
            label: &series.label,
            stroke,
            dots: dots.map(place).collect(),
            means,
            mean: mean(games),
        }
    }

    fn entry(&self) -> LegendEntry {
        LegendEntry {
            stroke: self.stroke,
            name: self.label.to_owned(),
            value: format!("mean {}", grouped(self.mean)),
            end: 0.0,
        }
    }
}
