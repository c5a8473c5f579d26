//! The names of the lines: at their right ends where one run is drawn, above the frame where there
//! are several. Neither ever lies on a curve.

use super::chart::{ChartFrame, HEADING, LINE, MARGIN, MIDDLE, PLAIN, STRONG, WIDTH};
use super::letters::Letters;
use super::scene::{Anchor, Scene, Stroke, Type};

/// One line of a legend.
pub(super) struct LegendEntry {
    pub stroke: Stroke,
    pub name: String,
    pub value: String,
    /// Where the line ends; the name is beside it if possible.
    pub end: f64,
}

/// The room that `end_labels` need at the right of the frame.
pub(super) fn end_labels_width(letters: &Letters, entries: &[LegendEntry]) -> f32 {
    let (names, values) = columns(letters, entries, STRONG, PLAIN);
    40.0 + names + 16.0 + values
}

/// Names and last values at the right ends of the lines, moved apart where they would overlap. Each
/// is joined to its line by a thin one of its colour, so no key is needed.
pub(super) fn end_labels(
    scene: &mut Scene,
    letters: &Letters,
    frame: &ChartFrame,
    entries: &[LegendEntry],
) {
    let (names, values) = columns(letters, entries, STRONG, PLAIN);
    let ends: Vec<f32> = entries.iter().map(|e| frame.height(e.end)).collect();
    let heights = spread(&ends, 30.0, frame.top, frame.bottom);
    for ((entry, end), height) in entries.iter().zip(ends).zip(heights) {
        let (from, to) = (frame.right + 6.0, frame.right + 34.0);
        let thin = Stroke::solid(entry.stroke.colour, 2.5);
        scene.line(vec![(from, end), (to, height)], thin);
        let baseline = height + PLAIN.size * MIDDLE;
        let name_end = frame.right + 40.0 + names;
        scene.text((name_end, baseline), &entry.name, Anchor::End, STRONG);
        let value_end = name_end + 16.0 + values;
        scene.text((value_end, baseline), &entry.value, Anchor::End, PLAIN);
    }
}

/// The room of the widest name and of the widest value.
fn columns(letters: &Letters, entries: &[LegendEntry], name: Type, value: Type) -> (f32, f32) {
    let names = entries.iter().map(|entry| letters.room(&entry.name, name));
    let values = entries
        .iter()
        .map(|entry| letters.room(&entry.value, value));
    (names.fold(0.0, f32::max), values.fold(0.0, f32::max))
}

/// Heights as near to the wanted ones (in rising order) as a distance of `gap` allows.
pub(super) fn spread(wanted: &[f32], gap: f32, top: f32, bottom: f32) -> Vec<f32> {
    let mut heights = wanted.to_vec();
    let mut free = top;
    for height in &mut heights {
        *height = height.max(free);
        free = *height + gap;
    }
    let mut free = bottom;
    for height in heights.iter_mut().rev() {
        *height = height.min(free);
        free = *height - gap;
    }
    heights
}

/// The names of runs above the frame, in columns.
pub(super) struct Legend {
    entries: Vec<LegendEntry>,
    columns: usize,
    /// From one column to the next.
    width: f32,
}

impl Legend {
    /// From the left end of an entry to its name; the line's sample stands there.
    const KEY: f32 = 54.0;
    /// Between a name and its value.
    const GAP: f32 = 12.0;
    /// Between two columns.
    const GUTTER: f32 = 36.0;

    /// Finds the columns. Up to four runs may take a row each; more get two columns at least, and
    /// names that are too long lose their middle.
    pub fn new(letters: &Letters, mut entries: Vec<LegendEntry>) -> Self {
        let page = WIDTH - 2.0 * MARGIN + Self::GUTTER;
        let most = if entries.len() > 4 { page / 2.0 } else { page };
        let (_, values) = columns(letters, &entries, PLAIN, STRONG);
        let rest = Self::KEY + Self::GAP + values + Self::GUTTER;
        for entry in &mut entries {
            entry.name = letters.fit(&entry.name, PLAIN, most - rest);
        }
        let (names, _) = columns(letters, &entries, PLAIN, STRONG);
        let width = rest + names;
        let columns = ((page / width) as usize).clamp(1, entries.len().max(1));
        Self {
            entries,
            columns,
            width,
        }
    }

    /// The height it takes.
    pub fn height(&self) -> f32 {
        LINE * self.entries.len().div_ceil(self.columns) as f32
    }

    /// Draws it below the heading.
    pub fn draw(&self, scene: &mut Scene, letters: &Letters) {
        for (i, entry) in self.entries.iter().enumerate() {
            let left = MARGIN + self.width * (i % self.columns) as f32;
            let baseline = HEADING + 12.0 + LINE * (i / self.columns) as f32;
            let middle = baseline - PLAIN.size * MIDDLE;
            let sample = vec![(left + 3.0, middle), (left + 41.0, middle)];
            scene.line(sample, entry.stroke);
            let name = left + Self::KEY;
            scene.text((name, baseline), &entry.name, Anchor::Start, PLAIN);
            let value = name + letters.room(&entry.name, PLAIN) + Self::GAP;
            scene.text((value, baseline), &entry.value, Anchor::Start, STRONG);
        }
    }
}
