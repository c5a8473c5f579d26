//! Learning from a replay buffer.

use super::*;
use crate::curve::ReplayPoint;

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
