//! The hostile trial: kills and faults at chosen system calls, damaged files of every format, two
//! writers of one file, and hostile run folders.
//!
//! `./test` runs a bounded version. The long one goes on for a time, in each of its tests:
//!
//! ```text
//! AFTERSTATE_TRIAL_SECONDS=300 cargo test -p afterstate-cli --test cli -- trial:: --nocapture
//! ```
//!
//! Every choice is drawn from a seed, which is printed; AFTERSTATE_TRIAL_SEED repeats it. Kills and
//! faults need `strace`, which injects them; `./test` installs it where it can.

mod folders;
mod mutations;
mod system_calls;
mod writers;

use std::time::{Duration, Instant, SystemTime};

use crate::common::Dice;

/// The numbers of the rounds of a test: `count`, or as many as begin within
/// AFTERSTATE_TRIAL_SECONDS.
fn rounds(count: usize) -> impl Iterator<Item = usize> {
    let seconds = std::env::var("AFTERSTATE_TRIAL_SECONDS").ok();
    let end = seconds.map(|text| {
        let seconds = text
            .parse()
            .expect("AFTERSTATE_TRIAL_SECONDS is a whole number");
        Instant::now() + Duration::from_secs(seconds)
    });
    (0..).take_while(move |&n| match end {
        Some(end) => n < count || Instant::now() < end,
        None => n < count,
    })
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
