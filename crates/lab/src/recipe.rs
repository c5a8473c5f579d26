//! A recipe: everything that decides what a training run learns, in one TOML file.
//!
//! The structs are the only list of keys. A kind of network or learner has its own keys and no
//! others; the valid ones are found by serialising the defaults of each kind (`keys.rs`), so that a
//! new field is accepted, suggested for a misspelling, open to overrides and written to the run
//! folder without further code. `read.rs` turns text into a [`Recipe`], `check.rs` validates
//! values, `names.rs` finds the key that an unknown name means, `changes.rs` records what overrides
//! changed. Names of games and tuple sets stay strings here: the registry validates them.
//!
//! Two kinds of text are read. What a user writes has the keys of today ([`Recipe::load`],
//! [`Recipe::parse`]); what the program stored may be of an earlier format
//! ([`Recipe::load_stored`], [`Recipe::parse_stored`]).
//!
//! To add a recipe, write a file in `recipes/` and name it in `builtin!`; a former name goes into `RENAMED`.
//! To add a key, add a field here, its range to `check.rs` and a row to `docs/recipes.md`.

mod changes;
mod check;
mod dqn;
mod error;
mod form;
#[cfg(test)]
mod hostile;
mod keys;
mod learner;
mod names;
mod network;
mod overrides;
mod phases;
mod read;
#[cfg(test)]
mod tests;

use std::fs::File;
use std::io::Read;
use std::path::Path;

pub use afterstate::policy::Ties;
pub use afterstate::replay::{
    ActingNetwork, Illegal, InitialWeights, Overwrite, StoredAction, StoredReward, TargetUpdate,
};
use serde::{Deserialize, Serialize};

pub use changes::RecipeDifference;
pub use check::parse_board;
pub(crate) use check::{MOST_FILTERS, MOST_LAYERS, SCALES, WIDEST, check_name, kernel_of};
pub use dqn::{ActionRecipe, DqnRecipe, DqnValue, Optimiser, Rewards};
pub use error::RecipeError;
pub(crate) use error::shorten;
pub use form::{KeyForm, KeyType};
pub use keys::parse_whole;
pub use learner::{
    BackwardRecipe, BufferRecipe, DelayedRecipe, EndOfGame, ForwardRecipe, LearnerRecipe, Limit,
    ReplayRecipe, Rule, Subtract, Target, TdRecipe, Update, ValueOf,
};
pub(crate) use names::nearest;
pub use network::{DeepRecipe, HiddenDropout, NTupleRecipe, NetworkRecipe, Relu};
pub use phases::{Phase, Phases};

use crate::migrate::Migrated;
use crate::text::MARK;

/// The game where none is named, and the only one of most other programs.
pub const DEFAULT_GAME: &str = "2048";

/// The largest recipe that is read: a thousand times the usual size, and small enough that a model
/// given by mistake is refused immediately.
pub const MAX_BYTES: usize = 1 << 20;

/// Builds the list of built-in recipes from the files of that name.
macro_rules! builtin {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../../recipes/", $name, ".toml")))),*]
    };
}

/// Every built-in recipe: first the one for beginners, then the reference systems by age.
static BUILTIN: &[(&str, &str)] = builtin![
    "quick",
    "strong",
    "strong-finish",
    "td-4x6",
    "otd-tc",
    "state-22",
    "state-22-textbook",
    "state-6",
    "state-6-textbook",
    "state-6x6",
    "state-500k",
    "state-500k-textbook",
    "ntuple-replay",
    "ntuple-replay-report",
    "dqn",
    "dqn-report",
    "dqn-report-textbook",
    "deep-best",
    "threes-8x4",
    "threes-8x4-textbook",
    "threes-8x4-backward",
    "threes-4x6",
    "threes-4x6-textbook",
    "threes-hint",
    "threes-best",
    "threes-original-best",
    "2584",
];

/// Former names of built-in recipes, with the present ones.
static RENAMED: &[(&str, &str)] = &[
    ("dqn-r4", "dqn-report"),
    ("threes-8x4-forward", "threes-8x4-textbook"),
];

/// A training run, complete: with one thread, the same recipe gives the same model.
///
/// Deserialising alone checks types but no values; [`Recipe::load`] and [`Recipe::parse`] do both.
///
/// ```
/// use afterstate_lab::recipe::Recipe;
///
/// let overrides = ["learning_rate=0.5".to_string(), "network.tuples=8x4".to_string()];
/// let recipe = Recipe::load("quick", &overrides)?;
/// assert_eq!(recipe.learner.learning_rate().at(0), 0.5);
/// assert_eq!(recipe.title(), "quick (learning_rate=0.5, tuples=8x4)");
/// assert_eq!(Recipe::parse(&recipe.to_toml(), "recipe.toml", &[])?, recipe);
/// # Ok::<(), afterstate_lab::recipe::RecipeError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Recipe {
    /// Its name, which may become part of a file name.
    pub name: String,
    /// What it is for, in one line.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub purpose: String,
    /// What it reaches, in words.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub result: String,
    /// How long it takes, in words.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub time: String,
    /// What overrides changed in the recipe of this name, each `key=value`. The descriptions above
    /// then no longer apply, and are left out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<String>,
    /// The game, by the registry's name.
    pub game: String,
    /// Rows and columns of the board: `4x4`; see [`parse_board`].
    pub board: String,
    /// Games to train for.
    pub episodes: u64,
    /// Threads that play at once; 0 means one for each core.
    pub threads: usize,
    /// Seed of all randomness of the run.
    pub seed: u64,
    /// Games in a block of statistics.
    pub block_games: u64,
    /// Seconds between checkpoints.
    pub checkpoint_seconds: f64,
    /// Whether every game's score is written to `scores.txt`.
    pub scores: bool,
    /// Whether TensorBoard event files are written.
    pub tensorboard: bool,
    /// A model file, run folder or weight file whose weights it starts with; without one it starts
    /// with `network.initial_value`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub from: String,
    /// What is trained.
    pub network: NetworkRecipe,
    /// How it is trained.
    pub learner: LearnerRecipe,
}

impl Default for Recipe {
    fn default() -> Recipe {
        Recipe {
            name: "unnamed".into(),
            purpose: String::new(),
            result: String::new(),
            time: String::new(),
            changed: Vec::new(),
            game: DEFAULT_GAME.into(),
            board: "4x4".into(),
            episodes: 100_000,
            threads: 0,
            seed: 1,
            block_games: 1_000,
            checkpoint_seconds: 60.0,
            scores: false,
            tensorboard: false,
            from: String::new(),
            network: NetworkRecipe::default(),
            learner: LearnerRecipe::default(),
        }
    }
}

impl Recipe {
    /// The recipes that come with the program, as (name, TOML text).
    pub fn builtin() -> &'static [(&'static str, &'static str)] {
        BUILTIN
    }

    /// Reads a recipe: a built-in one by its name, or a file (anything with a `/` in it, or that
    /// ends in `.toml`); then sets the overrides, each `KEY=VALUE`, and checks the whole.
    ///
    /// # Errors
    /// When there is no such recipe, or [`Recipe::parse`] refuses it.
    pub fn load(name_or_path: &str, overrides: &[String]) -> Result<Recipe, RecipeError> {
        if is_path(name_or_path) {
            return Recipe::load_file(Path::new(name_or_path), overrides);
        }
        match BUILTIN.iter().find(|(name, _)| *name == name_or_path) {
            Some((name, text)) => Recipe::parse(text, &format!("{name}.toml"), overrides),
            None => Err(unknown_recipe(name_or_path)),
        }
    }

    /// Reads a recipe from a file.
    ///
    /// # Errors
    /// When it cannot be read, or [`Recipe::parse`] refuses it.
    pub fn load_file(path: &Path, overrides: &[String]) -> Result<Recipe, RecipeError> {
        Recipe::parse(&read(path)?, &path.to_string_lossy(), overrides)
    }

    /// Reads a recipe from TOML text; `origin` is the name of the text in errors, usually its file.
    ///
    /// An override's key is dotted (`learner.lambda=0.5`) or only the last part (`lambda=0.5`). Its
    /// value is TOML, or plain text if it is not valid TOML or the key expects text (`game=2048`).
    /// [`Recipe::changed`] lists what overrides change.
    ///
    /// # Errors
    /// When the text is not TOML, a key is unknown, missing or of another kind of network or
    /// learner, or a value is invalid.
    pub fn parse(text: &str, origin: &str, overrides: &[String]) -> Result<Recipe, RecipeError> {
        read::written(text, origin, overrides)
    }

    /// Reads the recipe of a run from its file, in any format, with overrides that a started run
    /// still accepts.
    ///
    /// # Errors
    /// When it cannot be read, or [`Recipe::parse_stored`] refuses it.
    pub fn load_stored(path: &Path, overrides: &[String]) -> Result<Migrated<Recipe>, RecipeError> {
        Recipe::parse_stored(&read(path)?, &path.to_string_lossy(), overrides)
    }

    /// Reads a recipe that the program wrote, in any format.
    ///
    /// # Errors
    /// As [`Recipe::parse`]; also when an override would change what the run has already done.
    pub fn parse_stored(
        text: &str,
        origin: &str,
        overrides: &[String],
    ) -> Result<Migrated<Recipe>, RecipeError> {
        read::stored(text, origin, overrides)
    }

    /// The points that a value of 1 stands for.
    pub fn value_unit(&self) -> f64 {
        self.learner.dqn().map_or(1.0, |dqn| dqn.reward_scale)
    }

    /// The recipe as TOML with every key of its kinds, so that it can be run again.
    pub fn to_toml(&self) -> String {
        // Not input: the fields are numbers, text and tables, and TOML writes any of these.
        toml::to_string(self).expect("a recipe holds nothing that TOML cannot write")
    }
}

/// Whether this names a file and not a built-in recipe.
pub(crate) fn is_path(name_or_path: &str) -> bool {
    name_or_path.contains(['/', std::path::MAIN_SEPARATOR]) || name_or_path.ends_with(".toml")
}

/// The text of a recipe file, unless it is too large to be one.
fn read(path: &Path) -> Result<String, RecipeError> {
    let unreadable = |source| RecipeError::Unreadable {
        path: path.to_string_lossy().into(),
        source,
    };
    let file = File::open(path).map_err(unreadable)?;
    let mut bytes = Vec::new();
    // One byte more than allowed, so that an endless device ends as "too large", too.
    file.take(MAX_BYTES as u64 + 1)
        .read_to_end(&mut bytes)
        .map_err(unreadable)?;
    if bytes.len() > MAX_BYTES {
        return Err(RecipeError::too_large(&path.to_string_lossy()));
    }
    let text = String::from_utf8(bytes).map_err(|error| RecipeError::NotText {
        path: path.to_string_lossy().into(),
        offset: error.utf8_error().valid_up_to(),
    })?;
    Ok(text.trim_start_matches(MARK).to_owned())
}

fn unknown_recipe(name: &str) -> RecipeError {
    if let Some((former, present)) = RENAMED.iter().find(|(former, _)| *former == name) {
        return RecipeError::RenamedRecipe { former, present };
    }
    let known = BUILTIN.iter().map(|(name, _)| *name);
    RecipeError::UnknownRecipe {
        name: shorten(name),
        nearest: nearest(name, known.clone()),
        known: known.collect(),
    }
}

/// A recipe in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecipeInfo {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub purpose: String,
    /// What it reaches.
    pub result: String,
    /// How long it takes.
    pub time: String,
    /// The game.
    pub game: String,
    /// The board.
    pub board: String,
    /// The games of a training.
    pub episodes: u64,
    /// The iterations after which it ends; `None` where there is no such limit.
    pub max_iterations: Option<u64>,
    /// The updates after which it ends; `None` where there is no such limit.
    pub max_updates: Option<u64>,
}

impl Recipe {
    /// Its description in lists.
    pub fn info(&self) -> RecipeInfo {
        let limit = |of: fn(&BufferRecipe) -> u64| self.learner.buffer().map(of).filter(|&n| n > 0);
        RecipeInfo {
            name: self.name.clone(),
            purpose: self.purpose.clone(),
            result: self.result.clone(),
            time: self.time.clone(),
            game: self.game.clone(),
            board: self.board.clone(),
            episodes: self.episodes,
            max_iterations: limit(|buffer| buffer.max_iterations),
            max_updates: limit(|buffer| buffer.max_updates),
        }
    }
}
