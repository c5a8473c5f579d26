#![no_main]

use std::fs;

use afterstate_lab::model::Model;
use libfuzzer_sys::fuzz_target;

// Models of tables and of deep networks, as every command opens them.
fuzz_target!(|bytes: &[u8]| {
    let path = std::env::temp_dir().join(format!("afterstate-fuzz-{}.safetensors", std::process::id()));
    fs::write(&path, bytes).expect("the folder for temporary files can be written");
    let _ = Model::open(&path);
});
