//! The API: one file for each part of the page.

pub mod analyze;
pub mod events;
pub mod games;
pub mod inside;
pub mod judge;
pub mod meta;
pub mod runs;
pub mod schemas;
pub mod sweeps;

use afterstate::game::{Direction, Shape};
use afterstate_lab::games as registry;
use afterstate_lab::recipe::parse_board;
use axum::Router;
use axum::routing::{delete, get, post};

use crate::error::Problem;
use crate::state::AppState;

/// All routes of the API.
pub fn routes() -> Router<AppState> {
    Router::new()
        .route("/api/v1/review", post(analyze::review))
        .route("/api/v1/judge", post(judge::judge))
        .route("/api/v1/meta", get(meta::meta))
        .route("/api/v1/models", get(meta::models))
        .route("/api/v1/openapi.json", get(meta::openapi))
        .route("/api/v1/events", get(events::events))
        .route("/api/v1/games", post(games::create))
        .route("/api/v1/games/{id}", get(games::show))
        .route("/api/v1/games/{id}", delete(games::remove))
        .route("/api/v1/games/{id}/slide", post(games::slide))
        .route("/api/v1/games/{id}/spawn", post(games::spawn))
        .route("/api/v1/games/{id}/undo", post(games::undo))
        .route("/api/v1/games/{id}/redo", post(games::redo))
        .route("/api/v1/games/{id}/auto", post(games::auto))
        .route("/api/v1/games/{id}/record", get(games::record))
        .route("/api/v1/position", post(analyze::position))
        .route("/api/v1/analyze", post(analyze::analyze))
        .route("/api/v1/chance", post(analyze::chance))
        .route("/api/v1/explain", post(inside::explain))
        .route("/api/v1/lesson", post(inside::lesson))
        .route("/api/v1/recipes", get(runs::recipes))
        .route("/api/v1/recipes/{name}/form", post(runs::form))
        .route("/api/v1/runs", get(runs::list).post(runs::start))
        .route("/api/v1/run", get(runs::show))
        .route("/api/v1/run/blocks", get(runs::blocks))
        .route("/api/v1/run/stop", post(runs::stop))
        .route("/api/v1/run/resume", post(runs::resume))
        .route("/api/v1/run/file", get(runs::file::file))
        .route("/api/v1/sweeps", get(sweeps::list))
        .route("/api/v1/sweep/curves", get(sweeps::curves))
}

/// The shape of a board such as `4x4`.
fn shape_of(board: &str) -> Result<Shape, Problem> {
    let (rows, cols) = parse_board(board)?;
    Ok(registry::shape(rows, cols)?)
}

/// The direction of this name.
fn direction_of(name: &str) -> Result<Direction, Problem> {
    let mut all = Direction::ALL.into_iter();
    all.find(|direction| direction.name() == name)
        .ok_or_else(|| {
            let found: String = name.chars().take(20).collect();
            Problem::input(format!(
                "`{found}` is no direction; expected up, right, down or left"
            ))
        })
}

fn default_game() -> String {
    registry::DEFAULT_GAME.to_owned()
}

fn default_board() -> String {
    "4x4".to_owned()
}
