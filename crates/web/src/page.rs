//! The files of the page, which are inside the binary.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::LazyLock;

use axum::Router;
use axum::extract::Path;
use axum::http::HeaderMap;
use axum::http::StatusCode;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, IF_NONE_MATCH};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use sha2::{Digest, Sha256};

use crate::error::Problem;
use crate::state::AppState;

/// Lists the files of the folder `page`.
macro_rules! files {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_bytes!(concat!("../page/", $name)))),*]
    };
}

static FILES: &[(&str, &[u8])] = files![
    "index.html",
    "icon.svg",
    "main.js",
    "dom.js",
    "api.js",
    "board.js",
    "play.js",
    "session.js",
    "advice.js",
    "autoplay.js",
    "swipe.js",
    "by-hand.js",
    "values.js",
    "keys.js",
    "settings.js",
    "analyse.js",
    "board-input.js",
    "deepen.js",
    "drop.js",
    "every-move.js",
    "review.js",
    "chances.js",
    "link.js",
    "inside.js",
    "lesson.js",
    "lesson-form.js",
    "successors.js",
    "backup.js",
    "train.js",
    "run-detail.js",
    "recipe-form.js",
    "live.js",
    "models.js",
    "sweeps.js",
    "judge.js",
    "chart.js",
    "chart-keys.js",
    "chart-pointer.js",
    "chart-save.js",
    "table.js",
    "format.js",
];

/// The styles, in the order of their rules: they are sent as one file.
static STYLES: &[(&str, &[u8])] = files![
    "base.css",
    "controls.css",
    "board.css",
    "chart.css",
    "play.css",
    "analyse.css",
    "train.css",
    "inside.css",
];

/// The name of all styles together.
const STYLE: &str = "style.css";

/// Every file under the name by which it is asked for, with its tag.
static ASSETS: LazyLock<HashMap<&str, Asset>> = LazyLock::new(|| {
    let styles: Vec<u8> = STYLES
        .iter()
        .flat_map(|(_, text)| text.iter().copied())
        .collect();
    let files = FILES
        .iter()
        .map(|&(name, content)| (name, Cow::Borrowed(content)));
    let files = files.chain([(STYLE, Cow::Owned(styles))]);
    files
        .map(|(name, content)| (name, Asset::new(content)))
        .collect()
});

struct Asset {
    content: Cow<'static, [u8]>,
    tag: String,
}

impl Asset {
    fn new(content: Cow<'static, [u8]>) -> Self {
        let digest = Sha256::digest(&content);
        let digits = digest[..8].iter().map(|byte| format!("{byte:02x}"));
        let tag = format!("\"{}\"", digits.collect::<String>());
        Self { content, tag }
    }
}

/// The routes of the page. Its parts are shown by the script, so each has the same document.
pub fn routes() -> Router<AppState> {
    let document = |headers: HeaderMap| async move { file("index.html", &headers) };
    let mut routes = Router::new().route("/", get(document));
    for part in ["/play", "/analyse", "/inside", "/train", "/judge"] {
        routes = routes.route(part, get(document));
    }
    routes.route(
        "/assets/{name}",
        get(|Path(name): Path<String>, headers: HeaderMap| async move { file(&name, &headers) }),
    )
}

fn file(name: &str, headers: &HeaderMap) -> Response {
    let Some(asset) = ASSETS.get(name) else {
        return Problem::missing("the page has no such file").into_response();
    };
    let content_type = match name.rsplit_once('.') {
        Some((_, "html")) => "text/html; charset=utf-8",
        Some((_, "css")) => "text/css; charset=utf-8",
        Some((_, "js")) => "text/javascript; charset=utf-8",
        _ => "image/svg+xml",
    };
    let known = headers.get(IF_NONE_MATCH).and_then(|it| it.to_str().ok());
    // The browser asks each time, so that a new binary has a new page at once.
    let headers = [
        (CONTENT_TYPE, content_type.to_owned()),
        (CACHE_CONTROL, "no-cache".to_owned()),
        (ETAG, asset.tag.clone()),
    ];
    match known == Some(&*asset.tag) {
        true => (StatusCode::NOT_MODIFIED, headers).into_response(),
        false => (headers, &*asset.content).into_response(),
    }
}

/// The size of all files together, in bytes.
pub fn page_bytes() -> usize {
    ASSETS.values().map(|asset| asset.content.len()).sum()
}
