//! Each report is equal when read back from JSON.

use serde::Serialize;
use serde::de::DeserializeOwned;

use afterstate::game::Direction;
use afterstate::judge::SideTotals;

use crate::analyze::{Analysis, Exact, Move};
use crate::bench::{BenchReport, BenchRow, BenchSearch, Mode};
use crate::block::{Block, ReplayBlock};
use crate::compare::{Comparison, SequentialResult, SequentialVerdict, Side, TileDifference};
use crate::control::{Event, Progress, RunSubject, Status, Task, TrainResult, Unit};
use crate::convert::{ConvertReport, Kind, Program, WeightFile};
use crate::curve::{AveragePoint, Curve, GapPoint, Point, RateChange, ReplayPoint};
use crate::plot::PlotReport;
use crate::recipe::Rule;
use crate::records::{FaultKind, FaultReport, JudgeReport, NamedTest, SealReport};
use crate::report::{Evaluation, ModelInfo, Scores, TileRow};
use crate::seal::SealKind;
use crate::solve::{GapReport, SymmetryMode};
use crate::spec::BuiltinRecipe;

fn check<T: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug>(report: &T) {
    let text = serde_json::to_string(report).unwrap();
    assert_eq!(serde_json::from_str::<T>(&text).unwrap(), *report, "{text}");
}

fn evaluation(model: Option<ModelInfo>) -> Evaluation {
    Evaluation {
        player: model.is_none().then(|| "greedy".to_owned()),
        model,
        game: "2048".to_owned(),
        board: "4x4".to_owned(),
        seed: u64::MAX,
        search: "1ply".to_owned(),
        scores: Scores {
            games: 3,
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
        },
    }
}

/// The fields of the scores stand beside those of the evaluation, as programs expect them.
#[test]
fn an_evaluation_is_one_flat_document() {
    let json = serde_json::to_value(evaluation(Some(model()))).unwrap();
    let mut keys: Vec<&String> = json.as_object().unwrap().keys().collect();
    keys.sort();
    let expected = [
        "board",
        "game",
        "games",
        "max",
        "mean",
        "mean_ci95",
        "median",
        "model",
        "moves",
        "moves_per_second",
        "search",
        "seed",
        "tiles",
    ];
    assert_eq!(keys, expected);
}

fn model() -> ModelInfo {
    ModelInfo {
        sha256: Some("ab".repeat(32)),
        path: "runs/quick/model.safetensors".to_owned(),
        game: "2048".to_owned(),
        board: "4x4".to_owned(),
        recipe: Some("quick (lambda=0.8)".to_owned()),
        changed: vec!["learner.lambda=0.8".to_owned()],
        trained: Some(30_000),
    }
}

#[test]
fn evaluations_and_comparisons() {
    let model = model();
    check(&evaluation(None));
    check(&evaluation(Some(model.clone())));
    for better in [None, Some(Side::A)] {
        check(&Comparison {
            a: evaluation(Some(model.clone())),
            b: evaluation(None),
            difference: -1e-9,
            difference_ci95: None,
            better,
            median_difference: 1.0 / 3.0,
            median_difference_ci95: Some([-1.0, 1.0]),
            tiles: vec![TileDifference {
                tile: 2048,
                reach_difference: 0.1,
                reach_difference_ci95: [0.0, 0.2],
            }],
            identical: better.is_none(),
            equal: better.is_none(),
            sequential: better.map(|_| SequentialResult {
                error_rate: 0.05,
                margin: Some(3.0),
                verdict: SequentialVerdict::WithinMargin,
            }),
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
        averages: vec![AveragePoint {
            iteration: 100,
            running_average: 1234.5,
        }],
        seeds: vec![Curve::default()],
    });
    let bare: Curve = serde_json::from_str(r#"{"label":"a","points":[]}"#).unwrap();
    assert_eq!((bare.gaps, bare.replay), (Vec::new(), Vec::new()));
}

#[test]
fn events() {
    let run = RunSubject {
        recipe: "quick".to_owned(),
        changed: vec!["lambda=0.8".to_owned()],
        game: "2048".to_owned(),
        board: "4x4".to_owned(),
        folder: None,
    };
    let block = Block {
        learning_rate: 0.1,
        replay: Some(ReplayBlock::default()),
        ended: [(2048, 3)].into(),
        ..Block::default()
    };
    let progress = Progress {
        stage: None,
        total: Some(9),
        mean: Some(1.0 / 3.0),
        ..Progress::stage(Task::Evaluate, "", 0.5, 4)
    };
    for run in [None, Some(run)] {
        let result = run.is_some().then_some(TrainResult {
            games: u64::MAX,
            replay: None,
            model: None,
        });
        check(&Event::Started {
            task: Task::Solve,
            subject: "2048 on 2x2".to_owned(),
            done: 0,
            total: result.as_ref().map(|_| 7),
            unit: Unit::Positions,
            run: run.clone(),
        });
        check(&Event::Finished {
            task: Task::Train,
            status: Status::Stopped,
            done: 5,
            unit: Unit::Updates,
            result,
            run: run.clone(),
        });
        check(&Event::Failed {
            task: Task::Convert,
            error: "no \"file\"".to_owned(),
            run,
        });
    }
    check(&Event::Block(block));
    check(&Event::Progress(progress));
    check(&Event::Evaluation(Box::new(evaluation(Some(model())))));
    check(&Event::Checkpoint {
        games: 3,
        path: "run/checkpoint.safetensors".to_owned(),
    });
    check(&Event::Run {
        run: 1,
        label: "a, seed 2".to_owned(),
        share: 0.25,
        done: false,
    });
}

#[test]
fn analyses() {
    let moves = Direction::ALL.map(|direction| Move {
        legal: direction != Direction::Up,
        reward: Some(4),
        value: Some(0.1_f32),
        total: Some(4.1),
        loss: Some(0.0),
        ..Move::illegal(direction)
    });
    let of_model = Analysis {
        model: Some(model()),
        game: "2048".to_owned(),
        board: "4x4".to_owned(),
        position: "2,0/0,4".to_owned(),
        search: "3ply".to_owned(),
        plies: Some(3),
        interrupted: true,
        rollouts: None,
        exact: None,
        best: Some(Direction::Left),
        moves: moves.to_vec(),
    };
    check(&of_model);
    check(&Analysis {
        model: None,
        best: None,
        ..of_model
    });
    // With a target, an illegal move has no probability, but the field.
    let moves = [None, Some(None), Some(Some(0.5))].map(|win_probability| Move {
        win_probability,
        value: Some(1.0 / 3.0_f64),
        ..Move::illegal(Direction::Down)
    });
    for best_for_target in [None, Some(Direction::Up)] {
        check(&Analysis {
            model: Some(model()),
            game: "2048".to_owned(),
            board: "3x3".to_owned(),
            position: String::new(),
            search: "exact".to_owned(),
            plies: None,
            interrupted: false,
            rollouts: None,
            exact: Some(Exact {
                discount: 1.0,
                target: best_for_target.map(|_| 64),
                best_for_target,
            }),
            best: Some(Direction::Right),
            moves: moves.to_vec(),
        });
    }
}

#[test]
fn judgements_and_gaps() {
    check(&JudgeReport {
        passed: false,
        interrupted: true,
        failures: vec!["1 game is not over".to_owned()],
        game: "threes".to_owned(),
        board: "4x4".to_owned(),
        guessed: true,
        episodes: 3,
        games_required: Some(4),
        unfinished: 1,
        duplicates: 2,
        mean: 1.0 / 3.0,
        max: 9,
        moves_per_second: None,
        min_speed: Some(1000.0),
        actions_passed: true,
        speed_passed: Some(false),
        player: SideTotals {
            moves: 7,
            millis: 3,
        },
        environment: SideTotals::default(),
        assessment: Some(0.5),
        assessment_note: Some("by another formula".to_owned()),
        sealed: false,
        seal: Some(SealReport {
            kind: SealKind::Own,
            seed: Some(1),
            commitment: "c0".to_owned(),
            player: vec!["./student".to_owned()],
            games: 3,
            verified: true,
            time_ms: 100,
            broken: 1,
            finished: "2026-11-18T08:00:00Z".to_owned(),
        }),
        tests: vec![NamedTest {
            name: "tiles".to_owned(),
            p: 1e-9,
            passed: false,
            draws: 5,
            chi_squared: Some(0.1),
            freedom: Some(1),
            z: None,
        }],
        luck_model: None,
        fault_count: 1,
        faults: vec![FaultReport {
            kind: FaultKind::Unfinished,
            line: Some(1),
            action: None,
            column: Some(2),
            reason: "no slide".to_owned(),
        }],
        notes: vec!["odd".to_owned()],
        limits: "who played".to_owned(),
        tally: Point::default().tally,
    });
    for model in [None, Some(model())] {
        check(&GapReport {
            model,
            game: "2048".to_owned(),
            board: "2x2".to_owned(),
            ends_at_target: false,
            optimum: 66.9,
            expected_score: 60.1,
            gap: 6.8,
            relative_gap: 0.1,
            moves: 3.0,
            mean_regret: 0.1,
            optimal_moves: 0.9,
            target: None,
            win_probability: Some(0.5),
            best_win_probability: None,
            symmetries: SymmetryMode::One,
            states: 7,
            seconds: 0.1,
        });
    }
}

#[test]
fn benchmarks_conversions_plots_and_recipes() {
    check(&BenchReport {
        version: "0.1.0".to_owned(),
        cpu: "a CPU".to_owned(),
        cores: 2,
        path: "AVX2".to_owned(),
        seconds: 0.5,
        rows: vec![BenchRow {
            network: "4x6 TD".to_owned(),
            tuples: "012345".to_owned(),
            mode: Mode::Train,
            search: Some(BenchSearch {
                search: "3ply".to_owned(),
                hash_mib: 64.0,
            }),
            rule: Rule::Tc,
            lambda: 0.8,
            games_before: 3,
            threads: 2,
            moves_per_second: 1e6,
            slices: vec![1, 2],
            memory_mib: 64.5,
        }],
    });
    for format in [
        Kind::Native,
        Kind::Of(Program::Tdl),
        Kind::Of(Program::Demo),
        Kind::Of(Program::Framework),
    ] {
        check(&ConvertReport {
            from: WeightFile {
                path: "a.safetensors".into(),
                format: Kind::Native,
                sha256: "ab".repeat(32),
            },
            to: WeightFile {
                path: "b.w".into(),
                format,
                sha256: "cd".repeat(32),
            },
            model: Some(model()),
            tables: 1,
            weights: 16,
            sums: true,
            bytes: 99,
            left_out: vec!["the recipe".to_owned()],
            unplayable: Some("it has tables for 3 stages".to_owned()),
        });
    }
    assert!(serde_json::from_str::<Kind>("\"other\"").is_err());
    check(&PlotReport {
        title: "quick: 2048 on 4x4".to_owned(),
        runs: vec!["runs/quick".into()],
        files: vec!["runs/quick/plots/score.svg".into()],
    });
    check(&BuiltinRecipe::all().unwrap());
}

/// Every task reports its start, and its end or its failure.
#[test]
fn every_task_has_a_start_and_an_end() {
    use crate::control::{Control, cancelled};
    use crate::evaluate::{Contender, EvalOptions, evaluate, record};
    use crate::records::{JudgeOptions, judge, judge_stream};
    use crate::solve::{GapOptions, SolveOptions, measure, solve};
    use crate::{agent::Baseline, compare::compare};
    use crate::{bench::*, convert::*};
    use std::path::Path;
    use std::sync::{Arc, Mutex};

    let told = Arc::new(Mutex::new(Vec::new()));
    let events = Arc::clone(&told);
    let listen = move |event: &Event| {
        let entry = match event {
            Event::Started { task, .. } => (*task, "started", None),
            Event::Finished { task, status, .. } => (*task, "finished", Some(*status)),
            Event::Failed { task, error, .. } => {
                assert!(!error.is_empty());
                (*task, "failed", None)
            }
            _ => return,
        };
        events.lock().unwrap().push(entry);
    };
    let take = |task, end, status| {
        let found = std::mem::take(&mut *told.lock().unwrap());
        assert_eq!(found, [(task, "started", None), (task, end, status)]);
    };
    let finished = |task| take(task, "finished", Some(Status::Finished));
    let stopped = |task| take(task, "finished", Some(Status::Stopped));
    let failed = |task| take(task, "failed", None);
    let control = Control::new().on_event(listen.clone());
    let cancelled = cancelled().on_event(listen);

    let shape = crate::games::shape(2, 2).unwrap();
    let random = Contender::baseline(Baseline::Random, "2048", shape).unwrap();
    let games = |control| EvalOptions {
        games: 5,
        part: crate::part::Part::WHOLE,
        seed: 1,
        threads: 1,
        control,
    };
    evaluate(&random, &games(&control));
    finished(Task::Evaluate);
    evaluate(&random, &games(&cancelled));
    stopped(Task::Evaluate);
    let folder = tempfile::tempdir().unwrap();
    record(&random, &games(&control), &folder.path().join("none/file")).unwrap_err();
    failed(Task::Evaluate);
    compare(&random, &random, &games(&control)).unwrap();
    finished(Task::Compare);
    let other = Contender::baseline(Baseline::Random, "threes", shape).unwrap();
    compare(&random, &other, &games(&control)).unwrap_err();
    failed(Task::Compare);

    let solving = |control| SolveOptions {
        game: "2048",
        shape,
        target: None,
        discount: 1.0,
        bounds: false,
        threads: 1,
        memory: None,
        control,
    };
    let solution = solve(&solving(&control)).unwrap().unwrap().solution;
    finished(Task::Solve);
    assert!(solve(&solving(&cancelled)).unwrap().is_none());
    stopped(Task::Solve);
    let measuring = |contender, control| GapOptions {
        contender,
        solution: &solution,
        symmetries: SymmetryMode::All,
        threads: 1,
        memory: None,
        control,
    };
    measure(&measuring(&random, &control)).unwrap().unwrap();
    finished(Task::Measure);
    measure(&measuring(&other, &control)).unwrap_err();
    failed(Task::Measure);

    let judging = |path| JudgeOptions {
        game: Some("2048"),
        ..JudgeOptions::new(path, &control)
    };
    let records: &[u8] = b"a@1000|C1E2#L92#D[8](900)A1|b@3000\n";
    let report = judge_stream(&judging(Path::new("-")), records).unwrap();
    assert_eq!(report.episodes, 1);
    finished(Task::Judge);
    // The library knows no standard input.
    judge(&judging(Path::new("-"))).unwrap_err();
    failed(Task::Judge);

    let converting = ConvertOptions {
        base: None,
        from: Path::new("missing"),
        to: Path::new("missing.w"),
        kind: None,
        patterns: None,
        stages: None,
        game: None,
        symmetry: true,
        weights_only: false,
        force: false,
        control: &control,
    };
    convert(&converting).unwrap_err();
    failed(Task::Convert);
    let networks = ["unknown".to_owned()];
    let benching = BenchOptions {
        time: std::time::Duration::ZERO,
        games: None,
        networks: &networks,
        searches: &[],
        threads: 1,
        control: &control,
    };
    bench(&benching).unwrap_err();
    failed(Task::Bench);
}
