//! What the drawings are made of: colours by theme, texts, boxes, arrows, circles and boards.

use afterstate::game::Shape;

use super::Theme;
use crate::plot::letters::Letters;
use crate::plot::scene::{Anchor, Colour, PixelPoint, Scene, Stroke, Type, formula};
use crate::plot::{Plot, PlotError};

pub(super) const MARGIN: f32 = 36.0;
/// The width of most drawings.
pub(super) const WIDTH: f32 = 1200.0;
/// Where the content begins below the title and its second line.
pub(super) const TOP: f32 = 112.0;

/// The colours of texts and lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ink {
    Main,
    Muted,
    Line,
    Blue,
    Orange,
    Green,
    Red,
}

/// The colours of areas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fill {
    Page,
    Panel,
    Empty,
    Tile,
    Blue,
    Orange,
    Green,
    Red,
}

impl Theme {
    fn ink(self, ink: Ink) -> Colour {
        let (light, dark) = match ink {
            Ink::Main => (0x1f2328, 0xf0f6fc),
            Ink::Muted => (0x59636e, 0x9aa4af),
            Ink::Line => (0xb4bcc5, 0x4a525c),
            Ink::Blue => (0x0759b8, 0x6cb0ff),
            Ink::Orange => (0xb14a00, 0xf0944a),
            Ink::Green => (0x1a7f37, 0x4ac45e),
            Ink::Red => (0xc21c28, 0xff7b72),
        };
        Colour(if self == Self::Light { light } else { dark })
    }

    fn fill(self, fill: Fill) -> Colour {
        let (light, dark) = match fill {
            Fill::Page => (0xffffff, 0x0d1117),
            Fill::Panel => (0xf4f6f8, 0x161b22),
            Fill::Empty => (0xe9edf1, 0x20262e),
            Fill::Tile => (0xcfd6de, 0x3b444f),
            Fill::Blue => (0xcfe6ff, 0x1c4474),
            Fill::Orange => (0xffe3cc, 0x4d2b10),
            Fill::Green => (0xd3f3da, 0x143d22),
            Fill::Red => (0xffdcd9, 0x50191a),
        };
        Colour(if self == Self::Light { light } else { dark })
    }
}

/// How a text is set.
#[derive(Clone, Copy, Debug)]
pub(super) struct TextStyle {
    pub size: f32,
    pub bold: bool,
    pub ink: Ink,
    pub anchor: Anchor,
}

/// A text of this size in the main colour, which starts at its position.
pub(super) fn look(size: f32) -> TextStyle {
    TextStyle {
        size,
        bold: false,
        ink: Ink::Main,
        anchor: Anchor::Start,
    }
}

impl TextStyle {
    pub fn bold(self) -> Self {
        Self { bold: true, ..self }
    }

    pub fn ink(self, ink: Ink) -> Self {
        Self { ink, ..self }
    }

    pub fn middle(self) -> Self {
        let anchor = Anchor::Middle;
        Self { anchor, ..self }
    }

    pub fn end(self) -> Self {
        let anchor = Anchor::End;
        Self { anchor, ..self }
    }
}

/// A rectangle of the page.
#[derive(Clone, Copy, Debug)]
pub(super) struct Area {
    pub x: f32,
    pub y: f32,
    pub w: f32,
    pub h: f32,
}

impl Area {
    pub fn new(x: f32, y: f32, w: f32, h: f32) -> Self {
        Self { x, y, w, h }
    }

    pub fn centre(self) -> PixelPoint {
        (self.x + self.w / 2.0, self.y + self.h / 2.0)
    }
}

/// A cell of a drawn board.
#[derive(Clone, Debug, Default)]
pub(super) struct Cell {
    /// In its middle.
    pub text: String,
    /// Small, in its upper left corner.
    pub corner: String,
    /// Whether the tuple has it.
    pub marked: bool,
}

/// A drawing in progress.
pub(super) struct Canvas {
    scene: Scene,
    letters: Letters,
    theme: Theme,
}

impl Canvas {
    /// A page with a title and a line below it.
    pub fn new(
        (width, height): (f32, f32),
        theme: Theme,
        title: &str,
        about: &str,
    ) -> Result<Self, PlotError> {
        let mut scene = Scene::new(width, height);
        scene.background = theme.fill(Fill::Page);
        let letters = Letters::new()?;
        let mut canvas = Self {
            scene,
            letters,
            theme,
        };
        canvas.fitted((MARGIN, 48.0), title, look(30.0).bold());
        canvas.fitted((MARGIN, 84.0), about, look(21.0).ink(Ink::Muted));
        Ok(canvas)
    }

    /// The finished drawing.
    pub fn finish(self, name: &str) -> Plot {
        Plot {
            name: format!("{name}{}", self.theme.suffix()),
            scene: self.scene,
        }
    }

    fn face(&self, look: TextStyle) -> Type {
        Type {
            size: look.size,
            bold: look.bold,
            colour: self.theme.ink(look.ink),
        }
    }

    /// A text up to the right margin, shortened if it is longer.
    fn fitted(&mut self, at: PixelPoint, text: &str, look: TextStyle) {
        let room = self.scene.width - MARGIN - at.0;
        if self.room(text, look) <= room {
            return self.text(at, text, look);
        }
        let face = self.face(look);
        let text = self.letters.fit(text, face, room);
        self.scene.text(at, &text, look.anchor, face);
    }

    /// A text with subscripts `_{..}` and superscripts `^{..}`; `at` is on its baseline.
    pub fn text(&mut self, at: PixelPoint, text: &str, look: TextStyle) {
        let face = self.face(look);
        self.scene.formula(at, text, look.anchor, face);
    }

    /// A text whose letters are in the middle of this height.
    pub fn label(&mut self, (x, y): PixelPoint, text: &str, look: TextStyle) {
        self.text((x, y + 0.36 * look.size), text, look);
    }

    /// The room that a text takes in any usual font.
    pub fn room(&self, text: &str, look: TextStyle) -> f32 {
        self.letters.room(&formula(text), self.face(look))
    }

    /// A filled rectangle with round corners.
    pub fn fill(&mut self, area: Area, fill: Fill) {
        let colour = self.theme.fill(fill);
        self.scene.area(rounded(area), colour);
    }

    /// The outline of such a rectangle.
    pub fn frame(&mut self, area: Area, ink: Ink, width: f32) {
        let mut points = rounded(area);
        points.push(points[0]);
        self.line(points, ink, width);
    }

    /// A line.
    pub fn line(&mut self, points: Vec<PixelPoint>, ink: Ink, width: f32) {
        let stroke = Stroke::solid(self.theme.ink(ink), width);
        self.scene.line(points, stroke);
    }

    /// A dashed line.
    pub fn dashes(&mut self, points: Vec<PixelPoint>, ink: Ink, width: f32) {
        let dash = Some([2.0 * width + 3.0, 2.0 * width + 4.0]);
        let stroke = Stroke {
            dash,
            ..Stroke::solid(self.theme.ink(ink), width)
        };
        self.scene.line(points, stroke);
    }

    /// A line with an arrow head at its end.
    pub fn arrow(&mut self, mut points: Vec<PixelPoint>, ink: Ink, width: f32) {
        let [.., from, tip] = points[..] else {
            return;
        };
        let (dx, dy) = (tip.0 - from.0, tip.1 - from.1);
        let length = dx.hypot(dy).max(1.0);
        let (dx, dy) = (dx / length, dy / length);
        let size = 5.0 + 2.5 * width;
        let back = (tip.0 - size * dx, tip.1 - size * dy);
        let side = 0.5 * size;
        let head = vec![
            tip,
            (back.0 - side * dy, back.1 + side * dx),
            (back.0 + side * dy, back.1 - side * dx),
        ];
        // The line ends inside the head, so that its round end does not show at the tip.
        if let Some(last) = points.last_mut() {
            *last = (tip.0 - 0.7 * size * dx, tip.1 - 0.7 * size * dy);
        }
        self.line(points, ink, width);
        let colour = self.theme.ink(ink);
        self.scene.area(head, colour);
    }

    /// A filled circle.
    pub fn dot(&mut self, at: PixelPoint, radius: f32, ink: Ink) {
        let colour = self.theme.ink(ink);
        self.scene.dot(at, radius, colour);
    }

    /// An open circle.
    pub fn ring(&mut self, at: PixelPoint, radius: f32, ink: Ink) {
        self.dot(at, radius, ink);
        let page = self.theme.fill(Fill::Page);
        self.scene.dot(at, radius - 3.0, page);
    }

    /// A board with its upper left corner here and cells of this size.
    pub fn board(&mut self, (x, y): PixelPoint, size: f32, shape: Shape, cells: &[Cell]) {
        let gap = (size * 0.07).max(2.0);
        for (i, cell) in cells.iter().enumerate() {
            let (row, col) = (i / shape.cols(), i % shape.cols());
            let area = Area::new(
                x + col as f32 * size + gap / 2.0,
                y + row as f32 * size + gap / 2.0,
                size - gap,
                size - gap,
            );
            let fill = match cell {
                Cell { marked: true, .. } => Fill::Blue,
                Cell { text, .. } if text.is_empty() => Fill::Empty,
                _ => Fill::Tile,
            };
            self.fill(area, fill);
            if cell.marked {
                self.frame(area, Ink::Blue, 2.0);
            }
            self.cell_texts(area, cell);
        }
    }

    fn cell_texts(&mut self, area: Area, cell: &Cell) {
        if !cell.text.is_empty() {
            let mut text = look((0.42 * area.h).min(30.0)).bold().middle();
            // Numbers of four digits are smaller.
            while self.room(&cell.text, text) > area.w - 2.0 && text.size > 8.0 {
                text.size -= 1.0;
            }
            let lower = if cell.corner.is_empty() { 0.5 } else { 0.6 };
            let at = (area.centre().0, area.y + lower * area.h);
            self.label(at, &cell.text, text);
        }
        if !cell.corner.is_empty() {
            let ink = if cell.marked { Ink::Blue } else { Ink::Muted };
            let small = look((0.24 * area.h).max(11.0)).ink(ink);
            let at = (
                area.x + 0.08 * area.w,
                area.y + 0.06 * area.h + 0.75 * small.size,
            );
            self.text(at, &cell.corner, small);
        }
    }
}

/// The corners of a rectangle, each cut into a few points of an arc.
fn rounded(Area { x, y, w, h }: Area) -> Vec<PixelPoint> {
    let radius = (0.12 * w.min(h)).min(8.0);
    let corners = [
        (x + w - radius, y + radius),
        (x + w - radius, y + h - radius),
        (x + radius, y + h - radius),
        (x + radius, y + radius),
    ];
    let arc = |(n, (cx, cy)): (usize, (f32, f32))| {
        (0..=2).map(move |k| {
            let angle = (n as f32 - 1.0 + k as f32 / 2.0) * std::f32::consts::FRAC_PI_2;
            (cx + radius * angle.cos(), cy + radius * angle.sin())
        })
    };
    corners.into_iter().enumerate().flat_map(arc).collect()
}
