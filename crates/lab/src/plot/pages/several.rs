//! The plots of several runs: their names above, and a line for each in every frame, with a band
//! where it is the mean of several runs.

use afterstate::tally::Tally;

use super::{MergedRun, RUNS, STEPS, Text, episodes, games, round_top, y_axis};
use crate::numbers::grouped;
use crate::plot::chart::{
    self, ChartFrame, FOOT, HEADING, HEIGHT, LINE, MARGIN, STRONG, WIDTH, YAxis,
};
use crate::plot::legend::{Legend, LegendEntry};
use crate::plot::merge::largest_tiles;
use crate::plot::scale::{AxisUnit, Scale};
use crate::plot::scene::{Anchor, Scene, Stroke};

/// After the last colour, they come again with dashes, then dotted.
const DASHES: [Option<[f32; 2]>; 3] = [None, Some([14.0, 9.0]), Some([1.0, 9.0])];
/// As many panels as can be read on one page.
const PANELS: usize = 6;
/// Steps of a panel's y axis.
const PANEL_STEPS: usize = 4;

/// The mean of each run.
pub(super) fn score(runs: &[MergedRun], text: &Text) -> Scene {
    let value = |run: &MergedRun| grouped(run.last(Tally::mean));
    let y_max = round_top(runs, Tally::mean, STEPS);
    let y = y_axis(y_max, AxisUnit::Points, STEPS);
    let (mut scene, frame) = page(entries(runs, value), text, games(runs), y);
    frame.scales(&mut scene, true, true);
    for (run, stroke) in runs.iter().zip(strokes()) {
        frame.band(&mut scene, &run.band(Tally::mean), stroke);
    }
    for (run, stroke) in runs.iter().zip(strokes()) {
        frame.curve(&mut scene, &run.line(Tally::mean), stroke);
    }
    episodes(&mut scene, &frame);
    scene
}

/// How often each run reached a tile.
pub(super) fn win_rate(runs: &[MergedRun], text: &Text) -> Scene {
    panels(runs, text, Tally::reach, 1.0)
}

/// How often each run ended with a tile.
pub(super) fn termination_rate(runs: &[MergedRun], text: &Text) -> Scene {
    let tiles = largest_tiles(runs, PANELS);
    let highest = |tally: &Tally| {
        let shares = tiles.iter().map(|&tile| tally.end(tile));
        shares.fold(0.0, f64::max)
    };
    let y_max = round_top(runs, highest, PANEL_STEPS).min(1.0);
    panels(runs, text, Tally::end, y_max)
}

/// A panel for each of the largest tiles, all with the same scales, a line for each run.
fn panels(
    runs: &[MergedRun],
    text: &Text,
    share: impl Fn(&Tally, u64) -> f64,
    y_max: f64,
) -> Scene {
    let entries = entries(runs, |_| String::new());
    let y = y_axis(y_max, AxisUnit::Share, PANEL_STEPS);
    let (mut scene, whole) = page(entries, text, games(runs), y);
    let tiles = largest_tiles(runs, PANELS);
    let columns = match tiles.len() {
        1 => 1,
        2 | 4 => 2,
        _ => 3,
    };
    let rows = tiles.len().div_ceil(columns);
    for (i, &tile) in tiles.iter().enumerate() {
        let (row, column) = (i / columns, i % columns);
        let frame = panel(&whole, (row, rows), (column, columns));
        let name = (frame.left, frame.top - 12.0);
        scene.text(name, &tile.to_string(), Anchor::Start, STRONG);
        let nothing_below = i + columns >= tiles.len();
        frame.scales(&mut scene, column == 0, nothing_below);
        for (run, stroke) in runs.iter().zip(strokes()) {
            let band = run.band(|tally| share(tally, tile));
            frame.band(&mut scene, &band, stroke);
        }
        for (run, stroke) in runs.iter().zip(strokes()) {
            let values = run.line(|tally| share(tally, tile));
            frame.curve(&mut scene, &values, stroke);
        }
    }
    episodes(&mut scene, &whole);
    scene
}

/// The frame's part in the given row and column, with room for its name above.
fn panel(
    whole: &ChartFrame,
    (row, rows): (usize, usize),
    (column, columns): (usize, usize),
) -> ChartFrame {
    const NAME: f32 = 40.0;
    const GAP: f32 = 56.0;
    let width = (whole.right - whole.left + GAP) / columns as f32;
    let height = (whole.bottom - whole.top) / rows as f32;
    let left = whole.left + width * column as f32;
    let top = whole.top + height * row as f32;
    // All but the last row keep a distance from the next one's names.
    let rest = if row + 1 < rows { 12.0 } else { 0.0 };
    ChartFrame {
        left,
        right: left + width - GAP,
        top: top + NAME,
        bottom: top + height - rest,
        ..*whole
    }
}

/// What the legend says of each run.
fn entries(runs: &[MergedRun], value: impl Fn(&MergedRun) -> String) -> Vec<LegendEntry> {
    let entry = |(run, stroke): (&MergedRun, Stroke)| LegendEntry {
        stroke,
        name: run.label.to_owned(),
        value: value(run),
        end: 0.0,
    };
    runs.iter().zip(strokes()).map(entry).collect()
}

/// A page with the runs' names above; it grows with their number. Also the frame below them.
pub(super) fn page(
    entries: Vec<LegendEntry>,
    text: &Text,
    x: Scale,
    y: YAxis,
) -> (Scene, ChartFrame) {
    let legend = Legend::new(text.letters, entries);
    let more = (legend.height() - 2.0 * LINE).max(0.0);
    let mut scene = Scene::new(WIDTH, HEIGHT + more);
    chart::heading(&mut scene, text.letters, text.title, &text.about);
    legend.draw(&mut scene, text.letters);
    let frame = ChartFrame {
        left: 0.0,
        right: WIDTH - 2.0 * MARGIN,
        top: HEADING + legend.height() + 6.0,
        bottom: scene.height - FOOT,
        x,
        y,
    };
    (scene, frame.with_numbers(text.letters))
}

/// How each run is drawn, one after another, without end.
pub(super) fn strokes() -> impl Iterator<Item = Stroke> {
    let all = |dash| {
        RUNS.map(|colour| Stroke {
            colour,
            width: 4.5,
            dash,
        })
    };
    DASHES.into_iter().flat_map(all).cycle()
}
