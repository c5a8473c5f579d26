//! The plot of optimality gaps, and the scales it has to itself.

use super::super::scale::{AxisUnit, Scale};
use super::super::scene::{Scene, SceneShape};
use super::super::{chart, draw};
use super::{FILES, curve, dots, gap, measured, names, scenes, texts};

#[test]
fn a_measured_run_has_a_fourth_plot() {
    let home = tempfile::tempdir().unwrap();
    let run = measured("measured", &[(100, 0.5), (1000, 0.02)]);
    let paths = draw(&[curve("other", 3, 3), run], "", home.path()).unwrap();
    assert_eq!(paths.len(), 8);
    assert_eq!(names(home.path())[..2], ["gap.png", "gap.svg"]);
    assert_eq!(names(home.path())[2..], FILES);
    assert!(gap(&[curve("other", 3, 3)], "").is_none());
}

#[test]
fn the_gaps_of_measured_runs_are_drawn_in_their_colours() {
    let (first, second) = ([(100, 0.5), (1000, 0.02)], [(500, 0.00512)]);
    let curves = [
        curve("not measured", 3, 3),
        measured("first", &first),
        measured("second", &second),
    ];
    let scene = gap(&curves, "Title").unwrap();
    let texts = texts(&scene);
    for text in ["Title", "first", "2.00%", "second", "0.512%", "episodes"] {
        assert!(texts.contains(&text), "{text} in {texts:?}");
    }
    for text in ["50%", "1%", "100", "1,000"] {
        assert!(texts.contains(&text), "{text} in {texts:?}");
    }
    let about = "optimality gap: difference of the expected score to the optimum, in percent";
    assert!(texts.contains(&about));
    assert!(!texts.contains(&"not measured"));
    assert_eq!(dots(&scene), 3, "one for each measurement");
    let [score, ..] = scenes(&curves, "");
    for colour in dot_colours(&scene) {
        assert!(dot_colours(&score)[1..].contains(&colour));
    }
}

fn dot_colours(scene: &Scene) -> Vec<u32> {
    let colour = |shape: &SceneShape| match shape {
        SceneShape::Dot { colour, .. } => Some(colour.0),
        _ => None,
    };
    let mut colours: Vec<u32> = scene.shapes.iter().filter_map(colour).collect();
    colours.dedup();
    colours
}

#[test]
fn perfect_play_lies_at_the_bottom_of_the_scale() {
    let scene = gap(&[measured("", &[(10, 0.1), (20, 0.0), (30, -1e-12)])], "").unwrap();
    let height = |shape: &SceneShape| match shape {
        SceneShape::Dot { at, .. } => Some(at.1),
        _ => None,
    };
    let heights: Vec<f32> = scene.shapes.iter().filter_map(height).collect();
    let bottom = scene.height - chart::FOOT;
    assert!(heights[0] < bottom - 100.0, "{heights:?}");
    assert_eq!(heights[1..], [bottom, bottom]);
    assert!(texts(&scene).contains(&"0%"));
}

#[test]
fn every_power_of_ten_takes_the_same_room() {
    let scale = Scale::around([130.0, 1e6].into_iter());
    let (min, max) = (100.0, 1e6);
    assert_eq!(scale, Scale::Logarithmic { min, max });
    for (value, place) in [(1e2, 0.0), (1e3, 0.25), (1e4, 0.5), (1e6, 1.0), (0.0, 0.0)] {
        assert!((scale.place(value) - place).abs() < 1e-12, "{value}");
    }
}

fn numbers(values: [f64; 2], steps: usize, unit: AxisUnit) -> Vec<String> {
    let ticks = Scale::around(values.into_iter()).ticks(steps, unit);
    ticks.into_iter().filter_map(|tick| tick.number).collect()
}

#[test]
fn powers_of_ten_have_numbers_and_others_if_they_have_room() {
    let games = numbers([100.0, 1e6], 10, AxisUnit::Games);
    assert_eq!(games, ["100", "1,000", "10k", "100k", "1M"]);
    assert_eq!(numbers([3e4, 4e4], 10, AxisUnit::Games), ["30k", "40k"]);
    let gaps = numbers([0.006, 0.6], 12, AxisUnit::Share);
    assert_eq!(
        gaps,
        ["0.5%", "1%", "2%", "5%", "10%", "20%", "50%", "100%"]
    );
    let gaps = numbers([1e-5, 0.7], 12, AxisUnit::Share);
    assert_eq!(gaps, ["0.001%", "0.01%", "0.1%", "1%", "10%", "100%"]);
    let ticks = Scale::around([100.0, 1e6].into_iter()).ticks(10, AxisUnit::Games);
    assert_eq!(ticks.iter().filter(|tick| tick.thin).count(), 8);
}

/// Wherever a narrow range lies, and however little room there is.
#[test]
fn every_scale_has_two_numbers() {
    for least in 0..500 {
        let least = 1e-5 * 1.03_f64.powi(least);
        for range in [1.0, 1.001, 1.04, 1.3, 2.0, 4.9, 9.99, 12.0] {
            let ends = [least, range * least];
            let scale = Scale::around(ends.into_iter());
            let [low, high] = ends.map(|end| scale.place(end));
            assert!(low > -1e-6 && high < 1.0 + 1e-6, "{ends:?}: {scale:?}");
            for steps in [1, 3, 9, 12] {
                let mut numbers = numbers(ends, steps, AxisUnit::Share);
                numbers.dedup();
                assert!(numbers.len() > 1, "{ends:?}: {numbers:?}");
            }
        }
    }
    assert_eq!(numbers([0.61, 0.63], 12, AxisUnit::Share), ["60%", "80%"]);
    let gaps = numbers([0.24, 0.88], 12, AxisUnit::Share);
    assert_eq!(gaps, ["20%", "30%", "40%", "50%", "60%", "80%", "100%"]);
}
