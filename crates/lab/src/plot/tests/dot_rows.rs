//! Rows of things that are compared.

use crate::plot::letters::Letters;
use crate::plot::scale::{AxisUnit, Scale};
use crate::plot::scene::{Scene, SceneShape};
use crate::plot::{self, DotRow, PlotError, RowColour, pages};

pub(super) fn scene(dot_rows: &[DotRow], title: &str) -> Scene {
    pages::dot_rows(dot_rows, title, "what it shows", &Letters::new().unwrap())
}

fn dot_row(label: &str, dots: &[f64], interval: Option<[f64; 2]>) -> DotRow {
    let mean = dots.iter().sum::<f64>() / dots.len() as f64;
    DotRow {
        label: label.to_owned(),
        dots: dots.to_vec(),
        mean: (!dots.is_empty()).then_some(mean),
        interval,
        value: format!("{mean:.1}"),
        remark: "not shown, 12 diverged".to_owned(),
        colour: RowColour::Plain,
    }
}

/// Rows of all sizes, with names of all lengths.
pub(super) fn cases(long: &str) -> Vec<Vec<DotRow>> {
    vec![
        vec![dot_row("", &[], None)],
        vec![dot_row("one", &[5.0], None), dot_row("none", &[], None)],
        vec![dot_row("equal", &[7.0, 7.0], Some([7.0, 7.0]))],
        vec![
            dot_row(long, &[60.2, 60.4], Some([59.9, 60.7])),
            dot_row("b", &[60.1], None),
        ],
        vec![dot_row("wide", &[1e6, 2e6], Some([-5e6, 8e6]))],
        (0..100)
            .map(|i| dot_row(&format!("{i}"), &[1e4 + f64::from(i), 1e4], None))
            .collect(),
    ]
}

/// The places of all dots of one radius.
fn dots(scene: &Scene, wanted: f32) -> Vec<(f32, f32)> {
    let dot = |shape: &SceneShape| match shape {
        SceneShape::Dot { at, radius, .. } if *radius == wanted => Some(*at),
        _ => None,
    };
    scene.shapes.iter().filter_map(dot).collect()
}

#[test]
fn numbers_are_where_the_scale_says() {
    let dot_rows = [
        dot_row("first", &[100.0, 200.0], Some([100.0, 200.0])),
        dot_row("second", &[150.0], None),
    ];
    let scene = scene(&dot_rows, "t");
    let (single, means) = (dots(&scene, 5.5), dots(&scene, 9.0));
    let [low, high, middle] = single[..] else {
        panic!("{single:?}");
    };
    // 150 is half way from 100 to 200, and both means are there, one row below the other.
    assert!((low.0 + high.0 - 2.0 * middle.0).abs() < 0.01, "{single:?}");
    assert!(low.0 < high.0 && low.1 == high.1 && low.1 < middle.1);
    assert!(means.iter().all(|mean| (mean.0 - middle.0).abs() < 0.01));
    // The line of the first mean goes through all rows.
    let through = scene.shapes.iter().any(|shape| match shape {
        SceneShape::Line { points, stroke } if stroke.dash.is_some() => {
            (points[0].0 - means[0].0).abs() < 0.01 && points[0].1 < low.1 && points[1].1 > middle.1
        }
        _ => false,
    });
    assert!(through, "no line at the first mean");
}

/// Half of an interval below 0 has no place, and no end either.
#[test]
fn an_interval_that_is_cut_has_one_mark() {
    let marks = |interval| {
        let scene = scene(&[dot_row("a", &[1.0, 2.0], Some(interval))], "t");
        let upright = |shape: &&SceneShape| match shape {
            SceneShape::Line { points, stroke } => {
                stroke.width == 4.5 && points[0].0 == points[1].0
            }
            _ => false,
        };
        scene.shapes.iter().filter(upright).count()
    };
    assert_eq!(marks([0.5, 2.5]), 2);
    assert_eq!(marks([-0.5, 2.5]), 1);
}

#[test]
fn scales_begin_near_their_values() {
    let spanning = |values: &[f64]| Scale::spanning(values.iter().copied(), 6);
    let (min, max) = (60.2, 60.8);
    match spanning(&[min, max]) {
        Scale::Between {
            min: low,
            max: high,
        } => {
            assert!(
                low > 60.0 && low <= min && high >= max && high < 61.0,
                "{low} {high}"
            );
        }
        other => panic!("{other:?}"),
    }
    let ticks = spanning(&[min, max]).ticks(6, AxisUnit::Points);
    let mut numbers: Vec<String> = ticks.into_iter().filter_map(|tick| tick.number).collect();
    let count = numbers.len();
    numbers.dedup();
    assert!(count > 3 && numbers.len() == count, "{numbers:?}");
    // Nothing is below 0, nor are there scales without length.
    assert_eq!(
        spanning(&[-40.0, 60.0]),
        Scale::Between {
            min: 0.0,
            max: 60.0
        }
    );
    assert!(spanning(&[0.0, 0.0]).place(0.0).is_finite());
    assert_eq!(spanning(&[]), Scale::Linear { max: 1.0 });
}

#[test]
fn rows_are_drawn_into_two_files() {
    let home = tempfile::tempdir().unwrap();
    let rows = [dot_row("a", &[1.0, 2.0], Some([0.5, 2.5]))];
    let plot = plot::dot_rows(&rows, "t", "about", "sweep").unwrap();
    let files = plot::save(&[plot], home.path()).unwrap();
    let names = files
        .iter()
        .map(|file| file.file_name().unwrap().to_owned());
    assert_eq!(names.collect::<Vec<_>>(), ["sweep.png", "sweep.svg"]);
    assert!(matches!(
        plot::dot_rows(&[], "t", "about", "sweep"),
        Err(PlotError::NoRuns)
    ));
}
