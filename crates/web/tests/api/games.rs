//! Play, positions, analysis, reviews and judgements.

use axum::body::Body;
use serde_json::{Value, json};

use crate::{Site, request};

/// The directions of legal slides.
fn legal(game: &Value) -> Vec<&'static str> {
    let slides = game["slides"].as_array().unwrap();
    let names = ["up", "right", "down", "left"].into_iter();
    let all = names.zip(slides).filter(|(_, reward)| !reward.is_null());
    all.map(|(name, _)| name).collect()
}

fn id(played: &Value) -> String {
    played["game"]["id"].as_str().unwrap().to_owned()
}

/// Has a model play a game to its end: a request is limited in time.
async fn play_out(site: &Site, path: &str, ask: Value) -> Value {
    for _ in 0..1_000 {
        let played = site.ok(path, ask.clone()).await;
        let made = played["tokens"].as_array().unwrap().len();
        let events = played["events"].as_array().unwrap().len();
        assert_eq!(events, if made > 2 { 0 } else { made });
        if played["game"]["turn"] == "over" {
            return played;
        }
    }
    panic!("the game does not end");
}

#[tokio::test]
async fn every_game_on_every_board_is_played_to_its_end_by_hand() {
    let site = Site::new();
    let (_, meta) = site.get("/api/v1/meta").await;
    assert_eq!(meta["games"].as_array().unwrap().len(), 6);
    for game in meta["games"].as_array().unwrap() {
        for board in ["2x2", "2x3", "3x2", "4x4", "5x5"] {
            let new = json!({ "game": game["name"], "board": board, "seed": 3 });
            let mut played = site.ok("/api/v1/games", new).await;
            let path = format!("/api/v1/games/{}/slide", id(&played));
            for _ in 0..40 {
                let Some(direction) = legal(&played["game"]).first().copied() else {
                    break;
                };
                let before = played["game"]["made"].clone();
                played = site.ok(&path, json!({ "direction": direction })).await;
                let events = played["events"].as_array().unwrap();
                assert_eq!(events[0]["event"], "slide");
                assert_eq!(events[1]["event"], "spawn");
                assert_eq!(played["tokens"].as_array().unwrap().len(), 2, "{before}");
            }
            assert!(
                played["game"]["moves"].as_u64() > Some(0) || board == "2x2",
                "{game}"
            );
        }
    }
    site.refused(400, "/api/v1/games", json!({ "game": "chess" }))
        .await;
    site.refused(400, "/api/v1/games", json!({ "board": "6x6" }))
        .await;
    site.refused(404, "/api/v1/games/nosuch/undo", json!({}))
        .await;
}

#[tokio::test]
async fn undo_redo_and_records() {
    let site = Site::new();
    let played = site.ok("/api/v1/games", json!({ "seed": 1 })).await;
    let first = played["game"]["cells"].clone();
    let id = id(&played);
    let path = |what: &str| format!("/api/v1/games/{id}/{what}");
    let direction = legal(&played["game"])[0];
    let moved = site
        .ok(&path("slide"), json!({ "direction": direction }))
        .await;
    assert_eq!(moved["game"]["moves"], 1);
    let undone = site.ok(&path("undo"), json!({})).await;
    assert_eq!(
        (&undone["game"]["cells"], &undone["game"]["made"]),
        (&first, &json!(2))
    );
    assert_eq!(undone["game"]["actions"], 4);
    // Initial tiles that came by chance stay.
    let message = site.refused(409, &path("undo"), json!({})).await;
    assert!(message.contains("nothing to undo"), "{message}");
    let redone = site.ok(&path("redo"), json!({})).await;
    assert_eq!(redone["game"]["cells"], moved["game"]["cells"]);
    let message = site.refused(409, &path("redo"), json!({})).await;
    assert!(message.contains("nothing to redo"));
    let wrong = site
        .refused(400, &path("slide"), json!({ "direction": "north" }))
        .await;
    assert!(wrong.contains("`north`"));
    // The actions begin the same game again.
    let (_, now) = site.get(path("").trim_end_matches('/')).await;
    assert_eq!(now["game"]["cells"], moved["game"]["cells"]);
    let all = [&played["tokens"], &moved["tokens"]];
    let tokens = all.iter().flat_map(|it| it.as_array().unwrap());
    let actions: String = tokens.map(|token| token.as_str().unwrap()).collect();
    let again = site
        .ok("/api/v1/games", json!({ "actions": actions }))
        .await;
    assert_eq!(again["game"]["cells"], moved["game"]["cells"]);
    let (status, record) = site
        .send(request("GET", &path("record")).body(Body::empty()).unwrap())
        .await;
    assert_eq!(status, 200);
    assert!(String::from_utf8(record).unwrap().contains('|'));
    let call = request("DELETE", &format!("/api/v1/games/{id}"));
    assert_eq!(site.send(call.body(Body::empty()).unwrap()).await.0, 204);
    site.refused(404, &path("undo"), json!({})).await;
}

#[tokio::test]
async fn undo_and_redo_go_to_any_move() {
    let site = Site::new();
    let played = site.ok("/api/v1/games", json!({ "seed": 1 })).await;
    let first = played["game"]["cells"].clone();
    let id = id(&played);
    let path = |what: &str| format!("/api/v1/games/{id}/{what}");
    let moves = json!({ "moves": 50, "model": "greedy" });
    let last = site.ok(&path("auto"), moves).await;
    assert_eq!(last["game"]["moves"], 50);
    let undone = site.ok(&path("undo"), json!({ "to": 0 })).await;
    assert_eq!(
        (&undone["game"]["cells"], &undone["game"]["made"]),
        (&first, &json!(2))
    );
    let middle = site.ok(&path("redo"), json!({ "to": 20 })).await;
    assert_eq!(middle["game"]["moves"], 20);
    assert_eq!(middle["game"]["turn"], "slide");
    assert_eq!(middle["tokens"].as_array().unwrap().len(), 40);
    let end = site.ok(&path("redo"), json!({ "to": 1_000_000 })).await;
    assert_eq!(end["game"]["cells"], last["game"]["cells"]);
    assert_eq!(end["events"], json!([]));
    site.refused(409, &path("redo"), json!({ "to": 60 })).await;
    site.refused(409, &path("undo"), json!({ "to": 50 })).await;
    site.refused(400, &path("undo"), json!({ "to": -1 })).await;
    // Without a body one move is taken back.
    let call = request("POST", &path("undo")).body(Body::empty()).unwrap();
    let (status, undone) = site.json(call).await;
    assert_eq!(
        (status.as_u16(), &undone["game"]["moves"]),
        (200, &json!(49))
    );
}

#[tokio::test]
async fn models_that_are_not_there_or_have_no_values_are_told() {
    let site = Site::trained();
    let new = json!({ "board": "2x3", "seed": 1 });
    let played = site.ok("/api/v1/games", new).await;
    let id = id(&played);
    let gone = json!({ "moves": 1, "model": "gone-run" });
    let (status, answer) = site.post(&format!("/api/v1/games/{id}/auto"), gone).await;
    assert_eq!(
        (status.as_u16(), &answer["error"]),
        (404, &json!("no-such-model"))
    );
    let direction = legal(&played["game"])[0];
    let slide = format!("/api/v1/games/{id}/slide");
    let worst = json!({ "direction": direction, "spawns": "worst", "model": "random" });
    let message = site.refused(400, &slide, worst).await;
    assert!(
        message.contains("cannot choose the worst tile"),
        "{message}"
    );
    let (_, now) = site.get(&format!("/api/v1/games/{id}")).await;
    assert_eq!(now["game"]["moves"], 0, "the slide was not made");
    let redo = format!("/api/v1/games/{id}/redo");
    let (status, answer) = site.post(&redo, json!({})).await;
    assert_eq!(status, 409, "the slide cannot be made again: {answer}");
    let auto = format!("/api/v1/games/{id}/auto");
    let worst = json!({ "moves": 5, "spawns": "worst", "model": "random" });
    site.refused(400, &auto, worst.clone()).await;
    let (_, now) = site.get(&format!("/api/v1/games/{id}")).await;
    assert_eq!(now["game"]["made"], 2, "no slide is left without its tile");
    let (status, answer) = site.post(&redo, json!({})).await;
    assert_eq!(status, 409, "{answer}");
    // What was undone before remains.
    let undo = format!("/api/v1/games/{id}/undo");
    site.ok(
        &format!("/api/v1/games/{id}/slide"),
        json!({ "direction": direction }),
    )
    .await;
    site.ok(&undo, json!({})).await;
    site.refused(400, &auto, worst).await;
    site.ok(&redo, json!({})).await;
    let other = site
        .ok("/api/v1/games", json!({ "board": "3x3", "seed": 1 }))
        .await;
    let direction = legal(&other["game"])[0];
    let best = json!({ "direction": direction, "spawns": "best" });
    let slide = format!("/api/v1/games/{}/slide", crate::games::id(&other));
    let message = site.refused(404, &slide, best).await;
    assert!(
        message.contains("3x3, by whose values the best tile"),
        "{message}"
    );
    // Actions that are none are no new game.
    site.refused(400, "/api/v1/games", json!({ "actions": "|x|" }))
        .await;
}

#[tokio::test]
async fn tiles_come_by_hand() {
    let site = Site::new();
    let played = site.ok("/api/v1/games", json!({ "manual": true })).await;
    assert_eq!(played["game"]["turn"], "spawn");
    assert_eq!(played["game"]["spawns"].as_array().unwrap().len(), 32);
    let path = |what: &str| format!("/api/v1/games/{}/{what}", id(&played));
    site.ok(&path("spawn"), json!({ "cell": 0, "tile": 2 }))
        .await;
    let message = site
        .refused(409, &path("spawn"), json!({ "cell": 0, "tile": 2 }))
        .await;
    assert!(message.contains("not empty"), "{message}");
    for tile in [7, 8] {
        let message = site
            .refused(409, &path("spawn"), json!({ "cell": 1, "tile": tile }))
            .await;
        assert!(message.contains("possible tiles are 2, 4"), "{message}");
    }
    let hinted = json!({ "cell": 1, "tile": 2, "hint": "1" });
    let message = site.refused(409, &path("spawn"), hinted).await;
    assert!(message.contains("leave out `hint`"), "{message}");
    site.refused(409, &path("spawn"), json!({ "cell": 99, "tile": 2 }))
        .await;
    site.refused(400, &path("spawn"), json!({ "cell": 1 }))
        .await;
    let played = site
        .ok(&path("spawn"), json!({ "cell": 1, "tile": 4 }))
        .await;
    assert_eq!(played["game"]["cells"][1], 4);
    // Initial tiles that were placed by hand are taken back one by one.
    let undone = site.ok(&path("undo"), json!({})).await;
    assert_eq!(
        (&undone["game"]["cells"][1], &undone["game"]["made"]),
        (&json!(0), &json!(1))
    );
    site.ok(&path("redo"), json!({})).await;
    let slid = json!({ "direction": "down", "spawns": "manual" });
    let played = site.ok(&path("slide"), slid).await;
    assert_eq!(played["game"]["turn"], "spawn");
    assert_eq!(played["events"][0]["to"][0], 12);
    // The next tile of Threes! that is shown is chosen with the one that comes.
    let new = json!({ "game": "threes-original", "seed": 5 });
    let played = site.ok("/api/v1/games", new).await;
    let path = |what: &str| format!("/api/v1/games/{}/{what}", id(&played));
    let slid = json!({ "direction": legal(&played["game"])[0], "spawns": "manual" });
    let due = site.ok(&path("slide"), slid).await;
    let spawn = &due["game"]["spawns"][0];
    let chosen = json!({ "cell": spawn["cell"], "tile": spawn["tile"], "hint": spawn["hint"] });
    let placed = site.ok(&path("spawn"), chosen).await;
    assert_eq!(placed["game"]["hint"], spawn["hint"]);
    let placed = site
        .refused(409, &path("spawn"), json!({ "cell": 0, "tile": 1 }))
        .await;
    assert!(placed.contains("where a slide is due"), "{placed}");
}

#[tokio::test]
async fn a_model_plays_and_chooses_spawns() {
    let site = Site::trained();
    let new = json!({ "board": "2x3", "seed": 1 });
    let played = site.ok("/api/v1/games", new.clone()).await;
    let path = format!("/api/v1/games/{}/auto", id(&played));
    let one = site.ok(&path, json!({ "search": "2ply" })).await;
    assert_eq!(one["game"]["moves"], 1);
    assert_eq!(one["events"].as_array().unwrap().len(), 2);
    play_out(&site, &path, json!({ "moves": 5000, "model": "small" })).await;
    site.refused(400, &path, json!({ "moves": 0 })).await;
    // The worst spawns end games earlier than the best, over the same moves of a model.
    let mut scores = Vec::new();
    for spawns in ["worst", "best"] {
        let mut sum = 0;
        for seed in 0..8 {
            let new = json!({ "board": "2x3", "seed": seed });
            let played = site.ok("/api/v1/games", new).await;
            let path = format!("/api/v1/games/{}/auto", id(&played));
            let ask = json!({ "moves": 5000, "spawns": spawns });
            let end = play_out(&site, &path, ask).await;
            sum += end["game"]["score"].as_u64().unwrap();
        }
        scores.push(sum);
    }
    assert!(scores[0] < scores[1], "{scores:?}");
    // No run plays this board, and no network in the program.
    let other = json!({ "board": "3x4" });
    let other = site.ok("/api/v1/games", other).await;
    let path = format!("/api/v1/games/{}/auto", id(&other));
    let message = site.refused(404, &path, json!({})).await;
    assert!(message.contains("2048"), "{message}");
    let (status, answer) = site.post(&path, json!({ "model": "small" })).await;
    assert_eq!(
        (status.as_u16(), &answer["error"]),
        (400, &json!("other-game"))
    );
    let message = answer["message"].as_str().unwrap();
    assert!(message.contains("plays 2048 on 2x3"), "{message}");
    let random = site
        .ok(&path, json!({ "model": "random", "moves": 3 }))
        .await;
    let moves = random["game"]["moves"].as_u64().unwrap();
    assert!((1..=3).contains(&moves), "{moves} moves");
}

#[tokio::test]
async fn boards_are_read_and_analysed() {
    let site = Site::trained();
    let read = site
        .ok("/api/v1/position", json!({ "position": "2 2 .\n. 4 ." }))
        .await;
    assert_eq!(
        (&read["board"], &read["position"]),
        (&json!("2x3"), &json!("2,2,0/0,4,0"))
    );
    site.refused(400, "/api/v1/position", json!({ "position": "2 3\n4 5" }))
        .await;
    let ask = json!({ "position": "2,2,0/0,4,0", "lines": true, "rollouts": 20 });
    let found = site.ok("/api/v1/analyze", ask).await;
    let moves = found["analysis"]["moves"].as_array().unwrap();
    assert_eq!(moves.len(), 4);
    let best = found["analysis"]["best"].as_str().unwrap();
    let best = moves.iter().find(|one| one["direction"] == best).unwrap();
    assert_eq!(
        (&best["grade"], &best["loss"]),
        (&json!("best"), &json!(0.0))
    );
    assert!(best["line"].as_array().unwrap().len() > 1);
    assert!(best["chances"].as_array().unwrap().len() == 3, "{best}");
    assert_eq!(
        found["analysis"]["model"]["path"], "small",
        "no path is shown"
    );
    let deeper = json!({ "position": "2,2,0/0,4,0", "search": "4ply" });
    let deeper = site.ok("/api/v1/analyze", deeper).await;
    assert_eq!(deeper["analysis"]["search"], "4ply");
    let over = json!({ "position": "2,4,8/4,8,2" });
    let over = site.ok("/api/v1/analyze", over).await;
    assert_eq!(over["analysis"]["best"], Value::Null);
    let none = json!({ "position": "2,2/0,4" });
    assert!(!site.refused(404, "/api/v1/analyze", none).await.is_empty());
}

/// A game that a model has played, as a record.
async fn record(site: &Site) -> String {
    let played = site
        .ok("/api/v1/games", json!({ "board": "2x3", "seed": 2 }))
        .await;
    let path = format!("/api/v1/games/{}", id(&played));
    let ask = json!({ "moves": 5000, "model": "greedy" });
    play_out(site, &format!("{path}/auto"), ask).await;
    let call = request("GET", &format!("{path}/record"))
        .body(Body::empty())
        .unwrap();
    String::from_utf8(site.send(call).await.1).unwrap()
}

#[tokio::test]
async fn games_are_reviewed_and_judged() {
    let site = Site::trained();
    let record = record(&site).await;
    let text = |path: &str, text: &str| {
        let call = request("POST", path).header("Content-Type", "text/plain");
        call.body(Body::from(text.to_owned())).unwrap()
    };
    let (status, review) = site.json(text("/api/v1/review", &record)).await;
    assert_eq!(status, 200, "{review}");
    let game = &review["games"][0];
    let (moves, positions) = (&game["moves"], &game["positions"]);
    let count = moves.as_array().unwrap().len();
    assert_eq!(positions.as_array().unwrap().len(), count + 1);
    assert_eq!(positions[count]["score"], game["score"]);
    assert!(moves[0]["grade"].is_string() && positions[0]["value"].is_number());
    let (status, report) = site.json(text("/api/v1/judge?games=1", &record)).await;
    assert_eq!(
        (status.as_u16(), &report["passed"]),
        (200, &json!(true)),
        "{report}"
    );
    let forged = record.replacen('#', "#X", 1);
    let (status, report) = site.json(text("/api/v1/judge", &forged)).await;
    assert!(status == 400 || report["passed"] == false, "{report}");
    for body in ["", "nonsense", "\0\u{1}"] {
        let (status, answer) = site.json(text("/api/v1/review", body)).await;
        // What follows no rules may be meant as 2048, of which there is no model here.
        assert!(status == 400 || status == 404, "{answer}");
        assert!(answer["message"].is_string());
    }
    let many = record.repeat(51);
    let (status, answer) = site.json(text("/api/v1/review", &many)).await;
    assert_eq!(status, 400, "{answer}");
}

/// Without a run the network in the program answers, by its name; without one there is no model.
#[tokio::test]
async fn the_network_in_the_program_answers_where_there_is_no_run() {
    let site = Site::new();
    let (_, models) = site.get("/api/v1/models").await;
    let boxed: Vec<&str> = models
        .as_array()
        .unwrap()
        .iter()
        .filter(|one| one["kind"] == "box")
        .map(|one| one["id"].as_str().unwrap())
        .collect();
    let all: Vec<String> = afterstate_lab::boxed::all()
        .map(|it| it.path().display().to_string())
        .collect();
    assert_eq!(boxed, all);
    let ask = |model: Option<&str>| json!({ "position": "1024,512,8,2/256,64,4,0/2,0,0,0/0,2,0,0", "model": model });
    let four = afterstate_lab::boxed::of("2048", afterstate::game::Shape::FOUR);
    let Some(four) = four else {
        let message = site.refused(404, "/api/v1/analyze", ask(None)).await;
        assert!(message.contains("no model"), "{message}");
        return;
    };
    let name = four.path().display().to_string();
    for model in [None, Some(&*name)] {
        let found = site.ok("/api/v1/analyze", ask(model)).await;
        assert_eq!(found["analysis"]["model"]["path"], name.as_str());
    }
}

/// Files that the command line has named: a model and a solution, whose values stand beside learned ones.
#[tokio::test]
async fn files_are_models_too() {
    let folder = tempfile::tempdir().unwrap();
    crate::train(&folder.path().join("runs/small"));
    let file = folder.path().join("mine.safetensors");
    std::fs::rename(folder.path().join("runs/small/model.safetensors"), &file).unwrap();
    std::fs::remove_dir_all(folder.path().join("runs")).unwrap();
    let fixture = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../cli/tests/fixtures/format1/solution.safetensors");
    let config = afterstate_web::Config {
        models: vec![file.clone(), fixture.clone(), fixture],
        ..afterstate_web::Config::new(folder.path().join("runs"))
    };
    let app = afterstate_web::AppState::new(&config).unwrap();
    let site = Site { folder, app };
    let (_, models) = site.get("/api/v1/models").await;
    let kinds: Vec<(&Value, &Value)> = models
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (&one["id"], &one["kind"]))
        .take(3)
        .collect();
    let expected = [
        (json!("mine.safetensors"), json!("file")),
        (json!("solution.safetensors"), json!("solution")),
        (json!("solution.safetensors'"), json!("solution")),
    ];
    assert_eq!(kinds, expected.each_ref().map(|(a, b)| (a, b)));
    assert_eq!(
        (&models[0]["board"], &models[0]["trained"]),
        (&json!("2x3"), &json!(300))
    );
    let ask = json!({ "position": "2,2,0/0,4,0", "model": "mine.safetensors" });
    let found = site.ok("/api/v1/analyze", ask).await;
    assert_eq!(found["analysis"]["model"]["path"], "mine.safetensors");
    let (game, board) = (&models[1]["game"], &models[1]["board"]);
    let begun = site
        .ok(
            "/api/v1/games",
            json!({ "game": game, "board": board, "seed": 1 }),
        )
        .await;
    let ask = json!({ "game": game, "position": begun["game"]["position"], "model": "solution.safetensors" });
    let found = site.ok("/api/v1/analyze", ask).await;
    assert!(found["analysis"]["best"].is_string(), "{found}");

    let config = afterstate_web::Config {
        models: vec![site.folder.path().join("none")],
        ..config
    };
    let error = afterstate_web::AppState::new(&config)
        .err()
        .unwrap()
        .to_string();
    assert!(error.contains("none"), "{error}");
}
