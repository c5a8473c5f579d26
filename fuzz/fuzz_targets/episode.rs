//! Records of games: any line is read or refused, and what is read is judged without a panic.

#![no_main]

use afterstate::format::episode::Episode;
use afterstate::game::{Classic, FourThrees, Threes};
use afterstate::judge::Judge;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|line: &[u8]| {
    let mut episode = Episode::default();
    if episode.read(line, false).is_ok() {
        let _ = Judge::new(Classic::new()).watch(&episode);
        let _ = Judge::new(FourThrees::new(Threes::Course)).watch(&episode);
    }
    if episode.read(line, true).is_ok() {
        let _ = Judge::new(FourThrees::new(Threes::Original)).watch(&episode);
    }
});
