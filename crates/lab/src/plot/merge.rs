//! From blocks to the points of a plot.
//!
//! All runs of a plot share one size of point, a hundredth of the longest run, so that a short run
//! is not noisier than a long one beside it. Blocks are gathered from the end backwards: the last
//! point, which the legend quotes, is always a full one, and a rest falls to the first.

use afterstate::tally::Tally;

use super::PlotError;
use super::band::{Ends, band};
use crate::block::LARGEST_COUNT;
use crate::curve::{Curve, Point, RateChange};

/// About how many points the longest run gets: more cannot be distinguished on 1,200 pixels.
const POINTS: u64 = 100;

/// A run with its blocks merged; never without points.
pub(super) struct MergedRun<'a> {
    pub label: &'a str,
    pub points: Vec<Point>,
    pub rate_changes: &'a [RateChange],
    /// The runs of which it is the mean, with their blocks merged as these are: one number of
    /// blocks for all, `None` where a run has no game.
    pub seeds: Vec<Vec<Option<Tally>>>,
}

impl MergedRun<'_> {
    /// The games of the whole run.
    pub fn games(&self) -> u64 {
        self.points.last().map_or(0, |point| point.games)
    }

    /// One number for every point, at its number of games.
    pub fn line(&self, of: impl Fn(&Tally) -> f64) -> Vec<(f64, f64)> {
        self.points
            .iter()
            .map(|point| (point.games as f64, of(&point.tally)))
            .collect()
    }

    /// The band around that line, over the runs of which it is the mean; empty without them.
    pub fn band(&self, of: impl Fn(&Tally) -> f64) -> Vec<(f64, Ends)> {
        let points = self.points.iter().enumerate();
        let at = |(number, point): (usize, &Point)| {
            let tallies = self.seeds.iter().filter_map(|seed| seed[number].as_ref());
            let values: Vec<f64> = tallies.map(&of).collect();
            Some((point.games as f64, band(&values)?))
        };
        points.filter_map(at).collect()
    }

    /// The same number of the last point alone.
    pub fn last(&self, of: impl Fn(&Tally) -> f64) -> f64 {
        self.points.last().map_or(0.0, |point| of(&point.tally))
    }
}

/// Merges every curve to the plot's size of point.
pub(super) fn runs(curves: &[Curve]) -> Result<Vec<MergedRun<'_>>, PlotError> {
    for curve in curves {
        check(curve)?;
        curve.seeds.iter().try_for_each(check)?;
    }
    let games = |curve: &Curve| curve.points.iter().map(|p| p.tally.games).sum::<u64>();
    let longest = curves.iter().map(games).max().unwrap_or(0);
    let size = longest.div_ceil(POINTS).max(1);
    curves
        .iter()
        .map(|curve| {
            let points = merged(&curve.points, size);
            if points.is_empty() {
                let label = curve.label.clone();
                return Err(PlotError::NoGames { label });
            }
            let seeds = curve.seeds.iter();
            Ok(MergedRun {
                label: &curve.label,
                seeds: seeds.map(|seed| merged_as(&seed.points, &points)).collect(),
                points,
                rate_changes: &curve.rate_changes,
            })
        })
        .collect()
}

/// Refuses counts that contradict each other, or whose sums have no exact value in a float: no game
/// made them, and nothing below has to expect them.
fn check(curve: &Curve) -> Result<(), PlotError> {
    let mut sums = [0u128; 3];
    for point in &curve.points {
        let Tally {
            games,
            score,
            max,
            moves,
            ref ended,
            ..
        } = point.tally;
        let wrong = |found: &'static str| PlotError::Counts {
            label: curve.label.clone(),
            games: point.games,
            found,
        };
        let all: u128 = ended.values().copied().map(u128::from).sum();
        if all > u128::from(games) {
            return Err(wrong("more games ended with a tile than the block has"));
        }
        for (sum, count) in sums.iter_mut().zip([games, score, moves]) {
            *sum += u128::from(count);
        }
        let counts = [point.games, max].map(u128::from);
        let mut counts = sums.iter().chain(&counts);
        if counts.any(|&count| count > u128::from(LARGEST_COUNT)) {
            return Err(wrong("a count is too large to be drawn"));
        }
    }
    Ok(())
}

/// Adjacent blocks merged into points of `size` games or more, all but the first.
pub(super) fn merged(blocks: &[Point], size: u64) -> Vec<Point> {
    let mut points: Vec<Point> = Vec::new();
    for block in blocks.iter().rev().filter(|block| block.tally.games > 0) {
        match points.last_mut() {
            Some(point) if point.tally.games < size => point.tally.merge(&block.tally),
            _ => points.push(block.clone()),
        }
    }
    points.reverse();
    points
}

/// Blocks merged to the points of another curve: each belongs to the first point that does not end
/// before it.
fn merged_as(blocks: &[Point], points: &[Point]) -> Vec<Option<Tally>> {
    let mut merged: Vec<Option<Tally>> = vec![None; points.len()];
    for block in blocks.iter().filter(|block| block.tally.games > 0) {
        let number = points.partition_point(|point| point.games < block.games);
        match merged.get_mut(number) {
            Some(Some(tally)) => tally.merge(&block.tally),
            Some(none) => *none = Some(block.tally.clone()),
            None => {}
        }
    }
    merged
}

/// The fewest and the most games of any point.
pub(super) fn games_per_point(runs: &[MergedRun]) -> (u64, u64) {
    let mut sizes: Vec<u64> = runs
        .iter()
        .flat_map(|run| &run.points)
        .map(|point| point.tally.games)
        .collect();
    sizes.sort_unstable();
    (
        sizes.first().copied().unwrap_or(0),
        sizes.last().copied().unwrap_or(0),
    )
}

/// The `count` largest tiles that any game reached, in rising order.
pub(super) fn largest_tiles(runs: &[MergedRun], count: usize) -> Vec<u64> {
    let mut tiles: Vec<u64> = runs
        .iter()
        .flat_map(|run| &run.points)
        .flat_map(|point| point.tally.ended.iter())
        .filter(|&(_, &games)| games > 0)
        .map(|(&tile, _)| tile)
        .collect();
    tiles.sort_unstable();
    tiles.dedup();
    tiles.split_off(tiles.len().saturating_sub(count))
}
