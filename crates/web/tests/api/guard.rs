//! Hostile requests.

use std::net::Ipv4Addr;

use afterstate_web::{AppState, Config, page_bytes, router, start};
use axum::body::Body;
use serde_json::json;
use tower::ServiceExt;

use crate::{Site, request};

async fn status(site: &Site, headers: &[(&str, &str)], method: &str, path: &str) -> u16 {
    let mut request = axum::http::Request::builder().method(method).uri(path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let (status, _) = site.send(request.body(Body::empty()).unwrap()).await;
    status.as_u16()
}

#[tokio::test]
async fn only_names_of_this_server_are_answered() {
    let site = Site::new();
    for (host, expected) in [
        ("127.0.0.1:2048", 200),
        ("localhost:2048", 200),
        ("LOCALHOST", 200),
        ("[::1]:2048", 200),
        ("evil.example", 403),
        ("evil.example:2048", 403),
        ("localhost.evil.example", 403),
        ("127.0.0.1.evil.example", 403),
        ("192.168.1.5:2048", 403),
        ("", 403),
    ] {
        let found = status(&site, &[("Host", host)], "GET", "/").await;
        assert_eq!(found, expected, "{host}");
    }
    assert_eq!(status(&site, &[], "GET", "/").await, 403);
    // Two names, or another one in the address, could mean two servers.
    let two = [("Host", "127.0.0.1:2048"), ("Host", "evil.example")];
    assert_eq!(status(&site, &two, "GET", "/").await, 403);
    let other = "http://evil.example/";
    assert_eq!(status(&site, &two[..1], "GET", other).await, 403);
    let named = Config {
        names: vec!["lab.example".to_owned()],
        ..Config::new(site.folder.path())
    };
    let app = AppState::new(&named).unwrap();
    let call = axum::http::Request::builder()
        .uri("/")
        .header("Host", "lab.example:80");
    let answer = router(&app).oneshot(call.body(Body::empty()).unwrap());
    assert_eq!(answer.await.unwrap().status(), 200);
}

#[tokio::test]
async fn pages_of_other_sites_are_refused() {
    let site = Site::new();
    let host = ("Host", "127.0.0.1:2048");
    for (headers, path, expected) in [
        (
            vec![("Origin", "http://127.0.0.1:2048")],
            "/api/v1/meta",
            200,
        ),
        (vec![("Origin", "http://evil.example")], "/api/v1/meta", 403),
        (vec![("Origin", "null")], "/api/v1/meta", 403),
        (
            vec![("Origin", "http://127.0.0.1:9999")],
            "/api/v1/meta",
            403,
        ),
        (vec![("Sec-Fetch-Site", "same-origin")], "/api/v1/meta", 200),
        (vec![("Sec-Fetch-Site", "none")], "/api/v1/meta", 200),
        (vec![("Sec-Fetch-Site", "cross-site")], "/api/v1/meta", 403),
        (vec![("Sec-Fetch-Site", "same-site")], "/api/v1/meta", 403),
        // A link from elsewhere opens the page, and nothing of the API.
        (
            vec![
                ("Sec-Fetch-Site", "cross-site"),
                ("Sec-Fetch-Mode", "navigate"),
            ],
            "/analyse",
            200,
        ),
        (
            vec![
                ("Sec-Fetch-Site", "cross-site"),
                ("Sec-Fetch-Mode", "navigate"),
            ],
            "/api/v1/meta",
            403,
        ),
        (
            vec![("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Mode", "cors")],
            "/analyse",
            403,
        ),
    ] {
        let all: Vec<_> = headers.iter().copied().chain([host]).collect();
        assert_eq!(
            status(&site, &all, "GET", path).await,
            expected,
            "{headers:?} {path}"
        );
    }
}

#[tokio::test]
async fn other_machines_need_the_token() {
    let folder = tempfile::tempdir().unwrap();
    let config = Config {
        host: Ipv4Addr::UNSPECIFIED.into(),
        ..Config::new(folder.path())
    };
    let app = AppState::new(&config).unwrap();
    let token = app.token().unwrap().to_owned();
    let site = Site { folder, app };
    let host = ("Host", "192.168.1.5:2048");
    assert_eq!(status(&site, &[host], "GET", "/").await, 401);
    let wrong = [
        host,
        ("Authorization", "Bearer 00000000000000000000000000000000"),
    ];
    assert_eq!(status(&site, &wrong, "GET", "/api/v1/meta").await, 401);
    let bearer = format!("Bearer {token}");
    let right = [host, ("Authorization", &*bearer)];
    assert_eq!(status(&site, &right, "GET", "/api/v1/meta").await, 200);
    let cookie = format!("a=b; afterstate_token={token}");
    assert_eq!(
        status(&site, &[host, ("Cookie", &*cookie)], "GET", "/").await,
        200
    );
    let link = format!("/?token={token}");
    let call = axum::http::Request::builder()
        .uri(&link)
        .header("Host", "192.168.1.5:2048");
    let answer = router(&site.app).oneshot(call.body(Body::empty()).unwrap());
    let answer = answer.await.unwrap();
    assert_eq!(answer.status(), 303);
    let set = answer.headers()["Set-Cookie"].to_str().unwrap();
    assert!(
        set.contains("HttpOnly") && set.contains("SameSite=Strict"),
        "{set}"
    );
    assert_eq!(status(&site, &[host], "GET", "/?token=0").await, 401);
    assert!(Site::new().app.token().is_none(), "loopback needs none");
}

#[tokio::test]
async fn answers_have_strict_headers_and_the_page_no_inline_code() {
    let site = Site::new();
    for path in ["/", "/api/v1/meta", "/nothing", "/assets/main.js"] {
        let answer = router(&site.app).oneshot(request("GET", path).body(Body::empty()).unwrap());
        let headers = answer.await.unwrap().headers().clone();
        let policy = headers["Content-Security-Policy"].to_str().unwrap();
        assert!(
            policy.contains("default-src 'none'") && !policy.contains("unsafe"),
            "{path}"
        );
        assert_eq!(headers["X-Content-Type-Options"], "nosniff");
        assert!(!headers.contains_key("Access-Control-Allow-Origin"));
    }
    let (_, page) = site
        .send(request("GET", "/").body(Body::empty()).unwrap())
        .await;
    let page = String::from_utf8(page).unwrap();
    for word in [
        "style=", "onclick", "http://", "https://", "<script>", "<style",
    ] {
        assert!(!page.contains(word), "{word}");
    }
    let bytes = page_bytes();
    assert!((20_000..300_000).contains(&bytes), "{bytes} bytes");
}

/// What is not there is told to people as a page, and to programs as JSON.
#[tokio::test]
async fn unknown_paths_and_methods_are_told() {
    let site = Site::new();
    let (status, answer) = site.get("/nope").await;
    assert_eq!(
        (status.as_u16(), &answer["error"]),
        (404, &json!("missing"))
    );
    let call = request("GET", "/nope").header("Accept", "text/html,*/*");
    let (status, page) = site.send(call.body(Body::empty()).unwrap()).await;
    assert_eq!(status, 404);
    assert!(String::from_utf8(page).unwrap().contains("To the app"));
    let call = request("DELETE", "/api/v1/meta")
        .body(Body::empty())
        .unwrap();
    let (status, answer) = site.json(call).await;
    assert_eq!((status.as_u16(), &answer["error"]), (405, &json!("method")));
    let message = site
        .refused(
            400,
            "/api/v1/analyze",
            json!({ "position": "2,2", "search": 5 }),
        )
        .await;
    assert!(
        message.starts_with("the body does not fit: search: "),
        "{message}"
    );
}

#[tokio::test]
async fn names_never_become_paths() {
    let site = Site::trained();
    let secret = site.folder.path().join("secret.txt");
    std::fs::write(&secret, "secret").unwrap();
    for id in [
        "../secret.txt",
        "small/../secret.txt",
        "/etc/passwd",
        "%2e%2e",
        ".",
        "",
        "small/",
    ] {
        let id: String = id.replace('%', "%25").replace('/', "%2F");
        for path in ["/api/v1/run?id=", "/api/v1/run/blocks?id="] {
            let (status, answer) = site.get(&format!("{path}{id}")).await;
            assert_eq!(status, 404, "{path}{id}: {answer}");
        }
        let (status, _) = site
            .get(&format!("/api/v1/run/file?file=model&id={id}"))
            .await;
        assert_eq!(status, 404);
    }
    for file in ["../secret.txt", "checkpoint", "model.safetensors"] {
        let (status, _) = site
            .get(&format!("/api/v1/run/file?id=small&file={file}"))
            .await;
        assert_eq!(status, 404, "{file}");
    }
    for path in [
        "/assets/../../Cargo.toml",
        "/assets/..%2fCargo.toml",
        "/assets/nothing.js",
    ] {
        let (status, _) = site.get(path).await;
        assert_eq!(status, 404, "{path}");
    }
    let board = json!({ "position": "2,2,0/0,4,0", "model": "../small" });
    site.refused(404, "/api/v1/analyze", board).await;
    for recipe in ["./quick.toml", "../../x", "/etc/passwd", "nosuch"] {
        site.refused(400, "/api/v1/runs", json!({ "recipe": recipe }))
            .await;
    }
    for key in ["name", "changed", "result", "nosuch"] {
        let start = json!({ "recipe": "quick", "set": { key: "x" } });
        site.refused(400, "/api/v1/runs", start).await;
    }
    let from = json!({ "recipe": "quick", "set": { "from": secret.to_str().unwrap() } });
    site.refused(404, "/api/v1/runs", from).await;
}

#[tokio::test]
async fn bodies_and_work_are_limited() {
    let site = Site::trained();
    let large = "x".repeat(5 << 20);
    let message = site
        .refused(413, "/api/v1/games", json!({ "position": large }))
        .await;
    assert!(message.contains("4 MiB"), "{message}");
    // Only a game to begin has a record, which may be long.
    let large = "x".repeat(65 << 10);
    let message = site
        .refused(413, "/api/v1/analyze", json!({ "position": large }))
        .await;
    assert!(message.contains("64 KiB"), "{message}");
    let deep = "[".repeat(10_000);
    let call = request("POST", "/api/v1/analyze").header("Content-Type", "application/json");
    let (status, answer) = site.json(call.body(deep.into()).unwrap()).await;
    assert_eq!(status, 400, "{answer}");
    let call = request("POST", "/api/v1/games").body("{}".into()).unwrap();
    assert_eq!(site.json(call).await.0, 415);
    let message = site
        .refused(400, "/api/v1/games", json!(["2048", "4x4"]))
        .await;
    assert!(message.contains("JSON object"), "{message}");
    let board = "2,2,0/0,4,0";
    for (body, words) in [
        (json!({ "position": board, "search": "7ply" }), "6ply"),
        (json!({ "position": board, "search": "60000ms" }), "10000ms"),
        (
            json!({ "position": board, "search": "empty:4=9ply,3ply" }),
            "6ply",
        ),
        (json!({ "position": board, "search": "fast" }), "`fast`"),
        (
            json!({ "position": board, "rollouts": 1_000_000 }),
            "at most 2000",
        ),
        (json!({ "position": board, "nosuch": 1 }), "nosuch"),
        (json!({ "position": "3,3/5,5" }), "3"),
        (json!({ "position": "" }), ""),
        (json!({ "position": board, "game": "chess" }), "chess"),
        (json!({ "position": "<script>alert(1)</script>" }), ""),
    ] {
        let message = site.refused(400, "/api/v1/analyze", body).await;
        assert!(message.contains(words), "{message}");
    }
    let long = format!("/api/v1/run?id={}", "x".repeat(10_000));
    assert_eq!(site.get(&long).await.0, 414);
}

#[test]
fn a_second_server_of_a_folder_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let config = Config {
        port: 0,
        ..Config::new(folder.path())
    };
    let first = start(&config).unwrap();
    let error = start(&config).err().unwrap().to_string();
    let address = format!("http://{}/", first.address);
    assert!(error.contains(&address), "{error}");
    let taken = Config {
        port: first.address.port(),
        ..Config::new(folder.path().join("other"))
    };
    let error = start(&taken).err().unwrap().to_string();
    assert!(error.contains("cannot listen"), "{error}");
    assert!(!folder.path().join("other").exists(), "it was not served");
    first.stop();
    start(&config).unwrap().stop();
}

/// A stream does not keep the server from ending, and neither does a client that sends nothing.
#[test]
fn the_server_ends_with_open_streams() {
    use std::io::{Read, Write};
    let folder = tempfile::tempdir().unwrap();
    let config = Config {
        port: 0,
        ..Config::new(folder.path())
    };
    let server = start(&config).unwrap();
    let mut stream = std::net::TcpStream::connect(server.address).unwrap();
    let call = "GET /api/v1/events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";
    stream.write_all(call.as_bytes()).unwrap();
    let mut begun = [0; 300];
    let read = stream.read(&mut begun).unwrap();
    let text = String::from_utf8_lossy(&begun[..read]);
    assert!(
        text.contains("200 OK") && text.contains("text/event-stream"),
        "{text}"
    );
    let _silent = std::net::TcpStream::connect(server.address).unwrap();
    let begun = std::time::Instant::now();
    server.stop();
    assert!(begun.elapsed().as_secs() < 12, "{:?}", begun.elapsed());
    let mut rest = Vec::new();
    let _ = stream.read_to_end(&mut rest);
}
