//! `afterstate review`: grades the moves of recorded games, and measures the luck of their spawns.

use std::fmt::Write;
use std::io;
use std::path::Path;
use std::sync::Arc;

use afterstate_lab::agent::Baseline;
use afterstate_lab::board::GameBoard;
use afterstate_lab::error::game_on;
use afterstate_lab::evaluate::Contender;
use afterstate_lab::games;
use afterstate_lab::numbers::{decimals, signed};
use afterstate_lab::recipe::parse_board;
use afterstate_lab::review::{
    Detail, GameReview, RecordReader, Review, ReviewOptions, ReviewResult, SpawnLuck, WorstMove,
    review,
};
use anyhow::bail;

use super::eval::hash;
use super::models::{baseline, default_model, open, open_for_target};
use super::shown;
use crate::args::ReviewArgs;
use crate::interrupt;
use crate::output::{count, grouped, harmless, percent, print, print_json, tell};
use crate::progress::Display;

/// The most games in the table, and the most faults that are listed.
const LISTED_GAMES: usize = 20;
const LISTED_FAULTS: usize = 10;

pub fn run(args: &ReviewArgs) -> anyhow::Result<()> {
    interrupt::listen()?;
    let display = Display::new();
    let control = display.control();
    let records = match args.records == Path::new("-") {
        true => RecordReader::stream(&args.records, io::stdin(), &control)?,
        false => RecordReader::open(&args.records, &control)?,
    };
    let path = match &args.model {
        Some(model) => model.clone(),
        None => {
            let (game, shape) = records.game()?;
            default_model(&game, shape)?
        }
    };
    let (mut plain, who) = match (args.by_chance, baseline(&path)) {
        (true, _) => open_for_target(&path)?,
        (false, None) => open(&path)?,
        (false, Some(Baseline::Random)) => bail!(
            "random moves have no values by which moves could be graded; name `greedy`, which \
             grades by rewards alone, or a model"
        ),
        (false, Some(baseline)) => {
            let (game, shape) = records.game()?;
            let contender = Contender::baseline(baseline, &game, shape)?;
            let who = format!("{}, by rewards alone", contender.label);
            (contender, who)
        }
    };
    if args.json {
        hash(&mut plain)?;
    }
    let values = Arc::clone(&plain.agent);
    let contender = args.search.on_threads(args.threads, plain)?;
    let found = review(
        records,
        &contender,
        &values,
        &ReviewOptions {
            thresholds: args.thresholds,
            top: args.top,
            detail: match args.json {
                true => Detail::Full,
                false => Detail::FirstGames(LISTED_GAMES),
            },
            threads: args.threads,
            control: &control,
        },
    );
    display.finish();
    let found = found?;
    if found.interrupted {
        let games = count(found.total.games, "game");
        tell(&format!("stopped by Ctrl-C: this review has {games}"));
    } else {
        interrupt::completed();
    }
    for fault in found.faults.iter().take(LISTED_FAULTS) {
        tell(&format!(
            "line {} is left out: {}",
            fault.line, fault.reason
        ));
    }
    let more = found.fault_count.saturating_sub(LISTED_FAULTS as u64);
    if more > 0 {
        tell(&format!("{} left out as well", count(more, "more line")));
    }
    match args.json {
        true => print_json(&found),
        false => print(report(args, &contender, &who, &found)?),
    }
}

fn report(
    args: &ReviewArgs,
    contender: &Contender,
    who: &str,
    found: &Review,
) -> anyhow::Result<String> {
    let searching = match args.search.any() {
        true => format!(", {}", found.search),
        false => String::new(),
    };
    // Writing to a string cannot fail.
    let mut text = format!(
        "{}: {} of {}\nreviewed by {who}{searching}\n\n",
        shown(&args.records),
        count(found.total.games, "game"),
        game_on(&contender.game, contender.shape)
    );
    if let Some(target) = found.target {
        let _ = writeln!(
            text,
            "losses and luck are percentage points of the chance of {target}\n"
        );
    }
    text += &table(found);
    text += &grades(&found.total.result);
    text += &luck(found);
    let highlights = &found.total.highlights;
    let several = found.total.games > 1;
    if !highlights.worst.is_empty() {
        text += "\nworst moves\n";
    }
    for one in &highlights.worst {
        text += &worst(found, one, several)?;
    }
    for (name, spawns) in [
        ("luckiest", &highlights.luckiest),
        ("unluckiest", &highlights.unluckiest),
    ] {
        if !spawns.is_empty() {
            let _ = writeln!(text, "\n{name} new tiles");
        }
        for one in spawns {
            text += &spawn(found, one, several);
        }
    }
    Ok(text)
}

/// A line for each game, and one for all of them.
fn table(found: &Review) -> String {
    let mut text = format!(
        "{:<8} {:>10} {:>8} {:>8} {:>9} {:>11} {:>9} {:>12} {:>6}  {}\n",
        "line",
        "score",
        "largest",
        "moves",
        "accuracy",
        "mean loss",
        "mistakes",
        "luck",
        "z",
        "player"
    );
    for game in &found.games {
        text += &row(
            &game.line.to_string(),
            (&grouped(game.score as f64), &game.largest.to_string()),
            &game.result,
            &remark(game),
        );
    }
    let more = found.total.games.saturating_sub(found.games.len() as u64);
    if more > 0 {
        text = text + "and " + &count(more, "more game") + "\n";
    }
    if found.total.games > 1 {
        text += &row("all", ("", ""), &found.total.result, "");
    }
    text
}

fn remark(game: &GameReview) -> String {
    let player: String = harmless(&game.player).chars().take(24).collect();
    match game.finished {
        true => player,
        false => format!("{player} (unfinished)"),
    }
}

fn row(name: &str, (score, largest): (&str, &str), result: &ReviewResult, remark: &str) -> String {
    use afterstate_lab::grade::Grade;
    let count = |grade| result.grades.get(&grade).copied().unwrap_or(0);
    let mistakes = count(Grade::Mistake) + count(Grade::Blunder);
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
    let row = format!(
        "{name:<8} {score:>10} {largest:>8} {:>8} {:>9} {:>11} {:>9} {:>12} {:>6}  {remark}",
        grouped(result.move_count as f64),
        or_dash(result.accuracy.map(accuracy)),
        or_dash(result.mean_loss.map(|loss| decimals(loss, 2))),
        grouped(mistakes as f64),
        signed(result.luck, 0),
        or_dash(result.luck_z.map(|z| signed(z, 2))),
    );
    row.trim_end().to_owned() + "\n"
}

/// Accuracies differ in their second decimal.
fn accuracy(share: f64) -> String {
    format!("{:.2}%", 100.0 * share)
}

/// How many moves have each grade.
fn grades(result: &ReviewResult) -> String {
    let graded: u64 = result.grades.values().sum();
    let mut text = String::from("\ngrade         moves   share\n");
    for (grade, &count) in &result.grades {
        let share = percent(count as f64 / graded.max(1) as f64);
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{:<10} {:>8} {share:>7}",
            grade.name(),
            grouped(count as f64)
        );
    }
    text
}

/// Below this number of moves, z is not normally distributed.
const FEW: u64 = 50;

/// The sum of luck in words.
fn luck(found: &Review) -> String {
    let result = &found.total.result;
    let Some(z) = result.luck_z else {
        return String::new();
    };
    let how = match z {
        _ if result.move_count < FEW => "too few moves to tell luck from chance",
        z if z > 2.0 => "unusually good luck",
        z if z < -2.0 => "unusually bad luck",
        _ => "as usual: |z| is below 2 in 95% of fair samples",
    };
    format!(
        "\nluck of the new tiles: {} {}, z = {} ({how})\n",
        signed(result.luck, 1),
        unit(found),
        signed(z, 2)
    )
}

/// What losses and luck are counted in.
fn unit(found: &Review) -> &'static str {
    match found.target {
        Some(_) => "percentage points",
        None => "points",
    }
}

/// The place of a move.
fn place(line: u64, number: u64, several: bool) -> String {
    match several {
        true => format!("line {line}, move {}", grouped(number as f64)),
        false => format!("move {}", grouped(number as f64)),
    }
}

fn worst(found: &Review, one: &WorstMove, several: bool) -> anyhow::Result<String> {
    let (rows, cols) = parse_board(&found.board)?;
    let board = GameBoard::parse(&one.position, &found.game, games::shape(rows, cols)?)?;
    let best = one.best.map_or("-", |best| best.name());
    Ok(format!(
        "\n{}: {} loses {} {} and keeps {} ({}); best: {best}\n{board}",
        place(one.line, one.number, several),
        one.direction.name(),
        decimals(one.loss, 1),
        unit(found),
        percent(one.share).trim(),
        one.grade.name(),
    ))
}

fn spawn(found: &Review, one: &SpawnLuck, several: bool) -> String {
    format!(
        "after {}: {} at {}, {} {}\n",
        place(one.line, one.number, several),
        one.tile,
        one.cell,
        signed(one.luck, 1),
        unit(found)
    )
}
