//! Every key of an answer is in the description of the API, down to the last object.

use axum::body::Body;
use serde_json::{Value, json};

use crate::{Site, request};

/// The schemas that a schema stands for: those that it refers to or is made of.
fn parts<'a>(document: &'a Value, schema: &'a Value) -> Vec<&'a Value> {
    if let Some(name) = schema["$ref"].as_str() {
        let found = document.pointer(name.trim_start_matches('#')).unwrap();
        return parts(document, found);
    }
    let mut all = vec![schema];
    for of in ["allOf", "oneOf", "anyOf"] {
        let inner = schema[of].as_array().into_iter().flatten();
        all.extend(inner.flat_map(|one| parts(document, one)));
    }
    all
}

/// Panics where a value has a key that its schema does not have.
fn check(document: &Value, schema: &Value, value: &Value, place: &str) {
    let parts = parts(document, schema);
    if let Some(object) = value.as_object() {
        for (key, value) in object {
            let place = format!("{place}.{key}");
            let named = parts.iter().map(|part| &part["properties"][key]);
            let others = parts.iter().map(|part| &part["additionalProperties"]);
            let found = named.chain(others).find(|schema| schema.is_object());
            let found = found.unwrap_or_else(|| panic!("{place} is not described"));
            check(document, found, value, &place);
        }
    }
    for value in value.as_array().into_iter().flatten() {
        let items = parts.iter().map(|part| &part["items"]);
        let all = parts.iter().map(|part| &part["prefixItems"][0]);
        let found = items.chain(all).find(|schema| schema.is_object());
        if value.is_object() || value.is_array() {
            let found = found.unwrap_or_else(|| panic!("{place}: items are not described"));
            check(document, found, value, place);
        }
    }
}

#[tokio::test]
async fn every_key_of_an_answer_is_described() {
    let site = Site::trained();
    let (_, document) = site.get("/api/v1/openapi.json").await;
    let checked = |method: &str, path: &str, answer: &Value| {
        let place = format!("{method} {path}");
        let schema = &document["paths"][path][method]["responses"]["200"]["content"]["application/json"]
            ["schema"];
        assert!(schema.is_object(), "{place} has no schema");
        check(&document, schema, answer, &place);
    };
    for (path, asked) in [
        ("/api/v1/meta", "/api/v1/meta"),
        ("/api/v1/models", "/api/v1/models"),
        ("/api/v1/recipes", "/api/v1/recipes"),
        ("/api/v1/runs", "/api/v1/runs"),
        ("/api/v1/run", "/api/v1/run?id=small"),
        ("/api/v1/run/blocks", "/api/v1/run/blocks?id=small"),
    ] {
        let (status, answer) = site.get(asked).await;
        assert_eq!(status, 200, "{answer}");
        checked("get", path, &answer);
    }
    let board = "2,2,0/0,4,0";
    for (path, asked, body) in [
        (
            "/api/v1/recipes/{name}/form",
            "/api/v1/recipes/quick/form",
            json!({}),
        ),
        (
            "/api/v1/position",
            "/api/v1/position",
            json!({ "position": board }),
        ),
        (
            "/api/v1/analyze",
            "/api/v1/analyze",
            json!({ "position": board, "lines": true, "rollouts": 5, "search": "2ply" }),
        ),
        (
            "/api/v1/chance",
            "/api/v1/chance",
            json!({ "position": board, "tile": 16, "games": 5 }),
        ),
        (
            "/api/v1/explain",
            "/api/v1/explain",
            json!({ "position": board, "direction": "left", "exact": true }),
        ),
        (
            "/api/v1/lesson",
            "/api/v1/lesson",
            json!({ "games": 5, "rule": "tc", "backward": true, "lambda": 0.5 }),
        ),
        ("/api/v1/games", "/api/v1/games", json!({ "manual": true })),
    ] {
        let answer = site.ok(asked, body).await;
        checked("post", path, &answer);
    }
    let game = site.ok("/api/v1/games", json!({ "seed": 1 })).await;
    let path = format!("/api/v1/games/{}", game["game"]["id"].as_str().unwrap());
    let moves = json!({ "moves": 40, "model": "greedy" });
    let played = site.ok(&format!("{path}/auto"), moves).await;
    checked("post", "/api/v1/games/{id}/auto", &played);
    let call = request("GET", &format!("{path}/record"));
    let (_, record) = site.send(call.body(Body::empty()).unwrap()).await;
    // A second line that is no record is a fault.
    let records = format!("{}x@1|zz|x@2\n", String::from_utf8(record).unwrap());
    for (path, asked) in [
        ("/api/v1/judge", "/api/v1/judge?game=2048&board=4x4"),
        ("/api/v1/review", "/api/v1/review?model=greedy"),
    ] {
        let call = request("POST", asked)
            .body(Body::from(records.clone()))
            .unwrap();
        let (status, answer) = site.json(call).await;
        assert_eq!(status, 200, "{answer}");
        checked("post", path, &answer);
    }
}
