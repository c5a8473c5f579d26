//! Recipes, runs, and the description of the API.

use std::time::{Duration, Instant};

use afterstate_web::document;
use axum::body::Body;
use serde_json::{Value, json};

use crate::{Site, request};

/// Waits until a run has this status.
async fn wait(site: &Site, id: &str, status: &str) -> Value {
    let begun = Instant::now();
    loop {
        let (_, run) = site.get(&format!("/api/v1/run?id={id}")).await;
        if run["status"] == status && run["here"] == (status == "running") {
            return run;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "{run}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn small(episodes: &str) -> Value {
    json!({ "recipe": "quick", "set": {
        "board": "2x3", "network.tuples": "012 0134", "episodes": episodes, "threads": "1", "block_games": "50",
    } })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_is_started_watched_stopped_and_resumed() {
    let site = Site::new();
    let mut told = {
        let call = request("GET", "/api/v1/events")
            .body(Body::empty())
            .unwrap();
        let answer = tower::ServiceExt::oneshot(afterstate_web::router(&site.app), call).await;
        answer.unwrap().into_body()
    };
    let run = site.ok("/api/v1/runs", small("100000000")).await;
    let id = run["id"].as_str().unwrap();
    assert_eq!((id, &run["status"]), ("quick", &json!("running")));
    let mut seen = String::new();
    while !seen.contains("event: block") {
        use http_body_util::BodyExt;
        let frame = told.frame().await.unwrap().unwrap();
        seen += &String::from_utf8_lossy(&frame.into_data().unwrap());
    }
    assert!(seen.contains(r#""id":"quick""#), "{seen}");
    // The agent under training plays.
    let (_, models) = site.get("/api/v1/models").await;
    assert_eq!(models[0]["kind"], "training", "{models}");
    let game = site.ok("/api/v1/games", json!({ "board": "2x3" })).await;
    let path = format!(
        "/api/v1/games/{}/auto",
        game["game"]["id"].as_str().unwrap()
    );
    site.ok(&path, json!({ "model": "quick", "moves": 2 }))
        .await;
    let message = site
        .refused(409, "/api/v1/run/resume", json!({ "id": "quick" }))
        .await;
    assert!(message.contains("running"), "{message}");
    site.ok("/api/v1/run/stop", json!({ "id": "quick" })).await;
    let stopped = wait(&site, "quick", "stopped").await;
    let games = stopped["games"].as_u64().unwrap();
    assert!(games > 0);
    let message = site
        .refused(409, "/api/v1/run/stop", json!({ "id": "quick" }))
        .await;
    assert!(message.contains("does not train"), "{message}");
    let longer = json!({ "id": "quick", "set": { "episodes": (games + 60).to_string() } });
    site.ok("/api/v1/run/resume", longer).await;
    let finished = wait(&site, "quick", "finished").await;
    assert_eq!(finished["games"].as_u64(), Some(games + 60));
    let (_, blocks) = site.get("/api/v1/run/blocks?id=quick").await;
    let blocks = blocks.as_array().unwrap();
    assert!(!blocks.is_empty() && blocks.len() <= 2001);
    let last = blocks[blocks.len() - 1]["games"].as_u64().unwrap();
    let (_, none) = site
        .get(&format!("/api/v1/run/blocks?id=quick&after={last}"))
        .await;
    assert_eq!(none, json!([]));
    let message = site
        .refused(409, "/api/v1/run/resume", json!({ "id": "quick" }))
        .await;
    assert!(message.contains("finished"), "{message}");
    let call = request("GET", "/api/v1/run/file?id=quick&file=recipe").body(Body::empty());
    let (status, toml) = site.send(call.unwrap()).await;
    assert_eq!(status, 200);
    assert!(String::from_utf8(toml).unwrap().contains("[network]"));
    let call = request("GET", "/api/v1/run/file?id=quick&file=model").body(Body::empty());
    let (_, model) = site.send(call.unwrap()).await;
    let file = site.folder.path().join("quick/model.safetensors");
    assert_eq!(model, std::fs::read(file).unwrap());
    // A new run takes another folder, and may start with the weights of the first.
    let mut second = small("60");
    second["set"]["from"] = json!("quick");
    let second = site.ok("/api/v1/runs", second).await;
    assert_eq!(second["id"], "quick-2");
    wait(&site, "quick-2", "finished").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn too_many_runs_at_once_are_refused() {
    let site = Site::new();
    site.ok("/api/v1/runs", small("100000000")).await;
    site.ok("/api/v1/runs", small("100000000")).await;
    let message = site.refused(429, "/api/v1/runs", small("50")).await;
    assert!(message.contains("stop one first"), "{message}");
    site.app.end();
    wait(&site, "quick", "stopped").await;
    wait(&site, "quick-2", "stopped").await;
}

/// A run may have any name that the system allows: it is listed, plays, and its files are sent. A recipe
/// names the run that it starts with as text.
#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn names_of_runs_may_be_any() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let site = Site::new();
    let (odd, bytes) = ("a\"b\\c\u{200b}d", OsStr::from_bytes(b"bad\xff"));
    for name in [OsStr::new(odd), bytes] {
        crate::train(&site.folder.path().join(name));
    }
    let (_, runs) = site.get("/api/v1/runs").await;
    let mut names: Vec<&str> = runs
        .as_array()
        .unwrap()
        .iter()
        .map(|run| run["id"].as_str().unwrap())
        .collect();
    names.sort_unstable();
    assert_eq!(names, [odd, "bad\u{fffd}"]);
    for name in names {
        let ask = json!({ "position": "2,2,0/0,4,0", "model": name });
        let found = site.ok("/api/v1/analyze", ask).await;
        assert_eq!(found["analysis"]["model"]["path"], name);
    }
    let call = request("GET", "/api/v1/run/file?file=recipe&id=bad%EF%BF%BD");
    let (status, _) = site.send(call.body(Body::empty()).unwrap()).await;
    assert_eq!(status, 200);
    let mut new = small("60");
    new["set"]["from"] = json!("bad\u{fffd}");
    let message = site.refused(400, "/api/v1/runs", new.clone()).await;
    assert!(message.contains("not UTF-8"), "{message}");
    new["set"]["from"] = json!(odd);
    let run = site.ok("/api/v1/runs", new).await;
    wait(&site, run["id"].as_str().unwrap(), "finished").await;
}

#[tokio::test]
async fn recipes_are_forms() {
    let site = Site::new();
    let (_, recipes) = site.get("/api/v1/recipes").await;
    assert_eq!(recipes[0]["name"], "quick");
    let changes = json!({ "set": { "episodes": "1e5" } });
    let form = site.ok("/api/v1/recipes/quick/form", changes).await;
    let keys = form["keys"].as_array().unwrap();
    let find = |key: &str| keys.iter().find(|one| one["key"] == key).cloned();
    assert_eq!(find("episodes").unwrap()["value"], "100000");
    assert_eq!(find("learner.update").unwrap()["type"], "choice");
    assert!(
        find("learner.update").unwrap()["help"]
            .as_str()
            .unwrap()
            .len()
            > 20
    );
    assert_eq!(form["changed"], json!(["episodes=100000"]));
    // Another update has other keys: there is no lambda of forward updates.
    assert!(find("learner.lambda").is_some());
    let forward = json!({ "set": { "learner.update": "forward" } });
    let form = site.ok("/api/v1/recipes/quick/form", forward).await;
    let keys = form["keys"].as_array().unwrap();
    assert!(keys.iter().all(|one| one["key"] != "learner.lambda"));
    let wrong = json!({ "set": { "learning_rate": "many" } });
    let message = site.refused(400, "/api/v1/recipes/quick/form", wrong).await;
    assert!(message.contains("learning_rate"), "{message}");
    // Errors are those of a form, not of the command line, and come with the field.
    let negative = json!({ "set": { "learner.learning_rate": "-1" } });
    let message = site
        .refused(400, "/api/v1/recipes/quick/form", negative)
        .await;
    assert!(
        message.starts_with("`learner.learning_rate` is -1"),
        "{message}"
    );
    let tuples = json!({ "set": { "network.tuples": "zz" } });
    let message = site
        .refused(400, "/api/v1/recipes/quick/form", tuples)
        .await;
    assert!(message.contains("zz"), "{message}");
    site.refused(400, "/api/v1/recipes/nosuch/form", json!({}))
        .await;
    // Recipes of deep networks are marked, also where this build cannot train them.
    let deep = |name: &str| {
        let all = recipes.as_array().unwrap().iter();
        let mut found = all.filter(|one| one["name"] == name);
        found.next().unwrap()["deep"].clone()
    };
    assert_eq!((deep("quick"), deep("dqn")), (json!(false), json!(true)));
    if !cfg!(feature = "deep") {
        let start = json!({ "recipe": "dqn" });
        let message = site.refused(400, "/api/v1/runs", start).await;
        assert!(message.contains("--features deep"), "{message}");
    }
}

/// Every route is described, and every description has a route.
#[tokio::test]
async fn the_description_has_all_routes() {
    let site = Site::new();
    let (status, found) = site.get("/api/v1/openapi.json").await;
    assert_eq!(status, 200);
    assert_eq!(found, serde_json::to_value(document()).unwrap());
    let paths = found["paths"].as_object().unwrap();
    let source = include_str!("../../src/api.rs");
    let mut names = std::collections::BTreeSet::new();
    for (path, methods) in paths {
        assert!(source.contains(&format!("\"{path}\"")), "{path}");
        for (method, about) in methods.as_object().unwrap() {
            assert!(about["summary"].is_string(), "{method} {path}");
            let name = about["operationId"].as_str().unwrap();
            assert!(names.insert(name), "{name} is two operations");
            let real = path.replace("{id}", "x").replace("{name}", "x");
            if real.ends_with("/events") {
                // It does not end.
                continue;
            }
            let (status, _) = site
                .send(
                    request(&method.to_uppercase(), &real)
                        .body(Body::from("{}"))
                        .unwrap(),
                )
                .await;
            assert_ne!(status, 405, "{method} {path}");
        }
    }
    let routes = source.matches(".route(").count();
    let described: usize = paths.values().map(|it| it.as_object().unwrap().len()).sum();
    // One route has two methods.
    assert_eq!(routes + 1, described);
}
