//! Exit statuses: one place that maps the end of a command to a number.

use afterstate_lab::{ErrorClass, LabError};

use crate::commands::check::Damaged;
use crate::commands::judge::Faulty;
use crate::commands::referee::RulesBroken;
use crate::commands::sweep::SomeDiverged;
use crate::output::OutputError;

/// Records have faults, a player broke the rules, or training diverged.
const NO: u8 = 1;
/// Wrong usage or input.
const INPUT: u8 = 2;
/// Disk or memory.
const SYSTEM: u8 = 3;

/// The table of exit statuses, for the help.
pub const HELP: &str = "Exit status:
  0    success
  1    the records or files have faults (judge, check), the player broke the rules (referee), or training diverged
  2    wrong usage or input
  3    not enough disk space or memory, or a failed write
  129  stopped by SIGHUP; 130 by SIGINT (Ctrl-C), 131 by SIGQUIT, 143 by SIGTERM";

/// The lab error in the chain of an error.
pub fn lab_error(error: &anyhow::Error) -> Option<&LabError> {
    error.chain().find_map(|cause| cause.downcast_ref())
}

/// Whether this is a negative verdict and not an error; a signal may have cut it short.
pub fn is_verdict(error: &anyhow::Error) -> bool {
    error.is::<Faulty>()
        || error.is::<Damaged>()
        || error.is::<RulesBroken>()
        || error.is::<SomeDiverged>()
}

/// The exit status for an error.
pub fn status_of(error: &anyhow::Error) -> u8 {
    if is_verdict(error) {
        return NO;
    }
    if error.chain().any(|cause| cause.is::<OutputError>()) {
        return SYSTEM;
    }
    match lab_error(error).map(LabError::class) {
        Some(ErrorClass::Diverged) => NO,
        Some(ErrorClass::System) => SYSTEM,
        _ => INPUT,
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    #[test]
    fn errors_have_the_status_of_their_class() {
        let full = || io::Error::from(io::ErrorKind::StorageFull);
        let file = LabError::File {
            action: "write",
            path: "x".into(),
            source: full(),
        };
        let diverged = LabError::Diverged {
            games: 1,
            learning_rate: 1.0,
            kept: false,
        };
        for (error, status) in [
            (anyhow::anyhow!("no such option"), INPUT),
            (anyhow::Error::from(file), SYSTEM),
            (anyhow::Error::from(OutputError(full())), SYSTEM),
            (anyhow::Error::from(diverged), NO),
            (anyhow::Error::from(LabError::NoDeep), INPUT),
            (
                anyhow::Error::from(LabError::Memory {
                    needed: 2,
                    available: 1,
                })
                .context("training"),
                SYSTEM,
            ),
        ] {
            assert_eq!(status_of(&error), status, "{error}");
        }
    }
}
