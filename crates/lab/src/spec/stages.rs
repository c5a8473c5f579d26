//! Stages of a game as people write them: sums of different tiles, such as 16384 or 49152 (a
//! 32768-tile and a 16384-tile), as TDL2048+ has them, too.

use afterstate::game::Shape;
use afterstate::ntuple::Stages;

use super::NTupleSpec;
use crate::LabError;
use crate::error::game_on;
use crate::games::{rules, tile_values};

/// The tiles that a number is the sum of, bit i for tile i: the largest first, each once. `None` if
/// it is no such sum, or a network cannot tell one of the tiles from a larger one.
fn tiles(values: &[u64], sum: u64) -> Option<u32> {
    let (mut left, mut tiles) = (sum, 0);
    for (place, &value) in values.iter().enumerate().rev() {
        if value <= left {
            left -= value;
            tiles |= 1 << (place + 1);
        }
    }
    (left == 0 && tiles != 0).then_some(tiles)
}

/// The values of the tiles that a network tells apart.
fn told_apart(game: &str, shape: Shape) -> Result<Vec<u64>, LabError> {
    let most = (1 << rules(game)?.tile_bits(shape)) - 1;
    let mut values = tile_values(game, shape)?;
    values.truncate(most);
    Ok(values)
}

/// The stages that begin at these sums of tiles.
///
/// # Errors
/// When a number is not a sum of different tiles of the game.
pub(crate) fn stages_of(
    game: &str,
    shape: Shape,
    sums: &[u64],
    promotion: bool,
) -> Result<Stages, LabError> {
    if sums.is_empty() {
        return Ok(Stages::default());
    }
    let values = told_apart(game, shape)?;
    let set = |&sum: &u64| {
        tiles(&values, sum).ok_or_else(|| LabError::Stages {
            found: sum,
            game: game_on(game, shape),
            largest: values.last().copied().unwrap_or_default(),
        })
    };
    let sets: Vec<u32> = sums.iter().map(set).collect::<Result<_, _>>()?;
    Ok(Stages::new(sets, promotion))
}

/// The sums at which the stages of a network begin, as text; `None` if it has one stage.
pub(crate) fn thresholds(spec: &NTupleSpec) -> Option<String> {
    let stages = spec.tuples.stages();
    let values = tile_values(&spec.game, spec.shape()).ok()?;
    let value = |tile: usize| values.get(tile - 1).copied().unwrap_or_default();
    let sum = |set: &u32| {
        let tiles = (1..32).filter(|&tile| set >> tile & 1 == 1);
        tiles.map(value).sum::<u64>().to_string()
    };
    let sums: Vec<String> = stages.thresholds().iter().map(sum).collect();
    (!sums.is_empty()).then(|| sums.join(" "))
}

/// The inverse of [`thresholds`]; `None` for another text.
pub(crate) fn stages_from(game: &str, shape: Shape, text: &str, promotion: bool) -> Option<Stages> {
    let sums: Vec<u64> = text
        .split(' ')
        .map(|sum| sum.parse().ok())
        .collect::<Option<_>>()?;
    let fits = sums.len() < Stages::MOST && sums.is_sorted_by(|a, b| a < b);
    stages_of(game, shape, &sums, promotion)
        .ok()
        .filter(|_| fits)
}

/// The stages of a network, as errors name them.
pub(super) fn in_words(spec: &NTupleSpec) -> String {
    match (thresholds(spec), spec.tuples.stages().promotes()) {
        (None, _) => "one stage".to_owned(),
        (Some(sums), true) => format!("stages at {sums}"),
        (Some(sums), false) => format!("stages at {sums} without promotion"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sets(game: &str, sums: &[u64]) -> Result<Vec<u32>, String> {
        let stages = stages_of(game, Shape::FOUR, sums, true);
        let stages = stages.map_err(|error| error.to_string())?;
        Ok(stages.thresholds().to_vec())
    }

    #[test]
    fn a_stage_begins_at_a_sum_of_different_tiles() {
        assert_eq!(
            sets("2048", &[16384, 24576, 32768]).unwrap(),
            [1 << 14, 3 << 13, 1 << 15]
        );
        // 1, 2 and 3 are tiles of Threes!; 1536 is the 12th, 3072 the 13th.
        assert_eq!(sets("threes", &[1536, 4608]).unwrap(), [1 << 12, 3 << 12]);
        // 34 and 8 of 2584.
        assert_eq!(sets("2584", &[42]).unwrap(), [1 << 8 | 1 << 5]);
        for (game, sum) in [
            ("2048", 3),
            ("2048", 0),
            ("2048", 65536),
            ("threes", 1537 + 6),
        ] {
            let refused = sets(game, &[sum]);
            let expected = match (game, sum) {
                // 1536 + 6 + 1.
                ("threes", _) => Ok(vec![1 << 12 | 1 << 4 | 1 << 1]),
                _ => Err(()),
            };
            assert_eq!(refused.map_err(drop), expected, "{game} {sum}");
        }
    }
}
