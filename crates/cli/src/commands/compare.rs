//! `afterstate compare`: which of two models is better?

use std::fmt::Write;

use afterstate_lab::compare::{
    Comparison, SequentialResult, SequentialTest, SequentialVerdict, Side, compare, compare_part,
    compare_until_sure,
};
use afterstate_lab::numbers::signed;
use anyhow::bail;

use super::document::{of_comparison, percent_points};
use super::eval::{asked_for, cut_short, hash, plan, table};
use super::models::pair;
use crate::args::{CompareArgs, FormatArg};
use crate::interrupt;
use crate::output::{count, grouped, interval, percent, print, print_json};
use crate::progress::Display;

pub fn run(args: &CompareArgs) -> anyhow::Result<()> {
    let named = (args.game.as_deref(), args.board.as_deref());
    let ((a, words_a), (b, words_b)) = pair(&args.a, &args.b, named)?;
    let limit_b = args.search_b.as_ref().unwrap_or(&args.search.search);
    args.search.check(&[limit_b])?;
    let mut a = args.search.searching(&args.search.search, 0, a)?;
    if args.plain_b && args.search.cutoff.is_none() && args.search.downgrade.is_none() {
        bail!("--plain-b has no effect without --cutoff or --downgrade");
    }
    let search_b = match args.plain_b {
        true => args.search.plain(),
        false => args.search.clone(),
    };
    let mut b = search_b.searching(limit_b, 0, b)?;
    if args.play.json {
        hash(&mut a)?;
        hash(&mut b)?;
    }
    interrupt::listen()?;
    let display = Display::new();
    let control = display.control();
    let plan = plan(&args.play, &control);
    if args.play.part.is_some() {
        let part = compare_part(&a, &b, &plan);
        display.finish();
        let part = part?;
        cut_short(part.comparison.a.scores.games, asked_for(&args.play));
        return print_json(&part);
    }
    let comparison = if args.sequential {
        let margin = args.margin;
        compare_until_sure(&a, &b, &plan, SequentialTest { margin })
    } else {
        compare(&a, &b, &plan)
    };
    display.finish();
    let comparison = comparison?;
    let test = comparison.sequential.as_ref();
    if test.is_some_and(SequentialResult::is_decided) {
        interrupt::completed();
    } else {
        cut_short(comparison.a.scores.games, args.play.games);
    }
    if args.play.json {
        return print_json(&comparison);
    }
    if args.play.format != FormatArg::Text {
        let document = of_comparison(&comparison, [&words_a, &words_b]);
        return print(document.text(args.play.format));
    }
    print(text(&comparison, [&words_a, &words_b]))
}

/// A comparison of players with these descriptions.
pub fn text(comparison: &Comparison, [words_a, words_b]: [&str; 2]) -> String {
    format!(
        "A: {words_a}\n{}\nB: {words_b}\n{}\n{}",
        table(&comparison.a),
        table(&comparison.b),
        conclusion(comparison),
    )
}

/// The differences and the verdict; the verdict alone if all games are identical.
fn conclusion(comparison: &Comparison) -> String {
    let identical = identical(comparison);
    match (comparison.equal, comparison.identical) {
        (true, _) => format!("A and B are equal, the same player: {identical}\n"),
        (false, true) => format!("A and B play alike, but are not the same: {identical}\n"),
        (false, false) => format!("{}\n{}\n", differences(comparison), verdict(comparison)),
    }
}

fn identical(comparison: &Comparison) -> String {
    match comparison.a.scores.games {
        1 => "the pair of games is identical".to_owned(),
        games => format!("all {} pairs of games are identical", grouped(games as f64)),
    }
}

/// The differences of medians and win rates.
fn differences(comparison: &Comparison) -> String {
    let c = comparison;
    let ends = |ends: Option<[f64; 2]>| {
        let ends = ends.map(|ends| ends.map(|end| signed(end, 0)));
        ends.map_or_else(String::new, |[low, high]| {
            format!("  (95%: {low} to {high})")
        })
    };
    let mut text = format!(
        "A - B, games paired by seed\n\
         mean score    {}{}\n\
         median        {}{}\n",
        signed(c.difference, 0),
        ends(c.difference_ci95),
        signed(c.median_difference, 0),
        ends(c.median_difference_ci95),
    );
    if !c.tiles.is_empty() {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "\n{:>8}  {:>7}  {:>10}", "tile", "reached", "95%");
    }
    for row in &c.tiles {
        let [low, high] = row.reach_difference_ci95.map(percent_points);
        let difference = percent_points(row.reach_difference);
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{:>8}  {difference:>7}  {low:>7} to {high:>7}",
            row.tile
        );
    }
    text
}

fn verdict(comparison: &Comparison) -> String {
    if let Some(test) = &comparison.sequential {
        return sequential_verdict(comparison, test);
    }
    let ends = interval(comparison.difference_ci95);
    let games = count(comparison.a.scores.games, "game");
    let difference = grouped(comparison.difference);
    let found = format!("A - B = {difference} points per game ({ends}, {games} paired by seed)");
    match comparison.better {
        Some(Side::A) => format!("A is better: {found}"),
        Some(Side::B) => format!("B is better: {found}"),
        None => format!("no significant difference: {found}; more games may show one"),
    }
}

/// The verdict of a sequential test.
pub fn sequential_verdict(comparison: &Comparison, test: &SequentialResult) -> String {
    if test.verdict == SequentialVerdict::Equal {
        let identical = identical(comparison);
        return format!("A and B are the same player: {identical}");
    }
    let games = count(comparison.a.scores.games, "game");
    let are = if comparison.a.scores.games == 1 {
        "is"
    } else {
        "are"
    };
    let found = match comparison.difference_ci95 {
        Some([low, high]) => format!(
            "A - B = {} points per game, {} to {} after {games} paired by seed",
            grouped(comparison.difference),
            grouped(low),
            grouped(high),
        ),
        None => format!("{games} {are} too few, or all have the same difference"),
    };
    let rate = percent(test.error_rate);
    let verdict = match test.verdict {
        SequentialVerdict::A => "A is better".to_owned(),
        SequentialVerdict::B => "B is better".to_owned(),
        SequentialVerdict::WithinMargin => {
            let margin = grouped(test.margin.unwrap_or_default());
            format!("A and B differ by less than {margin} points")
        }
        SequentialVerdict::Equal => "A and B are the same player".to_owned(),
        SequentialVerdict::Undecided => "undecided".to_owned(),
    };
    format!("{verdict}: {found} (sequential test with an error rate of about {rate})")
}
