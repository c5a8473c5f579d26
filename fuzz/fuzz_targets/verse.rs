//! Replays of 2048verse.com: any line is read or refused, and what is read is judged without a
//! panic.

#![no_main]

use afterstate::format::verse::VerseReplay;
use afterstate::game::{Fast2048, Shape};
use afterstate::judge::Judge;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|line: &[u8]| {
    let Ok(replay) = VerseReplay::read(line) else {
        return;
    };
    let written = replay.to_string();
    let again = VerseReplay::read(written.as_bytes()).expect("what was written");
    assert_eq!(again, replay);
    if replay.shape == Shape::FOUR {
        let game = Fast2048::new();
        let _ = Judge::new(game).replay(&replay.record(&game), None);
    }
});
