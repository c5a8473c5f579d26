//! How an agent searches, as people write it: `3ply`, `100ms`, `empty:4=5ply,8=4ply,3ply`.

use std::fmt;
use std::str::FromStr;
use std::time::{Duration, Instant};

use afterstate::search::{Depth, MAX_PLIES, SearchOptions, StopCondition};

use crate::LabError;

/// The longest time of a move.
const LONGEST: Duration = Duration::from_secs(3600);

/// How deep a search looks, or for how long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchLimit {
    depth: Depth,
    time: Option<Duration>,
}

impl SearchLimit {
    /// Whether it is one ply, which needs no search.
    pub fn is_greedy(&self) -> bool {
        self.time.is_none() && self.depth.most() == 1
    }

    /// The number of plies, if it is the same for all boards and the time is not limited.
    pub fn plies(&self) -> Option<u8> {
        let most = self.depth.most();
        let is_fixed = Depth::fixed(most).is_some_and(|fixed| fixed == self.depth);
        (is_fixed && self.time.is_none()).then_some(most)
    }

    /// Whether a cut-off has an effect: states of two plies and less are searched as they are.
    pub fn can_cut_off(&self) -> bool {
        self.time.is_some() || self.depth.most() > 2
    }

    /// Splits the time of an answer between the search of its board, which gets four fifths, and this
    /// many searches of the boards after it, each at least a millisecond. A limit by plies is not split.
    pub fn split(&self, others: u32) -> (Self, Self) {
        let part = |time: Duration| Self {
            depth: self.depth.clone(),
            time: Some(time.max(Duration::from_millis(1))),
        };
        match self.time {
            Some(time) => (part(time * 4 / 5), part(time / 5 / others.max(1))),
            None => (self.clone(), self.clone()),
        }
    }

    /// Whether it is a time.
    pub fn is_time(&self) -> bool {
        self.time.is_some()
    }

    /// The next limit: one ply more or less, or twice or half the time, up to a minute. Plies by the
    /// number of empty cells become a fixed number.
    pub fn step(&self, deeper: bool) -> Self {
        if let Some(time) = self.time {
            let next = if deeper { time * 2 } else { time / 2 };
            let (least, most) = (Duration::from_millis(1), Duration::from_secs(60));
            let next = Duration::from_millis(next.as_millis() as u64);
            return Self {
                depth: self.depth.clone(),
                time: Some(next.clamp(least, most)),
            };
        }
        let plies = self.plies().unwrap_or(3);
        let next = if deeper { plies + 1 } else { plies - 1 };
        Self {
            depth: Depth::fixed(next).unwrap_or_else(|| self.depth.clone()),
            time: None,
        }
    }
}

impl FromStr for SearchLimit {
    type Err = LabError;

    fn from_str(text: &str) -> Result<Self, LabError> {
        let millis = text.strip_suffix("ms").map(|number| number.parse());
        let time = millis.map(|millis| millis.map(Duration::from_millis));
        let error = || LabError::Search {
            found: text.chars().take(80).collect(),
            advice: advice(text).map_or_else(String::new, |advice| advice + "; "),
        };
        match time {
            None => Ok(Self {
                depth: text.parse().map_err(|_| error())?,
                time: None,
            }),
            Some(Ok(time)) if !time.is_zero() && time <= LONGEST => Ok(Self {
                depth: Depth::fixed(MAX_PLIES).ok_or_else(error)?,
                time: Some(time),
            }),
            Some(_) => Err(error()),
        }
    }
}

/// How to write what a text probably means: it lacks a unit or has another one, is out of range, or
/// does not say the plies of all boards.
fn advice(text: &str) -> Option<String> {
    let with_rest = format!("{text},3ply");
    if with_rest.parse::<Depth>().is_ok() {
        return Some(format!(
            "boards with more empty cells are missing, as in `{with_rest}`"
        ));
    }
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, unit) = text.split_at(digits);
    let number: u64 = number.parse().ok().filter(|&number| number > 0)?;
    let plies = match number > MAX_PLIES.into() {
        true => format!("up to `{MAX_PLIES}ply`"),
        false => format!("`{number}ply`"),
    };
    let time = |millis: u64| match u128::from(millis) > LONGEST.as_millis() {
        true => format!("up to `{}ms`", LONGEST.as_millis()),
        false => format!("`{millis}ms`"),
    };
    match &*unit.trim_matches([' ', '-', '_']).to_lowercase() {
        "" => Some(format!(
            "write {plies} for moves ahead, or {} for milliseconds",
            time(number)
        )),
        "p" | "ply" | "plies" | "plys" => Some(format!("write {plies}")),
        "s" | "sec" | "seconds" => Some(format!("write {}", time(number.saturating_mul(1000)))),
        "msec" | "ms" | "milliseconds" => Some(format!("write {}", time(number))),
        _ => None,
    }
}

impl fmt::Display for SearchLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.time {
            Some(time) => write!(f, "{}ms", time.as_millis()),
            None => self.depth.fmt(f),
        }
    }
}

/// How an agent searches.
#[derive(Clone, Debug, PartialEq)]
pub struct SearchSpec {
    /// How deep, or for how long.
    pub limit: SearchLimit,
    /// Bytes of the transposition table.
    pub table_bytes: usize,
    /// New tiles with a probability below this are searched one ply less:
    /// [`SearchOptions::rare_below`].
    pub rare_below: f64,
    /// Boards with this tile or a larger one are searched with their large tiles lowered by a step.
    pub downgrade_from: Option<u64>,
    /// The threads that search one board of an analysis together; 0 means one for each core. The
    /// values do not depend on it.
    pub threads: usize,
}

impl SearchSpec {
    /// The default size of the transposition table.
    pub const TABLE_BYTES: usize = 64 << 20;

    /// A search without cut-offs and downgrading.
    pub fn new(limit: SearchLimit) -> Self {
        Self {
            limit,
            table_bytes: Self::TABLE_BYTES,
            rare_below: 0.0,
            downgrade_from: None,
            threads: 0,
        }
    }

    /// The options of the search, in a game whose tiles have these values.
    ///
    /// # Errors
    /// When the game does not have the tile from which boards are downgraded.
    pub(crate) fn options(&self, tile_values: &[u64]) -> Result<SearchOptions, LabError> {
        let index = |tile: u64| {
            let place = tile_values.iter().position(|&value| value == tile);
            let index = place.map(|place| place as u8 + 1);
            index.ok_or_else(|| LabError::Board(format!("{tile} is not a tile of this game")))
        };
        Ok(SearchOptions {
            depth: self.limit.depth.clone(),
            rare_below: self.rare_below,
            downgrade_from: self.downgrade_from.map(index).transpose()?,
        })
    }

    /// The clock of a move, if its time is limited.
    pub(crate) fn clock(&self) -> Option<Clock> {
        self.limit.time.map(Clock::new)
    }
}

/// What is told about a search: its limit, and what differs from the plain search.
impl fmt::Display for SearchSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.limit.fmt(f)?;
        if self.rare_below > 0.0 {
            write!(f, ", new tiles below {} one ply less", self.rare_below)?;
        }
        match self.downgrade_from {
            Some(tile) => write!(f, ", downgraded from {tile}"),
            None => Ok(()),
        }
    }
}

/// Ends a move after some time.
pub(crate) struct Clock {
    time: Duration,
    begun: Instant,
}

impl Clock {
    fn new(time: Duration) -> Self {
        Self {
            time,
            begun: Instant::now(),
        }
    }
}

impl StopCondition for Clock {
    fn begin(&mut self) {
        self.begun = Instant::now();
    }

    fn is_over(&mut self) -> bool {
        self.begun.elapsed() >= self.time
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_stepped() {
        for (text, less, more) in [
            ("1ply", "1ply", "2ply"),
            ("16ply", "15ply", "16ply"),
            ("empty:4=5ply,8=4ply,3ply", "2ply", "4ply"),
            ("1ms", "1ms", "2ms"),
            ("25ms", "12ms", "50ms"),
            ("40000ms", "20000ms", "60000ms"),
        ] {
            let limit: SearchLimit = text.parse().unwrap();
            let stepped = [false, true].map(|deeper| limit.step(deeper).to_string());
            assert_eq!(stepped, [less, more]);
            let plies = text.strip_suffix("ply").and_then(|it| it.parse().ok());
            assert_eq!(limit.plies(), plies, "{text}");
        }
    }

    #[test]
    fn limits_are_read_and_written() {
        for text in ["1ply", "3ply", "100ms", "empty:4=5ply,8=4ply,3ply"] {
            let limit: SearchLimit = text.parse().unwrap();
            assert_eq!(limit.to_string(), text);
            assert_eq!(limit.is_greedy(), text == "1ply");
        }
        for text in [
            "",
            "0ms",
            "ms",
            "-5ms",
            "1.5ms",
            "99999999ms",
            "3",
            "0ply",
            "greedy",
        ] {
            let error = text.parse::<SearchLimit>().unwrap_err().to_string();
            assert!(
                error.contains(&format!("`{text}`")) && error.contains("3ply"),
                "{error}"
            );
        }
        for (text, advice) in [
            (
                "3",
                "write `3ply` for moves ahead, or `3ms` for milliseconds;",
            ),
            ("2-ply", "write `2ply`;"),
            ("4 plies", "write `4ply`;"),
            ("2s", "write `2000ms`;"),
            (
                "5000",
                "write up to `16ply` for moves ahead, or `5000ms` for milliseconds;",
            ),
            ("17ply", "write up to `16ply`;"),
            ("2 hours", "search; expected"),
            ("7200s", "write up to `3600000ms`;"),
            ("99999999999999999ms", "write up to `3600000ms`;"),
            ("empty:4=5ply", "are missing, as in `empty:4=5ply,3ply`;"),
        ] {
            let error = text.parse::<SearchLimit>().unwrap_err().to_string();
            assert!(error.contains(advice), "{error}");
        }
    }
}
