//! What requests about games contain, and what the answers do.

use afterstate_lab::session::SpawnChoice;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::api::{default_board, default_game};

/// A game to begin.
#[derive(Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct NewGame {
    /// The game; 2048 by default.
    #[serde(default = "default_game")]
    pub game: String,
    /// The board, as in `4x4`.
    #[serde(default = "default_board")]
    pub board: String,
    /// The seed of random spawns; any by default.
    #[schema(format = "uint64")]
    pub seed: Option<u64>,
    /// A board to begin on, in any notation that `analyze` reads.
    pub position: Option<String>,
    /// Actions that were made, in the words of episode records: `0111#L`. With `position`, those
    /// after it.
    pub actions: Option<String>,
    /// Whether the initial tiles wait to be placed by hand.
    pub manual: bool,
}

/// A game in progress.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct GameView {
    /// Its name.
    pub id: String,
    /// The game.
    pub game: String,
    /// The board.
    pub board: String,
    /// Rows of the board.
    pub rows: usize,
    /// Columns of the board.
    pub cols: usize,
    /// The values of the tiles in row-major order, 0 for an empty cell.
    pub cells: Vec<u64>,
    /// `slide`, `spawn` or `over`.
    pub turn: String,
    /// The score.
    pub score: u64,
    /// The number of slides.
    pub moves: u64,
    /// The actions that are made, and all that are known: undo and redo move between them.
    pub made: usize,
    /// All actions.
    pub actions: usize,
    /// The initial tiles that are still to be placed.
    pub initial: usize,
    /// The reward of each slide: up, right, down, left; null if it is illegal.
    pub slides: Vec<Option<u32>>,
    /// The next tile, in games that show it: `1`, `2`, `3` or `bonus`.
    pub hint: Option<String>,
    /// The board as text, for `analyze`; null while a tile is to spawn.
    pub position: Option<String>,
    /// What may spawn now.
    pub spawns: Vec<PossibleSpawn>,
}

/// A spawn that may come.
#[derive(Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PossibleSpawn {
    /// The cell, from 0, in row-major order.
    pub cell: usize,
    /// The value of the tile.
    pub tile: u64,
    /// The hint after it, in games that show one.
    pub hint: Option<String>,
    /// Its chance.
    pub chance: f64,
}

/// What an action has changed.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct ActionResult {
    /// The game now.
    pub game: GameView,
    /// What happened, in order; empty if more than one move was made.
    pub events: Vec<Happened>,
    /// The actions that were made, in the words of episode records.
    pub tokens: Vec<String>,
}

/// A slide or a spawn.
#[derive(Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "event", rename_all = "lowercase")]
pub enum Happened {
    /// A slide.
    Slide {
        /// Its direction.
        direction: String,
        /// Its reward.
        reward: u32,
        /// Where the tile of each cell goes; null for an empty cell.
        to: Vec<Option<usize>>,
        /// The tiles after it.
        cells: Vec<u64>,
    },
    /// A spawn.
    Spawn {
        /// The cell.
        cell: usize,
        /// The value of the tile.
        tile: u64,
    },
}

/// How far to undo or redo.
#[derive(Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct JumpRequest {
    /// The number of slides that are made then; one less or more by default.
    #[schema(format = "uint64")]
    pub to: Option<u64>,
}

/// A slide.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SlideRequest {
    /// `up`, `right`, `down` or `left`.
    #[schema(pattern = "^(up|right|down|left)$")]
    pub direction: String,
    /// How the new tile comes.
    #[serde(default)]
    #[schema(value_type = String, pattern = "^(random|manual|worst|best)$", default = "random")]
    pub spawns: SpawnChoice,
    /// The model by which spawns are the worst or the best; the network in the program by default, or
    /// else the newest run.
    #[serde(default)]
    pub model: Option<String>,
}

/// A spawn by hand.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SpawnRequest {
    /// The cell, from 0, in row-major order; with `tile`. Without them the tile comes by chance.
    #[serde(default)]
    pub cell: Option<usize>,
    /// The value of the tile.
    #[serde(default)]
    #[schema(format = "uint64")]
    pub tile: Option<u64>,
    /// The hint after it, in games that show one.
    #[serde(default)]
    pub hint: Option<String>,
}

/// Moves of a model.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AutoRequest {
    /// The most moves; fewer are made if they take longer than a quarter of a second.
    #[serde(default = "one")]
    #[schema(minimum = 1, maximum = 5000)]
    pub moves: u32,
    /// How new tiles come.
    #[serde(default)]
    #[schema(value_type = String, pattern = "^(random|manual|worst|best)$", default = "random")]
    pub spawns: SpawnChoice,
    /// The model; the network in the program by default, or else the newest run.
    #[serde(default)]
    pub model: Option<String>,
    /// How it searches: `1ply`, `3ply`, `100ms`.
    #[serde(default)]
    pub search: Option<String>,
}

fn one() -> u32 {
    1
}
