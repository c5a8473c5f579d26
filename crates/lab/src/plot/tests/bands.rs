//! Bands around curves that are means over several runs.

use super::*;

/// A curve of three blocks with these mean scores, 10 games each.
fn scored(means: [u64; 3]) -> Curve {
    let point = |(number, score): (u64, u64)| {
        let mut tally = Tally::default();
        let game = Outcome {
            score,
            moves: 1,
            largest: if score > 250 { 64 } else { 32 },
            ..Outcome::default()
        };
        (0..10).for_each(|_| tally.add(&game));
        let games = 10 * (number + 1);
        Point { games, tally }
    };
    Curve {
        points: (0..3).zip(means).map(point).collect(),
        ..Curve::default()
    }
}

/// The mean of these, as a sweep makes it.
fn mean_of(label: &str, seeds: &[[u64; 3]]) -> Curve {
    let seeds: Vec<Curve> = seeds.iter().map(|&means| scored(means)).collect();
    let mut mean = seeds[0].clone();
    for other in &seeds[1..] {
        let pairs = mean.points.iter_mut().zip(&other.points);
        pairs.for_each(|(point, more)| point.tally.merge(&more.tally));
    }
    Curve {
        label: label.to_owned(),
        seeds,
        ..mean
    }
}

/// The areas of a scene that let others through.
fn veils(scene: &Scene) -> Vec<Vec<(f32, f32)>> {
    let shapes = scene.shapes.iter();
    let veil = |shape: &SceneShape| match shape {
        SceneShape::Area {
            points, opacity, ..
        } if *opacity < 1.0 => Some(points.clone()),
        _ => None,
    };
    shapes.filter_map(veil).collect()
}

/// Two seeds: the band runs along the higher one and back along the lower one.
#[test]
fn a_band_is_where_its_values_are() {
    let two = mean_of("two", &[[100, 200, 300], [200, 400, 100]]);
    let [score, win, end] = scenes(&[two], "Title");
    let [band] = &veils(&score)[..] else {
        panic!("one band");
    };
    // The scale ends at 400, the highest end of the band, and begins at the bottom of the frame.
    let (top, bottom) = (chart::HEADING, band.iter().map(|p| p.1).fold(0.0, f32::max));
    assert_eq!(band.len(), 6);
    let heights: Vec<f32> = band.iter().map(|point| point.1).collect();
    let highest = heights.iter().copied().fold(f32::MAX, f32::min);
    assert!(highest > top && highest == heights[1], "{heights:?}");
    // 200 and 300 above, 100 below: steps of a quarter of the frame's height.
    let step = heights[5] - heights[0];
    assert!((heights[5] - bottom).abs() < 1e-3 && (heights[3] - bottom).abs() < 1e-3);
    assert!((heights[4] - (bottom - step)).abs() < 0.1, "{heights:?}");
    assert!(
        (heights[2] - (bottom - 2.0 * step)).abs() < 0.1,
        "{heights:?}"
    );
    assert!((highest - (bottom - 3.0 * step)).abs() < 0.1, "{heights:?}");
    let about = "score: mean of 2 seeds with their range (each 20 games)";
    assert!(texts(&score).contains(&about), "{:?}", texts(&score));
    assert!(!veils(&win).is_empty() && !veils(&end).is_empty());
}

/// The interval of three seeds, and several variants in one frame.
#[test]
fn headings_and_bands_of_several_variants() {
    let letters = Letters::new().unwrap();
    let curves = [
        mean_of("a", &[[100, 200, 300], [110, 210, 310], [120, 220, 320]]),
        mean_of("b", &[[50, 60, 70], [150, 260, 370], [10, 20, 30]]),
    ];
    for scene in scenes(&curves, "Title") {
        assert!(misplaced(&scene, &letters).is_empty());
        assert!(veils(&scene).len() >= 2);
        let said = texts(&scene)
            .iter()
            .any(|text| text.contains("3 seeds with a 95% band"));
        assert!(said, "{:?}", texts(&scene));
    }
    let svg = svg::render(&scenes(&curves, "Title")[0]);
    assert_eq!(svg.matches("fill-opacity=\"0.2\"").count(), 2);
    // Plain runs have neither.
    let plain = [curve("a", 3, 20), curve("b", 3, 20)];
    assert!(
        scenes(&plain, "")
            .iter()
            .all(|scene| veils(scene).is_empty())
    );
}

/// Seeds that do not fit to their mean are drawn as far as they do.
#[test]
fn other_blocks_are_left_out() {
    let mut odd = mean_of("odd", &[[100, 200, 300], [200, 400, 100]]);
    odd.seeds[1].points.truncate(1);
    odd.seeds[0].points[2].games = 999;
    let home = tempfile::tempdir().unwrap();
    draw(&[odd.clone()], "", home.path()).unwrap();
    // Counts of a seed are checked as those of a run are.
    odd.seeds[0].points[0].tally.ended.insert(8, 99);
    let refused = draw(&[odd], "", home.path());
    assert!(matches!(refused, Err(PlotError::Counts { .. })));
}
