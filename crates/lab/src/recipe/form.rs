//! The keys of a recipe as a form: each with its type, its choices, its value and its description.
//!
//! The keys are those of the recipe as TOML, their types those of the values, and the descriptions
//! those of docs/recipes.md, so there is no second list of keys.

use serde::{Deserialize, Serialize};
use toml::Value;

use super::keys::{self, KIND, SECTIONS, table};
use super::{Recipe, RecipeError};

/// The page that describes all keys.
const PAGE: &str = include_str!("../../../../docs/recipes.md");
/// Keys that describe a recipe and change nothing of its training.
const DESCRIPTIONS: [&str; 5] = ["name", "purpose", "result", "time", "changed"];

/// The type of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum KeyType {
    /// A whole number from 0.
    Whole,
    /// A number.
    Number,
    /// `true` or `false`.
    Switch,
    /// One of some words.
    Choice,
    /// Any text.
    Text,
    /// A list, as TOML.
    List,
}

/// A key of a recipe, for a form.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyForm {
    /// The dotted key, as overrides take it.
    pub key: String,
    /// Its type.
    #[serde(rename = "type")]
    pub key_type: KeyType,
    /// Its value, as overrides take it.
    pub value: String,
    /// The words of a choice.
    pub choices: Vec<String>,
    /// What it means.
    pub help: String,
}

impl Recipe {
    /// All keys that training reads, with their values.
    pub fn form(&self) -> Vec<KeyForm> {
        let all = table(self);
        let mut form = Vec::new();
        for (key, value) in &all {
            if !value.is_table() && !DESCRIPTIONS.contains(&key.as_str()) {
                form.push(key_form(key, None, value));
            }
        }
        if !all.contains_key("from") {
            form.push(key_form("from", None, &Value::String(String::new())));
        }
        for section in SECTIONS {
            let Some(Value::Table(keys)) = all.get(section) else {
                continue;
            };
            let kind = keys.get(KIND).and_then(Value::as_str);
            form.extend(keys.iter().map(|(key, value)| {
                let dotted = format!("{section}.{key}");
                key_form(&dotted, kind, value)
            }));
        }
        form
    }

    /// A built-in recipe with overrides. Its name is never taken for a path.
    ///
    /// # Errors
    /// When there is no such recipe, or an override is refused.
    pub fn load_builtin(name: &str, overrides: &[String]) -> Result<Self, RecipeError> {
        match super::is_path(name) {
            true => Err(super::unknown_recipe(name)),
            false => Self::load(name, overrides),
        }
    }
}

fn key_form(key: &str, kind: Option<&str>, value: &Value) -> KeyForm {
    let words = keys::words(key, kind).filter(|_| value.is_str());
    let choices = words.map_or_else(Vec::new, |words| quoted(&words));
    let key_type = match value {
        _ if !choices.is_empty() => KeyType::Choice,
        Value::Integer(_) => KeyType::Whole,
        Value::Float(_) => KeyType::Number,
        Value::Boolean(_) => KeyType::Switch,
        Value::Array(_) => KeyType::List,
        _ => KeyType::Text,
    };
    KeyForm {
        key: key.to_owned(),
        key_type,
        value: match value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        },
        choices,
        help: help(key, kind).unwrap_or_default(),
    }
}

/// The words in backticks of a text.
fn quoted(text: &str) -> Vec<String> {
    let words = text.split('`').skip(1).step_by(2);
    words
        .map(|word| word.trim_matches('"').to_owned())
        .collect()
}

/// The description of a key on the page: from the rows of tables, the one under a sentence that names
/// its kind, or under one that names no kind.
fn help(key: &str, kind: Option<&str>) -> Option<String> {
    let (section, name) = match key.split_once('.') {
        Some((section, name)) => (Some(section), name),
        None => (None, key),
    };
    let (mut here, mut kinds) = (None, "");
    let mut found: Option<String> = None;
    for line in PAGE.lines() {
        if let Some(title) = line.strip_prefix("### ") {
            here = title
                .strip_prefix("`[")
                .and_then(|it| it.strip_suffix("]`"));
            kinds = "";
        } else if line.starts_with("## ") {
            here = None;
        } else if line.starts_with("Keys of ") {
            kinds = line;
        }
        let columns: Vec<&str> = line.split('|').map(str::trim).collect();
        // Of a row, the first and the last column are empty.
        let [_, first, _, _, text, _] = columns[..] else {
            continue;
        };
        let row = first.strip_prefix('`').and_then(|it| it.split_once('`'));
        if here != section || row.map(|(row, _)| row) != Some(name) {
            continue;
        }
        let names_kind = kind.is_some_and(|kind| kinds.contains(&format!("\"{kind}\"")));
        if names_kind || found.is_none() {
            found = Some(plain(text));
        }
    }
    found
}

/// A text without the marks of Markdown.
fn plain(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    // Of a link, the words remain.
    while let Some((before, link)) = rest.split_once('[') {
        plain += before;
        match link.split_once("](") {
            Some((words, target)) => {
                plain += words;
                rest = target.split_once(')').map_or("", |(_, after)| after);
            }
            None => {
                plain += "[";
                rest = link;
            }
        }
    }
    (plain + rest).replace('`', "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_of_every_recipe_has_its_description() {
        for (name, _) in Recipe::builtin() {
            let form = Recipe::load(name, &[]).unwrap().form();
            for key in &form {
                let is_kind = key.key.ends_with(".kind");
                assert!(is_kind || key.help.len() > 10, "{name}: {key:?}");
                assert!(
                    !key.help.contains('`') && !key.help.contains("]("),
                    "{key:?}"
                );
                let is_choice = key.key_type == KeyType::Choice;
                assert!(!is_choice || key.choices.contains(&key.value), "{key:?}");
            }
        }
    }

    #[test]
    fn a_form_is_a_list_of_overrides() {
        for name in ["quick", "state-6", "ntuple-replay", "dqn"] {
            let recipe = Recipe::load(name, &[]).unwrap();
            let form = recipe.form();
            let overrides = form.iter().filter(|key| !key.value.is_empty());
            let overrides = overrides.map(|key| format!("{}={}", key.key, key.value));
            let again = Recipe::load(name, &overrides.collect::<Vec<_>>()).unwrap();
            assert_eq!(again, recipe, "{name}");
        }
    }

    #[test]
    fn types_and_choices_are_those_of_the_keys() {
        let form = Recipe::load("quick", &[]).unwrap().form();
        let of = |name: &str| form.iter().find(|key| key.key == name).unwrap();
        assert_eq!(of("episodes").key_type, KeyType::Whole);
        assert_eq!(of("learner.value").choices, ["afterstate", "state"]);
        assert_eq!(of("network.symmetry").key_type, KeyType::Switch);
        assert!(of("learner.lambda").help.contains("lambda of TD(lambda)"));
        for name in ["./quick.toml", "../x", "/etc/passwd", "nosuch"] {
            assert!(Recipe::load_builtin(name, &[]).is_err());
        }
    }
}
