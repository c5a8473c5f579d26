//! Numbers as flags take them: one parser for all counts.

use std::ops::RangeInclusive;
use std::time::Duration;

use afterstate_lab::MAX_THREADS;
use afterstate_lab::recipe::parse_whole;
use afterstate_lab::seal::MAX_GAMES;

/// The largest number that a recipe can keep.
const MAX_COUNT: u64 = i64::MAX as u64;

/// A whole number as recipes take it: 100000, 100_000 or 1e5.
fn whole(text: &str, range: RangeInclusive<u64>) -> Result<u64, String> {
    let (least, most) = (range.start(), range.end());
    let number = parse_whole(text).filter(|number| range.contains(number));
    number.ok_or_else(|| format!("expected a whole number from {least} to {most}"))
}

/// Any whole number, such as a seed.
pub fn count(text: &str) -> Result<u64, String> {
    whole(text, 0..=MAX_COUNT)
}

/// A number of something there is at least one of: episodes, the place in a list.
pub fn count_from_one(text: &str) -> Result<u64, String> {
    whole(text, 1..=MAX_COUNT)
}

/// The number on a tile.
pub fn tile(text: &str) -> Result<u64, String> {
    whole(text, 1..=MAX_COUNT)
}

/// A TCP port; 0 means any that is free.
pub fn port(text: &str) -> Result<u16, String> {
    whole(text, 0..=u16::MAX.into()).map(|number| number as u16)
}

/// A TCP port that players are told.
pub fn known_port(text: &str) -> Result<u16, String> {
    whole(text, 1..=u16::MAX.into()).map(|number| number as u16)
}

/// A number of games to play.
pub fn games(text: &str) -> Result<u64, String> {
    whole(text, 1..=10_000_000)
}

/// A number of games of a match.
pub fn match_games(text: &str) -> Result<u64, String> {
    whole(text, 1..=MAX_GAMES)
}

/// The limit of a move, up to an hour.
pub fn milliseconds(text: &str) -> Result<Duration, String> {
    whole(text, 1..=3_600_000).map(Duration::from_millis)
}

/// An amount of memory in MiB, up to an exbibyte; 0 means no limit.
pub fn mebibytes(text: &str) -> Result<u64, String> {
    whole(text, 0..=1 << 40)
}

/// The size of a transposition table in MiB, up to a tebibyte.
pub fn table_mebibytes(text: &str) -> Result<u64, String> {
    whole(text, 1..=1 << 20)
}

/// A probability, or a discount factor.
pub fn probability(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|p| (0.0..=1.0).contains(p));
    number.ok_or_else(|| "expected a number from 0 to 1".to_owned())
}

/// A number of points above 0.
pub fn points(text: &str) -> Result<f64, String> {
    let number = text.parse().ok();
    let number = number.filter(|points: &f64| points.is_finite() && *points > 0.0);
    number.ok_or_else(|| "expected a number above 0".to_owned())
}

/// The tiles that an index of a table tells apart.
pub fn base(text: &str) -> Result<u64, String> {
    whole(text, 15..=16)
}

/// A number of threads, or of runs at once; 0 means one for each core.
pub fn threads(text: &str) -> Result<usize, String> {
    whole(text, 0..=MAX_THREADS as u64).map(|number| number as usize)
}

/// A number of items to list.
pub fn top(text: &str) -> Result<usize, String> {
    whole(text, 0..=1000).map(|number| number as usize)
}

/// A speed.
pub fn moves_a_second(text: &str) -> Result<f64, String> {
    let number = text.parse().ok();
    let number = number.filter(|number: &f64| number.is_finite() && *number >= 0.0);
    number.ok_or_else(|| "expected a number of moves, 0 or more".to_owned())
}

/// The longest measurement.
const MAX_SECONDS: f64 = 3600.0;

/// A time to measure for.
pub fn seconds(text: &str) -> Result<Duration, String> {
    let number: Option<f64> = text.parse().ok();
    match number {
        Some(number) if number > 0.0 && number <= MAX_SECONDS => {
            Ok(Duration::from_secs_f64(number))
        }
        _ => Err(format!(
            "expected seconds, more than 0 and up to {MAX_SECONDS}"
        )),
    }
}

/// The two ends of an axis, as in `0..200000`.
pub fn range(text: &str) -> Result<[f64; 2], String> {
    let expected = || "expected two whole numbers, the smaller first, such as 0..200000".to_owned();
    let (low, high) = text.split_once("..").ok_or_else(expected)?;
    let end = |text| whole(text, 0..=1_000_000_000_000).map(|number| number as f64);
    match (end(low), end(high)) {
        (Ok(low), Ok(high)) if low < high => Ok([low, high]),
        _ => Err(expected()),
    }
}

/// The size of a file in MiB, up to 1 GiB.
pub fn mebibytes_of_file(text: &str) -> Result<f64, String> {
    let size = text.parse().ok();
    let size = size.filter(|size| (0.001..=1024.0).contains(size));
    size.ok_or_else(|| "expected a number of MiB from 0.001 to 1024".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_written_in_several_ways() {
        for text in ["100000", "100_000", "1e5"] {
            assert_eq!((count(text), games(text)), (Ok(100_000), Ok(100_000)));
        }
        assert_eq!(threads("1_0"), Ok(10));
        assert_eq!(
            threads("1025").unwrap_err(),
            "expected a whole number from 0 to 1024"
        );
        for text in ["", "-1", "1.5", "1e30", "many", "9223372036854775808"] {
            assert!(count(text).is_err(), "{text}");
        }
        assert!(games("0").is_err() && games("1e8").is_err());
        assert_eq!(range("0..2e5"), Ok([0.0, 200_000.0]));
        for text in ["", "5", "5..5", "9..1", "-1..1", "0..1e30"] {
            assert!(range(text).is_err(), "{text}");
        }
    }
}
