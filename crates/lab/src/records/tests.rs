mod forged;

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use afterstate::format::episode::Action;
use afterstate::game::Direction;

use super::*;
use crate::agent::{Agent, Baseline, ntuple_agent};
use crate::control::quiet;
use crate::evaluate::Contender;
use crate::evaluate::{self, record};
use crate::memory::MemoryBudget;
use crate::model::Model;
use crate::recipe::Recipe;
use crate::spec::{AgentSpec, NTupleSpec};

/// An untrained player.
fn beginner(game: &str, board: &str) -> Contender {
    let overrides = [
        format!("game={game}"),
        format!("board={board}"),
        "tuples=lines".to_owned(),
        "ties=random".to_owned(),
    ];
    let recipe = Recipe::load("quick", &overrides).unwrap();
    let spec = NTupleSpec::of(&recipe).unwrap();
    let budget = MemoryBudget::process();
    let agent = ntuple_agent(&spec, recipe.learner.rule(), 0.0, &budget).unwrap();
    Contender::from(&Model {
        agent: Arc::from(agent as Box<dyn Agent>),
        spec: AgentSpec::NTuple(spec),
        lacks_checksums: false,
        episodes: Some(0),
        recipe: None,
        changed: Vec::new(),
        path: PathBuf::new(),
    })
}

fn recorded(game: &str, board: &str, games: u64) -> (tempfile::TempDir, PathBuf, f64) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("records.txt");
    let options = evaluate::EvalOptions {
        games,
        part: crate::part::Part::WHOLE,
        seed: 1,
        threads: 2,
        control: quiet(),
    };
    let mean = record(&beginner(game, board), &options, &path)
        .unwrap()
        .scores
        .mean;
    (folder, path, mean)
}

fn judged(path: &Path, game: &str, board: &str) -> Result<JudgeReport, LabError> {
    let (rows, cols) = crate::recipe::parse_board(board).unwrap();
    judge(&JudgeOptions {
        game: Some(game),
        shape: Some(games::shape(rows, cols).unwrap()),
        ..JudgeOptions::new(path, quiet())
    })
}

#[test]
fn recorded_games_pass() {
    for (game, board) in [
        ("2048", "4x4"),
        ("2048", "5x3"),
        ("threes", "4x4"),
        ("threes", "2x3"),
        ("threes-hint", "4x4"),
        ("threes-original", "4x4"),
        ("threes-original", "3x3"),
        ("2584", "4x4"),
        ("2584-three", "3x4"),
    ] {
        let (_folder, path, mean) = recorded(game, board, 60);
        let report = judged(&path, game, board).unwrap();
        assert!(report.passed, "{game} on {board}: {:?}", report.faults);
        assert_eq!((report.episodes, report.unfinished), (60, 0));
        assert!(
            (report.mean - mean).abs() < 1e-9,
            "the scores of the evaluation"
        );
        assert!(report.assessment.is_some());
    }
}

/// Editors of other systems end lines with a carriage return, and begin files with a mark.
#[test]
fn records_with_a_byte_order_mark_are_read() {
    let (folder, path, mean) = recorded("2048", "4x4", 3);
    let text = fs::read_to_string(&path).unwrap();
    let path = folder.path().join("marked.txt");
    fs::write(&path, format!("\u{FEFF}{}", text.replace('\n', "\r\n"))).unwrap();
    let report = judged(&path, "2048", "4x4").unwrap();
    assert!(
        report.passed && report.faults.is_empty(),
        "{:?}",
        report.faults
    );
    assert_eq!((report.episodes, report.mean), (3, mean));
    check_place(&path).expect("they are records");
}

/// Enough games to reveal any bias of the recorder, such as initial tiles in the order of their
/// cells.
#[test]
fn recorded_spawns_have_fair_frequencies() {
    for game in ["2048", "threes", "threes-hint"] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("records.txt");
        let options = evaluate::EvalOptions {
            games: 4000,
            part: crate::part::Part::WHOLE,
            seed: 3,
            threads: 2,
            control: quiet(),
        };
        let random = Contender::baseline(Baseline::Random, game, Shape::FOUR);
        record(&random.unwrap(), &options, &path).unwrap();
        let report = judged(&path, game, "4x4").unwrap();
        for test in &report.tests {
            assert!(test.p > 1e-4, "{game}: {test:?}");
        }
    }
}

#[test]
fn every_line_is_judged_separately() {
    let (_folder, path, _) = recorded("2048", "4x4", 5);
    let text = fs::read_to_string(&path).unwrap();
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    lines[1] = lines[1].replacen("#", "", 1);
    let cut = lines[3].len() / 2;
    lines[3].truncate(cut);
    lines.insert(2, String::new());
    fs::write(&path, lines.join("\r\n")).unwrap();
    let report = judged(&path, "2048", "4x4").unwrap();
    assert!(!report.passed);
    assert_eq!((report.episodes, report.fault_count), (3, 2));
    let places: Vec<Option<u64>> = report.faults.iter().map(|fault| fault.line).collect();
    assert_eq!(places, [Some(2), Some(5)]);
}

#[test]
fn slow_players_and_empty_files_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("records.txt");
    fs::write(
        &path,
        "a@1700000001000|C1E2#L92#D[8](900)A1|b@1700000003000\n",
    )
    .unwrap();
    let report = judge(&JudgeOptions {
        game: Some("2048"),
        min_speed: Some(10.0),
        ..JudgeOptions::new(&path, quiet())
    })
    .unwrap();
    assert_eq!(report.moves_per_second, Some(1.0));
    let words = "1 moves per second, expected at least 10";
    let faults = report.faults.iter();
    assert_eq!(faults.filter(|fault| fault.reason == words).count(), 1);
    fs::write(&path, "\n\n").unwrap();
    let error = judged(&path, "2048", "4x4").unwrap_err().to_string();
    assert!(error.contains("has no records"), "{error}");
}
