//! The spawns of valid episodes, and the tests of them.
//!
//! A forger who knows that frequencies are counted chooses tiles for the player and keeps every
//! count level. So three more things are tested, each with its exact probabilities given the
//! position:
//!
//! - surroundings: how many tiles are beside the cell, and whether the new tile merges with one of
//!   them. All empty cells are equally likely, whatever is beside them;
//! - the past: whether cells and tiles that came up more often than expected become rarer, as they
//!   do if somebody keeps counts level, or more frequent;
//! - luck: the value of the state after the spawn minus its mean over all spawns, by a
//!   fixed value function. Spawns chosen for the player are too kind.

use super::frequency::Frequency;
use super::martingale::{Martingale, MartingaleResult, Tail};
use super::neighbours::SURROUNDINGS;
use crate::game::Shape;

/// Hints, and no hint.
pub(super) const HINTS: usize = 5;
/// The share of the surplus of a kind that is forgotten at each spawn. Sums over the whole past
/// would not be normal.
const FORGOTTEN: f64 = 1.0 / 128.0;
/// A chi-squared that is too small is a fault from this number of degrees of freedom on: with fewer
/// of them, counts are level by chance in many files.
const EVEN_FROM: usize = 8;

/// What a test is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpawnTestKind {
    /// The frequency of each cell.
    Cells,
    /// The frequency of each tile.
    Tiles,
    /// The frequency of each hint.
    Hints,
    /// What is beside the cells of new tiles.
    Surroundings,
    /// Whether cells depend on earlier ones.
    PastCells,
    /// Whether tiles depend on earlier ones.
    PastTiles,
    /// Whether spawns are too kind to the player.
    Luck,
}

impl SpawnTestKind {
    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cells => "cells of new tiles",
            Self::Tiles => "new tiles",
            Self::Hints => "tiles shown",
            Self::Surroundings => "cells given their neighbours",
            Self::PastCells => "cells given earlier cells",
            Self::PastTiles => "tiles given earlier tiles",
            Self::Luck => "luck of the player",
        }
    }
}

/// A test statistic.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Statistic {
    /// The distance of counts from their expectation.
    ChiSquared {
        /// The distance.
        value: f64,
        /// Degrees of freedom.
        freedom: usize,
    },
    /// A sum of draws minus their means, in standard deviations.
    Z(f64),
}

/// The result of a test of all spawns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SpawnTest {
    /// What was tested.
    pub kind: SpawnTestKind,
    /// The number of draws that had a choice.
    pub draws: u64,
    /// The statistic.
    pub statistic: Statistic,
    /// The probability that fair draws deviate at least as far, or a bound of it.
    pub p: f64,
}

impl SpawnTest {
    /// Whether the counts are closer to their expectation than fair draws come with this
    /// probability.
    pub fn is_too_even(&self, least: f64) -> bool {
        match self.statistic {
            Statistic::ChiSquared { freedom, .. } => freedom >= EVEN_FROM && 1.0 - self.p < least,
            Statistic::Z(_) => false,
        }
    }
}

/// The spawns so far.
#[derive(Clone, Debug)]
pub(super) struct SpawnTests {
    pub(super) cells: Frequency,
    pub(super) tiles: Frequency,
    pub(super) hints: Frequency,
    pub(super) surroundings: Frequency,
    pub(super) past_cells: Martingale,
    pub(super) past_tiles: Martingale,
    pub(super) luck: Martingale,
}

impl SpawnTests {
    pub(super) fn new(shape: Shape, tiles: usize) -> Self {
        Self {
            cells: Frequency::new(shape.cells()),
            tiles: Frequency::new(tiles),
            hints: Frequency::new(HINTS),
            surroundings: Frequency::new(SURROUNDINGS),
            past_cells: Martingale::default(),
            past_tiles: Martingale::default(),
            luck: Martingale::default(),
        }
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.cells.merge(&other.cells);
        self.tiles.merge(&other.tiles);
        self.hints.merge(&other.hints);
        self.surroundings.merge(&other.surroundings);
        self.past_cells.merge(&other.past_cells);
        self.past_tiles.merge(&other.past_tiles);
        self.luck.merge(&other.luck);
    }

    /// The results of all tests for which there are enough spawns.
    pub(super) fn tests(&self) -> Vec<SpawnTest> {
        let counted = [
            (SpawnTestKind::Cells, &self.cells),
            (SpawnTestKind::Tiles, &self.tiles),
            (SpawnTestKind::Hints, &self.hints),
            (SpawnTestKind::Surroundings, &self.surroundings),
        ];
        let counted = counted.into_iter().filter_map(|(kind, frequency)| {
            let test = frequency.test()?;
            Some(SpawnTest {
                kind,
                draws: test.draws,
                statistic: Statistic::ChiSquared {
                    value: test.chi_squared,
                    freedom: test.freedom,
                },
                p: test.p_value,
            })
        });
        let summed = [
            (SpawnTestKind::PastCells, &self.past_cells, Tail::Both),
            (SpawnTestKind::PastTiles, &self.past_tiles, Tail::Both),
            (SpawnTestKind::Luck, &self.luck, Tail::Upper),
        ];
        let summed = summed.into_iter().filter_map(|(kind, sum, tail)| {
            let (MartingaleResult { draws, z }, p) = sum.test(tail)?;
            Some(SpawnTest {
                kind,
                draws,
                statistic: Statistic::Z(z),
                p,
            })
        });
        counted.chain(summed).collect()
    }
}

/// How much more often than expected each kind came up in a game, the older the less.
#[derive(Clone, Debug)]
pub(super) struct Recent(Vec<f64>);

impl Recent {
    pub(super) fn new(kinds: usize) -> Self {
        Self(vec![0.0; kinds])
    }

    /// Counts a draw: a kind that came up often before it has a large number.
    pub(super) fn see(
        &mut self,
        sum: &mut Martingale,
        drawn: usize,
        chances: impl Iterator<Item = (usize, f64)> + Clone,
    ) {
        let numbers = chances.clone().map(|(kind, p)| (self.0[kind], p));
        sum.see(self.0[drawn], numbers);
        for surplus in &mut self.0 {
            *surplus *= 1.0 - FORGOTTEN;
        }
        self.0[drawn] += 1.0;
        for (kind, p) in chances {
            self.0[kind] -= p;
        }
    }
}
