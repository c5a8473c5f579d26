//! A sweep's file: parses TOML into a [`Sweep`] whose recipes are all valid.

use std::collections::HashSet;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use serde::Deserialize;
use toml::{Table, Value};

use super::{Sweep, SweepError, SweepVariant};
use crate::LabError;
use crate::recipe::{MAX_BYTES, Recipe, RecipeError, check_name, is_path, nearest, shorten};
use crate::spec::AgentSpec;
use crate::text::MARK;

/// The largest number of variants.
const MOST: usize = 100;
/// The largest number of runs, and of seeds.
const MOST_RUNS: usize = 1000;
/// The largest number of evaluation games, as for `eval`.
const MOST_GAMES: u64 = 10_000_000;
/// The largest seed that a recipe can store.
const LARGEST_SEED: u64 = i64::MAX as u64;
/// Reserved names in the folder.
const TAKEN: [&str; 3] = [super::PLOTS, super::SUMMARY_CSV, super::SUMMARY_MD];

/// The file as written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    name: String,
    #[serde(default)]
    purpose: String,
    recipe: String,
    #[serde(default)]
    set: Vec<String>,
    seeds: Vec<u64>,
    games: u64,
    variant: Vec<WrittenVariant>,
}

/// The fields of a [`Written`].
const KEYS: [&str; 7] = [
    "name", "purpose", "recipe", "set", "seeds", "games", "variant",
];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenVariant {
    name: String,
    recipe: Option<String>,
    #[serde(default)]
    set: Vec<String>,
}

/// The fields of a [`WrittenVariant`].
const VARIANT_KEYS: [&str; 3] = ["name", "recipe", "set"];

/// Reads and checks a file.
pub(super) fn load(path: &Path) -> Result<Sweep, LabError> {
    let text = read(path)?;
    let origin = path.to_string_lossy();
    let written = parse(&text, &origin).map_err(SweepError::Text)?;
    check_name(&written.name).map_err(SweepError::Text)?;
    let check = Check { origin: &origin };
    check.seeds(&written.seeds)?;
    check.games(written.games)?;
    let folders = check.folders(&written.variant)?;
    let runs = written.seeds.len() * written.variant.len();
    if runs > MOST_RUNS {
        let found = format!("{runs} runs with these seeds");
        return Err(check.bad("variant", found, format!("up to {MOST_RUNS}")));
    }
    let home = path.parent().unwrap_or(Path::new(""));
    let variants = written
        .variant
        .iter()
        .zip(folders)
        .map(|(variant, folder)| {
            let set = [&written.set[..], &variant.set].concat();
            check.no_seed(&set)?;
            let recipe = variant.recipe.as_ref().unwrap_or(&written.recipe);
            let recipe = recipe_of(home, recipe, &set).map_err(|source| SweepError::Variant {
                variant: shorten(&variant.name),
                source: Box::new(source),
            })?;
            let name = variant.name.clone();
            Ok(SweepVariant {
                name,
                folder,
                recipe,
            })
        });
    let variants = variants.collect::<Result<Vec<_>, LabError>>()?;
    same_game(&variants)?;
    Ok(Sweep {
        name: written.name,
        purpose: written.purpose,
        seeds: written.seeds,
        games: written.games,
        variants,
    })
}

/// Parses text into keys of the right types.
fn parse(text: &str, origin: &str) -> Result<Written, RecipeError> {
    let syntax = |error| RecipeError::syntax(text, origin, &error);
    // Checked first, since the TOML parser does not suggest keys.
    let table: Table = toml::from_str(text).map_err(syntax)?;
    check_known(&table, &KEYS, "", origin)?;
    let variants = table.get("variant").and_then(Value::as_array);
    for variant in variants.into_iter().flatten().filter_map(Value::as_table) {
        check_known(variant, &VARIANT_KEYS, "variant.", origin)?;
    }
    toml::from_str(text).map_err(syntax)
}

/// Refuses keys that no sweep has.
fn check_known(table: &Table, keys: &[&str], at: &str, origin: &str) -> Result<(), RecipeError> {
    match table.keys().find(|key| !keys.contains(&key.as_str())) {
        None => Ok(()),
        Some(key) => Err(RecipeError::UnknownKey {
            key: format!("{at}{}", shorten(key)),
            origin: origin.to_owned(),
            nearest: nearest(key, keys.iter().copied()).map(|key| format!("{at}{key}")),
            known: format!("the keys are {}", keys.join(", ")),
        }),
    }
}

/// The text of the file, unless it is too large to be a sweep.
fn read(path: &Path) -> Result<String, LabError> {
    let file = File::open(path).map_err(LabError::file("read", path))?;
    let mut bytes = Vec::new();
    // One byte more than allowed, so that an endless device ends as "too large", too.
    file.take(MAX_BYTES as u64 + 1)
        .read_to_end(&mut bytes)
        .map_err(LabError::file("read", path))?;
    let path = path.to_owned();
    if bytes.len() > MAX_BYTES {
        let limit = MAX_BYTES;
        return Err(SweepError::TooLarge { path, limit }.into());
    }
    match String::from_utf8(bytes) {
        Ok(text) => Ok(text.trim_start_matches(MARK).to_owned()),
        Err(error) => {
            let offset = error.utf8_error().valid_up_to();
            Err(SweepError::NotText { path, offset }.into())
        }
    }
}

/// A variant's recipe. It has one thread by default: then a seed determines the result, and several
/// runs fill the cores.
fn recipe_of(home: &Path, name: &str, set: &[String]) -> Result<Recipe, LabError> {
    let set = [&["threads=1".to_owned()], set].concat();
    let recipe = if is_path(name) {
        Recipe::load_file(&home.join(name), &set)?
    } else {
        Recipe::load(name, &set)?
    };
    // What only the registry can check: the game, and whether the tuples fit its board.
    let player = AgentSpec::of(&recipe)?;
    if matches!(player, AgentSpec::Deep(_)) && !cfg!(feature = "deep") {
        return Err(LabError::NoDeep);
    }
    Ok(recipe)
}

/// Refuses variants of several games.
fn same_game(variants: &[SweepVariant]) -> Result<(), SweepError> {
    let game =
        |variant: &SweepVariant| format!("{} on {}", variant.recipe.game, variant.recipe.board);
    let Some((first, others)) = variants.split_first() else {
        return Ok(());
    };
    match others.iter().find(|other| game(other) != game(first)) {
        None => Ok(()),
        Some(other) => Err(SweepError::Games {
            first: shorten(&first.name),
            game: game(first),
            second: shorten(&other.name),
            other: game(other),
        }),
    }
}

/// Checks that the types of a file cannot express.
struct Check<'a> {
    origin: &'a str,
}

impl Check<'_> {
    fn seeds(&self, seeds: &[u64]) -> Result<(), LabError> {
        if !(1..=MOST_RUNS).contains(&seeds.len()) {
            let found = format!("a list of {}", seeds.len());
            return Err(self.bad("seeds", found, format!("1 to {MOST_RUNS} seeds")));
        }
        if let Some(large) = seeds.iter().find(|&&seed| seed > LARGEST_SEED) {
            let expected = format!("seeds up to {LARGEST_SEED}");
            return Err(self.bad("seeds", large.to_string(), expected));
        }
        let mut seen = HashSet::new();
        match seeds.iter().find(|&&seed| !seen.insert(seed)) {
            None => Ok(()),
            Some(seed) => Err(self.twice("seed", seed.to_string())),
        }
    }

    fn games(&self, games: u64) -> Result<(), LabError> {
        if games <= MOST_GAMES {
            return Ok(());
        }
        let expected = format!("0, for none, up to {MOST_GAMES}");
        Err(self.bad("games", games.to_string(), expected))
    }

    /// The folder of each variant: no two may share one.
    fn folders(&self, variants: &[WrittenVariant]) -> Result<Vec<String>, LabError> {
        if !(1..=MOST).contains(&variants.len()) {
            let found = format!("a list of {}", variants.len());
            return Err(self.bad("variant", found, format!("1 to {MOST} variants")));
        }
        let mut folders: Vec<String> = Vec::new();
        for (number, variant) in variants.iter().enumerate() {
            let earlier = &variants[..number];
            if earlier.iter().any(|earlier| earlier.name == variant.name) {
                return Err(self.twice("variant", format!("`{}`", shorten(&variant.name))));
            }
            let folder = self.folder(&variant.name)?;
            if let Some(place) = folders.iter().position(|earlier| *earlier == folder) {
                let [first, second] = [&variants[place], variant].map(|v| shorten(&v.name));
                let origin = self.origin.to_owned();
                return Err(SweepError::SameFolder {
                    origin,
                    first,
                    second,
                    folder,
                }
                .into());
            }
            folders.push(folder);
        }
        Ok(folders)
    }

    /// The folder for a name: lower-case letters and digits, with dashes for everything between
    /// them.
    fn folder(&self, name: &str) -> Result<String, LabError> {
        let plain = |c: char| c.is_ascii_alphanumeric() || "_.+".contains(c);
        let mapped: String = name
            .chars()
            .map(|c| {
                if plain(c) {
                    c.to_ascii_lowercase()
                } else {
                    ' '
                }
            })
            .collect();
        let folder = mapped.split_whitespace().collect::<Vec<_>>().join("-");
        let folder = folder.trim_matches(['-', '.']).to_owned();
        let short = (1..=64).contains(&name.chars().count()) && !name.contains(char::is_control);
        let telling = folder.contains(|c: char| c.is_ascii_alphanumeric());
        if short && telling && !TAKEN.contains(&folder.as_str()) {
            return Ok(folder);
        }
        let expected = format!(
            "up to 64 characters in one line, a letter or digit of ASCII among them, and none of {}",
            TAKEN.join(", ")
        );
        let found = format!("\"{}\"", shorten(name));
        Err(self.bad("variant.name", found, expected))
    }

    fn no_seed(&self, set: &[String]) -> Result<(), LabError> {
        let key = |text: &&String| text.split('=').next().map(str::trim) == Some("seed");
        match set.iter().find(key) {
            None => Ok(()),
            Some(found) => Err(SweepError::Seed {
                origin: self.origin.to_owned(),
                found: shorten(found),
            }
            .into()),
        }
    }

    fn bad(&self, key: &'static str, found: String, expected: String) -> LabError {
        let origin = self.origin.to_owned();
        SweepError::BadValue {
            origin,
            key,
            found,
            expected,
        }
        .into()
    }

    fn twice(&self, what: &'static str, found: String) -> LabError {
        let origin = self.origin.to_owned();
        SweepError::Twice {
            origin,
            what,
            found,
        }
        .into()
    }
}
