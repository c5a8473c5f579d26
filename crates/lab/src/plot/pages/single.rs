//! The plots of one run: one frame, every line or band named at its right end.

use std::slice;

use afterstate::tally::Tally;

use super::{MergedRun, RUNS, STEPS, Text, episodes, games, rates, round_top, y_axis};
use crate::curve::RateChange;
use crate::numbers::{grouped, percent_label};
use crate::plot::chart::{self, ChartFrame, FOOT, HEADING, HEIGHT, MARGIN, WIDTH, YAxis};
use crate::plot::legend::{self, LegendEntry};
use crate::plot::letters::Letters;
use crate::plot::merge::largest_tiles;
use crate::plot::scale::AxisUnit;
use crate::plot::scene::{Colour, Scene, Stroke};

/// Colours of tiles, the largest first: viridis without its palest end. They darken with the tile,
/// so their order is seen by anyone, and in print without colours, too.
const TILES: [Colour; 8] = [
    Colour(0x440154),
    Colour(0x46327e),
    Colour(0x365c8d),
    Colour(0x277f8e),
    Colour(0x1fa187),
    Colour(0x4ac16d),
    Colour(0x9fda3a),
    Colour(0xe0d21b),
];
/// The games below the smallest tile that has a colour.
const REST: Colour = Colour(0xd0d0d0);

/// The mean, and above it the highest score.
pub(super) fn score(run: &MergedRun, text: &Text) -> Scene {
    let highest = |tally: &Tally| tally.max as f64;
    let strong = Stroke::solid(RUNS[0], 5.0);
    let light = Stroke::solid(RUNS[0].tint(0.5), 2.5);
    let named = |stroke, name, end| entry(stroke, name, grouped(end), end);
    let entries = [
        named(light, "max", run.last(highest)),
        named(strong, "mean", run.last(Tally::mean)),
    ];
    let y_max = round_top(slice::from_ref(run), highest, STEPS);
    let y = y_axis(y_max, AxisUnit::Points, STEPS);
    let mut page = Page::new(run, text, &entries, y);
    let (mean, max) = (run.line(Tally::mean), run.line(highest));
    page.band(&mean, &max, RUNS[0].tint(0.9));
    page.scales();
    page.rate_changes(run, text.letters);
    page.curve(&max, light);
    page.curve(&mean, strong);
    page.scene
}

/// A line for every tile.
pub(super) fn win_rate(run: &MergedRun, text: &Text) -> Scene {
    // From the top of the page down: the smallest tile is reached most often.
    let tiles = coloured_tiles(run);
    let named = |&(tile, colour): &(u64, Colour)| {
        let share = run.last(|tally| tally.reach(tile));
        let stroke = Stroke::solid(colour, 4.5);
        entry(stroke, &tile.to_string(), percent_label(share), share)
    };
    let entries: Vec<LegendEntry> = tiles.iter().map(named).collect();
    let y = y_axis(1.0, AxisUnit::Share, STEPS);
    let mut page = Page::new(run, text, &entries, y);
    page.scales();
    for (&(tile, _), entry) in tiles.iter().zip(&entries) {
        page.curve(&run.line(|tally| tally.reach(tile)), entry.stroke);
    }
    page.scene
}

/// A band for every tile; all together are all games.
pub(super) fn termination_rate(run: &MergedRun, text: &Text) -> Scene {
    let bands = bands(run);
    let named = |band: &Band| {
        let (low, high) = (run.last(|t| band.low(t)), run.last(|t| band.high(t)));
        let stroke = Stroke::solid(band.colour, 4.5);
        let share = percent_label(high - low);
        entry(stroke, &band.name, share, (low + high) / 2.0)
    };
    let entries: Vec<LegendEntry> = bands.iter().map(named).collect();
    let y = y_axis(1.0, AxisUnit::Share, STEPS);
    let mut page = Page::new(run, text, &entries, y);
    page.scales();
    for band in &bands {
        let low = from_start(run, |tally| band.low(tally));
        let high = from_start(run, |tally| band.high(tally));
        page.band(&low, &high, band.colour);
        // A white edge keeps neighbours of similar colour apart.
        let edge = high.iter().map(|&(x, y)| page.frame.at(x, y)).collect();
        page.scene.line(edge, Stroke::solid(Colour(0xffffff), 1.5));
    }
    page.scene
}

/// The tiles that get a colour, in rising order.
fn coloured_tiles(run: &MergedRun) -> Vec<(u64, Colour)> {
    let tiles = largest_tiles(slice::from_ref(run), TILES.len());
    let largest_first = tiles.into_iter().rev().zip(TILES);
    let mut tiles: Vec<_> = largest_first.collect();
    tiles.reverse();
    tiles
}

/// The games of one largest tile, as a band between two win rates: as many games end with a tile as
/// reach it and not the next.
struct Band {
    name: String,
    colour: Colour,
    tile: u64,
    next: Option<u64>,
}

impl Band {
    fn low(&self, tally: &Tally) -> f64 {
        self.next.map_or(0.0, |next| tally.reach(next))
    }

    fn high(&self, tally: &Tally) -> f64 {
        tally.reach(self.tile)
    }
}

/// A band for each tile, the smallest first and on top; before it one for all that are smaller yet.
fn bands(run: &MergedRun) -> Vec<Band> {
    let tiles = coloured_tiles(run);
    let next = |i: usize| tiles.get(i).map(|&(tile, _)| tile);
    let rest = Band {
        name: "smaller".to_owned(),
        colour: REST,
        tile: 0,
        next: next(0),
    };
    let mut bands = Vec::new();
    if run.points.iter().any(|p| rest.low(&p.tally) < 1.0) {
        bands.push(rest);
    }
    for (i, &(tile, colour)) in tiles.iter().enumerate() {
        bands.push(Band {
            name: tile.to_string(),
            colour,
            tile,
            next: next(i + 1),
        });
    }
    bands
}

/// The run's values, the first one also where its block began: an area has no width without it.
fn from_start(run: &MergedRun, of: impl Fn(&Tally) -> f64) -> Vec<(f64, f64)> {
    let mut values = run.line(of);
    if let (Some(first), Some(&(games, value))) = (run.points.first(), values.first()) {
        let start = (games - first.tally.games as f64).max(0.0);
        values.insert(0, (start, value));
    }
    values
}

fn entry(stroke: Stroke, name: &str, value: String, end: f64) -> LegendEntry {
    let name = name.to_owned();
    LegendEntry {
        stroke,
        name,
        value,
        end,
    }
}

/// The page of one run: one frame with the lines' names at their ends.
struct Page {
    scene: Scene,
    frame: ChartFrame,
}

impl Page {
    fn new(run: &MergedRun, text: &Text, entries: &[LegendEntry], y: YAxis) -> Self {
        let letters = text.letters;
        let mut scene = Scene::new(WIDTH, HEIGHT);
        chart::heading(&mut scene, letters, text.title, &text.about);
        let frame = ChartFrame {
            left: 0.0,
            right: WIDTH - MARGIN - legend::end_labels_width(letters, entries),
            top: HEADING,
            bottom: HEIGHT - FOOT,
            x: games(slice::from_ref(run)),
            y,
        }
        .with_numbers(letters);
        legend::end_labels(&mut scene, letters, &frame, entries);
        episodes(&mut scene, &frame);
        Self { scene, frame }
    }

    fn scales(&mut self) {
        self.frame.scales(&mut self.scene, true, true);
    }

    /// Marks where the learning rate changed.
    fn rate_changes(&mut self, run: &MergedRun, letters: &Letters) {
        let games = run.games();
        let inside = |change: &&RateChange| change.games > 0 && change.games < games;
        let changes = run.rate_changes.iter().filter(inside);
        let changes: Vec<_> = changes
            .map(|change| (change.games as f64, change.learning_rate))
            .collect();
        rates::mark(&mut self.scene, &self.frame, &changes, letters);
    }

    fn curve(&mut self, values: &[(f64, f64)], stroke: Stroke) {
        self.frame.curve(&mut self.scene, values, stroke);
    }

    /// Fills what lies between two lines.
    fn band(&mut self, low: &[(f64, f64)], high: &[(f64, f64)], colour: Colour) {
        let outline = low.iter().chain(high.iter().rev());
        let outline = outline.map(|&(x, y)| self.frame.at(x, y)).collect();
        self.scene.area(outline, colour);
    }
}
