//! A plot as a list of shapes, in pixels from the upper left corner. Later shapes cover earlier
//! ones.

/// A point of the page.
pub(super) type PixelPoint = (f32, f32);

/// An opaque colour, 0xRRGGBB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Colour(pub u32);

impl Colour {
    /// Red, green and blue.
    pub fn rgb(self) -> [u8; 3] {
        let [_, r, g, b] = self.0.to_be_bytes();
        [r, g, b]
    }

    /// Mixed with white: 0 leaves it, 1 is white.
    pub fn tint(self, white: f32) -> Self {
        let [r, g, b] = self
            .rgb()
            .map(|c| (f32::from(c) + (255.0 - f32::from(c)) * white).round() as u8);
        Self(u32::from_be_bytes([0, r, g, b]))
    }
}

/// How a line is drawn.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stroke {
    pub colour: Colour,
    pub width: f32,
    /// Lengths of dash and gap; none is a solid line.
    pub dash: Option<[f32; 2]>,
}

impl Stroke {
    /// A line without gaps.
    pub fn solid(colour: Colour, width: f32) -> Self {
        let dash = None;
        Self {
            colour,
            width,
            dash,
        }
    }
}

/// Which end of a text is at its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// How a text is set.
#[derive(Clone, Copy, Debug)]
pub(super) struct Type {
    pub size: f32,
    pub bold: bool,
    pub colour: Colour,
}

/// One thing on the page.
#[derive(Clone, Debug)]
pub(super) enum SceneShape {
    Line {
        points: Vec<PixelPoint>,
        stroke: Stroke,
    },
    Area {
        points: Vec<PixelPoint>,
        colour: Colour,
    },
    Dot {
        at: PixelPoint,
        radius: f32,
        colour: Colour,
    },
    /// `at` is on the baseline.
    Text {
        at: PixelPoint,
        text: String,
        anchor: Anchor,
        face: Type,
    },
}

/// The page and what is on it.
#[derive(Clone, Debug)]
pub(super) struct Scene {
    pub width: f32,
    pub height: f32,
    pub shapes: Vec<SceneShape>,
}

impl Scene {
    /// A white page.
    pub fn new(width: f32, height: f32) -> Self {
        let shapes = Vec::new();
        Self {
            width,
            height,
            shapes,
        }
    }

    /// Draws a line through the points.
    pub fn line(&mut self, points: Vec<PixelPoint>, stroke: Stroke) {
        self.shapes.push(SceneShape::Line { points, stroke });
    }

    /// Fills the outline.
    pub fn area(&mut self, points: Vec<PixelPoint>, colour: Colour) {
        self.shapes.push(SceneShape::Area { points, colour });
    }

    /// Draws a filled circle.
    pub fn dot(&mut self, at: PixelPoint, radius: f32, colour: Colour) {
        self.shapes.push(SceneShape::Dot { at, radius, colour });
    }

    /// Writes one line of text; what cannot be printed, or would break the SVG, becomes a space.
    pub fn text(&mut self, at: PixelPoint, text: &str, anchor: Anchor, face: Type) {
        let printable = |c: char| !c.is_control() && !matches!(c, '\u{fffe}' | '\u{ffff}');
        let text = text
            .chars()
            .map(|c| if printable(c) { c } else { ' ' })
            .collect();
        self.shapes.push(SceneShape::Text {
            at,
            text,
            anchor,
            face,
        });
    }
}
