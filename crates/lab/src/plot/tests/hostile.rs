//! Curves that no game has made: a library's caller may hand over anything.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::curve::ReplayPoint;
use crate::plot::{DotRow, RowColour, dot_rows, plots};

/// Any number, and now and then one that is not finite.
fn number() -> impl Strategy<Value = f64> {
    prop_oneof![
        4 => -1e6..1e6,
        2 => any::<f64>(),
        1 => prop::sample::select(vec![f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -0.0]),
    ]
}

/// Any count, mostly small ones.
fn count() -> impl Strategy<Value = u64> {
    prop_oneof![40 => 0u64..1000, 8 => 0u64..1 << 45, 1 => any::<u64>()]
}

prop_compose! {
    fn point()(
        counts in prop::array::uniform5(count()),
        seconds in number(),
        ended in prop::collection::btree_map(count(), count(), 0..4),
        consistent in any::<bool>(),
    ) -> Point {
        let [games, block_games, score, max, moves] = counts;
        let ended: BTreeMap<u64, u64> = match consistent {
            true => ended.into_keys().zip([block_games / 2, block_games / 3]).collect(),
            false => ended,
        };
        Point { games, tally: Tally { games: block_games, score, max, moves, seconds, ended, ..Tally::default() } }
    }
}

prop_compose! {
    fn any_curve()(
        label in ".{0,300}",
        points in prop::collection::vec(point(), 1..4),
        gaps in prop::collection::vec((count(), number()), 0..3),
        replay in prop::collection::vec((count(), count(), number(), number(), number()), 0..3),
    ) -> Curve {
        let replay = replay.into_iter().map(|(games, updates, loss, value, running_average)| {
            ReplayPoint { games, loss, value, iterations: None, updates, running_average }
        });
        let gaps = gaps.into_iter().map(|(games, relative)| GapPoint { games, relative });
        Curve { label, points, gaps: gaps.collect(), replay: replay.collect(), ..Curve::default() }
    }
}

prop_compose! {
    fn any_lane()(
        label in ".{0,50}",
        dots in prop::collection::vec(number(), 0..4),
        mean in prop::option::of(number()),
        interval in prop::option::of([number(), number()]),
    ) -> DotRow {
        DotRow { label, dots, mean, interval, value: "1".into(), remark: String::new(), colour: RowColour::Plain }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn no_curves_make_the_drawing_panic(curves in prop::collection::vec(any_curve(), 1..4)) {
        for plot in plots(&curves, "t").into_iter().flatten() {
            let svg = plot.svg();
            prop_assert!(!svg.contains("=\"NaN") && !svg.contains("=\"inf"), "{svg}");
            plot.png().unwrap();
        }
    }

    #[test]
    fn no_lanes_make_the_drawing_panic(rows in prop::collection::vec(any_lane(), 1..4)) {
        let plot = dot_rows(&rows, "t", "about", "sweep").unwrap();
        let svg = plot.svg();
        prop_assert!(!svg.contains("=\"NaN") && !svg.contains("=\"inf"), "{svg}");
        plot.png().unwrap();
    }
}

#[test]
fn counts_that_contradict_each_other_are_refused() {
    let mut wrong = curve("wrong", 3, 20);
    wrong.points[1].tally.ended.insert(2048, 1_000_000_000);
    match plots(&[curve("right", 3, 20), wrong], "t") {
        Err(PlotError::Counts { label, games, .. }) => {
            assert_eq!((&label[..], games), ("wrong", 40))
        }
        other => panic!("{other:?}"),
    }
    let mut large = curve("large", 3, 20);
    large.points[2].tally.score = u64::MAX;
    assert!(matches!(
        plots(&[large], "t"),
        Err(PlotError::Counts { games: 60, .. })
    ));
}
