//! Signals ask long work to save and stop; a second one ends the program at once.

use std::sync::LazyLock;

use afterstate_lab::control::CancelToken;

use crate::output::note;

static TOKEN: LazyLock<CancelToken> = LazyLock::new(CancelToken::default);

/// From here on Ctrl-C (and a request to terminate) only cancels the work.
pub fn listen() -> anyhow::Result<()> {
    ctrlc::set_handler(|| {
        if TOKEN.is_cancelled() {
            // Files are written aside and renamed, so leaving at any moment breaks none.
            std::process::exit(i32::from(crate::INTERRUPTED));
        }
        TOKEN.cancel();
        note("\nstopping; Ctrl-C once more ends at once, without saving");
    })?;
    Ok(())
}

/// Whether a signal asked to stop.
pub fn asked() -> bool {
    TOKEN.is_cancelled()
}

/// The token that signals cancel.
pub fn token() -> CancelToken {
    TOKEN.clone()
}
