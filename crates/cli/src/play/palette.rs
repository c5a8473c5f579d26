//! What the terminal can show: how many colours, and which characters.

use ratatui::style::{Color, Modifier, Style};

/// The colours of a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colors {
    None,
    Sixteen,
    /// 256 colours.
    Indexed,
    /// 24 bits.
    True,
}

impl Colors {
    /// What the environment says; `get` reads a variable.
    pub fn of(forbidden: bool, get: impl Fn(&str) -> Option<String>) -> Self {
        let text = |name| get(name).unwrap_or_default().to_lowercase();
        let term = text("TERM");
        let plain = ["dumb", "vt100", "vt102", "vt220"];
        if forbidden || !text("NO_COLOR").is_empty() || plain.contains(&&*term) {
            return Self::None;
        }
        match text("COLORTERM").as_str() {
            "truecolor" | "24bit" => Self::True,
            _ if term.contains("256color") => Self::Indexed,
            _ => Self::Sixteen,
        }
    }
}

/// How the interface looks.
#[derive(Clone, Copy, Debug)]
pub struct TerminalStyle {
    pub colors: Colors,
    /// Whether the terminal has lines to draw boxes with, and not ASCII alone.
    pub has_lines: bool,
}

impl TerminalStyle {
    /// What the environment says; `get` reads a variable.
    pub fn of(no_colors: bool, get: impl Fn(&str) -> Option<String>) -> Self {
        let set = |name| get(name).filter(|text| !text.is_empty());
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(set);
        let locale = locale.unwrap_or_default().to_lowercase();
        Self {
            has_lines: locale.contains("utf-8") || locale.contains("utf8"),
            colors: Colors::of(no_colors, get),
        }
    }

    /// The style of a tile, by its index; the first is 1.
    pub fn tile(self, index: u8) -> Style {
        let place = usize::from(index).saturating_sub(1);
        let (red, green, blue) = TILES[place % TILES.len()];
        let back = match self.colors {
            Colors::None => return Style::new(),
            Colors::Sixteen => SIXTEEN[place % SIXTEEN.len()],
            Colors::Indexed => Color::Indexed(cube(red, green, blue)),
            Colors::True => Color::Rgb(red, green, blue),
        };
        // Relative brightness, as eyes weigh the colours.
        let light = 299 * u32::from(red) + 587 * u32::from(green) + 114 * u32::from(blue);
        let dark = match self.colors {
            Colors::Sixteen => matches!(back, Color::Red | Color::Magenta | Color::Blue),
            _ => light < 128_000,
        };
        let text = if dark { Color::White } else { Color::Black };
        Style::new().fg(text).bg(back)
    }

    /// A grade, from 0 (best) to 5 (blunder).
    pub fn grade(self, grade: usize) -> Style {
        let color = match grade {
            0 | 1 => Color::Green,
            2 => Color::Reset,
            3 => Color::Yellow,
            _ => Color::Red,
        };
        match self.colors {
            Colors::None => Style::new(),
            _ => Style::new().fg(color),
        }
    }

    /// Lines between cells, and what is less important.
    pub fn faint(self) -> Style {
        match self.colors {
            Colors::None => Style::new(),
            _ => Style::new().fg(Color::DarkGray),
        }
    }

    /// What the eye is to find.
    pub fn strong(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }
}

/// The place of a colour in the 6x6x6 cube of 256 colours.
fn cube(red: u8, green: u8, blue: u8) -> u8 {
    let [r, g, b] = [red, green, blue].map(|x| ((u16::from(x) * 5 + 127) / 255) as u8);
    16 + 36 * r + 6 * g + b
}

/// Those of 2048, and some more for larger tiles.
const TILES: [(u8, u8, u8); 17] = [
    (0xee, 0xe4, 0xda),
    (0xed, 0xe0, 0xc8),
    (0xf2, 0xb1, 0x79),
    (0xf5, 0x95, 0x63),
    (0xf6, 0x7c, 0x5f),
    (0xf6, 0x5e, 0x3b),
    (0xed, 0xcf, 0x72),
    (0xed, 0xcc, 0x61),
    (0xed, 0xc8, 0x50),
    (0xed, 0xc5, 0x3f),
    (0xed, 0xc2, 0x2e),
    (0x7e, 0xc2, 0x7e),
    (0x4f, 0xb0, 0xa5),
    (0x3f, 0x87, 0xc9),
    (0x5f, 0x5f, 0xc4),
    (0x8a, 0x4f, 0xc0),
    (0xb0, 0x47, 0x9a),
];

const SIXTEEN: [Color; 13] = [
    Color::Gray,
    Color::White,
    Color::Yellow,
    Color::LightYellow,
    Color::LightRed,
    Color::Red,
    Color::LightMagenta,
    Color::Magenta,
    Color::LightBlue,
    Color::Blue,
    Color::LightCyan,
    Color::Cyan,
    Color::LightGreen,
];
