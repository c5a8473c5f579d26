//! Confidence intervals: no result is reported without one.

mod paired;
mod sequential;

pub(crate) use paired::{PairCounts, median_difference};
pub use sequential::ERROR_RATE;
pub(crate) use sequential::anytime_interval;

use statrs::distribution::{ContinuousCDF, StudentsT};

/// 97.5% of a normal distribution lie below this many standard deviations.
const Z: f64 = 1.959_963_984_540_054;

/// A 95% interval.
pub(crate) type Interval = [f64; 2];

/// The mean with its 95% interval by Student's t; a single number has no interval.
pub(crate) fn mean_interval(numbers: &[f64]) -> (f64, Option<Interval>) {
    let (mean, error) = mean_and_error(numbers);
    let interval = error.map(|error| {
        let half = students_t(numbers.len() as f64 - 1.0) * error.sqrt();
        [mean - half, mean + half]
    });
    (mean, interval)
}

/// The difference of two means, `a` - `b`, with its 95% interval by Welch's t test, which does not
/// assume equal variances. There is no interval where either sample has fewer than two numbers.
pub(crate) fn difference_interval(a: &[f64], b: &[f64]) -> (f64, Option<Interval>) {
    let [(mean_a, error_a), (mean_b, error_b)] = [a, b].map(mean_and_error);
    let difference = mean_a - mean_b;
    let (Some(error_a), Some(error_b)) = (error_a, error_b) else {
        return (difference, None);
    };
    let both = error_a + error_b;
    if both == 0.0 {
        return (difference, Some([difference; 2]));
    }
    // The degrees of freedom by Welch and Satterthwaite.
    let share = |error: f64, numbers: &[f64]| error.powi(2) / (numbers.len() - 1) as f64;
    let freedom = both.powi(2) / (share(error_a, a) + share(error_b, b));
    let half = students_t(freedom) * both.sqrt();
    (difference, Some([difference - half, difference + half]))
}

/// The mean and its squared standard error, which a single number does not have.
fn mean_and_error(numbers: &[f64]) -> (f64, Option<f64>) {
    if numbers.is_empty() {
        return (0.0, None);
    }
    let n = numbers.len() as f64;
    let mean = numbers.iter().sum::<f64>() / n;
    let squares: f64 = numbers.iter().map(|x| (x - mean).powi(2)).sum();
    let error = (numbers.len() > 1).then(|| squares / (n - 1.0) / n);
    (mean, error)
}

/// The 97.5% quantile of Student's t distribution; the degrees of freedom may be a fraction.
///
/// statrs 0.18 inverts an incomplete beta function and loses digits where `freedom` is large: its
/// error is 7e-6 at 100,000. From 5,000 on, the first two terms of the Cornish-Fisher expansion
/// around the normal quantile are exact to 1e-10.
fn students_t(freedom: f64) -> f64 {
    const LARGE: f64 = 5_000.0;
    match StudentsT::new(0.0, 1.0, freedom) {
        Ok(distribution) if freedom < LARGE => distribution.inverse_cdf(0.975),
        _ => {
            let first = (Z.powi(3) + Z) / 4.0;
            let second = (5.0 * Z.powi(5) + 16.0 * Z.powi(3) + 3.0 * Z) / 96.0;
            Z + first / freedom + second / freedom.powi(2)
        }
    }
}

/// The 95% interval of a proportion by Wilson's score, which is also valid near 0 and 1.
pub(crate) fn share_interval(hits: u64, of: u64) -> Interval {
    if of == 0 {
        return [0.0, 1.0];
    }
    let n = of as f64;
    let p = hits as f64 / n;
    let centre = p + Z * Z / (2.0 * n);
    let half = Z * (p * (1.0 - p) / n + Z * Z / (4.0 * n * n)).sqrt();
    let scale = 1.0 + Z * Z / n;
    // With no hits or only hits, an end is exactly 0 or 1, without a rounding error.
    let low = if hits == 0 {
        0.0
    } else {
        (centre - half) / scale
    };
    let high = if hits == of {
        1.0
    } else {
        (centre + half) / scale
    };
    [low, high]
}

/// The median of sorted numbers.
pub(crate) fn median(sorted: &[u64]) -> f64 {
    match sorted.len() {
        0 => 0.0,
        n if n % 2 == 1 => sorted[n / 2] as f64,
        n => (sorted[n / 2 - 1] as f64 + sorted[n / 2] as f64) / 2.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hand_computed_intervals() {
        // 1..5: mean 3, variance 2.5, standard error sqrt(0.5), t = 2.776445 with 4 degrees of
        // freedom.
        let (mean, interval) = mean_interval(&[1.0, 2.0, 3.0, 4.0, 5.0]);
        let [low, high] = interval.unwrap();
        assert_eq!(mean, 3.0);
        assert!((high - 3.0 - 2.776_445 * 0.5f64.sqrt()).abs() < 1e-6);
        assert!((low + high - 6.0).abs() < 1e-9);
        assert_eq!(mean_interval(&[60.0]), (60.0, None));

        // Wilson, 8 of 10: 0.4902 to 0.9433.
        let [low, high] = share_interval(8, 10);
        assert!(
            (low - 0.4902).abs() < 1e-4 && (high - 0.9433).abs() < 1e-4,
            "{low} {high}"
        );
        assert_eq!(share_interval(10, 10)[1], 1.0);
        assert!(share_interval(0, 10)[1] > 0.2);
    }

    /// Computed with 40 digits by mpmath: the root of its regularised incomplete beta function.
    #[test]
    fn quantiles_of_students_t() {
        for (freedom, t) in [
            (1.0, 12.706_204_736_174_705),
            (1.5, 6.016_663_104_427_932),
            (2.0, 4.302_652_729_749_464),
            (3.0, 3.182_446_305_283_71),
            (4.0, 2.776_445_105_197_794_3),
            (5.0, 2.570_581_835_636_315_5),
            (9.0, 2.262_157_162_798_205_3),
            (9.999, 2.228_169_057_460_969),
            (10.0, 2.228_138_851_986_275),
            (29.0, 2.045_229_642_132_704_3),
            (99.5, 1.984_093_610_990_624_2),
            (999.0, 1.962_341_461_133_45),
            (4_999.0, 1.960_438_646_661_525),
            (5_000.0, 1.960_438_551_706_508),
            (9_999.0, 1.960_201_263_621_357_7),
            (99_999.0, 1.959_987_707_771_844_8),
            (999_999.0, 1.959_966_356_816_479_3),
            (9_999_999.0, 1.959_964_221_767_229_3),
            (1e9, 1.959_963_986_912_325_5),
        ] {
            let found = students_t(freedom);
            assert!((found - t).abs() < 1e-9, "{freedom}: {found} is not {t}");
        }
    }

    /// 1, 2, 3 and 4, 6, 8, 10: means 2 and 7, squared errors 1/3 and 20/3/4 = 5/3, both 2; freedom
    /// 4 / (1/18 + 25/27) = 216/53.
    #[test]
    fn welch_by_hand() {
        let (a, b) = ([1.0, 2.0, 3.0], [4.0, 6.0, 8.0, 10.0]);
        let (difference, interval) = difference_interval(&b, &a);
        let [low, high] = interval.unwrap();
        assert_eq!(difference, 5.0);
        assert!((low + high - 10.0).abs() < 1e-9);
        let t = (high - 5.0) / 2f64.sqrt();
        assert!((t - students_t(216.0 / 53.0)).abs() < 1e-9);
        // Between the tabled values for 4 and 5 degrees of freedom, and near the first.
        assert!(t < 2.7764 && t > 2.7764 - 0.12 * (2.7764 - 2.5706), "{t}");
        assert_eq!(difference_interval(&[5.0], &a), (3.0, None));
        assert_eq!(difference_interval(&a, &[]), (2.0, None));
        let same = difference_interval(&[7.0, 7.0], &[4.0, 4.0, 4.0]);
        assert_eq!(same, (3.0, Some([3.0, 3.0])));
    }

    #[test]
    fn medians() {
        assert_eq!(median(&[1, 2, 9]), 2.0);
        assert_eq!(median(&[1, 2, 4, 9]), 3.0);
        assert_eq!(median(&[]), 0.0);
    }
}
