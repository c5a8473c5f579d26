//! Text for people, and documents for programs.

use std::fmt::Display;
use std::io::{self, IsTerminal, Write};

use anyhow::Context;
use serde::Serialize;

/// Prints to standard output; a closed or full one is an error, not a panic.
pub fn print(text: impl Display) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    write!(out, "{text}")
        .and_then(|()| out.flush())
        .context("cannot write to standard output")
}

/// Tells a person at a terminal what is going on; a program that reads along is not bothered.
pub fn note(text: &str) {
    if io::stderr().is_terminal() {
        let _ = writeln!(io::stderr(), "{text}");
    }
}

/// Tells everyone what is not as asked for, on standard error; nothing stops where that cannot be written.
pub fn tell(text: &str) {
    let _ = writeln!(io::stderr(), "{}", harmless(text));
}

/// Prints one JSON document.
pub fn print_json(document: &impl Serialize) -> anyhow::Result<()> {
    print(serde_json::to_string_pretty(document)? + "\n")
}

/// Whether the reader of our output has gone, as `head` does: no reason to complain.
pub fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .downcast_ref::<io::Error>()
        .is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

/// Prints an error to standard error; where that cannot be written either, the exit status speaks.
pub fn complain(error: &anyhow::Error) {
    let _ = writeln!(
        io::stderr(),
        "error: {}",
        shortened(&harmless(&sentence(error)))
    );
}

/// A text that may quote a file, without what could steer a terminal.
fn harmless(text: &str) -> String {
    let shown = |c: char| {
        if c.is_control() && c != '\n' {
            '\u{FFFD}'
        } else {
            c
        }
    };
    text.chars().map(shown).collect()
}

/// A text without its middle where that is too long to read, as when a file was given for a word.
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

/// A number with its thousands apart: 86,475.
pub fn grouped(number: f64) -> String {
    let digits = format!("{:.0}", number.abs());
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    if number < 0.0 && digits != "0" {
        format!("-{text}")
    } else {
        text
    }
}

/// An interval as in "(95%: 85,000 to 88,000)".
pub fn interval(ends: Option<[f64; 2]>) -> String {
    match ends {
        Some([low, high]) => format!("95%: {} to {}", grouped(low), grouped(high)),
        None => "no interval from so few games".to_owned(),
    }
}

/// A share as a percentage with one decimal.
pub fn percent(share: f64) -> String {
    format!("{:.1}%", 100.0 * share)
}

/// A speed as people say it: 1.23 M moves/s.
pub fn speed(moves_per_second: f64) -> String {
    match moves_per_second {
        s if s >= 999_500.0 => format!("{:.2} M moves/s", s / 1e6),
        s if s >= 1000.0 => format!("{:.0} k moves/s", s / 1e3),
        s => format!("{s:.0} moves/s"),
    }
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
            "unknown game `{}`; there is: 2048",
            "é".repeat(5000)
        ));
        assert!(long.starts_with("unknown game `é") && long.ends_with("there is: 2048"));
        assert!(long.chars().count() < 900);
        assert_eq!(shortened("short"), "short");
    }

    #[test]
    fn numbers_for_people() {
        assert_eq!(grouped(86_475.6), "86,476");
        assert_eq!(grouped(999.0), "999");
        assert_eq!(grouped(-1_234_567.0), "-1,234,567");
        assert_eq!(grouped(-0.2), "0");
        assert_eq!(percent(0.9445), "94.5%");
        assert_eq!(speed(1_234_567.0), "1.23 M moves/s");
        assert_eq!(speed(559_798.0), "560 k moves/s");
    }
}
