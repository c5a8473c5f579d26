//! `afterstate`, the command line: arguments in, sentences out, no algorithm.

mod args;
mod commands;
mod interrupt;
mod output;
mod progress;

use std::path::Path;
use std::process::ExitCode;

use afterstate::machine::Cpu;
use afterstate_lab::LabError;
use clap::Parser;

use args::{Args, Command};
use commands::judge::Faulty;
use commands::sweep::SomeBroke;

/// Something was asked for that cannot be done: a usage or input error.
const BAD_INPUT: u8 = 2;
/// It was begun, and failed.
const FAILED: u8 = 1;
/// What shells report for Ctrl-C.
const INTERRUPTED: u8 = 130;

fn main() -> ExitCode {
    match run(Args::parse().command) {
        Ok(()) if interrupt::asked() => ExitCode::from(INTERRUPTED),
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if output::is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            output::complain(&error);
            if error.chain().any(lacks_deep) {
                output::tell(&format!("the same with it:  {}", with_deep()));
            }
            let broken = matches!(error.downcast_ref(), Some(LabError::Diverged { .. }));
            let failed = broken || error.is::<Faulty>() || error.is::<SomeBroke>();
            ExitCode::from(if failed { FAILED } else { BAD_INPUT })
        }
    }
}

fn run(command: Command) -> anyhow::Result<()> {
    Cpu::asked().map_err(anyhow::Error::msg)?;
    match command {
        Command::Train(args) => commands::train::run(&args),
        Command::Eval(args) => commands::eval::run(&args),
        Command::Compare(args) => commands::compare::run(&args),
        Command::Analyze(args) => commands::analyze::run(&args),
        Command::Convert(args) => commands::convert::run(&args),
        Command::Solve(args) => commands::solve::run(&args),
        Command::Judge(args) => commands::judge::run(&args),
        Command::Plot(args) => commands::plot::run(&args),
        Command::Sweep(args) => commands::sweep::run(&args),
        Command::Recipes(args) => commands::recipes::run(&args),
        Command::Bench(args) => commands::bench::run(&args),
    }
}

/// Whether this is because deep learning is not built in.
fn lacks_deep(error: &(dyn std::error::Error + 'static)) -> bool {
    let boxed = error.downcast_ref::<Box<LabError>>();
    let plain = boxed.map(|boxed| &**boxed).or(error.downcast_ref());
    matches!(plain, Some(LabError::NoDeep))
}

/// The command that was given, by a program that has deep learning.
fn with_deep() -> String {
    let given = std::env::args_os().skip(1);
    let given = given.map(|word| commands::shown(Path::new(&word)));
    let words = ["cargo run --release --features deep --".to_owned()];
    words.into_iter().chain(given).collect::<Vec<_>>().join(" ")
}
