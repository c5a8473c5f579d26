//! Explanations and lessons.

use afterstate_lab::control::Control;
use afterstate_lab::recipe::Recipe;
use afterstate_lab::trainer::Trainer;
use serde_json::{Value, json};

use crate::Site;

fn number(value: &Value) -> f64 {
    let found = value.as_f64();
    found.unwrap_or_else(|| panic!("{value} is no number"))
}

#[tokio::test]
async fn a_value_is_the_sum_of_its_lookups() {
    let site = Site::trained();
    let ask = json!({ "position": "2,2,0/0,4,0", "direction": "left" });
    let found = site.ok("/api/v1/explain", ask).await;
    assert_eq!(found["value_of"], "afterstate");
    assert_eq!(found["cells"], json!([4, 0, 0, 4, 0, 0]));
    let lookups = found["lookups"].as_array().unwrap();
    assert_eq!(lookups.len(), 8, "two tuples under four symmetries");
    let sum: f64 = lookups
        .iter()
        .map(|it| it["weight"].as_f64().unwrap())
        .sum();
    assert!((sum - found["sum"].as_f64().unwrap()).abs() < 1e-6);
    let analysis = json!({ "position": "2,2,0/0,4,0" });
    let analysis = site.ok("/api/v1/analyze", analysis).await;
    let value = analysis["analysis"]["moves"][3]["value"].as_f64().unwrap();
    assert!((sum - value).abs() < 0.01, "{sum} {value}");
    let illegal = json!({ "position": "2,4,8/4,8,0", "direction": "left" });
    let message = site.refused(409, "/api/v1/explain", illegal).await;
    assert!(message.contains("illegal"), "{message}");
    let random = json!({ "position": "2,2,0/0,4,0", "model": "random" });
    let message = site.refused(409, "/api/v1/explain", random).await;
    assert!(message.contains("no tuples"), "{message}");
    let over = json!({ "position": "2,4,8/4,8,2" });
    site.refused(409, "/api/v1/explain", over).await;
}

#[tokio::test]
async fn lessons_have_every_number() {
    let site = Site::new();
    let found = site
        .ok("/api/v1/lesson", json!({ "games": 5, "value": "state" }))
        .await;
    let step = &found["steps"][0];
    assert!(step["update"]["weights"][0]["before"].is_number());
    assert!(step["update"]["exact"].is_number(), "2x3 is solved");
    let chances = step["spawns"].as_array().unwrap().iter();
    let sum: f64 = chances.map(|spawn| spawn["chance"].as_f64().unwrap()).sum();
    assert!((sum - 1.0).abs() < 1e-9);
    site.refused(400, "/api/v1/lesson", json!({ "nosuch": 1 }))
        .await;
    site.refused(400, "/api/v1/lesson", json!({ "games": 1e9 as u64 }))
        .await;
}

/// The value of a slide of a network of states is the mean over the states that may follow, and the
/// exact value of the state is the best exact total.
#[tokio::test]
async fn states_are_explained_by_those_that_follow() {
    let site = Site::new();
    let set = [
        "board=2x3",
        "tuples=012 0134",
        "episodes=200",
        "threads=1",
        "value=state",
    ];
    let recipe = Recipe::load("quick", &set.map(str::to_owned)).unwrap();
    let folder = site.folder.path().join("states");
    let mut trainer = Trainer::new(recipe, &folder, &Control::new()).unwrap();
    trainer.train().unwrap();
    let position = "2,2,0/0,4,0";
    let ask = json!({ "position": position });
    let analysis = site.ok("/api/v1/analyze", ask).await;
    let (mut exact, mut totals) = (Vec::new(), Vec::new());
    for one in analysis["analysis"]["moves"].as_array().unwrap() {
        if one["legal"] == false {
            continue;
        }
        let ask = json!({ "position": position, "direction": one["direction"], "exact": true });
        let found = site.ok("/api/v1/explain", ask).await;
        assert_eq!(found["value_of"], "state");
        assert_eq!(found["cells"], json!([2, 2, 0, 0, 4, 0]));
        let spawns = found["spawns"].as_array().unwrap();
        let mean: f64 = spawns
            .iter()
            .map(|spawn| number(&spawn["chance"]) * number(&spawn["value"]))
            .sum();
        assert!((mean - number(&one["value"])).abs() < 0.01);
        assert!((number(&found["value"]) - number(&one["value"])).abs() < 1e-4);
        assert!((number(&found["total"]) - number(&one["total"])).abs() < 1e-4);
        exact.push(number(&found["exact"]));
        totals.push(number(&found["exact_total"]));
    }
    let best = totals.iter().copied().reduce(f64::max).unwrap();
    assert!(totals.iter().any(|total| *total < best), "{totals:?}");
    let same = exact.iter().all(|value| (value - best).abs() < 1e-6);
    assert!(same, "{exact:?} {totals:?}");
}

/// Exact values stand beside learned ones of Threes! on 2x3, too.
#[tokio::test]
async fn lessons_of_threes_have_exact_values() {
    let site = Site::new();
    let ask = json!({ "game": "threes", "board": "2x3", "games": 3 });
    let found = site.ok("/api/v1/lesson", ask).await;
    for step in found["steps"].as_array().unwrap() {
        assert!(step["update"]["exact"].is_number(), "{step}");
    }
    let ask = json!({ "board": "4x4", "games": 20_000 });
    let message = site.refused(400, "/api/v1/lesson", ask).await;
    assert!(message.contains("at most 5000"), "{message}");
}
