use std::fs;
use std::path::PathBuf;
use std::sync::Mutex;
use std::thread::{self, ThreadId};

use afterstate::format::episode::{Action, EpisodeRecord};
use afterstate::format::verse::{VerseReplay, VerseStep};
use afterstate::game::{Game, Grid, PowersOfTwo, Shape, State};
use afterstate::tally::Outcome;
use tempfile::TempDir;

use super::*;
use crate::agent::{Baseline, BoardState, FirstMove, PolicyFn, RoundSpec, StateAnalysis};
use crate::board::Board;
use crate::control::quiet;
use crate::evaluate::{EvalOptions, record};
use crate::recorder::Sink;
use crate::solve::{Solution, SolveOptions, solve};

fn solution(rows: usize, cols: usize) -> Arc<Solution> {
    let solved = solve(&SolveOptions {
        game: "2048",
        shape: Shape::new(rows, cols).unwrap(),
        target: None,
        discount: 1.0,
        bounds: false,
        threads: 1,
        memory: None,
        control: quiet(),
    });
    Arc::new(solved.unwrap().unwrap().solution)
}

fn exact(solution: &Arc<Solution>) -> Contender {
    Contender::exact(Arc::clone(solution), Path::new("solution")).unwrap()
}

/// Records of a contender's games.
fn recorded(contender: &Contender, games: u64) -> (TempDir, PathBuf) {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("games.txt");
    let options = EvalOptions {
        games,
        part: crate::part::Part::WHOLE,
        seed: 1,
        threads: 1,
        control: quiet(),
    };
    record(contender, &options, &path).unwrap();
    (folder, path)
}

fn options(threads: usize) -> ReviewOptions<'static> {
    ReviewOptions {
        thresholds: GradeThresholds::default(),
        top: 3,
        keep_moves: true,
        threads,
        control: quiet(),
    }
}

fn reviewed(path: &Path, contender: &Contender, threads: usize) -> Result<Review, LabError> {
    let records = Records::open(path, quiet())?;
    review(records, contender, &contender.agent, &options(threads))
}

/// At every afterstate that play on 2x2 can reach, the exact values of the successors have the value
/// of the afterstate as their mean: so the mean of luck is 0, and the sum of luck is a martingale.
#[test]
fn the_mean_of_luck_is_zero_at_every_afterstate() {
    let solution = solution(2, 2);
    let shape = Shape::new(2, 2).unwrap();
    let game = Grid::new(shape, &PowersOfTwo);
    let analyze = |state: State<_>| {
        let tiles = (0..4).map(|i| state.cell(i)).collect();
        let board = Board::new("2048", shape, tiles, game.chance_state(state)).unwrap();
        solution.analyze(&board.text()).unwrap()
    };
    let mut seen = std::collections::HashSet::new();
    let mut waiting = Vec::new();
    game.for_each_start(|state, _| waiting.push(state));
    let mut afterstates = 0;
    while let Some(state) = waiting.pop() {
        if !seen.insert(state) {
            continue;
        }
        let analysis = analyze(state);
        for slide in game.slides(state).legal() {
            let value = analysis.moves[slide.direction() as usize].value.unwrap();
            let (mut mean, mut luck, mut values) = (0.0, 0.0, Vec::new());
            game.for_each_spawn(slide.after(), |next, reward, p| {
                let totals = analyze(next).moves.into_iter().filter_map(|one| one.total);
                let best = f64::from(reward) + totals.reduce(f64::max).unwrap_or(0.0);
                values.push((best, p));
                mean += p * best;
                waiting.push(next);
            });
            values
                .iter()
                .for_each(|(value, p)| luck += p * (value - mean));
            assert!((mean - value).abs() < 1e-9, "{mean} is not {value}");
            assert!(luck.abs() < 1e-9, "{luck}");
            afterstates += 1;
        }
    }
    assert!(afterstates > 200, "{afterstates}");
}

/// An agent that notes the threads from which it is asked.
struct Asked {
    agent: Arc<dyn Agent>,
    by: Mutex<Vec<ThreadId>>,
}

impl Agent for Asked {
    fn play(&self, round: &RoundSpec<'_>, sink: Option<Sink<'_>>) -> Vec<Outcome> {
        self.agent.play(round, sink)
    }

    fn play_from(&self, first: FirstMove<'_>, round: &RoundSpec<'_>) -> Option<Vec<Outcome>> {
        self.agent.play_from(first, round)
    }

    fn analyze(&self, boards: &[BoardState]) -> Vec<Option<StateAnalysis>> {
        self.by.lock().unwrap().push(thread::current().id());
        self.agent.analyze(boards)
    }

    fn policy_fn(&self) -> PolicyFn<'_> {
        self.agent.policy_fn()
    }

    fn bytes(&self) -> u64 {
        self.agent.bytes()
    }
}

/// Every call of a search makes a table, of which one is reserved.
#[test]
fn a_search_is_asked_by_one_thread() {
    let player = Contender::baseline(Baseline::Greedy, "2048", Shape::FOUR).unwrap();
    let (_folder, path) = recorded(&player, 3);
    let asked = Arc::new(Asked {
        agent: Arc::clone(&player.agent),
        by: Mutex::default(),
    });
    let searching = Contender {
        agent: Arc::clone(&asked) as Arc<dyn Agent>,
        ..player.clone()
    };
    let records = Records::open(&path, quiet()).unwrap();
    let found = review(records, &searching, &player.agent, &options(3)).unwrap();
    let by = asked.by.lock().unwrap();
    assert!(by.len() > 6, "several calls for each game: {}", by.len());
    let here = thread::current().id();
    assert!(by.iter().all(|id| *id == here), "{by:?}");
    assert_eq!(found.games, reviewed(&path, &player, 1).unwrap().games);
}

/// Score = value of the start + luck - losses, for every single game.
#[test]
fn the_score_is_explained_by_luck_and_losses() {
    let solution = solution(2, 3);
    let judge = exact(&solution);
    let player = Contender::baseline(Baseline::Greedy, "2048", judge.shape).unwrap();
    let (_folder, path) = recorded(&player, 200);
    let review = reviewed(&path, &judge, 1).unwrap();
    assert_eq!((review.total.games, review.fault_count), (200, 0));
    for (game, line) in review
        .games
        .iter()
        .zip(fs::read_to_string(&path).unwrap().lines())
    {
        let mut record = EpisodeRecord::default();
        record.read(line.as_bytes(), false).unwrap();
        let mut tiles = vec![0; 6];
        for one in &record.moves[..2] {
            let Action::Place { cell, tile, .. } = one.action else {
                panic!("a game starts with tiles");
            };
            tiles[usize::from(cell)] = tile;
        }
        let chance_state = afterstate::game::ChanceState::NONE;
        let start = Board::new("2048", judge.shape, tiles, chance_state).unwrap();
        let start = solution.analyze(&start.text()).unwrap();
        let value = start
            .moves
            .iter()
            .filter_map(|one| one.total)
            .fold(0.0, f64::max);
        let Figures {
            luck, total_loss, ..
        } = game.figures;
        let explained = value + luck - total_loss;
        // The values of an agent have 24 bits.
        assert!(
            (explained - game.score as f64).abs() < 0.01,
            "{explained} is not {}",
            game.score
        );
    }
    let z = review.total.figures.luck_z.unwrap();
    assert!(z.abs() < 5.0, "{z}");
    assert!(review.total.figures.accuracy.unwrap() < 0.99);
}

/// A player that is reviewed by its own values makes no mistake.
#[test]
fn a_player_agrees_with_itself() {
    let player = exact(&solution(2, 2));
    let (_folder, path) = recorded(&player, 50);
    let review = reviewed(&path, &player, 2).unwrap();
    let figures = &review.total.figures;
    assert_eq!((figures.accuracy, figures.total_loss), (Some(1.0), 0.0));
    assert_eq!(figures.grades[&Grade::Best], figures.move_count);
    assert!(review.total.highlights.worst.is_empty());
    assert_eq!(review.total.highlights.luckiest.len(), 3);
}

/// Values by hand: the greedy baseline values a move by its reward alone.
#[test]
fn moves_are_graded_by_the_share_they_keep() {
    let greedy = Contender::baseline(Baseline::Greedy, "2048", Shape::new(2, 2).unwrap()).unwrap();
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("game.txt");
    // 4 4/0 0: down moves without a reward and keeps 0 of 8, then 2 at b1, and left merges 4 4.
    fs::write(&path, "me@1|0212#D11#L[8]32|me@2\n").unwrap();
    let review = reviewed(&path, &greedy, 1).unwrap();
    let moves = &review.games[0].moves;
    assert_eq!(moves.len(), 2);
    assert_eq!(
        (moves[0].loss, moves[0].grade),
        (Some(8.0), Some(Grade::Blunder))
    );
    assert_eq!(
        (moves[1].loss, moves[1].grade),
        (Some(0.0), Some(Grade::Best))
    );
    let figures = &review.games[0].figures;
    assert_eq!(
        (figures.accuracy, figures.mean_loss),
        (Some(0.5), Some(4.0))
    );
    let worst = &review.games[0].highlights.worst;
    assert_eq!(worst.len(), 1);
    assert_eq!((worst[0].number, &*worst[0].position), (1, "4,4/0,0"));
    assert_eq!(worst[0].direction, Direction::Down);
    // After down every 2 or 4 at a1 or b1 leaves 4 4 below: the best reward is 8 after a 2, and 8
    // after a 4 as well, so no spawn is lucky.
    assert_eq!(moves[0].luck, Some(0.0));
    // After left, 2 0/8 0: only a 2 at b1, which has the probability 0.45, makes a merge, of 4.
    assert!(
        (moves[1].luck.unwrap() + 1.8).abs() < 1e-9,
        "{:?}",
        moves[1]
    );
    assert!(!review.games[0].finished);
}

#[test]
fn threads_do_not_matter_and_replays_are_the_same_games() {
    let player = Contender::baseline(Baseline::Greedy, "2048", Shape::FOUR).unwrap();
    let (folder, path) = recorded(&player, 6);
    let one = reviewed(&path, &player, 1).unwrap();
    assert_eq!(one, reviewed(&path, &player, 3).unwrap());

    let mut replays = String::new();
    for line in fs::read_to_string(&path).unwrap().lines() {
        let mut record = EpisodeRecord::default();
        record.read(line.as_bytes(), false).unwrap();
        let (mut steps, mut direction) = (Vec::new(), Direction::Up);
        for one in &record.moves {
            match one.action {
                Action::Slide(slide) => direction = slide,
                Action::Place { cell, tile, .. } => {
                    steps.push(VerseStep::new(direction, cell, tile));
                }
            }
        }
        let replay = VerseReplay {
            shape: Shape::FOUR,
            label: String::new(),
            steps,
        };
        replays = replays + &replay.to_string() + "\r\n";
    }
    let other = folder.path().join("replays.txt");
    fs::write(&other, replays).unwrap();
    assert_eq!(
        Records::open(&other, quiet()).unwrap().game().unwrap().0,
        "2048"
    );
    let again = reviewed(&other, &player, 2).unwrap();
    assert_eq!(again.total, one.total);
    assert_eq!(again.games[0].player, "2048verse");
    assert_eq!(again.games[5].moves, one.games[5].moves);
}

#[test]
fn lines_that_are_no_games_are_left_out() {
    let player = Contender::baseline(Baseline::Greedy, "2048", Shape::FOUR).unwrap();
    let (folder, path) = recorded(&player, 2);
    let good = fs::read_to_string(&path).unwrap();
    let mixed = folder.path().join("mixed.txt");
    let bad = "nonsense\na@1|0111#U|a@2\n4x4-_000\n3x3-_¾ú0¾úg\n";
    fs::write(&mixed, format!("{good}\n{bad}")).unwrap();
    let review = reviewed(&mixed, &player, 1).unwrap();
    assert_eq!((review.total.games, review.fault_count), (2, 4));
    let reasons: Vec<&str> = review.faults.iter().map(|it| &*it.reason).collect();
    assert!(reasons[0].contains("column"), "{reasons:?}");
    assert!(
        reasons[1].contains("action 3") && reasons[1].contains("changes nothing"),
        "{reasons:?}"
    );
    assert!(reasons[2].contains("1 steps"), "{reasons:?}");
    assert!(reasons[3].contains("2048 on 3x3"), "{reasons:?}");
    assert_eq!(review.faults[0].line, 4);

    let error = |text: &str| {
        fs::write(&mixed, text).unwrap();
        reviewed(&mixed, &player, 1).unwrap_err().to_string()
    };
    assert!(error("").contains("no records"));
    assert!(error("a@1|0111#U|a@2\n").contains("no game of") && error("x").contains("line 1"));
    assert!(error("3x3-_¾ú0¾úg\n").contains("has records of 2048 on 3x3"));
    let threes = Contender::baseline(Baseline::Greedy, "threes", Shape::FOUR).unwrap();
    let (_other, path) = recorded(&threes, 2);
    let text = fs::read_to_string(path).unwrap();
    assert!(error(&text).contains("has records of threes on 4x4"));
}
