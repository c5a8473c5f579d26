//! How deep to search: `3ply`, or by the number of empty cells: `empty:4=5ply,8=4ply,3ply`.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// The most plies of a search.
pub const MAX_PLIES: u8 = 16;

/// How many plies to search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Depth {
    /// Pairs of a number of empty cells and plies, in ascending order: the plies of boards with at
    /// most this many empty cells that no earlier pair has.
    crowded: Vec<(u8, u8)>,
    /// For all other boards.
    otherwise: u8,
}

/// A text that is not a depth.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "`{found}` is not a depth; expected plies from 1 to {MAX_PLIES} such as `3ply`, or plies by the number of \
     empty cells, fewest first, such as `empty:4=5ply,8=4ply,3ply`"
)]
pub struct DepthError {
    /// As written.
    pub found: String,
}

impl Depth {
    /// The same number of plies for all boards; `None` if it is 0 or more than [`MAX_PLIES`].
    pub fn fixed(plies: u8) -> Option<Self> {
        (1..=MAX_PLIES).contains(&plies).then_some(Self {
            crowded: Vec::new(),
            otherwise: plies,
        })
    }

    /// The plies for a board with this many empty cells.
    pub fn plies(&self, empty_cells: usize) -> u8 {
        let step = self
            .crowded
            .iter()
            .find(|(most, _)| empty_cells <= usize::from(*most));
        step.map_or(self.otherwise, |(_, plies)| *plies)
    }

    /// The largest number of plies for any board.
    pub fn most(&self) -> u8 {
        let each = self.crowded.iter().map(|(_, plies)| *plies);
        each.fold(self.otherwise, u8::max)
    }
}

impl fmt::Display for Depth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, (cells, plies)) in self.crowded.iter().enumerate() {
            let start = if n == 0 { "empty:" } else { "" };
            write!(f, "{start}{cells}={plies}ply,")?;
        }
        write!(f, "{}ply", self.otherwise)
    }
}

impl FromStr for Depth {
    type Err = DepthError;

    fn from_str(text: &str) -> Result<Self, DepthError> {
        let error = || DepthError {
            found: text.chars().take(80).collect(),
        };
        let plies = |text: &str| {
            let plies = text.strip_suffix("ply")?.parse().ok()?;
            (1..=MAX_PLIES).contains(&plies).then_some(plies)
        };
        let steps = text.strip_prefix("empty:");
        let mut parts = steps.unwrap_or(text).rsplit(',');
        let otherwise = parts.next().and_then(plies).ok_or_else(error)?;
        let step = |part: &str| {
            let (cells, at) = part.split_once('=')?;
            Some((cells.parse().ok()?, plies(at)?))
        };
        let mut crowded: Vec<(u8, u8)> = parts
            .map(|part| step(part).ok_or_else(error))
            .collect::<Result<_, _>>()?;
        crowded.reverse();
        let ascending = crowded.is_sorted_by(|a, b| a.0 < b.0);
        if !ascending || crowded.is_empty() == steps.is_some() || crowded.len() > 25 {
            return Err(error());
        }
        Ok(Self { crowded, otherwise })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depths_are_read_and_written() {
        for text in ["1ply", "3ply", "16ply", "empty:4=5ply,8=4ply,3ply"] {
            assert_eq!(text.parse::<Depth>().unwrap().to_string(), text);
        }
        let depth: Depth = "empty:4=5ply,8=4ply,3ply".parse().unwrap();
        let plies = [0, 4, 5, 8, 9, 16].map(|empty| depth.plies(empty));
        assert_eq!((plies, depth.most()), ([5, 5, 4, 4, 3, 3], 5));
    }

    #[test]
    fn other_texts_are_refused() {
        for text in [
            "",
            "3",
            "ply",
            "0ply",
            "17ply",
            "-1ply",
            "3 ply",
            "3ply,",
            "4=5ply,3ply",
            "empty:3ply",
            "empty:8=4ply,4=5ply,3ply",
            "empty:4=5ply",
            "empty:4=5,3ply",
            "empty:999=5ply,3ply",
        ] {
            assert!(text.parse::<Depth>().is_err(), "{text}");
        }
        assert_eq!((Depth::fixed(0), Depth::fixed(17)), (None, None));
    }
}
