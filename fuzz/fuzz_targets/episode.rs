//! Records of games: any line is read or refused, and what is read is judged without a panic.

#![no_main]

use afterstate::format::episode::EpisodeRecord;
use afterstate::game::{Fast2048, FastThrees, Threes};
use afterstate::judge::Judge;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|line: &[u8]| {
    let mut episode = EpisodeRecord::default();
    for hints in [false, true] {
        if episode.read(line, hints).is_ok() {
            let mut again = EpisodeRecord::default();
            let written = episode.line(hints).to_string();
            again.read(written.as_bytes(), hints).expect("what was written");
            let what = |episode: &EpisodeRecord| {
                let moves = episode.moves.iter();
                moves.map(|m| (m.action, m.reward, m.millis)).collect::<Vec<_>>()
            };
            assert_eq!(what(&again), what(&episode));
        }
    }
    if episode.read(line, false).is_ok() {
        let _ = Judge::new(Fast2048::new()).watch(&episode);
        let _ = Judge::new(FastThrees::new(Threes::Course)).watch(&episode);
    }
    if episode.read(line, true).is_ok() {
        let _ = Judge::new(FastThrees::new(Threes::Original)).watch(&episode);
    }
});
