//! Parts of an evaluation, a comparison or a sweep, which several machines share.
//!
//! Game n of a seed has one random stream on every machine. A part plays some of the numbers and
//! reports every outcome beside its results; [`crate::merge`] computes the results of all outcomes
//! as if one machine had played them.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use afterstate::tally::Outcome;
use serde::{Deserialize, Serialize};

use crate::report::Evaluation;

pub use crate::error::{PartError, PartMismatch};

/// One of several parts, as in `2/8`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Part {
    number: u64,
    of: u64,
}

impl Part {
    /// All of the work.
    pub const WHOLE: Self = Self { number: 1, of: 1 };
    /// The largest number of parts.
    pub const MAX: u64 = 1_000_000;

    /// Its number, from 1.
    pub fn number(self) -> u64 {
        self.number
    }

    /// How many parts there are.
    pub fn of(self) -> u64 {
        self.of
    }

    /// Whether it is all of the work.
    pub fn is_whole(self) -> bool {
        self.of == 1
    }

    /// Its share of `games` games: parts differ by one game at most.
    pub fn games(self, games: u64) -> Range<u64> {
        let start = |part: u64| (u128::from(games) * u128::from(part) / u128::from(self.of)) as u64;
        start(self.number - 1)..start(self.number)
    }

    /// Whether piece number `index` of work that is dealt out in turn belongs to it.
    pub fn takes(self, index: usize) -> bool {
        index as u64 % self.of == self.number - 1
    }
}

impl FromStr for Part {
    type Err = PartError;

    fn from_str(text: &str) -> Result<Self, PartError> {
        let error = || PartError::Notation(text.chars().take(40).collect());
        let (number, of) = text.split_once('/').ok_or_else(error)?;
        let [number, of] = [number, of].map(|number| number.trim().parse().ok());
        match (number, of) {
            (Some(number), Some(of)) if (1..=of).contains(&number) && of <= Self::MAX => {
                Ok(Self { number, of })
            }
            _ => Err(error()),
        }
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.of)
    }
}

impl TryFrom<String> for Part {
    type Error = PartError;

    fn try_from(text: String) -> Result<Self, PartError> {
        text.parse()
    }
}

impl From<Part> for String {
    fn from(part: Part) -> Self {
        part.to_string()
    }
}

/// The outcomes of one player's games, by which parts are merged.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PlayedGames {
    /// The time they took.
    pub seconds: f64,
    /// By number, without a gap.
    pub outcomes: Vec<Outcome>,
}

/// What a part of an evaluation or a comparison adds to its report.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PartInfo {
    /// Which part it is.
    pub part: Part,
    /// The games of all parts together.
    pub games_of_all: u64,
    /// The games of the player, or of both.
    pub played: Vec<PlayedGames>,
}

/// A part of an evaluation; the JSON of `eval --part --json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EvaluationPart {
    /// The results of its own games.
    #[serde(flatten)]
    pub evaluation: Evaluation,
    /// By which it is merged.
    pub part: PartInfo,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_cover_all_games_once() {
        for (games, of) in [(10, 3), (7, 7), (3, 5), (0, 2), (1_000_003, 64)] {
            let mut next = 0;
            for number in 1..=of {
                let range = Part { number, of }.games(games);
                assert_eq!(range.start, next);
                assert!(range.end - range.start <= games / of + 1);
                next = range.end;
            }
            assert_eq!(next, games);
            for index in 0..20 {
                let takers = (1..=of).filter(|&number| Part { number, of }.takes(index));
                assert_eq!(takers.count(), 1);
            }
        }
        assert_eq!(Part::WHOLE.games(u64::MAX), 0..u64::MAX);
    }

    #[test]
    fn a_part_is_written_and_read() {
        for text in ["1/1", "2/8", "8/8", "1000000/1000000"] {
            assert_eq!(text.parse::<Part>().unwrap().to_string(), text);
        }
        for text in [
            "",
            "2",
            "0/8",
            "9/8",
            "2/",
            "/8",
            "-1/8",
            "1/0",
            "1/1000001",
            "2/8/9",
            "a/b",
        ] {
            let error = text.parse::<Part>().unwrap_err().to_string();
            assert!(
                error.starts_with(&format!("`{text}` is not a part")),
                "{error}"
            );
        }
    }
}
