//! Long work, clients that leave, and clients that are slow.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use afterstate_lab::control::Control;
use afterstate_lab::recipe::Recipe;
use afterstate_lab::trainer::Trainer;
use afterstate_web::{Config, router, start};
use axum::body::Body;
use serde_json::json;
use tower::ServiceExt;

use crate::{Site, request};

/// A search of this board does not come to an end.
const BOARD: &str = "2,2,0,0/0,4,0,0/0,8,0,0/0,0,0,16";

/// A site with a model of 2048 on 4x4.
fn site() -> Site {
    let site = Site::new();
    let overrides = ["tuples=lines", "episodes=20", "threads=1"].map(str::to_owned);
    let recipe = Recipe::load("quick", &overrides).unwrap();
    let folder = site.folder.path().join("lines");
    let mut trainer = Trainer::new(recipe, &folder, &Control::new()).unwrap();
    trainer.train().unwrap();
    site
}

/// A search of ten seconds.
fn long(site: &Site) -> impl Future<Output = u16> + Send + 'static {
    let app = site.app.clone();
    let body = json!({ "position": BOARD, "search": "10000ms" }).to_string();
    async move {
        let call = request("POST", "/api/v1/analyze").header("Content-Type", "application/json");
        let answer = router(&app)
            .oneshot(call.body(Body::from(body)).unwrap())
            .await;
        answer.unwrap().status().as_u16()
    }
}

/// As many searches as the server takes at once, and more: values at once and games are answered
/// meanwhile, too many are refused, and searches whose clients leave make room.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn long_searches_block_nothing_and_end_with_their_clients() {
    let site = site();
    let cores = std::thread::available_parallelism().unwrap().get();
    // 32 wait, and three are too many.
    let all: Vec<_> = (0..cores + 32 + 3)
        .map(|_| tokio::spawn(long(&site)))
        .collect();
    let refused = || all.iter().filter(|it| it.is_finished()).count();
    let begun = std::time::Instant::now();
    while refused() < 3 {
        assert!(begun.elapsed() < Duration::from_secs(60));
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let game = site.ok("/api/v1/games", json!({})).await;
    let path = format!("/api/v1/games/{}", game["game"]["id"].as_str().unwrap());
    for _ in 0..20 {
        site.ok("/api/v1/analyze", json!({ "position": BOARD }))
            .await;
        assert_eq!(site.get(&path).await.0, 200);
    }
    assert_eq!(refused(), 3, "nothing waited for a search");
    // The clients of the others leave. Without that, the next search would wait for minutes.
    all.iter().for_each(|it| it.abort());
    let mut left = 0;
    for one in all {
        match one.await {
            Ok(status) => assert_eq!(status, 429),
            Err(_) => left += 1,
        }
    }
    assert_eq!(left, cores + 32);
    let deep = json!({ "position": BOARD, "search": "2ply" });
    let answer = tokio::time::timeout(Duration::from_secs(60), site.ok("/api/v1/analyze", deep));
    assert!(answer.await.is_ok(), "the searches were not cancelled");
}

/// Requests for a game wait while a model thinks in it, but hold up no other game.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_long_move_in_one_game_holds_up_no_other() {
    let site = site();
    let mut paths = Vec::new();
    for _ in 0..2 {
        let game = site.ok("/api/v1/games", json!({})).await;
        let id = game["game"]["id"].as_str().unwrap().to_owned();
        paths.push(format!("/api/v1/games/{id}"));
    }
    let app = site.app.clone();
    let auto = format!("{}/auto", paths[0]);
    let thinking = tokio::spawn(async move {
        let call = request("POST", &auto).header("Content-Type", "application/json");
        let body = json!({ "search": "10000ms" }).to_string();
        router(&app)
            .oneshot(call.body(Body::from(body)).unwrap())
            .await
    });
    // Until the move is under way, the game is answered at once.
    let waits = |path: String, app: afterstate_web::AppState| async move {
        let call = request("GET", &path).body(Body::empty()).unwrap();
        let answer = router(&app).oneshot(call);
        tokio::time::timeout(Duration::from_millis(50), answer)
            .await
            .is_err()
    };
    while !waits(paths[0].clone(), site.app.clone()).await {
        assert!(!thinking.is_finished());
    }
    let cores = std::thread::available_parallelism().unwrap().get();
    let waiting: Vec<_> = (0..2 * cores)
        .map(|_| {
            let (path, app) = (paths[0].clone(), site.app.clone());
            tokio::spawn(async move {
                let call = request("GET", &path).body(Body::empty()).unwrap();
                router(&app).oneshot(call).await
            })
        })
        .collect();
    for _ in 0..20 {
        assert_eq!(site.get(&paths[1]).await.0, 200);
    }
    assert!(
        !thinking.is_finished(),
        "the other game was answered meanwhile"
    );
    waiting.iter().for_each(|it| it.abort());
    thinking.abort();
}

#[tokio::test]
async fn files_of_records_are_limited() {
    let site = Site::new();
    for path in ["/api/v1/review", "/api/v1/judge"] {
        let call = request("POST", path).header("Content-Type", "text/plain");
        let large = vec![b'x'; (64 << 20) + 1];
        let (status, answer) = site.json(call.body(large.into()).unwrap()).await;
        assert_eq!(status, 413, "{answer}");
        assert!(answer["message"].as_str().unwrap().contains("64 MiB"));
    }
    // A review has some hundred bytes for each move.
    for long in [
        "#L".repeat(200_001),
        format!("replay_{}", "x".repeat(200_001)),
    ] {
        let call = request("POST", "/api/v1/review").body(long.into());
        let (status, answer) = site.json(call.unwrap()).await;
        let message = answer["message"].as_str().unwrap();
        assert!(
            status == 400 && message.contains("up to 200000"),
            "{message}"
        );
    }
    let games = "slide:place@1|0111#L[4]3|slide@2\n".repeat(51);
    let call = request("POST", "/api/v1/review")
        .body(games.into())
        .unwrap();
    let (status, answer) = site.json(call).await;
    assert_eq!(status, 400);
    assert!(
        answer["message"].as_str().unwrap().contains("up to 50"),
        "{answer}"
    );
}

/// Downloads whose clients read nothing hold no thread: other work is done.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn downloads_that_stand_still_hold_up_nothing() {
    let site = Site::trained();
    let file = site.folder.path().join("small/blocks.csv");
    let file = std::fs::File::options().write(true).open(file).unwrap();
    file.set_len(8 << 20).unwrap();
    let mut open = Vec::new();
    // More than the threads that the runtime has for such work.
    for _ in 0..520 {
        let call = request("GET", "/api/v1/run/file?id=small&file=blocks");
        let call = call.body(Body::empty()).unwrap();
        let answer = tokio::time::timeout(Duration::from_secs(60), router(&site.app).oneshot(call));
        let answer = answer.await.expect("an answer").unwrap();
        assert_eq!(answer.headers()["Content-Length"], (8 << 20).to_string());
        open.push(answer);
    }
    let models = tokio::time::timeout(Duration::from_secs(60), site.get("/api/v1/models"));
    assert_eq!(models.await.expect("an answer").0, 200);
}

/// Clients that send half a head, half a body or nothing, and those that vanish, cost nothing: others
/// are answered, and the server ends.
#[test]
fn slow_and_vanished_clients_cost_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let config = Config {
        port: 0,
        ..Config::new(folder.path())
    };
    let server = start(&config).unwrap();
    let host = format!("Host: {}\r\n", server.address);
    let half = [
        String::new(),
        "GET /api/v1/me".to_owned(),
        format!(
            "POST /api/v1/games HTTP/1.1\r\n{host}Content-Type: application/json\r\n\
             Content-Length: 3000000\r\n\r\n{{\"position\": \""
        ),
        format!("GET /api/v1/events HTTP/1.1\r\n{host}\r\n"),
    ];
    let mut slow = Vec::new();
    for text in half.iter().cycle().take(160) {
        let mut stream = TcpStream::connect(server.address).unwrap();
        stream.write_all(text.as_bytes()).unwrap();
        slow.push(stream);
    }
    // Every other pair vanishes.
    let mut number = 0;
    slow.retain(|_| {
        number += 1;
        number % 8 < 4
    });
    let mut stream = TcpStream::connect(server.address).unwrap();
    let call = format!("GET /api/v1/meta HTTP/1.1\r\n{host}Connection: close\r\n\r\n");
    stream.write_all(call.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    drop(slow);
    server.stop();
}

/// Sends a request, and reads the status of its answer.
fn status_of(stream: &mut TcpStream) -> String {
    let longest = Some(Duration::from_secs(30));
    stream.set_read_timeout(longest).unwrap();
    let mut begun = [0; 12];
    stream.read_exact(&mut begun).unwrap();
    String::from_utf8_lossy(&begun).into_owned()
}

/// Memory is taken for the bytes that have come: clients that declare large bodies and send nothing keep
/// nobody from sending one, and a body that is declared too large is refused before it comes.
#[test]
fn declared_bodies_cost_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let config = Config {
        port: 0,
        ..Config::new(folder.path())
    };
    let server = start(&config).unwrap();
    let call = |path: &str, length: u64| {
        let mut stream = TcpStream::connect(server.address).unwrap();
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\n\
             Content-Length: {length}\r\n\r\n",
            server.address
        );
        stream.write_all(head.as_bytes()).unwrap();
        stream
    };
    let _held: Vec<TcpStream> = (0..80)
        .map(|number| {
            let (path, length) = match number % 2 {
                0 => ("/api/v1/judge", 67_000_000),
                _ => ("/api/v1/games", 4_000_000),
            };
            let mut stream = call(path, length);
            stream.write_all(b"{\"g").unwrap();
            stream
        })
        .collect();
    let begun = std::time::Instant::now();
    let game = "slide:place@1|0111#L[4]3|slide@2\n".repeat(4_000);
    let mut honest = call("/api/v1/judge", game.len() as u64);
    honest.write_all(game.as_bytes()).unwrap();
    assert_eq!(status_of(&mut honest), "HTTP/1.1 200");
    // A second on a quiet machine takes hundredths.
    assert!(
        begun.elapsed() < Duration::from_secs(10),
        "{:?}",
        begun.elapsed()
    );
    let mut large = call("/api/v1/judge", 99_999_999_999);
    assert_eq!(status_of(&mut large), "HTTP/1.1 413");
    server.stop();
}

/// Places of large bodies are those of bytes that come: who stops in the middle loses them.
#[test]
fn a_body_that_stops_loses_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let config = Config {
        port: 0,
        ..Config::new(folder.path())
    };
    let server = start(&config).unwrap();
    let mut stream = TcpStream::connect(server.address).unwrap();
    let head = format!(
        "POST /api/v1/judge HTTP/1.1\r\nHost: {}\r\nContent-Length: 1000000\r\n\r\n",
        server.address
    );
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(&[b'x'; 200_000]).unwrap();
    let begun = std::time::Instant::now();
    assert_eq!(status_of(&mut stream), "HTTP/1.1 408");
    assert!(
        begun.elapsed() < Duration::from_secs(20),
        "{:?}",
        begun.elapsed()
    );
    server.stop();
}

#[tokio::test]
async fn streams_of_events_are_limited() {
    let site = Site::new();
    let mut open = Vec::new();
    for _ in 0..64 {
        let call = request("GET", "/api/v1/events")
            .body(Body::empty())
            .unwrap();
        let answer = router(&site.app).oneshot(call).await.unwrap();
        assert_eq!(answer.status(), 200);
        open.push(answer);
    }
    let (status, answer) = site.get("/api/v1/events").await;
    assert_eq!(status, 429, "{answer}");
    assert_eq!(site.get("/api/v1/meta").await.0, 200);
    drop(open);
    // The task of a stream ends a moment after its client.
    let begun = std::time::Instant::now();
    loop {
        let call = request("GET", "/api/v1/events")
            .body(Body::empty())
            .unwrap();
        if router(&site.app).oneshot(call).await.unwrap().status() == 200 {
            break;
        }
        assert!(begun.elapsed() < Duration::from_secs(20));
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
