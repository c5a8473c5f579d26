//! The board: a table of tiles.

use afterstate::format::episode::Action;
use afterstate::game::Shape;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};

use super::app::App;
use super::palette::TerminalStyle;

/// The size of a cell, without the lines between cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CellSize {
    pub width: u16,
    pub height: u16,
}

impl CellSize {
    /// The largest cells of a board that leave `beside` columns of an area.
    pub fn fitting(area: Rect, beside: u16, shape: Shape) -> Self {
        let (rows, cols) = (shape.rows() as u16, shape.cols() as u16);
        let fits = |size: &Self| {
            let (width, height) = size.board(rows, cols);
            width + beside <= area.width && height <= area.height
        };
        let sizes = [(9, 3), (7, 3), (6, 3), (7, 1), (6, 1)];
        let mut sizes = sizes
            .map(|(width, height)| Self { width, height })
            .into_iter();
        sizes.find(fits).unwrap_or(Self {
            width: 5,
            height: 1,
        })
    }

    /// The columns and lines of a board.
    pub fn board(self, rows: u16, cols: u16) -> (u16, u16) {
        (cols * (self.width + 1) + 1, rows * (self.height + 1) + 1)
    }
}

/// Draws the board in the upper left corner of an area.
pub fn draw(buffer: &mut Buffer, area: Rect, size: CellSize, app: &App, style: TerminalStyle) {
    let shape = app.session.shape();
    let (rows, cols) = (shape.rows() as u16, shape.cols() as u16);
    draw_lines(buffer, area, size, (rows, cols), style);
    let tiles = app.session.tiles();
    let spawned = match app.session.last_action() {
        Some(Action::Place { cell, .. }) => Some(usize::from(cell)),
        _ => None,
    };
    for (cell, &tile) in tiles.iter().enumerate() {
        let (row, col) = ((cell / shape.cols()) as u16, (cell % shape.cols()) as u16);
        let inside = Rect {
            x: area.x + 1 + col * (size.width + 1),
            y: area.y + 1 + row * (size.height + 1),
            width: size.width,
            height: size.height,
        };
        let (text, style) = match &app.entry {
            Some(entry) if entry.cell == cell => {
                let value = fitted(app.session.tile_value(entry.tile), size.width - 2);
                (
                    format!("[{value}]"),
                    Style::new().add_modifier(Modifier::REVERSED),
                )
            }
            Some(entry) if entry.may_spawn(cell) => (".".to_owned(), Style::new()),
            _ if tile == 0 => continue,
            _ => {
                let value = fitted(app.session.tile_value(tile), size.width);
                let mut style = style.tile(tile);
                if spawned == Some(cell) {
                    style = style.add_modifier(Modifier::BOLD | Modifier::UNDERLINED);
                }
                (value, style)
            }
        };
        // The underline is that of the number alone.
        buffer.set_style(inside, style.remove_modifier(Modifier::UNDERLINED));
        let text_width = text.len() as u16;
        let x = inside.x + size.width.saturating_sub(text_width).div_ceil(2);
        let y = inside.y + size.height / 2;
        buffer.set_stringn(x, y, text, size.width.into(), style);
    }
}

/// The lines between cells, and around the board.
fn draw_lines(
    buffer: &mut Buffer,
    area: Rect,
    size: CellSize,
    board: (u16, u16),
    style: TerminalStyle,
) {
    let (rows, cols) = board;
    let line = |[left, dash, cross, right]: [char; 4]| {
        let cell = dash.to_string().repeat(size.width.into());
        let cells = vec![cell; cols.into()].join(&cross.to_string());
        format!("{left}{cells}{right}")
    };
    let [top, between, bottom, beside] = match style.has_lines {
        true => [
            ['┌', '─', '┬', '┐'],
            ['├', '─', '┼', '┤'],
            ['└', '─', '┴', '┘'],
            ['│', ' ', '│', '│'],
        ],
        false => [
            ['+', '-', '+', '+'],
            ['+', '-', '+', '+'],
            ['+', '-', '+', '+'],
            ['|', ' ', '|', '|'],
        ],
    };
    let height = rows * (size.height + 1);
    for y in 0..=height {
        let text = match y {
            0 => line(top),
            _ if y == height => line(bottom),
            _ if y % (size.height + 1) == 0 => line(between),
            _ => line(beside),
        };
        if y < area.height {
            buffer.set_stringn(area.x, area.y + y, text, area.width.into(), style.faint());
        }
    }
}

/// A number in at most `width` columns: 1234567 is 1234k.
pub fn fitted(value: u64, width: u16) -> String {
    let (mut number, mut unit) = (value, "");
    for larger in ["k", "M", "G", "T", "P", "E"] {
        if number.to_string().len() + unit.len() <= width.into() {
            break;
        }
        (number, unit) = (number / 1000, larger);
    }
    format!("{number}{unit}")
}
