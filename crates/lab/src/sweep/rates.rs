//! Medians and win rates of the variants of a sweep. As with means, each seed contributes one
//! number, so an interval is Student's over seeds, and that of a difference Welch's.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::{Evaluated, SweepSummary};
use crate::statistics::{Interval, difference_interval, mean_interval};

/// A number of each evaluation, over the seeds of a variant.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OverSeeds {
    /// The mean over the seeds.
    pub mean: f64,
    /// Its 95% interval; `None` for a single seed.
    pub mean_ci95: Option<Interval>,
    /// The mean minus that of the first variant.
    pub difference: Option<f64>,
    /// Its 95% interval.
    pub difference_ci95: Option<Interval>,
}

impl OverSeeds {
    /// Without the parts of its intervals that no share, and no difference of shares, can have.
    fn of_shares(self) -> Self {
        let within = |least: f64| move |ends: Interval| ends.map(|end| end.clamp(least, 1.0));
        Self {
            mean_ci95: self.mean_ci95.map(within(0.0)),
            difference_ci95: self.difference_ci95.map(within(-1.0)),
            ..self
        }
    }
}

/// The win rate of a tile.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TileRate {
    /// The value of the tile.
    pub tile: u64,
    /// The share of the games that reached it or a larger one.
    pub reach: OverSeeds,
}

/// Those of a variant.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Rates {
    pub median: Option<OverSeeds>,
    pub tiles: Vec<TileRate>,
}

/// The medians and win rates of all variants, by the evaluations of each.
pub(super) fn of(variants: &[&[Option<Evaluated>]]) -> Vec<Rates> {
    let evaluated = |variant: &&[Option<Evaluated>]| -> Vec<Evaluated> {
        variant.iter().flatten().cloned().collect()
    };
    let variants: Vec<Vec<Evaluated>> = variants.iter().map(evaluated).collect();
    let all = variants.iter().flatten();
    let tiles = all.flat_map(|evaluated| evaluated.tiles.iter().map(|row| row.tile));
    let tiles: BTreeSet<u64> = tiles.collect();
    let rates = |(number, variant): (usize, &Vec<Evaluated>)| {
        let first = (number > 0).then(|| &variants[0]);
        let over = |of: &dyn Fn(&Evaluated) -> Option<f64>| over_seeds(variant, first, of);
        let rate = |&tile: &u64| {
            let reach = over(&|evaluated| reach(evaluated, tile))?.of_shares();
            Some(TileRate { tile, reach })
        };
        Rates {
            median: over(&|evaluated| evaluated.median),
            tiles: tiles.iter().filter_map(rate).collect(),
        }
    };
    variants.iter().enumerate().map(rates).collect()
}

/// The share of games that reached a tile: that of the next larger tile of the table, if no game
/// ended with this one.
fn reach(evaluated: &Evaluated, tile: u64) -> Option<f64> {
    if evaluated.tiles.is_empty() {
        return None;
    }
    let larger = evaluated.tiles.iter().filter(|row| row.tile >= tile);
    let next = larger.min_by_key(|row| row.tile);
    Some(next.map_or(0.0, |row| row.reach))
}

/// `None` if any evaluation lacks the number.
fn over_seeds(
    variant: &[Evaluated],
    first: Option<&Vec<Evaluated>>,
    of: &dyn Fn(&Evaluated) -> Option<f64>,
) -> Option<OverSeeds> {
    let values = |evaluated: &[Evaluated]| -> Option<Vec<f64>> {
        let values: Option<Vec<f64>> = evaluated.iter().map(of).collect();
        values.filter(|values| !values.is_empty())
    };
    let numbers = values(variant)?;
    let (mean, mean_ci95) = mean_interval(&numbers);
    let first = first.and_then(|first| values(first));
    let difference = first.map(|first| difference_interval(&numbers, &first));
    Some(OverSeeds {
        mean,
        mean_ci95,
        difference: difference.map(|(difference, _)| difference),
        difference_ci95: difference.and_then(|(_, interval)| interval),
    })
}

impl SweepSummary {
    /// The tile that tells the variants apart best: its win rate, averaged over them, is nearest to
    /// one half. `None` without evaluations.
    pub(super) fn main_tile(&self) -> Option<u64> {
        let tiles = self.variants.iter().flat_map(|row| &row.tiles);
        let tiles: BTreeSet<u64> = tiles.map(|rate| rate.tile).collect();
        let distance = |tile: u64| {
            let rates = self.variants.iter().filter_map(|row| row.rate(tile));
            let rates: Vec<f64> = rates.map(|rate| rate.mean).collect();
            (rates.iter().sum::<f64>() / rates.len() as f64 - 0.5).abs()
        };
        tiles
            .into_iter()
            .min_by(|&a, &b| distance(a).total_cmp(&distance(b)))
    }
}

impl super::SummaryRow {
    /// The win rate of a tile.
    pub(super) fn rate(&self, tile: u64) -> Option<&OverSeeds> {
        let mut tiles = self.tiles.iter();
        tiles.find(|rate| rate.tile == tile).map(|rate| &rate.reach)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::TileRow;

    fn evaluated(median: f64, tiles: &[(u64, f64)]) -> Option<Evaluated> {
        let row = |&(tile, reach): &(u64, f64)| TileRow {
            tile,
            reach,
            reach_ci95: [0.0, 1.0],
            end: 0.0,
        };
        Some(Evaluated {
            trained: 1,
            games: 10,
            seed: 1,
            mean: 0.0,
            median: Some(median),
            tiles: tiles.iter().map(row).collect(),
        })
    }

    /// Medians 10, 20 and 40, 60: the means are 15 and 50; squared standard errors 25 and 100.
    /// By Welch, 2 * 125^2 / ... = 1.47 degrees of freedom, so the interval is wide, around 35.
    #[test]
    fn medians_and_win_rates_over_seeds() {
        let first = [
            evaluated(10.0, &[(64, 1.0), (128, 0.5)]),
            evaluated(20.0, &[(128, 1.0), (256, 0.1)]),
        ];
        let second = [
            evaluated(40.0, &[(256, 1.0)]),
            evaluated(60.0, &[(64, 1.0), (256, 0.8)]),
        ];
        let [a, b] = &of(&[&first, &second])[..] else {
            panic!("two variants");
        };
        let median = a.median.as_ref().unwrap();
        assert_eq!((median.mean, median.difference), (15.0, None));
        let median = b.median.as_ref().unwrap();
        assert_eq!((median.mean, median.difference), (50.0, Some(35.0)));
        let [low, high] = median.difference_ci95.unwrap();
        assert!(
            (low + high - 70.0).abs() < 1e-9 && low < 0.0,
            "{low} {high}"
        );
        // A tile that no game ended with was reached as often as the next larger one.
        let reach = |rates: &Rates| -> Vec<(u64, f64)> {
            let tiles = rates.tiles.iter();
            tiles.map(|rate| (rate.tile, rate.reach.mean)).collect()
        };
        assert_eq!(reach(a), [(64, 1.0), (128, 0.75), (256, 0.05)]);
        assert_eq!(reach(b), [(64, 1.0), (128, 0.9), (256, 0.9)]);
        // 0.5 and 1 have 0.75 as mean and an interval of 3.2 to either side.
        assert_eq!(a.tiles[1].reach.mean_ci95, Some([0.0, 1.0]));
        // A variant without results has no rates.
        assert_eq!(of(&[&first, &[]])[1], Rates::default());
        assert_eq!(of(&[&[None]])[0], Rates::default());
    }
}
