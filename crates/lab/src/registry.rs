//! From words to types: the one place where names of games, values and rules become code.
//!
//! Everything past here is generic, and compiled for each game and each kind of network: [`Session`] is the face of it.

#[cfg(test)]
mod toy;

use std::path::Path;

use afterstate::format::native::Keep;
use afterstate::game::{
    Fast2048, Fibonacci, FastFibonacci, FastThrees, Game, Grid, Rules, Shape, PackedGrid, Threes, PowersOfTwo,
};
use afterstate::ntuple::TupleSet;
use afterstate::solve::Packed;

use crate::LabError;
use crate::deep::DeepPlayer;
use crate::error::game_on;
use crate::recipe::{Kind, Recipe, Rule, Ties, Update, ValueOf, parse_board};
use crate::session::{Playing, Session, deep, of_afterstates, of_game, of_memory};
use crate::tables::Saved;

/// Every game there is. A new one is a line here: `Family::Slow(&Toy)` plays it on every board.
const GAMES: &[(&str, Family)] = &[
    ("2048", Family::PowersOfTwo),
    ("threes", Family::Threes(&Threes::Course)),
    ("threes-hint", Family::Threes(&Threes::Hint)),
    ("threes-original", Family::Threes(&Threes::Original)),
    ("2584", Family::Fibonacci(&Fibonacci::OneTwo)),
    ("2584-three", Family::Fibonacci(&Fibonacci::OneThree)),
    #[cfg(test)]
    ("toy", Family::Slow(&toy::Toy)),
];

/// The game of those who name none, and the only one of most other programs.
pub const USUAL_GAME: &str = "2048";

/// Games that have fast paths in common.
#[derive(Clone, Copy)]
enum Family {
    PowersOfTwo,
    Threes(&'static Threes),
    Fibonacci(&'static Fibonacci),
    /// By its rules alone.
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "all games so far have a fast path")
    )]
    Slow(&'static dyn Rules),
}

impl Family {
    fn of(name: &str) -> Result<Self, LabError> {
        let found = GAMES.iter().find(|(known, _)| *known == name);
        found
            .map(|(_, family)| *family)
            .ok_or_else(|| LabError::UnknownGame {
                found: name.to_owned(),
                known: games().collect(),
            })
    }

    fn rules(self) -> &'static dyn Rules {
        match self {
            Self::PowersOfTwo => &PowersOfTwo,
            Self::Threes(rules) => rules,
            Self::Fibonacci(rules) => rules,
            Self::Slow(rules) => rules,
        }
    }
}

/// The names of all games.
pub fn games() -> impl Iterator<Item = &'static str> {
    GAMES.iter().map(|(name, _)| *name)
}

/// The rules of a game, by its name.
///
/// # Errors
/// When there is no such game.
pub fn rules(name: &str) -> Result<&'static dyn Rules, LabError> {
    Family::of(name).map(Family::rules)
}

/// What a player is, whichever kind of network it has.
#[derive(Clone, Debug, PartialEq)]
pub enum AnyPlayer {
    /// Tables of tuples.
    Tuples(Player),
    /// Convolutions and linear layers.
    Deep(DeepPlayer),
}

impl AnyPlayer {
    /// The player that a recipe trains.
    ///
    /// # Errors
    /// When the game is unknown, or the network does not fit the board.
    pub fn of(recipe: &Recipe) -> Result<Self, LabError> {
        match recipe.network.kind {
            Kind::Tuples => Player::of(recipe).map(Self::Tuples),
            Kind::Deep => DeepPlayer::of(recipe).map(Self::Deep),
        }
    }

    /// The game, by one of the names of [`games`].
    pub fn game(&self) -> &str {
        match self {
            Self::Tuples(player) => &player.game,
            Self::Deep(player) => &player.game,
        }
    }

    /// The board.
    pub fn shape(&self) -> Shape {
        match self {
            Self::Tuples(player) => player.shape(),
            Self::Deep(player) => player.shape,
        }
    }

    /// Whether it treats all images of a board alike.
    pub fn is_symmetric(&self) -> bool {
        match self {
            Self::Tuples(player) => player.tuples.symmetry(),
            Self::Deep(_) => false,
        }
    }
}

/// What a player with tuples is: enough to make its network, and all that a model file must remember.
#[derive(Clone, Debug, PartialEq)]
pub struct Player {
    /// The game, by one of the names of [`games`].
    pub game: String,
    /// The tuples on their board.
    pub tuples: TupleSet,
    /// What the values are of.
    pub value: ValueOf,
    /// How equal moves are settled.
    pub ties: Ties,
}

impl Player {
    /// The player that a recipe trains.
    ///
    /// # Errors
    /// When the game is unknown, or the tuples do not fit the board.
    pub fn of(recipe: &Recipe) -> Result<Self, LabError> {
        let (rows, cols) = parse_board(&recipe.board)?;
        let shape = shape(rows, cols)?;
        let network = &recipe.network;
        let tuples = TupleSet::parse(&network.tuples, shape, network.symmetry)?;
        Ok(Self {
            tuples: tuples_of(&recipe.game, tuples, network.hint)?,
            game: recipe.game.clone(),
            value: recipe.learner.value,
            ties: recipe.learner.ties,
        })
    }

    /// The board.
    pub fn shape(&self) -> Shape {
        self.tuples.shape()
    }
}

/// A board size as a shape.
///
/// # Errors
/// When it is not within 2x2 to 5x5.
pub fn shape(rows: usize, cols: usize) -> Result<Shape, LabError> {
    Shape::new(rows, cols).ok_or_else(|| {
        LabError::Board(format!("a board of {rows}x{cols} is not within 2x2 to 5x5"))
    })
}

/// Tuples as a game needs them: with room for its tiles, and with tables by hint if that is wanted.
///
/// # Errors
/// When there is no such game, or it shows no hint.
pub(crate) fn tuples_of(game: &str, tuples: TupleSet, hint: bool) -> Result<TupleSet, LabError> {
    let (rules, shape) = (rules(game)?, tuples.shape());
    if hint && !rules.shows_hint(shape) {
        return Err(LabError::NoHint(game_on(game, shape)));
    }
    let tuples = tuples.with_tile_bits(rules.tile_bits(shape));
    Ok(tuples.with_hints(hint))
}

/// Something to do with a game that can be solved, whichever it is.
pub(crate) trait OnGame {
    /// What comes of it.
    type Output;

    /// Does it.
    fn on<G: Game<State: Packed, After: Packed>>(self, game: G) -> Self::Output;
}

/// Does something with the game of this name.
pub(crate) fn on_game<T: OnGame>(name: &str, shape: Shape, task: T) -> Result<T::Output, LabError> {
    fn small<R: Rules + Copy, T: OnGame>(shape: Shape, rules: &'static R, task: T) -> T::Output {
        match PackedGrid::new(shape, *rules) {
            Some(game) => task.on(game),
            None => task.on(Grid::new(shape, rules)),
        }
    }
    Ok(match Family::of(name)? {
        Family::PowersOfTwo => small(shape, &PowersOfTwo, task),
        Family::Threes(rules) => small(shape, rules, task),
        Family::Fibonacci(rules) => small(shape, rules, task),
        Family::Slow(rules) => task.on(Grid::new(shape, rules)),
    })
}

/// Something to do with a game, whichever it is, on the fastest board there is for it.
pub(crate) trait OnBoard {
    /// What comes of it.
    type Output;

    /// Does it.
    fn on<G: Game>(self, game: G) -> Self::Output;
}

/// Does something with the game of this name on its fastest board.
pub(crate) fn on_board<T: OnBoard>(
    name: &str,
    shape: Shape,
    task: T,
) -> Result<T::Output, LabError> {
    let family = Family::of(name)?;
    Ok(match family {
        Family::PowersOfTwo if shape == Shape::FOUR => task.on(Fast2048::new()),
        Family::Threes(&rules) if shape == Shape::FOUR => task.on(FastThrees::new(rules)),
        Family::Fibonacci(&rules) if shape == Shape::FOUR => task.on(FastFibonacci::new(rules)),
        _ => task.on(Grid::new(shape, family.rules())),
    })
}

/// Makes the network of a training, every position worth `initial`.
///
/// # Errors
/// When there is not enough memory, before any is taken.
pub fn training(
    player: &AnyPlayer,
    recipe: &Recipe,
    initial: f32,
) -> Result<Box<dyn Session>, LabError> {
    let player = match player {
        AnyPlayer::Tuples(player) => player,
        AnyPlayer::Deep(player) => return deep::training(player, recipe),
    };
    if recipe.learner.update != Update::Replay {
        return session(player, recipe.learner.rule, initial);
    }
    let (family, shape) = (Family::of(&player.game)?, player.shape());
    match family {
        Family::PowersOfTwo if shape == Shape::FOUR => of_memory(Fast2048::new(), player, recipe, initial),
        _ => of_memory(Grid::new(shape, family.rules()), player, recipe, initial),
    }
}

/// Makes a player's network and fills it from a file.
///
/// # Errors
/// When there is not enough memory, before any is taken, or the file does not hold this network.
pub(crate) fn playing(
    player: &AnyPlayer,
    saved: &Saved,
    path: &Path,
) -> Result<Box<dyn Playing>, LabError> {
    let wrong = LabError::model("read", path);
    let session: Box<dyn Playing> = match player {
        AnyPlayer::Tuples(player) => session(player, Rule::Td, 0.0)?,
        AnyPlayer::Deep(player) => deep::playing(player, saved, path)?,
    };
    session.read(saved, Keep::Weights).map_err(wrong)?;
    Ok(session)
}

/// Makes a player's network of tuples: one that can learn by `rule`, every position worth `initial`.
///
/// # Errors
/// When there is not enough memory, before any is taken.
pub fn session(player: &Player, rule: Rule, initial: f32) -> Result<Box<dyn Session>, LabError> {
    let (family, shape) = (Family::of(&player.game)?, player.shape());
    let small = match family {
        Family::PowersOfTwo => PackedGrid::new(shape, PowersOfTwo),
        _ => None,
    };
    match (family, small) {
        (Family::PowersOfTwo, _) if shape == Shape::FOUR => of_game(Fast2048::new(), player, rule, initial),
        (Family::Threes(&rules), _) if shape == Shape::FOUR => {
            of_afterstates(FastThrees::new(rules), player, rule, initial)
        }
        (Family::Fibonacci(&rules), _) if shape == Shape::FOUR => {
            of_afterstates(FastFibonacci::new(rules), player, rule, initial)
        }
        (_, Some(game)) => of_game(game, player, rule, initial),
        _ => of_game(Grid::new(shape, family.rules()), player, rule, initial),
    }
}
