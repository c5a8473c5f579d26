//! The interface without a terminal: keys in, a screen of text out.

mod cancelled;
mod screens;

use std::sync::Arc;

use afterstate::game::{Direction, Shape};
use afterstate_lab::agent::{Agent, Baseline, StateAnalysis};
use afterstate_lab::session::{Session, Turn};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::app::App;
use super::coach::{Coach, GradedMove};
use super::events::{Adviser, AnalysisJob, AppEvent, Effect, Options};
use super::keys::Key;
use super::palette::{Colors, TerminalStyle};
use super::view::draw;
use crate::remedy::without_model;

const PLAIN: TerminalStyle = TerminalStyle {
    colors: Colors::None,
    has_lines: true,
};

/// An interface whose boards are analysed at once.
struct Table {
    app: App,
    agent: Option<Arc<dyn Agent>>,
    /// Jobs that wait, while nothing is analysed.
    held: Option<Vec<AnalysisJob>>,
    effects: Vec<Effect>,
}

impl Table {
    fn new(game: &str, shape: (usize, usize), change: impl FnOnce(&mut Options)) -> Self {
        let shape = Shape::new(shape.0, shape.1).unwrap();
        let session = Session::new(game, shape, 1, 0).unwrap();
        Self::of(session, true, change)
    }

    fn of(session: Session, advised: bool, change: impl FnOnce(&mut Options)) -> Self {
        let agent = advised.then(|| {
            let agent = Baseline::Greedy.agent(session.game(), session.shape());
            agent.unwrap()
        });
        let adviser = match advised {
            true => Adviser::Model("greedy".to_owned()),
            false => Adviser::None(without_model(session.game(), session.shape())),
        };
        let mut options = Options {
            adviser,
            limit: "1ply".parse().unwrap(),
            manual: false,
            watch: false,
            seed: 1,
            file: None,
        };
        change(&mut options);
        let (app, effects) = App::new(session, options);
        let mut table = Self {
            app,
            agent,
            held: None,
            effects: Vec::new(),
        };
        table.run(effects);
        table
    }

    fn run(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Analyze(job) => match &mut self.held {
                    Some(held) => held.push(job),
                    None => self.analyze(&job),
                },
                effect => self.effects.push(effect),
            }
        }
    }

    fn analyze(&mut self, job: &AnalysisJob) {
        let agent = self.agent.as_ref().expect("a job without an adviser");
        let found = agent.analyze(std::slice::from_ref(&job.board)).pop();
        self.send(AppEvent::Analyzed {
            job: job.number,
            found: found.flatten(),
            complete: true,
        });
    }

    fn send(&mut self, event: AppEvent) {
        let effects = self.app.update(event);
        self.run(effects);
    }

    /// Presses a key for each character; `^v<>` are arrows, `\n` is enter.
    fn press(&mut self, keys: &str) -> &mut Self {
        for letter in keys.chars() {
            let code = match letter {
                '^' => KeyCode::Up,
                '~' => KeyCode::Down,
                '{' => KeyCode::Left,
                '}' => KeyCode::Right,
                '\n' => KeyCode::Enter,
                '\t' => KeyCode::Tab,
                letter => KeyCode::Char(letter),
            };
            let key = Key::of(KeyEvent::new(code, KeyModifiers::NONE)).unwrap();
            self.send(AppEvent::Key(key));
        }
        self
    }

    fn screen(&self, width: u16, height: u16) -> String {
        screen(&self.app, width, height, PLAIN)
    }

    /// The last of the effects that are not analyses.
    fn last_effect(&self) -> String {
        format!("{:?}", self.effects.last())
            .chars()
            .take(16)
            .collect()
    }
}

fn screen(app: &App, width: u16, height: u16, style: TerminalStyle) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw(frame, app, style)).unwrap();
    let buffer = terminal.backend().buffer();
    let line = |y| {
        let cells = (0..width).map(|x| buffer[(x, y)].symbol());
        cells.collect::<String>().trim_end().to_owned() + "\n"
    };
    (0..height).map(line).collect()
}

#[test]
fn all_keys_of_a_direction_slide_alike() {
    for (keys, direction) in [
        ("^wk", Direction::Up),
        ("}dl", Direction::Right),
        ("~sj", Direction::Down),
        ("{ah", Direction::Left),
    ] {
        for key in keys.chars() {
            let mut table = Table::new("2048", (4, 4), |_| ());
            let legal = table.app.session.slides()[direction as usize].is_some();
            table.press(&key.to_string());
            assert_eq!(table.app.session.moves(), u64::from(legal), "{key}");
            assert_eq!(table.app.message.contains("changes nothing"), !legal);
        }
    }
    // What a slow line makes of an arrow does nothing.
    let mut table = Table::new("2048", (4, 4), |_| ());
    table.press("[A[B[C[D");
    assert_eq!((table.app.session.moves(), &*table.app.message), (0, ""));
    assert!(table.effects.is_empty());
}

/// What cannot be seen is not played: neither by keys nor by autoplay.
#[test]
fn nothing_moves_in_a_window_that_is_too_small() {
    let mut table = Table::new("2048", (4, 4), |options| options.watch = true);
    assert!(table.app.can_auto_move());
    table.send(AppEvent::Resized { has_room: false });
    assert!(!table.app.can_auto_move());
    table.press("wasd hjkl?n");
    assert_eq!(table.app.session.all_moves(), 0);
    assert!(!table.app.shows_help);
    table.press("q");
    assert_eq!(table.last_effect(), "Some(Quit)");
    table.send(AppEvent::Resized { has_room: true });
    table.press("ws");
    assert!(table.app.session.all_moves() > 0);
}

#[test]
fn moves_are_graded_counted_and_undone() {
    let mut table = Table::new("2048", (4, 4), |_| ());
    let counted = |table: &Table| table.app.grades().map(|(_, count)| count).sum::<usize>();
    table.press("        ");
    assert_eq!(counted(&table), 8);
    let graded = table.app.coach.clone();
    assert!(matches!(graded, Some(Coach::Graded(_))), "{graded:?}");
    let values = table.app.session.values();
    table.press("uuu");
    assert_eq!((table.app.session.moves(), &table.app.coach), (5, &None));
    assert_eq!(counted(&table), 5);
    assert_eq!(table.app.session.turn(), Turn::Slide);
    table.press("rrr");
    assert_eq!(table.app.session.values(), values);
    assert_eq!(
        table.app.coach, graded,
        "a move that is made again is graded again"
    );
    table.press("r");
    assert!(table.app.message.contains("nothing to redo"));
    table.press("uuuuuuuu");
    assert_eq!(table.app.session.moves(), 0);
    table.press("u");
    assert!(table.app.message.contains("nothing to undo"));
    assert_eq!(
        table.app.session.turn(),
        Turn::Slide,
        "the first tiles stay"
    );
}

fn analysis(totals: [f32; 4]) -> StateAnalysis {
    use afterstate::value::{ActionValue, ActionValues};
    let mut values = ActionValues::default();
    for (direction, total) in Direction::ALL.into_iter().zip(totals) {
        values.set(
            direction,
            ActionValue {
                value: total,
                total,
            },
        );
    }
    StateAnalysis {
        rewards: [Some(0); 4],
        chosen: values.best(),
        values,
    }
}

#[test]
fn the_coach_says_what_a_move_loses() {
    let said = |totals, direction| {
        let graded = GradedMove::of(&analysis(totals), direction)?;
        Some(Coach::Graded(graded).to_string())
    };
    let totals = [1000.0, 999.5, 980.0, 500.0];
    for (direction, words) in [
        (Direction::Up, "up: best move, worth 1,000"),
        (
            Direction::Right,
            "right: excellent, loses 0.50 of 1,000 (keeps 99.9%); better: up",
        ),
        (
            Direction::Down,
            "down: inaccuracy, loses 20.0 of 1,000 (keeps 98.0%); better: up",
        ),
        (
            Direction::Left,
            "left: blunder, loses 500.0 of 1,000 (keeps 50.0%); better: up",
        ),
    ] {
        assert_eq!(said(totals, direction).as_deref(), Some(words));
    }
    let negative = said([-1.0, -2.0, -3.0, f32::NAN], Direction::Right);
    assert_eq!(
        negative.as_deref(),
        Some("right: blunder, loses 1.00 of -1.00; better: up")
    );
    assert_eq!(said([1.0, f32::NAN, 1.0, 1.0], Direction::Right), None);
}

#[test]
fn a_move_before_the_search_has_ended_is_graded_later() {
    let mut table = Table::new("2048", (4, 4), |_| ());
    table.held = Some(Vec::new());
    table.press("3");
    let job = table.held.as_mut().unwrap().pop().unwrap();
    assert_eq!(job.limit.to_string(), "3ply");
    table.press("~{");
    let later = table.held.as_mut().unwrap().pop().unwrap();
    let waiting = table.app.coach.clone();
    assert!(matches!(waiting, Some(Coach::Waiting(_))), "{waiting:?}");
    assert!(
        later.oldest < later.number,
        "the search of the move goes on"
    );
    // The answer to an old job changes nothing, that to the pending one grades the move.
    table.send(AppEvent::Analyzed {
        job: job.number,
        found: None,
        complete: true,
    });
    assert_eq!(table.app.coach, waiting);
    table.send(AppEvent::Analyzed {
        job: later.oldest,
        found: Some(analysis([4.0, 3.0, 2.0, 1.0])),
        complete: true,
    });
    let graded = table.app.coach.clone();
    assert!(matches!(graded, Some(Coach::Graded(_))), "{graded:?}");
    // The best move is played when it is found, unless another key comes first.
    let moves = table.app.session.moves();
    table.press(" ");
    assert_eq!(table.app.session.moves(), moves);
    table.analyze(&later);
    assert_eq!(table.app.session.moves(), moves + 1);
}

#[test]
fn autoplay_stops_at_the_end_and_can_be_paced() {
    let mut table = Table::new("2048", (2, 3), |options| options.watch = true);
    assert!(table.app.can_auto_move());
    for _ in 0..1000 {
        table.send(AppEvent::AutoMove);
    }
    assert_eq!(table.app.session.turn(), Turn::Over);
    assert!(!table.app.auto && table.app.notice().contains("game over"));
    // No key wipes that the game is over, starts autoplay or waits for a search.
    for (key, said) in [
        ("v", "game over: "),
        ("p", "the game is over"),
        ("i", "the game is over"),
    ] {
        table.press(key);
        let screen = table.screen(60, 20);
        assert!(screen.contains(said), "{key}: {screen}");
        for wrong in ["autoplay", "searching"] {
            assert!(!screen.contains(wrong), "{key}: {screen}");
        }
    }
    table.press("v");
    let speed = table.app.speed();
    table.press("--");
    assert!(table.app.speed() < speed);
    table.press("++++++++++");
    assert_eq!(table.app.speed(), None);
    // Over: a slide says so, undo goes back, and a new game needs no second key.
    table.press("^");
    assert!(table.app.message.contains("over"));
    table.press("u");
    assert_eq!(table.app.session.turn(), Turn::Slide);
    table.press("rn");
    assert_eq!(table.app.session.moves(), 0);
    assert!(table.last_effect().contains("Close"));
}

#[test]
fn a_new_game_is_asked_for_twice() {
    let mut table = Table::new("2048", (4, 4), |_| ());
    let first = table.app.session.values();
    table.press("n");
    assert_ne!(table.app.session.values(), first, "nothing is lost");
    table.press("~{n");
    assert!(table.app.session.moves() > 0 && table.app.message.contains("again"));
    table.press("vn");
    assert!(table.app.session.moves() > 0, "another key came between");
    table.press("n");
    assert_eq!(table.app.session.moves(), 0);
}

#[test]
fn depth_is_changed_by_keys() {
    let mut table = Table::new("2048", (4, 4), |_| ());
    for (keys, limit) in [
        ("..", "3ply"),
        (",", "2ply"),
        (",,,", "1ply"),
        ("5", "5ply"),
    ] {
        table.press(keys);
        assert_eq!(table.app.limit.to_string(), limit);
    }
    table.send(AppEvent::NoSearch("no values".to_owned()));
    assert_eq!(table.app.limit.to_string(), "1ply");
    assert_eq!(table.app.message, "no values");
    table.app.limit = "100ms".parse().unwrap();
    table.press(".");
    assert_eq!(table.app.limit.to_string(), "200ms");
}

#[test]
fn without_a_model_the_game_is_played_by_hand() {
    let session = Session::new("2048", Shape::FOUR, 1, 0).unwrap();
    let mut table = Table::of(session, false, |options| options.watch = true);
    assert!(!table.app.auto);
    for key in [" ", "i", "v", "p", ".", "3"] {
        table.press("m").press("m").press(key);
        assert!(table.app.message.contains("afterstate train"), "{key}");
    }
    table.press("~{~{");
    assert!(table.app.session.moves() >= 2);
    assert_eq!(table.app.coach, None);
}

#[test]
fn tiles_are_entered_by_hand() {
    let mut table = Table::new("2048", (4, 4), |options| options.manual = true);
    let values = |table: &Table| table.app.session.values();
    // A 2 in the corner, a 4 beside it.
    table.press("\n4\n");
    assert_eq!(values(&table)[..2], [2, 4]);
    assert_eq!(table.app.session.turn(), Turn::Slide);
    table.press("~");
    assert_eq!(values(&table)[12..14], [2, 4]);
    assert!(table.app.entry.is_some());
    // A wrong slide is taken back; then a wrong tile.
    table.press("u^");
    assert!(table.app.message.contains("changes nothing"));
    table.press("~}\t\n");
    assert_eq!(values(&table)[1], 4);
    table.press("u");
    assert_eq!(table.app.session.turn(), Turn::Spawn);
    table.press("\n");
    assert_eq!(values(&table)[0], 2);
    // Chance takes over.
    table.press("}m");
    assert_eq!(table.app.session.turn(), Turn::Slide);
}

#[test]
fn the_next_tile_of_threes_is_entered_as_well() {
    let mut table = Table::new("threes-hint", (4, 4), |options| options.manual = true);
    // Nine first tiles, each with the tile after it: 1, 2, 3, 1, ...
    for tile in [
        "1\n2\n", "3\n", "1\n", "2\n", "3\n", "1\n", "2\n", "3\n", "1\n",
    ] {
        assert!(table.app.entry.is_some());
        table.press(match tile.len() {
            4 => tile,
            _ => "\n",
        });
        if tile.len() == 2 {
            table.press(tile);
        }
    }
    assert_eq!(
        table.app.session.turn(),
        Turn::Slide,
        "{}",
        table.screen(60, 20)
    );
    assert_eq!(table.app.session.chance_state().hint, 1);
    let first = table.app.session.values();
    assert_eq!(first[..9], [1, 2, 3, 1, 2, 3, 1, 2, 3]);
    table.press("~");
    let entry = table.app.entry.clone().unwrap();
    assert_eq!(entry.tiles(), [(1, 1.0)]);
    table.press("\n");
    assert!(table.app.entry.as_ref().unwrap().asks_hint);
    table.press("u");
    assert!(!table.app.entry.as_ref().unwrap().asks_hint);
    table.press("\n2\n");
    assert_eq!(table.app.session.chance_state().hint, 2);
}

#[test]
fn leaving_is_an_effect() {
    let mut table = Table::new("2048", (4, 4), |_| ());
    table.press("?q");
    assert!(table.last_effect().contains("Quit"));
    for (letter, effect) in [('c', "Interrupt"), ('z', "Suspend")] {
        let event = KeyEvent::new(KeyCode::Char(letter), KeyModifiers::CONTROL);
        table.send(AppEvent::Key(Key::of(event).unwrap()));
        assert!(table.last_effect().contains(effect));
    }
    // The first key closes the help.
    table.press("xe");
    assert!(table.last_effect().contains("Save"));
}
