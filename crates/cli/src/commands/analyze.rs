//! `afterstate analyze`: the value of every move on a board.

use std::fmt::{Display, Write as _};
use std::io::{self, BufRead, BufReader, Write};
use std::path::PathBuf;

use afterstate::game::Shape;
use afterstate_lab::LabError;
use afterstate_lab::analyze::{Analysis, analyze, shape_of};
use afterstate_lab::error::game_on;
use afterstate_lab::evaluate::Contender;
use afterstate_lab::games::DEFAULT_GAME;
use afterstate_lab::report::ModelInfo;
use anyhow::{Context, bail};
use serde::Serialize;

use super::models::{default_model, described, open_model, open_solution};
use super::shown;
use crate::args::AnalyzeArgs;
use crate::output::{OutputError, print, print_json};

pub fn run(args: &AnalyzeArgs) -> anyhow::Result<()> {
    if let Some(path) = &args.solution {
        if args.search.any() {
            bail!("the values of a solution are exact: --search has no effect on them");
        }
        let solution = open_solution(path)?;
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
        return answer(args, &source, |board| {
            let model = Some(info.clone());
            solution.analyze(board).map(|it| Analysis { model, ..it })
        });
    }
    let model = open_model(&model_path(args)?)?;
    if let Some(game) = args
        .game
        .as_deref()
        .filter(|game| *game != model.spec.game())
    {
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
    let contender = Contender {
        model: Some(described_in_json(args, model.info())?),
        ..Contender::from(&model)
    };
    let contender = args.search.of(contender)?;
    answer(args, &source, |board| analyze(&contender, board))
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

/// Analyzes the board of the command line, or all boards of standard input.
fn answer<V: Serialize + Display + Copy>(
    args: &AnalyzeArgs,
    source: &Source,
    ask: impl Fn(&str) -> Result<Analysis<V>, LabError>,
) -> anyhow::Result<()> {
    if args.batch {
        return batch(ask);
    }
    let analysis = ask(args.board.as_deref().unwrap_or_default())?;
    if args.json {
        return print_json(&analysis);
    }
    print(format!("{}\n\n{}", source.title, table(&analysis, source)))
}

/// The named model, or the newest one of the game and board.
fn model_path(args: &AnalyzeArgs) -> anyhow::Result<PathBuf> {
    if let Some(model) = &args.model {
        return Ok(model.clone());
    }
    let game = args.game.as_deref().unwrap_or(DEFAULT_GAME);
    let shape = match &args.board {
        Some(board) => shape_of(board)?,
        None => Shape::FOUR,
    };
    default_model(game, shape)
}

/// The longest line that is read as a board, in bytes; real ones are much shorter.
const LONGEST: u64 = 4096;

/// The answer to a line that is not a valid board.
#[derive(Serialize)]
struct Fault {
    error: String,
}

/// Answers each line of standard input with one line.
fn batch<V: Serialize>(ask: impl Fn(&str) -> Result<Analysis<V>, LabError>) -> anyhow::Result<()> {
    let mut input = BufReader::new(io::stdin().lock());
    let mut output = io::BufWriter::new(io::stdout().lock());
    let (mut questions, mut faults) = (0_u64, 0_u64);
    let mut line = Vec::new();
    while read_line(&mut input, &mut line).context("cannot read standard input")? {
        questions += 1;
        let answer = match ask(String::from_utf8_lossy(&line).trim()) {
            Ok(analysis) => serde_json::to_string(&analysis)?,
            Err(error) => {
                faults += 1;
                let error = error.to_string();
                serde_json::to_string(&Fault { error })?
            }
        };
        writeln!(output, "{answer}").map_err(OutputError)?;
        // Flush, because the writer may wait for this answer before it sends the next board.
        if input.buffer().is_empty() {
            output.flush().map_err(OutputError)?;
        }
    }
    output.flush().map_err(OutputError)?;
    if faults > 0 {
        bail!("{faults} of {questions} lines could not be answered; see `error` in their answers");
    }
    Ok(())
}

/// Reads a line, and skips the rest of one that is too long; false at the end.
fn read_line(input: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<bool> {
    line.clear();
    let read = io::Read::take(&mut *input, LONGEST).read_until(b'\n', line)?;
    if read as u64 == LONGEST && line.last() != Some(&b'\n') {
        input.skip_until(b'\n')?;
    }
    Ok(read > 0)
}

fn table<V: Display + Copy>(analysis: &Analysis<V>, source: &Source) -> String {
    let target = source
        .target
        .map(|target| format!("probability of {target}"));
    let mut text = format!(
        "{:<9} {:>8} {:>12} {:>12} {:>12}  {}\n",
        "move",
        "reward",
        "value",
        "total",
        "loss",
        target.unwrap_or_default()
    );
    text.truncate(text.trim_end().len());
    text.push('\n');
    for m in &analysis.moves {
        let mut remark = String::new();
        if analysis.best == Some(m.direction) {
            remark.push_str("  <- best");
        }
        if analysis.best_for_target() == Some(m.direction) {
            remark.push_str("  <- best for the target");
        }
        // Writing to a string cannot fail.
        let _ = match (m.reward, m.value, m.total) {
            (Some(reward), Some(value), Some(total)) => {
                let win = m
                    .win_probability
                    .flatten()
                    .map(|win| format!("{:>14.8}", win));
                let loss = m.loss.map(|loss| format!("{loss:.*}", source.digits));
                writeln!(
                    text,
                    "{:<9} {reward:>8} {value:>12.digits$} {total:>12.digits$} {:>12}{}{remark}",
                    m.direction.name(),
                    loss.unwrap_or_default(),
                    win.unwrap_or_default(),
                    digits = source.digits
                )
            }
            (Some(reward), ..) => writeln!(
                text,
                "{:<9} {reward:>8} {:>12} {:>12}{remark}",
                m.direction.name(),
                "-",
                "-"
            ),
            _ => writeln!(text, "{:<9} {:>8}", m.direction.name(), "illegal"),
        };
    }
    if analysis.best.is_none() {
        let _ = writeln!(text, "{}", source.over);
    }
    text
}
