//! The state of the interface, and what each event does to it.

use std::collections::BTreeMap;
use std::time::Duration;

use afterstate::format::episode::Action;
use afterstate::game::Direction;
use afterstate_lab::LabError;
use afterstate_lab::agent::StateAnalysis;
use afterstate_lab::grade::Grade;
use afterstate_lab::search::SearchLimit;
use afterstate_lab::session::{Session, Turn};

use super::coach::{Coach, GradedMove};
use super::entry::Entry;
use super::events::{Adviser, AnalysisJob, AppEvent, Effect, Options};
use super::keys::Key;
use crate::output::count;

/// A move whose state is still being searched.
#[derive(Clone, Copy)]
struct Pending {
    job: u64,
    direction: Direction,
    /// The number of moves before it.
    number: u64,
}

/// Moves a second of autoplay; the last is as fast as possible.
const SPEEDS: [u64; 7] = [1, 2, 5, 10, 30, 100, 0];

/// The interface.
pub struct App {
    pub session: Session,
    pub adviser: Adviser,
    pub limit: SearchLimit,
    /// The analysis of the state, and whether it is complete.
    pub known: Option<(StateAnalysis, bool)>,
    pub coach: Option<Coach>,
    pub entry: Option<Entry>,
    pub message: String,
    pub file: Option<String>,
    /// Whether the last write of the file failed.
    pub is_unsaved: bool,
    pub manual: bool,
    pub auto: bool,
    pub shows_values: bool,
    pub shows_hint: bool,
    pub shows_help: bool,
    /// Whether the window is large enough: in a smaller one nothing can be seen, so nothing is played.
    has_room: bool,
    speed: usize,
    seed: u64,
    /// The number of the game under the seed.
    game: u64,
    job: u64,
    pending: Option<Pending>,
    /// The grade of each move, by its number.
    graded: BTreeMap<u64, Grade>,
    /// Whether `n` was pressed once.
    asked_new: bool,
    /// Whether the best move is to be played as soon as it is found.
    asked_best: bool,
}

impl App {
    /// The interface of a session, and what is to be done first.
    pub fn new(session: Session, options: Options) -> (Self, Vec<Effect>) {
        let mut app = Self {
            session,
            adviser: options.adviser,
            limit: options.limit,
            known: None,
            coach: None,
            entry: None,
            message: String::new(),
            file: options.file,
            is_unsaved: false,
            manual: options.manual,
            auto: false,
            shows_values: false,
            shows_hint: false,
            shows_help: false,
            has_room: true,
            speed: 2,
            seed: options.seed,
            game: 0,
            job: 0,
            pending: None,
            graded: BTreeMap::new(),
            asked_new: false,
            asked_best: false,
        };
        let mut effects = Vec::new();
        // Without an adviser, the message says how to get one.
        app.auto = app.advised() && options.watch;
        app.settle(&mut effects);
        (app, effects)
    }

    /// Moves a second of autoplay; `None` for as many as possible.
    pub fn speed(&self) -> Option<u64> {
        Some(SPEEDS[self.speed]).filter(|&speed| speed > 0)
    }

    /// The time between two moves of autoplay.
    pub fn delay(&self) -> Duration {
        let second = Duration::from_secs(1);
        self.speed()
            .map_or(Duration::ZERO, |speed| second / speed as u32)
    }

    /// Whether the next move of autoplay can be made.
    pub fn can_auto_move(&self) -> bool {
        let may = self.auto && self.has_room;
        may && self.session.turn() == Turn::Slide && self.best().is_some()
    }

    /// How often each grade was given, to moves that are not undone.
    pub fn grades(&self) -> impl Iterator<Item = (Grade, usize)> + '_ {
        let made = || self.graded.range(..self.session.moves());
        let count = move |grade| made().filter(|(_, it)| **it == grade).count();
        Grade::ALL
            .into_iter()
            .map(move |grade| (grade, count(grade)))
    }

    /// The best move, once the search is complete.
    pub fn best(&self) -> Option<Direction> {
        let (analysis, complete) = self.known.as_ref()?;
        analysis.chosen.filter(|_| *complete)
    }

    /// Updates the interface, and returns what is to be done.
    pub fn update(&mut self, event: AppEvent) -> Vec<Effect> {
        let mut effects = Vec::new();
        match event {
            AppEvent::Key(key) => self.key(key, &mut effects),
            AppEvent::Analyzed {
                job,
                found,
                complete,
            } => self.analyzed(job, found, complete, &mut effects),
            AppEvent::NoSearch(text) => {
                self.message = text;
                if !self.limit.is_greedy() {
                    self.search("1ply".parse(), &mut effects);
                }
            }
            AppEvent::AutoMove => {
                if let Some(best) = self.best().filter(|_| self.can_auto_move()) {
                    self.slide(best, &mut effects);
                }
            }
            AppEvent::Message(text) => self.message = text,
            AppEvent::Resized { has_room } => self.has_room = has_room,
        }
        effects
    }

    fn key(&mut self, key: Key, effects: &mut Vec<Effect>) {
        match key {
            Key::Interrupt => return effects.push(Effect::Interrupt),
            Key::Suspend => return effects.push(Effect::Suspend),
            Key::Quit => return effects.push(Effect::Quit),
            _ if !self.has_room => return,
            _ if self.shows_help => {
                self.shows_help = false;
                return;
            }
            _ => {}
        }
        self.message.clear();
        let asked_new = std::mem::take(&mut self.asked_new);
        self.asked_best = false;
        if self.entry.is_some() && self.entry_key(key, effects) {
            return;
        }
        match key {
            Key::Direction(direction) => self.slide(direction, effects),
            Key::Space => self.play_best(effects),
            Key::Hint => {
                self.shows_hint = !self.refused_as_over() && self.advised() && !self.shows_hint;
            }
            Key::Values => self.shows_values = self.advised() && !self.shows_values,
            Key::Undo => self.undo(effects),
            Key::Redo => self.redo(effects),
            Key::First | Key::Last => self.jump(key == Key::First, effects),
            Key::Auto => self.auto = !self.refused_as_over() && self.advised() && !self.auto,
            Key::Faster => self.speed = (self.speed + 1).min(SPEEDS.len() - 1),
            Key::Slower => self.speed = self.speed.saturating_sub(1),
            Key::Deeper => self.deepen(true, effects),
            Key::Shallower => self.deepen(false, effects),
            Key::Digit(plies) => self.search(format!("{plies}ply").parse(), effects),
            Key::Spawns => self.toggle_spawns(effects),
            Key::New => self.new_game(asked_new, effects),
            Key::Save => effects.push(Effect::Save),
            Key::Help => self.shows_help = true,
            _ => {}
        }
    }

    /// A key while a tile is entered; false if it has its usual meaning.
    fn entry_key(&mut self, key: Key, effects: &mut Vec<Effect>) -> bool {
        let Some(entry) = &mut self.entry else {
            return false;
        };
        match key {
            Key::Direction(direction) if !entry.asks_hint => entry.step(direction),
            Key::Direction(_) | Key::Tab => entry.next(),
            Key::Digit(digit) => entry.digit(digit, |tile| self.session.tile_value(tile)),
            Key::Bonus => entry.bonus(),
            Key::Undo | Key::Escape if entry.asks_hint => entry.asks_hint = false,
            Key::Space | Key::Enter => {
                if let Some(placed) = entry.confirm() {
                    self.entry = None;
                    if let Err(reason) = self.session.spawn(placed) {
                        self.message = reason.to_string();
                    }
                    self.settle(effects);
                }
            }
            _ => return false,
        }
        true
    }

    /// Whether there is an adviser; the message says how to get one if not.
    fn advised(&mut self) -> bool {
        if let Adviser::None(remedy) = &self.adviser {
            self.message = remedy.clone();
        }
        matches!(self.adviser, Adviser::Model(_))
    }

    /// Whether the game is over; then the message says what can be done.
    fn refused_as_over(&mut self) -> bool {
        let is_over = self.session.turn() == Turn::Over;
        if is_over {
            self.message = "the game is over; n: new game, u: undo".to_owned();
        }
        is_over
    }

    /// What the message line says: the message, or else that the game is over.
    pub fn notice(&self) -> String {
        if !self.message.is_empty() || self.session.turn() != Turn::Over {
            return self.message.clone();
        }
        format!(
            "game over: {}, {}; n: new game, u: undo",
            count(self.session.score(), "point"),
            count(self.session.moves(), "move")
        )
    }

    fn slide(&mut self, direction: Direction, effects: &mut Vec<Effect>) {
        let number = self.session.moves();
        if self.refused_as_over() {
            return;
        }
        if let Err(reason) = self.session.slide(direction) {
            self.message = reason.to_string();
            return;
        }
        self.grade(direction, number);
        self.settle(effects);
    }

    /// Grades the move that was just made, now or when its state is searched.
    fn grade(&mut self, direction: Direction, number: u64) {
        self.graded.split_off(&number);
        let pending = Pending {
            job: self.job,
            direction,
            number,
        };
        (self.pending, self.coach) = (None, None);
        match &self.known {
            Some((analysis, true)) => {
                let analysis = *analysis;
                self.set_grade(pending, &analysis);
            }
            _ if matches!(self.adviser, Adviser::Model(_)) => {
                self.pending = Some(pending);
                self.coach = Some(Coach::Waiting(direction));
            }
            _ => {}
        }
    }

    fn set_grade(&mut self, of: Pending, analysis: &StateAnalysis) {
        let graded = GradedMove::of(analysis, of.direction);
        if let Some(graded) = &graded {
            self.graded.insert(of.number, graded.grade);
        }
        self.coach = graded.map(Coach::Graded);
    }

    /// After an action: spawns a tile, or asks for it; then has the state analysed.
    fn settle(&mut self, effects: &mut Vec<Effect>) {
        (self.entry, self.known, self.shows_hint) = (None, None, false);
        while self.session.turn() == Turn::Spawn {
            if self.manual {
                self.entry = Entry::new(self.session.spawns(), self.session.shape());
                break;
            }
            self.session.spawn_random();
        }
        self.auto &= self.session.turn() != Turn::Over;
        self.analyze(effects);
    }

    /// Has the state analysed, if it is the player's turn.
    fn analyze(&mut self, effects: &mut Vec<Effect>) {
        self.job += 1;
        self.known = None;
        let is_turn = self.session.turn() == Turn::Slide;
        let state = self.session.state().filter(|_| is_turn);
        let (Adviser::Model(_), Some(board)) = (&self.adviser, state) else {
            return;
        };
        effects.push(Effect::Analyze(AnalysisJob {
            number: self.job,
            oldest: self.pending.map_or(self.job, |pending| pending.job),
            board,
            limit: self.limit.clone(),
        }));
    }

    fn analyzed(
        &mut self,
        job: u64,
        found: Option<StateAnalysis>,
        complete: bool,
        effects: &mut Vec<Effect>,
    ) {
        if job == self.job {
            let valued = found.filter(|analysis| analysis.chosen.is_some());
            if valued.is_none() {
                self.auto = false;
                self.message = "the model has no values of this board".to_owned();
            }
            self.known = valued.map(|analysis| (analysis, complete));
        }
        if let Some(pending) = self.pending.filter(|it| complete && it.job == job) {
            self.pending = None;
            match found {
                Some(analysis) => self.set_grade(pending, &analysis),
                None => self.coach = None,
            }
        }
        if let Some(best) = self.best().filter(|_| self.asked_best) {
            self.asked_best = false;
            self.message.clear();
            self.slide(best, effects);
        }
    }

    fn play_best(&mut self, effects: &mut Vec<Effect>) {
        if self.refused_as_over() || !self.advised() {
            return;
        }
        match self.best() {
            Some(best) => self.slide(best, effects),
            None => {
                self.asked_best = self.session.turn() == Turn::Slide;
                self.message = "searching for the best move ...".to_owned();
            }
        }
    }

    /// Takes back a move, or, where tiles are entered, one action.
    fn undo(&mut self, effects: &mut Vec<Effect>) {
        let moves = self.session.moves();
        let undone = match self.manual {
            true => self.session.undo(),
            false if moves == 0 => false,
            false => {
                while self.session.moves() == moves && self.session.undo() {}
                true
            }
        };
        match undone {
            true => self.moved(effects),
            false => self.message = "there is nothing to undo".to_owned(),
        }
    }

    fn redo(&mut self, effects: &mut Vec<Effect>) {
        let (number, next) = (self.session.moves(), self.session.next_action());
        if !self.session.redo() {
            self.message = "there is nothing to redo".to_owned();
            return;
        }
        if let Some(Action::Slide(direction)) = next {
            self.grade(direction, number);
            while !self.manual && self.session.turn() == Turn::Spawn && self.session.redo() {}
        }
        self.auto = false;
        self.settle(effects);
    }

    /// Goes to the first decision of the game, or to its last position.
    fn jump(&mut self, first: bool, effects: &mut Vec<Effect>) {
        match first {
            true => while self.session.moves() > 0 && self.session.undo() {},
            false => while self.session.redo() {},
        }
        self.moved(effects);
    }

    /// After going to another place of the game: autoplay stops, and the coach has nothing to say.
    fn moved(&mut self, effects: &mut Vec<Effect>) {
        (self.auto, self.coach, self.pending) = (false, None, None);
        self.settle(effects);
    }

    fn deepen(&mut self, deeper: bool, effects: &mut Vec<Effect>) {
        self.search(Ok(self.limit.step(deeper)), effects);
    }

    /// Searches by another limit from now on.
    fn search(&mut self, limit: Result<SearchLimit, LabError>, effects: &mut Vec<Effect>) {
        if !self.advised() {
            return;
        }
        if let Ok(limit) = limit.map_err(|error| self.message = error.to_string()) {
            self.limit = limit;
            self.analyze(effects);
        }
    }

    fn toggle_spawns(&mut self, effects: &mut Vec<Effect>) {
        self.manual = !self.manual;
        self.message = match self.manual {
            true => "new tiles by hand: enter what the other device shows",
            false => "new tiles by chance",
        }
        .to_owned();
        if self.session.turn() == Turn::Spawn {
            self.settle(effects);
        }
    }

    fn new_game(&mut self, asked: bool, effects: &mut Vec<Effect>) {
        let unfinished = self.session.all_moves() > 0 && self.session.turn() != Turn::Over;
        if unfinished && !asked {
            self.asked_new = true;
            self.message = "press n again to give up this game".to_owned();
            return;
        }
        self.game += 1;
        let (game, shape) = (self.session.game().to_owned(), self.session.shape());
        match Session::new(&game, shape, self.seed, self.game) {
            Ok(session) => {
                let old = std::mem::replace(&mut self.session, session);
                effects.push(Effect::Close(Box::new(old)));
            }
            Err(error) => return self.message = error.to_string(),
        }
        (self.coach, self.pending) = (None, None);
        self.graded.clear();
        self.settle(effects);
    }
}
