//! The keys.

use afterstate::game::Direction;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

/// What a key stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// Slides, or moves the cursor.
    Direction(Direction),
    /// Plays the best move, or confirms a tile.
    Space,
    /// Confirms a tile.
    Enter,
    /// The next tile to choose from.
    Tab,
    Digit(u8),
    /// A bonus tile is next.
    Bonus,
    Hint,
    Values,
    Undo,
    Redo,
    First,
    Last,
    Auto,
    Faster,
    Slower,
    Deeper,
    Shallower,
    Spawns,
    New,
    Save,
    Help,
    Escape,
    Quit,
    Interrupt,
    Suspend,
    Other,
}

/// All keys with what they do, for the help: at most 60 columns.
pub const HELP: &[(&str, &str)] = &[
    ("arrows, wasd, hjkl", "slide"),
    ("space", "play the best move"),
    ("i", "hint: show the best move"),
    ("v", "show or hide the values of all moves"),
    ("u  r", "undo, redo; Home and End: first, last"),
    ("p", "autoplay: watch the model"),
    ("+  -", "faster, slower"),
    (".  ,", "search deeper, less deep; 1 to 9: plies"),
    ("m", "new tiles by chance or by hand"),
    ("n", "new game"),
    ("e", "save the game to a file of records"),
    ("?", "this help; any key closes it"),
    ("q, Ctrl-C", "quit"),
];

impl Key {
    /// The meaning of a key press; `None` for the release of a key.
    pub fn of(event: KeyEvent) -> Option<Self> {
        if event.kind == KeyEventKind::Release {
            return None;
        }
        let control = event.modifiers.contains(KeyModifiers::CONTROL);
        if event.modifiers.contains(KeyModifiers::ALT) {
            return Some(Self::Other);
        }
        Some(match event.code {
            KeyCode::Char('c') if control => Self::Interrupt,
            KeyCode::Char('z') if control => Self::Suspend,
            // A line feed, which some programs send for enter.
            KeyCode::Char('j') if control => Self::Enter,
            KeyCode::Char(_) if control => Self::Other,
            KeyCode::Char(letter) => Self::of_letter(letter),
            KeyCode::Up => Self::Direction(Direction::Up),
            KeyCode::Right => Self::Direction(Direction::Right),
            KeyCode::Down => Self::Direction(Direction::Down),
            KeyCode::Left => Self::Direction(Direction::Left),
            KeyCode::Enter => Self::Enter,
            KeyCode::Tab => Self::Tab,
            KeyCode::Home => Self::First,
            KeyCode::End => Self::Last,
            KeyCode::Esc => Self::Escape,
            KeyCode::Backspace => Self::Undo,
            _ => Self::Other,
        })
    }

    /// Letters are lower-case only: on a slow line, an arrow may arrive as Esc, `[` and `A`.
    fn of_letter(letter: char) -> Self {
        match letter {
            'w' | 'k' => Self::Direction(Direction::Up),
            'd' | 'l' => Self::Direction(Direction::Right),
            's' | 'j' => Self::Direction(Direction::Down),
            'a' | 'h' => Self::Direction(Direction::Left),
            ' ' => Self::Space,
            '1'..='9' => Self::Digit(letter as u8 - b'0'),
            'b' => Self::Bonus,
            'i' => Self::Hint,
            'v' => Self::Values,
            'u' => Self::Undo,
            'r' => Self::Redo,
            'p' => Self::Auto,
            '+' | '=' => Self::Faster,
            '-' | '_' => Self::Slower,
            '.' | '>' => Self::Deeper,
            ',' | '<' => Self::Shallower,
            'm' => Self::Spawns,
            'n' => Self::New,
            'e' => Self::Save,
            '?' => Self::Help,
            'q' => Self::Quit,
            _ => Self::Other,
        }
    }
}
