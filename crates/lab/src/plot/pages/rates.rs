//! Changes of the learning rate: a dashed line for each, with the new rate above the frame.

use crate::plot::chart::ChartFrame;
use crate::plot::letters::Letters;
use crate::plot::scene::{Anchor, Colour, Scene, Stroke, Type};

const CHANGE: Stroke = Stroke {
    colour: Colour(0x999999),
    width: 2.0,
    dash: Some([6.0, 6.0]),
};
const SMALL: Type = Type {
    size: 18.0,
    bold: false,
    colour: Colour(0x4d4d4d),
};
/// As many changes as can be told apart.
const MOST_CHANGES: usize = 100;

/// Marks changes, each a place on the x axis and the new rate, by rising place. A rate is written
/// where there is room for it.
pub(super) fn mark(scene: &mut Scene, frame: &ChartFrame, changes: &[(f64, f32)], font: &Letters) {
    let mut free = frame.left;
    for &(place, rate) in changes.iter().take(MOST_CHANGES) {
        let (x, _) = frame.at(place, 0.0);
        scene.line(vec![(x, frame.top), (x, frame.bottom)], CHANGE);
        let name = format!("rate {rate}");
        let half = font.room(&name, SMALL) / 2.0;
        if x - half >= free && x + half <= frame.right {
            scene.text((x, frame.top - 8.0), &name, Anchor::Middle, SMALL);
            free = x + half + 12.0;
        }
    }
}
