//! A test of draws by any numbers that are attached to what may be drawn.
//!
//! Draw i picks one of some numbers x with known probabilities, and the numbers may depend on all
//! that happened before it. Then x drawn minus the mean of x has the conditional mean 0, so the sum
//! over all draws is a martingale, and so is that over any selection of them that does not depend on
//! their results. z = sum / root of the sum of the conditional variances is about normal for many
//! draws.
//!
//! The p-value is Freedman's bound, exp(-z^2 / 2 / (1 + b z / 3)), where b is the largest possible
//! step over the root of the variance (D. A. Freedman, "On tail probabilities for martingales",
//! 1975). Unlike the normal tail it also holds for few draws and for numbers of which a few are
//! huge; for many draws it is about ten times the normal tail where that is a millionth.

/// The sum of many draws, each minus its mean.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Martingale {
    draws: u64,
    sum: f64,
    variance: f64,
    /// The largest distance of a number from its mean.
    step: f64,
}

/// The result of a test of a martingale.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MartingaleResult {
    /// The number of draws that had a choice.
    pub draws: u64,
    /// The sum in standard deviations.
    pub z: f64,
}

/// Which sums are surprising.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tail {
    /// Large ones.
    Upper,
    /// Large and small ones.
    Both,
}

impl Martingale {
    /// Counts a draw among numbers with these probabilities, which sum to 1.
    pub fn see(&mut self, drawn: f64, numbers: impl Iterator<Item = (f64, f64)> + Clone) {
        let mean: f64 = numbers.clone().map(|(x, p)| p * x).sum();
        let (mut variance, mut step) = (0.0, 0.0);
        for (x, p) in numbers {
            let distance = (x - mean).abs();
            variance += p * distance * distance;
            step = f64::max(step, distance);
        }
        // Rounding leaves a little where all numbers are equal.
        if step > 1e-9 * mean.abs().max(1.0) && variance.is_finite() {
            self.draws += 1;
            self.sum += drawn - mean;
            self.variance += variance;
            self.step = self.step.max(step);
        }
    }

    /// The sum of all draws, each minus its mean.
    pub fn sum(&self) -> f64 {
        self.sum
    }

    /// Adds the draws of another sum.
    pub fn merge(&mut self, other: &Self) {
        self.draws += other.draws;
        self.sum += other.sum;
        self.variance += other.variance;
        self.step = self.step.max(other.step);
    }

    /// The sum in standard deviations, and a bound of the probability that fair draws deviate at
    /// least as far; `None` if no draw had a choice.
    pub fn test(&self, tail: Tail) -> Option<(MartingaleResult, f64)> {
        if self.draws == 0 || self.variance <= 0.0 {
            return None;
        }
        let deviation = self.variance.sqrt();
        let (z, b) = (self.sum / deviation, self.step / deviation);
        let bound = |z: f64| (-z * z / 2.0 / (1.0 + b * z / 3.0)).exp();
        let p = match tail {
            Tail::Upper if z <= 0.0 => 1.0,
            Tail::Upper => bound(z),
            Tail::Both => (2.0 * bound(z.abs())).min(1.0),
        };
        let draws = self.draws;
        Some((MartingaleResult { draws, z }, p))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::game_rng;

    /// 100 throws of a fair coin with 60 heads: z = 2, and a step of 0.05 standard deviations.
    #[test]
    fn a_coin_by_hand() {
        let mut coin = Martingale::default();
        for throw in 0..100 {
            let drawn = f64::from(u8::from(throw < 60));
            coin.see(drawn, [(0.0, 0.5), (1.0, 0.5)].into_iter());
        }
        let (drift, p) = coin.test(Tail::Upper).unwrap();
        assert!((drift.z - 2.0).abs() < 1e-12 && drift.draws == 100);
        let expected = (-2.0 / (1.0 + 0.1 * 2.0 / 3.0_f64)).exp();
        assert!((p - expected).abs() < 1e-12, "{p}");
        let (_, both) = coin.test(Tail::Both).unwrap();
        assert!((both - 2.0 * expected).abs() < 1e-12, "{both}");
    }

    /// Numbers that depend on the past, of which a few are large: the bound holds.
    #[test]
    fn fair_draws_are_rarely_far_out() {
        let p_of = |number: u64| {
            let mut rng = game_rng(5, number);
            let mut sum = Martingale::default();
            let mut past = 1.0;
            for _ in 0..300 {
                let numbers = [(past, 0.99), (-99.0 * past, 0.01)];
                let drawn = if rng.below(100) == 0 { 1 } else { 0 };
                sum.see(numbers[drawn].0, numbers.into_iter());
                past = 1.0 + f64::from(rng.below(3));
            }
            sum.test(Tail::Both).unwrap().1
        };
        let few = (0..2000).filter(|&number| p_of(number) < 0.01).count();
        assert!(few <= 30, "{few}");
    }

    #[test]
    fn without_a_choice_there_is_no_test() {
        let mut sure = Martingale::default();
        sure.see(3.0, [(3.0, 0.3), (3.0, 0.7)].into_iter());
        assert_eq!(sure.test(Tail::Both), None);
    }
}
