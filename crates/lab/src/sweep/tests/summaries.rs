//! Summaries against numbers computed by hand.

use std::fs;

use super::{SMALL, SweepFolder};
use crate::sweep::{Divergence, Evaluated, Metric, RunResult, Verdict};

/// The results of a sweep whose seeds have these means.
fn found(means: &[Option<f64>]) -> Vec<RunResult> {
    let result = |mean: &Option<f64>| match *mean {
        None => RunResult::Diverged(Divergence {
            games: 9,
            rate: 1.0,
        }),
        Some(mean) => RunResult::Trained(Some(Evaluated {
            trained: 20,
            games: 60,
            seed: 1,
            mean,
            median: Some(mean / 2.0),
            tiles: Vec::new(),
        })),
    };
    means.iter().map(result).collect()
}

/// Means 110, 150 and 61 of three seeds each, and 115 of two. By hand: 110 has the standard error
/// 10/sqrt(3) and t = 4.302653 with 2 degrees of freedom, so 24.841 to each side; the difference of
/// 150 has sqrt(100/3 + 400/3), 2.941176 degrees of freedom and t = 3.218759, so 41.554.
#[test]
fn summaries_agree_with_hand_computed_numbers() {
    let folder = SweepFolder::new();
    let text = SMALL.replace("episodes=150", "episodes=20");
    let more = "[[variant]]\nname = \"c\"\n[[variant]]\nname = \"d | e\"\n";
    let sweep = folder.load(&format!("{text}{more}")).unwrap();
    folder.run(&sweep, "out", 2);
    let means = [
        [Some(100.0), Some(130.0), Some(60.0), None],
        [Some(110.0), Some(150.0), Some(61.0), Some(114.0)],
        [Some(120.0), Some(170.0), Some(62.0), Some(116.0)],
    ];
    let out = folder.path("out");
    let summary = sweep.summary(&out, &found(&means.concat())).unwrap();
    let near = |found: Option<[f64; 2]>, middle: f64, half: f64| {
        let [low, high] = found.unwrap();
        let near = (low - middle + half).abs() < 1e-3 && (high - middle - half).abs() < 1e-3;
        assert!(near, "{low} {high}");
    };
    let [a, b, c, d] = &summary.variants[..] else {
        panic!("{summary:?}");
    };
    assert_eq!(summary.metric, Metric::Evaluated);
    assert_eq!((a.mean, a.difference, a.verdict), (Some(110.0), None, None));
    near(a.mean_ci95, 110.0, 24.8414);
    assert_eq!((b.mean, b.difference), (Some(150.0), Some(40.0)));
    near(b.difference_ci95, 40.0, 41.5540);
    let verdicts = [b, c, d].map(|row| row.verdict.unwrap());
    assert_eq!(
        verdicts,
        [Verdict::NotShown, Verdict::Worse, Verdict::NotShown]
    );
    assert_eq!(
        (d.scores.len(), d.diverged.len(), d.diverged[0].seed),
        (2, 1, 3)
    );
    assert!(a.speed > Some(0.0) && a.speed_unit == "games/s" && a.average.is_none());

    let table = summary.text();
    let rows: Vec<&str> = table.lines().skip(2).collect();
    assert_eq!(rows.len(), 5);
    assert!(rows[1].contains("110.0 (85.2 to 134.8)"), "{table}");
    assert!(
        rows[2].contains("+40.0 (-1.6 to +81.6)  not shown"),
        "{table}"
    );
    assert!(rows[4].contains("2, 1 diverged"), "{table}");
    let ends = |word: &str| {
        rows.iter()
            .filter_map(|row| row.find(word).map(|at| at + word.len()))
            .collect::<Vec<_>>()
    };
    assert_eq!(ends("not shown"), [ends("verdict")[0]; 2]);

    summary.save(&out).unwrap();
    let markdown = fs::read_to_string(out.join("summary.md")).unwrap();
    assert!(
        markdown.contains("\n| variant | seeds | mean (95%) |"),
        "{markdown}"
    );
    assert!(
        markdown.contains("\n| d \\| e | 2, 1 diverged |"),
        "{markdown}"
    );
    let csv = fs::read_to_string(out.join("summary.csv")).unwrap();
    assert!(csv.contains("\nTD / 0.1,td-0.1,3,0,150,"), "{csv}");
    assert_eq!(csv.lines().count(), 5);
    for name in ["sweep", "score", "win-rate"] {
        for kind in ["png", "svg"] {
            let picture = out.join(format!("plots/{name}.{kind}"));
            assert!(
                fs::metadata(&picture).unwrap().len() > 1000,
                "{}",
                picture.display()
            );
        }
    }
    let svg = fs::read_to_string(out.join("plots/sweep.svg")).unwrap();
    assert!(svg.contains(">not shown, 1 diverged</text>"), "{svg}");
}

/// Runs with a replay buffer have a running average, and their speed counts updates; without
/// evaluation the average is compared.
#[test]
fn replay_runs_are_compared_by_their_running_average() {
    let folder = SweepFolder::new();
    let text = r#"
name = "memory"
recipe = "ntuple-replay"
set = ["board=3x3", "tuples=012 345", "block_games=20", "learner.buffer_size=300", "learning_rate=0.1", "learner.max_updates=1000"]
seeds = [1, 2]
games = 0
[[variant]]
name = "a"
[[variant]]
name = "b"
set = ["learning_rate=0.01"]
"#;
    let sweep = folder.load(text).unwrap();
    let found = folder.run(&sweep, "out", 2);
    assert!(found.iter().all(|found| *found == RunResult::Trained(None)));
    let out = folder.path("out");
    let summary = sweep.summary(&out, &found).unwrap();
    assert_eq!(summary.metric, Metric::Average);
    let row = &summary.variants[0];
    let last = |seed: u64| -> f64 {
        let text = fs::read_to_string(out.join(format!("a/seed-{seed}/blocks.csv"))).unwrap();
        let mut lines = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
        let header = lines.next().unwrap();
        let place = header
            .iter()
            .position(|name| *name == "running_average")
            .unwrap();
        let last = lines.next_back().unwrap();
        assert!(last.contains(&"1000"), "all updates: {last:?}");
        last[place].parse().unwrap()
    };
    let expected = (last(1) + last(2)) / 2.0;
    assert!(expected > 10.0 && (row.average.unwrap() - expected).abs() < 1e-9);
    assert_eq!((row.mean, &*row.speed_unit), (row.average, "updates/s"));
    assert!(
        summary.text().contains("running average"),
        "{}",
        summary.text()
    );
    summary.save(&out).unwrap();
    // Seeds have different numbers of games in the same number of updates, but the plot ends with
    // the table's average.
    let point = summary.curves[0].replay.last().unwrap();
    assert_eq!(point.updates, 1000);
    assert!((point.running_average - expected).abs() < 1e-9, "{point:?}");

    // A run in which no game ends has no score.
    let short = folder
        .load(&text.replace("max_updates=1000", "max_updates=5"))
        .unwrap();
    let found = folder.run(&short, "short", 2);
    let refused = short.summary(&folder.path("short"), &found).map(|_| ());
    let message = refused.map_err(|error| error.to_string()).unwrap_err();
    assert!(message.contains("a, seed 1: no game ended"), "{message}");

    // Other runs have the mean of their last block.
    let plain = folder
        .load(&SMALL.replace("games = 60", "games = 0"))
        .unwrap();
    let found = folder.run(&plain, "plain", 2);
    let summary = plain.summary(&folder.path("plain"), &found).unwrap();
    assert_eq!(summary.metric, Metric::LastBlock);
    assert!(summary.variants[0].mean > Some(50.0));
}
