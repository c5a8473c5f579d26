//! Numbers as people read them: the one place for separators, percentages, sizes and speeds. Plots,
//! error messages, tables and the command line all use it.

pub use afterstate::tally::trimmed;

/// A whole number with thousands separators: 86,475.
pub fn grouped(number: f64) -> String {
    decimals(number, 0)
}

/// A number of things: 1 game, 30,000 games.
pub fn count(number: u64, one: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {one}{plural}", grouped(number as f64))
}

/// A number with thousands separators and a fixed number of decimals: -1,234.50. Zero has no sign.
pub fn decimals(number: f64, decimals: usize) -> String {
    let text = format!("{:.decimals$}", number.abs());
    let (whole, rest) = text.split_at(text.find('.').unwrap_or(text.len()));
    let sign = if number < 0.0 && !is_zero(&text) {
        "-"
    } else {
        ""
    };
    let mut groups = String::with_capacity(text.len() + whole.len() / 3 + 1);
    for (place, digit) in whole.chars().enumerate() {
        if place > 0 && (whole.len() - place).is_multiple_of(3) {
            groups.push(',');
        }
        groups.push(digit);
    }
    format!("{sign}{groups}{rest}")
}

/// As [`decimals`], with a plus sign before positive numbers.
pub fn signed(number: f64, places: usize) -> String {
    let text = decimals(number, places);
    if text.starts_with('-') || is_zero(&text) {
        text
    } else {
        format!("+{text}")
    }
}

/// Whether a formatted number rounds to zero.
fn is_zero(text: &str) -> bool {
    text.chars().all(|c| "0.".contains(c))
}

/// Three or more significant digits: 12,345, 12.34 or 0.0123.
pub fn significant(number: f64) -> String {
    match number.abs() {
        size if size >= 100.0 => grouped(number),
        size if size >= 1.0 => decimals(number, 2),
        _ => decimals(number, 4),
    }
}

/// A 95% confidence interval: `95%: 85,000 to 88,000`.
pub fn interval(ends: Option<[f64; 2]>) -> String {
    match ends {
        Some([low, high]) => format!("95%: {} to {}", grouped(low), grouped(high)),
        None => "no interval from so few games".to_owned(),
    }
}

/// A proportion as a percentage with one decimal, for columns of a table: 94.5%.
pub fn percent(share: f64) -> String {
    format!("{:.1}%", 100.0 * share)
}

/// A proportion as a percentage for a label. Only an exact 0 reads 0%, and only an exact 1 reads
/// 100%; everything between has one decimal.
pub fn percent_label(share: f64) -> String {
    match 100.0 * share {
        p if p > 0.0 && p < 0.05 => "<0.1%".to_owned(),
        p if (99.95..100.0).contains(&p) => ">99.9%".to_owned(),
        p if p == 0.0 || p == 100.0 => format!("{p:.0}%"),
        _ => percent(share),
    }
}

/// A small proportion as a percentage with three significant digits, down to `least`: 0.512%.
pub fn percent_significant(share: f64, least: f64) -> String {
    match 100.0 * share {
        p if p <= 0.0 => "0%".to_owned(),
        p if p < 100.0 * least => format!("<{}%", trimmed(100.0 * least, 6)),
        p if p < 1.0 => format!("{p:.3}%"),
        p if p < 10.0 => format!("{p:.2}%"),
        p => format!("{p:.1}%"),
    }
}

/// A size in memory or on disk: 1,234.5 GiB.
pub fn bytes(count: u64) -> String {
    let (unit, name) = match count {
        0..1_048_576 => (1024.0, "KiB"),
        1_048_576..1_073_741_824 => (1_048_576.0, "MiB"),
        _ => (1_073_741_824.0, "GiB"),
    };
    format!("{} {name}", decimals(count as f64 / unit, 1))
}

/// A p-value with its sign, as in `= 0.123`, `= 1.2e-7` or `< 1e-300`.
pub fn p_value(p: f64) -> String {
    match p {
        p if p < 1e-300 => "< 1e-300".to_owned(),
        p if p < 0.001 => format!("= {p:.1e}"),
        p => format!("= {p:.3}"),
    }
}

/// A speed of play: 1.23 M moves/s.
pub fn speed(moves_per_second: f64) -> String {
    match moves_per_second {
        s if s >= 999_500.0 => format!("{:.2} M moves/s", s / 1e6),
        s if s >= 1000.0 => format!("{:.0} k moves/s", s / 1e3),
        s => format!("{s:.0} moves/s"),
    }
}

/// A tick label of an axis that ends at `max`: 250, 5,000, 50k or 1.5M.
pub(crate) fn tick(value: f64, max: f64) -> String {
    match value {
        0.0 => "0".to_owned(),
        _ if max >= 1e6 => trimmed(value / 1e6, 4) + "M",
        _ if max >= 1e4 => trimmed(value / 1e3, 4) + "k",
        _ if max >= 10.0 => grouped(value),
        _ => trimmed(value, 4),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_separated() {
        assert_eq!(
            [0, 1, 30_000].map(|games| count(games, "game")),
            ["0 games", "1 game", "30,000 games"]
        );
        assert_eq!(grouped(86_475.6), "86,476");
        assert_eq!(grouped(1_234_567.4), "1,234,567");
        assert_eq!(grouped(999.0), "999");
        assert_eq!(grouped(-1_234_567.0), "-1,234,567");
        assert_eq!(grouped(-0.2), "0");
        assert_eq!(grouped(f64::INFINITY), "inf");
        assert_eq!(decimals(-1_234.5, 2), "-1,234.50");
        assert_eq!(decimals(-0.004, 2), "0.00");
        assert_eq!(signed(1_234.56, 1), "+1,234.6");
        assert_eq!(signed(-5.0, 0), "-5");
        assert_eq!(signed(0.01, 1), "0.0");
        let digits = [12_345.0, -104.5, 12.345, 0.012_345].map(significant);
        assert_eq!(digits, ["12,345", "-104", "12.35", "0.0123"]);
    }

    #[test]
    fn percentages() {
        assert_eq!(percent(0.9445), "94.5%");
        assert_eq!(percent(1.0), "100.0%");
        let labels = [0.0, 0.0004, 0.0005, 0.529, 0.9996, 1.0].map(percent_label);
        assert_eq!(labels, ["0%", "<0.1%", "0.1%", "52.9%", ">99.9%", "100%"]);
        let gaps = [-1e-9, 5e-6, 0.00512, 0.02, 0.5].map(|gap| percent_significant(gap, 1e-5));
        assert_eq!(gaps, ["0%", "<0.001%", "0.512%", "2.00%", "50.0%"]);
    }

    #[test]
    fn sizes_and_speeds() {
        let sizes = [
            (0, "0.0 KiB"),
            (1_536, "1.5 KiB"),
            (200 << 20, "200.0 MiB"),
            (24_159_191_040, "22.5 GiB"),
            (123_456 << 30, "123,456.0 GiB"),
            (u64::MAX, "17,179,869,184.0 GiB"),
        ];
        for (count, text) in sizes {
            assert_eq!(bytes(count), text);
        }
        assert_eq!(speed(1_234_567.0), "1.23 M moves/s");
        assert_eq!(speed(559_798.0), "560 k moves/s");
        assert_eq!(speed(42.0), "42 moves/s");
    }

    #[test]
    fn ticks_share_the_unit_of_their_axis() {
        let numbers = [0.0, 2_500.0, 5_000.0].map(|value| tick(value, 10_000.0));
        assert_eq!(numbers, ["0", "2.5k", "5k"]);
        assert_eq!(tick(1_500_000.0, 2e6), "1.5M");
        assert_eq!(tick(0.25, 1.0), "0.25");
    }
}
