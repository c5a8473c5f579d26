//! Records games as they are played.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use afterstate::episode::{Learner, Step};
use afterstate::format::episode::{Action, EpisodeRecord, Meta, RecordedMove};
use afterstate::game::{After, Game, State};
use afterstate::random::Rng;

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
    /// Decides what the game does not determine.
    rng: Rng,
}

impl<'a, G: Game> Recorder<'a, G> {
    /// Records one game; `rng` decides what the game does not determine.
    pub(crate) fn new(game: G, sink: Sink<'a>, rng: Rng) -> Self {
        let now = Instant::now();
        Self {
            game,
            sink,
            episode: EpisodeRecord::default(),
            after: None,
            last: now,
            begun: now,
            rng,
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
                    tag: PLAYERS.to_owned(),
                    at: now(),
                };
                self.begun = Instant::now();
                self.last = self.begun;
                let cells = initial_tiles(&self.game, state, &mut self.rng);
                self.place(state, &cells);
            }
        }
    }
}

/// The names of the player and the environment.
const PLAYERS: &str = "afterstate:place";
/// The name of the side that made the last action: the spawn after which no slide is legal.
pub(crate) const LAST: &str = "place";

/// Milliseconds since 1970.
pub(crate) fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_millis() as u64)
}

/// The cells of the initial tiles in a possible order, uniformly among all possible ones: the game
/// does not determine the order, and any fixed order would look like a bias to a judge.
fn initial_tiles<G: Game>(game: &G, state: State<G::Board>, rng: &mut Rng) -> Vec<usize> {
    let cells = 0..game.shape().cells();
    let mut cells: Vec<usize> = cells.filter(|&cell| state.cell(cell) != 0).collect();
    // Of nine tiles from bags of three, one order in eight is possible.
    for _ in 0..1000 {
        for last in (1..cells.len()).rev() {
            cells.swap(last, rng.below(last as u32 + 1) as usize);
        }
        if leads_to(game, state, &cells) {
            break;
        }
    }
    cells
}

/// Whether the tiles of a state may have spawned in this order.
fn leads_to<G: Game>(game: &G, state: State<G::Board>, cells: &[usize]) -> bool {
    let mut after = game.empty();
    for (n, &cell) in cells.iter().enumerate() {
        let next = cells.get(n + 1).map(|&next| state.cell(next));
        let hint = shown(game, state, next);
        let mut found = None;
        game.for_each_new_tile(after, |spawn, _| {
            if (spawn.tile, spawn.chance_state.hint) == (state.cell(cell), hint) {
                found = Some(spawn);
            }
        });
        match found.map(|spawn| game.place(after, cell, spawn)) {
            None => return false,
            Some(placed) if next.is_none() => return placed == state,
            Some(placed) => after = game.as_afterstate(placed),
        }
    }
    false
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
