//! Bands around lines that are means over several runs: the 95% interval of the mean by Student's t;
//! for fewer than three runs, whose interval would fill the page, from the lowest to the highest.

use super::scale::drawable;
use crate::curve::Curve;
use crate::statistics::mean_interval;

/// The lower and the upper end of a band.
pub(super) type Ends = [f64; 2];

/// From this many runs on, the band is an interval.
const FEWEST: usize = 3;

/// The band of these values; `None` for a single one.
pub(super) fn band(values: &[f64]) -> Option<Ends> {
    if values.len() < 2 || !values.iter().all(|&value| drawable(value)) {
        return None;
    }
    if values.len() < FEWEST {
        let low = values.iter().copied().fold(f64::INFINITY, f64::min);
        let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        return Some([low, high]);
    }
    mean_interval(values).1
}

/// What the lines and bands of these runs are, for a heading; `None` if no run is a mean.
pub(super) fn words<'a>(curves: impl Iterator<Item = &'a Curve>) -> Option<String> {
    counted(curves.map(|curve| curve.seeds.len()))
}

/// The same by the numbers of runs of each line.
pub(super) fn counted(numbers: impl Iterator<Item = usize>) -> Option<String> {
    let numbers: Vec<usize> = numbers.filter(|&number| number > 0).collect();
    let (least, most) = (*numbers.iter().min()?, *numbers.iter().max()?);
    let seeds = match (least, most) {
        (_, 1) => return None,
        _ if least == most => format!("mean of {most} seeds"),
        _ => format!("mean of {least} to {most} seeds"),
    };
    Some(match (least, most) {
        (FEWEST.., _) => format!("{seeds} with a 95% band"),
        (_, ..FEWEST) => format!("{seeds} with their range"),
        _ => format!("{seeds} with a 95% band (under 3: range)"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1, 2, 3: mean 2, standard error 1 / sqrt(3), t = 4.302653 with two degrees of freedom.
    #[test]
    fn bands_by_hand() {
        let [low, high] = band(&[3.0, 1.0, 2.0]).unwrap();
        let half = 4.302_653 / 3f64.sqrt();
        assert!((low - (2.0 - half)).abs() < 1e-5 && (high - (2.0 + half)).abs() < 1e-5);
        assert_eq!(band(&[5.0, 3.0]), Some([3.0, 5.0]));
        assert_eq!(band(&[5.0]), None);
        assert_eq!(band(&[]), None);
        assert_eq!(band(&[1.0, f64::NAN, 2.0]), None);
    }

    #[test]
    fn headings_say_what_a_band_is() {
        let words = |numbers: &[usize]| counted(numbers.iter().copied());
        assert_eq!(words(&[]), None);
        assert_eq!(words(&[0, 0]), None);
        assert_eq!(words(&[1, 1]), None);
        assert_eq!(words(&[2, 2]).unwrap(), "mean of 2 seeds with their range");
        assert_eq!(words(&[5, 5]).unwrap(), "mean of 5 seeds with a 95% band");
        let some = words(&[4, 5]).unwrap();
        assert_eq!(some, "mean of 4 to 5 seeds with a 95% band");
        let few = words(&[2, 5]).unwrap();
        assert_eq!(few, "mean of 2 to 5 seeds with a 95% band (under 3: range)");
    }
}
