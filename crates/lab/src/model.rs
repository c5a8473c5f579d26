//! Models on disk: what a player is, told by flat metadata, and its tables.
//!
//! The keys (docs/formats/native.md): `afterstate` (the format's version), `game`, `board`, `tuples`,
//! `symmetry`, `hint` (only where true), `value`, `ties`, `rule`, `episodes`, and `recipe`, the whole recipe it was trained by.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use afterstate::format::native::{Keep, Metadata};
use afterstate::ntuple::TupleSet;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::LabError;
use crate::error::game_on;
use crate::metadata::{Fields, SOLUTION, TUPLES};
use crate::recipe::{Recipe, Rule, Ties, ValueOf, parse_board};
use crate::registry::{self, Player, Session};
use crate::run;
use crate::tables::Saved;

/// The version of the metadata.
const VERSION: &str = "1";

/// A player ready to play.
pub struct Model {
    /// What it is.
    pub player: Player,
    /// The games it was trained for.
    pub episodes: u64,
    /// Where it was read from.
    pub path: PathBuf,
    /// Its network.
    pub session: Box<dyn Session>,
}

impl Model {
    /// Opens a model file, or what was saved last in a run folder.
    ///
    /// # Errors
    /// When there is none, or it is damaged, foreign or too large.
    pub fn open(path: &Path) -> Result<Self, LabError> {
        let path = if path.is_dir() {
            run::model_of(path)?
        } else {
            path.to_owned()
        };
        let saved = Saved::open(&path)?;
        let metadata = saved.metadata();
        if metadata.contains_key(SOLUTION) {
            return Err(LabError::Kind {
                path,
                wanted: "model",
                found: "a solution, as `afterstate solve --out` makes them",
                expected: "a model file or a run folder, as `afterstate train` makes them",
            });
        }
        let fields = Fields::new(metadata, &path, |path, error| {
            LabError::model("read", path)(error)
        });
        let player = player(&fields)?;
        let episodes = fields.get("episodes", "a number", |text| text.parse().ok())?;
        let session = registry::session(&player, Rule::Td, 0.0)?;
        session
            .read(&saved, Keep::Weights)
            .map_err(LabError::model("read", &path))?;
        Ok(Self {
            player,
            episodes,
            path,
            session,
        })
    }

    /// The game and the board, as in `2048 on 4x4`.
    pub fn game(&self) -> String {
        game_on(&self.player.game, self.player.shape())
    }
}

/// The metadata of a player after so many games.
pub(crate) fn metadata(player: &Player, recipe: &Recipe, episodes: u64) -> Metadata {
    let hint = player.tuples.by_hint();
    let entries = [
        ("afterstate", VERSION.to_owned()),
        ("game", player.game.clone()),
        ("board", player.shape().to_string()),
        (TUPLES, player.tuples.to_string()),
        ("symmetry", player.tuples.symmetry().to_string()),
        ("value", word(&player.value)),
        ("ties", word(&player.ties)),
        ("rule", word(&recipe.learner.rule)),
        ("episodes", episodes.to_string()),
        ("recipe", recipe.to_toml()),
    ];
    let hint = hint.then(|| ("hint", "true".to_owned()));
    let entries = entries.into_iter().chain(hint);
    entries
        .map(|(key, value)| (key.to_owned(), value))
        .collect()
}

fn player(fields: &Fields<'_>) -> Result<Player, LabError> {
    let text = |key, expected| fields.get(key, expected, |text| Some(text.to_owned()));
    fields.get(
        "afterstate",
        "1 (a newer version needs a newer program)",
        |v| (v == VERSION).then_some(()),
    )?;
    let game = text("game", "the name of a game")?;
    let (rows, cols) = fields.get("board", "a size such as 4x4", |text| parse_board(text).ok())?;
    let symmetry = fields.get("symmetry", "true or false", |text| {
        bool::from_str(text).ok()
    })?;
    let tuples = text(TUPLES, "patterns such as 012345")?;
    let hint = fields.has("hint")
        && fields.get("hint", "true or false", |text| bool::from_str(text).ok())?;
    let tuples = TupleSet::parse(&tuples, registry::shape(rows, cols)?, symmetry)?;
    Ok(Player {
        tuples: registry::tuples_of(&game, tuples, hint)?,
        game,
        value: fields.get("value", "afterstate or state", from_word::<ValueOf>)?,
        ties: fields.get("ties", "order or random", from_word::<Ties>)?,
    })
}

/// The word that serde has for a variant, so that files and recipes say the same.
fn word(variant: &impl Serialize) -> String {
    match serde_json::to_value(variant) {
        Ok(serde_json::Value::String(word)) => word,
        _ => String::new(),
    }
}

fn from_word<T: DeserializeOwned>(word: &str) -> Option<T> {
    serde_json::from_value(serde_json::Value::String(word.to_owned())).ok()
}
