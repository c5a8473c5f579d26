//! Text for people, and documents for programs.

use std::error::Error;
use std::fmt::{self, Display};
use std::io::{self, IsTerminal, Write};
use std::sync::OnceLock;

pub use afterstate_lab::numbers::{count, grouped, interval, percent, speed};
use serde::Serialize;

/// How much is printed on standard error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Verbosity {
    /// Progress and notes.
    #[default]
    Normal,
    /// Notes without progress.
    NoProgress,
    /// Only errors.
    Quiet,
}

static VERBOSITY: OnceLock<Verbosity> = OnceLock::new();

/// Sets the verbosity, once, before anything is printed.
pub fn set_verbosity(verbosity: Verbosity) {
    let _ = VERBOSITY.set(verbosity);
}

/// The verbosity.
pub fn verbosity() -> Verbosity {
    VERBOSITY.get().copied().unwrap_or_default()
}

/// Prints to standard output; a closed or full one is an error, not a panic.
pub fn print(text: impl Display) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    let written = write!(out, "{text}").and_then(|()| out.flush());
    Ok(written.map_err(OutputError)?)
}

/// Standard output that cannot be written.
#[derive(Debug)]
pub struct OutputError(pub io::Error);

impl fmt::Display for OutputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot write to standard output: {}", self.0)
    }
}

impl Error for OutputError {}

/// Prints a note to standard error if it is a terminal.
pub fn note(text: &str) {
    if io::stderr().is_terminal() && verbosity() != Verbosity::Quiet {
        let _ = writeln!(io::stderr(), "{text}");
    }
}

/// Prints a note to standard error, terminal or not, unless `--quiet` is given. A failed write is
/// ignored.
pub fn tell(text: &str) {
    if verbosity() != Verbosity::Quiet {
        let _ = writeln!(io::stderr(), "{}", harmless(text));
    }
}

/// Prints one JSON document.
pub fn print_json(document: &impl Serialize) -> anyhow::Result<()> {
    print(serde_json::to_string_pretty(document)? + "\n")
}

/// Whether the reader of standard output has closed it, as `head` does, which is not an error.
pub fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .downcast_ref::<OutputError>()
        .is_some_and(|error| error.0.kind() == io::ErrorKind::BrokenPipe)
}

/// Prints an error with its remedy to standard error. A failed write is ignored: the exit status
/// remains.
pub fn complain(error: &anyhow::Error, remedy: Option<&str>) {
    let text = shortened(&harmless(&sentence(error)));
    let remedy = match remedy {
        None | Some("") => String::new(),
        Some(line) if line.starts_with('\n') => line.to_owned(),
        Some(more) => format!("; {more}"),
    };
    let _ = writeln!(io::stderr(), "error: {text}{}", harmless(&remedy));
}

/// Replaces control characters, which a quoted file could use to steer the terminal.
pub fn harmless(text: &str) -> String {
    let shown = |c: char| {
        if c.is_control() && c != '\n' {
            '\u{FFFD}'
        } else {
            c
        }
    };
    text.chars().map(shown).collect()
}

/// Cuts the middle of a text that is too long to read, as when a file was given for a word.
fn shortened(text: &str) -> String {
    let count = text.chars().count();
    if count <= 2 * SHOWN {
        return text.to_owned();
    }
    let head: String = text.chars().take(SHOWN).collect();
    let tail: String = text.chars().skip(count - SHOWN).collect();
    format!("{head} [...] {tail}")
}

/// How much of a long text is shown at either end.
const SHOWN: usize = 400;

/// An error with its causes, leaving out those that its own sentence already names.
fn sentence(error: &anyhow::Error) -> String {
    error
        .chain()
        .map(ToString::to_string)
        .fold(String::new(), |text, cause| match () {
            () if text.is_empty() => cause,
            () if text.contains(&cause) => text,
            () => format!("{text}: {cause}"),
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_is_named_once() {
        let cause = anyhow::anyhow!("no space left");
        assert_eq!(
            sentence(&cause.context("cannot write x")),
            "cannot write x: no space left"
        );
        let cause = anyhow::anyhow!("no space left");
        assert_eq!(
            sentence(&cause.context("cannot write x: no space left; free some")),
            "cannot write x: no space left; free some"
        );
    }

    #[test]
    fn long_texts_lose_their_middle() {
        let long = shortened(&format!(
            "unknown game `{}`; the games are 2048",
            "é".repeat(5000)
        ));
        assert!(long.starts_with("unknown game `é") && long.ends_with("the games are 2048"));
        assert!(long.chars().count() < 900);
        assert_eq!(shortened("short"), "short");
    }
}
