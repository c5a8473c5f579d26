//! `afterstate analyze`: the value of every move on a board, its chances, and the best line.

mod batch;
mod table;

use std::fmt::Write as _;
use std::io::{self, IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use afterstate::game::{Direction, Shape};
use afterstate_lab::LabError;
use afterstate_lab::agent::{Agent, Baseline};
use afterstate_lab::analyze::{
    Analysis, LINE_MOVES, RolloutOptions, Rollouts, analyze, analyze_board, deepen, lines, rollouts,
};
use afterstate_lab::board::{self, GameBoard, shape_of};
use afterstate_lab::error::{FileKind, game_on};
use afterstate_lab::evaluate::Contender;
use afterstate_lab::games::DEFAULT_GAME;
use afterstate_lab::model::Model;
use afterstate_lab::report::ModelInfo;
use afterstate_lab::search::SearchLimit;
use anyhow::{Context, bail};
use serde::Serialize;

use super::eval::cut_short;
use super::models::{
    baseline, default_model, described, described_baseline, open_model, open_solution,
};
use super::shown;
use crate::args::AnalyzeArgs;
use crate::interrupt;
use crate::output::{print, print_json, tell};
use crate::progress::Display;

pub fn run(args: &AnalyzeArgs) -> anyhow::Result<()> {
    let text = match args.batch {
        true => None,
        false => Some(board_text(args)?),
    };
    if let Some(path) = &args.solution {
        return by_solution(args, path, text.as_deref());
    }
    if let Some(baseline) = args.model.as_deref().and_then(baseline) {
        return by_baseline(args, baseline, text.as_deref());
    }
    let path = model_path(args, text.as_deref())?;
    match open_model(&path) {
        Err(LabError::Kind {
            found: FileKind::Solution,
            ..
        }) => by_solution(args, &path, text.as_deref()),
        model => by_model(args, &model?, text.as_deref()),
    }
}

fn by_solution(args: &AnalyzeArgs, path: &Path, text: Option<&str>) -> anyhow::Result<()> {
    if args.search.any() {
        bail!("the values of a solution are exact: --search has no effect on them");
    }
    if !args.rollout_search.is_greedy() {
        bail!("the moves of a solution are exact: --rollout-search has no effect on them");
    }
    if args.threads > 0 && args.rollouts.is_none() {
        bail!("--threads has no effect on a solution without rollouts; add --rollouts 1000");
    }
    let solution = Arc::new(open_solution(path)?);
    let about = solution.info();
    check_game(args, path, &about.game, about.shape)?;
    let mut title = format!(
        "{}: {}, exact values",
        shown(path),
        game_on(&about.game, about.shape)
    );
    // Writing to a string cannot fail.
    if let Some(target) = about.target.filter(|target| target.ends) {
        let _ = write!(title, ", game ends at {}", target.value);
    }
    if about.discount < 1.0 {
        let _ = write!(title, ", discount {}", about.discount);
    }
    let presentation = Presentation {
        title,
        target: about.target.map(|target| target.value),
        over: if about.ends_at_target() {
            "the game is over: no move is legal, or the board has the target tile, which ends the solved game"
        } else {
            STUCK
        },
        digits: 4,
    };
    let info = described_in_json(args, solution.model_info(path))?;
    let ask = |text: &str| {
        let model = Some(info.clone());
        solution.analyze(text).map(|it| Analysis { model, ..it })
    };
    let Some(text) = text else {
        return batch::answer(ask);
    };
    let analysis = ask(text)?;
    let board = GameBoard::parse(text, &about.game, about.shape)?;
    // The game that ends at a target is another one than that which is played.
    let continuation = match Contender::exact(Arc::clone(&solution), path) {
        Ok(contender) => Some(Continuation {
            values: Arc::clone(&contender.agent),
            rollouts: contender.clone(),
            contender,
        }),
        Err(error) if args.rollouts.is_some() => return Err(error.into()),
        Err(_) => None,
    };
    answer(args, &presentation, &board, analysis, continuation)
}

/// Refuses a model of another game than the one that was named.
fn check_game(args: &AnalyzeArgs, path: &Path, plays: &str, shape: Shape) -> anyhow::Result<()> {
    match args.game.as_deref().filter(|&game| game != plays) {
        Some(game) => bail!(
            "{} plays {}, not {game}",
            shown(path),
            game_on(plays, shape)
        ),
        None => Ok(()),
    }
}

/// A baseline plays any game. It has no value of the rest of the game, and `random` no values at all.
fn by_baseline(args: &AnalyzeArgs, baseline: Baseline, text: Option<&str>) -> anyhow::Result<()> {
    let game = args.game.as_deref().unwrap_or(DEFAULT_GAME);
    let shape = text.map_or(Ok::<_, LabError>(Shape::FOUR), shape_of)?;
    let contender = Contender::baseline(baseline, game, shape)?;
    let title = match baseline {
        Baseline::Random => format!("{}, which has no values", described_baseline(&contender)),
        Baseline::Greedy => format!("{}, by rewards alone", described_baseline(&contender)),
    };
    if baseline == Baseline::Random && args.rollouts.is_none() {
        bail!(
            "random moves have no values; add --rollouts 1000 to see how games of random moves go \
             on, or name a model"
        );
    }
    by_contender(args, &contender, title, text)
}

fn by_model(args: &AnalyzeArgs, model: &Model, text: Option<&str>) -> anyhow::Result<()> {
    check_game(args, &model.path, model.spec.game(), model.spec.shape())?;
    let contender = Contender {
        model: Some(described_in_json(args, model.info())?),
        ..Contender::from(model)
    };
    by_contender(args, &contender, described(&model.info()), text)
}

fn by_contender(
    args: &AnalyzeArgs,
    plain: &Contender,
    title: String,
    text: Option<&str>,
) -> anyhow::Result<()> {
    let searching = match args.search.any() {
        true => format!(", {}", args.search.search),
        false => String::new(),
    };
    let presentation = Presentation {
        title: title + &searching,
        target: None,
        over: STUCK,
        digits: 1,
    };
    if args.threads > 0 && args.rollouts.is_none() && !args.search.any() {
        bail!(
            "--threads has no effect without a search or rollouts; add --search 5ply or --rollouts 1000"
        );
    }
    args.search.check(&[&args.rollout_search])?;
    let searching = |limit: &SearchLimit, threads| {
        let plain = plain.clone();
        args.search.searching(limit, threads, plain)
    };
    let limit = &args.search.search;
    let Some(text) = text else {
        let contender = searching(limit, args.threads)?;
        return batch::answer(|text| analyze(&contender, text));
    };
    let board = GameBoard::parse(text, &plain.game, plain.shape)?;
    // A limit of time is that of the whole answer.
    let lines = if args.json { 4 } else { 1 };
    let (first, others) = limit.split(lines * (LINE_MOVES as u32 - 1));
    let contender = searching(&first, args.threads)?;
    let analysis = searched(args, &contender, &board)?;
    let search = contender.agent.search().to_owned();
    let contender = match limit.is_time() {
        true => {
            // Its table is given back before another one is taken.
            drop(contender);
            searching(&others, args.threads)?
        }
        false => contender,
    };
    let analysis = Analysis {
        search: search.replacen(&first.to_string(), &limit.to_string(), 1),
        ..analysis
    };
    let continuation = Continuation {
        contender,
        values: Arc::clone(&plain.agent),
        rollouts: searching(&args.rollout_search, 0)?,
    };
    answer(args, &presentation, &board, analysis, Some(continuation))
}

/// The analysis of a board. A search shows its plies and can be stopped.
fn searched(
    args: &AnalyzeArgs,
    contender: &Contender,
    board: &GameBoard,
) -> anyhow::Result<Analysis<f32>> {
    if args.search.search.is_greedy() {
        return Ok(analyze_board(contender, board)?);
    }
    interrupt::listen()?;
    let display = Display::new();
    let found = deepen(contender, board, &display.control());
    display.finish();
    let found = found?;
    if found.interrupted {
        let plies = found.plies.unwrap_or(1);
        tell(&format!(
            "stopped by Ctrl-C: these values are those of {plies}ply, the last complete one"
        ));
    }
    Ok(found)
}

/// The description of the model or solution, with its digest if it is printed.
fn described_in_json(args: &AnalyzeArgs, mut info: ModelInfo) -> anyhow::Result<ModelInfo> {
    if args.json || args.batch {
        info.hash()?;
    }
    Ok(info)
}

const STUCK: &str = "the game is over: no move is legal";

/// The model or solution, and how its values are printed.
struct Presentation {
    title: String,
    target: Option<u64>,
    /// The message if there is no legal move.
    over: &'static str,
    digits: usize,
}

/// What plays on from a board.
struct Continuation {
    /// As it was asked for.
    contender: Contender,
    /// Without its search.
    values: Arc<dyn Agent>,
    /// The one that plays rollouts.
    rollouts: Contender,
}

/// Adds lines and rollouts to an analysis, and prints it.
fn answer<V: Serialize + std::fmt::Display + Copy>(
    args: &AnalyzeArgs,
    presentation: &Presentation,
    board: &GameBoard,
    mut analysis: Analysis<V>,
    continuation: Option<Continuation>,
) -> anyhow::Result<()> {
    let goes_on = continuation.filter(|_| !analysis.interrupted);
    if let Some(continuation) = &goes_on {
        // Every move of a line is searched, and the text has one line.
        let wanted = match args.json {
            true => &Direction::ALL[..],
            false => analysis.best.as_slice(),
        };
        // Without values, a line would show nothing.
        let has_values = analysis.moves.iter().any(|one| one.total.is_some());
        if has_values {
            let found = lines(
                &continuation.contender,
                &*continuation.values,
                board,
                wanted,
                &interrupt::asked,
            )?;
            analysis.add_lines(found);
        }
        if let Some(games) = args.rollouts {
            analysis.add_rollouts(play_on(args, games, board, &continuation.rollouts)?);
        } else if !interrupt::asked() {
            interrupt::completed();
        }
    }
    if args.json {
        return print_json(&analysis);
    }
    let table = table::text(&analysis, presentation);
    print(format!("{}\n\n{board}\n{table}", presentation.title))
}

/// Plays the rollouts.
fn play_on(
    args: &AnalyzeArgs,
    games: u64,
    board: &GameBoard,
    contender: &Contender,
) -> anyhow::Result<Rollouts> {
    if args.search.search.is_greedy() {
        interrupt::listen()?;
    }
    let display = Display::new();
    let control = display.control();
    let options = RolloutOptions {
        tile: args.tile,
        games,
        seed: args.seed,
        threads: args.threads,
        control: &control,
    };
    let found = rollouts(contender, board, &options);
    display.finish();
    let found = found?;
    match found.info.interrupted {
        true => cut_short(found.info.games, games),
        false => interrupt::completed(),
    }
    Ok(found)
}

/// The text of the board: the argument, or standard input.
fn board_text(args: &AnalyzeArgs) -> anyhow::Result<String> {
    match args.board.as_deref() {
        Some("-") => {}
        Some(board) => return Ok(board.to_owned()),
        None if io::stdin().is_terminal() => bail!(
            "the board is missing; give it as an argument or on standard input, see \
             `afterstate analyze --help`"
        ),
        None => {}
    }
    let mut text = Vec::new();
    let input = io::stdin().lock().take(board::LONGEST as u64 + 1);
    { input }
        .read_to_end(&mut text)
        .context("cannot read standard input")?;
    let text = String::from_utf8_lossy(&text).into_owned();
    if text.trim().is_empty() {
        bail!(
            "the board is missing: standard input is empty; give it as an argument or on standard \
             input, see `afterstate analyze --help`"
        );
    }
    Ok(text)
}

/// The named model, or the newest one of the game and board.
fn model_path(args: &AnalyzeArgs, board: Option<&str>) -> anyhow::Result<PathBuf> {
    if let Some(model) = &args.model {
        return Ok(model.clone());
    }
    let game = args.game.as_deref().unwrap_or(DEFAULT_GAME);
    let Some(board) = board else {
        return default_model(game, Shape::FOUR);
    };
    let shape = shape_of(board)?;
    // What is no board of the game is told as such, and not as one without a model.
    GameBoard::parse(board, game, shape)?;
    default_model(game, shape)
}
