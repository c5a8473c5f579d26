//! Boards as text: any text is read or refused, and what is read is printed and read again.

#![no_main]

use afterstate::game::Shape;
use afterstate_lab::board::{GameBoard, shape_of};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let shape = shape_of(text).unwrap_or(Shape::FOUR);
    for game in ["2048", "threes-hint", "2584"] {
        let Ok(board) = GameBoard::parse(text, game, shape) else {
            continue;
        };
        for text in [board.text(), board.to_string()] {
            assert_eq!(
                GameBoard::parse(&text, game, shape).expect("what was printed"),
                board
            );
        }
    }
});
