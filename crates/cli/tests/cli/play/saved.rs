//! Files that games are opened from and added to. Games are on a board for which the program has no
//! network to load.

use super::Terminal;
use crate::common::Lab;

const HOME: &[u8] = b"\x1b[H";

/// The moves of each record.
pub fn moves(records: &str) -> Vec<usize> {
    let lines = records.lines();
    lines.map(|line| line.matches('#').count()).collect()
}

#[test]
fn looking_through_a_game_leaves_its_file() {
    let lab = Lab::new();
    let mut terminal = Terminal::start(&lab, "play --seed 1 --board 3x4 --save games.txt");
    terminal.shows("moves 0");
    terminal.make_a_move(0);
    terminal.make_a_move(1);
    terminal.send(b"nn");
    terminal.shows("moves 0");
    terminal.make_a_move(0);
    terminal.send(b"q");
    terminal.ends_with(0);
    let before = lab.text("games.txt");
    assert_eq!(moves(&before), [2, 1]);
    for keys in ["q", "eq", "nnq"] {
        let open = "play --seed 1 --board 3x4 --open games.txt --number 1 --save games.txt";
        let mut terminal = Terminal::start(&lab, open);
        terminal.shows("moves 2");
        terminal.send(HOME);
        terminal.shows("moves 0");
        terminal.send(keys.as_bytes());
        terminal.ends_with(0);
        assert_eq!(lab.text("games.txt"), before, "{keys}");
    }
}

#[test]
fn a_game_of_the_default_file_is_in_it_once() {
    let lab = Lab::new();
    let mut terminal = Terminal::start(&lab, "play --seed 1 --board 3x4");
    terminal.shows("moves 0");
    terminal.make_a_move(0);
    terminal.send(b"e");
    terminal.shows("saved to play.txt");
    terminal.send(b"q");
    terminal.ends_with(0);
    let mut terminal = Terminal::start(&lab, "play --seed 1 --board 3x4 --open play.txt");
    terminal.shows("moves 1");
    terminal.make_a_move(1);
    terminal.send(b"e");
    terminal.shows("saved to play.txt");
    terminal.send(b"q");
    terminal.ends_with(0);
    assert_eq!(moves(&lab.text("play.txt")), [2]);
    // Another game does not replace it.
    let mut terminal = Terminal::start(&lab, "play --seed 1 --board 3x4 --open play.txt");
    terminal.shows("moves 2");
    terminal.send(b"nn");
    terminal.shows("moves 0");
    terminal.make_a_move(0);
    terminal.send(b"eq");
    terminal.ends_with(0);
    assert_eq!(moves(&lab.text("play.txt")), [2, 1]);
}

#[test]
fn two_programs_add_games_to_one_file() {
    let lab = Lab::new();
    let start = || {
        let terminal = Terminal::start(&lab, "play --seed 1 --board 3x4 --save games.txt");
        terminal.shows("moves 0");
        terminal
    };
    let (mut first, mut second) = (start(), start());
    first.make_a_move(0);
    first.send(b"e");
    first.shows("saved to games.txt");
    second.make_a_move(0);
    second.make_a_move(1);
    second.send(b"q");
    second.ends_with(0);
    assert_eq!(moves(&lab.text("games.txt")), [1, 2]);
    first.make_a_move(1);
    first.make_a_move(2);
    first.send(b"q");
    first.ends_with(0);
    assert_eq!(moves(&lab.text("games.txt")), [2, 3]);
}

#[test]
fn a_game_without_its_first_tiles_is_not_called_saved() {
    let lab = Lab::new();
    let mut terminal = Terminal::start(&lab, "play --board 3x4 --spawns manual");
    terminal.shows("q: quit");
    terminal.send(b"e");
    terminal.shows("nothing to save until the first tiles are entered");
    terminal.send(b"q");
    let left = terminal.ends_with(0);
    assert!(!left.contains("saved to"), "{left}");
    assert!(!lab.exists("play.txt"));
}

/// A seal beside the file says that it has the games of a match, to which none may be added.
#[test]
fn a_game_that_cannot_be_saved_is_not_called_saved() {
    let lab = Lab::new();
    let mut terminal = Terminal::start(&lab, "play --seed 1 --board 3x4 --save games.txt");
    terminal.shows("saved to games.txt");
    lab.write("games.txt.seal.json", "{}");
    terminal.make_a_move(0);
    terminal.shows("NOT SAVED: games.txt");
    assert!(!terminal.screen().contains("saved to games.txt"));
    std::fs::remove_file(lab.path("games.txt.seal.json")).expect("the seal");
    terminal.make_a_move(1);
    terminal.shows("saved to games.txt");
    terminal.send(b"q");
    terminal.ends_with(0);
    assert_eq!(moves(&lab.text("games.txt")), [2]);
}
