//! Differences between two players over the same games: game n of both has the same random stream,
//! so the two results of a game are one pair and may be correlated.
//!
//! Win rates: Newcombe's interval for the difference of two paired proportions. It combines the
//! Wilson intervals of both with their correlation: R. G. Newcombe, "Improved confidence intervals
//! for the difference between binomial proportions based on paired data", Statistics in Medicine
//! 17, 1998, method 10. Like Wilson's interval, it is valid near 0 and 1.
//!
//! Medians: a percentile bootstrap. A resample draws as many pairs as there are games, with
//! repetition, and takes the difference of its two medians. The interval leaves out 2.5% of the
//! resamples on either side. The random stream is fixed: the same games give the same interval.

use afterstate::random::{Rng, game_rng};

use super::{Interval, median, share_interval};

/// How many of the pairs hit in both, in the first only, in the second only, and in neither.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PairCounts {
    pub both: u64,
    pub only_a: u64,
    pub only_b: u64,
    pub neither: u64,
}

impl PairCounts {
    /// Counts pairs.
    pub(crate) fn of(pairs: impl Iterator<Item = (bool, bool)>) -> Self {
        let mut counts = Self::default();
        for pair in pairs {
            *match pair {
                (true, true) => &mut counts.both,
                (true, false) => &mut counts.only_a,
                (false, true) => &mut counts.only_b,
                (false, false) => &mut counts.neither,
            } += 1;
        }
        counts
    }

    /// The difference of the two proportions with its 95% interval.
    pub(crate) fn difference(&self) -> (f64, Interval) {
        let Self {
            both,
            only_a,
            only_b,
            neither,
        } = *self;
        let games = both + only_a + only_b + neither;
        if games == 0 {
            return (0.0, [-1.0, 1.0]);
        }
        let share = |hits: u64| {
            let rate = hits as f64 / games as f64;
            let [low, high] = share_interval(hits, games);
            (rate, rate - low, high - rate)
        };
        let (rate_a, below_a, above_a) = share(both + only_a);
        let (rate_b, below_b, above_b) = share(both + only_b);
        let phi = self.correlation();
        let add = |x: f64, y: f64| (x * x - 2.0 * phi * x * y + y * y).max(0.0).sqrt();
        let difference = rate_a - rate_b;
        let interval = [
            (difference - add(below_a, above_b)).max(-1.0),
            (difference + add(above_a, below_b)).min(1.0),
        ];
        (difference, interval)
    }

    /// The correlation of the two results, with Newcombe's correction for few pairs.
    fn correlation(&self) -> f64 {
        let [both, only_a, only_b, neither] =
            [self.both, self.only_a, self.only_b, self.neither].map(|count| count as f64);
        let sums = (both + only_a) * (only_b + neither) * (both + only_b) * (only_a + neither);
        if sums == 0.0 {
            return 0.0;
        }
        let games = both + only_a + only_b + neither;
        let product = both * neither - only_a * only_b;
        let corrected = match product {
            product if product > games / 2.0 => product - games / 2.0,
            product if product > 0.0 => 0.0,
            product => product,
        };
        corrected / sums.sqrt()
    }
}

/// The resamples of a bootstrap.
const RESAMPLES: usize = 2_000;
/// The most draws of all resamples together: from 100,000 pairs on there are fewer resamples.
const DRAWS: usize = 200_000_000;
/// But never fewer than this.
const FEWEST: usize = 400;
/// The seed of their random stream.
const SEED: u64 = 2048;

/// The median of the first numbers of all pairs minus that of the second, with its 95% interval;
/// a single pair has none.
pub(crate) fn median_difference(pairs: &[(u64, u64)]) -> (f64, Option<Interval>) {
    let (a, b) = (
        Ranked::new(pairs, |pair| pair.0),
        Ranked::new(pairs, |pair| pair.1),
    );
    let difference = median(&a.sorted) - median(&b.sorted);
    let count = u32::try_from(pairs.len()).unwrap_or(u32::MAX);
    if count < 2 {
        return (difference, None);
    }
    let resamples = (DRAWS / pairs.len()).clamp(FEWEST, RESAMPLES);
    let mut rng = game_rng(SEED, 0);
    let mut found: Vec<f64> = Vec::with_capacity(resamples);
    let mut drawn = [vec![0_u32; pairs.len()], vec![0_u32; pairs.len()]];
    for _ in 0..resamples {
        found.push(resampled(&a, &b, &mut drawn, count, &mut rng));
    }
    found.sort_unstable_by(f64::total_cmp);
    // 2.5% lie outside on either side: the 50th of 2,000 from below and from above.
    let outside = (resamples / 40).max(1) - 1;
    let interval = [found[outside], found[resamples - 1 - outside]];
    (difference, Some(interval))
}

/// The difference of the medians of one resample; `drawn` is memory for its counts.
fn resampled(a: &Ranked, b: &Ranked, drawn: &mut [Vec<u32>; 2], count: u32, rng: &mut Rng) -> f64 {
    let [drawn_a, drawn_b] = drawn;
    drawn_a.fill(0);
    drawn_b.fill(0);
    for _ in 0..count {
        let pair = rng.below(count) as usize;
        drawn_a[a.ranks[pair] as usize] += 1;
        drawn_b[b.ranks[pair] as usize] += 1;
    }
    a.median(drawn_a, count) - b.median(drawn_b, count)
}

/// Numbers in order, and the place of each in that order.
struct Ranked {
    sorted: Vec<u64>,
    ranks: Vec<u32>,
}

impl Ranked {
    fn new(pairs: &[(u64, u64)], of: impl Fn(&(u64, u64)) -> u64) -> Self {
        let mut order: Vec<u32> = (0..pairs.len() as u32).collect();
        order.sort_by_key(|&pair| of(&pairs[pair as usize]));
        let mut ranks = vec![0; pairs.len()];
        for (rank, &pair) in order.iter().enumerate() {
            ranks[pair as usize] = rank as u32;
        }
        let sorted = order
            .iter()
            .map(|&pair| of(&pairs[pair as usize]))
            .collect();
        Self { sorted, ranks }
    }

    /// The median of a resample, which drew the number of each rank this many times.
    fn median(&self, drawn: &[u32], count: u32) -> f64 {
        // The middle number, or the two around the middle.
        let (lower, upper) = ((count - 1) / 2, count / 2);
        let mut seen = 0;
        let mut low = None;
        for (&number, &times) in self.sorted.iter().zip(drawn) {
            seen += times;
            if low.is_none() && seen > lower {
                low = Some(number);
            }
            if seen > upper {
                return (low.unwrap_or(number) as f64 + number as f64) / 2.0;
            }
        }
        0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-4, "{found} is not {expected}");
    }

    fn counts(both: u64, only_a: u64, only_b: u64, neither: u64) -> PairCounts {
        PairCounts {
            both,
            only_a,
            only_b,
            neither,
        }
    }

    /// 20, 12, 2 and 16 of 50: the rates 0.64 and 0.44 have the Wilson intervals 0.501410 to 0.758613
    /// and 0.311622 to 0.576940; the product 20 * 16 - 12 * 2 = 296 less 25 is 271, and phi = 271 /
    /// sqrt(32 * 18 * 22 * 28) = 0.454954.
    #[test]
    fn differences_of_proportions_by_hand() {
        let of_50 = counts(20, 12, 2, 16);
        near(of_50.correlation(), 271.0 / f64::sqrt(354_816.0));
        near(of_50.correlation(), 0.454_954);
        for (counts, [difference, low, high]) in [
            (of_50, [0.2, 0.056_156, 0.329_207]),
            // A rate of 0.96 and one of 0.76, with a negative correlation.
            (counts(36, 12, 2, 0), [0.2, 0.056_930, 0.340_428]),
            (counts(1, 5, 4, 0), [0.1, -0.424_910, 0.572_058]),
            // Certain successes of both: only the Wilson intervals are left, 0.722467 to 1.
            (counts(10, 0, 0, 0), [0.0, -0.277_533, 0.277_533]),
            (counts(5, 5, 0, 0), [0.5, 0.117_367, 0.763_407]),
        ] {
            let (found, [found_low, found_high]) = counts.difference();
            near(found, difference);
            near(found_low, low);
            near(found_high, high);
        }
        assert_eq!(PairCounts::default().difference(), (0.0, [-1.0, 1.0]));
        let pairs = [(true, true), (true, false), (false, true), (true, false)];
        assert_eq!(PairCounts::of(pairs.into_iter()), counts(1, 2, 1, 0));
    }

    /// Pairing helps: the same two rates have a narrower interval if most games agree.
    #[test]
    fn agreeing_pairs_narrow_the_interval() {
        let width = |counts: PairCounts| {
            let (_, [low, high]) = counts.difference();
            high - low
        };
        assert!(width(counts(490, 20, 10, 480)) < 0.5 * width(counts(260, 250, 240, 250)));
    }

    /// The median of the numbers 0 to 10 in a resample is at most k if 6 or more of 11 draws are:
    /// with chance 0.0072 for k = 1, 0.0512 for 2, 0.9488 for 7 and 0.9928 for 8. So the quantiles
    /// are 2 and 8. The second number of each pair is constant.
    #[test]
    fn differences_of_medians_by_hand() {
        let pairs: Vec<(u64, u64)> = (0..11).map(|n| (n * 8 % 11 + 100, 90)).collect();
        let (difference, interval) = median_difference(&pairs);
        assert_eq!(difference, 15.0);
        let [low, high] = interval.unwrap();
        assert_eq!([low, high], [12.0, 18.0]);
        // The same games, the same interval; a constant shift has no error at all.
        assert_eq!(median_difference(&pairs).1, Some([low, high]));
        let shifted: Vec<(u64, u64)> = (0..50).map(|n| (n * n + 7, n * n)).collect();
        assert_eq!(median_difference(&shifted), (7.0, Some([7.0, 7.0])));
        // Even counts: the median is the middle between two numbers.
        let even = [(1, 0), (2, 0), (4, 0), (9, 0)];
        assert_eq!(median_difference(&even).0, 3.0);
        assert_eq!(median_difference(&[(5, 2)]), (3.0, None));
        assert_eq!(median_difference(&[]), (0.0, None));
    }

    /// Intervals include the true difference about as often as they say. The standard error of a
    /// share of 0.95 in 400 trials is 0.011; the bounds are four of them.
    #[test]
    fn intervals_cover_the_true_difference() {
        let (trials, games) = (400, 60);
        let (mut medians, mut rates) = (0, 0);
        for trial in 0..trials {
            let mut rng = game_rng(7, trial);
            // A common part correlates the two; skewed, as scores are. Medians differ by 300.
            let pairs: Vec<(u64, u64)> = (0..games)
                .map(|_| {
                    let common = 400.0 * rng.unit();
                    let mut own = || (1000.0 * rng.unit().powi(2) + common) as u64;
                    (own() + 300, own())
                })
                .collect();
            let covers = |[low, high]: Interval, truth: f64| low <= truth && truth <= high;
            let (_, interval) = median_difference(&pairs);
            medians += u64::from(covers(interval.unwrap(), 300.0));
            // Hits with chances 0.3 and 0.1, which go together: a uniform number below either.
            let hits = (0..games).map(|_| {
                let (common, own) = (rng.unit(), rng.unit());
                (
                    common < 0.3,
                    if own < 0.5 {
                        common < 0.1
                    } else {
                        rng.unit() < 0.1
                    },
                )
            });
            rates += u64::from(covers(PairCounts::of(hits).difference().1, 0.2));
        }
        for (what, covered) in [("medians", medians), ("rates", rates)] {
            let share = covered as f64 / trials as f64;
            assert!((0.906..=0.994).contains(&share), "{what}: {share}");
        }
    }
}
