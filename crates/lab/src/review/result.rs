//! The result of one game, or of many.

use afterstate::judge::{Martingale, Tail};
use serde::{Deserialize, Serialize};

use super::{GradeCounts, ReviewedMove};
use crate::grade::Grade;

/// The result of some games: means, and sums of losses and luck.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReviewResult {
    /// Moves.
    pub move_count: u64,
    /// The mean share of the best value that a move kept, from 0 to 1; `None` without a move that
    /// has a value.
    pub accuracy: Option<f64>,
    /// The mean value that a move lost.
    pub mean_loss: Option<f64>,
    /// The value that all moves lost.
    pub total_loss: f64,
    /// How many moves have each grade.
    pub grades: GradeCounts,
    /// The sum of the luck of all spawns.
    pub luck: f64,
    /// The same in standard deviations; `None` if no spawn had a choice.
    pub luck_z: Option<f64>,
    #[serde(skip)]
    sums: Sums,
}

/// What means and z are made of.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Sums {
    shares: f64,
    spawns: Martingale,
}

impl Default for ReviewResult {
    fn default() -> Self {
        Self {
            move_count: 0,
            accuracy: None,
            mean_loss: None,
            total_loss: 0.0,
            grades: Grade::ALL.map(|grade| (grade, 0)).into(),
            luck: 0.0,
            luck_z: None,
            sums: Sums::default(),
        }
    }
}

impl ReviewResult {
    /// The result of moves, and of the spawns after them.
    pub(super) fn of<'m>(
        moves: impl Iterator<Item = (&'m ReviewedMove, Option<&'m Martingale>)>,
    ) -> Self {
        let mut result = Self::default();
        for (one, spawn) in moves {
            result.add(one, spawn);
        }
        result.complete();
        result
    }

    /// Counts a move, and the spawn after it.
    fn add(&mut self, one: &ReviewedMove, spawn: Option<&Martingale>) {
        self.move_count += 1;
        if let (Some(loss), Some(share), Some(grade)) = (one.loss, one.share, one.grade) {
            self.total_loss += loss;
            self.sums.shares += share;
            *self.grades.entry(grade).or_default() += 1;
        }
        if let Some(spawn) = spawn {
            self.sums.spawns.merge(spawn);
        }
    }

    /// Counts the moves of other games.
    pub(super) fn merge(&mut self, other: &Self) {
        self.move_count += other.move_count;
        self.total_loss += other.total_loss;
        self.sums.shares += other.sums.shares;
        self.sums.spawns.merge(&other.sums.spawns);
        for (&grade, count) in &other.grades {
            *self.grades.entry(grade).or_default() += count;
        }
        self.complete();
    }

    /// Computes the means.
    fn complete(&mut self) {
        let graded: u64 = self.grades.values().sum();
        let mean = |sum: f64| (graded > 0).then(|| sum / graded as f64);
        self.accuracy = mean(self.sums.shares);
        self.mean_loss = mean(self.total_loss);
        self.luck = self.sums.spawns.sum();
        self.luck_z = self.sums.spawns.test(Tail::Both).map(|(drift, _)| drift.z);
    }
}

/// The largest of many items, the earlier of equal ones.
pub(super) struct Top<T> {
    most: usize,
    items: Vec<(f64, T)>,
}

impl<T> Top<T> {
    pub(super) fn new(most: usize) -> Self {
        let items = Vec::new();
        Self { most, items }
    }

    /// The largest items of an iterator, the largest first.
    pub(super) fn of(
        most: usize,
        items: impl Iterator<Item = T>,
        size: impl Fn(&T) -> f64,
    ) -> Vec<T> {
        let mut top = Self::new(most);
        for item in items {
            top.see(size(&item), || item);
        }
        top.into_vec()
    }

    /// Keeps an item if it is positive and among the largest so far.
    pub(super) fn see(&mut self, size: f64, item: impl FnOnce() -> T) {
        let place = self.items.partition_point(|(other, _)| *other >= size);
        if size > 0.0 && place < self.most {
            self.items.insert(place, (size, item()));
            self.items.truncate(self.most);
        }
    }

    pub(super) fn into_vec(self) -> Vec<T> {
        self.items.into_iter().map(|(_, item)| item).collect()
    }
}
