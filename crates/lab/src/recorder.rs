//! Records games as they are played.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use afterstate::episode::{Learner, Step};
use afterstate::format::episode::{Action, EpisodeRecord, Meta, RecordedMove};
use afterstate::game::{After, Game, State};
use afterstate::random::{Rng, game_rng};

/// Receives finished episodes, from several threads.
pub type Sink<'a> = &'a (dyn Fn(&EpisodeRecord) + Sync);

/// Records a game as it is played.
pub(crate) struct Recorder<'a, G: Game> {
    game: G,
    sink: Sink<'a>,
    episode: EpisodeRecord,
    /// The afterstate of the last slide.
    after: Option<After<G::Board>>,
    /// The time of the last action.
    last: Instant,
    /// The start time.
    begun: Instant,
    seed: u64,
    number: u64,
}

impl<'a, G: Game> Recorder<'a, G> {
    /// Records one game of an evaluation.
    pub(crate) fn new(game: G, sink: Sink<'a>, seed: u64, number: u64) -> Self {
        let now = Instant::now();
        Self {
            game,
            sink,
            episode: EpisodeRecord::default(),
            after: None,
            last: now,
            begun: now,
            seed,
            number,
        }
    }

    fn push(&mut self, action: Action, reward: u32, millis: u64) {
        self.episode.moves.push(RecordedMove {
            action,
            reward: reward.into(),
            millis,
            column: 0,
        });
    }

    /// Records the spawns of a state in these cells, in this order.
    fn place(&mut self, state: State<G::Board>, cells: &[usize]) {
        for (n, &cell) in cells.iter().enumerate() {
            let tile = state.cell(cell);
            // Each initial tile shows the next one as its hint.
            let next = cells.get(n + 1).map(|&next| state.cell(next));
            let action = Action::Place {
                cell: cell as u8,
                tile,
                hint: shown(&self.game, state, next),
            };
            let spawn_reward = self.game.spawn_reward(tile);
            self.push(action, spawn_reward, 0);
        }
    }

    /// Records the spawns that led to a state, before a slide or at the end of a game.
    fn come_to(&mut self, state: State<G::Board>) {
        let cells = 0..self.game.shape().cells();
        match self.after.take() {
            Some(after) => {
                let new = cells.filter(|&cell| after.cell(cell) != state.cell(cell));
                self.place(state, &new.collect::<Vec<_>>());
            }
            None => {
                self.episode.opened = Meta {
                    tag: format!("{PLAYER}:{EVALUATED}{}", self.number),
                    at: now(),
                };
                self.begun = Instant::now();
                self.last = self.begun;
                self.start();
            }
        }
    }

    /// Records the initial tiles in the order in which they were drawn: a state does not tell it.
    fn start(&mut self) {
        let (game, mut rng) = (self.game, evaluation_rng(self.seed, self.number));
        game.start_by(|after| {
            let (cell, spawn) = game.draw_spawn(after, &mut rng);
            let action = Action::Place {
                cell: cell as u8,
                tile: spawn.tile,
                hint: spawn.chance_state.hint,
            };
            self.push(action, game.spawn_reward(spawn.tile), 0);
            game.place(after, cell, spawn)
        });
    }
}

/// The name of the player.
const PLAYER: &str = "afterstate";
/// The text before the number of a game of an evaluation, in the name of its environment.
pub(crate) const EVALUATED: &str = "eval-";

/// Separates the games of an evaluation from those of a run with the same seed.
const EVALUATION: u64 = 0x4556_414C_5541_5445;

/// The random numbers of a game of an evaluation.
pub(crate) fn evaluation_rng(seed: u64, number: u64) -> Rng {
    game_rng(seed ^ EVALUATION, number)
}

/// Passes records on in the order of their numbers.
pub(crate) struct InOrder<'a> {
    sink: Sink<'a>,
    waiting: Mutex<(u64, BTreeMap<u64, EpisodeRecord>)>,
}

impl<'a> InOrder<'a> {
    pub(crate) fn new(sink: Sink<'a>) -> Self {
        Self {
            sink,
            waiting: Mutex::new((0, BTreeMap::new())),
        }
    }

    pub(crate) fn record(&self, number: u64, record: EpisodeRecord) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let (next, records) = &mut *waiting;
        records.insert(number, record);
        while let Some(record) = records.remove(next) {
            (self.sink)(&record);
            *next += 1;
        }
    }
}

/// The name of the side that made the last action: the spawn after which no slide is legal.
pub(crate) const LAST: &str = "place";

/// Milliseconds since 1970.
pub(crate) fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_millis() as u64)
}

/// The hint after a spawn that `next` follows: none in games without hints, and the hint of the
/// state after the last one.
fn shown<G: Game>(game: &G, state: State<G::Board>, next: Option<u8>) -> u8 {
    match game.chance_state(state).hint {
        0 => 0,
        hint => next.unwrap_or(hint),
    }
}

impl<G: Game> Learner<G> for Recorder<'_, G> {
    fn step(&mut self, step: &Step<G>) {
        let thought = self.last.elapsed().as_millis() as u64;
        let first = self.after.is_none();
        self.come_to(step.state);
        let action = Action::Slide(step.direction);
        self.push(action, step.reward, if first { 0 } else { thought });
        self.after = Some(step.after);
        self.last = Instant::now();
    }

    fn finish(&mut self, state: State<G::Board>, _: u32) {
        self.come_to(state);
        self.episode.closed = Meta {
            tag: LAST.to_owned(),
            // One clock throughout: the system clock may be set back meanwhile.
            at: self.episode.opened.at + self.begun.elapsed().as_millis() as u64,
        };
        (self.sink)(&self.episode);
    }
}
