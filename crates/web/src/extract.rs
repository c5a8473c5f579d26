//! Bodies of requests: JSON and text, with errors as the API answers them.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::body::HttpBody;
use axum::extract::{FromRequest, FromRequestParts, Query, Request};
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode};
use serde::de::DeserializeOwned;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Instant;
use tokio_stream::StreamExt;

use crate::error::Problem;
use crate::state::AppState;

/// The most bytes of a JSON body. One of this size needs no place.
const SMALL: usize = 64 << 10;
/// The most bytes of a JSON body with the record of a long game.
const LONGEST_GAME: usize = 4 << 20;
/// The most bytes of a file of records.
const LONGEST_RECORDS: usize = 64 << 20;
/// The MiB of larger bodies that are in memory at a time.
pub const BODIES: usize = 256;
/// How long a larger body waits for its place.
const LONGEST_WAIT: Duration = Duration::from_secs(5);
/// How long a client may take to send a body.
const LONGEST_SENDING: Duration = Duration::from_secs(60);
/// A larger body that brings fewer bytes in this time loses its place.
const PACE: (usize, Duration) = (256 << 10, Duration::from_secs(4));

/// MiB that a body takes of [`BODIES`]; none for a small one. They are free again when this is dropped.
pub type Places = Option<OwnedSemaphorePermit>;

/// A body that is being received. Places are taken for the bytes that have come, not for those that
/// the client declares: a client that declares much and sends nothing costs nothing.
struct Receiving {
    bytes: Vec<u8>,
    places: Places,
    /// When the present time of [`PACE`] began, and the bytes that had come then.
    since: (Instant, usize),
}

impl Receiving {
    /// Takes places for `length` bytes.
    async fn fit(&mut self, app: &AppState, length: usize) -> Result<(), Problem> {
        let held = self.places.as_ref().map_or(0, |it| it.num_permits());
        let missing = length.div_ceil(1 << 20).saturating_sub(held);
        if length <= SMALL || missing == 0 {
            return Ok(());
        }
        let places = Arc::clone(&app.bodies).acquire_many_owned(missing as u32);
        let places = tokio::time::timeout(LONGEST_WAIT, places).await;
        let places = places.map_err(|_| {
            Problem::busy("too many large bodies are sent at once; try again in a moment")
        })?;
        let places = places.map_err(|_| Problem::ending())?;
        match &mut self.places {
            Some(held) => held.merge(places),
            held => *held = Some(places),
        }
        self.since.0 = Instant::now();
        Ok(())
    }

    /// The time until which the next bytes must have come.
    fn until(&mut self, end: Instant) -> Instant {
        let (pace, time) = PACE;
        if self.bytes.len() >= self.since.1 + pace {
            self.since = (Instant::now(), self.bytes.len());
        }
        match self.places {
            Some(_) => end.min(self.since.0 + time),
            None => end,
        }
    }
}

fn too_large(most: usize) -> Problem {
    Problem::new(
        StatusCode::PAYLOAD_TOO_LARGE,
        "too-large",
        match most >> 20 {
            0 => format!("the body is too large; at most {} KiB are read", most >> 10),
            most => format!("the body is too large; at most {most} MiB are read"),
        },
    )
}

fn too_slow() -> Problem {
    let (pace, time) = PACE;
    let message = format!(
        "the body was not sent within {} s, or slower than {} KiB/s",
        LONGEST_SENDING.as_secs(),
        (pace >> 10) as u64 / time.as_secs()
    );
    Problem::new(StatusCode::REQUEST_TIMEOUT, "timeout", message)
}

/// A body of at most some bytes, with its places in memory.
async fn receive(
    request: Request,
    app: &AppState,
    most: usize,
) -> Result<(Vec<u8>, Places), Problem> {
    let declared = request.headers().get(CONTENT_LENGTH);
    let declared = declared.and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    if declared.is_some_and(|length| length > most as u64) {
        return Err(too_large(most));
    }
    let end = Instant::now() + LONGEST_SENDING;
    let mut body = Receiving {
        bytes: Vec::new(),
        places: None,
        since: (Instant::now(), 0),
    };
    let mut pieces = request.into_body().into_data_stream();
    loop {
        let next = tokio::time::timeout_at(body.until(end), pieces.next()).await;
        let Some(piece) = next.map_err(|_| too_slow())? else {
            return Ok((body.bytes, body.places));
        };
        let piece = piece.map_err(|_| Problem::input("the body ended too early"))?;
        let length = body.bytes.len() + piece.len();
        if length > most {
            return Err(too_large(most));
        }
        body.fit(app, length).await?;
        body.bytes.extend_from_slice(&piece);
    }
}

/// A body of JSON.
pub struct Body<T>(pub T);

impl<T: DeserializeOwned> FromRequest<AppState> for Body<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, app: &AppState) -> Result<Self, Problem> {
        receive_json(request, app, SMALL).await.map(|it| Self(it.0))
    }
}

/// A body of JSON that may have the record of a long game, with its places in memory.
pub struct LongBody<T>(pub T, pub Places);

impl<T: DeserializeOwned> FromRequest<AppState> for LongBody<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, app: &AppState) -> Result<Self, Problem> {
        let (body, places) = receive_json(request, app, LONGEST_GAME).await?;
        Ok(Self(body, places))
    }
}

async fn receive_json<T: DeserializeOwned>(
    request: Request,
    app: &AppState,
    most: usize,
) -> Result<(T, Places), Problem> {
    if !is_json(request.headers()) {
        return Err(Problem::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "input",
            "the body is not declared as JSON; send `Content-Type: application/json`",
        ));
    }
    let (bytes, places) = receive(request, app, most).await?;
    // Serde takes an array for the fields of an object in their order.
    if !bytes.trim_ascii_start().starts_with(b"{") {
        return Err(Problem::input(
            "expected a JSON object, as in {\"key\": \"value\"}",
        ));
    }
    match Json::<T>::from_bytes(&bytes) {
        Ok(Json(body)) => Ok((body, places)),
        Err(rejection) => Err(Problem::input(reason(&rejection.body_text()))),
    }
}

/// Whether a body is declared as JSON. A page of another site cannot send such a body unasked.
fn is_json(headers: &HeaderMap) -> bool {
    let declared = headers.get(CONTENT_TYPE).and_then(|it| it.to_str().ok());
    let kind = declared.and_then(|it| it.split(';').next());
    kind.is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json"))
}

/// What serde says about a body, without the words of its library.
fn reason(text: &str) -> String {
    match text.split_once("target type: ") {
        Some((_, reason)) => format!("the body does not fit: {reason}"),
        None => match text.split_once("as JSON: ") {
            Some((_, reason)) => format!("the body is not JSON: {reason}"),
            None => text.to_owned(),
        },
    }
}

/// A body of JSON that may be left out.
pub struct MaybeBody<T>(pub T);

impl<T: DeserializeOwned + Default> FromRequest<AppState> for MaybeBody<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, app: &AppState) -> Result<Self, Problem> {
        let is_empty = request.body().is_end_stream();
        match is_empty {
            true => Ok(Self(T::default())),
            false => Body::from_request(request, app).await.map(|it| Self(it.0)),
        }
    }
}

/// The query of an address: what stands behind its `?`.
pub struct QueryOf<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for QueryOf<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        match Query::<T>::from_request_parts(parts, state).await {
            Ok(Query(query)) => Ok(Self(query)),
            Err(rejection) => Err(Problem::input(rejection.body_text())),
        }
    }
}

/// A body of text: a file of records, with its places in memory, which the job that reads it holds.
pub struct RecordsBody(pub Vec<u8>, pub Places);

impl FromRequest<AppState> for RecordsBody {
    type Rejection = Problem;

    async fn from_request(request: Request, app: &AppState) -> Result<Self, Problem> {
        let (bytes, places) = receive(request, app, LONGEST_RECORDS).await?;
        Ok(Self(bytes, places))
    }
}
