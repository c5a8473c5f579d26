//! The description of the API, from the handlers.

use utoipa::openapi::content::ContentBuilder;
use utoipa::openapi::path::Operation;
use utoipa::openapi::response::ResponseBuilder;
use utoipa::openapi::{Ref, RefOr};
use utoipa::{Modify, OpenApi};

use crate::api::{analyze, events, games, inside, judge, meta, runs, sweeps};

/// The description of all routes.
#[derive(OpenApi)]
#[openapi(
    modifiers(&Errors),
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
        analyze::chance,
        analyze::review,
        inside::explain,
        inside::lesson,
        runs::recipes,
        runs::form,
        runs::list,
        runs::start,
        runs::show,
        runs::blocks,
        runs::file::file,
        runs::stop,
        runs::resume,
        sweeps::list,
        sweeps::curves,
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

/// Every request may be refused before its handler is called: for its headers, its token, its path, its
/// body, or the time that it takes.
struct Errors;

impl Modify for Errors {
    fn modify(&self, document: &mut utoipa::openapi::OpenApi) {
        let problem = Ref::from_schema_name("Problem");
        let content = ContentBuilder::new().schema(Some(problem)).build();
        let refused = ResponseBuilder::new()
            .description(
                "Any other error, with its reason: see the table of statuses in docs/api.md",
            )
            .content("application/json", content)
            .build();
        let add = |operation: &mut Operation| {
            let all = &mut operation.responses.responses;
            all.insert("default".to_owned(), RefOr::T(refused.clone()));
        };
        for path in document.paths.paths.values_mut() {
            let methods = [&mut path.get, &mut path.post, &mut path.delete];
            methods.into_iter().flatten().for_each(add);
        }
    }
}

/// The description of the API in OpenAPI 3.1.
pub fn document() -> utoipa::openapi::OpenApi {
    Document::openapi()
}
