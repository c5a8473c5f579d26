#![no_main]

mod foreign;

use afterstate::format::foreign::Program;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    for by_name in [true, false] {
        foreign::check(Program::Tdl, bytes, by_name);
    }
});
