//! A scene as SVG. Texts stay texts, so that they can be searched and copied; the viewer's own font
//! is used if it has none of those named.

use std::fmt::Write;

use super::scene::{Anchor, PixelPoint, Scene, SceneShape, Script};

/// The head of every file: round joins, and fonts as wide as the built-in one or narrower.
const FONTS: &str = "Noto Sans, Open Sans, Segoe UI, Helvetica, Arial, sans-serif";

/// The whole file.
pub(super) fn render(scene: &Scene) -> String {
    let (w, h) = (scene.width, scene.height);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{w}\" height=\"{h}\" \
         viewBox=\"0 0 {w} {h}\" font-family=\"{FONTS}\" stroke-linejoin=\"round\" \
         stroke-linecap=\"round\">\n<rect width=\"{w}\" height=\"{h}\" fill=\"#{:06x}\"/>\n",
        scene.background.0
    );
    for shape in &scene.shapes {
        out.push_str(&element(shape));
        out.push('\n');
    }
    out.push_str("</svg>\n");
    out
}

fn element(shape: &SceneShape) -> String {
    match shape {
        SceneShape::Line { points, stroke } => {
            let dash = stroke.dash.map_or(String::new(), |[dash, gap]| {
                format!(" stroke-dasharray=\"{dash} {gap}\"")
            });
            format!(
                "<polyline fill=\"none\" stroke=\"#{:06x}\" stroke-width=\"{}\"{dash} points=\"{}\"/>",
                stroke.colour.0,
                stroke.width,
                list(points)
            )
        }
        SceneShape::Area {
            points,
            colour,
            opacity,
        } => {
            let opacity = match *opacity < 1.0 {
                true => format!(" fill-opacity=\"{opacity}\""),
                false => String::new(),
            };
            format!(
                "<polygon fill=\"#{:06x}\"{opacity} points=\"{}\"/>",
                colour.0,
                list(points)
            )
        }
        SceneShape::Dot { at, radius, colour } => format!(
            "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"{radius}\" fill=\"#{:06x}\"/>",
            at.0, at.1, colour.0
        ),
        SceneShape::Text {
            at,
            text,
            anchor,
            face,
        } => {
            let anchor = match anchor {
                Anchor::Start => "start",
                Anchor::Middle => "middle",
                Anchor::End => "end",
            };
            let weight = if face.bold {
                " font-weight=\"bold\""
            } else {
                ""
            };
            format!(
                "<text x=\"{:.1}\" y=\"{:.1}\" font-size=\"{}\"{weight} text-anchor=\"{anchor}\" \
                 fill=\"#{:06x}\">{}</text>",
                at.0,
                at.1,
                face.size,
                face.colour.0,
                content(text, face.size)
            )
        }
    }
}

fn list(points: &[PixelPoint]) -> String {
    let mut out = String::with_capacity(points.len() * 12);
    for (x, y) in points {
        let gap = if out.is_empty() { "" } else { " " };
        // Writing to a String cannot fail.
        write!(out, "{gap}{x:.1},{y:.1}").ok();
    }
    out
}

/// The text; subscripts and superscripts are spans with a size and a shift of their own.
fn content(text: &str, size: f32) -> String {
    let mut out = String::with_capacity(text.len());
    let mut baseline = 0.0;
    let letters: Vec<(Script, char)> = text.chars().map(Script::of).collect();
    for run in letters.chunk_by(|a, b| a.0 == b.0) {
        let script = run[0].0;
        let run = escaped(&run.iter().map(|(_, c)| c).collect::<String>());
        let shift = script.drop() * size - baseline;
        baseline += shift;
        if script == Script::Normal && shift == 0.0 {
            out.push_str(&run);
        } else {
            let size = size * script.size();
            // Writing to a String cannot fail.
            write!(
                out,
                "<tspan font-size=\"{size:.1}\" dy=\"{shift:.1}\">{run}</tspan>"
            )
            .ok();
        }
    }
    out
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}
