//! What is drawn.

use std::fs;
use std::path::Path;

use afterstate::game::Shape;
use afterstate_lab::board::{GameBoard, shape_of};
use afterstate_lab::games;
use afterstate_lab::session::Session;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::style::Color;

use super::super::events::AppEvent;
use super::super::palette::{Colors, TerminalStyle};
use super::super::tiles::fitted;
use super::super::view::draw;
use super::{PLAIN, Table, screen};
use crate::remedy::without_model;

/// Compares a screen with a file; with AFTERSTATE_GOLDEN=write it is written anew.
#[track_caller]
fn golden(name: &str, screen: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/play/golden");
    let path = folder.join(format!("{name}.txt"));
    if std::env::var("AFTERSTATE_GOLDEN").is_ok_and(|it| it == "write") {
        fs::write(&path, screen).unwrap();
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(screen, expected, "{name}:\n{screen}");
}

#[test]
fn screens_are_as_they_were() {
    let mut table = Table::new("2048", (4, 4), |_| ());
    golden("start-60x20", &table.screen(60, 20));
    table.press("~{~}  v");
    golden("values-60x20", &table.screen(60, 20));
    golden("values-80x24", &table.screen(80, 24));
    table.press("?");
    golden("help-60x20", &table.screen(60, 20));
    table.press("?vi");
    golden("hint-60x20", &table.screen(60, 20));
    golden("small-59x20", &table.screen(59, 20));
    golden("small-20x5", &table.screen(20, 5));
    let ascii = TerminalStyle {
        has_lines: false,
        ..PLAIN
    };
    golden("ascii-60x20", &screen(&table.app, 60, 20, ascii));
}

/// Advice longer than a line is broken into two or three.
#[test]
fn long_messages_are_shown_whole() {
    for (game, shape) in [("2048", (3, 4)), ("threes-original", (2, 5))] {
        let shape = Shape::new(shape.0, shape.1).unwrap();
        let session = Session::new(game, shape, 1, 0).unwrap();
        let mut table = Table::of(session, false, |_| ());
        table.press(" ");
        for (width, height) in [(60, 20), (80, 24), (200, 60)] {
            let screen = table.screen(width, height);
            let said = screen.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(said.contains(&without_model(game, shape)), "{screen}");
            assert!(screen.contains("q: quit"), "{screen}");
        }
    }
    let session = Session::new("2048", Shape::FOUR, 1, 0).unwrap();
    let mut table = Table::of(session, true, |_| ());
    table.send(AppEvent::Message(
        "/".to_owned() + &"x".repeat(100) + ": full (os error 28)",
    ));
    let screen = table.screen(60, 20);
    let said: Vec<&str> = screen.split_whitespace().collect();
    assert!(said.join(" ").contains(": full (os error 28)"), "{screen}");
}

/// What is drawn can be copied from the terminal, all of it or the board, and analysed.
#[test]
fn screens_are_read_as_boards() {
    let ascii = TerminalStyle {
        has_lines: false,
        ..PLAIN
    };
    for (game, shape) in [("2048", (4, 4)), ("2048", (5, 5)), ("2584", (2, 3))] {
        let mut table = Table::new(game, shape, |_| ());
        table.press("~{~}  v");
        let values = table.app.session.values();
        for (width, height) in [(60, 20), (80, 24), (100, 40)] {
            for style in [PLAIN, ascii] {
                let text = screen(&table.app, width, height, style);
                let drawn = |line: &&str| line.starts_with(['┌', '│', '├', '└', '+', '|']);
                let board: Vec<&str> = text.lines().filter(drawn).collect();
                for text in [&text, &board.join("\n")] {
                    let shape = shape_of(text).unwrap_or_else(|error| panic!("{error}:\n{text}"));
                    let read = GameBoard::parse(text, game, shape).unwrap();
                    assert_eq!(read.values().collect::<Vec<_>>(), values, "{text}");
                }
            }
        }
    }
}

#[test]
fn screens_of_other_games_are_as_they_were() {
    let mut threes = Table::new("threes-hint", (4, 4), |_| ());
    threes.press("~~v");
    golden("threes-hint-60x20", &threes.screen(60, 20));
    let mut large = Table::new("2048", (5, 5), |options| {
        options.file = Some("games.txt".to_owned());
    });
    large.press("~{~{v");
    golden("5x5-60x20", &large.screen(60, 20));
    golden("5x5-100x40", &large.screen(100, 40));
    let alone = Session::new("2584", Shape::new(2, 3).unwrap(), 1, 0).unwrap();
    let mut alone = Table::of(alone, false, |_| ());
    alone.press(" ");
    golden("alone-60x20", &alone.screen(60, 20));
    let mut manual = Table::new("threes-original", (4, 4), |options| options.manual = true);
    golden("first-tile-60x20", &manual.screen(60, 20));
    manual.press("m~m~");
    golden("new-tile-60x20", &manual.screen(60, 20));
}

/// No size makes drawing panic, and every game fits from 60x20 on.
#[test]
fn every_board_fits_into_the_smallest_window() {
    for game in games::games() {
        for (rows, cols) in [(2, 2), (2, 5), (5, 2), (3, 4), (4, 4), (5, 5)] {
            let mut table = Table::new(game, (rows, cols), |_| ());
            table.press("wasdv");
            let text = table.screen(60, 20);
            let bottom = text.matches('┘').count();
            assert_eq!(bottom, 1, "{game} {rows}x{cols}:\n{text}");
            assert!(text.contains("q: quit") && text.contains("score"), "{text}");
            for (width, height) in [(1, 1), (60, 1), (1, 20), (61, 21), (200, 60), (0, 0)] {
                table.screen(width, height);
            }
        }
    }
}

#[test]
fn colours_are_those_that_the_terminal_has() {
    let of = |forbidden, set: &[(&str, &str)]| {
        Colors::of(forbidden, |name| {
            let found = set.iter().find(|(key, _)| *key == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    };
    let xterm = ("TERM", "xterm-256color");
    assert_eq!(of(false, &[xterm]), Colors::Indexed);
    assert_eq!(
        of(false, &[xterm, ("COLORTERM", "truecolor")]),
        Colors::True
    );
    assert_eq!(of(false, &[("TERM", "linux")]), Colors::Sixteen);
    assert_eq!(of(false, &[("TERM", "vt100")]), Colors::None);
    assert_eq!(of(true, &[xterm, ("COLORTERM", "truecolor")]), Colors::None);
    assert_eq!(of(false, &[xterm, ("NO_COLOR", "1")]), Colors::None);
    assert_eq!(of(false, &[xterm, ("NO_COLOR", "")]), Colors::Indexed);
    let table = Table::new("2048", (4, 4), |_| ());
    let colors = |colors| {
        let style = TerminalStyle {
            colors,
            has_lines: true,
        };
        let mut terminal = Terminal::new(TestBackend::new(60, 20)).unwrap();
        terminal
            .draw(|frame| draw(frame, &table.app, style))
            .unwrap();
        let cells = terminal.backend().buffer().content().to_vec();
        let all = cells.iter().flat_map(|cell| [cell.fg, cell.bg]);
        let mut used: Vec<Color> = all.filter(|color| *color != Color::Reset).collect();
        used.dedup();
        used
    };
    assert_eq!(colors(Colors::None), []);
    let rgb = |color: &Color| matches!(color, Color::Rgb(..));
    let indexed = |color: &Color| matches!(color, Color::Indexed(_));
    assert!(colors(Colors::True).iter().any(rgb));
    assert!(colors(Colors::Indexed).iter().any(indexed));
    let sixteen = colors(Colors::Sixteen);
    assert!(!sixteen.is_empty() && !sixteen.iter().any(|it| rgb(it) || indexed(it)));
}

#[test]
fn large_numbers_are_shortened() {
    for (value, width, text) in [
        (131_072, 6, "131072"),
        (1_048_576, 6, "1048k"),
        (131_072, 5, "131k"),
        (12_586_269_025, 6, "12586M"),
        (u64::MAX, 5, "18E"),
    ] {
        assert_eq!(fitted(value, width), text);
    }
}
