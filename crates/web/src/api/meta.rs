//! What there is: games, models, and the description of the API.

use afterstate_lab::games;
use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::shape_of;
use crate::error::{Answer, Problem};
use crate::models::ModelView;
use crate::state::AppState;

/// The program and its games.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct ProgramInfo {
    /// The version of the program.
    pub version: String,
    /// Whether deep networks are part of this program.
    pub deep: bool,
    /// The games.
    pub games: Vec<GameInfo>,
    /// The smallest and the largest number of rows and columns.
    pub sides: [usize; 2],
}

/// A game.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct GameInfo {
    /// Its name.
    pub name: String,
    /// The values of the tiles on a board of 4x4, in ascending order.
    pub tiles: Vec<u64>,
    /// Whether it shows the next tile.
    pub hint: bool,
    /// The tiles that may spawn most often, by value.
    pub spawns: Vec<u64>,
}

/// The program and its games.
#[utoipa::path(get, path = "/api/v1/meta", tag = "about",
    responses((status = 200, body = ProgramInfo), (status = 403, body = Problem)))]
pub async fn meta() -> Answer<ProgramInfo> {
    let four = shape_of("4x4")?;
    let mut all = Vec::new();
    for name in games::games() {
        let rules = games::rules(name)?;
        let mut spawns = Vec::new();
        for tile in 1..=3 {
            let is_spawned = rules.uniform_spawns().map_or(tile <= 3, |spawns| {
                spawns.iter().any(|(spawned, _)| *spawned == tile)
            });
            spawns.extend(is_spawned.then(|| rules.tile_value(tile)));
        }
        all.push(GameInfo {
            name: name.to_owned(),
            tiles: games::tile_values(name, four)?,
            hint: rules.shows_hint(four),
            spawns,
        });
    }
    Ok(Json(ProgramInfo {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        deep: cfg!(feature = "deep"),
        games: all,
        sides: [2, 5],
    }))
}

/// The models that can be named: runs, runs under training, and baselines.
#[utoipa::path(get, path = "/api/v1/models", tag = "about",
    responses((status = 200, body = Vec<ModelView>), (status = 403, body = Problem)))]
pub async fn models(State(app): State<AppState>) -> Answer<Vec<ModelView>> {
    let shared = app.clone();
    let list = app.quick.run(move |_| Ok(shared.models.list()));
    Ok(Json(list.await?))
}

/// This description.
#[utoipa::path(get, path = "/api/v1/openapi.json", tag = "about",
    responses((status = 200, description = "The description of the API in OpenAPI 3.1", body = Object)))]
pub async fn openapi() -> Json<utoipa::openapi::OpenApi> {
    Json(crate::document())
}
