//! Checks of each request, and the headers of every answer.
//!
//! A page of another site can send requests to this machine, and its name can be made to mean this
//! machine (DNS rebinding). So a request must name this server in `Host`, must come from our own
//! page by `Origin` and `Sec-Fetch-Site` where a browser sends them, and needs the token where the
//! server can be reached from other machines. Links on other sites may open the page.

use std::net::IpAddr;
use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::header::{
    ACCEPT, AUTHORIZATION, CACHE_CONTROL, CONTENT_SECURITY_POLICY, COOKIE, HOST, HeaderName,
    HeaderValue, LOCATION, ORIGIN, REFERRER_POLICY, SET_COOKIE, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{Html, IntoResponse, Response};

use crate::error::Problem;
use crate::state::AppState;

/// The longest time of a request, apart from streams.
const LONGEST: Duration = Duration::from_secs(120);
/// The stream of events, which has no end.
const EVENTS: &str = "/api/v1/events";
/// The longest path with its query.
const LONGEST_PATH: usize = 8192;
/// The name of the cookie with the token.
const TOKEN: &str = "afterstate_token";

const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
     img-src 'self' data: blob:; connect-src 'self'; manifest-src 'self'; base-uri 'none'; \
     form-action 'none'; frame-ancestors 'none'";

/// Checks a request, and adds headers to its answer.
pub async fn guard(State(app): State<AppState>, request: Request, next: Next) -> Response {
    let is_api = request.uri().path().starts_with("/api/");
    let is_stream = request.uri().path() == EVENTS;
    let mut answer = match check(&app, &request) {
        Err(answer) => *answer,
        Ok(()) if is_stream => next.run(request).await,
        Ok(()) => match tokio::time::timeout(LONGEST, next.run(request)).await {
            Ok(answer) => answer,
            Err(_) => Problem::new(
                StatusCode::REQUEST_TIMEOUT,
                "timeout",
                format!("the request took longer than {} s", LONGEST.as_secs()),
            )
            .into_response(),
        },
    };
    let headers = answer.headers_mut();
    let mut set = |name: HeaderName, value: &'static str| {
        headers.insert(name, HeaderValue::from_static(value));
    };
    set(CONTENT_SECURITY_POLICY, POLICY);
    set(X_CONTENT_TYPE_OPTIONS, "nosniff");
    set(REFERRER_POLICY, "no-referrer");
    set(
        HeaderName::from_static("cross-origin-resource-policy"),
        "same-origin",
    );
    set(
        HeaderName::from_static("cross-origin-opener-policy"),
        "same-origin",
    );
    if is_api {
        set(CACHE_CONTROL, "no-store");
    }
    answer
}

/// The answer to a path that does not exist: for people in a browser, or for programs.
pub async fn not_found(headers: HeaderMap) -> Response {
    let accepted = headers.get(ACCEPT).and_then(|it| it.to_str().ok());
    if accepted.is_some_and(|accepted| accepted.contains("text/html")) {
        let page = "<!doctype html><html lang=\"en\"><title>Afterstate</title><h1>There is \
                    nothing here</h1><p><a href=\"/\">To the app</a></p></html>";
        return (StatusCode::NOT_FOUND, Html(page)).into_response();
    }
    let message = "there is nothing here; the API is described at /api/v1/openapi.json";
    Problem::missing(message).into_response()
}

/// The answer to a method that a path does not have.
pub async fn other_method() -> Problem {
    let message = "this path does not answer this method; see /api/v1/openapi.json";
    Problem::new(StatusCode::METHOD_NOT_ALLOWED, "method", message)
}

fn check(app: &AppState, request: &Request) -> Result<(), Box<Response>> {
    let forbidden = |message: &str| {
        let problem = Problem::new(StatusCode::FORBIDDEN, "forbidden", message);
        Box::new(problem.into_response())
    };
    if request.uri().to_string().len() > LONGEST_PATH {
        let problem = Problem::new(StatusCode::URI_TOO_LONG, "input", "the path is too long");
        return Err(Box::new(problem.into_response()));
    }
    let headers = request.headers();
    let text = |name: HeaderName| headers.get(name).and_then(|it| it.to_str().ok());
    // Two names, or another one in the address itself, could mean two servers.
    let is_one = headers.get_all(HOST).iter().count() == 1;
    let authority = request.uri().authority();
    let is_own = authority.is_none_or(|it| app.is_named(it.as_str()));
    let host = text(HOST).filter(|host| is_one && is_own && app.is_named(host));
    let Some(host) = host else {
        return Err(forbidden(
            "the Host of the request is not a name of this server; open it as http://127.0.0.1, \
             http://localhost, or allow a name with `--name`",
        ));
    };
    if headers.contains_key(ORIGIN) && text(ORIGIN) != Some(&format!("http://{host}")) {
        return Err(forbidden("pages of other sites may not use this server"));
    }
    let site = text(HeaderName::from_static("sec-fetch-site"));
    let mode = text(HeaderName::from_static("sec-fetch-mode"));
    let is_link = mode == Some("navigate")
        && request.method() == Method::GET
        && !request.uri().path().starts_with("/api/");
    if !matches!(site, None | Some("same-origin" | "none")) && !is_link {
        return Err(forbidden("pages of other sites may not use this server"));
    }
    match &app.token() {
        Some(token) => check_token(token, request),
        None => Ok(()),
    }
}

/// Demands the token. The link that `serve` prints has it, and makes a cookie of it.
fn check_token(token: &str, request: &Request) -> Result<(), Box<Response>> {
    let query = request.uri().query().unwrap_or_default();
    let asked = query.split('&').find_map(|it| it.strip_prefix("token="));
    if request.uri().path() == "/" && asked.is_some_and(|asked| is_same(asked, token)) {
        let cookie = format!("{TOKEN}={token}; HttpOnly; SameSite=Strict; Path=/");
        let headers = [(LOCATION, "/".to_owned()), (SET_COOKIE, cookie)];
        return Err(Box::new((StatusCode::SEE_OTHER, headers).into_response()));
    }
    if tokens_of(request.headers()).any(|given| is_same(given, token)) {
        return Ok(());
    }
    let problem = Problem::new(
        StatusCode::UNAUTHORIZED,
        "token",
        "the token is missing or wrong; open the link that `afterstate serve` has printed, or send \
         `Authorization: Bearer TOKEN`",
    );
    Err(Box::new(problem.into_response()))
}

/// The tokens of a request.
fn tokens_of(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    let bearer = headers.get(AUTHORIZATION).and_then(|it| it.to_str().ok());
    let bearer = bearer.and_then(|it| it.strip_prefix("Bearer "));
    let cookies = headers.get_all(COOKIE).iter();
    let cookies = cookies.filter_map(|it| it.to_str().ok());
    let cookies = cookies.flat_map(|all| all.split(';'));
    let cookies = cookies.filter_map(|one| one.trim().strip_prefix(TOKEN)?.strip_prefix('='));
    bearer.into_iter().chain(cookies)
}

/// Whether two texts are equal, in a time that depends only on their lengths.
fn is_same(a: &str, b: &str) -> bool {
    let differences = a.bytes().zip(b.bytes()).map(|(a, b)| a ^ b);
    a.len() == b.len() && differences.fold(0, |all, one| all | one) == 0
}

/// The host of an authority, without its port.
pub fn without_port(authority: &str) -> &str {
    match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|digit| digit.is_ascii_digit()) => host,
        _ => authority,
    }
}

/// The address that a host is, if it is one: rebinding needs a name.
pub fn address_of(host: &str) -> Option<IpAddr> {
    let bare = host.strip_prefix('[').and_then(|it| it.strip_suffix(']'));
    bare.unwrap_or(host).parse().ok()
}
