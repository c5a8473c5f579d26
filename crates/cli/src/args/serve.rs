//! The arguments of `afterstate serve`.

use std::net::IpAddr;
use std::path::PathBuf;

use super::numbers::port;

/// `afterstate serve`
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  afterstate serve                    at http://127.0.0.1:2048, for this machine only
  afterstate serve --port 8080 --runs ~/lab/runs
  afterstate serve --model 4x6.w --model 2x3.solution
  afterstate serve --host 0.0.0.0     for other machines, too: the link has a token

The page works without a network. Everything that it does is a request of the API, which is described at /api/v1/openapi.json; docs/api.md has examples. Ctrl-C ends the server: runs that it trains save their state and can be resumed.")]
pub struct ServeArgs {
    /// The port; 0 for any that is free
    #[arg(long, allow_negative_numbers = true, default_value = "2048", value_parser = port)]
    pub port: u16,
    /// The folder of runs
    #[arg(long, value_name = "DIR", default_value = crate::commands::RUNS)]
    pub runs: PathBuf,
    /// The address to listen on; any other than 127.0.0.1 and ::1 opens the app to other machines,
    /// with a token
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    pub host: IpAddr,
    /// Another player to choose besides the runs: a model file, weights of another program or an exact
    /// solution; may be repeated
    #[arg(long = "model", value_name = "FILE")]
    pub models: Vec<PathBuf>,
    /// A name by which browsers may call this machine, besides its addresses; may be repeated
    #[arg(long = "name", value_name = "NAME")]
    pub names: Vec<String>,
}
