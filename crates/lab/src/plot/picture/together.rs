//! The pictures of several runs: their names above, and a line for each in every frame.

use afterstate::tally::Tally;

use super::{RUNS, Run, STEPS, Text, episodes, longest, round_top};
use crate::plot::chart::{self, FOOT, Frame, HEADING, HEIGHT, LINE, RIM, STRONG, Unit, WIDTH};
use crate::plot::legend::{Entry, Legend};
use crate::plot::merge::largest_tiles;
use crate::plot::scene::{Anchor, Scene, Stroke};

/// After the last colour, they come again with dashes, then dotted.
const DASHES: [Option<[f32; 2]>; 3] = [None, Some([14.0, 9.0]), Some([1.0, 9.0])];
/// As many panels as can be read on one page.
const PANELS: usize = 6;
/// Steps of a panel's upright scale.
const PANEL_STEPS: usize = 4;

/// The mean of each run.
pub(super) fn score(runs: &[Run], text: &Text) -> Scene {
    let value = |run: &Run| chart::thousands(run.last(Tally::mean));
    let (mut scene, top) = page(runs, text, value);
    let frame = Frame {
        left: 0.0,
        right: WIDTH - 2.0 * RIM,
        top,
        bottom: scene.height - FOOT,
        x_max: longest(runs),
        y_max: round_top(runs, Tally::mean, STEPS),
        y_steps: STEPS,
        unit: Unit::Points,
    }
    .with_numbers(text.letters);
    frame.scales(&mut scene, true, true);
    for (run, stroke) in runs.iter().zip(strokes()) {
        frame.curve(&mut scene, &run.line(Tally::mean), stroke);
    }
    episodes(&mut scene, &frame);
    scene
}

/// How often each run reached a tile.
pub(super) fn win_rate(runs: &[Run], text: &Text) -> Scene {
    panels(runs, text, Tally::reach, 1.0)
}

/// How often each run ended with a tile.
pub(super) fn termination_rate(runs: &[Run], text: &Text) -> Scene {
    let tiles = largest_tiles(runs, PANELS);
    let highest = |tally: &Tally| {
        let shares = tiles.iter().map(|&tile| tally.end(tile));
        shares.fold(0.0, f64::max)
    };
    let y_max = round_top(runs, highest, PANEL_STEPS);
    panels(runs, text, Tally::end, y_max)
}

/// A panel for each of the largest tiles, all with the same scales, a line for each run.
fn panels(runs: &[Run], text: &Text, share: impl Fn(&Tally, u64) -> f64, y_max: f64) -> Scene {
    let (mut scene, top) = page(runs, text, |_| String::new());
    let whole = Frame {
        left: 0.0,
        right: WIDTH - 2.0 * RIM,
        top,
        bottom: scene.height - FOOT,
        x_max: longest(runs),
        y_max,
        y_steps: PANEL_STEPS,
        unit: Unit::Share,
    }
    .with_numbers(text.letters);
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
            let values = run.line(|tally| share(tally, tile));
            frame.curve(&mut scene, &values, stroke);
        }
    }
    episodes(&mut scene, &whole);
    scene
}

/// The frame's part in the given row and column of so many, with room for its name above.
fn panel(whole: &Frame, (row, rows): (usize, usize), (column, columns): (usize, usize)) -> Frame {
    const NAME: f32 = 40.0;
    const GAP: f32 = 56.0;
    let width = (whole.right - whole.left + GAP) / columns as f32;
    let height = (whole.bottom - whole.top) / rows as f32;
    let left = whole.left + width * column as f32;
    let top = whole.top + height * row as f32;
    // All but the last row keep a distance from the next one's names.
    let rest = if row + 1 < rows { 12.0 } else { 0.0 };
    Frame {
        left,
        right: left + width - GAP,
        top: top + NAME,
        bottom: top + height - rest,
        ..*whole
    }
}

/// A page with the runs' names above; it grows with their number. Also the height where they end.
fn page(runs: &[Run], text: &Text, value: impl Fn(&Run) -> String) -> (Scene, f32) {
    let entry = |(run, stroke): (&Run, Stroke)| Entry {
        stroke,
        name: run.label.to_owned(),
        value: value(run),
        end: 0.0,
    };
    let entries = runs.iter().zip(strokes()).map(entry).collect();
    let legend = Legend::new(text.letters, entries);
    let more = (legend.height() - 2.0 * LINE).max(0.0);
    let mut scene = Scene::new(WIDTH, HEIGHT + more);
    chart::heading(&mut scene, text.letters, text.title, &text.about);
    legend.draw(&mut scene, text.letters);
    (scene, HEADING + legend.height() + 6.0)
}

/// How each run is drawn, one after another, without end.
fn strokes() -> impl Iterator<Item = Stroke> {
    let all = |dash| {
        RUNS.map(|colour| Stroke {
            colour,
            width: 4.5,
            dash,
        })
    };
    DASHES.into_iter().flat_map(all).cycle()
}
