//! `afterstate judge`: verifies that recorded games follow the rules.

use std::error::Error;
use std::fmt::{self, Write};
use std::io;
use std::path::Path;

use afterstate::judge::SideTotals;
use afterstate_lab::LabError;
use afterstate_lab::games;
use afterstate_lab::numbers::p_value;
use afterstate_lab::recipe::parse_board;
use afterstate_lab::records::{
    FaultKind, FaultReport, JudgeOptions, JudgeReport, LuckModel, NamedTest, judge, judge_stream,
};
use afterstate_lab::seal::{Seal, SealKind};

use super::models::open;
use super::shown;
use crate::args::JudgeArgs;
use crate::interrupt;
use crate::output::{grouped, harmless, print, print_json, speed};
use crate::progress::Display;

/// The records have faults.
#[derive(Debug)]
pub struct Faulty(u64);

impl Error for Faulty {}

impl fmt::Display for Faulty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let faults = if self.0 == 1 { "fault" } else { "faults" };
        write!(f, "{} {faults} in the records", grouped(self.0 as f64))
    }
}

pub fn run(args: &JudgeArgs) -> anyhow::Result<()> {
    let seal = seal(args)?;
    let of_seal = |value: fn(&Seal) -> &String| seal.as_ref().map(|seal| value(seal).as_str());
    let game = args.game.as_deref().or_else(|| of_seal(|seal| &seal.game));
    let board = args
        .board
        .as_deref()
        .or_else(|| of_seal(|seal| &seal.board));
    let shape = match board {
        None => None,
        Some(board) => {
            let (rows, cols) = parse_board(board)?;
            Some(games::shape(rows, cols)?)
        }
    };
    let model = args.model.as_deref().map(luck_model).transpose()?;
    interrupt::listen()?;
    let display = Display::new();
    let control = display.control();
    let options = JudgeOptions {
        game,
        shape,
        games: args.games,
        min_speed: args.min_speed,
        seal: seal.as_ref(),
        model: model.as_ref(),
        ..JudgeOptions::new(&args.records, &control)
    };
    let verdict = match is_stream(args) {
        true => judge_stream(&options, io::stdin()),
        false => judge(&options),
    };
    display.finish();
    let verdict = verdict?;
    if !verdict.interrupted {
        interrupt::completed();
    }
    let printed = if args.json {
        print_json(&verdict)
    } else {
        print(format!("{}: {}", shown(&args.records), report(&verdict)))
    };
    // The exit status reports faults even if standard output is closed.
    match verdict.fault_count {
        0 => printed,
        faults => Err(Faulty(faults).into()),
    }
}

/// The model by which luck is measured.
fn luck_model(path: &Path) -> anyhow::Result<LuckModel> {
    let (contender, _) = open(path)?;
    Ok(LuckModel {
        label: shown(path).to_string(),
        game: contender.game,
        shape: contender.shape,
        agent: contender.agent,
    })
}

fn is_stream(args: &JudgeArgs) -> bool {
    args.records == Path::new("-")
}

/// The seal that was named, or that is beside the records.
fn seal(args: &JudgeArgs) -> Result<Option<Seal>, LabError> {
    match &args.seal {
        Some(path) => Seal::open(path).map(Some),
        None if is_stream(args) => Ok(None),
        None => Seal::beside(&args.records),
    }
}

/// What the seal of a referee shows, if it is verified.
const MATCH: &str = "
  the new tiles are those of the secret, and every game of the match is there, unchanged";

/// What the player's own seal shows, if it is verified.
const OWN: &str = "
  no referee: the new tiles are those of the seed, and the games from the first on are all there";

/// The lines about a seal.
fn sealed(verdict: &JudgeReport) -> Option<String> {
    let seal = verdict.seal.as_ref()?;
    let passed = passed(seal.verified);
    let (games, broken) = (grouped(seal.games as f64), grouped(seal.broken as f64));
    let player = one_line(&seal.player.join(" "));
    if let (SealKind::Own, Some(seed)) = (seal.kind, seal.seed) {
        let shows = if seal.verified { OWN } else { "" };
        return Some(format!(
            "seal: {passed}, the player's own, {games} games of seed {seed} by {player}{shows}"
        ));
    }
    let shows = if seal.verified { MATCH } else { "" };
    Some(format!(
        "seal: {passed}, a match of {games} games ({broken} broken off) by {player}\n  commitment {}{shows}",
        one_line(&seal.commitment),
    ))
}

/// The beginning of a text of a seal, which may try to look like other lines of the report.
fn one_line(text: &str) -> String {
    let text: String = text.chars().take(200).collect();
    harmless(&text).replace('\n', " ")
}

/// The largest number of faults of a kind that are printed.
const LISTED: usize = 10;

fn report(verdict: &JudgeReport) -> String {
    let v = verdict;
    let guessed = if v.guessed {
        ", by the rules that the records follow"
    } else {
        ""
    };
    let mut text = format!(
        "{} on {}{guessed}\n\n{}\n",
        v.game,
        v.board,
        v.tally.block(v.episodes, v.tally.speed())
    );
    // Writing to a string cannot fail.
    let mut line = |sentence: String| {
        let _ = writeln!(text, "{sentence}");
    };
    if !v.tests.iter().any(|test| test.freedom.is_some()) {
        line("too few new tiles to test their frequencies".to_owned());
    }
    v.tests
        .iter()
        .map(|test| test_line(v, test))
        .for_each(&mut line);
    for (count, what) in [(v.unfinished, "unfinished"), (v.duplicates, "repeated")] {
        if count > 0 {
            line(format!("{what} games: {}", grouped(count as f64)));
        }
    }
    line(format!(
        "moves: {} by the player{}, {} by the environment{}",
        grouped(v.player.moves as f64),
        pace(&v.player),
        grouped(v.environment.moves as f64),
        pace(&v.environment),
    ));
    for note in &v.notes {
        line(format!("note: {note}"));
    }
    faults(v).for_each(&mut line);
    line(format!("actions: {}", passed(v.actions_passed)));
    line(pace_line(v));
    sealed(v).into_iter().for_each(&mut line);
    line(verdict_line(v));
    if let Some(points) = v.assessment {
        line(format!("Assessment: {points:.1} points"));
    }
    if let Some(note) = &v.assessment_note {
        line(format!("  {note}"));
    }
    line(v.limits.clone());
    text
}

/// The result of a test.
fn test_line(verdict: &JudgeReport, test: &NamedTest) -> String {
    let (p, draws) = (p_value(test.p), grouped(test.draws as f64));
    let how = match (test.chi_squared, test.freedom, test.z) {
        (Some(value), Some(freedom), _) => {
            format!("chi-squared {value:.1} with {freedom} degrees of freedom")
        }
        (_, _, Some(z)) => format!("z = {z:.2}"),
        _ => String::new(),
    };
    let by = match &verdict.luck_model {
        Some(model) if test.name.starts_with("luck") => format!(" by {model}"),
        _ => String::new(),
    };
    let word = if test.passed { "" } else { ", FAILED" };
    format!("{}{by}: p {p} ({how}, {draws} draws){word}", test.name)
}

/// The first faults of each kind, with the number of the others.
fn faults(verdict: &JudgeReport) -> impl Iterator<Item = String> {
    let mut lines = Vec::new();
    let (mut kind, mut count): (Option<FaultKind>, usize) = (None, 0);
    let mut faults: Vec<&FaultReport> = verdict.faults.iter().collect();
    faults.sort_by_key(|fault| fault.kind);
    for fault in faults {
        count = if kind == Some(fault.kind) {
            count + 1
        } else {
            1
        };
        kind = Some(fault.kind);
        if count <= LISTED {
            lines.push(format!("FAULT {}", place(fault)));
        }
    }
    let more = verdict.fault_count - (lines.len() as u64).min(verdict.fault_count);
    if more > 0 {
        lines.push(format!("and {} more faults", grouped(more as f64)));
    }
    lines.into_iter()
}

fn passed(passed: bool) -> &'static str {
    if passed { "passed" } else { "FAILED" }
}

/// How fast one side was, if its times were recorded.
fn pace(side: &SideTotals) -> String {
    let pace = side.speed().map(|found| format!(" ({})", speed(found)));
    pace.unwrap_or_default()
}

/// How fast the games were, and whether that suffices.
fn pace_line(v: &JudgeReport) -> String {
    let found = match v.moves_per_second {
        Some(found) => speed(found),
        None if v.episodes == 0 => "unknown, because there is no valid game".to_owned(),
        None => "unknown, because all games start and end in the same millisecond".to_owned(),
    };
    match (v.speed_passed, v.min_speed) {
        (Some(fast), Some(least)) => {
            let (word, least) = (passed(fast), grouped(least));
            format!("speed: {word} ({found}; expected at least {least} moves/s)")
        }
        _ => format!("speed: {found}"),
    }
}

/// The last line: whether the records passed, and how many episodes are valid.
fn verdict_line(verdict: &JudgeReport) -> String {
    let count = |number: u64, one: &str| {
        let plural = if number == 1 { "" } else { "s" };
        format!("{} {one}{plural}", grouped(number as f64))
    };
    let (valid, until) = (
        count(verdict.episodes, "valid episode"),
        match verdict.interrupted {
            true => ", stopped by Ctrl-C before the end of the records",
            false => "",
        },
    );
    match verdict.fault_count {
        0 if verdict.interrupted => format!("no faults so far: {valid}{until}"),
        0 => format!("passed: {valid}"),
        _ => format!("FAILED: {} ({valid}{until})", verdict.failures.join("; ")),
    }
}

fn place(fault: &FaultReport) -> String {
    let named = |name: &str, number: Option<u64>| {
        number.map_or_else(String::new, |number| format!("{name} {number}, "))
    };
    let number = |number: Option<usize>| number.map(|number| number as u64);
    let (line, action) = (
        named("line", fault.line),
        named("action", number(fault.action)),
    );
    let mut place = line + &action + &named("column", number(fault.column));
    if !place.is_empty() {
        place.truncate(place.len() - 2);
        place += ": ";
    }
    place + &fault.reason
}
