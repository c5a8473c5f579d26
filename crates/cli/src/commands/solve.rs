//! `afterstate solve`: the exact values of a small board.

use std::fmt::Write;

use afterstate_lab::games::shape;
use afterstate_lab::recipe::parse_board;
use afterstate_lab::solve::{Solution, SolveOptions, SolveReport, solve};

use super::shown;
use crate::args::SolveArgs;
use crate::interrupt;
use crate::output::{grouped, note, print, print_json, tell};
use crate::progress::Display;

pub fn run(args: &SolveArgs) -> anyhow::Result<()> {
    let (rows, cols) = parse_board(&args.board)?;
    let shape = shape(rows, cols)?;
    if let Some(path) = &args.out {
        Solution::can_be_written(path)?;
    }
    interrupt::listen()?;
    let display = Display::new();
    let solved = solve(&SolveOptions {
        game: &args.game,
        shape,
        target: args.target,
        discount: args.discount,
        bounds: args.min_avg_max,
        threads: args.threads,
        memory: None,
        control: &display.control(),
    });
    display.finish();
    let Some(solved) = solved? else {
        tell("stopped by Ctrl-C before the solution was finished; no file was written");
        return Ok(());
    };
    interrupt::completed();
    if let Some(path) = &args.out {
        note("writing the solution");
        solved.solution.write(path)?;
    }
    if args.json {
        return print_json(&solved.report());
    }
    let mut text = table(&solved.report());
    if let Some(path) = &args.out {
        let path = shown(path);
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "\nsaved to {path}; query it with:  afterstate analyze BOARD --solution {path}"
        );
    }
    print(text)
}

/// The solution as text; values have all digits that can be exact.
fn table(report: &SolveReport) -> String {
    let r = report;
    let mut text = format!("{} on {}", r.game, r.board);
    // Writing to a string cannot fail.
    let _ = match r.target {
        Some(target) if r.ends_at_target => {
            writeln!(
                text,
                ", the game ends at {target}: all results are for this shorter game"
            )
        }
        _ => writeln!(text),
    };
    let mut row = |name: &str, value: String| {
        let _ = writeln!(text, "{name:<26} {value}");
    };
    row(
        "positions",
        format!(
            "{}, up to symmetry {}",
            grouped(r.states as f64),
            grouped(r.canonical_states as f64)
        ),
    );
    let discounted = if r.discount < 1.0 {
        format!("  (discount {})", r.discount)
    } else {
        String::new()
    };
    row(
        "optimal expected score",
        format!("{:.11}{discounted}", r.expected_score),
    );
    if let (Some(min), Some(max)) = (r.min_score, r.max_score) {
        row("  with the worst spawns", format!("{min:.11}"));
        row("  with the best spawns", format!("{max:.11}"));
    }
    if let (Some(target), Some(probability)) = (r.target, r.win_probability) {
        let reach = match probability {
            0.0 => "  (unreachable)",
            _ => "",
        };
        row(
            &format!("best probability of {target}"),
            format!("{probability:.11}{reach}"),
        );
    }
    if let (Some(min), Some(max)) = (r.min_win_probability, r.max_win_probability) {
        row("  with the worst spawns", format!("{min:.11}"));
        row("  with the best spawns", format!("{max:.11}"));
    }
    row("seconds", format!("{:.1}", r.seconds));
    text
}
