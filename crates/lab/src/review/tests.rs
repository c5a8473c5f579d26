use std::fs;
use std::path::PathBuf;
use std::sync::Mutex;
use std::thread::{self, ThreadId};

use afterstate::format::episode::{Action, EpisodeRecord};
use afterstate::format::verse::{VerseReplay, VerseStep};
use afterstate::game::{Game, Grid, PowersOfTwo, Shape, State};
use afterstate::tally::Outcome;
use afterstate::value::ActionValues;
use tempfile::TempDir;

use super::game::{MoveAndSpawn, PIECE, luck};
use super::*;
use crate::agent::{
    Baseline, BoardState, FirstMove, PolicyFn, RoundSpec, StateAnalysis, board_state,
};
use crate::board::GameBoard;
use crate::control::{Event, quiet};
use crate::evaluate::{EvalOptions, record};
use crate::recorder::Sink;
use crate::solve::{Solution, SolveOptions, solve};

fn solution(rows: usize, cols: usize) -> Arc<Solution> {
    solution_to(rows, cols, None)
}

fn solution_to(rows: usize, cols: usize, target: Option<u64>) -> Arc<Solution> {
    let solved = solve(&SolveOptions {
        game: "2048",
        shape: Shape::new(rows, cols).unwrap(),
        target,
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
        detail: Detail::Full,
        threads,
        control: quiet(),
    }
}

fn reviewed(path: &Path, contender: &Contender, threads: usize) -> Result<Review, LabError> {
    let records = RecordReader::open(path, quiet())?;
    review(records, contender, &contender.agent, &options(threads))
}

/// At every afterstate that play on 2x2 can reach, the luck of all spawns, weighed by their
/// probabilities, is 0 in the mean, and the value of a spawn is that of the afterstate plus luck.
#[test]
fn the_mean_of_luck_is_zero_at_every_afterstate() {
    assert!(lucky_spawns(&exact(&solution(2, 2))) > 50);
}

/// The same in percentage points of the chance of a target. States that have the target are worth
/// 100, also those in which the game is over, and also if the solved game ends there.
#[test]
fn the_mean_of_luck_in_percentage_points_is_zero_as_well() {
    let path = Path::new("solution");
    let solution = solution_to(2, 2, Some(16));
    let target = Contender::exact_for_target(Arc::clone(&solution), path).unwrap();
    assert!(lucky_spawns(&target) > 0);
    let none = Contender::exact_for_target(self::solution(2, 2), path).err();
    assert!(none.unwrap().to_string().contains("no target tile"));
    let search = crate::search::SearchSpec::new("2ply".parse().unwrap());
    assert!(target.clone().with_search(&search).is_err());

    // The chance at the start, with all luck and without all losses, is 100 or 0 in the end.
    let (_folder, records) = recorded(&weak_player(), 40);
    let review = reviewed(&records, &target, 1).unwrap();
    assert_eq!(review.target, Some(16));
    let text = fs::read_to_string(&records).unwrap();
    let mut reached = 0;
    for (game, line) in review.games.iter().zip(text.lines()) {
        let session = crate::session::Session::open("2048", target.shape, line.as_bytes(), 1);
        let mut session = session.unwrap();
        while session.moves() > 0 {
            session.undo();
        }
        let start = target.agent.analyze(&[session.state().unwrap()]);
        let start = start[0].unwrap().best_total().unwrap();
        let end = start + game.result.luck - game.result.total_loss;
        let expected = if game.largest >= 16 { 100.0 } else { 0.0 };
        assert!((end - expected).abs() < 0.01, "{end} is not {expected}");
        reached += u32::from(game.largest >= 16);
    }
    assert!((1..40).contains(&reached), "{reached}");
}

/// A weak player, so that some games reach the target and some do not.
fn weak_player() -> Contender {
    Contender::baseline(Baseline::Random, "2048", Shape::new(2, 2).unwrap()).unwrap()
}

/// Walks through all afterstates, and returns how many spawns were lucky.
fn lucky_spawns(exact: &Contender) -> u32 {
    let game = Grid::new(exact.shape, &PowersOfTwo);
    let analyze = |state: State<_>| exact.agent.analyze(&[board_state(&game, state)])[0].unwrap();
    let mut seen = std::collections::HashSet::new();
    let mut waiting = Vec::new();
    game.for_each_start(|state, _| waiting.push(state));
    let (mut afterstates, mut lucky) = (0, 0);
    while let Some(state) = waiting.pop() {
        if !seen.insert(state) {
            continue;
        }
        let analysis = analyze(state);
        for slide in game.slides(state).legal() {
            let value = analysis.values.get(slide.direction()).unwrap().value;
            let (mut turns, mut drawn) = (Vec::new(), Vec::new());
            game.for_each_spawn(slide.after(), |next, reward, p| {
                let spawn = Some((0, next));
                turns.push(MoveAndSpawn::<Grid> {
                    state,
                    slide,
                    spawn,
                });
                let target = exact.agent.target();
                let is_reached = target.is_some_and(|tile| game.max_tile(next) >= tile);
                let over = if is_reached { 100.0 } else { 0.0 };
                let best = analyze(next).best_total().unwrap_or(over);
                let reward = target.map_or(f64::from(reward), |_| 0.0);
                drawn.push((reward + best, p));
                waiting.push(next);
            });
            let mut mean = 0.0;
            for (found, (next, p)) in luck(&game, &turns, &*exact.agent).iter().zip(drawn) {
                let luck = found.unwrap().sum();
                mean += p * luck;
                // The values of an agent have 24 bits.
                let error = next - f64::from(value) - luck;
                assert!(error.abs() < 1e-3, "{next} is not {value} + {luck}");
                lucky += u32::from(luck > 1.0);
            }
            assert!(mean.abs() < 1e-9, "{mean}");
            afterstates += 1;
        }
    }
    assert!(afterstates > 200, "{afterstates}");
    lucky
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
    let records = RecordReader::open(&path, quiet()).unwrap();
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
        let start = GameBoard::new("2048", judge.shape, tiles, chance_state).unwrap();
        let start = solution.analyze(&start.text()).unwrap();
        let value = start
            .moves
            .iter()
            .filter_map(|one| one.total)
            .fold(0.0, f64::max);
        let ReviewResult {
            luck, total_loss, ..
        } = game.result;
        let explained = value + luck - total_loss;
        // The values of an agent have 24 bits.
        assert!(
            (explained - game.score as f64).abs() < 0.01,
            "{explained} is not {}",
            game.score
        );
    }
    let z = review.total.result.luck_z.unwrap();
    assert!(z.abs() < 5.0, "{z}");
    assert!(review.total.result.accuracy.unwrap() < 0.99);
}

/// A player that is reviewed by its own values makes no mistake.
#[test]
fn a_player_agrees_with_itself() {
    let player = exact(&solution(2, 2));
    let (_folder, path) = recorded(&player, 50);
    let review = reviewed(&path, &player, 2).unwrap();
    let result = &review.total.result;
    assert_eq!((result.accuracy, result.total_loss), (Some(1.0), 0.0));
    assert_eq!(result.grades[&Grade::Best], result.move_count);
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
    let result = &review.games[0].result;
    assert_eq!((result.accuracy, result.mean_loss), (Some(0.5), Some(4.0)));
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
    assert!(one.games.iter().all(|game| game.moves.len() > 2 * PIECE));
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
        RecordReader::open(&other, quiet())
            .unwrap()
            .game()
            .unwrap()
            .0,
        "2048"
    );
    let again = reviewed(&other, &player, 2).unwrap();
    assert_eq!(again.total, one.total);
    assert_eq!(again.games[0].player, "2048verse");
    assert_eq!(again.games[5].moves, one.games[5].moves);
}

/// Text needs the first games alone, and the highlights of all of them.
#[test]
fn a_short_review_keeps_what_is_printed() {
    let done = Arc::new(Mutex::new(None));
    let noted = Arc::clone(&done);
    let control = Control::new().on_event(move |event| {
        if let Event::Finished { done, unit, .. } = event {
            *noted.lock().unwrap() = Some((*done, *unit));
        }
    });
    let player = Contender::baseline(Baseline::Greedy, "2048", Shape::FOUR).unwrap();
    let (_folder, path) = recorded(&player, 4);
    let full = reviewed(&path, &player, 1).unwrap();
    let short = ReviewOptions {
        detail: Detail::FirstGames(3),
        control: &control,
        ..options(1)
    };
    let records = RecordReader::open(&path, quiet()).unwrap();
    let short = review(records, &player, &player.agent, &short).unwrap();
    assert_eq!((&short.total, short.games.len()), (&full.total, 3));
    for (short, full) in short.games.iter().zip(&full.games) {
        assert!(short.moves.is_empty() && short.highlights == Highlights::default());
        assert_eq!(short.result, full.result);
    }
    // The work is counted in bytes.
    let bytes = fs::metadata(&path).unwrap().len();
    assert_eq!(*done.lock().unwrap(), Some((bytes, Unit::Bytes)));
}

/// An agent without values.
struct NoValues(Arc<dyn Agent>);

impl Agent for NoValues {
    fn play(&self, round: &RoundSpec<'_>, sink: Option<Sink<'_>>) -> Vec<Outcome> {
        self.0.play(round, sink)
    }

    fn play_from(&self, first: FirstMove<'_>, round: &RoundSpec<'_>) -> Option<Vec<Outcome>> {
        self.0.play_from(first, round)
    }

    fn analyze(&self, boards: &[BoardState]) -> Vec<Option<StateAnalysis>> {
        let mut found = self.0.analyze(boards);
        for one in found.iter_mut().flatten() {
            one.values = ActionValues::NONE;
        }
        found
    }

    fn policy_fn(&self) -> PolicyFn<'_> {
        self.0.policy_fn()
    }

    fn bytes(&self) -> u64 {
        self.0.bytes()
    }
}

#[test]
fn without_values_luck_is_not_known() {
    let player = Contender::baseline(Baseline::Greedy, "2048", Shape::FOUR).unwrap();
    let (_folder, path) = recorded(&player, 1);
    let records = RecordReader::open(&path, quiet()).unwrap();
    let values: Arc<dyn Agent> = Arc::new(NoValues(Arc::clone(&player.agent)));
    let found = review(records, &player, &values, &options(1)).unwrap();
    let moves = &found.games[0].moves;
    assert!(
        moves[..20]
            .iter()
            .all(|one| one.luck.is_none() && one.loss.is_some())
    );
    assert_eq!(found.total.result.luck_z, None);
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
