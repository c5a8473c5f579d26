//! What was learned from memory.

use super::*;
use crate::plot::{StudyPoint, draw, svg};

/// Pictures of R4's average, the loss and the values over the updates, of those runs that learn from memory.
#[test]
fn what_was_learned_from_memory_is_drawn() {
    let letters = Letters::new().unwrap();
    let mut curves = vec![
        measured("by games", &[(100, 0.5)]),
        measured("from memory", &[(100, 0.5)]),
    ];
    assert!(picture::loss(&curves, "t", &letters).is_none());
    let study = |n: u64| StudyPoint {
        games: 100 * n,
        loss: 10.0 / n as f64,
        value: n as f64 - 3.0,
        updates: 500 * n,
        average: 9.0 * n as f64,
    };
    curves[1].studies = (1..=700).map(study).collect();
    // Points are of three blocks, and block 700 is left for the last.
    for (scene, last) in [
        (picture::average(&curves, "t", &letters), ">6,300<"),
        (picture::loss(&curves, "t", &letters), ">0.0143<"),
        (picture::value(&curves, "t", &letters), ">697<"),
    ] {
        let svg = svg::render(&scene.unwrap());
        assert!(svg.contains(last), "{svg}");
        assert!(
            svg.contains("from memory") && !svg.contains("by games"),
            "{svg}"
        );
        // 700 blocks of 100 games and 500 updates.
        assert!(svg.contains(">updates<") && svg.contains(">350k<"), "{svg}");
    }
    let folder = tempfile::tempdir().unwrap();
    let files = draw(&curves, "t", folder.path()).unwrap();
    assert_eq!(files.len(), 14);
    // A single block, and values that are all 0 or below.
    curves[1].studies = vec![StudyPoint {
        games: 7,
        loss: 0.0,
        value: -2.0,
        updates: 0,
        average: 0.0,
    }];
    assert_eq!(draw(&curves, "t", folder.path()).unwrap().len(), 14);
}
