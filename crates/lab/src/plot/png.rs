//! A scene as PNG, a pixel for every unit of the page.

use tiny_skia::{
    Color, FillRule, LineCap, LineJoin, Paint, Path, PathBuilder, Pixmap, Stroke, StrokeDash,
    Transform,
};

use super::PlotError;
use super::letters::Letters;
use super::scene::{Anchor, Colour, PixelPoint, Scene, SceneShape, Stroke as Line};

/// The whole file.
pub(super) fn render(scene: &Scene, letters: &Letters) -> Result<Vec<u8>, PlotError> {
    let (width, height) = (scene.width as u32, scene.height as u32);
    let failed = |reason: String| PlotError::Png {
        width,
        height,
        reason,
    };
    let mut page = Pixmap::new(width, height).ok_or_else(|| failed("no such size".into()))?;
    let [r, g, b] = scene.background.rgb();
    page.fill(Color::from_rgba8(r, g, b, 255));
    for shape in &scene.shapes {
        put(&mut page, shape, letters);
    }
    page.encode_png().map_err(|error| failed(error.to_string()))
}

/// Draws one shape. One without extent (an empty text, a line of no points) has no path and leaves
/// no mark.
fn put(page: &mut Pixmap, shape: &SceneShape, letters: &Letters) {
    match shape {
        SceneShape::Line { points, stroke } => {
            if let Some(path) = path(points, false) {
                let paint = paint(stroke.colour);
                page.stroke_path(&path, &paint, &pen(stroke), Transform::identity(), None);
            }
        }
        SceneShape::Area {
            points,
            colour,
            opacity,
        } => {
            if let Some(path) = path(points, true) {
                fill_with(page, &path, &paint_through(*colour, *opacity));
            }
        }
        SceneShape::Dot { at, radius, colour } => {
            if let Some(path) = PathBuilder::from_circle(at.0, at.1, *radius) {
                fill(page, &path, *colour);
            }
        }
        SceneShape::Text {
            at,
            text,
            anchor,
            face,
        } => {
            let shift = match anchor {
                Anchor::Start => 0.0,
                Anchor::Middle => letters.width(text, *face) / 2.0,
                Anchor::End => letters.width(text, *face),
            };
            if let Some(path) = letters.outline(text, *face, (at.0 - shift, at.1)) {
                fill(page, &path, face.colour);
            }
        }
    }
}

fn fill(page: &mut Pixmap, path: &Path, colour: Colour) {
    fill_with(page, path, &paint(colour));
}

fn fill_with(page: &mut Pixmap, path: &Path, paint: &Paint<'_>) {
    page.fill_path(path, paint, FillRule::Winding, Transform::identity(), None);
}

fn path(points: &[PixelPoint], closed: bool) -> Option<Path> {
    let mut path = PathBuilder::new();
    for (i, &(x, y)) in points.iter().enumerate() {
        if i == 0 {
            path.move_to(x, y);
        } else {
            path.line_to(x, y);
        }
    }
    if closed {
        path.close();
    }
    path.finish()
}

fn paint(colour: Colour) -> Paint<'static> {
    paint_through(colour, 1.0)
}

/// With an opacity from 0 to 1.
fn paint_through(colour: Colour, opacity: f32) -> Paint<'static> {
    let [r, g, b] = colour.rgb();
    let mut paint = Paint::default();
    paint.set_color_rgba8(r, g, b, (255.0 * opacity).round() as u8);
    paint
}

fn pen(line: &Line) -> Stroke {
    Stroke {
        width: line.width,
        line_cap: LineCap::Round,
        line_join: LineJoin::Round,
        dash: line
            .dash
            .and_then(|lengths| StrokeDash::new(lengths.to_vec(), 0.0)),
        ..Stroke::default()
    }
}
