//! The API and the guard, without a browser: requests go to the router directly.

mod described;
mod games;
mod guard;
mod inside;
mod runs;
mod schema;
mod sweeps;
mod work;

use std::path::Path;

use afterstate_lab::control::Control;
use afterstate_lab::recipe::Recipe;
use afterstate_lab::trainer::Trainer;
use afterstate_web::{AppState, Config, router};
use axum::body::Body;
use axum::http::{Request, StatusCode};
use http_body_util::BodyExt;
use serde_json::Value;
use tempfile::TempDir;
use tower::ServiceExt;

/// An app on a folder of its own.
pub(crate) struct Site {
    pub(crate) folder: TempDir,
    pub(crate) app: AppState,
}

impl Site {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let app = AppState::new(&Config::new(folder.path())).unwrap();
        Self { folder, app }
    }

    /// With a small trained model of 2048 on 2x3, the run `small`.
    pub(crate) fn trained() -> Self {
        let site = Self::new();
        train(&site.folder.path().join("small"));
        site
    }

    pub(crate) async fn send(&self, request: Request<Body>) -> (StatusCode, Vec<u8>) {
        let answer = router(&self.app).oneshot(request).await.unwrap();
        let status = answer.status();
        let body = answer.into_body().collect().await.unwrap();
        (status, body.to_bytes().to_vec())
    }

    pub(crate) async fn json(&self, request: Request<Body>) -> (StatusCode, Value) {
        let (status, body) = self.send(request).await;
        let json = serde_json::from_slice(&body);
        (status, json.unwrap_or(Value::Null))
    }

    pub(crate) async fn get(&self, path: &str) -> (StatusCode, Value) {
        self.json(request("GET", path).body(Body::empty()).unwrap())
            .await
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> (StatusCode, Value) {
        let request = request("POST", path).header("Content-Type", "application/json");
        self.json(request.body(body.to_string().into()).unwrap())
            .await
    }

    /// The answer to a request that succeeds.
    pub(crate) async fn ok(&self, path: &str, body: Value) -> Value {
        let (status, answer) = self.post(path, body).await;
        assert_eq!(status, 200, "{path}: {answer}");
        answer
    }

    /// The message about a request that is refused with this status.
    pub(crate) async fn refused(&self, status: u16, path: &str, body: Value) -> String {
        let (found, answer) = self.post(path, body).await;
        assert_eq!(found, status, "{path}: {answer}");
        answer["message"].as_str().unwrap_or_default().to_owned()
    }
}

pub(crate) fn request(method: &str, path: &str) -> axum::http::request::Builder {
    Request::builder()
        .method(method)
        .uri(path)
        .header("Host", "127.0.0.1:2048")
}

/// Trains a small model.
pub(crate) fn train(folder: &Path) {
    let overrides = [
        "board=2x3",
        "tuples=012 0134",
        "episodes=300",
        "threads=1",
        "block_games=50",
    ];
    let overrides = overrides.map(str::to_owned);
    let recipe = Recipe::load("quick", &overrides).unwrap();
    let mut trainer = Trainer::new(recipe, folder, &Control::new()).unwrap();
    trainer.train().unwrap();
}
