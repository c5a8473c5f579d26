//! `afterstate train`: starts or resumes a run.

use std::path::{Path, PathBuf};

use afterstate_lab::block::{Block, ReplayBlock, ReplayResult, ScoreStats};
use afterstate_lab::control::{Control, Event, Status, Unit};
use afterstate_lab::migrate::Format;
use afterstate_lab::numbers::decimals;
use afterstate_lab::recipe::{NetworkRecipe, Recipe};
use afterstate_lab::spec::NetworkSize;
use afterstate_lab::trainer::Trainer;

use super::{RUNS, shown};
use crate::args::TrainArgs;
use crate::interrupt;
use crate::output::{grouped, note, print, tell};
use crate::progress::Display;

pub fn run(args: &TrainArgs) -> anyhow::Result<()> {
    interrupt::listen()?;
    let display = Display::new();
    let control = control(args, &display);
    let mut trainer = match &args.resume {
        Some(folder) => resume(args, folder, &control)?,
        None => start(args, &control)?,
    };
    display.set_value_unit(trainer.recipe().value_unit());
    let folder = trainer.folder().map(shown).unwrap_or_default();
    // Training continues if standard output is closed.
    if !args.json {
        let _ = introduce(&trainer, &folder, args.resume.is_some());
    }
    if trainer.is_done() && !args.json {
        let longer = match trainer.length() {
            (Unit::Iterations, ..) => "--set max_iterations=N",
            (Unit::Updates, ..) => "--set max_updates=N",
            _ => "--episodes N",
        };
        let drawn = match trainer.draw_missing_plots()?.is_empty() {
            true => String::new(),
            false => format!("plots were missing; they are in {folder}/plots\n"),
        };
        return print(format!(
            "{drawn}the run is already finished; to train longer, add `{longer}`\n"
        ));
    }
    let status = trainer.train();
    display.finish();
    let status = status?;
    if status == Status::Finished {
        interrupt::completed();
    }
    if args.json {
        return Ok(());
    }
    let so_far = so_far(&trainer);
    if let Some(result) = trainer.replay_result() {
        print(replay_end(&result))?;
    }
    match status {
        Status::Finished => {
            let plots = match trainer.games() {
                0 => String::new(),
                _ => format!(", the plots are in {folder}/plots"),
            };
            print(format!(
                "finished: {so_far}. The model is {folder}/model.safetensors{plots}.\n\
                 Evaluate it with:  afterstate eval {folder}\n"
            ))
        }
        Status::Stopped => print(format!(
            "stopped and saved after {so_far}. Resume with:  afterstate train --resume {folder}\n"
        )),
    }
}

/// Shows progress, and prints blocks, or all events as lines of JSON.
fn control(args: &TrainArgs, display: &Display) -> Control {
    let (shown, json) = (display.clone(), args.json);
    display.control_with(move |event| match event {
        _ if json => {
            // Numbers, text and lists: JSON has all of these.
            if let Ok(line) = serde_json::to_string(event) {
                shown.print(line + "\n");
            }
        }
        Event::Block(block) => {
            shown.print(block_text(block, shown.value_unit()));
        }
        Event::CheckpointFailed { error, .. } => {
            tell(&format!(
                "warning: {error}; the checkpoint before it is unchanged, and training continues"
            ));
        }
        _ => {}
    })
}

fn resume(args: &TrainArgs, folder: &Path, control: &Control) -> anyhow::Result<Trainer> {
    // Large tables take some seconds to read.
    note(&format!("reading {}", shown(folder)));
    let trainer = Trainer::resume(folder, &overrides(args), control)?;
    if let Some(format) = trainer.migrated_from() {
        tell(&format!(
            "{} has format {format}; its recipe was updated to format {}, and later checkpoints use it, too",
            shown(folder),
            Format::NOW
        ));
    }
    Ok(trainer)
}

/// How a run with a replay buffer has gone: its scores, and the last board.
fn replay_end(result: &ReplayResult) -> String {
    let ScoreStats {
        running_average,
        highest_average,
        highest_score,
    } = result.scores;
    let mut text = String::new();
    if let (Some(score), Some(last), Some(highest)) =
        (highest_score, running_average, highest_average)
    {
        text = format!(
            "highest score {}; running average {} at the end, {} at its highest (2048 experiment \
             report: half the usual score)\n",
            grouped(score as f64),
            decimals(last, 1),
            decimals(highest, 1)
        );
    }
    text + "last board:\n" + &board_text(&result.last_board)
}

/// A board as a grid, with dots for empty cells.
fn board_text(rows: &[Vec<u64>]) -> String {
    let cell = |&tile: &u64| match tile {
        0 => ".".to_owned(),
        tile => tile.to_string(),
    };
    let cells: Vec<Vec<String>> = rows
        .iter()
        .map(|row| row.iter().map(cell).collect())
        .collect();
    let width = cells.iter().flatten().map(String::len).max().unwrap_or(0);
    let line = |row: &Vec<String>| {
        let padded: Vec<String> = row.iter().map(|cell| format!("{cell:>width$}")).collect();
        format!("  {}\n", padded.join(" "))
    };
    cells.iter().map(line).collect()
}

/// The progress so far: games, and iterations and updates of a run with a replay buffer.
fn so_far(trainer: &Trainer) -> String {
    let count = |number: u64, name: &str| {
        let plural = if number == 1 { "" } else { "s" };
        format!("{} {name}{plural}", grouped(number as f64))
    };
    let games = count(trainer.games(), "game");
    if trainer.recipe().learner.buffer().is_none() {
        return games;
    }
    let iterations = count(trainer.iterations(), "iteration");
    let updates = count(trainer.updates(), "update");
    format!("{iterations}, {updates} and {games}")
}

fn start(args: &TrainArgs, control: &Control) -> anyhow::Result<Trainer> {
    let recipe = Recipe::load(&args.recipe, &overrides(args))?;
    Ok(match &args.out {
        Some(folder) => Trainer::new(recipe, folder, control)?,
        None => {
            let name = recipe.name.clone();
            Trainer::new_under(recipe, Path::new(RUNS), &name, control)?
        }
    })
}

/// The overrides: those of `--set`, and the short options, which also override recipe keys.
fn overrides(args: &TrainArgs) -> Vec<String> {
    // A text in quotes: a folder may be called 7.
    let quoted = |path: &PathBuf| format!("{:?}", path.display().to_string());
    let options = [
        ("from", args.from.as_ref().map(quoted)),
        ("game", args.game.clone()),
        ("board", args.board.clone()),
        ("episodes", args.episodes.map(|n| n.to_string())),
        ("threads", args.threads.map(|n| n.to_string())),
        ("seed", args.seed.map(|n| n.to_string())),
    ];
    let given = options
        .into_iter()
        .filter_map(|(key, value)| Some(format!("{key}={}", value?)));
    args.set.iter().cloned().chain(given).collect()
}

fn introduce(trainer: &Trainer, folder: &str, resumed: bool) -> anyhow::Result<()> {
    let recipe = trainer.recipe();
    let (unit, all, done) = trainer.length();
    let unit = match unit {
        Unit::Iterations => "iterations",
        Unit::Updates => "updates",
        _ => "games",
    };
    let unit = if all == 1 {
        unit.trim_end_matches('s')
    } else {
        unit
    };
    let all = format!("{} {unit}", grouped(all as f64));
    let from = if done > 0 {
        format!("resumed after {} of {all}", grouped(done as f64))
    } else if resumed {
        format!("{all} from the beginning, because it has no checkpoint")
    } else {
        all
    };
    let Recipe {
        game,
        board,
        network,
        ..
    } = recipe;
    let title = recipe.title();
    let made_of = match network {
        NetworkRecipe::NTuple(network) => format!("tuples {}", network.tuples),
        NetworkRecipe::Deep(network) => {
            let kernels = network.convolutions.join(", ");
            format!("convolutions {kernels} of {} filters", network.filters)
        }
    };
    let size = NetworkSize::of(recipe)?;
    print(format!(
        "{title}: {game} on {board}, {made_of} ({size}), {from}, into {folder}\n"
    ))
}

/// A block in the format of TDL2048; values are in points, `unit` points for each 1 of the network.
fn block_text(block: &Block, unit: f64) -> String {
    let speed = block.moves_per_second as f64;
    let replay = block.replay.as_ref();
    let replay = replay.map_or_else(String::new, |replay| replay_text(block, replay, unit));
    format!("{}{replay}\n", block.tally().block(block.games, speed))
}

/// Replay statistics as in the "2048 experiment report", with the usual mean beside its average.
fn replay_text(block: &Block, replay: &ReplayBlock, unit: f64) -> String {
    format!(
        "\titerations = {}\tupdates = {}\n\tloss = {:.4}\tvalue = {:.1}\treward = {:.2}\n\t\
         average = {:.1} (2048 experiment report: half the usual score)\tmean = {:.1}\n",
        replay.iterations.unwrap_or(0),
        replay.updates,
        replay.loss,
        replay.value * unit,
        replay.reward,
        replay.running_average,
        block.mean,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_run_has_its_scores_and_its_last_board() {
        let mut result = ReplayResult {
            iterations: 10,
            updates: 50,
            scores: ScoreStats {
                running_average: Some(1_000.04),
                highest_average: Some(1_234.5),
                highest_score: Some(9_876),
            },
            last_board: vec![vec![2, 0], vec![128, 16]],
        };
        assert_eq!(
            replay_end(&result),
            "highest score 9,876; running average 1,000.0 at the end, 1,234.5 at its highest (2048 \
             experiment report: half the usual score)\nlast board:\n    2   .\n  128  16\n"
        );
        result.scores = ScoreStats::default();
        assert!(replay_end(&result).starts_with("last board:\n"));
    }
}
