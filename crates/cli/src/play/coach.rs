//! The line of the coach: how good the last move was.

use std::fmt;

use afterstate::game::Direction;
use afterstate_lab::agent::StateAnalysis;
use afterstate_lab::grade::{Grade, GradeThresholds, share_kept};

use crate::output::grouped;

/// What is said about a move.
#[derive(Clone, Debug, PartialEq)]
pub enum Coach {
    /// Its state is still being searched.
    Waiting(Direction),
    /// It is graded.
    Graded(GradedMove),
}

/// A move with its grade.
#[derive(Clone, Debug, PartialEq)]
pub struct GradedMove {
    pub direction: Direction,
    pub grade: Grade,
    /// The total of the best move, and what this one lost of it.
    best_total: f64,
    loss: f64,
    best: Direction,
}

impl GradedMove {
    /// Grades a move by the analysis of its state; `None` if that has no value of it.
    pub fn of(analysis: &StateAnalysis, direction: Direction) -> Option<Self> {
        let total = |direction| {
            let value = analysis.values.get(direction)?;
            value.total.is_finite().then_some(f64::from(value.total))
        };
        let best = analysis.values.best()?;
        let (best_total, total) = (total(best)?, total(direction)?);
        Some(Self {
            direction,
            grade: GradeThresholds::default().grade(total, best_total),
            best_total,
            loss: (best_total - total).max(0.0),
            best,
        })
    }
}

impl fmt::Display for Coach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let graded = match self {
            Self::Waiting(direction) => return write!(f, "{}: searching ...", direction.name()),
            Self::Graded(graded) => graded,
        };
        let (name, grade) = (graded.direction.name(), graded.grade);
        if grade == Grade::Best {
            return write!(f, "{name}: best move, worth {}", short(graded.best_total));
        }
        write!(
            f,
            "{name}: {}, loses {} of {}",
            grade.name(),
            short(graded.loss),
            short(graded.best_total)
        )?;
        if graded.best_total > 0.0 {
            let kept = share_kept(graded.best_total - graded.loss, graded.best_total);
            // Rounded down, so that only a move that keeps all is told to keep 100%.
            write!(f, " (keeps {:.1}%)", (kept * 1000.0).floor() / 10.0)?;
        }
        write!(f, "; better: {}", graded.best.name())
    }
}

/// A value in a few digits: small ones, as in Threes! on a small board, with decimals.
pub fn short(value: f64) -> String {
    match value.abs() {
        size if size >= 1000.0 => grouped(value.round()),
        size if size >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}
