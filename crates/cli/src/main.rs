//! `afterstate`, the command line: it parses arguments and prints results; the algorithms are in the
//! library crates.

mod args;
mod commands;
mod exit;
mod interrupt;
mod output;
mod play;
mod progress;
mod remedy;

use std::process::ExitCode;

use afterstate::machine::Cpu;
use afterstate_lab::LabError;
use clap::Parser;

use args::{Args, Command};

fn main() -> ExitCode {
    let args = Args::parse();
    output::set_verbosity(args.verbosity());
    let result = run(&args.command);
    let stopped = interrupt::status();
    match (result, stopped) {
        (Ok(()), None) => ExitCode::SUCCESS,
        (Ok(()), Some(status)) => ExitCode::from(status),
        (Err(error), _) if output::is_broken_pipe(&error) => ExitCode::SUCCESS,
        (Err(error), stopped) => {
            complain(&error, &args.command);
            let stopped = stopped.filter(|_| exit::is_verdict(&error));
            ExitCode::from(stopped.unwrap_or_else(|| exit::status_of(&error)))
        }
    }
}

fn run(command: &Command) -> anyhow::Result<()> {
    Cpu::asked()?;
    match command {
        Command::Train(args) => commands::train::run(args),
        Command::Eval(args) => commands::eval::run(args),
        Command::Compare(args) => commands::compare::run(args),
        Command::Merge(args) => commands::merge::run(args),
        Command::Analyze(args) => commands::analyze::run(args),
        Command::Play(args) => commands::play::run(args),
        Command::Review(args) => commands::review::run(args),
        Command::Serve(args) => commands::serve::run(args),
        Command::Convert(args) => commands::convert::run(args),
        Command::Pack(args) => commands::pack::run(args),
        Command::Solve(args) => commands::solve::run(args),
        Command::Judge(args) => commands::judge::run(args),
        Command::Check(args) => commands::check::run(args),
        Command::Referee(args) => commands::referee::run(args),
        Command::Tournament(args) => commands::tournament::run(args),
        Command::Plot(args) => commands::plot::run(args),
        Command::Sweep(args) => commands::sweep::run(args),
        Command::Runs(args) => commands::runs::run(args),
        Command::Recipes(args) => commands::recipes::run(args),
        Command::Tuples(args) => commands::tuples::run(args),
        Command::Bench(args) => commands::bench::run(args),
        Command::Completions(args) => commands::generated::completions(args),
        Command::Man(args) => commands::generated::man(args),
    }
}

/// Prints an error with what to do about it.
fn complain(error: &anyhow::Error, command: &Command) {
    let remedy = exit::lab_error(error).and_then(LabError::remedy);
    let remedy = remedy.map(|remedy| remedy::worded(&remedy, command));
    output::complain(error, remedy.as_deref());
}
