//! Files of earlier formats, and the one table of names for reading them.
//!
//! Format 1 is that of version 0.1. Its recipes had every key of every kind of learner, and many
//! keys had other names. Format 2 has the current names. Run folders, models, checkpoints and
//! solutions of format 1 are read through the tables below and written as format 2. A recipe that a
//! user writes with old keys is refused, and the same tables name the new key.
//!
//! A checkpoint of format 1 has its replay buffer as JSON under the metadata key `replay`.

mod dropout;

use std::borrow::Cow;
use std::fmt;

use serde_json::Value as Json;
use toml::{Table, Value};

pub(crate) use dropout::{illegal, split_dropout};

/// A version of the files that Afterstate writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Format {
    /// The format of version 0.1.
    One,
    /// The current format.
    Two,
}

impl Format {
    /// The format that is written.
    pub const NOW: Format = Format::Two;

    /// The format with this number, as in the metadata key `afterstate`.
    pub(crate) fn parse(text: &str) -> Option<Format> {
        [Format::One, Format::Two]
            .into_iter()
            .find(|format| format.to_string() == text)
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Format::One => "1",
            Format::Two => "2",
        })
    }
}

/// The content of a file, and its format.
#[derive(Clone, Debug, PartialEq)]
pub struct Migrated<T> {
    /// Converted to the current format.
    pub content: T,
    /// The format of the file.
    pub format: Format,
}

impl<T> Migrated<T> {
    /// Whether the file was of an earlier format.
    pub fn is_migrated(&self) -> bool {
        self.format < Format::NOW
    }
}

/// Keys of recipes: in format 1, and now. The last two were in format 2 as well, see
/// [`split_dropout`].
#[rustfmt::skip]
const KEYS: &[(&str, &str)] = &[
    ("figure", "result"),
    ("block", "block_games"),
    ("network.initial", "network.initial_value"),
    ("learner.rate", "learner.learning_rate"),
    ("replay.games", "learner.num_envs"),
    ("replay.memory", "learner.buffer_size"),
    ("replay.overwrite", "learner.overwrite"),
    ("replay.steps", "learner.n_step"),
    ("replay.batches", "learner.updates_per_step"),
    ("replay.batch", "learner.batch_size"),
    ("replay.epsilon", "learner.epsilon"),
    ("replay.epsilon_iterations", "learner.epsilon_iterations"),
    ("replay.updates", "learner.max_updates"),
    ("deep.initial_weights", "network.initial_weights"),
    ("deep.illegal", "learner.illegal"),
    ("deep.mask", "learner.mask_targets"),
    ("deep.discount", "learner.discount"),
    ("deep.reward_scale", "learner.reward_scale"),
    ("deep.rewards", "learner.rewards"),
    ("deep.optimiser", "learner.optimiser"),
    ("deep.weight_decay", "learner.weight_decay"),
    ("deep.follow", "learner.target_update"),
    ("deep.follow_iterations", "learner.target_update_iterations"),
    ("deep.tau", "learner.tau"),
    ("deep.plays", "learner.acting_network"),
    ("deep.double", "learner.double"),
    ("deep.dropout", "network.dropout_hidden"),
    ("deep.dropout_place", "network.dropout_convolutions"),
    ("deep.turn", "learner.augment"),
    ("network.dropout", "network.dropout_hidden"),
    ("network.dropout_place", "network.dropout_convolutions"),
];

/// Values of keys, by the current name of the key: in format 1, and now.
const WORDS: &[(&str, &str, &str)] = &[
    ("network.kind", "tuples", "n-tuple"),
    ("learner.acting_network", "learner", "online"),
    ("learner.acting_network", "follower", "target"),
];

/// Tables of recipes that only format 1 had.
const TABLES: [&str; 2] = ["replay", "deep"];

/// The key of a step of a learning rate.
const STEP: (&str, &str) = ("rate", "learning_rate");

/// Keys of the metadata of models and checkpoints.
const METADATA: &[(&str, &str)] = &[("scale", "reward_scale")];

/// Keys of the `result.json` of a run of a sweep.
const RESULT: &[(&str, &str)] = &[("broken", "diverged"), ("rate", "learning_rate")];

/// Keys of the progress in a checkpoint, and of its statistics of a replay buffer.
const PROGRESS: &[(&str, &str)] = &[
    ("studied", "replay"),
    ("all", "total"),
    ("average", "running_average"),
];

/// Prefixes of the tensors of a deep network in a checkpoint.
#[cfg(any(feature = "deep", test))]
const PREFIXES: &[(&str, &str)] = &[("follower.", "target."), ("learner.", "online.")];

/// Columns of `blocks.csv`.
const BLOCK_COLUMNS: &[(&str, &str)] = &[
    ("rate", "learning_rate"),
    ("q", "value"),
    ("average", "running_average"),
];

/// The prefix of the columns of `blocks.csv` that count games by their largest tile.
pub(crate) const ENDED: (&str, &str) = ("ended_at_", "ended_");

/// Columns of `gaps.csv`.
const GAP_COLUMNS: &[(&str, &str)] = &[("images", "symmetries")];

/// The name that a column of `blocks.csv` had in format 1. A name of format 1 stays as it is, also
/// `ended_at_TILE`, which begins like those of today.
pub(crate) fn former_block_column(new: &str) -> Cow<'_, str> {
    let found = BLOCK_COLUMNS.iter().find(|(_, known)| *known == new);
    let tile = new.strip_prefix(ENDED.1);
    match (found, tile) {
        (Some((old, _)), _) => Cow::Borrowed(*old),
        (None, Some(tile)) if !new.starts_with(ENDED.0) => Cow::Owned(format!("{}{tile}", ENDED.0)),
        (None, _) => Cow::Borrowed(new),
    }
}

/// The current name of a dotted key of format 1.
pub(crate) fn key(old: &str) -> Option<&'static str> {
    let found = KEYS.iter().find(|(known, _)| *known == old);
    found.map(|(_, new)| *new)
}

/// The same for a key without its table.
pub(crate) fn key_by_last_part(old: &str) -> Option<&'static str> {
    let found = KEYS.iter().find(|(known, _)| {
        let last = known.rsplit('.').next();
        last == Some(old)
    });
    found.map(|(_, new)| *new)
}

/// The current value for a value of format 1 that a key no longer has.
pub(crate) fn word(key: &str, old: &str) -> Option<String> {
    if (key, old) == ("learner.update", "replay") {
        return Some("`learner.kind` = \"replay\", or \"dqn\" for deep networks".into());
    }
    let found = WORDS
        .iter()
        .find(|(known, word, _)| (*known, *word) == (key, old));
    found.map(|(.., new)| format!("\"{new}\""))
}

/// Whether recipes of format 1 had a table of this name that no longer exists.
pub(crate) fn is_old_table(name: &str) -> bool {
    TABLES.contains(&name)
}

/// The format of a run's recipe. It has every key, so that one of the renamed keys is enough to
/// detect it.
pub(crate) fn format_of(recipe: &Table) -> Format {
    let old = ["block", "figure"].iter().chain(&TABLES);
    match old.into_iter().any(|key| recipe.contains_key(*key)) {
        true => Format::One,
        false => Format::Two,
    }
}

/// Converts a run's recipe from format 1 to the current names.
///
/// Format 1 wrote every key, even those without effect. This function removes whole tables; the
/// caller, which knows the keys of each kind, removes the rest.
pub(crate) fn recipe(mut old: Table) -> Table {
    let text = |table: &Table, section: &str, key: &str| {
        let inner = table.get(section).and_then(Value::as_table);
        let value = inner.and_then(|inner| inner.get(key));
        value.and_then(Value::as_str).map(str::to_owned)
    };
    let is_deep = text(&old, "network", "kind").as_deref() == Some("deep");
    let is_replay = text(&old, "learner", "update").as_deref() == Some("replay");
    if !is_deep {
        old.remove("deep");
    }
    if !is_replay {
        old.remove("replay");
    }
    let kind = match (is_deep, is_replay) {
        (true, _) => "dqn",
        (false, true) => "replay",
        (false, false) => "td",
    };
    let is_action = text(&old, "learner", "value").as_deref() == Some("action");
    let mut new = Table::new();
    for (name, value) in old {
        match value {
            Value::Table(inner) => {
                for (key, value) in inner {
                    insert(&mut new, &format!("{name}.{key}"), value);
                }
            }
            value => insert(&mut new, &name, value),
        }
    }
    insert(&mut new, "learner.kind", Value::String(kind.into()));
    if is_deep && !is_action {
        insert(&mut new, "network.outputs", Value::Integer(1));
    }
    forget_inert(&mut new, "learner", "epsilon", "epsilon_iterations");
    new
}

/// Sets the value of a key of format 1 under its current name.
fn insert(table: &mut Table, old: &str, mut value: Value) {
    let new = key(old).unwrap_or(old);
    if let Value::String(word) = &mut value
        && let Some((.., now)) = WORDS
            .iter()
            .find(|(key, old, _)| *key == new && *old == word)
    {
        *word = (*now).to_owned();
    }
    if let Value::Array(steps) = &mut value {
        for step in steps.iter_mut().filter_map(Value::as_table_mut) {
            if let Some(rate) = step.remove(STEP.0) {
                step.insert(STEP.1.into(), rate);
            }
        }
    }
    match new.split_once('.') {
        None => {
            table.insert(new.into(), value);
        }
        Some((outer, inner)) => {
            let entry = table.entry(outer);
            let entry = entry.or_insert_with(|| Value::Table(Table::new()));
            if let Value::Table(table) = entry {
                table.insert(inner.into(), value);
            }
        }
    }
}

/// Removes a key that has no effect because another is 0.
fn forget_inert(table: &mut Table, section: &str, number: &str, key: &str) {
    if let Some(Value::Table(inner)) = table.get_mut(section)
        && inner.get(number).and_then(Value::as_float) == Some(0.0)
    {
        inner.remove(key);
    }
}

/// The current name of a metadata key of format 1.
pub(crate) fn metadata_key(old: &str) -> &str {
    renamed(METADATA, old)
}

/// The current name of a column of `blocks.csv`.
pub(crate) fn block_column(old: &str) -> Cow<'_, str> {
    match old.strip_prefix(ENDED.0) {
        Some(tile) => Cow::Owned(format!("{}{tile}", ENDED.1)),
        None => Cow::Borrowed(renamed(BLOCK_COLUMNS, old)),
    }
}

/// The current name of a column of `gaps.csv`.
pub(crate) fn gap_column(old: &str) -> &str {
    renamed(GAP_COLUMNS, old)
}

fn renamed<'a>(table: &[(&str, &'static str)], old: &'a str) -> &'a str {
    let found = table.iter().find(|(known, _)| *known == old);
    found.map_or(old, |(_, new)| new)
}

/// The prefix that tensors of this prefix had in format 1.
#[cfg(any(feature = "deep", test))]
pub(crate) fn former_prefix(new: &str) -> &str {
    let found = PREFIXES.iter().find(|(_, known)| *known == new);
    found.map_or(new, |(old, _)| old)
}

/// Converts the `result.json` of a run of a sweep to the current names. The fields of an evaluation
/// have not been renamed.
pub(crate) fn result(old: Json) -> Json {
    rename_fields(old, RESULT, "diverged")
}

/// Converts the progress in a checkpoint to the current names.
pub(crate) fn progress(old: Json) -> Json {
    rename_fields(old, PROGRESS, "replay")
}

/// Renames the fields of an object, and of the object in its field `inner`.
fn rename_fields(old: Json, table: &[(&str, &'static str)], inner: &str) -> Json {
    let Json::Object(old) = old else {
        return old;
    };
    let entries = old.into_iter().map(|(key, value)| {
        let key = renamed(table, &key).to_owned();
        let value = match key == inner {
            true => rename_fields(value, table, inner),
            false => value,
        };
        (key, value)
    });
    Json::Object(entries.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_of_today_is_an_old_one() {
        for (old, new) in KEYS {
            assert_ne!(old, new);
            assert_eq!(key(new), None, "{new}");
        }
    }

    #[test]
    fn formats_are_numbers() {
        for format in [Format::One, Format::Two] {
            assert_eq!(Format::parse(&format.to_string()), Some(format));
        }
        assert_eq!(Format::parse("3"), None);
        assert!(Format::One < Format::NOW);
    }

    #[test]
    fn what_had_no_effect_is_left_out() {
        let old: Table = "block = 5\n[network]\nkind = 'tuples'\ninitial = 1.0\n\
                          [learner]\nupdate = 'backward'\nrate = [{ from = 0, rate = 0.1 }]\n\
                          [replay]\nepsilon = 0.5\n[deep]\ndiscount = 0.99"
            .parse()
            .unwrap();
        assert_eq!(format_of(&old), Format::One);
        let new: Table = "block_games = 5\n[network]\nkind = 'n-tuple'\ninitial_value = 1.0\n\
                          [learner]\nkind = 'td'\nupdate = 'backward'\n\
                          learning_rate = [{ from = 0, learning_rate = 0.1 }]"
            .parse()
            .unwrap();
        assert_eq!(format_of(&new), Format::Two);
        assert_eq!(recipe(old), new);
    }

    #[test]
    fn columns_have_one_name_in_each_format() {
        let (old, new) = (
            ["rate", "q", "ended_at_2"],
            ["learning_rate", "value", "ended_2"],
        );
        for (old, new) in old.into_iter().zip(new) {
            for name in [old, new] {
                assert_eq!(former_block_column(name), old);
                assert_eq!(block_column(name), new);
            }
        }
    }

    #[test]
    fn the_progress_of_a_checkpoint_is_read() {
        let old = serde_json::json!({ "games": 3, "studied": { "all": {}, "block": {}, "average": 0.5 } });
        let new = serde_json::json!({ "games": 3, "replay": { "total": {}, "block": {}, "running_average": 0.5 } });
        assert_eq!(progress(old), new);
        assert_eq!(progress(new.clone()), new);
        assert_eq!(former_prefix("target."), "follower.");
    }

    #[test]
    fn a_diverged_run_of_a_sweep_is_read() {
        let old = serde_json::json!({ "broken": { "games": 7, "rate": 0.5 } });
        let new = serde_json::json!({ "diverged": { "games": 7, "learning_rate": 0.5 } });
        assert_eq!(result(old), new);
        assert_eq!(result(new.clone()), new);
    }
}
