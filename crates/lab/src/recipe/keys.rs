//! The keys of a recipe: which there are, which one was meant, and what stands under them.
//!
//! The valid keys are the default recipe itself, serialised. Everything here asks that table, and
//! there is no second list that could fall behind the structs. The default value under a key also
//! says which type is expected there.

use std::sync::LazyLock;

use toml::{Table, Value};

use super::Recipe;
use super::error::{RecipeError, describe, shorten};

/// The default recipe as a table: every valid key with a value of its type.
static VALID: LazyLock<Table> = LazyLock::new(|| {
    // Not input: the defaults are fixed, and a test reads them.
    Table::try_from(Recipe::default()).expect("the default recipe can be written")
});

/// Refuses keys that no recipe has, and a plain value where a table belongs.
pub(super) fn check_known(table: &Table, origin: &str) -> Result<(), RecipeError> {
    check_level(table, &VALID, "", origin)
}

fn check_level(
    table: &Table,
    valid: &Table,
    prefix: &str,
    origin: &str,
) -> Result<(), RecipeError> {
    for (name, value) in table {
        let key = format!("{prefix}{name}");
        match (valid.get(name), value) {
            (None, _) => return Err(unknown(&key, origin, &paths(true))),
            (Some(Value::Table(inner)), Value::Table(found)) => {
                check_level(found, inner, &format!("{key}."), origin)?;
            }
            (Some(Value::Table(_)), _) => return Err(wrong_type(&key, value, origin)),
            (Some(_), _) => {}
        }
    }
    Ok(())
}

/// Refuses a recipe that lacks one of the keys.
pub(super) fn check_present(
    table: &Table,
    required: &[&str],
    origin: &str,
) -> Result<(), RecipeError> {
    match required.iter().find(|key| lookup(table, key).is_none()) {
        None => Ok(()),
        Some(&key) => {
            let default = lookup(&VALID, key).map_or_else(String::new, Value::to_string);
            let example = match key.split_once('.') {
                Some((outer, inner)) => format!("`{inner} = {default}` below [{outer}]"),
                None => format!("`{key} = {default}` at the top"),
            };
            Err(RecipeError::MissingKey {
                key: key.into(),
                origin: origin.into(),
                example,
            })
        }
    }
}

/// Makes a recipe of a table whose keys are known; an error names the key, and the override where
/// the value came from one.
pub(super) fn deserialize(
    table: Table,
    origin: &str,
    overrides: &[Override],
) -> Result<Recipe, RecipeError> {
    let error = match serde_path_to_error::deserialize(table.clone()) {
        Ok(recipe) => return Ok(recipe),
        Err(error) => error,
    };
    let key = error.path().to_string();
    let origin = match overrides.iter().rev().find(|change| change.key == key) {
        Some(change) => change.origin(),
        None => origin.into(),
    };
    let reason = error.inner().message();
    let found = lookup(&table, &key);
    // These three are serde's own words for a mismatch, for which ours are plainer; everything
    // else was said by the type that refused.
    let mismatch = ["invalid type", "invalid value", "unknown variant"];
    match found {
        Some(value) if mismatch.iter().any(|start| reason.starts_with(start)) => {
            Err(wrong_type(&key, value, &origin))
        }
        _ => Err(RecipeError::Refused {
            found: found.map_or_else(|| "not usable".into(), describe),
            reason: reason.into(),
            key,
            origin,
        }),
    }
}

/// One `KEY=VALUE`, resolved.
pub(super) struct Override {
    text: String,
    key: String,
    value: Value,
}

impl Override {
    /// Splits the text and finds the key that is meant.
    pub(super) fn parse(text: &str) -> Result<Override, RecipeError> {
        let bad = || RecipeError::BadOverride {
            text: shorten(text),
        };
        let (name, value) = text.split_once('=').ok_or_else(bad)?;
        let (name, value) = (name.trim(), value.trim());
        if name.is_empty() {
            return Err(bad());
        }
        let mut change = Override {
            text: text.into(),
            key: name.into(),
            value: Value::String(value.into()),
        };
        let keys = paths(false);
        change.key = resolve(name, &keys).ok_or_else(|| unknown(name, &change.origin(), &keys))?;
        let wants_text = matches!(lookup(&VALID, &change.key), Some(Value::String(_)));
        match value.parse::<Value>() {
            // `game=2048` and `tuples=456789` are numbers to TOML, but names to us.
            Ok(parsed) if !wants_text || parsed.is_str() => change.value = parsed,
            _ => {}
        }
        Ok(change)
    }

    /// Sets the value, in place of the recipe's own.
    pub(super) fn apply(&self, table: &mut Table) {
        match self.key.split_once('.') {
            None => {
                table.insert(self.key.clone(), self.value.clone());
            }
            Some((outer, inner)) => {
                let entry = table
                    .entry(outer)
                    .or_insert_with(|| Value::Table(Table::new()));
                // `check_known` has refused anything but a table here.
                if let Value::Table(found) = entry {
                    found.insert(inner.into(), self.value.clone());
                }
            }
        }
    }

    /// What errors call the place of this value.
    fn origin(&self) -> String {
        format!("the override `{}`", shorten(&self.text))
    }
}

/// A key under which two recipes differ, with both values as TOML.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Difference {
    pub(crate) key: String,
    pub(crate) values: [String; 2],
}

/// The first key, but for some, under which two recipes differ.
pub(crate) fn difference(a: &Recipe, b: &Recipe, but: &[&str]) -> Option<Difference> {
    let tables = [a, b].map(|recipe| Table::try_from(recipe).unwrap_or_default());
    let keys = paths(false).into_iter();
    let mut keys = keys.filter(|key| !but.contains(&key.as_str()));
    keys.find_map(|key| {
        let [a, b] = tables.each_ref().map(|table| lookup(table, &key));
        let text = |value: Option<&Value>| value.map_or("nothing".into(), Value::to_string);
        (a != b).then(|| Difference {
            values: [a, b].map(|value| shorten(&text(value))),
            key,
        })
    })
}

/// The full key that `name` stands for: itself, or the only one that ends in it.
fn resolve(name: &str, keys: &[String]) -> Option<String> {
    if let Some(key) = keys.iter().find(|key| *key == name) {
        return Some(key.clone());
    }
    let mut matches = keys.iter().filter(|key| last_part(key) == name);
    match (matches.next(), matches.next()) {
        (Some(key), None) => Some(key.clone()),
        _ => None,
    }
}

/// Of some names, the one most like `name`; a key in the wrong table counts as nearly right.
pub(crate) fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> String {
    // Comparing takes the product of the lengths, and a hostile key can have a megabyte.
    let name: String = name.chars().take(80).collect();
    let likeness = |known: &str| {
        let whole = strsim::normalized_damerau_levenshtein(&name, known);
        let last = strsim::normalized_damerau_levenshtein(last_part(&name), last_part(known));
        whole.max(last - 0.05)
    };
    let nearer = |best, next| {
        if likeness(next) > likeness(best) {
            next
        } else {
            best
        }
    };
    known.reduce(nearer).unwrap_or_default().into()
}

fn last_part(key: &str) -> &str {
    key.rsplit('.').next().unwrap_or(key)
}

/// Every valid key, dotted; with or without the names of tables.
fn paths(with_tables: bool) -> Vec<String> {
    let mut paths = Vec::new();
    for (name, value) in VALID.iter() {
        let inner = value.as_table();
        if with_tables || inner.is_none() {
            paths.push(name.clone());
        }
        let keys = inner.into_iter().flat_map(Table::keys);
        paths.extend(keys.map(|key| format!("{name}.{key}")));
    }
    paths
}

/// The value under a dotted key.
fn lookup<'a>(table: &'a Table, key: &str) -> Option<&'a Value> {
    match key.split_once('.') {
        None => table.get(key),
        Some((outer, inner)) => lookup(table.get(outer)?.as_table()?, inner),
    }
}

fn unknown(key: &str, origin: &str, known: &[String]) -> RecipeError {
    RecipeError::UnknownKey {
        key: shorten(key),
        origin: origin.into(),
        nearest: nearest(key, known.iter().map(String::as_str)),
    }
}

fn wrong_type(key: &str, found: &Value, origin: &str) -> RecipeError {
    RecipeError::WrongType {
        key: key.into(),
        origin: origin.into(),
        found: describe(found),
        expected: expected(key, found),
    }
}

/// The type that belongs under a key, in words.
fn expected(key: &str, found: &Value) -> String {
    match (lookup(&VALID, key), found) {
        // A whole number that is refused all the same is a negative one.
        (Some(Value::Integer(_)), Value::Integer(_)) => "a whole number of 0 or more".into(),
        (Some(Value::Integer(_)), _) => "a whole number".into(),
        (Some(Value::Float(_)), _) => "a number".into(),
        (Some(Value::Boolean(_)), _) => "true or false".into(),
        (Some(default @ Value::Array(_)), _) => format!("a list such as {default}"),
        (Some(Value::Table(_)), _) => format!("a table that begins with [{key}]"),
        _ => choices(key).unwrap_or_else(|| "a string in quotes".into()),
    }
}

/// The words that an enum accepts under a key, or `None` where any text is welcome. Only serde
/// knows them: it is asked with a word that is none of them, and lists them in its refusal.
fn choices(key: &str) -> Option<String> {
    let mut probe = VALID.clone();
    let question = Override {
        text: String::new(),
        key: key.into(),
        value: Value::String("?".into()),
    };
    question.apply(&mut probe);
    let refusal = probe.try_into::<Recipe>().err()?;
    let (_, choices) = refusal.message().split_once("expected ")?;
    Some(choices.into())
}
