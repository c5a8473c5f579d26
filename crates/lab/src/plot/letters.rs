//! The font: how wide a text is, and its outline. Noto Sans (Apache-2.0) comes from a crate, so the
//! plots are the same on a machine without any font.

use tiny_skia::{Path, PathBuilder};
use ttf_parser::{Face, FaceParsingError, GlyphId, OutlineBuilder};

use super::scene::{PixelPoint, Script, Type};

/// Letters that are tried at either end of a text that is too long.
const LONGEST: usize = 200;

/// The two weights that the plots use.
pub(super) struct Letters {
    regular: Face<'static>,
    bold: Face<'static>,
}

impl Letters {
    /// Reads the font.
    pub fn new() -> Result<Self, FaceParsingError> {
        Ok(Self {
            regular: Face::parse(ttf_noto_sans::REGULAR, 0)?,
            bold: Face::parse(ttf_noto_sans::BOLD, 0)?,
        })
    }

    /// The width of the text in pixels.
    pub fn width(&self, text: &str, face: Type) -> f32 {
        let font = self.font(face);
        let width = |c| {
            let (script, letter) = Script::of(c);
            advance(font, glyph(font, letter)) * scale(font, face) * script.size()
        };
        text.chars().map(width).sum()
    }

    /// The room to keep for the text. An SVG is shown with the viewer's font, and the widest of the
    /// usual ones, DejaVu Sans, is 12% wider than Noto Sans, in bold 20%.
    pub fn room(&self, text: &str, face: Type) -> f32 {
        self.width(text, face) * if face.bold { 1.2 } else { 1.12 }
    }

    /// The text, or as much of its beginning and end as fits, with an ellipsis between them: names
    /// of runs often differ only at the end.
    pub fn fit(&self, text: &str, face: Type, room: f32) -> String {
        if self.room(text, face) <= room {
            return text.to_owned();
        }
        let mut letters: Vec<char> = text.chars().collect();
        // No page is wide enough for more, and each try below measures the rest anew.
        if letters.len() > 2 * LONGEST {
            letters.drain(LONGEST..letters.len() - LONGEST);
        }
        let joined = |kept: usize| {
            let (front, back) = (kept.div_ceil(2), kept / 2);
            let mut text: String = letters[..front].iter().collect();
            text.push('…');
            text.extend(&letters[letters.len() - back..]);
            text
        };
        let fits = |text: &String| self.room(text, face) <= room;
        let shorter = (0..letters.len()).rev().map(joined).find(fits);
        shorter.unwrap_or_default()
    }

    /// A title such as `NAME (a=1, b=2): REST`. What does not fit are whole changes, from the last one:
    /// half a schedule would be another one.
    pub fn fit_title(&self, title: &str, face: Type, room: f32) -> String {
        let fits = |text: &String| self.room(text, face) <= room;
        let shorter = || {
            let (name, rest) = title.split_once(" (")?;
            let (changes, rest) = rest.rsplit_once("): ")?;
            let changes = changes_of(changes);
            let shorter = (0..changes.len()).rev().map(|kept| {
                let left = changes.len() - kept;
                let mut shown = changes[..kept].to_vec();
                let more = match kept {
                    0 if left == 1 => "1 change".to_owned(),
                    0 => format!("{left} changes"),
                    _ => format!("{left} more"),
                };
                shown.push(more);
                format!("{name} ({}): {rest}", shown.join(", "))
            });
            { shorter }.find(fits)
        };
        let whole = Some(title.to_owned()).filter(fits);
        whole
            .or_else(shorter)
            .unwrap_or_else(|| self.fit(title, face, room))
    }

    /// The outline of the text, its baseline beginning at `at`; `None` if nothing of it is visible.
    pub fn outline(&self, text: &str, face: Type, at: PixelPoint) -> Option<Path> {
        let font = self.font(face);
        let scale = scale(font, face);
        let mut pen = Pen {
            path: PathBuilder::new(),
            at,
            scale,
        };
        for c in text.chars() {
            let (script, letter) = Script::of(c);
            let glyph = glyph(font, letter);
            pen.scale = scale * script.size();
            pen.at.1 = at.1 + script.drop() * face.size;
            // Blanks have no outline; the pen moves on all the same.
            font.outline_glyph(glyph, &mut pen);
            pen.at.0 += advance(font, glyph) * pen.scale;
        }
        pen.path.finish()
    }

    fn font(&self, face: Type) -> &Face<'static> {
        if face.bold { &self.bold } else { &self.regular }
    }
}

/// The letter's shape; the font's empty box if it has none.
fn glyph(font: &Face, c: char) -> GlyphId {
    font.glyph_index(c).unwrap_or(GlyphId(0))
}

fn advance(font: &Face, glyph: GlyphId) -> f32 {
    f32::from(font.glyph_hor_advance(glyph).unwrap_or(0))
}

fn scale(font: &Face, face: Type) -> f32 {
    face.size / f32::from(font.units_per_em())
}

/// Takes the font's units, y upwards, to the page's pixels, y downwards.
struct Pen {
    path: PathBuilder,
    at: PixelPoint,
    scale: f32,
}

impl Pen {
    fn point(&self, x: f32, y: f32) -> PixelPoint {
        (self.at.0 + x * self.scale, self.at.1 - y * self.scale)
    }
}

impl OutlineBuilder for Pen {
    fn move_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.point(x, y);
        self.path.move_to(x, y);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.point(x, y);
        self.path.line_to(x, y);
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        let ((x1, y1), (x, y)) = (self.point(x1, y1), self.point(x, y));
        self.path.quad_to(x1, y1, x, y);
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        let ((x1, y1), (x2, y2)) = (self.point(x1, y1), self.point(x2, y2));
        let (x, y) = self.point(x, y);
        self.path.cubic_to(x1, y1, x2, y2, x, y);
    }

    fn close(&mut self) {
        self.path.close();
    }
}

/// The changes in a title, of which a value may have commas.
fn changes_of(text: &str) -> Vec<String> {
    let mut changes: Vec<String> = Vec::new();
    for part in text.split(", ") {
        let key = part.split_once('=').map(|(key, _)| key);
        let is_key = |key: &str| {
            key.chars()
                .all(|c| c.is_ascii_alphanumeric() || "_.".contains(c))
        };
        match changes.last_mut() {
            Some(last) if !key.is_some_and(is_key) => *last = format!("{last}, {part}"),
            _ => changes.push(part.to_owned()),
        }
    }
    changes
}
