//! `afterstate eval`: plays games and reports the scores, or compares with an exact solution.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use afterstate_lab::LabError;
use afterstate_lab::control::Control;
use afterstate_lab::evaluate::{Contender, EvalOptions, evaluate, evaluate_part, record};
use afterstate_lab::part::Part;
use afterstate_lab::report::{Evaluation, ModelInfo, Scores};
use afterstate_lab::run::Gaps;
use afterstate_lab::solve::{GapOptions, GapReport, SymmetryMode, measure};
use anyhow::Context;

use super::models::{
    baseline, baselines, default_model, described, described_baseline, game_of, open, open_model,
    open_solution,
};
use super::{document, shown};
use crate::args::{EvalArgs, FormatArg, GamesArgs};
use crate::interrupt;
use crate::output::{grouped, interval, note, percent, print, print_json, speed, tell};
use crate::progress::Display;

pub fn run(args: &EvalArgs) -> anyhow::Result<()> {
    if let Some(solution) = &args.against {
        return against(args, solution);
    }
    let model = model(args)?;
    let (mut contender, who) = contender(args, &model)?;
    if args.play.json {
        hash(&mut contender)?;
    }
    interrupt::listen()?;
    let display = Display::new();
    let control = display.control();
    let plan = plan(&args.play, &control);
    if args.play.part.is_some() {
        let part = evaluate_part(&contender, &plan);
        display.finish();
        cut_short(part.evaluation.scores.games, asked_for(&args.play));
        return print_json(&part);
    }
    let evaluation = match &args.records {
        Some(path) => record(&contender, &plan, path),
        None => Ok(evaluate(&contender, &plan)),
    };
    display.finish();
    let evaluation = evaluation?;
    cut_short(evaluation.scores.games, args.play.games);
    if let Some(path) = &args.records {
        note(&format!("wrote the records to {}", shown(path)));
    }
    if args.play.json {
        return print_json(&evaluation);
    }
    match args.play.format {
        FormatArg::Text => print(format!("{who}\n\n{}", table(&evaluation))),
        format => print(document::of_evaluation(&evaluation, &model, &who).text(format)),
    }
}

/// The model that was named, or the newest one of the game and board.
fn model(args: &EvalArgs) -> anyhow::Result<PathBuf> {
    if let Some(model) = &args.model {
        return Ok(model.clone());
    }
    let (game, shape) = game_of(args.game.as_deref(), args.board.as_deref())?;
    default_model(&game, shape)
}

/// The contender to evaluate, and its description.
fn contender(args: &EvalArgs, model: &Path) -> anyhow::Result<(Contender, String)> {
    if let Some(baseline) = baseline(model) {
        let (game, shape) = game_of(args.game.as_deref(), args.board.as_deref())?;
        let contender = Contender::baseline(baseline, &game, shape)?;
        let who = described_baseline(&contender);
        return Ok((args.search.of(contender)?, who));
    }
    if args.model.is_some() && (args.game.is_some() || args.board.is_some()) {
        anyhow::bail!(
            "--game and --board are only for {} and for the newest model: a model has its own game \
             and board",
            baselines()
        );
    }
    let (contender, who) = open(model)?;
    Ok((args.search.of(contender)?, who))
}

/// The run folder of a model that is named by its folder or its file.
fn folder_of(model: &Path) -> &Path {
    let parent = model.parent().filter(|_| model.is_file());
    match parent {
        Some(folder) if folder.as_os_str().is_empty() => Path::new("."),
        Some(folder) => folder,
        None => model,
    }
}

/// Compares a model with the exact solution of its game.
fn against(args: &EvalArgs, solution: &Path) -> anyhow::Result<()> {
    let path = model(args)?;
    if baseline(&path).is_some() {
        anyhow::bail!(
            "--against needs a model; {} are baselines, which are evaluated by playing games",
            baselines()
        );
    }
    // A folder that cannot be written to is an error before the work starts.
    let gaps = args
        .keep
        .then(|| Gaps::open(folder_of(&path)))
        .transpose()?;
    let (model, solution) = (open_model(&path)?, open_solution(solution)?);
    let mut contender = args.search.of(Contender::from(&model))?;
    if args.play.json {
        hash(&mut contender)?;
    }
    interrupt::listen()?;
    let display = Display::new();
    let measured = measure(&GapOptions {
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
        tell("stopped by Ctrl-C before the measurement was finished");
        return Ok(());
    };
    interrupt::completed();
    if args.play.json {
        print_json(&comparison)?;
    } else {
        print(format!(
            "{}\n\n{}",
            described(&model.info()),
            gap_table(&comparison)
        ))?;
    }
    if let Some(mut gaps) = gaps {
        let unknown =
            "the model file has no number of training games, by which --keep saves the gap";
        let episodes = model.episodes.context(unknown)?;
        gaps.keep(comparison.measurement(episodes))?;
        note(&format!("saved to {}", shown(gaps.path())));
    }
    Ok(())
}

/// Computes the digest of the model of a contender, for documents.
pub fn hash(contender: &mut Contender) -> Result<(), LabError> {
    let model = contender.model.as_mut();
    model.map_or(Ok(()), ModelInfo::hash)
}

/// A comparison with the exact solution as text.
fn gap_table(comparison: &GapReport) -> String {
    let c = comparison;
    let mut text = String::new();
    // Writing to a string cannot fail.
    let mut row = |name: &str, value: String| {
        let _ = writeln!(text, "{name:<22} {value}");
    };
    if let (true, Some(target)) = (c.ends_at_target, c.target) {
        row("game ends at", format!("{target}, as in the solution"));
    }
    row("optimal expected score", format!("{:.6}", c.optimum));
    row("expected score", format!("{:.6}", c.expected_score));
    let relative = percent(c.relative_gap);
    row("gap", format!("{:.6}  ({relative})", c.gap));
    row("optimal moves", percent(c.optimal_moves));
    row("mean regret per move", format!("{:.6}", c.mean_regret));
    row("moves per game", format!("{:.2}", c.moves));
    if let (Some(target), Some(win), Some(best)) =
        (c.target, c.win_probability, c.best_win_probability)
    {
        let name = format!("probability of {target}");
        row(&name, format!("{win:.6}  (optimum {best:.6})"));
    }
    let states = grouped(c.states as f64);
    let counted = match c.symmetries {
        SymmetryMode::All => "",
        SymmetryMode::One => ", symmetric ones counted once",
    };
    row("positions", format!("{states} reachable{counted}"));
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
            "stopped by Ctrl-C: these results are from {played} of {asked_for} games"
        ));
    }
}

/// The games that were asked for: those of the part, if there is one.
pub fn asked_for(args: &GamesArgs) -> u64 {
    let numbers = args.part.unwrap_or(Part::WHOLE).games(args.games);
    numbers.end - numbers.start
}

/// The options of an evaluation.
pub fn plan<'a>(args: &GamesArgs, control: &'a Control) -> EvalOptions<'a> {
    EvalOptions {
        games: args.games,
        part: args.part.unwrap_or(Part::WHOLE),
        seed: args.seed,
        threads: args.threads,
        control,
    }
}

/// An evaluation as text.
pub fn table(evaluation: &Evaluation) -> String {
    let e = evaluation;
    let (count, games) = (
        grouped(e.scores.games as f64),
        if e.scores.games == 1 { "game" } else { "games" },
    );
    let heading = format!("{count} {games}, seed {}, {}\n", e.seed, e.search);
    heading + &scores_table(&e.scores)
}

/// The scores of games as text.
pub fn scores_table(scores: &Scores) -> String {
    let e = scores;
    let mut text = format!(
        "mean score    {}  ({})\n\
         median        {}\n\
         highest       {}\n\
         moves/game    {}\n\
         speed         {}\n\n\
         {:>8}  {:>7}  {:^17}  {:>7}\n",
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
