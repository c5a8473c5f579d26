//! A recipe: everything that decides what a training run learns, in one TOML file.
//!
//! The text becomes a [`Recipe`] by stations, each with its own kind of error:
//!
//! `text -> TOML table -> known keys only -> overrides -> required keys -> types -> values`
//!
//! The structs below are the only list of keys: the valid ones are found by serialising a default
//! recipe (`keys.rs`), so a new field is at once accepted, suggested for a misspelling, open to
//! overrides and written to the run folder. Names of games and tuple sets stay strings here: the
//! registry judges them.

mod check;
mod deep;
mod error;
#[cfg(test)]
mod hostile;
mod keys;
#[cfg(test)]
mod tests;

use std::fs::File;
use std::io::Read;
use std::path::Path;

use afterstate::learn::schedule::Schedule;
use serde::{Deserialize, Serialize};
use toml::Table;

pub use check::parse_board;
pub(crate) use check::{MOST_FILTERS, MOST_LAYERS, SCALES, WIDEST, check_name, kernel_of};
pub use deep::{
    DeepRecipe, DropoutPlace, Follow, Illegal, InitialWeights, Optimiser, Plays, Rewards,
};
pub use error::RecipeError;
pub(crate) use error::shorten;
use keys::Override;
pub(crate) use keys::{Difference, difference, nearest};

/// The largest recipe that is read: a thousand times what one needs, and little enough that a
/// model given by mistake is refused at once.
pub const MAX_BYTES: usize = 1 << 20;

/// Keys that have a default in Rust, but that no recipe may leave to it: they say what it is about.
const REQUIRED: [&str; 3] = ["name", "game", "board"];
/// One more for networks of tuples.
const TUPLES: &str = "network.tuples";

/// Builds the list of built-in recipes from the files of that name.
macro_rules! builtin {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../../recipes/", $name, ".toml")))),*]
    };
}

/// Every built-in recipe: the one to begin with, then the reference systems by age.
static BUILTIN: &[(&str, &str)] = builtin![
    "quick",
    "td-4x6",
    "state-22",
    "state-6",
    "state-6-textbook",
    "state-6x6",
    "state-500k",
    "ntuple-replay",
    "dqn",
    "dqn-r4",
    "deep-best",
    "threes-8x4",
    "threes-8x4-forward",
    "threes-4x6",
    "threes-hint",
    "threes-best",
    "2584",
];

/// A training run, complete: with one thread, the same recipe gives the same model.
///
/// Deserialising alone checks types but no values; [`Recipe::load`] and [`Recipe::parse`] do both.
///
/// ```
/// use afterstate_lab::recipe::Recipe;
///
/// let overrides = ["rate=0.5".to_string(), "network.tuples=8x4".to_string()];
/// let recipe = Recipe::load("quick", &overrides)?;
/// assert_eq!(recipe.learner.rate.at(0), 0.5);
/// assert_eq!(recipe.network.tuples, "8x4");
/// assert_eq!(Recipe::parse(&recipe.to_toml(), "recipe.toml", &[])?, recipe);
/// # Ok::<(), afterstate_lab::recipe::RecipeError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Recipe {
    /// Its name, which may become part of a file name.
    pub name: String,
    /// What it is for, in one line.
    pub purpose: String,
    /// What it reaches, in words.
    pub figure: String,
    /// How long it takes, in words.
    pub time: String,
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
    pub block: u64,
    /// Seconds between checkpoints.
    pub checkpoint_seconds: f64,
    /// Whether every game's score is written to `scores.txt`.
    pub scores: bool,
    /// What is learned.
    pub network: NetworkRecipe,
    /// How it is learned.
    pub learner: LearnerRecipe,
    /// The games and the memory of `learner.update = "replay"`.
    pub replay: ReplayRecipe,
    /// How a deep network learns.
    pub deep: DeepRecipe,
}

/// The network of a recipe.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NetworkRecipe {
    /// What it is made of.
    pub kind: Kind,
    /// A named set such as `4x6`, or patterns in hex separated by spaces.
    pub tuples: String,
    /// Whether all images of the board (eight of a square, four of a rectangle) share each table.
    pub symmetry: bool,
    /// Whether there are tables of their own for each tile that the game may show as the next one.
    pub hint: bool,
    /// V of every position in a new network: each weight starts at `initial` / m.
    pub initial: f64,
    /// Of a deep network: the kernel of each convolution, ROWSxCOLUMNS; no padding, ReLU behind each.
    pub convolutions: Vec<String>,
    /// The filters of each convolution.
    pub filters: usize,
    /// The widths of the linear layers between them and the outputs.
    pub hidden: Vec<usize>,
    /// Behind which layers there is a ReLU.
    pub relu: Relu,
    /// With `learner.value = "action"`, the slides that have an output: 4, or 3, all but down. Afterstates need one.
    pub outputs: usize,
}

/// What a network is made of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Tables of tuples.
    #[default]
    Tuples,
    /// Convolutions and linear layers.
    Deep,
}

/// Behind which layers of a deep network there is a ReLU. There is none behind the outputs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Relu {
    /// Behind convolutions and linear layers.
    #[default]
    All,
    /// Behind convolutions alone.
    Convolutions,
}

/// The learning rule of a recipe.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LearnerRecipe {
    /// Which positions are valued.
    pub value: ValueOf,
    /// When a position is updated.
    pub update: Update,
    /// What a value is moved towards.
    pub target: Target,
    /// How a weight's step follows from the error.
    pub rule: Rule,
    /// The learning rate. A recipe without one has 0.1 with TD and 1.0 with TC.
    pub rate: Schedule,
    /// Share of the return that is passed on beyond the next value; 0 is TD(0).
    pub lambda: f64,
    /// How equally good moves are settled.
    pub ties: Ties,
}

/// Many games side by side and a memory of their moves, from which batches are drawn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ReplayRecipe {
    /// Games side by side; an iteration is a move in each.
    pub games: usize,
    /// Moves that are remembered.
    pub memory: usize,
    /// Which of them make way for new ones.
    pub overwrite: Overwrite,
    /// Moves whose rewards are counted before the value of what follows.
    pub steps: u32,
    /// Batches learned in an iteration.
    pub batches: usize,
    /// Moves in a batch.
    pub batch: usize,
    /// The share of moves made at random at first.
    pub epsilon: f64,
    /// It falls along a line and is 0 after so many iterations; with 0 it stays.
    pub epsilon_iterations: u64,
    /// The training ends after so many batches, if not before with its episodes; 0 means never.
    pub updates: u64,
}

/// What makes way when memory is full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Overwrite {
    /// What was kept longest.
    #[default]
    Oldest,
    /// Anything.
    Random,
}

/// Which positions the network values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ValueOf {
    /// The board after the slide, before the new tile: one lookup for each move.
    #[default]
    Afterstate,
    /// The board before the slide: a move's worth is an expectation over new tiles.
    State,
    /// The board before the slide together with each slide: Q, for deep networks.
    Action,
}

/// When a position's value is updated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Update {
    /// As soon as the next move is chosen.
    Forward,
    /// After the game, last move first.
    #[default]
    Backward,
    /// Now and then, when a memory of moves brings it up.
    Replay,
}

/// What a value is moved towards.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Target {
    /// The reward and the value that follows it.
    #[default]
    Textbook,
    /// As R1 and R2 were published: the same with each move's reward counted twice.
    RewardTwice,
}

/// How a weight's step follows from the error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rule {
    /// Temporal difference: the same rate for each weight.
    #[default]
    Td,
    /// Temporal coherence: each weight's rate falls as its errors disagree in sign.
    Tc,
}

/// How equally good moves are settled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ties {
    /// The first direction wins.
    #[default]
    Order,
    /// Each of them has the same chance.
    Random,
}

impl Default for Recipe {
    fn default() -> Recipe {
        Recipe {
            name: "unnamed".into(),
            purpose: String::new(),
            figure: String::new(),
            time: String::new(),
            game: crate::games::DEFAULT_GAME.into(),
            board: "4x4".into(),
            episodes: 100_000,
            threads: 0,
            seed: 1,
            block: 1_000,
            checkpoint_seconds: 60.0,
            scores: false,
            network: NetworkRecipe::default(),
            learner: LearnerRecipe::default(),
            replay: ReplayRecipe::default(),
            deep: DeepRecipe::default(),
        }
    }
}

/// As R4 has it.
impl Default for ReplayRecipe {
    fn default() -> ReplayRecipe {
        ReplayRecipe {
            games: 32,
            memory: 5_000,
            overwrite: Overwrite::default(),
            steps: 1,
            batches: 5,
            batch: 32,
            epsilon: 0.0,
            epsilon_iterations: 0,
            updates: 0,
        }
    }
}

impl Default for NetworkRecipe {
    fn default() -> NetworkRecipe {
        NetworkRecipe {
            kind: Kind::default(),
            tuples: "4x6".into(),
            symmetry: true,
            hint: false,
            initial: 0.0,
            convolutions: ["2x1", "1x2", "2x1", "1x2"].map(String::from).into(),
            filters: 256,
            hidden: vec![16],
            relu: Relu::default(),
            outputs: 4,
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
    pub fn load_file(path: &Path, overrides: &[String]) -> Result<Recipe, RecipeError> {
        Recipe::parse(&read(path)?, &path.to_string_lossy(), overrides)
    }

    /// Reads a recipe from TOML text; `origin` is what errors call the text, usually its file.
    ///
    /// An override's key is dotted (`learner.rate=0.01`) or only the last part (`rate=0.01`). Its
    /// value is TOML, or plain text where that is no TOML or the key wants text (`game=2048`).
    pub fn parse(text: &str, origin: &str, overrides: &[String]) -> Result<Recipe, RecipeError> {
        if text.len() > MAX_BYTES {
            return Err(too_large(origin));
        }
        let mut table: Table = text
            .parse()
            .map_err(|error| RecipeError::syntax(text, origin, &error))?;
        keys::check_known(&table, origin)?;
        let overrides = overrides
            .iter()
            .map(|text| Override::parse(text))
            .collect::<Result<Vec<_>, _>>()?;
        for change in &overrides {
            change.apply(&mut table);
        }
        keys::check_present(&table, &REQUIRED, origin)?;
        match deep::is_deep(&table) {
            true => deep::fill(&mut table),
            false => keys::check_present(&table, &[TUPLES], origin)?,
        }
        fill_rate(&mut table);
        let recipe = keys::deserialize(table, origin, &overrides)?;
        recipe.validate()?;
        Ok(recipe)
    }

    /// The points that a value of 1 stands for.
    pub fn value_unit(&self) -> f64 {
        match self.network.kind {
            Kind::Tuples => 1.0,
            Kind::Deep => self.deep.reward_scale,
        }
    }

    /// The recipe as TOML with every key, so that it can be run again.
    pub fn to_toml(&self) -> String {
        // Not input: the fields are numbers, text and tables, and TOML writes any of these.
        toml::to_string(self).expect("a recipe holds nothing that TOML cannot write")
    }
}

/// Whether this names a file and not a built-in recipe.
pub(crate) fn is_path(name_or_path: &str) -> bool {
    name_or_path.contains(['/', std::path::MAIN_SEPARATOR]) || name_or_path.ends_with(".toml")
}

/// TC's own steps begin at the whole error, so that its usual rate is ten times TD's: a recipe that
/// names the rule but no rate means that one.
fn fill_rate(table: &mut Table) {
    let Some(toml::Value::Table(learner)) = table.get_mut("learner") else {
        return;
    };
    if learner.get("rule").and_then(toml::Value::as_str) == Some("tc") {
        learner
            .entry("rate")
            .or_insert_with(|| toml::Value::Float(1.0));
    }
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
        return Err(too_large(&path.to_string_lossy()));
    }
    String::from_utf8(bytes).map_err(|error| RecipeError::NotText {
        path: path.to_string_lossy().into(),
        offset: error.utf8_error().valid_up_to(),
    })
}

fn too_large(origin: &str) -> RecipeError {
    RecipeError::TooLarge {
        origin: origin.into(),
        limit: MAX_BYTES,
    }
}

fn unknown_recipe(name: &str) -> RecipeError {
    let known = BUILTIN.iter().map(|(name, _)| *name);
    RecipeError::UnknownRecipe {
        name: error::shorten(name),
        nearest: keys::nearest(name, known.clone()),
        known: known.collect(),
    }
}
