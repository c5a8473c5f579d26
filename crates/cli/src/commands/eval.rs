//! `afterstate eval`: how good is it?

use std::fmt::Write;

use afterstate_lab::evaluate::{Evaluation, Plan, evaluate};
use afterstate_lab::model::Model;

use super::shown;
use crate::args::{EvalArgs, GamesArgs};
use crate::interrupt;
use crate::output::{grouped, interval, percent, print, print_json, speed};
use crate::progress::Progress;

pub fn run(args: &EvalArgs) -> anyhow::Result<()> {
    let model = Model::open(&args.model)?;
    interrupt::listen()?;
    let progress = Progress::new(args.play.games, 0);
    let evaluation = evaluate(&model, &plan(&args.play, &|outcome| progress.game(outcome)));
    progress.finish();
    if args.play.json {
        return print_json(&evaluation);
    }
    let (path, game) = (shown(&model.path), model.game());
    print(format!(
        "{path}: {game}, trained for {} games\n\n{}",
        grouped(model.episodes as f64),
        table(&evaluation)
    ))
}

/// The plan that the options ask for.
pub fn plan<'a>(
    args: &GamesArgs,
    seen: &'a (dyn Fn(&afterstate::tally::Outcome) + Sync),
) -> Plan<'a> {
    Plan {
        games: args.games,
        seed: args.seed,
        threads: args.threads.into(),
        seen,
        stop: &interrupt::asked,
    }
}

/// The figures as people read them.
pub fn table(evaluation: &Evaluation) -> String {
    let e = evaluation;
    let mut text = format!(
        "{} games, seed {}, {}\n\
         mean score    {}  ({})\n\
         median        {}\n\
         highest       {}\n\
         moves a game  {}\n\
         speed         {}\n\n\
         {:>8}  {:>7}  {:^17}  {:>7}\n",
        grouped(e.games as f64),
        e.seed,
        e.search,
        grouped(e.mean),
        interval(e.mean_ci95),
        grouped(e.median),
        grouped(e.max as f64),
        grouped(e.moves),
        speed(e.moves_per_second),
        "tile",
        "reached",
        "95%",
        "ended",
    );
    for row in &e.tiles {
        let [low, high] = row.reach_ci95.map(percent);
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{:>8}  {:>7}  {:>7} - {:>7}  {:>7}",
            row.tile,
            percent(row.reach),
            low,
            high,
            percent(row.end)
        );
    }
    text
}
