//! Intervals: no figure without one.

/// 97.5% of a normal distribution lie below this many standard deviations.
const Z: f64 = 1.959_963_984_540_054;

/// A 95% interval.
pub(crate) type Interval = [f64; 2];

/// The mean with its 95% interval by Student's t; one number has no spread to tell of.
pub(crate) fn mean_interval(numbers: &[f64]) -> (f64, Option<Interval>) {
    let n = numbers.len() as f64;
    if numbers.is_empty() {
        return (0.0, None);
    }
    let mean = numbers.iter().sum::<f64>() / n;
    let squares: f64 = numbers.iter().map(|x| (x - mean).powi(2)).sum();
    let half = students_t(n - 1.0) * (squares / (n - 1.0) / n).sqrt();
    (
        mean,
        (numbers.len() > 1).then_some([mean - half, mean + half]),
    )
}

/// The 97.5% point of Student's t, by Cornish and Fisher's series in 1/freedom; the first values,
/// where the series is not good enough, from a table.
fn students_t(freedom: f64) -> f64 {
    const FIRST: [f64; 9] = [
        12.706_205, 4.302_653, 3.182_446, 2.776_445, 2.570_582, 2.446_912, 2.364_624, 2.306_004,
        2.262_157,
    ];
    if let Some(&first) = FIRST.get((freedom as usize).wrapping_sub(1)) {
        return first;
    }
    let z = Z;
    let terms = [
        (z.powi(3) + z) / 4.0,
        (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / 96.0,
        (3.0 * z.powi(7) + 19.0 * z.powi(5) + 17.0 * z.powi(3) - 15.0 * z) / 384.0,
    ];
    z + terms[0] / freedom + terms[1] / freedom.powi(2) + terms[2] / freedom.powi(3)
}

/// The 95% interval of a share by Wilson's score, which also holds near 0 and 1.
pub(crate) fn share_interval(hits: u64, of: u64) -> Interval {
    if of == 0 {
        return [0.0, 1.0];
    }
    let n = of as f64;
    let p = hits as f64 / n;
    let centre = p + Z * Z / (2.0 * n);
    let half = Z * (p * (1.0 - p) / n + Z * Z / (4.0 * n * n)).sqrt();
    let scale = 1.0 + Z * Z / n;
    // Rounding must not cost the ends what none or all hits have exactly.
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

/// The middle of sorted numbers, or the mean of the two in the middle.
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
        // 1..5: mean 3, variance 2.5, standard error sqrt(0.5), t = 2.776445 with 4 degrees of freedom.
        let (mean, interval) = mean_interval(&[1.0, 2.0, 3.0, 4.0, 5.0]);
        let [low, high] = interval.unwrap();
        assert_eq!(mean, 3.0);
        assert!((high - 3.0 - 2.776_445 * 0.5f64.sqrt()).abs() < 1e-6);
        assert!((low + high - 6.0).abs() < 1e-9);
        assert_eq!(mean_interval(&[60.0]), (60.0, None));
        for (freedom, t) in [
            (1.0, 12.7062),
            (5.0, 2.5706),
            (10.0, 2.2281),
            (999.0, 1.9623),
        ] {
            assert!((students_t(freedom) - t).abs() < 2e-4, "{freedom}");
        }

        // Wilson, 8 of 10: 0.4902 to 0.9433.
        let [low, high] = share_interval(8, 10);
        assert!(
            (low - 0.4902).abs() < 1e-4 && (high - 0.9433).abs() < 1e-4,
            "{low} {high}"
        );
        assert_eq!(share_interval(10, 10)[1], 1.0);
        assert!(share_interval(0, 10)[1] > 0.2);
    }

    #[test]
    fn medians() {
        assert_eq!(median(&[1, 2, 9]), 2.0);
        assert_eq!(median(&[1, 2, 4, 9]), 3.0);
        assert_eq!(median(&[]), 0.0);
    }
}
