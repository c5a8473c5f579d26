//! The registry of games: the only place where a game's name and a board size become types.
//!
//! [`with_game`] passes the fastest implementation of a game to a [`GameVisitor`], which is
//! generic: everything past that point is compiled for each game. Code that is not hot erases the
//! type again with [`crate::agent::Agent`].

#[cfg(test)]
mod toy;

use afterstate::game::{
    Fast2048, FastFibonacci, FastThrees, Fibonacci, Game, Grid, PackedGrid, PowersOfTwo, Rules,
    Shape, Threes,
};
use afterstate::solve::Packed;

use crate::LabError;

/// All games. A new one is a line here: `Family::Slow(&Toy)` plays it on every board.
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

pub use crate::recipe::DEFAULT_GAME;

/// Games that share fast paths.
#[derive(Clone, Copy)]
enum Family {
    PowersOfTwo,
    Threes(&'static Threes),
    Fibonacci(&'static Fibonacci),
    /// Played by its rules alone.
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

/// A board size as a shape.
///
/// # Errors
/// When it is not within 2x2 to 5x5.
pub fn shape(rows: usize, cols: usize) -> Result<Shape, LabError> {
    Shape::new(rows, cols).ok_or_else(|| {
        LabError::Board(format!("a board of {rows}x{cols} is not within 2x2 to 5x5"))
    })
}

/// The values of all tiles of a game on a board, in ascending order.
///
/// # Errors
/// When there is no such game.
pub fn tile_values(name: &str, shape: Shape) -> Result<Vec<u64>, LabError> {
    let rules = rules(name)?;
    let tiles = 1..=rules.largest_tile(shape);
    Ok(tiles.map(|tile| rules.tile_value(tile)).collect())
}

/// Generic code that runs with any game.
pub trait GameVisitor {
    /// Its result.
    type Output;

    /// Runs with a game.
    fn visit<G: Game>(self, game: G) -> Self::Output;

    /// Runs with a game whose states have no values of their own: see
    /// [`StateNetwork`](afterstate::ntuple::StateNetwork). Less code is compiled for it.
    fn visit_without_states<G: Game>(self, game: G) -> Self::Output
    where
        Self: Sized,
    {
        self.visit(game)
    }

    /// Runs with a game on a board whose positions fit into a small number, as the solver needs
    /// them.
    fn visit_packed<G: Game<Board: Packed>>(self, game: G) -> Self::Output
    where
        Self: Sized,
    {
        self.visit(game)
    }
}

/// Runs a visitor with the fastest implementation of a game on a board.
///
/// # Errors
/// When there is no such game.
pub fn with_game<V: GameVisitor>(
    name: &str,
    shape: Shape,
    visitor: V,
) -> Result<V::Output, LabError> {
    let family = Family::of(name)?;
    Ok(match family {
        Family::PowersOfTwo if shape == Shape::FOUR => visitor.visit(Fast2048::new()),
        Family::Threes(&rules) if shape == Shape::FOUR => {
            visitor.visit_without_states(FastThrees::new(rules))
        }
        Family::Fibonacci(&rules) if shape == Shape::FOUR => {
            visitor.visit_without_states(FastFibonacci::new(rules))
        }
        _ => match PackedGrid::new(shape, family.rules()) {
            Some(game) => visitor.visit_packed(game),
            None => visitor.visit_packed(Grid::new(shape, family.rules())),
        },
    })
}

/// Generic code that runs with any game whose positions fit into a small number.
pub(crate) trait PackedVisitor {
    /// Its result.
    type Output;

    /// Runs with a game.
    fn visit<G: Game<Board: Packed>>(self, game: G) -> Self::Output;
}

/// Runs a visitor that needs small positions; a 4x4 board, whose fast path has none, takes the
/// general path.
///
/// # Errors
/// When there is no such game.
pub(crate) fn with_packed_game<V: PackedVisitor>(
    name: &str,
    shape: Shape,
    visitor: V,
) -> Result<V::Output, LabError> {
    struct Adapter<V> {
        rules: &'static dyn Rules,
        visitor: V,
    }

    impl<V: PackedVisitor> GameVisitor for Adapter<V> {
        type Output = V::Output;

        fn visit<G: Game>(self, game: G) -> Self::Output {
            self.visitor.visit(Grid::new(game.shape(), self.rules))
        }

        fn visit_packed<G: Game<Board: Packed>>(self, game: G) -> Self::Output {
            self.visitor.visit(game)
        }
    }

    let rules = rules(name)?;
    with_game(name, shape, Adapter { rules, visitor })
}
