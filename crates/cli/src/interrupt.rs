//! Ctrl-C asks long work to save and stop; a second one ends the program at once.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::output::note;

static ASKED: AtomicBool = AtomicBool::new(false);

/// From here on Ctrl-C (and a request to terminate) only raises a flag.
pub fn listen() -> anyhow::Result<()> {
    ctrlc::set_handler(|| {
        if ASKED.swap(true, Ordering::Relaxed) {
            // Files are written aside and renamed, so leaving at any moment breaks none.
            std::process::exit(i32::from(crate::INTERRUPTED));
        }
        note("\nstopping; Ctrl-C once more ends at once, without saving");
    })?;
    Ok(())
}

/// Whether someone wants to stop.
pub fn asked() -> bool {
    ASKED.load(Ordering::Relaxed)
}
