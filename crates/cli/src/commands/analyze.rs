//! `afterstate analyze`: the value of every move on a board, its chances, and the best line.

mod batch;
mod table;

use std::fmt::Write as _;
use std::io::{self, IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use afterstate::game::{Direction, Shape};
use afterstate_lab::LabError;
use afterstate_lab::agent::Agent;
use afterstate_lab::analyze::{
    Analysis, RolloutOptions, Rollouts, analyze, analyze_board, lines, rollouts,
};
use afterstate_lab::board::{self, Board, shape_of};
use afterstate_lab::error::game_on;
use afterstate_lab::evaluate::Contender;
use afterstate_lab::games::DEFAULT_GAME;
use afterstate_lab::report::ModelInfo;
use anyhow::{Context, bail};
use serde::Serialize;

use super::eval::cut_short;
use super::models::{default_model, described, open_model, open_solution};
use super::shown;
use crate::args::AnalyzeArgs;
use crate::interrupt;
use crate::output::{print, print_json};
use crate::progress::Display;

pub fn run(args: &AnalyzeArgs) -> anyhow::Result<()> {
    match &args.solution {
        Some(path) => by_solution(args, path),
        None => by_model(args),
    }
}

fn by_solution(args: &AnalyzeArgs, path: &Path) -> anyhow::Result<()> {
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
    let about = solution.about();
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
    let source = Source {
        title,
        target: about.target.map(|target| target.value),
        over: if about.ends_at_target() {
            "the game is over: no move is legal, or the board has the target tile, which ends the solved game"
        } else {
            STUCK
        },
        digits: 4,
    };
    let info = described_in_json(args, solution.info(path))?;
    let ask = |text: &str| {
        let model = Some(info.clone());
        solution.analyze(text).map(|it| Analysis { model, ..it })
    };
    if args.batch {
        return batch::answer(ask);
    }
    let text = board_text(args)?;
    let analysis = ask(&text)?;
    let board = Board::parse(&text, &about.game, about.shape)?;
    // The game that ends at a target is another one than that which is played.
    let player = match Contender::exact(Arc::clone(&solution), path) {
        Ok(contender) => Some(Player {
            values: Arc::clone(&contender.agent),
            rollouts: contender.clone(),
            contender,
        }),
        Err(error) if args.rollouts.is_some() => return Err(error.into()),
        Err(_) => None,
    };
    answer(args, &source, &board, analysis, player)
}

fn by_model(args: &AnalyzeArgs) -> anyhow::Result<()> {
    let text = match args.batch {
        true => None,
        false => Some(board_text(args)?),
    };
    let model = open_model(&model_path(args, text.as_deref())?)?;
    let game = args.game.as_deref();
    if let Some(game) = game.filter(|game| *game != model.spec.game()) {
        bail!(
            "{} plays {}, not {game}",
            shown(&model.path),
            model.spec.game_on()
        );
    }
    let searching = match args.search.any() {
        true => format!(", {}", args.search.search),
        false => String::new(),
    };
    let source = Source {
        title: described(&model) + &searching,
        target: None,
        over: STUCK,
        digits: 1,
    };
    let plain = Contender {
        model: Some(described_in_json(args, model.info())?),
        ..Contender::from(&model)
    };
    if args.threads > 0 && args.rollouts.is_none() && !args.search.any() {
        bail!(
            "--threads has no effect without a search or rollouts; add --search 5ply or --rollouts 1000"
        );
    }
    args.search.check(&[&args.rollout_search])?;
    let contender = args
        .search
        .searching(&args.search.search, args.threads, plain.clone())?;
    let Some(text) = text else {
        return batch::answer(|text| analyze(&contender, text));
    };
    let board = Board::parse(&text, &contender.game, contender.shape)?;
    let analysis = analyze_board(&contender, &board)?;
    let values = Arc::clone(&plain.agent);
    let player = Player {
        contender,
        values,
        rollouts: args.search.searching(&args.rollout_search, 0, plain)?,
    };
    answer(args, &source, &board, analysis, Some(player))
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
struct Source {
    title: String,
    target: Option<u64>,
    /// The message if there is no legal move.
    over: &'static str,
    digits: usize,
}

/// What plays on from a board.
struct Player {
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
    source: &Source,
    board: &Board,
    mut analysis: Analysis<V>,
    player: Option<Player>,
) -> anyhow::Result<()> {
    if let Some(player) = &player {
        // Every move of a line is searched, and the text has one line.
        let wanted = match args.json {
            true => &Direction::ALL[..],
            false => analysis.best.as_slice(),
        };
        let found = lines(&player.contender, &*player.values, board, wanted)?;
        analysis.add_lines(found);
        if let Some(games) = args.rollouts {
            analysis.add_rollouts(play_on(args, games, board, &player.rollouts)?);
        }
    }
    if args.json {
        return print_json(&analysis);
    }
    let table = table::text(&analysis, source);
    print(format!("{}\n\n{board}\n{table}", source.title))
}

/// Plays the rollouts.
fn play_on(
    args: &AnalyzeArgs,
    games: u64,
    board: &Board,
    contender: &Contender,
) -> anyhow::Result<Rollouts> {
    interrupt::listen()?;
    let display = Display::new();
    let control = display.control();
    let options = RolloutOptions {
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
    let shape = board.map_or(Ok::<_, LabError>(Shape::FOUR), shape_of)?;
    default_model(game, shape)
}
