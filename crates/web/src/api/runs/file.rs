//! Files of runs, to download.

use std::fs::File;
use std::io::{self, Read, Take};

use afterstate_lab::run::model_of;
use axum::body::Body as HttpBody;
use axum::extract::State;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_LENGTH, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc::Sender;
use tokio_stream::wrappers::ReceiverStream;
use utoipa::IntoParams;

use crate::error::Problem;
use crate::extract::QueryOf;
use crate::state::AppState;

/// The bytes of a file that are sent at once.
const PIECE: usize = 1 << 16;

/// A file of a run.
#[derive(Clone, Debug, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct FileQuery {
    /// The name of the run, as in the list.
    #[param(example = "quick")]
    pub id: String,
    /// `model`, `recipe` or `blocks`.
    #[param(example = "recipe")]
    pub file: String,
}

/// A file of a run, to download.
#[utoipa::path(get, path = "/api/v1/run/file", tag = "train", params(FileQuery),
    responses((status = 200, content((String = "application/octet-stream"), (String = "text/csv"), (String = "text/plain"))), (status = 400, body = Problem),
        (status = 403, body = Problem), (status = 404, body = Problem)))]
pub async fn file(
    State(app): State<AppState>,
    QueryOf(query): QueryOf<FileQuery>,
) -> Result<Response, Problem> {
    let shared = app.clone();
    let wanted = query.file.clone();
    let (file, length, name) = app
        .quick
        .run(move |_| {
            let run = shared.models.run(&query.id)?;
            let path = match query.file.as_str() {
                "model" => model_of(&run.path)?,
                "recipe" => run.path.join("recipe.toml"),
                "blocks" => run.path.join("blocks.csv"),
                _ => {
                    let message = "there is no such file; expected model, recipe or blocks";
                    return Err(Problem::missing(message));
                }
            };
            let file = File::open(&path);
            let missing = |_| Problem::missing("the run does not have this file yet");
            let file = file.map_err(missing)?;
            let length = file.metadata().map_err(missing)?.len();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            Ok((file, length, name.into_owned()))
        })
        .await?;
    let (sender, receiver) = tokio::sync::mpsc::channel(1);
    // A file that grows is sent as far as it went.
    tokio::spawn(send(file.take(length), sender));
    let content_type = match wanted.as_str() {
        "model" => "application/octet-stream",
        "blocks" => "text/csv",
        _ => "text/plain; charset=utf-8",
    };
    let headers = [
        (CONTENT_TYPE, content_type.to_owned()),
        (CONTENT_LENGTH, length.to_string()),
        (
            CONTENT_DISPOSITION,
            format!("attachment; filename=\"{name}\""),
        ),
    ];
    let body = HttpBody::from_stream(ReceiverStream::new(receiver));
    Ok((headers, body).into_response())
}

/// Sends a file in pieces. A thread reads a piece when there is room for it: none waits for a client.
async fn send(mut file: Take<File>, sender: Sender<io::Result<Vec<u8>>>) {
    loop {
        let read = tokio::task::spawn_blocking(move || {
            let mut piece = vec![0; PIECE];
            let length = file.read(&mut piece);
            let piece = length.map(|length| {
                piece.truncate(length);
                piece
            });
            (file, piece)
        });
        let Ok((rest, piece)) = read.await else {
            return;
        };
        file = rest;
        let is_last = piece.as_ref().map_or(true, Vec::is_empty);
        if sender.send(piece).await.is_err() || is_last {
            return;
        }
    }
}
