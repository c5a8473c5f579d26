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

/// Letters of subscripts and superscripts: ASCII, moved into the private use area of Unicode, where
/// no other text has letters. So a text with them is still one text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Script {
    Normal,
    Sub,
    Super,
}

impl Script {
    const SUB: u32 = 0xE000;
    const SUPER: u32 = 0xE100;

    /// The letter to draw, and where.
    pub fn of(c: char) -> (Self, char) {
        let ascii = |from: u32| char::from_u32(u32::from(c) - from).unwrap_or(' ');
        match u32::from(c) {
            0xE000..=0xE07F => (Self::Sub, ascii(Self::SUB)),
            0xE100..=0xE17F => (Self::Super, ascii(Self::SUPER)),
            _ => (Self::Normal, c),
        }
    }

    /// The letter in this place; only ASCII can be moved.
    fn moved(self, c: char) -> char {
        let from = match self {
            Self::Normal => return c,
            Self::Sub => Self::SUB,
            Self::Super => Self::SUPER,
        };
        let moved = c.is_ascii().then(|| char::from_u32(from + u32::from(c)));
        moved.flatten().unwrap_or(c)
    }

    /// The size of its letters, as a share of the others.
    pub fn size(self) -> f32 {
        if self == Self::Normal { 1.0 } else { 0.7 }
    }

    /// How far its baseline is below that of the others, as a share of their size.
    pub fn drop(self) -> f32 {
        match self {
            Self::Normal => 0.0,
            Self::Sub => 0.16,
            Self::Super => -0.36,
        }
    }
}

/// A formula as a text: `S_{t+1}` has a subscript, `16^{n}` a superscript.
pub(super) fn formula(text: &str) -> String {
    let mut script = Script::Normal;
    let mut out = String::with_capacity(text.len());
    let mut letters = text.chars().peekable();
    while let Some(c) = letters.next() {
        match (c, letters.peek()) {
            ('_', Some('{')) => script = Script::Sub,
            ('^', Some('{')) => script = Script::Super,
            ('}', _) => {
                script = Script::Normal;
                continue;
            }
            _ => {
                out.push(script.moved(c));
                continue;
            }
        }
        letters.next();
    }
    out
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
        /// From 0 to 1; 1 covers what is below.
        opacity: f32,
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
    pub background: Colour,
    pub shapes: Vec<SceneShape>,
}

impl Scene {
    /// A white page.
    pub fn new(width: f32, height: f32) -> Self {
        Self {
            width,
            height,
            background: Colour(0xffffff),
            shapes: Vec::new(),
        }
    }

    /// Draws a line through the points.
    pub fn line(&mut self, points: Vec<PixelPoint>, stroke: Stroke) {
        self.shapes.push(SceneShape::Line { points, stroke });
    }

    /// Fills the outline.
    pub fn area(&mut self, points: Vec<PixelPoint>, colour: Colour) {
        self.shapes.push(SceneShape::Area {
            points,
            colour,
            opacity: 1.0,
        });
    }

    /// Fills the outline so that what is below stays visible.
    pub fn veil(&mut self, points: Vec<PixelPoint>, colour: Colour) {
        // Black would hide more than the other colours do.
        let opacity = if colour == Colour(0) { 0.08 } else { 0.2 };
        self.shapes.push(SceneShape::Area {
            points,
            colour,
            opacity,
        });
    }

    /// Draws a filled circle.
    pub fn dot(&mut self, at: PixelPoint, radius: f32, colour: Colour) {
        self.shapes.push(SceneShape::Dot { at, radius, colour });
    }

    /// Writes one line of text; what cannot be printed, or would break the SVG, becomes a space.
    pub fn text(&mut self, at: PixelPoint, text: &str, anchor: Anchor, face: Type) {
        let printable = |c: char| {
            !c.is_control()
                && !matches!(c, '\u{fffe}' | '\u{ffff}')
                && Script::of(c).0 == Script::Normal
        };
        let text = text
            .chars()
            .map(|c| if printable(c) { c } else { ' ' })
            .collect();
        self.put_text(at, text, anchor, face);
    }

    /// Writes one line of text with subscripts and superscripts: see [`formula`].
    pub fn formula(&mut self, at: PixelPoint, text: &str, anchor: Anchor, face: Type) {
        self.put_text(at, formula(text), anchor, face);
    }

    fn put_text(&mut self, at: PixelPoint, text: String, anchor: Anchor, face: Type) {
        self.shapes.push(SceneShape::Text {
            at,
            text,
            anchor,
            face,
        });
    }
}
