//! The flat metadata of our files, read key by key with errors that name the key.
//!
//! Metadata of earlier formats is converted first: [`of_today`] renames its keys before any other
//! code sees them.

use std::path::Path;

use afterstate::format::native::{Metadata, NativeError};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::LabError;
use crate::migrate::{self, Format};
use crate::recipe::Recipe;

/// The key of the format, which all our files have.
pub(crate) const FORMAT: &str = "afterstate";
/// The recipe that a network was trained with, as TOML.
pub(crate) const RECIPE: &str = "recipe";
/// A key that only solutions have.
pub(crate) const SOLUTION: &str = "solution";
/// Keys of models of deep networks.
pub(crate) const OUTPUTS: &str = "outputs";
pub(crate) const ILLEGAL: &str = "illegal";
/// A key that models and checkpoints have, but solutions do not.
pub(crate) const TUPLES: &str = "tuples";
/// The redundant tuples of a checkpoint, which its model has not.
pub(crate) const REDUNDANT: &str = "redundant";
/// The number of stages, of models that have several; where they begin; and whether weights of a
/// stage start from those of the stage before.
pub(crate) const STAGES: &str = "stages";
pub(crate) const THRESHOLDS: &str = "thresholds";
pub(crate) const PROMOTION: &str = "promotion";

/// Converts metadata of any format to the current one. An unknown format is returned unchanged, and
/// [`Fields::check_format`] refuses it.
pub(crate) fn of_today(metadata: &Metadata) -> Metadata {
    let is_first = metadata.get(FORMAT).map(String::as_str) == Some(&Format::One.to_string());
    let recipe = metadata.get(RECIPE).map_or("", String::as_str);
    let outputs = metadata.get(OUTPUTS).map_or("", String::as_str);
    let entry = |(key, value): (&String, &String)| {
        let key = match is_first {
            true => migrate::metadata_key(key).to_owned(),
            false => key.clone(),
        };
        let value = match key.as_str() {
            ILLEGAL => migrate::illegal(value, outputs, recipe).to_owned(),
            FORMAT | SOLUTION if is_first => Format::NOW.to_string(),
            // A damaged recipe is kept: playing does not need it.
            RECIPE if is_first => match Recipe::parse_stored(value, RECIPE, &[]) {
                Ok(stored) => stored.content.to_toml(),
                Err(_) => value.clone(),
            },
            _ => value.clone(),
        };
        (key, value)
    };
    metadata.iter().map(entry).collect()
}

/// The metadata of a file.
pub(crate) struct Fields<'a> {
    metadata: &'a Metadata,
    path: &'a Path,
    /// The error for a file without a key.
    foreign: fn(&Path, NativeError) -> LabError,
}

impl<'a> Fields<'a> {
    pub(crate) fn new(
        metadata: &'a Metadata,
        path: &'a Path,
        foreign: fn(&Path, NativeError) -> LabError,
    ) -> Self {
        Self {
            metadata,
            path,
            foreign,
        }
    }

    /// Refuses a file of an unknown format, which is under `key`.
    ///
    /// # Errors
    /// When the key is missing, or the format is unknown.
    pub(crate) fn check_format(&self, key: &'static str) -> Result<(), LabError> {
        let expected = format!(
            "{} or {} (a newer format needs a newer program)",
            Format::One,
            Format::NOW
        );
        self.get(key, &expected, |text| Format::parse(text).map(drop))
    }

    /// Whether the metadata has a key.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.metadata.contains_key(key)
    }

    /// The recipe, if there is a valid one.
    pub(crate) fn recipe(&self) -> Option<Recipe> {
        let text = self.metadata.get(RECIPE)?;
        let stored = Recipe::parse_stored(text, RECIPE, &[]).ok()?;
        Some(stored.content)
    }

    /// The value of a key.
    ///
    /// # Errors
    /// When it is missing, or its value is invalid.
    pub(crate) fn get<T>(
        &self,
        key: &'static str,
        expected: &str,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Result<T, LabError> {
        let missing = || (self.foreign)(self.path, NativeError::Foreign(key));
        let found = self.metadata.get(key).ok_or_else(missing)?;
        parse(found).ok_or_else(|| LabError::Metadata {
            path: self.path.to_owned(),
            key,
            found: found.chars().take(80).collect(),
            expected: expected.to_owned(),
        })
    }
}

/// The serialised name of a variant, which files and recipes use.
pub(crate) fn word(variant: &impl Serialize) -> String {
    match serde_json::to_value(variant) {
        Ok(serde_json::Value::String(word)) => word,
        _ => String::new(),
    }
}

pub(crate) fn from_word<T: DeserializeOwned>(word: &str) -> Option<T> {
    serde_json::from_value(serde_json::Value::String(word.to_owned())).ok()
}
