//! The keys of a recipe: which there are for each kind of network and learner, and what type each
//! has.
//!
//! There is no list of keys beside the structs. Each kind, and each choice inside a kind that has
//! keys of its own (`update`, `optimiser`, ...), is made once with its defaults and serialised: a
//! [`KeySet`] is the resulting table. It says which keys exist together, and by its default values
//! which type is expected.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use afterstate::replay::TargetUpdate;
use toml::{Table, Value};

use super::dqn::{ActionRecipe, DqnRecipe, DqnValue, Optimiser};
use super::error::{RecipeError, describe, shorten_to};
use super::learner::{
    BackwardRecipe, DelayedRecipe, ForwardRecipe, LearnerRecipe, ReplayRecipe, TdRecipe, Update,
};
use super::network::{DeepRecipe, NTupleRecipe, NetworkRecipe};
use super::{Recipe, names};
use crate::migrate;

/// The key that names the kind of a section.
pub(super) const KIND: &str = "kind";
/// Keys whose value may decide which other keys there are.
const CHOICES: [&str; 4] = ["update", "value", "optimiser", "target_update"];
/// The tables of a recipe.
pub(super) const SECTIONS: [&str; 2] = ["network", "learner"];

/// One combination of keys of a section: its kind, its other choices and their keys, all with
/// default values.
pub(super) struct KeySet {
    kind: String,
    keys: Table,
}

/// A table of a recipe, with all its key sets.
pub(super) struct Section {
    /// `network` or `learner`.
    pub(super) name: &'static str,
    key_sets: Vec<KeySet>,
}

static NETWORK: LazyLock<Section> = LazyLock::new(|| {
    let all = [
        NetworkRecipe::NTuple(NTupleRecipe::default()),
        NetworkRecipe::Deep(DeepRecipe::default()),
    ];
    Section::new("network", all.iter().map(table))
});

static LEARNER: LazyLock<Section> = LazyLock::new(|| {
    let updates = [
        Update::Backward(BackwardRecipe::default()),
        Update::Forward(ForwardRecipe::default()),
        Update::Delayed(DelayedRecipe::default()),
    ];
    let td = updates.map(|update| {
        LearnerRecipe::Td(TdRecipe {
            update,
            ..TdRecipe::default()
        })
    });
    let mut all = Vec::from(td);
    all.push(LearnerRecipe::Replay(ReplayRecipe::default()));
    let action = || DqnValue::Action(ActionRecipe::default());
    for value in [action(), DqnValue::Afterstate] {
        for optimiser in [Optimiser::Adam, Optimiser::adamw()] {
            for target_update in [TargetUpdate::copy(), TargetUpdate::soft()] {
                all.push(LearnerRecipe::Dqn(DqnRecipe {
                    value: value.clone(),
                    optimiser: optimiser.clone(),
                    target_update,
                    ..DqnRecipe::default()
                }));
            }
        }
    }
    Section::new("learner", all.iter().map(table))
});

/// The keys outside of the sections, with a value of their type each.
static TOP: LazyLock<Table> = LazyLock::new(|| {
    let words = || "words".to_owned();
    let mut all = table(&Recipe {
        purpose: words(),
        result: words(),
        time: words(),
        from: words(),
        changed: vec!["key=value".into()],
        ..Recipe::default()
    });
    SECTIONS.iter().for_each(|name| drop(all.remove(*name)));
    all
});

/// A value of ours as a table.
pub(super) fn table(value: &impl serde::Serialize) -> Table {
    // Not input: numbers, text and lists of them, which TOML can write.
    Table::try_from(value).expect("a recipe can be written as TOML")
}

/// The section of this name.
pub(super) fn section(name: &str) -> Option<&'static Section> {
    [&*NETWORK, &*LEARNER]
        .into_iter()
        .find(|section| section.name == name)
}

impl Section {
    fn new(name: &'static str, tables: impl Iterator<Item = Table>) -> Self {
        let key_set = |keys: Table| KeySet {
            kind: text(&keys, KIND).unwrap_or_default().to_owned(),
            keys,
        };
        Self {
            name,
            key_sets: tables.map(key_set).collect(),
        }
    }

    /// The choices of a kind that have keys of their own.
    pub(super) fn choices(&self, kind: &str) -> Vec<&'static str> {
        let words = |key: &str| -> BTreeSet<&str> {
            let key_sets = self.of_kind(kind);
            key_sets.filter_map(|v| text(&v.keys, key)).collect()
        };
        let mut choices = CHOICES.to_vec();
        choices.retain(|key| words(key).len() > 1);
        choices
    }

    fn of_kind<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = &'a KeySet> {
        self.key_sets
            .iter()
            .filter(move |key_set| key_set.kind == kind)
    }

    /// The key set that the words of a table select; `Err` with the key of a word that none has.
    pub(super) fn select<'a>(
        &'a self,
        table: &Table,
        default_kind: &'a str,
    ) -> Result<&'a KeySet, &'static str> {
        let kind = match table.get(KIND) {
            None => default_kind,
            Some(Value::String(kind)) => kind,
            Some(_) => return Err(KIND),
        };
        let mut left: Vec<&KeySet> = self
            .key_sets
            .iter()
            .filter(|key_set| key_set.kind == kind)
            .collect();
        let Some(first) = left.first().copied() else {
            return Err(KIND);
        };
        for key in self.choices(&first.kind) {
            let word = table.get(key).or_else(|| first.keys.get(key));
            left.retain(|key_set| key_set.keys.get(key) == word);
            if left.is_empty() {
                return Err(key);
            }
        }
        Ok(left[0])
    }

    /// Every key of any key set, without the section's name.
    fn all_keys(&self) -> BTreeSet<&str> {
        let keys = self.key_sets.iter().flat_map(|v| v.keys.keys());
        keys.map(String::as_str).collect()
    }

    /// The kinds that have a key, in order.
    fn kinds_with(&self, key: &str) -> Vec<&str> {
        let with = self.key_sets.iter().filter(|v| v.keys.contains_key(key));
        let mut kinds: Vec<&str> = with.map(|v| v.kind.as_str()).collect();
        kinds.dedup();
        kinds
    }

    /// Why this key set does not have a key that others have.
    pub(super) fn why_not(&self, key_set: &KeySet, key: &str) -> String {
        let kinds = self.kinds_with(key);
        let (name, kind) = (self.name, &key_set.kind);
        if !kinds.contains(&kind.as_str()) {
            return format!(
                "only {name}s of kind {} have it, and the {name} of this recipe is of kind \
                 \"{kind}\"",
                quoted(&kinds)
            );
        }
        let reason = self.choices(kind).into_iter().find_map(|choice| {
            let with = self.of_kind(kind).filter(|v| v.keys.contains_key(key));
            let words: BTreeSet<&str> = with.filter_map(|v| text(&v.keys, choice)).collect();
            let found = text(&key_set.keys, choice)?;
            let all = self.of_kind(kind).filter_map(|v| text(&v.keys, choice));
            let decides = all.into_iter().any(|word| !words.contains(word));
            (decides && !words.contains(found)).then(|| {
                let needed: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
                let needed = needed.join(" or ");
                format!(
                    "it needs `{name}.{choice}` = {needed}, which is \"{found}\" in this recipe"
                )
            })
        });
        reason.unwrap_or_else(|| format!("this {name} does not have it"))
    }
}

impl KeySet {
    /// Its kind.
    pub(super) fn kind(&self) -> &str {
        &self.kind
    }

    /// Whether it has a key.
    pub(super) fn has(&self, key: &str) -> bool {
        self.keys.contains_key(key)
    }

    /// The default of a key.
    pub(super) fn default_of(&self, key: &str) -> Option<&Value> {
        self.keys.get(key)
    }
}

/// Words in quotes, with "and" before the last.
fn quoted(words: &[&str]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
    match quoted.split_last() {
        Some((last, others)) if !others.is_empty() => format!("{} and {last}", others.join(", ")),
        _ => quoted.concat(),
    }
}

/// Every key of every kind, dotted.
pub(super) fn all() -> Vec<String> {
    let mut keys: Vec<String> = TOP.keys().cloned().collect();
    for section in [&*NETWORK, &*LEARNER] {
        let inner = section.all_keys().into_iter();
        keys.extend(inner.map(|key| format!("{}.{key}", section.name)));
    }
    keys
}

/// The kinds of network and learner that a recipe chooses.
#[derive(Clone, Copy)]
pub(super) struct Kinds<'a> {
    network: &'a str,
    learner: &'a str,
}

impl<'a> Kinds<'a> {
    /// Those of a table; the default ones where it has none.
    pub(super) fn of(table: &'a Table) -> Self {
        let kind = |name| text(table.get(name)?.as_table()?, KIND);
        let network = kind(NETWORK.name).unwrap_or("n-tuple");
        Self {
            network,
            learner: kind(LEARNER.name).unwrap_or_else(|| default_learner(network)),
        }
    }

    fn of_section(self, section: &Section) -> &'a str {
        match section.name {
            "network" => self.network,
            _ => self.learner,
        }
    }
}

/// The kind of learner of a kind of network, where none is chosen.
pub(super) fn default_learner(network: &str) -> &'static str {
    match network {
        "deep" => "dqn",
        _ => "td",
    }
}

/// Which keys there are where an unknown one stands, in words: those of its table, or, of a key
/// without a table, all of the recipe.
pub(super) fn known(key: &str, kinds: Kinds<'_>) -> String {
    let section = key.split_once('.').and_then(|(name, _)| section(name));
    if let Some(section) = section {
        return section.known(kinds);
    }
    let top: Vec<&str> = TOP.keys().map(String::as_str).collect();
    let [network, learner] = [&*NETWORK, &*LEARNER].map(|section| section.known(kinds));
    let top = top.join(", ");
    format!("a recipe has the keys {top}; {network}; {learner}")
}

impl Section {
    /// The keys of the kind that a recipe chooses, in words.
    fn known(&self, kinds: Kinds<'_>) -> String {
        let (name, kind) = (self.name, kinds.of_section(self));
        let of_kind = self.of_kind(kind).flat_map(|v| v.keys.keys());
        let keys: BTreeSet<&str> = of_kind.map(String::as_str).collect();
        let (whose, keys) = match keys.is_empty() {
            true => (format!("a {name}"), self.all_keys()),
            false => (format!("a {name} of kind \"{kind}\""), keys),
        };
        let keys: Vec<&str> = keys.into_iter().collect();
        format!("{whose} has {}", keys.join(", "))
    }
}

/// The kinds that have a key, in words, if the recipe's kind does not have it.
pub(super) fn owners(key: &str, of_recipe: Kinds<'_>) -> Option<String> {
    let (name, key) = key.split_once('.')?;
    let section = section(name)?;
    let kinds = section.kinds_with(key);
    if kinds.contains(&of_recipe.of_section(section)) {
        return None;
    }
    let mut all: Vec<&str> = section.key_sets.iter().map(|v| v.kind.as_str()).collect();
    all.dedup();
    (kinds.len() < all.len()).then(|| format!("{name}s of kind {}", quoted(&kinds)))
}

/// A value of the type that a key has, in whichever kind has it.
pub(super) fn sample(key: &str) -> Option<&'static Value> {
    match key.split_once('.') {
        None => TOP.get(key),
        Some((name, key)) => {
            let mut key_sets = section(name)?.key_sets.iter();
            key_sets.find_map(|key_set| key_set.keys.get(key))
        }
    }
}

/// Refuses keys that no recipe has, and a plain value where a table belongs.
pub(super) fn check_known(table: &Table, origin: &str) -> Result<(), RecipeError> {
    let kinds = Kinds::of(table);
    for (name, value) in table {
        let Some(section) = section(name) else {
            if !TOP.contains_key(name) {
                return Err(names::unknown_entry(name, value, origin, kinds));
            }
            continue;
        };
        let Value::Table(inner) = value else {
            return Err(wrong_type(name, None, value, origin));
        };
        let known = section.all_keys();
        if let Some(key) = inner.keys().find(|key| !known.contains(key.as_str())) {
            return Err(names::unknown(&format!("{name}.{key}"), origin, kinds));
        }
    }
    Ok(())
}

/// The fault of a value under a key of a key set (`None`: outside of the sections).
pub(super) fn check_value(
    place: Option<(&Section, &KeySet)>,
    key: &str,
    value: &Value,
    origin: &str,
) -> Result<(), RecipeError> {
    let fault = match place {
        None => fault::<Recipe>(&TOP, key, value),
        Some((section, key_set)) if section.name == NETWORK.name => {
            fault::<NetworkRecipe>(&key_set.keys, key, value)
        }
        Some((_, key_set)) => fault::<LearnerRecipe>(&key_set.keys, key, value),
    };
    let Some(reason) = fault else {
        return Ok(());
    };
    let path = place.map_or_else(|| key.to_owned(), |(s, _)| format!("{}.{key}", s.name));
    // These are serde's own words for a mismatch, for which ours are plainer; everything else was
    // said by the type that refused.
    let mismatch = ["invalid type", "invalid value", "unknown variant"];
    if mismatch.iter().any(|start| reason.starts_with(start)) {
        let kind = place.map(|(_, key_set)| key_set.kind());
        return Err(wrong_type(&path, kind, value, origin));
    }
    Err(RecipeError::Refused {
        key: path,
        origin: origin.into(),
        found: describe(value),
        // Our own words, which end with what is expected.
        reason: shorten_to(&reason, 400),
    })
}

/// What a type says about one value, where all others are the defaults.
fn fault<T: serde::de::DeserializeOwned>(
    defaults: &Table,
    key: &str,
    value: &Value,
) -> Option<String> {
    let mut probe = defaults.clone();
    probe.insert(key.into(), value.clone());
    let error = probe.try_into::<T>().err()?;
    Some(error.message().into())
}

/// Turns floats that are whole numbers, such as 1e5, into whole numbers where a key wants one.
pub(super) fn make_whole(key: &str, value: &mut Value) {
    match (sample(key), &mut *value) {
        (Some(Value::Integer(_)), found) => whole(found),
        (Some(Value::Array(sample)), Value::Array(found))
            if sample.iter().all(Value::is_integer) =>
        {
            found.iter_mut().for_each(whole);
        }
        // The steps of a schedule, and phases.
        (Some(Value::Float(_) | Value::String(_)), Value::Array(steps)) => {
            let steps = steps.iter_mut().filter_map(Value::as_table_mut);
            let from = steps.filter_map(|step| step.get_mut("from"));
            from.for_each(whole);
        }
        _ => {}
    }
}

/// A whole number as recipes take it, from 0 to the largest that TOML has: 100000, 100_000 or 1e5.
///
/// ```
/// use afterstate_lab::recipe::parse_whole;
///
/// assert_eq!(parse_whole("1e5"), Some(100_000));
/// assert_eq!(parse_whole("10_000"), Some(10_000));
/// assert_eq!(parse_whole("1.5"), None);
/// ```
pub fn parse_whole(text: &str) -> Option<u64> {
    // TOML has no leading zeros.
    let digits = text.parse().ok().map(Value::Integer);
    let mut value = digits.or_else(|| text.parse().ok())?;
    whole(&mut value);
    value.as_integer()?.try_into().ok()
}

fn whole(value: &mut Value) {
    // Up to here an f64 holds every whole number.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if let Value::Float(number) = *value
        && number.fract() == 0.0
        && number.abs() <= EXACT
    {
        *value = Value::Integer(number as i64);
    }
}

/// The value under a dotted key.
pub(super) fn lookup<'a>(table: &'a Table, key: &str) -> Option<&'a Value> {
    match key.split_once('.') {
        None => table.get(key),
        Some((outer, inner)) => lookup(table.get(outer)?.as_table()?, inner),
    }
}

fn text<'a>(table: &'a Table, key: &str) -> Option<&'a str> {
    table.get(key)?.as_str()
}

/// The error about a value of the wrong type, or a word that is none of the choices, of a key as
/// the kind `kind` has it.
pub(super) fn wrong_type(
    key: &str,
    kind: Option<&str>,
    found: &Value,
    origin: &str,
) -> RecipeError {
    let (key, origin) = (key.to_owned(), origin.to_owned());
    let meant = found.as_str().and_then(|word| migrate::word(&key, word));
    match meant {
        Some(meant) => RecipeError::OtherWord {
            found: describe(found),
            key,
            origin,
            meant,
        },
        None => RecipeError::WrongType {
            found: describe(found),
            expected: expected(&key, kind, found),
            key,
            origin,
        },
    }
}

/// The type that belongs under a key, in words.
fn expected(key: &str, kind: Option<&str>, found: &Value) -> String {
    if SECTIONS.contains(&key) {
        return format!("a table that begins with [{key}]");
    }
    match (sample(key), found) {
        // A whole number that is refused all the same is a negative one.
        (Some(Value::Integer(_)), Value::Integer(_)) => "a whole number of 0 or more".into(),
        (Some(Value::Integer(_)), _) => "a whole number".into(),
        (Some(Value::Float(_)), _) => "a number".into(),
        (Some(Value::Boolean(_)), _) => "true or false".into(),
        (Some(Value::Array(default)), _) if default.is_empty() => "a list of whole numbers".into(),
        (Some(default @ Value::Array(_)), _) => format!("a list such as {default}"),
        _ => words(key, kind).unwrap_or_else(|| "a string in quotes".into()),
    }
}

/// The words that are accepted under a key, or `None` where any text is. Only serde knows those of
/// an enum: it is asked with a word that is none of them, and lists them in its refusal.
pub(super) fn words(key: &str, kind: Option<&str>) -> Option<String> {
    let (name, key) = key.split_once('.')?;
    let of_kind = |v: &&KeySet| kind.is_none_or(|kind| v.kind == kind) || key == KIND;
    let mut key_sets = section(name)?.key_sets.iter().filter(of_kind);
    let defaults = &key_sets.find(|key_set| key_set.has(key))?.keys;
    let question = Value::String("?".into());
    let refusal = match name {
        "network" => fault::<NetworkRecipe>(defaults, key, &question),
        _ => fault::<LearnerRecipe>(defaults, key, &question),
    };
    let refusal = refusal?;
    let (_, words) = refusal.split_once("expected ")?;
    Some(words.into())
}
