//! The description of another program's file that `convert` keeps in ours: any text is read or refused, and what is sound is laid
//! out without a panic.

#![no_main]

use afterstate::format::foreign::Foreign;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(mut foreign) = serde_json::from_str::<Foreign>(text)
        && foreign.is_sound()
    {
        for tagged in [true, false] {
            let _ = foreign.lay_out(tagged);
        }
        let _ = foreign.table_patterns(None);
    }
});
