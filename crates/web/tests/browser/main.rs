//! The page in a real browser: Debian's Chromium, headless, by chromedriver.
//!
//! One browser is started for all parts of the test. `./test` installs it, and names axe-core in
//! `AFTERSTATE_AXE`; what is missing is said, and with `CI` set it is a failure.

mod analyse;
mod browser;
mod inside;
mod parts;
mod pictures;
mod play;
mod train;

use std::path::Path;

use afterstate_lab::control::Control;
use afterstate_lab::recipe::Recipe;
use afterstate_lab::sweep::Sweep;
use afterstate_lab::trainer::Trainer;

/// Trains a model that takes a moment.
fn train_run(folder: &Path, overrides: &[&str]) {
    let overrides: Vec<String> = overrides.iter().map(|&it| it.to_owned()).collect();
    let recipe = Recipe::load("quick", &overrides).unwrap();
    let mut trainer = Trainer::new(recipe, folder, &Control::new()).unwrap();
    trainer.train().unwrap();
}

/// Two variants with two seeds each.
const SWEEP: &str = include_str!("../sweep.toml");

/// Trains a sweep, and writes its table.
fn sweep(folder: &Path, text: &str) {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), text).unwrap();
    let sweep = Sweep::load(file.path()).unwrap();
    let results = sweep.run(folder, 1, &Control::new()).unwrap().unwrap();
    let summary = sweep.summary(folder, &results).unwrap();
    summary.save(folder).unwrap();
}

/// Says what is left out; a failure where nothing may be left out.
pub(crate) fn left_out(what: &str) {
    assert!(std::env::var_os("CI").is_none(), "{what}");
    eprintln!("SKIPPED: {what}");
}

#[test]
fn the_page_in_a_browser() {
    let Some(driver) = browser::Driver::start() else {
        left_out("the page in a browser, because there is no chromium with its chromedriver");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    train_run(
        &folder.path().join("lines"),
        &[
            "tuples=lines",
            "episodes=150",
            "threads=1",
            "block_games=50",
        ],
    );
    train_run(
        &folder.path().join("small"),
        &[
            "board=2x3",
            "tuples=012 0134",
            "episodes=300",
            "threads=1",
            "block_games=50",
        ],
    );
    sweep(&folder.path().join("rates"), SWEEP);
    // After a failure the browser is ended by another thread than the one that waits for it.
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(parts::all(&driver, folder.path()));
}
