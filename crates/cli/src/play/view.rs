//! Draws the interface.
//!
//! From top to bottom: the game and its score; who gives advice; the board, with a panel beside it;
//! the coach; a message; the keys.

use afterstate::game::{ChanceState, Direction};
use afterstate_lab::session::Turn;
use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Paragraph, Widget, Wrap};

use super::app::App;
use super::coach::{Coach, short};
use super::events::Adviser;
use super::keys::HELP;
use super::palette::TerminalStyle;
use super::tiles::{self, CellSize};
use crate::output::grouped;

/// The smallest window: columns and lines.
pub const SMALLEST: (u16, u16) = (60, 20);
/// The columns of the panel, with the space before it.
const PANEL: u16 = 24;

/// The lines of the coach and the message together.
const NOTICE: usize = 3;

/// Whether the interface fits into a window.
pub fn has_room(columns: u16, lines: u16) -> bool {
    columns >= SMALLEST.0 && lines >= SMALLEST.1
}

/// Draws everything.
pub fn draw(frame: &mut Frame<'_>, app: &App, style: TerminalStyle) {
    let area = frame.area();
    let buffer = frame.buffer_mut();
    if !has_room(area.width, area.height) {
        return too_small(buffer, area);
    }
    if app.shows_help {
        return help(buffer, area, style);
    }
    let line = |y: u16, height: u16| Rect {
        y: area.y + y,
        height,
        ..area
    };
    title(buffer, line(0, 2), app, style);
    let middle = line(2, area.height - 7);
    board_and_panel(buffer, middle, app, style);
    // A long message takes the lines of the coach.
    let notice = wrapped(&app.notice(), area.width);
    let lines = notice.len().clamp(1, NOTICE);
    coach(
        buffer,
        line(area.height - 5, (NOTICE - lines) as u16),
        app,
        style,
    );
    let first = area.height - 2 - lines as u16;
    for (text, y) in notice.into_iter().take(NOTICE).zip(first..) {
        Line::styled(text, style.strong()).render(line(y, 1), buffer);
    }
    keys(buffer, line(area.height - 2, 2), app, style);
}

fn too_small(buffer: &mut Buffer, area: Rect) {
    let (columns, lines) = SMALLEST;
    let text = format!(
        "The window is too small: {}x{}. Enlarge it to {columns}x{lines}, or press q to quit.",
        area.width, area.height
    );
    Paragraph::new(text)
        .wrap(Wrap { trim: true })
        .render(area, buffer);
}

/// A text in lines of at most `width` columns, broken between words where that is possible.
fn wrapped(text: &str, width: u16) -> Vec<String> {
    let width = usize::from(width).max(1);
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let letters: Vec<char> = word.chars().collect();
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + letters.len() <= width => {
                *line += " ";
                *line += word;
            }
            _ => lines.extend(letters.chunks(width).map(|part| part.iter().collect())),
        }
    }
    lines
}

/// A text at the left and one at the right; the left one is cut if both do not fit.
fn both(buffer: &mut Buffer, area: Rect, left: &str, right: &str, style: Style) {
    let width = right.chars().count() as u16;
    let room = area.width.saturating_sub(width + 1);
    buffer.set_stringn(area.x, area.y, left, room.into(), style);
    let x = area.right().saturating_sub(width);
    buffer.set_stringn(x, area.y, right, width.into(), style);
}

fn title(buffer: &mut Buffer, area: Rect, app: &App, style: TerminalStyle) {
    let session = &app.session;
    let score = format!(
        "score {}  moves {}",
        grouped(session.score() as f64),
        grouped(session.moves() as f64)
    );
    both(buffer, area, &session.game_on(), &score, style.strong());
    let adviser = match &app.adviser {
        Adviser::Model(name) => format!("{name}, {}", app.limit),
        Adviser::None(_) => "by hand, without a model".to_owned(),
    };
    let auto = match (app.auto, app.speed()) {
        (false, _) => String::new(),
        (true, Some(speed)) => format!("autoplay {speed}/s"),
        (true, None) => "autoplay at full speed".to_owned(),
    };
    let second = Rect {
        y: area.y + 1,
        ..area
    };
    both(buffer, second, &adviser, &auto, Style::new());
}

fn board_and_panel(buffer: &mut Buffer, area: Rect, app: &App, style: TerminalStyle) {
    let shape = app.session.shape();
    let size = CellSize::fitting(area, PANEL, shape);
    tiles::draw(buffer, area, size, app, style);
    let (width, _) = size.board(shape.rows() as u16, shape.cols() as u16);
    let panel = Rect {
        x: area.x + width + 1,
        width: area.width.saturating_sub(width + 1),
        ..area
    };
    for (line, y) in panel_lines(app, style).iter().zip(panel.y..panel.bottom()) {
        buffer.set_line(panel.x, y, line, panel.width);
    }
}

fn panel_lines(app: &App, style: TerminalStyle) -> Vec<Line<'static>> {
    let mut lines = vec![Line::from(format!("largest {}", app.session.largest()))];
    lines.extend(chance_lines(app));
    if let Some(file) = &app.file {
        lines.push(match app.is_unsaved {
            true => Line::styled(format!("NOT SAVED: {file}"), style.strong()),
            false => Line::from(format!("saved to {file}")),
        });
    }
    lines.push(Line::default());
    if let Some(entry) = &app.entry {
        lines.extend(entry_lines(app, entry));
    } else if app.shows_values && app.session.turn() == Turn::Slide {
        lines.extend(value_lines(app, style));
    } else if app.shows_hint {
        let hint = match app.best() {
            Some(best) => format!("hint: {}", best.name()),
            None => "hint: searching ...".to_owned(),
        };
        lines.push(Line::styled(hint, style.strong()));
    }
    let grades = app.grades().filter(|(_, count)| *count > 0);
    let grades: Vec<Line<'static>> = grades
        .map(|(grade, count)| {
            let style = style.grade(grade as usize);
            Line::styled(
                format!("{:<11}{:>5}", grade.name(), grouped(count as f64)),
                style,
            )
        })
        .collect();
    if app.entry.is_none() && !grades.is_empty() {
        lines.push(Line::default());
        lines.extend(grades);
    }
    lines
}

/// The next tile and the bag, in games that have them.
fn chance_lines(app: &App) -> Vec<Line<'static>> {
    let chance = app.session.chance_state();
    let mut lines = Vec::new();
    if app.session.shows_hint() && chance.hint > 0 {
        lines.push(Line::from(format!(
            "next tile {}",
            hint_name(app, chance.hint)
        )));
    }
    if app.session.rules().has_chance_state() {
        let left = |(count, tile): (u8, u8)| {
            let value = app.session.tile_value(tile).to_string();
            value.repeat(count.into())
        };
        let bag: String = chance.memory.into_iter().zip(1..).map(left).collect();
        let bag = if bag.is_empty() { "full" } else { &bag };
        lines.push(Line::from(format!("bag {bag}")));
    }
    lines
}

fn hint_name(app: &App, hint: u8) -> String {
    match hint {
        ChanceState::BONUS => "bonus".to_owned(),
        tile => app.session.tile_value(tile).to_string(),
    }
}

/// What is asked about a new tile, and the answers with their probabilities.
fn entry_lines(app: &App, entry: &super::entry::Entry) -> Vec<Line<'static>> {
    let left = app.session.initial_tiles_left();
    let (question, answers, chosen) = match entry.asks_hint {
        true if left > 1 => ("The tile after it?", entry.hints(), entry.hint),
        true => ("The next tile shown?", entry.hints(), entry.hint),
        false => ("The new tile?", entry.tiles(), entry.tile),
    };
    let mut lines = vec![Line::from(question)];
    if left > 0 {
        let tiles = if left == 1 { "tile" } else { "tiles" };
        lines.push(Line::from(format!("({left} first {tiles} left)")));
    }
    for (key, share) in answers {
        let name = match entry.asks_hint {
            true => hint_name(app, key),
            false => app.session.tile_value(key).to_string(),
        };
        let mark = if key == chosen { '>' } else { ' ' };
        lines.push(Line::from(format!(
            "{mark} {name:<8}{:>6.1}%",
            100.0 * share
        )));
    }
    lines
}

/// The value of each move, and what it loses.
fn value_lines(app: &App, style: TerminalStyle) -> Vec<Line<'static>> {
    let mut lines = vec![Line::from(format!(
        "{:<7}{:>8}{:>8}",
        " move", "value", "loss"
    ))];
    let Some((analysis, complete)) = &app.known else {
        lines.push(Line::from(" searching ..."));
        return lines;
    };
    let total = |direction| {
        let value = analysis.values.get(direction)?;
        value.total.is_finite().then_some(f64::from(value.total))
    };
    let most = analysis.values.best().and_then(total);
    for direction in Direction::ALL {
        let name = direction.name();
        let is_best = analysis.chosen == Some(direction);
        let mark = if is_best { '>' } else { ' ' };
        let text = match (analysis.rewards[direction as usize], total(direction), most) {
            (None, ..) => format!(" {name:<6}{:>8}", "illegal"),
            (_, Some(total), Some(most)) => {
                let loss = match most - total {
                    loss if loss > 0.0 => short(loss),
                    _ => "-".to_owned(),
                };
                format!("{mark}{name:<6}{:>8}{loss:>8}", short(total))
            }
            _ => format!("{mark}{name:<6}{:>8}", "-"),
        };
        let style = if is_best {
            style.strong()
        } else {
            Style::new()
        };
        lines.push(Line::styled(text, style));
    }
    if !complete {
        lines.push(Line::from(" searching deeper ..."));
    }
    lines
}

fn coach(buffer: &mut Buffer, area: Rect, app: &App, style: TerminalStyle) {
    let Some(coach) = &app.coach else {
        return;
    };
    let style = match coach {
        Coach::Waiting(_) => Style::new(),
        Coach::Graded(graded) => style.grade(graded.grade as usize),
    };
    let text = Paragraph::new(coach.to_string()).style(style);
    text.wrap(Wrap { trim: true }).render(area, buffer);
}

fn keys(buffer: &mut Buffer, area: Rect, app: &App, style: TerminalStyle) {
    let lines = match &app.entry {
        Some(entry) if entry.asks_hint => [
            "1 2 3 b or tab: choose  enter: confirm  u: back",
            "m: tiles by chance  n: new  e: save  ?: help  q: quit",
        ],
        Some(_) => [
            "arrows: cell  tab or first digit: tile  enter: place it",
            "u: undo  m: tiles by chance  n: new  ?: help  q: quit",
        ],
        None => [
            "arrows: slide  space: best  i: hint  v: values  u: undo",
            "p: auto  + -: speed  , .: depth  n: new  ?: help  q: quit",
        ],
    };
    for (text, y) in lines.into_iter().zip(area.y..) {
        buffer.set_stringn(area.x, y, text, area.width.into(), style.faint());
    }
}

fn help(buffer: &mut Buffer, area: Rect, style: TerminalStyle) {
    let mut lines = vec![Line::styled("Keys", style.strong()), Line::default()];
    for (keys, what) in HELP {
        let keys = Span::styled(
            format!("{keys:<19}"),
            Style::new().add_modifier(Modifier::BOLD),
        );
        lines.push(Line::from(vec![keys, Span::raw(*what)]));
    }
    lines.push(Line::default());
    lines.push(Line::from(
        "A move is graded by the share of the best value that it",
    ));
    lines.push(Line::from(
        "keeps: excellent 99.9%, good 99%, inaccuracy 97.5%,",
    ));
    lines.push(Line::from("mistake 90%, blunder less."));
    for (line, y) in lines.iter().zip(area.y..area.bottom()) {
        buffer.set_line(area.x, y, line, area.width);
    }
}
