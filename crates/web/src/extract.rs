//! Bodies of requests: JSON and text, with errors as the API answers them.

use axum::Json;
use axum::extract::rejection::{BytesRejection, JsonRejection};
use axum::extract::{FromRequest, Request};
use axum::http::{Method, StatusCode};
use serde::de::DeserializeOwned;

use crate::error::Problem;

/// The most bytes of a JSON body: a record of a long game.
pub const LONGEST_JSON: usize = 4 << 20;
/// The most bytes of a file of records.
pub const LONGEST_RECORDS: usize = 64 << 20;

/// A body of JSON.
pub struct Body<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Body<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        match Json::<T>::from_request(request, state).await {
            Ok(Json(body)) => Ok(Self(body)),
            Err(rejection) => Err(rejected(&rejection)),
        }
    }
}

fn rejected(rejection: &JsonRejection) -> Problem {
    match rejection.status() {
        StatusCode::PAYLOAD_TOO_LARGE => too_large(LONGEST_JSON),
        StatusCode::UNSUPPORTED_MEDIA_TYPE => Problem::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "input",
            "the body is not declared as JSON; send `Content-Type: application/json`",
        ),
        _ => Problem::input(rejection.body_text()),
    }
}

/// A body of text: a file of records.
pub struct Records(pub Vec<u8>);

impl<S: Send + Sync> FromRequest<S> for Records {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let is_post = request.method() == Method::POST;
        let bytes = axum::body::Bytes::from_request(request, state).await;
        match bytes {
            Ok(bytes) if is_post => Ok(Self(bytes.into())),
            Err(BytesRejection::FailedToBufferBody(error))
                if error.status() == StatusCode::PAYLOAD_TOO_LARGE =>
            {
                Err(too_large(LONGEST_RECORDS))
            }
            _ => Err(Problem::input("the body ended too early")),
        }
    }
}

fn too_large(most: usize) -> Problem {
    Problem::new(
        StatusCode::PAYLOAD_TOO_LARGE,
        "too-large",
        format!("the body is too large; at most {} MiB are read", most >> 20),
    )
}
