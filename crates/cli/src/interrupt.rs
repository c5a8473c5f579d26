//! Signals ask long work to save and stop; a second one, a second later, ends the program at once.
//!
//! Signals that follow the first within [`REPEATED`] are one request: a terminal, a shell and a batch
//! system may each send one, and the save must not be lost by that.

use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{LazyLock, OnceLock};
use std::time::{Duration, Instant};

use afterstate_lab::control::CancelToken;

use crate::output::{note, tell};

static TOKEN: LazyLock<CancelToken> = LazyLock::new(CancelToken::default);
/// The exit status that the first signal asks for; 0 before it.
static STATUS: AtomicU8 = AtomicU8::new(0);
/// What is called before the program ends at once; while it is set, nothing is printed.
static CLEANUP: OnceLock<fn()> = OnceLock::new();
/// Whether the work was completed in spite of a signal.
static COMPLETED: AtomicBool = AtomicBool::new(false);

/// Signals within this time of the first are the same request.
const REPEATED: Duration = Duration::from_secs(1);
/// Added to the number of a signal, as shells do.
const BY_SIGNAL: i32 = 128;
/// The exit status after SIGINT.
const BY_SIGINT: u8 = 130;

/// What a signal leads to.
#[derive(Debug, PartialEq, Eq)]
enum Response {
    Stop,
    Ignore,
    EndNow,
}

/// The response to a signal, by when the first one came.
fn response(first: Option<Instant>, now: Instant) -> Response {
    match first {
        None => Response::Stop,
        Some(first) if now.duration_since(first) < REPEATED => Response::Ignore,
        Some(_) => Response::EndNow,
    }
}

/// Handles one signal.
fn handle(signal: i32, first: &mut Option<Instant>) {
    let status = u8::try_from(BY_SIGNAL + signal).unwrap_or(u8::MAX);
    let now = Instant::now();
    match response(*first, now) {
        Response::Stop => {
            *first = Some(now);
            STATUS.store(status, Ordering::Relaxed);
            TOKEN.cancel();
            if CLEANUP.get().is_none() {
                note("\nstopping; press Ctrl-C again after a second to end at once without saving");
            }
        }
        Response::Ignore => {}
        // Files are replaced atomically, so leaving at any moment damages none.
        Response::EndNow => {
            match CLEANUP.get() {
                Some(cleanup) => cleanup(),
                None => tell("ended at once: what was not saved before is lost"),
            }
            std::process::exit(status.into())
        }
    }
}

/// From here on, signals that would end the program cancel the work instead.
#[cfg(unix)]
pub fn listen() -> anyhow::Result<()> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};

    let wanted = [SIGHUP, SIGINT, SIGQUIT, SIGTERM];
    // `nohup` has a program ignore SIGHUP, and that holds.
    let wanted = wanted
        .into_iter()
        .filter(|&signal| signal != SIGHUP || !is_ignored(signal));
    let mut signals = signal_hook::iterator::Signals::new(wanted)?;
    // Memory may be too small for a thread: that is an error, not a panic.
    std::thread::Builder::new().spawn(move || {
        let mut first = None;
        for signal in signals.forever() {
            handle(signal, &mut first);
        }
    })?;
    Ok(())
}

/// Whether this process was started with a signal ignored. Only Linux tells without unsafe code.
#[cfg(unix)]
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask & (1 << (signal - 1)) != 0)
}

/// The same where signals can only set a flag.
#[cfg(not(unix))]
pub fn listen() -> anyhow::Result<()> {
    use signal_hook::consts::{SIGINT, SIGTERM};

    let flags = [SIGINT, SIGTERM].map(|signal| (signal, std::sync::Arc::<AtomicBool>::default()));
    for (signal, flag) in &flags {
        signal_hook::flag::register(*signal, flag.clone())?;
    }
    std::thread::Builder::new().spawn(move || {
        let mut first = None;
        loop {
            for (signal, flag) in &flags {
                if flag.swap(false, Ordering::Relaxed) {
                    handle(*signal, &mut first);
                }
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    })?;
    Ok(())
}

/// The same for a program that has the screen: signals print nothing, and `cleanup` is called before
/// the program ends at once.
pub fn listen_on_screen(cleanup: fn()) -> anyhow::Result<()> {
    let _ = CLEANUP.set(cleanup);
    listen()
}

/// Notes that the user has pressed Ctrl-C, where the terminal sends it as a key.
pub fn pressed() {
    STATUS.store(BY_SIGINT, Ordering::Relaxed);
    TOKEN.cancel();
}

/// Whether a signal asked to stop.
pub fn asked() -> bool {
    TOKEN.is_cancelled()
}

/// Notes that all of the work was done, though a signal may have come.
pub fn completed() {
    COMPLETED.store(true, Ordering::Relaxed);
}

/// The exit status of work that a signal has stopped.
pub fn status() -> Option<u8> {
    let status = STATUS.load(Ordering::Relaxed);
    (asked() && status > 0 && !COMPLETED.load(Ordering::Relaxed)).then_some(status)
}

/// The token that signals cancel.
pub fn token() -> CancelToken {
    TOKEN.clone()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_signal_ends_at_once_but_not_a_repeated_one() {
        let first = Instant::now();
        assert_eq!(response(None, first), Response::Stop);
        let after = |milliseconds| first + Duration::from_millis(milliseconds);
        for (milliseconds, expected) in [
            (0, Response::Ignore),
            (999, Response::Ignore),
            (1000, Response::EndNow),
        ] {
            assert_eq!(response(Some(first), after(milliseconds)), expected);
        }
    }
}
