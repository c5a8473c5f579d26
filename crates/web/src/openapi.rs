//! The description of the API, from the handlers.

use utoipa::OpenApi;

use crate::api::{analyze, events, games, inside, judge, meta, runs};

/// The description of all routes.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "Afterstate",
        description = "Plays, analyses, explains, trains and judges players of 2048-like games. \
            Everything that the page does is a request of this API."
    ),
    paths(
        meta::meta,
        meta::models,
        meta::openapi,
        events::events,
        games::create,
        games::show,
        games::remove,
        games::slide,
        games::spawn,
        games::undo,
        games::redo,
        games::auto,
        games::record,
        analyze::position,
        analyze::analyze,
        analyze::review,
        inside::explain,
        inside::lesson,
        runs::recipes,
        runs::form,
        runs::list,
        runs::start,
        runs::show,
        runs::blocks,
        runs::file,
        runs::stop,
        runs::resume,
        judge::judge,
    ),
    tags(
        (name = "about", description = "Games, models and this description"),
        (name = "play", description = "Games in progress"),
        (name = "analyse", description = "Boards and recorded games"),
        (name = "inside", description = "How a player thinks and learns"),
        (name = "train", description = "Recipes and runs"),
        (name = "judge", description = "Verifying records"),
    )
)]
struct Document;

/// The description of the API in OpenAPI 3.1.
pub fn document() -> utoipa::openapi::OpenApi {
    Document::openapi()
}
