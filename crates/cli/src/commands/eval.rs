//! `afterstate eval`: how good is it?

use std::fmt::Write;
use std::path::Path;

use afterstate_lab::LabError;
use afterstate_lab::control::Control;
use afterstate_lab::evaluate::{Contender, EvalOptions, evaluate, record};
use afterstate_lab::model::Model;
use afterstate_lab::report::{Evaluation, ModelInfo};
use afterstate_lab::run::Gaps;
use afterstate_lab::solve::{GapReport, Measure, Solution, SymmetryMode, measure};
use anyhow::Context;

use super::models::{baseline, baselines, described, described_baseline, game_of, open};
use super::shown;
use crate::args::{EvalArgs, GamesArgs};
use crate::interrupt;
use crate::output::{grouped, interval, note, percent, print, print_json, speed, tell};
use crate::progress::Display;

pub fn run(args: &EvalArgs) -> anyhow::Result<()> {
    if let Some(solution) = &args.against {
        return against(args, solution);
    }
    let (mut contender, who) = contender(args)?;
    if args.play.json {
        hash(&mut contender)?;
    }
    interrupt::listen()?;
    let display = Display::new();
    let control = display.control();
    let plan = plan(&args.play, &control);
    let evaluation = match &args.records {
        Some(path) => record(&contender, &plan, path),
        None => Ok(evaluate(&contender, &plan)),
    };
    display.finish();
    let evaluation = evaluation?;
    cut_short(evaluation.games, args.play.games);
    if let Some(path) = &args.records {
        note(&format!("records are in {}", shown(path)));
    }
    if args.play.json {
        return print_json(&evaluation);
    }
    print(format!("{who}\n\n{}", table(&evaluation)))
}

/// What is to be evaluated, and what that is in words.
fn contender(args: &EvalArgs) -> anyhow::Result<(Contender, String)> {
    if let Some(baseline) = baseline(&args.model) {
        let (game, shape) = game_of(args.game.as_deref(), args.board.as_deref())?;
        let contender = Contender::baseline(baseline, &game, shape)?;
        let who = described_baseline(&contender);
        return Ok((contender, who));
    }
    if args.game.is_some() || args.board.is_some() {
        anyhow::bail!(
            "a model knows its game and its board: --game and --board are for {} alone",
            baselines()
        );
    }
    open(&args.model)
}

/// Compares a player with the best one.
fn against(args: &EvalArgs, solution: &Path) -> anyhow::Result<()> {
    if baseline(&args.model).is_some() {
        anyhow::bail!(
            "--against is for models: {} are measured by games alone",
            baselines()
        );
    }
    // A place that cannot be kept in is told before all the work.
    let gaps = args.keep.then(|| Gaps::open(&args.model)).transpose()?;
    let (model, solution) = (Model::open(&args.model)?, Solution::open(solution)?);
    let mut contender = Contender::from(&model);
    if args.play.json {
        hash(&mut contender)?;
    }
    interrupt::listen()?;
    let display = Display::new();
    let measured = measure(&Measure {
        contender: &contender,
        solution: &solution,
        symmetries: if args.fast {
            SymmetryMode::One
        } else {
            SymmetryMode::All
        },
        threads: args.play.threads,
        memory: None,
        control: &display.control(),
    });
    display.finish();
    let Some(comparison) = measured? else {
        tell("stopped by Ctrl-C: nothing was measured");
        return Ok(());
    };
    interrupt::completed();
    if args.play.json {
        print_json(&comparison)?;
    } else {
        print(format!(
            "{}\n\n{}",
            described(&model),
            beside_the_best(&comparison)
        ))?;
    }
    if let Some(mut gaps) = gaps {
        let unknown =
            "nobody knows for how many games this model was trained: its gap cannot be kept";
        let episodes = model.episodes.context(unknown)?;
        gaps.keep(comparison.measurement(episodes))?;
        note(&format!("kept in {}", shown(gaps.path())));
    }
    Ok(())
}

/// Computes the digest of the model of a contender, for documents.
pub fn hash(contender: &mut Contender) -> Result<(), LabError> {
    let model = contender.model.as_mut();
    model.map_or(Ok(()), ModelInfo::hash)
}

/// The figures of a comparison as people read them.
fn beside_the_best(comparison: &GapReport) -> String {
    let c = comparison;
    let mut text = String::new();
    // Writing to a string cannot fail.
    let mut row = |name: &str, value: String| {
        let _ = writeln!(text, "{name:<22} {value}");
    };
    if let (true, Some(target)) = (c.ends_at_target, c.target) {
        row("the game ends with", format!("{target}, as solved"));
    }
    row("best expected score", format!("{:.6}", c.optimum));
    row("expected score", format!("{:.6}", c.expected_score));
    let relative = percent(c.relative_gap);
    row("gap", format!("{:.6}  ({relative})", c.gap));
    row("optimal moves", percent(c.optimal_moves));
    row("mean regret a move", format!("{:.6}", c.mean_regret));
    row("moves a game", format!("{:.2}", c.moves));
    if let (Some(target), Some(win), Some(best)) =
        (c.target, c.win_probability, c.best_win_probability)
    {
        let name = format!("chance of {target}");
        row(&name, format!("{win:.6}  (at best {best:.6})"));
    }
    let states = grouped(c.states as f64);
    let turned = match c.symmetries {
        SymmetryMode::All => "",
        SymmetryMode::One => ", each as one of its symmetric boards",
    };
    row("positions", format!("{states} that it may come to{turned}"));
    row("seconds", format!("{:.1}", c.seconds));
    text
}

/// Says so if Ctrl-C left some of the games unplayed.
pub fn cut_short(played: u64, asked_for: u64) {
    if played >= asked_for {
        interrupt::completed();
    } else if interrupt::asked() {
        let [played, asked_for] = [played, asked_for].map(|games| grouped(games as f64));
        tell(&format!(
            "stopped by Ctrl-C: these are the figures of {played} of {asked_for} games"
        ));
    }
}

/// The plan that the options ask for.
pub fn plan<'a>(args: &GamesArgs, control: &'a Control) -> EvalOptions<'a> {
    EvalOptions {
        games: args.games,
        seed: args.seed,
        threads: args.threads,
        control,
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
