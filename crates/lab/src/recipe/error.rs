//! Errors of recipes. Each variant carries the facts (where, found, expected), and its message says
//! them together with what to do.

use std::io;

use thiserror::Error;
use toml::Value;

/// Why a recipe was refused.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RecipeError {
    /// No built-in recipe has this name.
    #[error(
        "unknown recipe `{name}`{} The recipes are {}; \
         name a file by its path, such as ./my.toml",
        nearest.as_deref().map_or_else(|| ".".into(), did_you_mean), known.join(", ")
    )]
    UnknownRecipe {
        /// The requested name.
        name: String,
        /// The built-in name that differs from it by a letter or two.
        nearest: Option<String>,
        /// Every built-in name.
        known: Vec<&'static str>,
    },
    /// A former name of a built-in recipe.
    #[error("the recipe `{former}` is now called `{present}`")]
    RenamedRecipe {
        /// The requested name.
        former: &'static str,
        /// The name that it has now.
        present: &'static str,
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
    #[error("{origin} is not a recipe: it is larger than {limit} bytes; is it a model?")]
    TooLarge {
        /// The file.
        origin: String,
        /// The largest size that is read.
        limit: usize,
    },
    /// The file is not UTF-8.
    #[error("{path} is not a recipe: byte {offset} is not UTF-8 text; is it a model?")]
    NotText {
        /// The file.
        path: String,
        /// The offset of the first invalid byte.
        offset: usize,
    },
    /// The text is not TOML.
    #[error("{origin}, line {line}, column {column}: {message}")]
    Syntax {
        /// The file.
        origin: String,
        /// The line, from 1.
        line: usize,
        /// The column, from 1.
        column: usize,
        /// What the TOML parser said.
        message: String,
    },
    /// A key that no recipe has.
    #[error(
        "unknown key `{key}` in {origin}{}",
        match nearest {
            Some(nearest) => did_you_mean(nearest),
            None => format!(": {known}"),
        }
    )]
    UnknownKey {
        /// The key, with its table.
        key: String,
        /// The file or override that has it.
        origin: String,
        /// The valid key that differs from it by a letter or two.
        nearest: Option<String>,
        /// The keys that there are, in words.
        known: String,
    },
    /// A name that an earlier format, another program or the literature has for a key.
    #[error(
        "`{key}` in {origin} is called `{meant}` here{}",
        owners.as_ref().map_or_else(String::new, |owners| format!(", and only {owners} have it"))
    )]
    OtherName {
        /// The name, with its table.
        key: String,
        /// The file or override that has it.
        origin: String,
        /// The key.
        meant: String,
        /// The kinds that have it, if not all do.
        owners: Option<String>,
    },
    /// A word that an earlier format had under a key.
    #[error("`{key}` in {origin} is {found}, which is now {meant}")]
    OtherWord {
        /// The key, with its table.
        key: String,
        /// The file or override that has it.
        origin: String,
        /// The word, in words.
        found: String,
        /// What is written now.
        meant: String,
    },
    /// The last part of several keys.
    #[error("`{key}` in {origin} is ambiguous: write {}", candidates.join(" or "))]
    Ambiguous {
        /// The name.
        key: String,
        /// The override that has it.
        origin: String,
        /// Two keys that end in it.
        candidates: [String; 2],
    },
    /// A table where a key is expected.
    #[error("`{key}` in {origin} is a table: set its keys separately, as in `{key}.kind`")]
    WholeTable {
        /// The table.
        key: String,
        /// The override that has it.
        origin: String,
    },
    /// A key that only the program sets.
    #[error("`{key}` in {origin} cannot be set: the program writes it")]
    Written {
        /// The key.
        key: String,
        /// The override that has it.
        origin: String,
    },
    /// A key that the chosen kind of network or learner does not have.
    #[error("`{key}` in {origin} does not apply: {reason}")]
    NotHere {
        /// The key, with its table.
        key: String,
        /// The file or override that has it.
        origin: String,
        /// Which kinds have it.
        reason: String,
    },
    /// Another kind than that of the file, with keys of the file that it does not have.
    #[error(
        "`{key}` is set to \"{kind}\", but {file} has keys of another kind: {}; \
         start from a recipe of that kind",
        stale.join(", ")
    )]
    Stale {
        /// `network.kind` or `learner.kind`.
        key: String,
        /// What it is set to.
        kind: String,
        /// The file.
        file: String,
        /// The keys.
        stale: Vec<String>,
    },
    /// A key that belongs to the games that a run has played.
    #[error(
        "`{key}` in {origin} cannot change when a run is resumed, only {} can; \
         start a new run",
        allowed.join(", ")
    )]
    NotOnResume {
        /// The key, with its table.
        key: String,
        /// The override that has it.
        origin: String,
        /// The keys that can.
        allowed: Vec<&'static str>,
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
        /// The file or override that has it.
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
        /// The file or override that has it.
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
        "`{key}` is {found}, which needs `{other}` to be {needed}, not {other_found}: \
         change one of the two"
    )]
    Conflict {
        /// The key that needs the other one.
        key: &'static str,
        /// Its value.
        found: String,
        /// The key that it depends on.
        other: &'static str,
        /// The value that the other key has.
        other_found: String,
        /// The value that it needs.
        needed: &'static str,
    },
    /// An override that does not read `KEY=VALUE`.
    #[error("the override `{text}` is not KEY=VALUE: write it as in `learner.learning_rate=0.01`")]
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

    /// A text that is too large to be a recipe.
    pub(crate) fn too_large(origin: &str) -> RecipeError {
        RecipeError::TooLarge {
            origin: origin.into(),
            limit: super::MAX_BYTES,
        }
    }
}

fn did_you_mean(nearest: &str) -> String {
    format!(": did you mean `{nearest}`?")
}

/// A value as part of a sentence.
pub(super) fn describe(value: &Value) -> String {
    match value {
        Value::String(text) => format!("the string \"{}\"", shorten(text)),
        Value::Array(_) => format!("the list {}", shorten(&value.to_string())),
        Value::Table(_) => format!("the table {}", shorten(&value.to_string())),
        Value::Datetime(date) => format!("the date {date}"),
        // Debug prints 1e300, Display three hundred zeros.
        Value::Float(number) => format!("{number:?}"),
        Value::Integer(_) | Value::Boolean(_) => value.to_string(),
    }
}

/// Text from a file, fit for a message of one line: cut after 80 characters, and with control
/// characters escaped, so that no file can steer the terminal.
pub(crate) fn shorten(text: &str) -> String {
    shorten_to(text, 80)
}

/// The same with another limit.
pub(super) fn shorten_to(text: &str, limit: usize) -> String {
    let mut rest = text.chars();
    let mut short = String::new();
    for c in rest.by_ref().take(limit) {
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
