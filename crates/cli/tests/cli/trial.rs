//! The hostile trial: kills and faults at chosen system calls, damaged files of every format, two
//! writers of one file, and hostile run folders.
//!
//! `./test` runs a bounded version. The long one multiplies all counts:
//!
//! ```text
//! AFTERSTATE_TRIAL=20 cargo test -p afterstate-cli --test cli -- trial:: --nocapture
//! ```
//!
//! Every choice is drawn from a seed, which is printed; AFTERSTATE_TRIAL_SEED repeats it. Kills and
//! faults need `strace`, which injects them; `./test` installs it where it can.

mod folders;
mod mutations;
mod system_calls;
mod writers;

use std::time::SystemTime;

use crate::common::Dice;

/// A count of the bounded trial, multiplied by AFTERSTATE_TRIAL.
fn scaled(count: usize) -> usize {
    let factor = std::env::var("AFTERSTATE_TRIAL").map_or(1, |text| {
        text.parse().expect("AFTERSTATE_TRIAL is a whole number")
    });
    count * factor
}

/// The random choices of one test.
fn dice(test: &str) -> Dice {
    let now = || {
        let since = SystemTime::UNIX_EPOCH.elapsed();
        since.expect("a clock past 1970").as_nanos() as u64
    };
    let given = std::env::var("AFTERSTATE_TRIAL_SEED").ok();
    let seed = given.map_or_else(now, |text| text.parse().expect("a number as the seed"));
    println!("{test}: repeat with AFTERSTATE_TRIAL_SEED={seed}");
    Dice::new(seed)
}
