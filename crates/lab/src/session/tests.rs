//! Sessions against the fast paths of all games, and through records and back.

use std::fs;
use std::path::Path;

use afterstate::format::episode::EpisodeRecord;
use afterstate::game::{ChanceState, Position as _};
use afterstate::judge::{Judge, RecordEnd};
use afterstate::random::game_rng;

use super::*;
use crate::error::RecordError;
use crate::games::{GameVisitor, with_game};

const SEED: u64 = 7;

fn shapes() -> impl Iterator<Item = Shape> {
    let sides = Shape::SIDES;
    sides.flat_map(|rows| Shape::SIDES.filter_map(move |cols| Shape::new(rows, cols)))
}

fn started(game: &str, shape: Shape) -> Session {
    let mut session = Session::new(game, shape, SEED, 0).unwrap();
    session.start();
    session
}

/// Plays the same game by a session and by the fastest implementation.
struct Twin<'a>(&'a str);

impl GameVisitor for Twin<'_> {
    type Output = Session;

    fn visit<G: Game>(self, game: G) -> Session {
        let mut session = started(self.0, game.shape());
        let mut rng = evaluation_rng(SEED, 0);
        let mut state = game.start(&mut rng);
        let mut score = game.initial_score(state);
        let mut choose = game_rng(1, 1);
        for moves in 0..300 {
            let tiles: Vec<u8> = (0..game.shape().cells()).map(|i| state.cell(i)).collect();
            let expected = BoardState {
                tiles,
                chance_state: game.chance_state(state),
            };
            assert_eq!(session.state(), Some(expected));
            assert_eq!((session.score(), session.moves()), (score, moves));
            let slides = game.slides(state);
            let reward = |direction| slides.get(direction).map(|slide| slide.reward());
            assert_eq!(session.slides(), Direction::ALL.map(reward));
            let legal: Vec<_> = slides.legal().collect();
            if legal.is_empty() {
                assert_eq!(session.turn(), Turn::Over);
                break;
            }
            assert_eq!(session.turn(), Turn::Slide);
            let slide = legal[choose.below(legal.len() as u32) as usize];
            assert_eq!(session.slide(slide.direction()), Ok(slide.reward()));
            self.check_spawns(&game, slide.after(), &session);
            state = game.spawn(slide.after(), &mut rng);
            let placed = session.spawn_random().unwrap();
            assert_eq!(state.cell(placed.cell), placed.tile);
            assert_eq!(state.0.hint(), placed.hint);
            score += u64::from(slide.reward() + game.spawn_reward(placed.tile));
        }
        self.check_record(&game, &session);
        session
    }
}

impl Twin<'_> {
    /// The spawns of the session are those of the game, and each of them can be chosen.
    fn check_spawns<G: Game>(&self, game: &G, after: After<G::Board>, session: &Session) {
        assert_eq!(session.turn(), Turn::Spawn);
        let mut expected = Vec::new();
        game.for_each_spawn(after, |state, _, p| expected.push((state, p)));
        let found = session.spawns();
        assert_eq!(found.len(), expected.len());
        for (possible, (state, p)) in found.iter().zip(expected) {
            assert!((possible.probability - p).abs() < 1e-12);
            assert_eq!(state.cell(possible.placed.cell), possible.placed.tile);
        }
        let sum: f64 = found.iter().map(|possible| possible.probability).sum();
        assert!((sum - 1.0).abs() < 1e-9, "{sum}");
        let mut chosen = session.clone();
        let last = found.last().expect("a spawn").placed;
        assert_eq!(chosen.spawn(last), Ok(()));
        assert_eq!(chosen.tiles()[last.cell], last.tile);
        assert_eq!(chosen.chance_state().hint, last.hint);
    }

    fn check_record<G: Game>(&self, game: &G, session: &Session) {
        let mut record = EpisodeRecord::default();
        record.read(&session.line(), session.shows_hint()).unwrap();
        let replayed = Judge::new(*game).replay(&record, None).unwrap();
        assert_eq!(replayed.outcome().score, session.score());
        assert_eq!(
            *replayed.end() == RecordEnd::Over,
            session.turn() == Turn::Over
        );
    }
}

#[test]
fn every_game_on_every_board_is_that_of_the_fast_path() {
    for game in games::games() {
        for shape in shapes() {
            let session = with_game(game, shape, Twin(game)).unwrap();
            let line = session.line();
            let mut opened = Session::open(game, shape, &line, SEED).unwrap();
            let moves = |session: &Session| session.record().moves;
            assert_eq!(moves(&opened), moves(&session), "{game} {shape}");
            assert_eq!(opened.values(), session.values());
            // Back to the empty board, and forth to the end.
            let mut undone = 0;
            while opened.undo() {
                undone += 1;
            }
            assert_eq!((undone, opened.score()), (session.actions.len(), 0));
            assert!(opened.tiles().iter().all(|&tile| tile == 0));
            assert_eq!(opened.turn(), Turn::Spawn);
            while opened.redo() {}
            assert_eq!(moves(&opened), moves(&session));
        }
    }
}

#[test]
fn an_undone_spawn_comes_again_and_another_action_forgets_what_was_undone() {
    let mut session = started("2048", Shape::FOUR);
    let legal = |session: &Session| {
        let slides = session.slides();
        let mut all = Direction::ALL.into_iter();
        all.find(|&direction| slides[direction as usize].is_some())
    };
    let first = legal(&session).unwrap();
    session.slide(first).unwrap();
    let spawned = session.spawn_random();
    let values = session.values();
    assert!(session.undo());
    assert_eq!(session.next_action().is_some(), spawned.is_some());
    assert_eq!(session.spawn_random(), spawned);
    assert_eq!(session.values(), values);
    assert!(
        !session.redo(),
        "the spawn that was made replaces the undone"
    );
    session.undo();
    session.undo();
    assert_eq!(session.turn(), Turn::Slide);
    let slides = session.slides();
    let mut others = Direction::ALL.into_iter();
    let other = others.find(|&it| it != first && slides[it as usize].is_some());
    session.slide(other.unwrap()).unwrap();
    assert!(!session.redo());
}

#[test]
fn actions_against_the_rules_change_nothing() {
    let mut session = Session::new("2048", Shape::FOUR, 1, 0).unwrap();
    let place = |cell, tile, hint| PlacedTile { cell, tile, hint };
    assert_eq!(session.slide(Direction::Up), Err(Reason::TileDue));
    assert_eq!(session.spawn(place(0, 1, 0)), Ok(()));
    assert_eq!(session.initial_tiles_left(), 1);
    assert_eq!(session.spawn(place(0, 1, 0)), Err(Reason::Taken(0)));
    assert_eq!(session.spawn(place(16, 1, 0)), Err(Reason::NoCell(16)));
    assert_eq!(session.spawn(place(999, 1, 0)), Err(Reason::NoCell(255)));
    let (found, expected) = (3, vec![1, 2]);
    assert_eq!(
        session.spawn(place(1, 3, 0)),
        Err(Reason::Tile { found, expected })
    );
    let (found, expected) = (2, vec![0]);
    assert_eq!(
        session.spawn(place(1, 1, 2)),
        Err(Reason::Hint { found, expected })
    );
    session.spawn(place(4, 1, 0)).unwrap();
    assert_eq!(session.spawn(place(1, 1, 0)), Err(Reason::SlideDue));
    assert_eq!(session.spawn_random(), None);
    let left = Direction::Left;
    assert_eq!(session.slide(left), Err(Reason::Illegal(left)));
    assert_eq!(session.actions.len(), 2);
    // In Threes! tiles spawn at one edge, and the hint comes true.
    let mut session = started("threes-original", Shape::FOUR);
    let hint = session.chance_state().hint;
    assert!((1..=ChanceState::BONUS).contains(&hint));
    let slides = session.slides();
    let mut all = Direction::ALL.into_iter();
    let direction = all.find(|&it| slides[it as usize].is_some()).unwrap();
    session.slide(direction).unwrap();
    let possible = session.spawns();
    assert!(possible.iter().all(|one| one.placed.tile == hint));
    let tiles = session.tiles();
    let is_edge = |cell| possible.iter().any(|one| one.placed.cell == cell);
    let inner = (0..16).find(|&cell| tiles[cell] == 0 && !is_edge(cell));
    let refused = session.spawn(place(inner.unwrap(), hint, 1));
    assert!(matches!(refused, Err(Reason::Edge { .. })), "{refused:?}");
}

#[test]
fn bad_records_are_refused_with_what_is_wrong() {
    let open = |game, line: &str| {
        let opened = Session::open(game, Shape::FOUR, line.as_bytes(), 1);
        opened.map(|_| ()).unwrap_err()
    };
    for (line, words) in [
        ("", "column 1"),
        ("a@1|01#X|b@2", "expected U, R, D or L"),
        ("a@1|01|b@2", "1 of 2 initial tiles"),
        ("a@1|01#U|b@2", "a slide where a new tile is due"),
        ("a@1|0111#U|b@2", "column 9: a slide up changes nothing"),
        ("a@1|0111#L[8]|b@2", "the action earns 4"),
        ("a@1|0111#L[4]01|b@2", "cell 0, which is not empty"),
        ("a@1|0111#L[4]19|b@2", "index 9"),
        ("a@1|0111#L[4]Z1|b@2", "not on the board"),
    ] {
        let error = open("2048", line).to_string();
        assert!(error.contains(words), "{line}: {error}");
    }
    let error = open("nothing", "a@1|0111|b@2");
    assert!(matches!(error, RecordError::Game(_)), "{error}");
}

#[test]
fn the_game_of_a_record_is_found() {
    for (game, shape) in [
        ("2048", Shape::FOUR),
        ("threes", Shape::FOUR),
        ("threes-hint", Shape::FOUR),
        ("2584", Shape::FOUR),
        ("2048", Shape::new(3, 3).unwrap()),
        ("2048", Shape::new(5, 4).unwrap()),
    ] {
        let session = with_game(game, shape, Twin(game)).unwrap();
        let found = crate::records::game_of(&session.line()).unwrap();
        assert_eq!(found, Some((game, shape)));
    }
    assert_eq!(crate::records::game_of(b"no record").unwrap(), None);
}

/// Games of a file with a byte order mark and carriage returns are opened, and written without.
#[test]
fn games_are_opened_from_and_added_to_a_file_with_a_mark() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("games.txt");
    let lines = [1, 2].map(|moves| String::from_utf8(played(moves, 0).line()).unwrap());
    let text = lines.each_ref().map(|line| format!("{line}\r\n")).concat();
    fs::write(&path, format!("\u{FEFF}{text}")).unwrap();
    let record = StoredRecord::read(&path, Some(1)).unwrap();
    assert_eq!(record.game().unwrap(), ("2048", Shape::FOUR));
    let mut session = record.session("2048", Shape::FOUR, SEED).unwrap();
    play(&mut session);
    let mut file = RecordFile::open(&path, Some(&record)).unwrap();
    assert!(file.save(&session).unwrap());
    assert_eq!(moves_of(&path), [2, 2]);
    let text = fs::read(&path).unwrap();
    assert!(!text.contains(&b'\r') && text.starts_with(lines[1].as_bytes()));
}

/// Makes the first legal slide, and spawns a tile.
fn play(session: &mut Session) {
    let slides = session.slides();
    let mut all = Direction::ALL.into_iter();
    let legal = all.find(|&it| slides[it as usize].is_some()).unwrap();
    session.slide(legal).unwrap();
    session.spawn_random();
}

/// A game of this many moves.
fn played(moves: usize, number: u64) -> Session {
    let mut session = Session::new("2048", Shape::FOUR, SEED, number).unwrap();
    session.start();
    (0..moves).for_each(|_| play(&mut session));
    session
}

/// The moves of each record of a file.
fn moves_of(path: &Path) -> Vec<usize> {
    let text = fs::read_to_string(path).unwrap();
    text.lines().map(|line| line.matches('#').count()).collect()
}

#[test]
fn looking_through_a_game_leaves_its_record() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("games.txt");
    let mut file = RecordFile::open(&path, None).unwrap();
    file.close(&played(5, 0)).unwrap();
    file.close(&played(3, 1)).unwrap();
    let before = fs::read(&path).unwrap();
    let record = StoredRecord::read(&path, Some(1)).unwrap();
    // The random spawns of this seed would be others.
    let mut session = record.session("2048", Shape::FOUR, SEED + 1).unwrap();
    let mut file = RecordFile::open(&path, Some(&record)).unwrap();
    while session.moves() > 0 && session.undo() {}
    assert_eq!((session.moves(), session.all_moves()), (0, 5));
    assert!(file.save(&session).unwrap());
    assert_eq!(fs::read(&path).unwrap(), before);
    // Moves that are made again leave the others, and their spawns come again.
    play(&mut session);
    play(&mut session);
    assert_eq!((session.moves(), session.changes()), (2, 0));
    assert_eq!(session.line(), record.line);
    while session.moves() > 0 && session.undo() {}
    file.close(&session).unwrap();
    assert_eq!(fs::read(&path).unwrap(), before);
    file.close(&played(1, 2)).unwrap();
    assert_eq!(moves_of(&path), [5, 3, 1], "the next game comes behind");
    // Another move forgets what was undone.
    let slides = session.slides();
    let undone = session.next_action();
    let mut others = Direction::ALL.into_iter().rev();
    let other = others
        .find(|&it| slides[it as usize].is_some() && undone != Some(Action::Slide(it)))
        .unwrap();
    let mut file = RecordFile::open(&path, Some(&record)).unwrap();
    session.slide(other).unwrap();
    assert_eq!((session.all_moves(), session.changes()), (1, 1));
    file.save(&session).unwrap();
    assert_eq!(moves_of(&path), [3, 1, 1]);
}

#[test]
fn of_two_programs_with_one_file_none_loses_a_game() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("games.txt");
    let mut files = [(); 2].map(|()| RecordFile::open(&path, None).unwrap());
    for moves in 1..4 {
        files[0].save(&played(moves, 0)).unwrap();
        files[1].save(&played(moves + 10, 1)).unwrap();
    }
    assert_eq!(moves_of(&path), [3, 13]);
    // Both go on with the same game: both games stay.
    let record = StoredRecord::read(&path, Some(1)).unwrap();
    let mut files = [(); 2].map(|()| RecordFile::open(&path, Some(&record)).unwrap());
    for (file, more) in files.iter_mut().zip(1..) {
        let mut session = record.session("2048", Shape::FOUR, more).unwrap();
        (0..more).for_each(|_| play(&mut session));
        file.close(&session).unwrap();
    }
    assert_eq!(moves_of(&path), [13, 4, 5]);
    std::thread::scope(|scope| {
        for number in 0..8 {
            let mut file = RecordFile::open(&path, None).unwrap();
            scope.spawn(move || file.close(&played(20, number)).unwrap());
        }
    });
    assert_eq!(moves_of(&path).len(), 11);
}

#[test]
fn a_game_that_could_not_be_written_is_written_later() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("games.txt");
    let seal = folder.path().join("games.txt.seal.json");
    let mut file = RecordFile::open(&path, None).unwrap();
    file.save(&played(1, 0)).unwrap();
    fs::write(&seal, "{}").unwrap();
    let refused = file.close(&played(2, 0));
    assert!(matches!(refused, Err(LabError::Record { .. })));
    assert!(file.is_behind() && file.save(&played(1, 1)).is_err());
    assert_eq!(moves_of(&path), [1], "left as it was");
    fs::remove_file(&seal).unwrap();
    file.save(&played(3, 1)).unwrap();
    assert!(!file.is_behind());
    assert_eq!(moves_of(&path), [2, 3]);
    // Also without another game.
    fs::write(&seal, "{}").unwrap();
    file.close(&played(4, 1)).unwrap_err();
    fs::remove_file(&seal).unwrap();
    file.flush().unwrap();
    assert_eq!(moves_of(&path), [2, 4]);
}

#[test]
fn files_and_lines_that_are_too_long_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("games.txt");
    let line = [b"a@1|", &vec![b'0'; 8 << 20][..]].concat();
    fs::write(&path, [&b"a@1|0111|b@2\n"[..], &line].concat()).unwrap();
    let error = StoredRecord::read(&path, None).unwrap_err().to_string();
    assert!(error.contains("game 2 is longer than 8.0 MiB"), "{error}");
    StoredRecord::read(&path, Some(1)).unwrap();
    let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
    file.set_len((256 << 20) + 1).unwrap();
    let error = StoredRecord::read(&path, None).unwrap_err().to_string();
    assert!(
        error.contains("not opened from a file of more than 256.0 MiB"),
        "{error}"
    );
    let error = RecordFile::open(&path, None).unwrap_err().to_string();
    assert!(
        error.contains("not added to a file of more than 16.0 MiB"),
        "{error}"
    );
}

#[test]
fn games_are_added_to_a_file_and_continued() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("games.txt");
    let mut first = started("2048", Shape::FOUR);
    let mut file = RecordFile::open(&path, None).unwrap();
    let empty = Session::new("2048", Shape::FOUR, 1, 0).unwrap();
    assert!(
        !file.save(&empty).unwrap() && !path.exists(),
        "nothing to save yet"
    );
    for _ in 0..5 {
        play(&mut first);
        assert!(file.save(&first).unwrap());
    }
    file.close(&first).unwrap();
    let second = started("2048", Shape::FOUR);
    file.save(&second).unwrap();
    let count = || fs::read_to_string(&path).unwrap().lines().count();
    assert_eq!(count(), 2);
    // The first game goes on: it is replaced, and the other one stays.
    let record = StoredRecord::read(&path, Some(1)).unwrap();
    assert_eq!(record.game().unwrap(), ("2048", Shape::FOUR));
    let mut again = record.session("2048", Shape::FOUR, 1).unwrap();
    assert_eq!(again.moves(), 5);
    let mut file = RecordFile::open(&path, Some(&record)).unwrap();
    play(&mut again);
    file.save(&again).unwrap();
    assert_eq!(count(), 2);
    let last = StoredRecord::read(&path, None).unwrap();
    assert_eq!(last.number, 2);
    let last = last.session("2048", Shape::FOUR, 1).unwrap();
    assert_eq!(last.moves(), 6);
}

#[test]
fn files_that_are_not_for_games_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("notes.txt"), "not a record").unwrap();
    fs::write(path("empty.txt"), "\n\n").unwrap();
    let line = started("2048", Shape::FOUR).line();
    fs::write(path("sealed.txt"), &line).unwrap();
    fs::write(path("sealed.txt.seal.json"), "{}").unwrap();
    let words = |error: LabError| error.to_string();
    let saving = |name| words(RecordFile::open(&path(name), None).unwrap_err());
    assert!(saving("notes.txt").contains("not a file of records"));
    assert!(saving("sealed.txt").contains("seal"));
    assert!(saving(".").contains("directory"));
    let opening = |name, number| words(StoredRecord::read(&path(name), number).unwrap_err());
    assert!(opening("empty.txt", None).contains("no records"));
    assert!(opening("none.txt", None).contains("cannot read"));
    assert!(opening("sealed.txt", Some(2)).contains("game 2 was asked for, and it has 1"));
    assert!(opening("sealed.txt", Some(0)).contains("game 0"));
    let record = StoredRecord::read(&path("notes.txt"), None).unwrap();
    let found = words(record.game().unwrap_err());
    assert!(
        found.contains("game 1 is not an episode record: column "),
        "{found}"
    );
    let unreadable = record.session("2048", Shape::FOUR, 1);
    assert!(matches!(unreadable, Err(LabError::Record { .. })));
    assert!(matches!(
        record.session("chess", Shape::FOUR, 1),
        Err(LabError::UnknownGame { .. })
    ));
}
