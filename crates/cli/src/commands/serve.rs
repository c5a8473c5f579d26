//! `afterstate serve`: the app in the browser.

use std::time::Duration;

use afterstate_web::{Config, ServeError, start};
use anyhow::Context;

use super::shown;
use crate::args::ServeArgs;
use crate::interrupt;
use crate::output::{print, tell};

pub fn run(args: &ServeArgs) -> anyhow::Result<()> {
    let config = Config {
        runs: args.runs.clone(),
        host: args.host,
        port: args.port,
        names: args.names.clone(),
        models: args.models.clone(),
    };
    let running = start(&config).map_err(advised)?;
    interrupt::listen().context("cannot listen for signals")?;
    print(format!(
        "the app is at {}\nruns are in {}; Ctrl-C ends it\n",
        running.url,
        shown(&args.runs)
    ))?;
    if running.address.ip().is_unspecified() {
        print(format!(
            "on other machines, put the address of this machine in place of {} (its name needs \
             `--name`)\n",
            if running.address.is_ipv4() {
                "127.0.0.1"
            } else {
                "[::1]"
            }
        ))?;
    }
    while !interrupt::asked() {
        std::thread::sleep(Duration::from_millis(50));
    }
    tell("ending: runs save their state");
    running.stop();
    Ok(())
}

/// The error with what to do about it.
fn advised(error: ServeError) -> anyhow::Error {
    let error = match error {
        ServeError::Model(error) => return error.into(),
        error => error,
    };
    let advice = match &error {
        ServeError::Served { .. } => "use that one, end it, or name another folder with `--runs`",
        ServeError::Folder { .. } => "name another folder with `--runs`",
        ServeError::Address { .. } => "name another port with `--port`, or another `--host`",
        _ => return error.into(),
    };
    anyhow::anyhow!("{error}; {advice}")
}
