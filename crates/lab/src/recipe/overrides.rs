//! Overrides: values that are set on top of a recipe, each `KEY=VALUE`.

use toml::{Table, Value};

use super::error::{RecipeError, shorten};
use super::keys::{self, Kinds};
use super::names;

/// One `KEY=VALUE`, resolved.
pub(super) struct Override {
    text: String,
    /// The full key.
    pub(super) key: String,
    value: Value,
}

impl Override {
    /// Reads some of them, for a recipe of these kinds.
    pub(super) fn parse_all(texts: &[String], kinds: Kinds<'_>) -> Result<Vec<Self>, RecipeError> {
        let all = texts.iter().map(|text| Self::parse(text, kinds));
        all.collect()
    }

    /// Splits the text and finds the key that is meant.
    fn parse(text: &str, kinds: Kinds<'_>) -> Result<Self, RecipeError> {
        let bad = || RecipeError::BadOverride {
            text: shorten(text),
        };
        let (name, value) = text.split_once('=').ok_or_else(bad)?;
        let (name, value) = (name.trim(), value.trim());
        if name.is_empty() {
            return Err(bad());
        }
        let key = names::resolve(name, &origin(text), kinds)?;
        if key == "changed" {
            return Err(RecipeError::Written {
                key,
                origin: origin(text),
            });
        }
        let wants_text = matches!(keys::sample(&key), Some(Value::String(_)));
        let takes_list = key == "learner.rule";
        let value = match value.parse::<Value>() {
            // `game=2048` and `tuples=456789` are numbers to TOML, but names to us.
            Ok(parsed) if !wants_text || parsed.is_str() => parsed,
            Ok(parsed) if takes_list && parsed.is_array() => parsed,
            _ => Value::String(value.into()),
        };
        Ok(Self {
            text: text.into(),
            key,
            value,
        })
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
    pub(super) fn origin(&self) -> String {
        origin(&self.text)
    }
}

fn origin(text: &str) -> String {
    format!("the override `{}`", shorten(text))
}

/// Where the values of a table come from: a file, or an override.
pub(super) struct Origins<'a> {
    pub(super) file: &'a str,
    pub(super) overrides: &'a [Override],
}

impl Origins<'_> {
    /// The last override of a key, if there is one.
    pub(super) fn by_override(&self, key: &str) -> Option<&Override> {
        self.overrides.iter().rev().find(|change| change.key == key)
    }

    /// What errors call the place of a key's value.
    pub(super) fn of(&self, key: &str) -> String {
        let change = self.by_override(key);
        change.map_or_else(|| self.file.to_owned(), Override::origin)
    }
}
