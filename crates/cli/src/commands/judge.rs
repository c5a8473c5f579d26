//! `afterstate judge`: was it all by the rules?

use std::error::Error;
use std::fmt::{self, Write};
use std::io;
use std::path::Path;

use afterstate_lab::games::shape;
use afterstate_lab::recipe::parse_board;
use afterstate_lab::records::{FaultReport, JudgeOptions, JudgeReport, judge, judge_stream};

use super::shown;
use crate::args::JudgeArgs;
use crate::interrupt;
use crate::output::{grouped, print, print_json, speed};
use crate::progress::Display;

/// The records were judged, and found wrong.
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
    let (rows, cols) = parse_board(&args.board)?;
    interrupt::listen()?;
    let display = Display::new();
    let options = JudgeOptions {
        path: &args.records,
        game: &args.game,
        shape: shape(rows, cols)?,
        min_speed: args.min_speed,
        control: &display.control(),
    };
    let verdict = match args.records == Path::new("-") {
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
        print(format!("{}: {}", shown(&args.records), told(&verdict)))
    };
    // Whoever asks for the exit status gets it, even if nobody reads the rest.
    match verdict.fault_count {
        0 => printed,
        faults => Err(Faulty(faults).into()),
    }
}

/// Faults that are listed for people.
const LISTED: usize = 20;

fn told(verdict: &JudgeReport) -> String {
    let v = verdict;
    let mut text = format!(
        "{} on {}\n\n{}\n",
        v.game,
        v.board,
        v.tally.block(v.episodes, v.tally.speed())
    );
    // Writing to a string cannot fail.
    let mut line = |sentence: String| {
        let _ = writeln!(text, "{sentence}");
    };
    if v.tests.is_empty() {
        line("new tiles are too few to say whether they came by chance".to_owned());
    }
    for test in &v.tests {
        line(format!(
            "{}: p = {:.3} (chi-squared {:.1} with {} degrees of freedom, {} draws)",
            test.name,
            test.p_value,
            test.chi_squared,
            test.freedom,
            grouped(test.draws as f64)
        ));
    }
    if v.unfinished > 0 {
        let count = grouped(v.unfinished as f64);
        line(format!("games that end before they are over: {count}"));
    }
    match v.moves_per_second {
        Some(found) => line(format!("speed: {}", speed(found))),
        None => line("speed: unknown, all games open and close in one millisecond".to_owned()),
    }
    for fault in v.faults.iter().take(LISTED) {
        line(format!("FAULT {}", place(fault)));
    }
    if v.fault_count > LISTED as u64 {
        let more = grouped((v.fault_count - LISTED as u64) as f64);
        line(format!("and {more} faults more"));
    }
    let judged = match (v.fault_count, v.interrupted) {
        (0, false) => "passed",
        (0, true) => "stopped by Ctrl-C before the end of the records, no fault until then",
        _ => "FAILED",
    };
    let episodes = if v.episodes == 1 {
        "episode"
    } else {
        "episodes"
    };
    line(format!(
        "{judged}: {} {episodes} by the rules",
        grouped(v.episodes as f64)
    ));
    if let Some(points) = v.assessment.filter(|_| !v.interrupted) {
        line(format!("Assessment: {points:.1} points"));
    }
    text
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
