//! Networks in the program itself: packed models, by game and board.
//!
//! Each is in a data crate of its own, which embeds one file. A boxed network has a name,
//! `box:GAME-BOARD`, that stands wherever the path of a model does.
//!
//! To add a network, make a crate as `crates/box-2048`: the packed file, its `MODEL_CARD.md` and one line
//! of code. Name it in `Cargo.toml` of the workspace and of this crate, and in `ALL`; the tests compare
//! the file with its card.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use afterstate::format::native::NativeError;
use afterstate::game::Shape;
use sha2::{Digest, Sha256};

use crate::LabError;
use crate::disk::{hex, sha256};
use crate::packed::PackedTables;
use crate::tables::StoredTables;

/// A network in the program.
#[derive(Clone, Copy)]
pub struct Boxed {
    game: &'static str,
    rows: usize,
    cols: usize,
    bytes: &'static [u8],
}

/// The networks of the data crates.
const ALL: [Boxed; 3] = [
    Boxed::four_by_four("2048", afterstate_box_2048::NETWORK),
    Boxed::four_by_four("threes", afterstate_box_threes::NETWORK),
    Boxed::four_by_four("threes-original", afterstate_box_threes_original::NETWORK),
];

/// What a path to a boxed network begins with.
const PREFIX: &str = "box:";

/// All networks in the program.
pub fn all() -> impl Iterator<Item = Boxed> {
    ALL.into_iter()
}

/// The network of a game and board, if there is one.
pub fn of(game: &str, shape: Shape) -> Option<Boxed> {
    of_game(all(), game, shape)
}

/// The network of this name, if it is one: `box:2048-4x4`.
pub fn named(path: &Path) -> Option<Boxed> {
    of_name(all(), path)
}

/// The SHA-256 of the file at a path, or of the network of this name.
///
/// # Errors
/// When the file cannot be read.
pub(crate) fn sha256_of(path: &Path) -> Result<String, LabError> {
    match named(path) {
        Some(boxed) => Ok(boxed.sha256()),
        None => sha256(path).map_err(LabError::file("read", path)),
    }
}

/// Refuses the name of a boxed network that there is not.
///
/// # Errors
/// When a path has the form of such a name, but there is neither a network nor a file of that name.
pub(crate) fn check_name(path: &Path) -> Result<(), LabError> {
    if !looks_like_a_name(path) || named(path).is_some() {
        return Ok(());
    }
    let known: Vec<String> = all()
        .map(|boxed| boxed.path().display().to_string())
        .collect();
    Err(LabError::NoBox {
        name: path.to_owned(),
        known: known.join(", "),
    })
}

/// Whether a path begins as a name does. A file of that name is a file.
fn looks_like_a_name(path: &Path) -> bool {
    path.to_str().is_some_and(|path| path.starts_with(PREFIX)) && !path.exists()
}

/// That of a game and board.
fn of_game(mut boxes: impl Iterator<Item = Boxed>, game: &str, shape: Shape) -> Option<Boxed> {
    boxes.find(|boxed| {
        boxed.game == game && boxed.rows == shape.rows() && boxed.cols == shape.cols()
    })
}

/// That of a name.
fn of_name(mut boxes: impl Iterator<Item = Boxed>, path: &Path) -> Option<Boxed> {
    let is_name = looks_like_a_name(path);
    boxes.find(|boxed| is_name && boxed.path() == path)
}

impl Boxed {
    const fn four_by_four(game: &'static str, bytes: &'static [u8]) -> Self {
        let (rows, cols) = (4, 4);
        Self {
            game,
            rows,
            cols,
            bytes,
        }
    }

    /// Its name, which stands for the path of a model.
    pub fn path(&self) -> PathBuf {
        PathBuf::from(format!("{PREFIX}{}-{}x{}", self.game, self.rows, self.cols))
    }

    /// Its game.
    pub fn game(&self) -> &'static str {
        self.game
    }

    /// Its board, as in `4x4`.
    pub fn board(&self) -> String {
        format!("{}x{}", self.rows, self.cols)
    }

    /// The SHA-256 digest of its file, in hexadecimal digits.
    pub fn sha256(&self) -> String {
        hex(&Sha256::digest(self.bytes))
    }

    /// Its bytes.
    pub fn bytes(&self) -> &'static [u8] {
        self.bytes
    }

    pub(crate) fn open(&self) -> Result<StoredTables, LabError> {
        let tables = PackedTables::of_bytes(Cow::Borrowed(self.bytes));
        let tables =
            tables.map_err(|error: NativeError| LabError::model("read", &self.path())(error));
        Ok(StoredTables::of_packed(tables?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::quiet;
    use crate::model::Model;
    use crate::numbers::grouped;
    use crate::pack::{PackOptions, pack};
    use crate::recipe::Recipe;
    use crate::trainer::Trainer;

    /// A packed model as bytes that live as long as a boxed network.
    fn packed() -> &'static [u8] {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("run"), folder.path().join("a.packed"));
        let overrides = ["tuples=012 345", "board=3x3", "episodes=50", "threads=1"];
        let recipe = Recipe::load("quick", &overrides.map(str::to_owned)).unwrap();
        let mut trainer = Trainer::new(recipe, &from, quiet()).unwrap();
        trainer.train().unwrap();
        let options = PackOptions {
            from: &from,
            to: &to,
            limit: 1 << 20,
            games: 0,
            seed: 1,
            threads: 1,
            force: false,
            control: quiet(),
        };
        pack(&options).unwrap();
        std::fs::read(&to).unwrap().leak()
    }

    #[test]
    fn a_boxed_network_is_found_by_game_and_name() {
        let bytes = packed();
        let some = [(3, 3), (3, 4)].map(|(rows, cols)| Boxed {
            rows,
            cols,
            ..Boxed::four_by_four("2048", bytes)
        });
        let of = |game: &str, (rows, cols)| {
            let shape = crate::games::shape(rows, cols).unwrap();
            of_game(some.into_iter(), game, shape)
        };
        for (shape, name) in [((3, 3), "box:2048-3x3"), ((3, 4), "box:2048-3x4")] {
            assert_eq!(of("2048", shape).unwrap().path(), Path::new(name));
            let named = of_name(some.into_iter(), Path::new(name)).unwrap();
            assert_eq!((named.rows, named.cols), shape);
        }
        // Another board, another game.
        assert!(of("2048", (4, 4)).is_none());
        assert!(of("2048", (4, 3)).is_none());
        assert!(of("threes", (3, 3)).is_none());
        for path in ["box:2048-4x4", "box:threes-3x3", "2048-3x3", "box:"] {
            assert!(
                of_name(some.into_iter(), Path::new(path)).is_none(),
                "{path}"
            );
        }

        let boxed = of("2048", (3, 3)).unwrap();
        assert_eq!((boxed.game(), &*boxed.board()), ("2048", "3x3"));
        assert_eq!(boxed.bytes(), bytes);
        assert_eq!(boxed.sha256(), hex(&Sha256::digest(bytes)));
        assert_eq!(boxed.open().unwrap().metadata()["board"], "3x3");
        let cut = Boxed {
            bytes: &bytes[..bytes.len() - 1],
            ..boxed
        };
        assert!(cut.open().is_err());
    }

    /// Each can be played, is found by its game, and has the digest in its model card.
    #[test]
    fn boxed_networks_are_what_they_are_called() {
        let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        for boxed in all() {
            let path = boxed.path();
            let model = Model::open(&path).unwrap();
            let shape = model.spec.shape();
            assert_eq!((model.spec.game(), shape.rows()), (boxed.game, boxed.rows));
            assert_eq!(of(boxed.game, shape).unwrap().path(), path);
            assert_eq!(named(&path).unwrap().path(), path);
            let mut info = model.info();
            info.hash().unwrap();
            assert_eq!(info.sha256, Some(boxed.sha256()));
            assert_eq!(sha256_of(&path).unwrap(), boxed.sha256());
            let card = crates.join(format!("box-{}/MODEL_CARD.md", boxed.game()));
            let card = std::fs::read_to_string(card).unwrap();
            // Its figures are those of the file.
            let bytes = boxed.bytes().len();
            let episodes = model.episodes.unwrap();
            let figures = [
                boxed.sha256(),
                grouped(bytes as f64),
                grouped(episodes as f64),
            ];
            for figure in figures {
                assert!(card.contains(&figure), "{}: {figure}", boxed.game());
            }
            let most = if boxed.game() == "2048" { 9 } else { 5 };
            assert!(bytes <= most << 20, "{bytes}");
        }
    }

    #[test]
    fn other_paths_are_no_boxed_networks() {
        for path in ["box:chess-8x8", "2048-4x4", "box:", "runs/quick"] {
            assert!(named(Path::new(path)).is_none(), "{path}");
            let checked = check_name(Path::new(path));
            assert_eq!(checked.is_err(), path.starts_with("box:"), "{path}");
            if let Err(error) = checked {
                let error = error.to_string();
                assert!(
                    error.contains(path) && error.contains("box:2048-4x4"),
                    "{error}"
                );
            }
        }
        assert!(check_name(Path::new("box:2048-4x4")).is_ok());
        assert!(of("2048", crate::games::shape(2, 3).unwrap()).is_none());
    }
}
