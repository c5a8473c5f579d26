//! Bodies of requests: JSON and text, with errors as the API answers them.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{FromRequest, FromRequestParts, Query, Request};
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode};
use serde::de::DeserializeOwned;
use tokio::sync::OwnedSemaphorePermit;

use crate::error::Problem;
use crate::state::App;

/// The most bytes of a JSON body: a record of a long game.
pub const LONGEST_JSON: usize = 4 << 20;
/// The most bytes of a file of records.
pub const LONGEST_RECORDS: usize = 64 << 20;

/// Bodies up to this size need no place: that of a usual request.
const SMALL: usize = 64 << 10;
/// The MiB of larger bodies that are in memory at a time; further ones wait.
pub const BODIES: usize = 256;
/// How long a client may take to send a body.
const LONGEST_SENDING: Duration = Duration::from_secs(60);

/// A place for a body of the length that its client declares, or else of the most that is read.
async fn place(
    app: &App,
    headers: &HeaderMap,
    most: usize,
) -> Result<Option<OwnedSemaphorePermit>, Problem> {
    let length = headers.get(CONTENT_LENGTH);
    let length = length.and_then(|length| length.to_str().ok()?.parse().ok());
    let length: usize = length.unwrap_or(most).min(most);
    if length <= SMALL {
        return Ok(None);
    }
    let places = Arc::clone(&app.bodies).acquire_many_owned(length.div_ceil(1 << 20) as u32);
    let place = places.await;
    Ok(Some(place.map_err(|_| Problem::ending())?))
}

/// Reads a body within a time.
async fn sent<T>(reading: impl Future<Output = T>) -> Result<T, Problem> {
    let read = tokio::time::timeout(LONGEST_SENDING, reading).await;
    read.map_err(|_| {
        let longest = LONGEST_SENDING.as_secs();
        let message = format!("the body was not sent within {longest} s");
        Problem::new(StatusCode::REQUEST_TIMEOUT, "timeout", message)
    })
}

/// A body of JSON.
pub struct Body<T>(pub T);

impl<T: DeserializeOwned> FromRequest<App> for Body<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, app: &App) -> Result<Self, Problem> {
        if !is_json(request.headers()) {
            return Err(Problem::new(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "input",
                "the body is not declared as JSON; send `Content-Type: application/json`",
            ));
        }
        let (bytes, _place) = read(request, app, LONGEST_JSON).await?;
        // Serde takes an array for the fields of an object in their order.
        if !bytes.trim_ascii_start().starts_with(b"{") {
            return Err(Problem::input(
                "expected a JSON object, as in {\"key\": \"value\"}",
            ));
        }
        match Json::<T>::from_bytes(&bytes) {
            Ok(Json(body)) => Ok(Self(body)),
            Err(rejection) => Err(Problem::input(rejection.body_text())),
        }
    }
}

/// Whether a body is declared as JSON. A page of another site cannot send such a body unasked.
fn is_json(headers: &HeaderMap) -> bool {
    let declared = headers.get(CONTENT_TYPE).and_then(|it| it.to_str().ok());
    let kind = declared.and_then(|it| it.split(';').next());
    kind.is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json"))
}

/// A body, with its place in memory.
async fn read(
    request: Request,
    app: &App,
    most: usize,
) -> Result<(Bytes, Option<OwnedSemaphorePermit>), Problem> {
    let place = place(app, request.headers(), most).await?;
    match sent(Bytes::from_request(request, app)).await? {
        Ok(bytes) => Ok((bytes, place)),
        Err(BytesRejection::FailedToBufferBody(error))
            if error.status() == StatusCode::PAYLOAD_TOO_LARGE =>
        {
            Err(Problem::new(
                StatusCode::PAYLOAD_TOO_LARGE,
                "too-large",
                format!("the body is too large; at most {} MiB are read", most >> 20),
            ))
        }
        _ => Err(Problem::input("the body ended too early")),
    }
}

/// What stands behind the `?` of an address.
pub struct Asked<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Asked<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        match Query::<T>::from_request_parts(parts, state).await {
            Ok(Query(asked)) => Ok(Self(asked)),
            Err(rejection) => Err(Problem::input(rejection.body_text())),
        }
    }
}

/// A body of text: a file of records, with its place in memory.
pub struct Records(pub Vec<u8>, pub Option<OwnedSemaphorePermit>);

impl FromRequest<App> for Records {
    type Rejection = Problem;

    async fn from_request(request: Request, app: &App) -> Result<Self, Problem> {
        let (bytes, place) = read(request, app, LONGEST_RECORDS).await?;
        Ok(Self(bytes.into(), place))
    }
}
