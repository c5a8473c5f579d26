//! The plots, each as one page.
//!
//! One run: the score with the highest game above it; the win rate with a line for every tile; the
//! termination rate as bands that add up to all games. Several runs: a line for each run, and for
//! the rates a panel for each tile, since five runs of eight tiles would be forty lines in one
//! frame. The optimality gap has a line for each run that was measured, be it one or several.

mod dot_rows;
mod gap;
mod rates;
mod replay;
mod scores;
mod several;
mod single;

use afterstate::tally::Tally;

use super::band;
use super::chart::{ChartFrame, PLAIN, YAxis};
use super::letters::Letters;
use super::merge::{MergedRun, games_per_point};
use super::scale::{AxisUnit, Scale, step};
use super::scene::{Anchor, Colour, Scene};
use super::{DotRow, ScoreSeries, ScoreStyle};
use crate::curve::Curve;
use crate::numbers::grouped;

/// Colours of runs: Okabe and Ito's, which people of any colour vision can tell apart.
const RUNS: [Colour; 7] = [
    Colour(0x0072b2),
    Colour(0xd55e00),
    Colour(0x009e73),
    Colour(0xcc79a7),
    Colour(0x000000),
    Colour(0x56b4e9),
    Colour(0xe69f00),
];
/// Steps of the y axis of a whole page.
const STEPS: usize = 6;

/// What is written above a plot, and in which letters.
struct Text<'a> {
    title: &'a str,
    /// What the y axis shows.
    about: String,
    letters: &'a Letters,
}

impl<'a> Text<'a> {
    fn new(title: &'a str, about: impl Into<String>, letters: &'a Letters) -> Self {
        Self {
            title,
            about: about.into(),
            letters,
        }
    }
}

/// The mean score over the games played.
pub(super) fn score(runs: &[MergedRun], title: &str, letters: &Letters) -> Scene {
    let about = match of_seeds(runs) {
        None => format!("score (mean of {})", point_size(runs)),
        Some(seeds) => format!("score: {seeds} ({})", point_size(runs)),
    };
    let text = Text::new(title, about, letters);
    match runs {
        [run] if run.seeds.len() < 2 => single::score(run, &text),
        _ => several::score(runs, &text),
    }
}

/// The share of games that reached each tile.
pub(super) fn win_rate(runs: &[MergedRun], title: &str, letters: &Letters) -> Scene {
    let size = point_size(runs);
    let about = match of_seeds(runs) {
        None => format!("win rate: games that reached the tile (share of {size})"),
        Some(seeds) => format!("win rate (tile reached): {seeds} ({size})"),
    };
    let text = Text::new(title, about, letters);
    match runs {
        [run] if run.seeds.len() < 2 => single::win_rate(run, &text),
        _ => several::win_rate(runs, &text),
    }
}

/// The share of games that ended with each tile as their largest.
pub(super) fn termination_rate(runs: &[MergedRun], title: &str, letters: &Letters) -> Scene {
    let size = point_size(runs);
    let about = match of_seeds(runs) {
        None => format!("termination rate: games by their largest tile (share of {size})"),
        Some(seeds) => format!("termination rate (largest tile): {seeds} ({size})"),
    };
    let text = Text::new(title, about, letters);
    match runs {
        [run] if run.seeds.len() < 2 => single::termination_rate(run, &text),
        _ => several::termination_rate(runs, &text),
    }
}

/// The optimality gap; `None` if no run was measured.
pub(super) fn gap(curves: &[Curve], title: &str, letters: &Letters) -> Option<Scene> {
    let about = "optimality gap: difference of the expected score to the optimum, in percent";
    let text = Text::new(title, about, letters);
    gap::gap(curves, &text)
}

/// A row for each of several things that are compared.
pub(super) fn dot_rows(dot_rows: &[DotRow], title: &str, about: &str, letters: &Letters) -> Scene {
    let text = Text::new(title, about, letters);
    dot_rows::dot_rows(dot_rows, &text)
}

/// The running average; `None` if no run has a replay buffer.
pub(super) fn running_average(curves: &[Curve], title: &str, letters: &Letters) -> Option<Scene> {
    let about = "running average: 0.99 of itself and 0.01 of half the score of each game";
    let about = with_seeds(about, "running average of halved scores", curves);
    let text = Text::new(title, about, letters);
    replay::running_average(curves, &text)
}

/// The loss; `None` if no run has a replay buffer.
pub(super) fn loss(curves: &[Curve], title: &str, letters: &Letters) -> Option<Scene> {
    let about = "loss: mean squared error of a batch, in the units of each network";
    let about = with_seeds(about, "loss of a batch", curves);
    let text = Text::new(title, about, letters);
    replay::loss(curves, &text)
}

/// The values of positions; `None` if no run has a replay buffer.
pub(super) fn value(curves: &[Curve], title: &str, letters: &Letters) -> Option<Scene> {
    let about = "value: points that the network expects to follow, mean of a batch";
    let about = with_seeds(about, "value, in points, mean of a batch", curves);
    let text = Text::new(title, about, letters);
    replay::value(curves, &text)
}

/// Scores of single games; `None` if no game is inside of the frame.
pub(super) fn scores(
    series: &[ScoreSeries],
    style: &ScoreStyle,
    title: &str,
    letters: &Letters,
) -> Option<Scene> {
    let text = Text::new(title, style.about(), letters);
    scores::scores(series, style, &text)
}

/// Names the x axis of most plots.
fn episodes(scene: &mut Scene, frame: &ChartFrame) {
    below(scene, frame, "episodes");
}

/// Names the x axis.
fn below(scene: &mut Scene, frame: &ChartFrame, name: &str) {
    let at = ((frame.left + frame.right) / 2.0, scene.height - 20.0);
    scene.text(at, name, Anchor::Middle, PLAIN);
}

/// Up to the games of the longest run.
fn games(runs: &[MergedRun]) -> Scale {
    let longest = runs.iter().map(MergedRun::games).max().unwrap_or(0);
    let max = longest.max(1) as f64;
    Scale::Linear { max }
}

/// From 0 to `max`.
fn y_axis(max: f64, unit: AxisUnit, steps: usize) -> YAxis {
    let scale = Scale::Linear { max };
    YAxis { scale, unit, steps }
}

/// A round number at or above every value, for the top of a scale.
fn round_top(runs: &[MergedRun], of: impl Fn(&Tally) -> f64, count: usize) -> f64 {
    let points = runs.iter().flat_map(|run| &run.points);
    let highest = points.map(|point| of(&point.tally)).fold(0.0, f64::max);
    let bands = runs.iter().flat_map(|run| run.band(&of));
    let highest = bands.map(|(_, [_, high])| high).fold(highest, f64::max);
    if highest <= 0.0 {
        return 1.0;
    }
    let step = step(highest, count);
    (highest / step - 1e-9).ceil() * step
}

/// What the lines of a sweep are; `None` for plain runs.
fn of_seeds(runs: &[MergedRun]) -> Option<String> {
    band::counted(runs.iter().map(|run| run.seeds.len()))
}

/// The same after a short name, instead of the long one of plain runs.
fn with_seeds(plain: &str, short: &str, curves: &[Curve]) -> String {
    match band::words(curves.iter()) {
        None => plain.to_owned(),
        Some(seeds) => format!("{short}: {seeds}"),
    }
}

/// How many games a point has.
fn point_size(runs: &[MergedRun]) -> String {
    let (least, most) = games_per_point(runs);
    let each = if least == most { "each" } else { "up to" };
    let plural = if most == 1 { "" } else { "s" };
    format!("{each} {} game{plural}", grouped(most as f64))
}
