//! Learning from a replay buffer.

use super::*;
use crate::curve::{AveragePoint, RateChange, ReplayPoint};

/// The running average, the loss and the values over the updates, of runs with a replay buffer.
#[test]
fn learning_from_a_replay_buffer_is_drawn() {
    let letters = Letters::new().unwrap();
    let mut curves = vec![
        measured("by games", &[(100, 0.5)]),
        measured("replay", &[(100, 0.5)]),
    ];
    assert!(pages::loss(&curves, "t", &letters).is_none());
    let study = |n: u64| ReplayPoint {
        games: 100 * n,
        loss: 10.0 / n as f64,
        value: n as f64 - 3.0,
        iterations: Some(100 * n),
        updates: 500 * n,
        running_average: 9.0 * n as f64,
    };
    curves[1].replay = (1..=700).map(study).collect();
    // Points are of three blocks, and block 700 is left for the last.
    for (scene, last) in [
        (pages::running_average(&curves, "t", &letters), ">6,300<"),
        (pages::loss(&curves, "t", &letters), ">0.0143<"),
        (pages::value(&curves, "t", &letters), ">697<"),
    ] {
        let svg = svg::render(&scene.unwrap());
        assert!(svg.contains(last), "{svg}");
        assert!(svg.contains("replay") && !svg.contains("by games"), "{svg}");
        // 700 blocks of 100 games and 500 updates.
        let axis = ">updates (350,000 in 70,000 iterations)<";
        assert!(svg.contains(axis) && svg.contains(">350k<"), "{svg}");
    }
    let folder = tempfile::tempdir().unwrap();
    let files = draw(&curves, "t", folder.path()).unwrap();
    assert_eq!(files.len(), 14);
    // A single block, and values that are all 0 or below.
    curves[1].replay = vec![ReplayPoint {
        games: 7,
        loss: 0.0,
        value: -2.0,
        iterations: None,
        updates: 0,
        running_average: 0.0,
    }];
    assert_eq!(draw(&curves, "t", folder.path()).unwrap().len(), 14);
}

/// A run that logs its iterations: every row is drawn over them, and the learning rate is marked.
#[test]
fn logged_averages_are_drawn_over_iterations() {
    let letters = Letters::new().unwrap();
    let mut curve = measured("replay", &[(100, 0.5)]);
    let block = |n: u64| ReplayPoint {
        games: 100 * n,
        loss: 10.0 / n as f64,
        value: n as f64,
        iterations: Some(1_000 * n),
        updates: 5_000 * n,
        running_average: 9.0 * n as f64,
    };
    curve.replay = (1..=10).map(block).collect();
    curve.rate_changes = vec![RateChange {
        games: 500,
        learning_rate: 0.01,
    }];
    let row = |n: u64| AveragePoint {
        iteration: 10 * n,
        running_average: if n == 777 { 123_456.0 } else { n as f64 },
    };
    curve.averages = (1..=1_000).map(row).collect();
    let of = |curves: &[Curve]| {
        let scene = pages::running_average(curves, "t", &letters).unwrap();
        assert_eq!(misplaced(&scene, &letters), Vec::<String>::new());
        svg::render(&scene)
    };
    let alone = of(&[curve.clone()]);
    // The single high row sets the scale.
    for part in [">iterations<", ">10k<", ">rate 0.01<", ">1,000<", ">125k<"] {
        assert!(alone.contains(part), "{part} in {alone}");
    }
    let loss = svg::render(&pages::loss(&[curve.clone()], "t", &letters).unwrap());
    assert!(
        loss.contains(">rate 0.01<") && loss.contains(">updates (50,000 in 10,000 iterations)<")
    );
    // Two runs have no marks, and a run without rows puts both over updates.
    let two = of(&[curve.clone(), curve.clone()]);
    assert!(two.contains(">iterations<") && !two.contains("rate 0.01"));
    let other = Curve {
        averages: Vec::new(),
        ..curve.clone()
    };
    assert!(of(&[curve, other]).contains(">updates<"));
}
