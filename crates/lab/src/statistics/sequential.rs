//! A sequential test: an interval for a mean that may be looked at after every pair of games.
//!
//! The usual 95% interval is right for a number of games that was fixed before. A comparison that is
//! looked at again and again, and stopped when it excludes 0, is wrong far more often than in 5% of
//! the cases. The intervals here hold for all numbers of games at once: with a probability of about
//! 95%, asymptotically, none of them misses the true mean. They are the asymptotic confidence sequence of Waudby-Smith, Arbour, Sinha,
//! Kennedy and Ramdas (Annals of Statistics 52, 2024), a mixture of normal distributions as Robbins
//! used it, with the variance estimated from the numbers so far.

use super::{Interval, mean_and_error};

/// The probability that any of the intervals misses the mean.
pub const ERROR_RATE: f64 = 0.05;

/// The number of games at which the intervals are as short as they can be made.
const TUNED_FOR: f64 = 1_000.0;

/// Fewer numbers give no interval: the variance is not known well enough.
pub(crate) const FEWEST: usize = 64;

/// The interval of the mean after these numbers; `None` where they are too few, or all equal, so that
/// nothing is known about their variance.
pub(crate) fn anytime_interval(numbers: &[f64]) -> Option<Interval> {
    let (mean, error) = mean_and_error(numbers);
    let n = numbers.len() as f64;
    let deviation = (error.filter(|_| numbers.len() >= FEWEST)? * n).sqrt();
    let half = deviation * half_width(n);
    (half > 0.0).then_some([mean - half, mean + half])
}

/// Half of the length of the interval after `n` numbers, in standard deviations of one number.
fn half_width(n: f64) -> f64 {
    let least = -2.0 * ERROR_RATE.ln();
    let squared = (least + (least + 1.0).ln()) / TUNED_FOR;
    let grown = n * squared + 1.0;
    (2.0 * grown / (n * n * squared) * (grown.sqrt() / ERROR_RATE).ln()).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use afterstate::random::{Rng, game_rng};

    /// At 1,000 numbers and 5%: s = (5.991465 + ln 6.991465) / 1000 = 0.007936154, so that
    /// n s + 1 = 8.936154, and the root of 2 * 8.936154 / 7936.154 * ln(2.989340 / 0.05) is 0.0959817.
    #[test]
    fn the_width_by_hand() {
        assert!(
            (half_width(1_000.0) - 0.095_981_7).abs() < 1e-6,
            "{}",
            half_width(1_000.0)
        );
        // The usual interval is shorter: 1.96 / sqrt(1000) = 0.06198.
        assert!(half_width(1_000.0) > 0.06198);
        assert!(half_width(100.0) > half_width(1_000.0));
        assert_eq!(anytime_interval(&[1.0; FEWEST - 1]), None);
        assert_eq!(anytime_interval(&[1.0; FEWEST]), None);
        let two = [[0.0; FEWEST], [1.0; FEWEST]].concat();
        assert!(anytime_interval(&two).is_some_and(|[low, high]| low < 0.5 && high > 0.5));
    }

    /// A skewed number with mean 0: the third power of a uniform one, as scores are skewed.
    fn skewed(rng: &mut Rng) -> f64 {
        rng.unit().powi(3) - 0.25
    }

    /// Of 1,000 sequences without a difference, looked at after every 64 numbers up to 6,400, at most
    /// 5% are ever found to have one; with the usual interval more than 20% are. With a difference
    /// of half a standard deviation all are found soon, on the right side.
    #[test]
    fn looking_again_and_again_is_allowed() {
        let (mut found, mut naive) = (0, 0);
        for sequence in 0..1_000 {
            let mut rng = game_rng(9, sequence);
            let numbers: Vec<f64> = (0..6_400).map(|_| skewed(&mut rng)).collect();
            let excludes = |interval: Option<Interval>| {
                interval.is_some_and(|[low, high]| low > 0.0 || high < 0.0)
            };
            let mut looks = (1..=100).map(|look| &numbers[..look * 64]);
            found += u32::from(looks.clone().any(|seen| excludes(anytime_interval(seen))));
            naive += u32::from(looks.any(|seen| excludes(super::super::mean_interval(seen).1)));
        }
        assert!(found <= 50, "{found}");
        assert!(naive > 200, "{naive}");
        let mut rng = game_rng(10, 0);
        let better: Vec<f64> = (0..640).map(|_| skewed(&mut rng) + 0.14).collect();
        assert!(anytime_interval(&better).is_some_and(|[low, _]| low > 0.0));
    }
}
