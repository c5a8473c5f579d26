use std::fs;
use std::path::Path;

use afterstate::tally::{Outcome, Tally};
use tiny_skia::Pixmap;

use super::letters::Letters;
use super::merge::{MergedRun, games_per_point, largest_tiles, merged, runs};
use super::scale;
use super::scene::{Anchor, Scene, SceneShape};
use super::{PlotError, chart, draw, legend, pages, svg};
use crate::curve::{Curve, GapPoint, Point, RateChange};

mod bands;
mod diagrams;
mod dot_rows;
mod gaps;
mod hostile;
mod replay;

/// A run that learns: block after block its games end with larger tiles.
fn curve(label: &str, blocks: u64, size: u64) -> Curve {
    let block = |i: u64| {
        let mut tally = Tally::default();
        for game in 0..size {
            let level = 20 * i / blocks.max(1) + game % 4;
            let largest = 64 << (level / 3);
            let score = 4_000 * (level + 1) + game % 100;
            let moves = score / 20;
            tally.add(&Outcome {
                score,
                moves,
                largest,
                ..Outcome::default()
            });
        }
        tally.seconds = 0.5;
        let games = (i + 1) * size;
        Point { games, tally }
    };
    Curve {
        label: label.to_owned(),
        points: (0..blocks).map(block).collect(),
        rate_changes: [1, 2, 3]
            .map(|n| RateChange {
                games: n * blocks * size / 8,
                learning_rate: 0.1 / n as f32,
            })
            .to_vec(),
        ..Curve::default()
    }
}

/// The same, measured at these numbers of games with these gaps.
fn measured(label: &str, gaps: &[(u64, f64)]) -> Curve {
    let gap = |&(games, relative): &(u64, f64)| GapPoint { games, relative };
    Curve {
        gaps: gaps.iter().map(gap).collect(),
        ..curve(label, 3, 20)
    }
}

fn gap(curves: &[Curve], title: &str) -> Option<Scene> {
    pages::gap(curves, title, &Letters::new().unwrap())
}

fn scenes(curves: &[Curve], title: &str) -> [Scene; 3] {
    let letters = Letters::new().unwrap();
    let runs = runs(curves).unwrap();
    [
        pages::score(&runs, title, &letters),
        pages::win_rate(&runs, title, &letters),
        pages::termination_rate(&runs, title, &letters),
    ]
}

fn texts(scene: &Scene) -> Vec<&str> {
    let mut texts = Vec::new();
    for shape in &scene.shapes {
        if let SceneShape::Text { text, .. } = shape {
            texts.push(text.as_str());
        }
    }
    texts
}

fn dots(scene: &Scene) -> usize {
    let dot = |shape: &&SceneShape| matches!(shape, SceneShape::Dot { .. });
    scene.shapes.iter().filter(dot).count()
}

fn names(dir: &Path) -> Vec<String> {
    let name = |entry: std::io::Result<fs::DirEntry>| {
        let name = entry.unwrap().file_name();
        name.into_string().unwrap()
    };
    let mut names: Vec<String> = fs::read_dir(dir).unwrap().map(name).collect();
    names.sort();
    names
}

const FILES: [&str; 6] = [
    "score.png",
    "score.svg",
    "termination-rate.png",
    "termination-rate.svg",
    "win-rate.png",
    "win-rate.svg",
];

#[test]
fn six_files_are_drawn_and_drawn_again() {
    let home = tempfile::tempdir().unwrap();
    let dir = home.path().join("new/plots");
    let run = [curve("my run", 30, 40)];
    draw(&run, "First", &dir).unwrap();
    let paths = draw(&run, "R & <D>", &dir).unwrap();
    assert_eq!(names(&dir), FILES, "and nothing left beside them");
    assert_eq!(paths.len(), 6);
    for path in paths {
        let bytes = fs::read(&path).unwrap();
        if path.extension().unwrap() == "png" {
            let page = Pixmap::decode_png(&bytes).unwrap();
            assert_eq!((page.width(), page.height()), (1200, 800));
            let dark = page.pixels().iter().filter(|p| p.green() < 140).count();
            assert!(dark > 3_000, "{} has {dark} dark pixels", path.display());
        } else {
            let text = String::from_utf8(bytes).unwrap();
            assert!(text.starts_with("<svg ") && text.ends_with("</svg>\n"));
            assert!(text.contains("width=\"1200\" height=\"800\""));
            assert!(text.contains(">R &amp; &lt;D&gt;</text>"), "{text}");
            assert!(text.contains(">episodes</text>"));
            assert!(!text.contains("NaN") && !text.contains("inf"));
        }
    }
}

#[test]
fn the_plots_say_what_they_show() {
    let [score, win, end] = scenes(&[curve("my run", 300, 40)], "Title");
    assert!(texts(&score).contains(&"score (mean of each 120 games)"));
    for text in ["mean", "max", "80k", "10k"] {
        assert!(texts(&score).contains(&text), "{text}");
    }
    for scene in [&win, &end] {
        for text in ["100%", "2048", "4096", "8192"] {
            assert!(texts(scene).contains(&text), "{text}");
        }
    }
    assert!(
        texts(&win).contains(&"win rate: games that reached the tile (share of each 120 games)")
    );
}

#[test]
fn the_curve_is_where_its_values_are() {
    let mut tally = Tally::default();
    tally.add(&Outcome {
        score: 30_000,
        moves: 1,
        largest: 2048,
        ..Outcome::default()
    });
    let at = |games| Point {
        games,
        tally: tally.clone(),
    };
    let curve = Curve {
        label: String::new(),
        points: vec![at(1), at(2)],
        ..Curve::default()
    };
    let [score, ..] = scenes(&[curve], "");
    let svg = svg::render(&score);
    // The scale ends at the highest score, so the mean runs along the upper edge of the frame, from
    // the middle of its width to the end.
    let line = svg
        .lines()
        .find(|l| l.contains("stroke-width=\"5\""))
        .unwrap();
    let points = line.split("points=\"").nth(1).unwrap();
    let points: Vec<f32> = points
        .trim_end_matches("\"/>")
        .split([',', ' '])
        .map(|number| number.parse().unwrap())
        .collect();
    let [x1, y1, x2, y2] = points[..] else {
        panic!("{points:?}");
    };
    assert_eq!((y1, y2), (chart::HEADING, chart::HEADING));
    let left = 2.0 * x1 - x2;
    assert!((60.0..120.0).contains(&left), "{left}");
}

#[test]
fn merging_loses_no_game() {
    let blocks = curve("", 507, 10).points;
    let points = merged(&blocks, 60);
    let sum =
        |points: &[Point], of: fn(&Tally) -> u64| points.iter().map(|p| of(&p.tally)).sum::<u64>();
    for of in [
        |t: &Tally| t.games,
        |t: &Tally| t.score,
        |t: &Tally| t.moves,
        |t: &Tally| t.ended.values().sum(),
        |t: &Tally| t.ended.get(&1024).copied().unwrap_or(0),
    ] {
        assert!(sum(&blocks, of) > 0);
        assert_eq!(sum(&points, of), sum(&blocks, of));
    }
    let mut blocks = blocks.iter();
    for point in &points {
        let its_own = blocks.by_ref().take(point.tally.games as usize / 10);
        let highest = its_own.map(|block| block.tally.max).max();
        assert_eq!(Some(point.tally.max), highest);
    }
    // 84 points of six blocks, and a first one of the three that are left over.
    assert_eq!(points.len(), 85);
    assert_eq!((points[0].games, points[0].tally.games), (30, 30));
    assert_eq!((points[1].games, points[1].tally.games), (90, 60));
    assert_eq!((points[84].games, points[84].tally.games), (5070, 60));
}

#[test]
fn runs_of_one_plot_share_the_size_of_a_point() {
    let curves = [curve("long", 1000, 5), curve("short", 10, 25)];
    let runs = runs(&curves).unwrap();
    let lengths: Vec<usize> = runs
        .iter()
        .map(|run: &MergedRun| run.points.len())
        .collect();
    assert_eq!(lengths, [100, 5]);
    assert_eq!(games_per_point(&runs), (50, 50));
    assert_eq!(largest_tiles(&runs, 2), [4096, 8192]);
}

#[test]
fn a_hundred_blocks_stay_as_they_are() {
    let curves = [curve("", 100, 7)];
    let runs = runs(&curves).unwrap();
    let tallies = |points: &[Point]| points.iter().map(|p| p.tally.clone()).collect::<Vec<_>>();
    assert_eq!(tallies(&runs[0].points), tallies(&curves[0].points));
}

#[test]
fn one_block_is_marked_by_dots() {
    let [score, win, end] = scenes(&[curve("", 1, 4)], "One");
    assert_eq!(dots(&score), 2, "mean and max");
    assert_eq!(dots(&win), 2, "the tiles 64 and 128");
    assert_eq!(dots(&end), 0, "bands as wide as the block");
    let [score, ..] = scenes(&[curve("a", 1, 4), curve("b", 1, 9)], "Two");
    assert_eq!(dots(&score), 2, "one for each run");
    let [score, ..] = scenes(&[curve("", 90, 4)], "Many");
    assert_eq!(dots(&score), 0, "a line needs none");
}

#[test]
fn nothing_to_draw_is_an_error_and_leaves_no_folder() {
    let home = tempfile::tempdir().unwrap();
    let dir = home.path().join("plots");
    assert!(matches!(draw(&[], "", &dir), Err(PlotError::NoRuns)));
    let mut empty = curve("empty one", 0, 0);
    for _ in 0..2 {
        let curves = [curve("full", 3, 3), empty.clone()];
        match draw(&curves, "", &dir) {
            Err(PlotError::NoGames { label }) => assert_eq!(label, "empty one"),
            other => panic!("{other:?}"),
        }
        // A block without games counts as none.
        empty.points.push(Point {
            games: 0,
            tally: Tally::default(),
        });
    }
    assert!(!dir.exists());
}

#[test]
fn tallies_without_tiles_are_drawn_all_the_same() {
    let home = tempfile::tempdir().unwrap();
    let mut plain = curve("no tiles", 3, 3);
    for point in &mut plain.points {
        point.tally.ended.clear();
        point.tally.score = 0;
        point.tally.max = 0;
    }
    draw(&[plain.clone()], "", home.path()).unwrap();
    draw(&[plain.clone(), plain], "", home.path()).unwrap();
}

#[test]
fn a_folder_that_cannot_be_made_is_named() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("file");
    fs::write(&file, "").unwrap();
    let dir = file.join("plots");
    match draw(&[curve("", 2, 2)], "", &dir) {
        Err(PlotError::Folder { path, .. }) => assert_eq!(path, dir),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_file_that_cannot_be_replaced_is_named_and_nothing_is_left_aside() {
    let home = tempfile::tempdir().unwrap();
    let taken = home.path().join("score.png");
    fs::create_dir(&taken).unwrap();
    match draw(&[curve("", 2, 2)], "", home.path()) {
        Err(PlotError::Write { path, .. }) => assert_eq!(path, taken),
        other => panic!("{other:?}"),
    }
    assert_eq!(names(home.path()), ["score.png"]);
}

#[test]
fn several_runs_get_a_panel_for_each_tile() {
    let curves: Vec<Curve> = (1..=20)
        .map(|i| curve(&format!("run {i}"), 3 * i, 20))
        .collect();
    for scene in scenes(&curves, "Twenty runs") {
        for curve in &curves {
            assert!(texts(&scene).contains(&curve.label.as_str()));
        }
    }
    let [_, win, end] = scenes(&curves[17..], "Three runs");
    for scene in [win, end] {
        let panels = ["256", "512", "1024", "2048", "4096", "8192"];
        for tile in panels {
            assert!(texts(&scene).contains(&tile), "{tile}");
        }
        assert!(!texts(&scene).contains(&"128"));
    }
}

/// Left, top, right and bottom of every text, as wide as DejaVu Sans would show it.
fn boxes(scene: &Scene, letters: &Letters) -> Vec<(String, [f32; 4])> {
    let mut boxes = Vec::new();
    for shape in &scene.shapes {
        if let SceneShape::Text {
            at,
            text,
            anchor,
            face,
        } = shape
        {
            let width = letters.width(text, *face) * if face.bold { 1.2 } else { 1.12 };
            let left = match anchor {
                Anchor::Start => at.0,
                Anchor::Middle => at.0 - width / 2.0,
                Anchor::End => at.0 - width,
            };
            let (top, bottom) = (at.1 - 0.75 * face.size, at.1 + 0.25 * face.size);
            boxes.push((text.clone(), [left, top, left + width, bottom]));
        }
    }
    boxes
}

/// Gaps of all sizes, at all numbers of games.
fn cases_of_gaps(long: &str) -> Vec<Vec<Curve>> {
    let falling = [(100, 0.6), (1000, 0.2), (30_000, 0.03), (1_000_000, 0.005)];
    vec![
        vec![measured("", &[(0, 0.0)])],
        vec![measured("", &[(100, 0.1)])],
        vec![measured("", &[(300, 0.25), (400, 0.24)])],
        vec![measured("", &falling)],
        vec![
            measured(long, &falling),
            measured("b", &[(7, 1.0), (9_999_999, 0.0)]),
        ],
        (0..30)
            .map(|i| measured(&format!("run {i}"), &falling))
            .collect(),
    ]
}

#[test]
fn no_text_is_cut_off_or_lies_on_another() {
    let letters = Letters::new().unwrap();
    let long =
        "a name that is so long that it cannot ever stand on the page as it is, wide as it may be";
    let cases = [
        vec![curve("", 1, 1)],
        vec![curve("", 7, 1000)],
        vec![curve("", 300, 40)],
        vec![curve("a", 2, 5), curve("b", 19, 1000)],
        vec![curve("a", 1, 1000), curve("b", 3, 1000)],
        vec![curve(long, 9, 50), curve("b", 4, 50)],
        (0..5)
            .map(|i| curve(&format!("{long} {i}"), 9, 50))
            .collect(),
        (0..30)
            .map(|i| curve(&format!("run {i}"), 9, 999))
            .collect(),
    ];
    let of_gaps = cases_of_gaps(long);
    let of_gaps = of_gaps.iter().filter_map(|curves| gap(curves, long));
    let others = cases.iter().flat_map(|curves| scenes(curves, long));
    let of_dot_rows = dot_rows::cases(long);
    let of_dot_rows = of_dot_rows.iter().map(|case| dot_rows::scene(case, long));
    for scene in others.chain(of_gaps).chain(of_dot_rows) {
        assert_eq!(misplaced(&scene, &letters), Vec::<String>::new());
    }
}

/// The texts that are cut off or lie on another.
fn misplaced(scene: &Scene, letters: &Letters) -> Vec<String> {
    let mut found = Vec::new();
    let boxes = boxes(scene, letters);
    for (i, (text, [left, top, right, bottom])) in boxes.iter().enumerate() {
        if *left < 0.0 || *right > scene.width {
            found.push(format!("{text}: {left} {right}"));
        }
        if *top < 0.0 || *bottom > scene.height {
            found.push(format!("{text}: {top} {bottom}"));
        }
        for (other, [l, t, r, b]) in &boxes[..i] {
            let apart = right <= l || r <= left || bottom <= t || b <= top;
            if !apart {
                found.push(format!("`{text}` lies on `{other}`"));
            }
        }
    }
    found
}

/// A schedule that is cut in its middle would be another one.
#[test]
fn a_title_too_long_leaves_out_whole_changes() {
    let letters = Letters::new().unwrap();
    let title =
        "quick (episodes=5000, learning_rate=0.1, then 0.05 from game 3000, seed=2): 2048 on 4x4";
    let width = |text: &str| letters.room(text, chart::PLAIN) + 0.5;
    let fitted = |room| letters.fit_title(title, chart::PLAIN, room);
    assert_eq!(fitted(width(title)), title);
    let shorter = [
        "quick (episodes=5000, 2 more): 2048 on 4x4",
        "quick (3 changes): 2048 on 4x4",
    ];
    for expected in shorter {
        assert_eq!(fitted(width(expected)), expected);
    }
    assert!(fitted(60.0).contains('…'));
}

#[test]
fn a_name_too_long_keeps_its_ends() {
    let letters = Letters::new().unwrap();
    let short = letters.fit("runs/2048-4x6-coherent-seed-17", chart::PLAIN, 200.0);
    assert!(
        short.starts_with("runs/") && short.ends_with("d-17") && short.contains('…'),
        "{short}"
    );
    assert!(letters.room(&short, chart::PLAIN) <= 200.0);
    assert_eq!(letters.fit("brief", chart::PLAIN, 200.0), "brief");
    assert_eq!(letters.fit("brief", chart::PLAIN, 0.0), "");
}

#[test]
fn control_characters_do_not_break_the_svg() {
    let [score, ..] = scenes(&[curve("", 2, 2)], "one\u{1}two\nthree\u{ffff}");
    assert!(texts(&score).contains(&"one two three "));
}

#[test]
fn labels_move_apart_but_stay_on_the_page() {
    let wanted = [100.0, 101.0, 102.0, 300.0, 699.0, 700.0];
    let heights = legend::spread(&wanted, 30.0, 100.0, 700.0);
    assert_eq!(heights, [100.0, 130.0, 160.0, 300.0, 670.0, 700.0]);
}

#[test]
fn steps_are_round() {
    let cases = [
        (86_475.0, 6, 20_000.0),
        (1.0, 6, 0.2),
        (1.0, 4, 0.25),
        (7.0, 6, 2.0),
        (6.0, 6, 1.0),
    ];
    for (max, count, step) in cases {
        let found = scale::step(max, count);
        assert!((found - step).abs() < 1e-9 * step, "{max}: {found}");
    }
}
