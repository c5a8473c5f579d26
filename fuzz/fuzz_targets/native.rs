#![no_main]

use afterstate::format::native::{self, Header, StoredParts};
use afterstate::game::Shape;
use afterstate::ntuple::{AfterstateNetwork, NetworkOptions, TupleSet};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let _ = native::peek_metadata(&mut &bytes[..]);
    let Ok(header) = Header::read(&mut &bytes[..], bytes.len() as u64) else {
        return;
    };
    if let Some(span) = header.span("0") {
        assert!(span.at + span.bytes() <= bytes.len() as u64);
    }
    let Ok(tuples) = TupleSet::parse("0 12", Shape::FOUR, true) else {
        return;
    };
    for keep in [StoredParts::Weights, StoredParts::Everything] {
        if let Ok(network) = AfterstateNetwork::new(&tuples, &NetworkOptions::default()) {
            let _ = native::read(bytes, network.tables(), keep);
        }
    }
});
