//! A lesson in temporal-difference learning: one game, with every number of every update.
//!
//! A new network learns some games, then one more, of which each step is written down: the state,
//! its slides, the afterstate, every spawn with its chance, then the update: value, target, error,
//! and each weight before and after. With rewards r between two positions p and p' of the game,
//!
//! - forward: V(p) moves towards r + V(p'), as soon as p' is known;
//! - backward: from the last move to the first, V(p) moves towards r + z, then
//!   z = lambda (r + z) + (1 - lambda) V(p).
//!
//! The positions are afterstates or states; rewards and ends follow from that. The game is played by
//! [`Grid`], one line at a time: a lesson is read by people.
//!
//! Numbers have two times. Those of [`LessonSlide`] are of the choice of the move; those of
//! [`LessonSpawn`] and [`LessonUpdate`] are of the update, before a weight moves. Between the two, a
//! forward learner updates the move before, and a backward learner all moves after.

mod small;
mod teach;

use afterstate::game::{Grid, Shape};
use afterstate::ntuple::{AfterstateNetwork, NetworkOptions, StateNetwork, Tc, Td, TupleSet};
use serde::{Deserialize, Serialize};

use crate::LabError;
use crate::control::Control;
use crate::error::game_on;
use crate::evaluate::Contender;
use crate::games;
use crate::recipe::{Rule, ValueOf};
use crate::spec::tuples_of;
pub use small::SmallSolutions;
use teach::Teacher;

/// The most games that are learned before the one that is written down, on boards of up to nine
/// cells. There they take a few seconds.
const MOST_GAMES: u64 = 20_000;
/// The same on larger boards, whose games are longer.
const MOST_LONG_GAMES: u64 = 5_000;
/// The most steps that are written down.
pub const MOST_STEPS: usize = 400;
/// The most bytes of a network of a lesson.
const MOST_BYTES: u64 = 512 << 20;

/// The most games that are learned before the one that is written down.
pub fn most_games(shape: Shape) -> u64 {
    match shape.cells() {
        0..=9 => MOST_GAMES,
        _ => MOST_LONG_GAMES,
    }
}

/// The options of a lesson.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LessonOptions {
    /// The game.
    pub game: String,
    /// Its board, as in `2x3`.
    pub board: String,
    /// The tuples: a named set or patterns.
    pub tuples: String,
    /// Which positions have a value.
    pub value: ValueOf,
    /// How the step of a weight follows from the error.
    pub rule: Rule,
    /// Whether values are updated from the end of the game, or as soon as the next move is chosen.
    pub backward: bool,
    /// Lambda, where values are updated backward.
    pub lambda: f32,
    /// The learning rate.
    pub learning_rate: f32,
    /// The games that are learned before.
    pub games: u64,
    /// The seed of all games.
    pub seed: u64,
}

impl Default for LessonOptions {
    fn default() -> Self {
        Self {
            game: games::DEFAULT_GAME.to_owned(),
            board: "2x3".to_owned(),
            tuples: "lines".to_owned(),
            value: ValueOf::Afterstate,
            rule: Rule::Td,
            backward: false,
            lambda: 0.0,
            learning_rate: 0.1,
            games: 100,
            seed: 1,
        }
    }
}

/// A game with every number of what was learned from it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Lesson {
    /// Its options.
    pub options: LessonOptions,
    /// The tuples, as patterns of cells.
    pub patterns: Vec<String>,
    /// The number of lookups of one value, m.
    pub lookups: usize,
    /// The mean score of the last games that were learned before, up to 100 of them; `None` without
    /// any.
    pub mean: Option<f64>,
    /// The steps of the game, in its order.
    pub steps: Vec<LessonStep>,
    /// The tiles at its end, by value.
    pub end: Vec<u64>,
    /// Its score.
    pub score: u64,
    /// Its moves, of which the first are written down.
    pub moves: usize,
}

/// A move, the spawn after it, and the update of the value of the position.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LessonStep {
    /// The tiles of the state, by value.
    pub state: Vec<u64>,
    /// Its slides.
    pub slides: Vec<LessonSlide>,
    /// The slide that is made: its place among them.
    pub chosen: usize,
    /// The tiles of the afterstate.
    pub afterstate: Vec<u64>,
    /// Every spawn that may come, with values as they are before the update.
    pub spawns: Vec<LessonSpawn>,
    /// The one that comes: its place among them.
    pub drawn: usize,
    /// The update.
    pub update: LessonUpdate,
}

/// A slide of a state, with values as they were when the move was chosen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LessonSlide {
    /// The direction.
    pub direction: String,
    /// Its reward.
    pub reward: u32,
    /// The value of the rest of the game: V of the afterstate, or the mean of V over its spawns.
    pub value: f32,
    /// Their sum, which the player maximises.
    pub total: f32,
    /// What the total is under perfect play, where the board is small enough to be solved.
    pub exact: Option<f64>,
}

/// A spawn after a slide.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LessonSpawn {
    /// The cell.
    pub cell: usize,
    /// The value of the tile.
    pub tile: u64,
    /// The next tile that it shows, in games with a hint: its index, or `bonus`.
    pub hint: Option<String>,
    /// Its reward.
    pub reward: u32,
    /// Its chance.
    pub chance: f64,
    /// The value of the state with it: V of the state, or of its best slide the reward plus V.
    pub value: f32,
    /// Whether the game is over there. The target is then 0 after the reward; V of a state is what
    /// the network looks up all the same.
    pub is_over: bool,
}

/// The update of the value of one position.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LessonUpdate {
    /// When it is made: 0 for the first one.
    pub order: usize,
    /// The tiles of the position, by value.
    pub position: Vec<u64>,
    /// The reward between this position and the next one.
    pub reward: f32,
    /// What is added to it: the value of the next position, or z; 0 at the end.
    pub next: f32,
    /// What z is made of; `None` for forward updates, and at the end.
    pub carried: Option<LessonReturn>,
    /// The mean over every spawn of its reward plus value. For states it is the value of the slide;
    /// for afterstates it is what the target is on average.
    pub mean: f64,
    /// Their sum.
    pub target: f32,
    /// The value before.
    pub value: f32,
    /// Target minus value.
    pub error: f32,
    /// The value after.
    pub after: f32,
    /// What the value is under perfect play, where the board is small enough to be solved.
    pub exact: Option<f64>,
    /// Its lookups, each weight once.
    pub weights: Vec<LessonWeight>,
}

/// The return that goes from an update to that of the move before it:
/// z = lambda target + (1 - lambda) after.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LessonReturn {
    /// The target of the move after this one.
    pub target: f32,
    /// The value of its position after its update.
    pub after: f32,
}

/// A weight of a position.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LessonWeight {
    /// The number of its tuple.
    pub tuple: usize,
    /// The cells that it reads, for each symmetry that finds it.
    pub cells: Vec<Vec<usize>>,
    /// Its index in the table.
    pub index: usize,
    /// Its value before the update, for one lookup.
    pub before: f32,
    /// Its value after.
    pub after: f32,
    /// |E| / A before the update, with TC: the share of the learning rate that its first lookup
    /// takes.
    pub coherence: Option<f32>,
    /// The sums of TC before the update.
    pub sums: Option<LessonSums>,
    /// The sums of TC after it.
    pub sums_after: Option<LessonSums>,
}

/// The sums of TC beside a weight.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LessonSums {
    /// E: the sum of all errors.
    pub error: f32,
    /// A: the sum of their absolute values.
    pub absolute: f32,
}

impl LessonSums {
    /// |E| / A; 1 before the first update.
    fn coherence(self) -> f32 {
        match self.absolute > 0.0 {
            true => self.error.abs() / self.absolute,
            false => 1.0,
        }
    }
}

/// Plays and learns the games of a lesson; `None` if it is cancelled.
///
/// # Errors
/// When an option is refused, or there is not enough memory.
pub fn lesson(options: &LessonOptions, control: &Control) -> Result<Option<Lesson>, LabError> {
    lesson_beside(None, options, control)
}

/// The same beside the exact values of a solution, where one of the game and board is at hand. If
/// none is, a small board is solved: see [`SmallSolutions`].
///
/// # Errors
/// As [`lesson`].
pub fn lesson_beside(
    solution: Option<&Contender>,
    options: &LessonOptions,
    control: &Control,
) -> Result<Option<Lesson>, LabError> {
    let shape = shape_of(&options.board)?;
    check(options, shape)?;
    let tuples = TupleSet::parse(&options.tuples, shape, true)?;
    let tuples = tuples_of(&options.game, tuples, false)?;
    let bytes = tuples.weights().saturating_mul(16);
    if bytes > MOST_BYTES {
        return Err(LabError::Memory {
            needed: bytes,
            available: MOST_BYTES,
        });
    }
    let reserved = control.memory().reserve(bytes);
    let _reserved = reserved.map_err(|over| LabError::Memory {
        needed: over.needed,
        available: over.available,
    })?;
    let network = NetworkOptions {
        coherence: options.rule == Rule::Tc,
        ..NetworkOptions::default()
    };
    let refused = |error: afterstate::ntuple::NetworkError| LabError::Layers(error.to_string());
    let rules = games::rules(&options.game)?;
    let game = Grid::new(shape, rules);
    let solution = solution.filter(|it| it.game == options.game && it.shape == shape);
    let solved = match solution {
        Some(_) => None,
        None => SmallSolutions::default().find(&options.game, shape, control)?,
    };
    let common = (game, options, solution.or(solved.as_deref()), control);
    match options.value {
        ValueOf::Afterstate => {
            let network = AfterstateNetwork::new(&tuples, &network).map_err(refused)?;
            let teacher = Teacher::new(common, &network);
            Ok(match options.rule {
                Rule::Td => teacher.teach::<Td>(),
                Rule::Tc => teacher.teach::<Tc>(),
            })
        }
        ValueOf::State => {
            let none = || LabError::NoStates(game_on(&options.game, shape));
            let bits = tuples.tile_bits() == StateNetwork::TILE_BITS;
            let spawns = rules.uniform_spawns().filter(|_| bits).ok_or_else(none)?;
            let network = StateNetwork::new(&tuples, &network, spawns).map_err(refused)?;
            let teacher = Teacher::new(common, &network);
            Ok(match options.rule {
                Rule::Td => teacher.teach::<Td>(),
                Rule::Tc => teacher.teach::<Tc>(),
            })
        }
        ValueOf::Action => Err(LabError::NoActions),
    }
}

fn shape_of(board: &str) -> Result<Shape, LabError> {
    let (rows, cols) = crate::recipe::parse_board(board)?;
    games::shape(rows, cols)
}

/// Refuses what has no meaning or no effect.
fn check(options: &LessonOptions, shape: Shape) -> Result<(), LabError> {
    let most = most_games(shape);
    let fault = if options.games > most {
        format!(
            "{} games on {shape}; expected at most {most}",
            options.games
        )
    } else if !(options.learning_rate > 0.0 && options.learning_rate <= 10.0) {
        let found = options.learning_rate;
        format!("a learning rate of {found}; expected one above 0, at most 10")
    } else if !(0.0..=1.0).contains(&options.lambda) {
        format!("a lambda of {}; expected one from 0 to 1", options.lambda)
    } else if options.lambda > 0.0 && !options.backward {
        "a lambda has an effect only where values are updated backward".to_owned()
    } else {
        return Ok(());
    };
    Err(LabError::Lesson(fault))
}

#[cfg(test)]
mod tests;
