#![no_main]

use std::fs;
use std::path::Path;

use afterstate_lab::sweep::Sweep;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let path = std::env::temp_dir().join(format!("afterstate-fuzz-{}.toml", std::process::id()));
    fs::write(&path, text).expect("the folder for temporary files can be written");
    if let Ok(sweep) = Sweep::load(&path) {
        let tasks = sweep.runs(Path::new("out"));
        assert_eq!(tasks.len(), sweep.variants.len() * sweep.seeds.len());
    }
});
