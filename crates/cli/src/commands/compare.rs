//! `afterstate compare`: which of two models is better?

use afterstate_lab::compare::{Comparison, Side, compare};
use afterstate_lab::evaluate::Contender;

use super::eval::{cut_short, hash, plan, table};
use super::models::pair;
use crate::args::CompareArgs;
use crate::interrupt;
use crate::output::{grouped, interval, print, print_json};
use crate::progress::Display;

pub fn run(args: &CompareArgs) -> anyhow::Result<()> {
    let ((mut a, words_a), (mut b, words_b)) = pair(&args.a, &args.b)?;
    if args.play.json {
        hash(&mut a)?;
        hash(&mut b)?;
    }
    interrupt::listen()?;
    let display = Display::new();
    let comparison = compare(&a, &b, &plan(&args.play, &display.control()));
    display.finish();
    let comparison = comparison?;
    cut_short(comparison.a.games, args.play.games);
    if args.play.json {
        return print_json(&comparison);
    }
    let verdict = match comparison.identical {
        true => identical(&mut a, &mut b, &comparison)?,
        false => verdict(&comparison),
    };
    print(format!(
        "A: {words_a}\n{}\nB: {words_b}\n{}\n{verdict}\n",
        table(&comparison.a),
        table(&comparison.b),
    ))
}

/// The verdict if all pairs of games are identical: A and B are the same model, or only play
/// alike.
fn identical(
    a: &mut Contender,
    b: &mut Contender,
    comparison: &Comparison,
) -> anyhow::Result<String> {
    hash(a)?;
    hash(b)?;
    let digest = |side: &Contender| side.model.as_ref()?.sha256.clone();
    let same_bytes = digest(a).is_some() && digest(a) == digest(b);
    let same_name = a.model.is_none() && b.model.is_none() && a.label == b.label;
    let games = grouped(comparison.a.games as f64);
    Ok(match same_bytes || same_name {
        true => format!("A and B are the same model: all {games} pairs of games are identical"),
        false => format!("A and B play alike: all {games} pairs of games are identical"),
    })
}

fn verdict(comparison: &Comparison) -> String {
    let ends = interval(comparison.difference_ci95);
    let games = grouped(comparison.a.games as f64);
    let difference = grouped(comparison.difference);
    let found =
        format!("A - B = {difference} points per game ({ends}, {games} games paired by seed)");
    match comparison.better {
        Some(Side::A) => format!("A is better: {found}"),
        Some(Side::B) => format!("B is better: {found}"),
        None => format!("no significant difference: {found}; more games may show one"),
    }
}
