//! Errors: of the server, and as the API answers them.

use std::io;
use std::path::PathBuf;

use afterstate_lab::{ErrorClass, LabError};
use axum::Json;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use thiserror::Error;
use utoipa::ToSchema;

/// Why the app cannot be served.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ServeError {
    /// Another process serves the same folder.
    #[error("another process serves the runs in {}{}", folder.display(), at(address))]
    Served {
        /// The folder.
        folder: PathBuf,
        /// Its address, if it is known.
        address: Option<String>,
    },
    /// The folder of runs cannot be used.
    #[error("cannot use the folder {}: {source}", folder.display())]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// The address cannot be listened on.
    #[error("cannot listen on {address}: {source}")]
    Address {
        /// The address.
        address: std::net::SocketAddr,
        /// The reason.
        source: io::Error,
    },
    /// A model that was named cannot be opened.
    #[error(transparent)]
    Model(LabError),
    /// The system gives no random numbers.
    #[error("the system gives no random numbers: {0}")]
    Random(String),
}

fn at(address: &Option<String>) -> String {
    let address = address.as_ref();
    address.map_or_else(String::new, |address| format!(", at {address}"))
}

/// An error as the API answers it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Problem {
    /// The status of the answer.
    #[serde(skip)]
    pub status: u16,
    /// A word for programs.
    pub error: String,
    /// A sentence for people: what was found, what was expected, what to do.
    pub message: String,
}

impl Problem {
    /// A problem with this status.
    pub fn new(status: StatusCode, error: &str, message: impl Into<String>) -> Self {
        Self {
            status: status.as_u16(),
            error: error.to_owned(),
            message: message.into(),
        }
    }

    /// Input that cannot be used.
    pub fn input(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "input", message)
    }

    /// Something that does not exist.
    pub fn missing(message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "missing", message)
    }

    /// What the present state does not allow.
    pub fn conflict(message: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, "conflict", message)
    }

    /// The server ends.
    pub fn ending() -> Self {
        Self::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "ending",
            "the server is ending",
        )
    }

    /// An error of the program.
    pub fn program(message: impl Into<String>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "panic", message)
    }

    /// Too much work at once.
    pub fn busy(message: impl Into<String>) -> Self {
        Self::new(StatusCode::TOO_MANY_REQUESTS, "busy", message)
    }
}

impl From<LabError> for Problem {
    fn from(error: LabError) -> Self {
        let status = match (&error, error.class()) {
            (LabError::NoModel { .. }, _) => StatusCode::NOT_FOUND,
            (_, ErrorClass::System) => StatusCode::SERVICE_UNAVAILABLE,
            (_, ErrorClass::Diverged) => StatusCode::CONFLICT,
            _ => StatusCode::BAD_REQUEST,
        };
        let word = match &error {
            LabError::NoModel { .. } => "no-model",
            LabError::Locked(_) => "in-use",
            _ if status == StatusCode::SERVICE_UNAVAILABLE => "system",
            _ => "input",
        };
        Self::new(status, word, error.to_string())
    }
}

impl From<afterstate_lab::recipe::RecipeError> for Problem {
    fn from(error: afterstate_lab::recipe::RecipeError) -> Self {
        Self::input(error.to_string())
    }
}

impl From<afterstate_lab::error::RecordError> for Problem {
    fn from(error: afterstate_lab::error::RecordError) -> Self {
        Self::input(error.to_string())
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status);
        let status = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        (status, Json(self)).into_response()
    }
}

/// A long answer, which its job has written as JSON: no thread of a connection does, and no copy of it
/// is made.
pub struct JsonText(Vec<u8>);

impl JsonText {
    /// The JSON of a value.
    pub fn of(value: &impl Serialize) -> Result<Self, Problem> {
        let text = serde_json::to_vec(value);
        text.map(Self)
            .map_err(|error| Problem::program(error.to_string()))
    }
}

impl IntoResponse for JsonText {
    fn into_response(self) -> Response {
        ([(CONTENT_TYPE, "application/json")], self.0).into_response()
    }
}

/// The answer of a handler.
pub type Answer<T> = Result<Json<T>, Problem>;
