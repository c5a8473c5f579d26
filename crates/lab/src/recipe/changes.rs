//! What overrides changed in a recipe, which of its claims they invalidate, and what may still
//! change when a run is resumed. These are the only lists of such keys.
//!
//! A recipe claims a purpose, a result and a time. Keys that change what is learned invalidate
//! these claims and are listed in `changed`, so that a run with overrides never looks like the
//! original.

use std::collections::BTreeMap;

use afterstate::learn::schedule::{MAX_STEPS, Schedule};
use toml::{Table, Value};

use super::error::{RecipeError, shorten, shorten_to};
use super::overrides::Override;
use super::{Recipe, keys};

/// Descriptive keys, which do not affect training.
const WORDS: [&str; 4] = ["purpose", "result", "time", "changed"];

/// Keys that change nothing about what is learned, or nothing that a result claims:
///
/// - `name`, and the words above;
/// - `checkpoint_seconds`, `scores`, `tensorboard`, `block_games` and `learner.log_iterations`
///   decide what is written, and how often;
/// - `threads`: results hold for any number of threads, up to the noise of lost updates, and times
///   name their number of threads in words;
/// - `seed`: a result is a statement about the recipe, of which each seed is one sample.
///
/// `episodes`, `learner.max_iterations` and `learner.max_updates` are not among them: a result
/// holds after a given number of games, iterations or updates.
const UNCLAIMED: [&str; 8] = [
    "name",
    "checkpoint_seconds",
    "scores",
    "tensorboard",
    "block_games",
    "learner.log_iterations",
    "threads",
    "seed",
];

/// Keys that may change when a run is resumed: those that do not affect the games already played.
pub(super) const ON_RESUME: [&str; 11] = [
    "episodes",
    "threads",
    "block_games",
    "checkpoint_seconds",
    "tensorboard",
    LEARNING_RATE,
    RESTART_LENGTH,
    RESTART_FROM,
    "learner.max_iterations",
    "learner.max_updates",
    "learner.log_iterations",
];

/// From the game at which a run is resumed, it may have another rate; the games before keep theirs.
const LEARNING_RATE: &str = "learner.learning_rate";

/// Games from a later one on may be played again.
const RESTART_LENGTH: &str = "learner.restart_length";
const RESTART_FROM: &str = "learner.restart_from";

/// Keys in which two recipes of one run may differ: descriptions, and when it is saved.
const SAME_TRAINING: [&str; 2] = ["checkpoint_seconds", "tensorboard"];

/// Changes that a title shows.
const SHOWN: usize = 4;

/// A key under which two recipes differ, with both values as TOML.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecipeDifference {
    /// The key, with its table.
    pub key: String,
    /// The values of the two; "nothing" if one has no such key.
    pub values: [String; 2],
}

impl Recipe {
    /// Its name, with what overrides changed: `td-4x6 (learning_rate=0.5)`.
    pub fn title(&self) -> String {
        if self.changed.is_empty() {
            return self.name.clone();
        }
        let brief = |change: &String| {
            let (key, value) = change.split_once('=').unwrap_or((change, ""));
            // `kind` alone would be ambiguous.
            let key = match key.rsplit_once('.') {
                Some((_, last)) if last != keys::KIND => last,
                _ => key,
            };
            let value = brief_schedule(value).unwrap_or_else(|| shorten_to(value, 40));
            format!("{}={value}", shorten_to(key, 40))
        };
        let mut shown: Vec<String> = self.changed.iter().take(SHOWN).map(brief).collect();
        match self.changed.len().saturating_sub(SHOWN) {
            0 => {}
            more => shown.push(format!("{more} more")),
        }
        format!("{} ({})", self.name, shown.join(", "))
    }

    /// Whether a run trained with `past` for some games can continue with this recipe.
    ///
    /// # Errors
    /// With the first key that differs and may not.
    pub fn continues(&self, past: &Recipe, games: u64) -> Result<(), RecipeDifference> {
        if let Some(found) = difference(past, self, &ON_RESUME) {
            return Err(found);
        }
        let [before, now] = [past, self].map(|recipe| recipe.learner.learning_rate());
        if !before.agrees_before(now, games) {
            return Err(RecipeDifference {
                key: LEARNING_RATE.to_owned(),
                values: [past, self].map(|recipe| shorten(&rate_of(recipe))),
            });
        }
        let [before, now] = [past, self].map(|recipe| recipe.learner.restarts_before(games));
        if before == now {
            return Ok(());
        }
        let length = value_of(past, RESTART_LENGTH) != value_of(self, RESTART_LENGTH);
        let key = if length { RESTART_LENGTH } else { RESTART_FROM };
        Err(RecipeDifference {
            key: key.to_owned(),
            values: [past, self].map(|recipe| shorten(&value_of(recipe, key))),
        })
    }

    /// The games before `games` keep the learning rates of `past`, and are not played again if none
    /// of them was: what this recipe has holds from there on.
    ///
    /// # Errors
    /// When the schedule would have too many steps.
    pub fn keep_before(&mut self, games: u64, past: &Recipe) -> Result<(), RecipeError> {
        let [before, now] = [past, &*self].map(|recipe| recipe.learner.restarts_before(games));
        if before.is_none() && now.is_some() {
            self.learner.set_restart_from(games);
            let from = value_of(self, RESTART_FROM);
            apply(self, vec![(RESTART_FROM.to_owned(), from)], |_| false);
        }
        self.keep_rates_before(games, past)
    }

    fn keep_rates_before(&mut self, games: u64, past: &Recipe) -> Result<(), RecipeError> {
        let (before, now) = (past.learner.learning_rate(), self.learner.learning_rate());
        if before == now {
            return Ok(());
        }
        let changed = before.changed_at(games, now);
        let changed = changed.map_err(|_| RecipeError::BadValue {
            key: LEARNING_RATE,
            found: shorten(&rate_of(self)),
            expected: format!("at most {MAX_STEPS} steps together with those of the run so far"),
        })?;
        self.learner.set_learning_rate(changed);
        let rate = rate_of(self);
        apply(self, vec![(LEARNING_RATE.to_owned(), rate)], |_| false);
        Ok(())
    }

    /// Whether both define the same training: with one thread, they give the same model.
    ///
    /// # Errors
    /// With the first key that makes a difference.
    pub fn same_training(&self, other: &Recipe) -> Result<(), RecipeDifference> {
        difference(self, other, &SAME_TRAINING).map_or(Ok(()), Err)
    }
}

/// The learning rate as TOML.
fn rate_of(recipe: &Recipe) -> String {
    value_of(recipe, LEARNING_RATE)
}

/// The value of a key as TOML.
fn value_of(recipe: &Recipe, key: &str) -> String {
    let value = flat(recipe).remove(key);
    value.map_or_else(String::new, |value| shown(&value))
}

/// The first key, except for descriptions and some others, in which two recipes differ.
fn difference(a: &Recipe, b: &Recipe, but: &[&str]) -> Option<RecipeDifference> {
    let [a, b] = [a, b].map(flat);
    let mut all: Vec<&String> = a.keys().chain(b.keys()).collect();
    all.sort();
    all.dedup();
    let mut counted = all
        .into_iter()
        .filter(|key| !WORDS.contains(&key.as_str()) && !but.contains(&key.as_str()));
    counted.find_map(|key| {
        let values = [a.get(key), b.get(key)];
        let text = |value: Option<&Value>| value.map_or("nothing".into(), Value::to_string);
        (values[0] != values[1]).then(|| RecipeDifference {
            key: key.clone(),
            values: values.map(|value| shorten(&text(value))),
        })
    })
}

/// Every key with its value, dotted.
fn flat(recipe: &Recipe) -> BTreeMap<String, Value> {
    let mut all = BTreeMap::new();
    let table: Table = keys::table(recipe);
    for (name, value) in table {
        match value {
            Value::Table(inner) => {
                let inner = inner.into_iter();
                all.extend(inner.map(|(key, value)| (format!("{name}.{key}"), value)));
            }
            value => drop(all.insert(name, value)),
        }
    }
    all
}

/// Refuses overrides that would change the past of a run.
pub(super) fn check_resume(overrides: &[Override]) -> Result<(), RecipeError> {
    let allowed = |change: &&Override| ON_RESUME.contains(&change.key.as_str());
    match overrides.iter().find(|change| !allowed(change)) {
        None => Ok(()),
        Some(change) => Err(RecipeError::NotOnResume {
            key: change.key.clone(),
            origin: change.origin(),
            allowed: ON_RESUME.to_vec(),
        }),
    }
}

/// Records what overrides changed in a recipe, and removes its claims.
pub(super) fn note(
    recipe: &mut Recipe,
    base: Option<&Recipe>,
    overrides: &[Override],
    dropped: &[(String, Value)],
) {
    let (before, after) = (base.map(flat).unwrap_or_default(), flat(recipe));
    let mut changes = Vec::new();
    for Override { key, .. } in overrides {
        if let Some(value) = after.get(key)
            && before.get(key) != Some(value)
        {
            changes.push((key.clone(), shown(value)));
        }
    }
    for (key, value) in dropped {
        if keys::sample(key) != Some(value) {
            changes.push((key.clone(), "none".into()));
        }
    }
    let set = |word: &str| overrides.iter().any(|change| change.key == word);
    apply(recipe, changes, set);
}

/// Records the differences of a recipe of an earlier format to the built-in one of its name: that
/// format did not store what was changed.
pub(super) fn note_differences(recipe: &mut Recipe) {
    let Ok(original) = Recipe::load(&recipe.name, &[]) else {
        return;
    };
    let (before, after) = (flat(&original), flat(recipe));
    let all = before
        .keys()
        .chain(after.keys().filter(|key| !before.contains_key(*key)));
    let changes = all.filter(|key| before.get(*key) != after.get(*key));
    let changes = changes.map(|key| {
        let value = after.get(key).map_or("none".into(), shown);
        (key.clone(), value)
    });
    let changes = changes.collect();
    apply(recipe, changes, |_| false);
}

/// Adds changes; `set` returns whether a description was set explicitly.
fn apply(recipe: &mut Recipe, changes: Vec<(String, String)>, set: impl Fn(&str) -> bool) {
    let claimed = |key: &str| !WORDS.contains(&key) && !UNCLAIMED.contains(&key);
    let mut any = false;
    for (key, value) in changes.into_iter().filter(|(key, _)| claimed(key)) {
        let of_key = |change: &String| {
            let name = change.split_once('=').map(|(name, _)| name);
            name == Some(key.as_str())
        };
        recipe.changed.retain(|change| !of_key(change));
        recipe.changed.push(format!("{key}={value}"));
        any = true;
    }
    let words = [
        ("purpose", &mut recipe.purpose),
        ("result", &mut recipe.result),
        ("time", &mut recipe.time),
    ];
    for (word, text) in words {
        if any && !set(word) {
            text.clear();
        }
    }
}

/// A list of steps of the learning rate in a few words.
fn brief_schedule(value: &str) -> Option<String> {
    if !value.starts_with('[') {
        return None;
    }
    let steps: BTreeMap<String, Schedule> = toml::from_str(&format!("steps = {value}")).ok()?;
    steps.values().next().map(ToString::to_string)
}

/// A value as in an override: text without quotes.
fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
