//! The players of a folder: which of its entries play, how each is started, and why the others do
//! not play.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;

use afterstate::game::Shape;
use serde::{Deserialize, Serialize};

use crate::LabError;
use crate::error::{FileKind, game_on};
use crate::evaluate::Contender;
use crate::foreign::extension;
use crate::model::Model;
use crate::referee::{AgentPlayer, PlayerSource};
use crate::run::recipe_path;
use crate::solve::Solution;

/// A player of a tournament.
#[derive(Clone, Debug)]
pub struct Entrant {
    /// Its name: that of its file or folder.
    pub name: String,
    /// How it is started, or why it cannot play.
    pub player: Result<PlayerSource, String>,
}

impl Entrant {
    /// A model or a baseline, which plays in this process.
    pub fn of_contender(name: &str, contender: &Contender) -> Self {
        Self {
            name: name.to_owned(),
            player: Ok(PlayerSource::Agent(AgentPlayer {
                name: name.to_owned(),
                agent: Arc::clone(&contender.agent),
            })),
        }
    }
}

/// An entry of the folder that is not a player.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skipped {
    /// Its name.
    pub name: String,
    /// Why it does not play.
    pub reason: String,
}

/// What a folder has.
#[derive(Clone, Debug, Default)]
pub struct Entrants {
    /// Its players, by name.
    pub players: Vec<Entrant>,
    /// Its other entries.
    pub skipped: Vec<Skipped>,
}

/// The program of a player that is a folder, and the same in Python.
const PLAYER: &str = "player";
const PLAYER_PY: &str = "player.py";
/// The interpreter of files that end with `.py` and are not executable.
const PYTHON: &str = "python3";
/// How the names of models and solutions end.
const MODELS: [&str; 4] = ["safetensors", "solution", "w", "packed"];

const HIDDEN: &str = "its name begins with a dot";
const NOT_EXECUTABLE: &str = "it is not executable, nor a .py file or a model";
const NO_PLAYER: &str =
    "a folder without an executable `player`, a `player.py` or the `recipe.toml` of a run";

/// Finds the players of a folder, which are to play this game.
///
/// # Errors
/// When the folder cannot be read, or the game is unknown.
pub fn find(folder: &Path, game: &str, shape: Shape) -> Result<Entrants, LabError> {
    crate::games::rules(game)?;
    // Programs are started in folders of their own, so that their paths must be absolute.
    let whole = fs::canonicalize(folder).map_err(LabError::file("read", folder))?;
    let entries = fs::read_dir(&whole).map_err(LabError::file("read", folder))?;
    let mut names: Vec<OsString> = entries
        .map(|entry| entry.map(|entry| entry.file_name()))
        .collect::<Result<_, _>>()
        .map_err(LabError::file("read", folder))?;
    names.sort();
    let mut found = Entrants::default();
    for file_name in names {
        let name = file_name.to_string_lossy().into_owned();
        match of_entry(&whole.join(&file_name), &name, game, shape) {
            Ok(player) => found.players.push(Entrant { name, player }),
            Err(reason) => found.skipped.push(Skipped { name, reason }),
        }
    }
    match found.players.is_empty() {
        true => Err(LabError::NoPlayers(folder.to_owned())),
        false => Ok(found),
    }
}

/// The player of an entry, which may be unable to play; or why it is none.
fn of_entry(
    path: &Path,
    name: &str,
    game: &str,
    shape: Shape,
) -> Result<Result<PlayerSource, String>, String> {
    if name.starts_with('.') {
        return Err(HIDDEN.to_owned());
    }
    let about = fs::metadata(path).map_err(|error| format!("it cannot be read: {error}"))?;
    let program = |words: Vec<OsString>, folder: &Path| {
        Ok(Ok(PlayerSource::Entrant {
            name: name.to_owned(),
            words,
            folder: folder.to_owned(),
        }))
    };
    let python = |file: &Path| vec![PYTHON.into(), file.into()];
    if about.is_dir() {
        let [player, player_py] = [PLAYER, PLAYER_PY].map(|file| path.join(file));
        return match () {
            () if is_executable(&player) => program(vec![player.into()], path),
            () if player_py.is_file() => program(python(&player_py), path),
            () if recipe_path(path).is_file() => Ok(of_model(path, name, game, shape)),
            () => Err(NO_PLAYER.to_owned()),
        };
    }
    let folder = path.parent().unwrap_or(path);
    let extension = extension(path);
    match () {
        () if !about.is_file() => Err("it is neither a file nor a folder".to_owned()),
        () if MODELS.contains(&extension) => Ok(of_model(path, name, game, shape)),
        () if is_executable(path) => program(vec![path.into()], folder),
        () if extension == "py" => program(python(path), folder),
        () => Err(NOT_EXECUTABLE.to_owned()),
    }
}

fn is_executable(path: &Path) -> bool {
    let about = fs::metadata(path);
    about.is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
}

/// A model or a solution of the game, or why it cannot play.
fn of_model(path: &Path, name: &str, game: &str, shape: Shape) -> Result<PlayerSource, String> {
    let contender = match Model::open(path) {
        Err(LabError::Kind {
            found: FileKind::Solution,
            ..
        }) => Solution::open(path)
            .and_then(|solution| Contender::exact(Arc::new(solution), path))
            .map_err(|error| error.to_string())?,
        model => Contender::from(&model.map_err(|error| error.to_string())?),
    };
    let (found, expected) = (contender.game_on(), game_on(game, shape));
    match found == expected {
        true => Entrant::of_contender(name, &contender).player,
        false => Err(format!("it plays {found}, not {expected}")),
    }
}
