//! Intervals: no figure without one.

use std::f64::consts::FRAC_PI_2;

/// 97.5% of a normal distribution lie below this many standard deviations.
const Z: f64 = 1.959_963_984_540_054;

/// A 95% interval.
pub(crate) type Interval = [f64; 2];

/// The mean with its 95% interval by Student's t; one number has no spread to tell of.
pub(crate) fn mean_interval(numbers: &[f64]) -> (f64, Option<Interval>) {
    let (mean, error) = mean_and_error(numbers);
    let interval = error.map(|error| {
        let half = students_t(numbers.len() as f64 - 1.0) * error.sqrt();
        [mean - half, mean + half]
    });
    (mean, interval)
}

/// The difference of two means, `a` - `b`, with its 95% interval by Welch's t, which lets each have a spread of its own. Where
/// either is the mean of less than two numbers, there is none.
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
    // Welch and Satterthwaite: as many degrees of freedom as a spread of this make-up has.
    let share = |error: f64, numbers: &[f64]| error.powi(2) / (numbers.len() - 1) as f64;
    let freedom = both.powi(2) / (share(error_a, a) + share(error_b, b));
    let half = students_t(freedom) * both.sqrt();
    (difference, Some([difference - half, difference + half]))
}

/// The mean, and the square of its standard error, which one number does not have.
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

/// The 97.5% point of Student's t, for any number of degrees of freedom from 1 on: by Cornish and Fisher's series in 1/freedom, and
/// below ten, where the series is not good enough, by the integral.
fn students_t(freedom: f64) -> f64 {
    if freedom < 10.0 {
        return students_t_by_integral(freedom);
    }
    let z = Z;
    let terms = [
        (z.powi(3) + z) / 4.0,
        (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / 96.0,
        (3.0 * z.powi(7) + 19.0 * z.powi(5) + 17.0 * z.powi(3) - 15.0 * z) / 384.0,
    ];
    z + terms[0] / freedom + terms[1] / freedom.powi(2) + terms[2] / freedom.powi(3)
}

/// With t = sqrt(freedom) / tan(u) the density of t becomes a multiple of sin(u)^(freedom - 1) on 0..pi, so that no gamma function is
/// needed: the point is where 5% of the integral up to pi/2 lie below u.
fn students_t_by_integral(freedom: f64) -> f64 {
    // Simpson's rule over the root of u, which takes the edge off fractional powers at 0.
    const STEPS: u32 = 400;
    let density = |root: f64| 2.0 * root * (root * root).sin().powf(freedom - 1.0);
    let up_to = |u: f64| {
        let width = u.sqrt() / f64::from(STEPS);
        let weighed = (0..=STEPS).map(|step| {
            let weight = match step {
                0 | STEPS => 1.0,
                odd if odd % 2 == 1 => 4.0,
                _ => 2.0,
            };
            weight * density(f64::from(step) * width)
        });
        weighed.sum::<f64>() * width / 3.0
    };
    let mut ends = [0.0, FRAC_PI_2];
    let wanted = 0.05 * up_to(FRAC_PI_2);
    // Each halving settles a bit of the result.
    for _ in 0..52 {
        let middle = (ends[0] + ends[1]) / 2.0;
        let side = usize::from(up_to(middle) > wanted);
        ends[side] = middle;
    }
    freedom.sqrt() / ends[0].tan()
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
            (2.0, 4.3027),
            (3.0, 3.1824),
            (5.0, 2.5706),
            (9.0, 2.2622),
            (9.999, 2.2281),
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

    /// 1, 2, 3 and 4, 6, 8, 10: means 2 and 7, squared errors 1/3 and 20/3/4 = 5/3, both 2; freedom 4 / (1/18 + 25/27) = 216/53.
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
