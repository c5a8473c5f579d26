//! `afterstate compare`: which one is better?

use afterstate_lab::compare::{Comparison, Side, compare};

use super::eval::{cut_short, plan, table};
use super::models::pair;
use crate::args::CompareArgs;
use crate::interrupt;
use crate::output::{grouped, interval, print, print_json};
use crate::progress::Display;

pub fn run(args: &CompareArgs) -> anyhow::Result<()> {
    let (a, b) = pair(&args.a, &args.b)?;
    interrupt::listen()?;
    let display = Display::new();
    let comparison = compare(&a, &b, &plan(&args.play, &display.control()));
    display.finish();
    let comparison = comparison?;
    cut_short(comparison.a.games, args.play.games);
    if args.play.json {
        return print_json(&comparison);
    }
    print(format!(
        "A: {}\n{}\nB: {}\n{}\n{}\n",
        a.label,
        table(&comparison.a),
        b.label,
        table(&comparison.b),
        verdict(&comparison),
    ))
}

fn verdict(comparison: &Comparison) -> String {
    let ends = interval(comparison.difference_ci95);
    let games = grouped(comparison.a.games as f64);
    let difference = grouped(comparison.difference);
    let found =
        format!("A - B = {difference} points a game ({ends}, {games} games paired by seed)");
    match comparison.better {
        Some(Side::A) => format!("A is better: {found}"),
        Some(Side::B) => format!("B is better: {found}"),
        None => format!("no difference shown: {found}; more games may show one"),
    }
}
