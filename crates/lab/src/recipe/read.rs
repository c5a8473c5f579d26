//! From text to a recipe, by stations that each have their own kind of error:
//!
//! `text -> TOML table -> known keys -> overrides -> keys of this kind -> types -> values`

use toml::{Table, Value};

use super::error::RecipeError;
use super::keys::{self, KIND, KeySet, Kinds, SECTIONS, Section};
use super::learner::LearnerRecipe;
use super::network::NetworkRecipe;
use super::overrides::{Origins, Override};
use super::{MAX_BYTES, Recipe, changes};
use crate::migrate::{self, Format, Migrated};

/// Keys that have a default in Rust, but that no recipe may leave to it: they say what it is about.
pub(super) const REQUIRED: [&str; 3] = ["name", "game", "board"];
/// One more for n-tuple networks.
const TUPLES: &str = "network.tuples";

/// Reads what a user wrote.
pub(super) fn written(
    text: &str,
    origin: &str,
    overrides: &[String],
) -> Result<Recipe, RecipeError> {
    let table = parse(text, origin)?;
    keys::check_known(&table, origin)?;
    let overrides = Override::parse_all(overrides, Kinds::of(&table))?;
    build(table, origin, &overrides)
}

/// Reads what the program has stored, in any format, with overrides that a run may still take.
pub(super) fn stored(
    text: &str,
    origin: &str,
    overrides: &[String],
) -> Result<Migrated<Recipe>, RecipeError> {
    let mut table = parse(text, origin)?;
    let format = migrate::format_of(&table);
    migrate::split_dropout(&mut table);
    if format == Format::One {
        table = migrate::recipe(table);
        forget_other_kinds(&mut table);
    }
    keys::check_known(&table, origin)?;
    let overrides = Override::parse_all(overrides, Kinds::of(&table))?;
    changes::check_resume(&overrides)?;
    let mut content = build(table, origin, &overrides)?;
    if format == Format::One {
        changes::note_differences(&mut content);
    }
    Ok(Migrated { content, format })
}

fn parse(text: &str, origin: &str) -> Result<Table, RecipeError> {
    if text.len() > MAX_BYTES {
        return Err(RecipeError::too_large(origin));
    }
    text.parse()
        .map_err(|error| RecipeError::syntax(text, origin, &error))
}

fn build(table: Table, origin: &str, overrides: &[Override]) -> Result<Recipe, RecipeError> {
    let origins = Origins {
        file: origin,
        overrides,
    };
    let mut changed = table.clone();
    overrides
        .iter()
        .for_each(|change| change.apply(&mut changed));
    let dropped = fit(&mut changed, &table, &origins)?;
    let mut recipe = complete(changed, &origins)?;
    if !overrides.is_empty() {
        // A file may lack a key that only an override gives: then there is nothing to compare with.
        let alone = Origins {
            file: origin,
            overrides: &[],
        };
        let base = complete(table, &alone).ok();
        changes::note(&mut recipe, base.as_ref(), overrides, &dropped);
    }
    recipe.validate()?;
    // What is accepted is written to the run folder, and must be read again from there.
    match recipe.to_toml().len() > MAX_BYTES {
        true => Err(RecipeError::too_large(origin)),
        false => Ok(recipe),
    }
}

/// A section with the key set that a table selects.
type Selected = (&'static Section, &'static KeySet);

/// The key sets of both sections; `Err` with the key of a word that none has.
fn select(table: &Table) -> Result<[Selected; 2], String> {
    let none = Table::new();
    let mut default_kind = "n-tuple";
    let mut selected = Vec::new();
    for name in SECTIONS {
        let inner = table.get(name).and_then(Value::as_table).unwrap_or(&none);
        let Some(section) = keys::section(name) else {
            return Err(name.into());
        };
        let key_set = section.select(inner, default_kind);
        let key_set = key_set.map_err(|key| format!("{name}.{key}"))?;
        default_kind = keys::default_learner(key_set.kind());
        selected.push((section, key_set));
    }
    Ok([selected[0], selected[1]])
}

/// Refuses keys that the chosen kinds do not have. If an override made another choice inside a
/// kind, keys of the file that belong to the old choice are removed and returned; if it chose
/// another kind, they are an error.
fn fit(
    table: &mut Table,
    file: &Table,
    origins: &Origins<'_>,
) -> Result<Vec<(String, Value)>, RecipeError> {
    let selected = select(table).map_err(|key| wrong_choice(&key, table, origins))?;
    let before = select(file).ok();
    let mut dropped = Vec::new();
    for (place, (section, key_set)) in selected.into_iter().enumerate() {
        let Some(Value::Table(inner)) = table.get_mut(section.name) else {
            continue;
        };
        let was = before.map(|before| before[place].1);
        let foreign = inner.keys().filter(|key| !key_set.has(key));
        let foreign: Vec<String> = foreign.cloned().collect();
        let (mut stale, path) = (Vec::new(), |key: &str| format!("{}.{key}", section.name));
        for key in foreign {
            let key_path = path(&key);
            let of_the_file = origins.by_override(&key_path).is_none();
            match was {
                Some(was) if of_the_file && was.has(&key) => stale.push(key),
                _ => {
                    return Err(RecipeError::NotHere {
                        reason: section.why_not(key_set, &key),
                        origin: origins.of(&key_path),
                        key: key_path,
                    });
                }
            }
        }
        if was.is_some_and(|was| was.kind() != key_set.kind()) && !stale.is_empty() {
            return Err(RecipeError::Stale {
                key: path(KIND),
                kind: key_set.kind().into(),
                file: origins.file.into(),
                stale: stale.iter().map(|key| path(key)).collect(),
            });
        }
        for key in stale {
            dropped.extend(inner.remove(&key).map(|value| (path(&key), value)));
        }
    }
    Ok(dropped)
}

/// Removes keys that other kinds have. Only format 1 wrote them.
fn forget_other_kinds(table: &mut Table) {
    let Ok(selected) = select(table) else {
        return;
    };
    for (section, key_set) in selected {
        if let Some(Value::Table(inner)) = table.get_mut(section.name) {
            let elsewhere = |key: &str| keys::sample(&format!("{}.{key}", section.name)).is_some();
            inner.retain(|key, _| key_set.has(key) || !elsewhere(key));
        }
    }
}

fn wrong_choice(key: &str, table: &Table, origins: &Origins<'_>) -> RecipeError {
    let found = keys::lookup(table, key).cloned();
    let found = found.unwrap_or_else(|| Value::String(String::new()));
    let (section, _) = key.split_once('.').unwrap_or((key, ""));
    let kind = keys::lookup(table, &format!("{section}.{KIND}"));
    let kind = kind.and_then(Value::as_str);
    keys::wrong_type(key, kind, &found, &origins.of(key))
}

/// Checks each value, fills in what is left out, and makes a recipe.
fn complete(mut table: Table, origins: &Origins<'_>) -> Result<Recipe, RecipeError> {
    let selected = select(&table).map_err(|key| wrong_choice(&key, &table, origins))?;
    check_present(&table, &REQUIRED, origins.file)?;
    if selected[0].1.kind() == "n-tuple" {
        check_present(&table, &[TUPLES], origins.file)?;
    }
    for (name, value) in &mut table {
        let place = selected.iter().find(|(section, _)| section.name == name);
        match (place, value) {
            (Some((section, key_set)), Value::Table(inner)) => {
                for (key, value) in inner {
                    let path = format!("{name}.{key}");
                    keys::make_whole(&path, value);
                    let place = Some((*section, *key_set));
                    keys::check_value(place, key, value, &origins.of(&path))?;
                }
            }
            (_, value) => {
                keys::make_whole(name, value);
                keys::check_value(None, name, value, &origins.of(name))?;
            }
        }
    }
    let [network, learner] = selected.map(|(section, key_set)| {
        let inner = table.remove(section.name);
        let inner = inner.and_then(|inner| inner.try_into::<Table>().ok());
        filled(section, key_set, inner.unwrap_or_default())
    });
    let [network, learner] = with_outputs(network, learner);
    let wrong = |error: toml::de::Error| RecipeError::syntax("", origins.file, &error);
    Ok(Recipe {
        network: network.try_into::<NetworkRecipe>().map_err(wrong)?,
        learner: learner.try_into::<LearnerRecipe>().map_err(wrong)?,
        ..table.try_into::<Recipe>().map_err(wrong)?
    })
}

/// A section with its kind, its choices, and the defaults that depend on other keys.
fn filled(section: &Section, key_set: &KeySet, mut table: Table) -> Table {
    let choices = section.choices(key_set.kind());
    for key in choices.into_iter().chain([KIND]) {
        if let Some(default) = key_set.default_of(key) {
            table.entry(key).or_insert_with(|| default.clone());
        }
    }
    // TC's own steps begin at the whole error, so that its usual learning rate is ten times TD's.
    if let Some(rate) = table.get("rule").and_then(rate_of) {
        let entry = table.entry("learning_rate");
        entry.or_insert(rate);
    }
    table
}

/// The usual learning rate of a rule, or of each phase, where it is not the default.
fn rate_of(rule: &Value) -> Option<Value> {
    let usual = |rule: &Value| match rule.as_str() {
        Some("tc") => 1.0,
        _ => 0.1,
    };
    match rule {
        Value::Array(phases) => {
            let step = |phase: &Value| {
                let phase = phase.as_table()?;
                let mut step = Table::new();
                step.insert("from".into(), phase.get("from")?.clone());
                let rate = usual(phase.get("rule")?);
                step.insert("learning_rate".into(), Value::Float(rate));
                Some(Value::Table(step))
            };
            phases
                .iter()
                .map(step)
                .collect::<Option<_>>()
                .map(Value::Array)
        }
        rule => (usual(rule) == 1.0).then_some(Value::Float(1.0)),
    }
}

/// A deep network without `outputs` has those that its learner needs.
fn with_outputs(mut network: Table, learner: Table) -> [Table; 2] {
    let is_deep = network.get(KIND).and_then(Value::as_str) == Some("deep");
    let value = learner.get("value").and_then(Value::as_str);
    if is_deep && value == Some("afterstate") {
        let outputs = network.entry("outputs");
        outputs.or_insert_with(|| Value::Integer(1));
    }
    [network, learner]
}

/// Refuses a recipe that lacks one of the keys.
fn check_present(table: &Table, required: &[&str], origin: &str) -> Result<(), RecipeError> {
    let missing = required
        .iter()
        .find(|key| keys::lookup(table, key).is_none());
    let Some(&key) = missing else {
        return Ok(());
    };
    let default = keys::sample(key).map_or_else(String::new, Value::to_string);
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
