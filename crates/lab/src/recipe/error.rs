//! What can be wrong with a recipe. Each variant carries the facts (where, found, expected), and its
//! sentence says them together with what to do.

use std::io;

use thiserror::Error;
use toml::Value;

/// Why a recipe was refused.
#[derive(Debug, Error)]
pub enum RecipeError {
    /// No built-in recipe has this name.
    #[error(
        "unknown recipe `{name}`: did you mean `{nearest}`? The recipes are {}; \
         a file of your own is named by its path, such as ./my.toml",
        known.join(", ")
    )]
    UnknownRecipe {
        /// The name that was asked for.
        name: String,
        /// The built-in name most like it.
        nearest: String,
        /// Every built-in name.
        known: Vec<&'static str>,
    },
    /// The file cannot be opened or read.
    #[error("cannot read the recipe {path}: {source}")]
    Unreadable {
        /// The file.
        path: String,
        /// What the system said.
        source: io::Error,
    },
    /// The text is too large to be a recipe.
    #[error("{origin} is no recipe: it is larger than {limit} bytes; is it a model?")]
    TooLarge {
        /// The file.
        origin: String,
        /// The largest size that is read.
        limit: usize,
    },
    /// The file is not UTF-8.
    #[error("{path} is no recipe: byte {offset} is not UTF-8 text; is it a model?")]
    NotText {
        /// The file.
        path: String,
        /// The first byte at fault, counted from 0.
        offset: usize,
    },
    /// The text is not TOML.
    #[error("{origin}, line {line}, column {column}: {message}")]
    Syntax {
        /// The file.
        origin: String,
        /// Line of the fault, counted from 1.
        line: usize,
        /// Character in the line, counted from 1.
        column: usize,
        /// What the TOML parser said.
        message: String,
    },
    /// A key that no recipe has.
    #[error("unknown key `{key}` in {origin}: did you mean `{nearest}`?")]
    UnknownKey {
        /// The key, with its table.
        key: String,
        /// The file or override it stands in.
        origin: String,
        /// The valid key most like it.
        nearest: String,
    },
    /// A key that every recipe must have.
    #[error("`{key}` is missing in {origin}: expected a line such as {example}")]
    MissingKey {
        /// The key, with its table.
        key: String,
        /// The file.
        origin: String,
        /// How the key may be set, and where.
        example: String,
    },
    /// A value of the wrong type, or none of the choices.
    #[error("`{key}` in {origin}: expected {expected}, found {found}")]
    WrongType {
        /// The key, with its table.
        key: String,
        /// The file or override it stands in.
        origin: String,
        /// The value, in words.
        found: String,
        /// The type or the choices, in words.
        expected: String,
    },
    /// A learning rate that its own type refuses.
    #[error("`{key}` in {origin} is {found}: {reason}")]
    Refused {
        /// The key, with its table.
        key: String,
        /// The file or override it stands in.
        origin: String,
        /// The value, in words.
        found: String,
        /// Why it was refused, and what was expected.
        reason: String,
    },
    /// A value outside of its range.
    #[error("`{key}` is {found}: expected {expected}")]
    BadValue {
        /// The key, with its table.
        key: &'static str,
        /// The value.
        found: String,
        /// The range, in words.
        expected: String,
    },
    /// Two values that do not go together.
    #[error(
        "`{key}` is {found}, which needs `{other}` to be \"{needed}\", not \"{other_found}\": \
         change one of the two"
    )]
    Conflict {
        /// The key that asks for something.
        key: &'static str,
        /// Its value.
        found: String,
        /// The key that it depends on.
        other: &'static str,
        /// The value that the other key has.
        other_found: &'static str,
        /// The value that it needs.
        needed: &'static str,
    },
    /// An override that does not read `KEY=VALUE`.
    #[error("the override `{text}` does not read KEY=VALUE: write it as in `learner.rate=0.01`")]
    BadOverride {
        /// The override.
        text: String,
    },
}

impl RecipeError {
    /// A TOML error with the line and column that its span points to.
    pub(crate) fn syntax(text: &str, origin: &str, error: &toml::de::Error) -> RecipeError {
        let start = error.span().map_or(0, |span| span.start);
        let before = text.get(..start).unwrap_or(text);
        let line = before.rsplit('\n').next().unwrap_or(before);
        RecipeError::Syntax {
            origin: origin.into(),
            line: before.matches('\n').count() + 1,
            column: line.chars().count() + 1,
            message: shorten(error.message()),
        }
    }
}

/// A value as part of a sentence.
pub(super) fn describe(value: &Value) -> String {
    match value {
        Value::String(text) => format!("the string \"{}\"", shorten(text)),
        Value::Array(_) => format!("the list {}", shorten(&value.to_string())),
        Value::Table(_) => format!("the table {}", shorten(&value.to_string())),
        Value::Datetime(date) => format!("the date {date}"),
        // Debug writes 1e300 so, Display as three hundred zeros.
        Value::Float(number) => format!("{number:?}"),
        Value::Integer(_) | Value::Boolean(_) => value.to_string(),
    }
}

/// Text from a file, fit for a message of one line: cut after 80 characters, and with control
/// characters escaped, so that no file can steer the terminal.
pub(crate) fn shorten(text: &str) -> String {
    const LIMIT: usize = 80;
    let mut rest = text.chars();
    let mut short = String::new();
    for c in rest.by_ref().take(LIMIT) {
        match c {
            _ if c.is_control() => short.extend(c.escape_default()),
            _ => short.push(c),
        }
    }
    if rest.next().is_some() {
        short.push('…');
    }
    short
}
