//! Each report is equal when read back from JSON.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::compare::{Comparison, Side};
use crate::curve::{Curve, GapPoint, Point, RateChange, ReplayPoint};
use crate::report::{Evaluation, ModelInfo, TileRow};

fn check<T: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug>(report: &T) {
    let text = serde_json::to_string(report).unwrap();
    assert_eq!(serde_json::from_str::<T>(&text).unwrap(), *report, "{text}");
}

fn evaluation(model: Option<ModelInfo>) -> Evaluation {
    Evaluation {
        model,
        game: "2048".to_owned(),
        board: "4x4".to_owned(),
        games: 3,
        seed: u64::MAX,
        search: "1ply".to_owned(),
        mean: 1.0 / 3.0,
        mean_ci95: Some([0.1, 0.2]),
        median: 7.0,
        max: 1 << 60,
        moves: 0.1,
        moves_per_second: 1e6,
        tiles: vec![TileRow {
            tile: 2048,
            reach: 2.0 / 3.0,
            reach_ci95: [0.0, 1.0],
            end: 0.5,
        }],
    }
}

#[test]
fn evaluations_and_comparisons() {
    let model = ModelInfo {
        sha256: Some("ab".repeat(32)),
        path: "runs/quick/model.safetensors".to_owned(),
        game: "2048".to_owned(),
        board: "4x4".to_owned(),
        recipe: Some("quick (lambda=0.8)".to_owned()),
        trained: Some(30_000),
    };
    check(&evaluation(None));
    check(&evaluation(Some(model.clone())));
    for better in [None, Some(Side::A)] {
        check(&Comparison {
            a: evaluation(Some(model.clone())),
            b: evaluation(None),
            difference: -1e-9,
            difference_ci95: None,
            better,
            identical: better.is_none(),
        });
    }
}

#[test]
fn curves() {
    let mut point = Point::default();
    point.tally.ended.insert(2048, 3);
    let games = 100;
    check(&Curve {
        label: "my \"run\"".to_owned(),
        points: vec![point],
        rate_changes: vec![RateChange {
            games,
            learning_rate: 0.01,
        }],
        gaps: vec![GapPoint {
            games,
            relative: 0.1,
        }],
        replay: vec![ReplayPoint {
            games,
            loss: 1.0 / 3.0,
            ..ReplayPoint::default()
        }],
    });
    let bare: Curve = serde_json::from_str(r#"{"label":"a","points":[]}"#).unwrap();
    assert_eq!((bare.gaps, bare.replay), (Vec::new(), Vec::new()));
}
