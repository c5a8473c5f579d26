//! Explanations and lessons.

use serde_json::json;

use crate::Site;

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
