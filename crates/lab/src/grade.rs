//! Grades of moves: by the share of the best value that a move keeps.

use serde::{Deserialize, Serialize};

/// The grade of a move, from the best to the worst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Grade {
    /// It keeps all of the value.
    Best,
    /// It keeps nearly all.
    Excellent,
    /// Hardly anything is lost.
    Good,
    /// A little is lost.
    Inaccuracy,
    /// Much is lost.
    Mistake,
    /// More than a mistake loses.
    Blunder,
}

impl Grade {
    /// All grades, from the best to the worst.
    pub const ALL: [Self; 6] = [
        Self::Best,
        Self::Excellent,
        Self::Good,
        Self::Inaccuracy,
        Self::Mistake,
        Self::Blunder,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Best => "best",
            Self::Excellent => "excellent",
            Self::Good => "good",
            Self::Inaccuracy => "inaccuracy",
            Self::Mistake => "mistake",
            Self::Blunder => "blunder",
        }
    }
}

/// The smallest share of the best value that each grade keeps; a blunder keeps less than a mistake.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GradeThresholds {
    /// For an excellent move.
    pub excellent: f64,
    /// For a good move.
    pub good: f64,
    /// For an inaccuracy.
    pub inaccuracy: f64,
    /// For a mistake.
    pub mistake: f64,
}

impl Default for GradeThresholds {
    fn default() -> Self {
        Self {
            excellent: 0.999,
            good: 0.99,
            inaccuracy: 0.975,
            mistake: 0.9,
        }
    }
}

impl GradeThresholds {
    /// Whether the thresholds fall from 1 to 0.
    pub fn are_ordered(&self) -> bool {
        let falling = [
            1.0,
            self.excellent,
            self.good,
            self.inaccuracy,
            self.mistake,
            0.0,
        ];
        falling.is_sorted_by(|a, b| a >= b)
    }

    /// The grade of a move that is worth `total`, where the best move is worth `best`.
    pub fn grade(&self, total: f64, best: f64) -> Grade {
        if total >= best {
            return Grade::Best;
        }
        match share_kept(total, best) {
            share if share >= self.excellent => Grade::Excellent,
            share if share >= self.good => Grade::Good,
            share if share >= self.inaccuracy => Grade::Inaccuracy,
            share if share >= self.mistake => Grade::Mistake,
            _ => Grade::Blunder,
        }
    }
}

/// The share of the best value that a move keeps, from 0 to 1.
pub fn share_kept(total: f64, best: f64) -> f64 {
    if total >= best {
        1.0
    } else if best > 0.0 {
        (total / best).max(0.0)
    } else {
        // Estimates may be negative, where a share has no meaning: the move keeps nothing.
        0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grades_follow_the_share_that_is_kept() {
        let thresholds = GradeThresholds::default();
        let graded = |total| thresholds.grade(total, 1000.0);
        assert_eq!(graded(1000.0), Grade::Best);
        assert_eq!(graded(999.0), Grade::Excellent);
        assert_eq!(graded(998.9), Grade::Good);
        assert_eq!(graded(990.0), Grade::Good);
        assert_eq!(graded(975.0), Grade::Inaccuracy);
        assert_eq!(graded(900.0), Grade::Mistake);
        assert_eq!(graded(899.0), Grade::Blunder);
        assert_eq!(graded(-5.0), Grade::Blunder);
    }

    #[test]
    fn equal_values_are_best_also_at_and_below_zero() {
        let thresholds = GradeThresholds::default();
        assert_eq!(thresholds.grade(0.0, 0.0), Grade::Best);
        assert_eq!(thresholds.grade(-3.0, -3.0), Grade::Best);
        assert_eq!(thresholds.grade(-4.0, -3.0), Grade::Blunder);
        assert_eq!(share_kept(-4.0, 2.0), 0.0);
    }

    #[test]
    fn thresholds_must_fall() {
        let rising = GradeThresholds {
            good: 0.5,
            ..GradeThresholds::default()
        };
        assert!(GradeThresholds::default().are_ordered());
        assert!(!rising.are_ordered());
    }
}
