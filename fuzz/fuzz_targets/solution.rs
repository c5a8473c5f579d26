#![no_main]

use afterstate::format::native::Header;
use afterstate::format::solution::SolutionLayout;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(header) = Header::read(&mut &bytes[..], bytes.len() as u64) else {
        return;
    };
    for win in [false, true] {
        if let Ok(layout) = SolutionLayout::of(&header, win) {
            let places = [layout.sums, layout.starts, layout.codes, layout.score];
            for place in places.into_iter().chain(layout.win) {
                assert!(place.end() <= bytes.len() as u64);
            }
        }
    }
});
