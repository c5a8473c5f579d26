//! Did things happen as often as they should, when their chances were different every time?
//!
//! Each draw i has its own chances p_i. What was drawn less what was expected, d = sum of (drawn - p_i), has the
//! covariance C = sum of (diag(p_i) - p_i p_i^T) whatever came before, so that d^T C^-1 d is chi-squared with as many
//! degrees of freedom as C has rank. With chances that never change this is Pearson's test.
//!
//! That is the law of many draws. Three 4-tiles in a row come in one of a thousand games, and chi-squared would have it that
//! they never do. So kinds that were hardly ever possible are left out until their variance is [`LEAST_VARIANCE`].

use statrs::distribution::{ChiSquared, ContinuousCDF};

/// Where chi-squared begins to be true far out: of fair files of 278 new 2048-tiles, whose variance this is, 3.7 in a million have
/// p < 1e-6, by the sums of the binomial distribution.
const LEAST_VARIANCE: f64 = 25.0;

/// How often each of some kinds was drawn, beside how often it should have been.
#[derive(Clone, Debug)]
pub struct Frequency {
    kinds: usize,
    draws: u64,
    /// Drawn less expected.
    surplus: Vec<f64>,
    /// By rows.
    covariance: Vec<f64>,
}

/// How likely fair chance is to stray as far, or farther.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Test {
    /// How many draws there were.
    pub draws: u64,
    /// How far they strayed.
    pub chi_squared: f64,
    /// Degrees of freedom.
    pub freedom: usize,
    /// The probability.
    pub p_value: f64,
}

impl Frequency {
    /// Of so many kinds, nothing drawn yet.
    pub fn new(kinds: usize) -> Self {
        Self {
            kinds,
            draws: 0,
            surplus: vec![0.0; kinds],
            covariance: vec![0.0; kinds * kinds],
        }
    }

    /// One was drawn of kinds that had these chances; the others had none. A draw without a choice tells nothing.
    pub fn see(&mut self, drawn: usize, chances: impl Iterator<Item = (usize, f64)> + Clone) {
        if chances.clone().take(2).count() < 2 {
            return;
        }
        self.draws += 1;
        self.surplus[drawn] += 1.0;
        for (kind, p) in chances.clone() {
            self.surplus[kind] -= p;
            let row = kind * self.kinds;
            self.covariance[row + kind] += p;
            for (other, q) in chances.clone() {
                self.covariance[row + other] -= p * q;
            }
        }
    }

    /// What it comes to; `None` if there was nothing to choose, or too seldom.
    pub fn test(&self) -> Option<Test> {
        let (chi_squared, freedom) = self.distance();
        let law = ChiSquared::new(freedom as f64).ok()?;
        Some(Test {
            draws: self.draws,
            chi_squared,
            freedom,
            p_value: law.sf(chi_squared),
        })
    }

    /// d^T C^-1 d and the rank of C, by elimination: the largest variance first, until what is left says too little.
    fn distance(&self) -> (f64, usize) {
        let n = self.kinds;
        let (mut c, mut d) = (self.covariance.clone(), self.surplus.clone());
        let (mut sum, mut rank) = (0.0, 0);
        let mut left: Vec<usize> = (0..n).collect();
        let least = LEAST_VARIANCE.max(1e-9 * self.draws as f64);
        while let Some(place) = (0..left.len()).max_by(|&a, &b| {
            let variance = |place: usize| c[left[place] * n + left[place]];
            variance(a).total_cmp(&variance(b))
        }) {
            let k = left.swap_remove(place);
            let variance = c[k * n + k];
            if variance <= least {
                break;
            }
            sum += d[k] * d[k] / variance;
            rank += 1;
            for &i in &left {
                let share = c[i * n + k] / variance;
                d[i] -= share * d[k];
                for &j in &left {
                    c[i * n + j] -= share * c[k * n + j];
                }
            }
        }
        (sum, rank)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::game_rng;

    /// 1,000 throws of a die; Pearson's statistic and its p-value by hand.
    #[test]
    fn with_equal_chances_it_is_pearsons_test() {
        let counts = [150, 180, 170, 160, 190, 150];
        let mut die = Frequency::new(6);
        for (side, count) in counts.into_iter().enumerate() {
            for _ in 0..count {
                die.see(side, (0..6).map(|side| (side, 1.0 / 6.0)));
            }
        }
        let test = die.test().unwrap();
        let expected = 1000.0 / 6.0;
        let pearson: f64 = counts
            .iter()
            .map(|&count| (f64::from(count) - expected).powi(2) / expected)
            .sum();
        assert!((test.chi_squared - pearson).abs() < 1e-9, "{test:?}");
        assert_eq!((test.freedom, test.draws), (5, 1000));
        // chi-squared of 8.0 with 5 degrees of freedom.
        assert!((pearson - 8.0).abs() < 1e-9);
        assert!((test.p_value - 0.156_235_6).abs() < 1e-6, "{test:?}");
    }

    /// Chances that change from draw to draw, drawn fairly: p-values are spread evenly. Drawn with a preference: caught.
    #[test]
    fn fair_draws_pass_and_unfair_ones_do_not() {
        let run = |number: u64, preference: f64| {
            let mut rng = game_rng(1, number);
            let mut seen = Frequency::new(8);
            for _ in 0..2000 {
                let mask = rng.bits() as u8 | 1;
                let kinds: Vec<usize> = (0..8).filter(|kind| mask >> kind & 1 == 1).collect();
                let chances = kinds.iter().map(|&kind| (kind, 1.0 / kinds.len() as f64));
                let prefers = (rng.bits() % 1000) as f64 / 1000.0 < preference;
                let pick = rng.below(kinds.len() as u32) as usize;
                seen.see(kinds[if prefers { 0 } else { pick }], chances);
            }
            seen.test().unwrap().p_value
        };
        let fair: Vec<f64> = (0..200).map(|number| run(number, 0.0)).collect();
        let below_half = fair.iter().filter(|&&p| p < 0.5).count();
        assert!((70..130).contains(&below_half), "{below_half}");
        assert!(fair.iter().all(|&p| p > 1e-5));
        assert!(run(1, 0.2) < 1e-6);
    }

    /// What is possible and rare is not held against anybody; what is rare and comes often is.
    #[test]
    fn few_draws_say_nothing() {
        let chances = || [(1, 0.9), (2, 0.1)].into_iter();
        let mut fours = Frequency::new(3);
        for _ in 0..200 {
            fours.see(2, chances());
        }
        assert_eq!(fours.test(), None);
        for _ in 0..100 {
            fours.see(2, chances());
        }
        assert!(fours.test().unwrap().p_value < 1e-100);
    }

    #[test]
    fn without_a_choice_there_is_no_test() {
        let mut sure = Frequency::new(3);
        sure.see(1, [(1, 1.0)].into_iter());
        assert_eq!(sure.test(), None);
    }
}
