//! The app in the browser: a server for one machine, with its page and its JSON API.
//!
//! `connection -> guard (Host, Origin, token, limits) -> page | api -> lab`
//!
//! The server contains no algorithm: everything that it answers comes from `afterstate-lab`. Work
//! that takes longer than a look-up runs on a thread of its own (`jobs`), is limited in time and
//! number, and is cancelled when its client is gone.
//!
//! - `server.rs`: accepting connections, the lock of the run folder, shutdown.
//! - `connection.rs`: clients that do not take what is sent to them.
//! - `guard.rs`: checks of each request, and the headers of every answer.
//! - `page.rs`: the files of the page, which are inside the binary.
//! - `models.rs`: the models that a name stands for. No name becomes a path.
//! - `api/`: one file for each part of the page. `openapi.rs` describes all of them.

mod api;
mod connection;
mod error;
mod extract;
mod guard;
mod jobs;
mod models;
mod openapi;
mod page;
mod server;
mod state;

use std::path::PathBuf;

use axum::Router;

pub use error::ServeError;
pub use openapi::document;
pub use page::page_bytes;
pub use server::{Running, start};
pub use state::AppState;

/// How the app is served.
#[derive(Clone, Debug)]
pub struct Config {
    /// The folder of runs.
    pub runs: PathBuf,
    /// The address to listen on; the app is open without a token only on loopback addresses.
    pub host: std::net::IpAddr,
    /// The port; 0 for any that is free.
    pub port: u16,
    /// Further names by which browsers may call this server.
    pub names: Vec<String>,
    /// Files of models and solutions that can be chosen besides the runs.
    pub models: Vec<PathBuf>,
}

impl Config {
    /// The app on this machine only.
    pub fn new(runs: impl Into<PathBuf>) -> Self {
        Self {
            runs: runs.into(),
            host: std::net::Ipv4Addr::LOCALHOST.into(),
            port: 2048,
            names: Vec::new(),
            models: Vec::new(),
        }
    }
}

/// The page and the API, behind the guard.
pub fn router(app: &AppState) -> Router {
    let routes = api::routes().merge(page::routes());
    let routes = routes.fallback(guard::not_found);
    let routes = routes.method_not_allowed_fallback(guard::other_method);
    routes
        .layer(axum::middleware::from_fn_with_state(
            app.clone(),
            guard::guard,
        ))
        .with_state(app.clone())
}
