//! Judging files of records.

use std::io::Cursor;
use std::path::Path;

use afterstate_lab::control::Control;
use afterstate_lab::records::{JudgeOptions, judge_stream};
use axum::extract::State;
use serde::{Deserialize, Serialize};
use utoipa::IntoParams;

use super::schemas::JudgementView;
use super::shape_of;
use crate::error::{JsonText, Problem};
use crate::extract::{QueryOf, RecordsBody};
use crate::state::AppState;

/// What is required of a file.
#[derive(Debug, Default, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub struct JudgeQuery {
    /// The game; by default the one whose rules the records follow.
    pub game: Option<String>,
    /// The board.
    pub board: Option<String>,
    /// The number of games that are required.
    pub games: Option<u64>,
    /// The number of moves per second that is required.
    pub min_speed: Option<f64>,
}

/// Verifies that recorded games follow the rules. The body is the text of records.
#[utoipa::path(post, path = "/api/v1/judge", tag = "judge", params(JudgeQuery),
    request_body(content = String, content_type = "text/plain"),
    responses((status = 200, body = JudgementView, description = "The report, as `afterstate judge --json` prints it"),
        (status = 400, body = Problem), (status = 403, body = Problem), (status = 408, body = Problem),
        (status = 413, body = Problem), (status = 429, body = Problem)))]
pub async fn judge(
    State(app): State<AppState>,
    QueryOf(query): QueryOf<JudgeQuery>,
    RecordsBody(text, places): RecordsBody,
) -> Result<JsonText, Problem> {
    let shape = query.board.as_deref().map(shape_of).transpose()?;
    app.heavy
        .run(move |token| {
            let _places = places;
            let control = Control::new().with_cancel(token);
            let options = JudgeOptions {
                game: query.game.as_deref().filter(|game| !game.is_empty()),
                shape,
                games: query.games,
                min_speed: query.min_speed,
                ..JudgeOptions::new(Path::new("records"), &control)
            };
            let report = judge_stream(&options, Cursor::new(text))?;
            JsonText::of(&report)
        })
        .await
}
