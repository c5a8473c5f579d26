//! A game in progress, of any game on any board, for interactive interfaces.
//!
//! A [`Session`] is a list of actions, slides and spawns in turn, and a place in it: undo and redo
//! move the place, an action that differs cuts off what was undone. Spawns come from the stream of
//! random numbers of a seed, the same as in game `number` of an evaluation with that seed, or are
//! chosen by the caller, to follow a game that is played elsewhere. Every action is checked against
//! the rules.
//!
//! It plays by [`Grid`], the slow path that is easy to read, because people are slower still; so no
//! type depends on the game, and the state goes to an [`Agent`](crate::agent::Agent) as a
//! [`BoardState`].

mod begun;
mod file;
mod record;
#[cfg(test)]
mod tests;

use std::time::Instant;

use afterstate::format::episode::{Action, Meta, RecordedMove};
use afterstate::game::{
    After, ChanceState, Direction, Game, Grid, GridBoard, Rules, Shape, Slides, Spawn, State,
    each_cell,
};
use afterstate::judge::{PlacedTile, Reason, allowed_spawn};
use afterstate::random::Rng;

pub use begun::SpawnChoice;
pub use file::{RecordFile, StoredRecord};

use crate::LabError;
use crate::agent::BoardState;
use crate::error::game_on;
use crate::games;
use crate::recorder::{evaluation_rng, now};

/// Whose turn it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// Chance: a tile spawns.
    Spawn,
    /// The player's: a slide.
    Slide,
    /// The game is over: no slide is legal.
    Over,
}

/// A spawn that may come next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PossibleSpawn {
    /// The tile, its cell, and the hint after it.
    pub placed: PlacedTile,
    /// Its probability.
    pub probability: f64,
}

/// A board, and whose turn it is on it.
#[derive(Clone, Copy, Debug)]
enum TurnState {
    Spawn(After<GridBoard>),
    Slide(State<GridBoard>, Slides<GridBoard>),
}

/// What an action leads to.
#[derive(Clone, Debug)]
struct Moment {
    board: TurnState,
    score: u64,
    moves: u64,
    /// The stream, as it is here: after an undo, the same spawn comes again.
    rng: Rng,
}

/// A game in progress.
#[derive(Clone, Debug)]
pub struct Session {
    name: String,
    grid: Grid,
    /// The name of the player and the start time, as recorded.
    opened: Meta,
    /// All actions, also those that were undone.
    actions: Vec<RecordedMove>,
    /// The moment before the first action, and after each.
    moments: Vec<Moment>,
    /// The number of actions that are made and not undone.
    made: usize,
    /// When the last action was made here.
    last: Instant,
    /// The line that the game was opened from, until an action differs from it.
    stored: Option<Vec<u8>>,
    /// The number of actions that were added.
    changes: u64,
    /// The initial tiles that a game of this kind begins with: none if it begins on a board.
    initial_tiles: usize,
}

impl Session {
    /// A game on an empty board, on which the initial tiles are to spawn. Its random spawns are those
    /// of game `number` of an evaluation with this seed.
    ///
    /// # Errors
    /// When there is no such game.
    pub fn new(game: &str, shape: Shape, seed: u64, number: u64) -> Result<Self, LabError> {
        let rules = games::rules(game)?;
        let grid = Grid::new(shape, rules);
        let start = Moment {
            board: TurnState::Spawn(grid.empty()),
            score: 0,
            moves: 0,
            rng: evaluation_rng(seed, number),
        };
        Ok(Self {
            initial_tiles: rules.initial_tiles(shape),
            name: game.to_owned(),
            grid,
            opened: Meta {
                tag: record::TAG.to_owned(),
                at: now(),
            },
            actions: Vec::new(),
            moments: vec![start],
            made: 0,
            last: Instant::now(),
            stored: None,
            changes: 0,
        })
    }

    /// The name of the game.
    pub fn game(&self) -> &str {
        &self.name
    }

    /// The game and the board, as in `2048 on 4x4`.
    pub fn game_on(&self) -> String {
        game_on(&self.name, self.shape())
    }

    /// The board.
    pub fn shape(&self) -> Shape {
        self.grid.shape()
    }

    /// The rules.
    pub fn rules(&self) -> &dyn Rules {
        self.grid.rules()
    }

    /// Whether the game shows a hint about the next tile.
    pub fn shows_hint(&self) -> bool {
        self.rules().shows_hint(self.shape())
    }

    fn moment(&self) -> &Moment {
        &self.moments[self.made]
    }

    /// The moment after all actions, those that were undone included.
    fn end(&self) -> &Moment {
        &self.moments[self.actions.len()]
    }

    fn grid_board(&self) -> GridBoard {
        match self.moment().board {
            TurnState::Spawn(After(board)) | TurnState::Slide(State(board), _) => board,
        }
    }

    /// Whose turn it is.
    pub fn turn(&self) -> Turn {
        match self.moment().board {
            TurnState::Spawn(_) => Turn::Spawn,
            TurnState::Slide(_, slides) if slides.any() => Turn::Slide,
            TurnState::Slide(..) => Turn::Over,
        }
    }

    /// The tile indices in row-major order, 0 for an empty cell.
    pub fn tiles(&self) -> Vec<u8> {
        self.grid_board().tiles().to_vec()
    }

    /// The number on a tile, by its index.
    pub fn tile_value(&self, tile: u8) -> u64 {
        self.grid.tile_value(tile)
    }

    /// The numbers on the tiles in row-major order, 0 for an empty cell.
    pub fn values(&self) -> Vec<u64> {
        let tiles = self.grid_board();
        let tiles = tiles.tiles().iter();
        tiles.map(|&tile| self.tile_value(tile)).collect()
    }

    /// The largest number on the board.
    pub fn largest(&self) -> u64 {
        self.values().into_iter().max().unwrap_or(0)
    }

    /// What chance remembers: in Threes!, the bag and the hint.
    pub fn chance_state(&self) -> ChanceState {
        self.grid_board().chance_state()
    }

    /// The state, if it is the player's turn or the game is over.
    pub fn state(&self) -> Option<BoardState> {
        match self.moment().board {
            TurnState::Spawn(_) => None,
            TurnState::Slide(State(board), _) => Some(BoardState {
                tiles: board.tiles().to_vec(),
                chance_state: board.chance_state(),
            }),
        }
    }

    /// The score.
    pub fn score(&self) -> u64 {
        self.moment().score
    }

    /// The number of slides.
    pub fn moves(&self) -> u64 {
        self.moment().moves
    }

    /// The number of slides, those that were undone included.
    pub fn all_moves(&self) -> u64 {
        self.end().moves
    }

    /// Grows with each action that changes the record: undo, redo, and an undone action that is made
    /// again, leave it.
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// Whether all initial tiles are in the record.
    pub fn is_started(&self) -> bool {
        self.actions.len() >= self.initial_tiles
    }

    /// The reward of each slide by direction; `None` if it is illegal, or not the player's turn.
    pub fn slides(&self) -> [Option<u32>; 4] {
        match self.moment().board {
            TurnState::Spawn(_) => [None; 4],
            TurnState::Slide(_, slides) => {
                Direction::ALL.map(|direction| slides.get(direction).map(|slide| slide.reward()))
            }
        }
    }

    /// The last action that is not undone.
    pub fn last_action(&self) -> Option<Action> {
        let last = self.made.checked_sub(1)?;
        Some(self.actions[last].action)
    }

    /// The action that redo would make.
    pub fn next_action(&self) -> Option<Action> {
        Some(self.actions.get(self.made)?.action)
    }

    /// The number of initial tiles that are still to spawn.
    pub fn initial_tiles_left(&self) -> usize {
        self.initial_tiles.saturating_sub(self.made)
    }

    /// Makes a slide, and returns its reward.
    ///
    /// # Errors
    /// When a tile is to spawn, or the slide changes nothing; then nothing is changed.
    pub fn slide(&mut self, direction: Direction) -> Result<u32, Reason> {
        let TurnState::Slide(_, slides) = self.moment().board else {
            return Err(Reason::TileDue);
        };
        let slide = slides.get(direction).ok_or(Reason::Illegal(direction))?;
        let next = Moment {
            board: TurnState::Spawn(slide.after()),
            score: self.score() + u64::from(slide.reward()),
            moves: self.moves() + 1,
            rng: self.moment().rng.clone(),
        };
        self.push(Action::Slide(direction), slide.reward(), next);
        Ok(slide.reward())
    }

    /// What may spawn now, with its probabilities, which sum to 1; nothing if it is not the turn of
    /// chance.
    pub fn spawns(&self) -> Vec<PossibleSpawn> {
        match self.moment().board {
            TurnState::Spawn(after) => self.spawns_on(after),
            TurnState::Slide(..) => Vec::new(),
        }
    }

    /// What may spawn on an afterstate, with its probabilities.
    fn spawns_on(&self, after: After<GridBoard>) -> Vec<PossibleSpawn> {
        let cells = self.grid.spawn_cells(after);
        let chance = 1.0 / f64::from(cells.count_ones().max(1));
        let mut possible = Vec::new();
        for cell in each_cell(cells) {
            self.grid.for_each_new_tile(after, |spawn, p| {
                possible.push(PossibleSpawn {
                    placed: placed(cell, spawn),
                    probability: chance * p,
                });
            });
        }
        possible
    }

    /// Spawns a tile by chance, or the undone one again; `None` if it is not the turn of chance.
    pub fn spawn_random(&mut self) -> Option<PlacedTile> {
        if let Some(Action::Place { cell, tile, hint }) = self.next_action() {
            self.redo();
            let cell = cell.into();
            return Some(PlacedTile { cell, tile, hint });
        }
        let Moment { board, rng, .. } = self.moment();
        let (&TurnState::Spawn(after), mut rng) = (board, rng.clone()) else {
            return None;
        };
        let (cell, spawn) = self.grid.draw_spawn(after, &mut rng);
        self.place(after, cell, spawn, rng);
        Some(placed(cell, spawn))
    }

    /// Spawns all initial tiles that are missing by chance.
    pub fn start(&mut self) {
        while self.initial_tiles_left() > 0 && self.spawn_random().is_some() {}
    }

    /// Spawns a tile that was chosen.
    ///
    /// # Errors
    /// When it is the player's turn, or the rules do not allow this spawn; then nothing is changed.
    pub fn spawn(&mut self, chosen: PlacedTile) -> Result<(), Reason> {
        let TurnState::Spawn(after) = self.moment().board else {
            return Err(Reason::SlideDue);
        };
        let spawn = allowed_spawn(&self.grid, after, chosen)?.spawn;
        let rng = self.moment().rng.clone();
        self.place(after, chosen.cell, spawn, rng);
        Ok(())
    }

    fn place(&mut self, after: After<GridBoard>, cell: usize, spawn: Spawn, rng: Rng) {
        let state = self.grid.place(after, cell, spawn);
        let board = match self.initial_tiles_left() > 1 {
            true => TurnState::Spawn(self.grid.as_afterstate(state)),
            false => TurnState::Slide(state, self.grid.slides(state)),
        };
        let reward = self.grid.spawn_reward(spawn.tile);
        let next = Moment {
            board,
            score: self.score() + u64::from(reward),
            moves: self.moves(),
            rng,
        };
        let action = Action::Place {
            cell: cell as u8,
            tile: spawn.tile,
            hint: spawn.chance_state.hint,
        };
        self.push(action, reward, next);
    }

    /// Makes an action. If it is the one that was undone, what was undone after it remains.
    fn push(&mut self, action: Action, reward: u32, next: Moment) {
        if self.next_action() == Some(action) {
            self.redo();
            return;
        }
        self.stored = None;
        self.changes += 1;
        let taken = self.last.elapsed().as_millis() as u64;
        let is_slide = matches!(action, Action::Slide(_));
        self.actions.truncate(self.made);
        self.moments.truncate(self.made + 1);
        self.actions.push(RecordedMove {
            action,
            reward: reward.into(),
            millis: if is_slide { taken } else { 0 },
            column: 0,
        });
        self.moments.push(next);
        self.made += 1;
        self.last = Instant::now();
    }

    /// Takes back the last action; false if there is none.
    pub fn undo(&mut self) -> bool {
        let any = self.made > 0;
        self.made -= usize::from(any);
        self.last = Instant::now();
        any
    }

    /// Makes the action again that was undone last; false if there is none.
    pub fn redo(&mut self) -> bool {
        let any = self.made < self.actions.len();
        self.made += usize::from(any);
        self.last = Instant::now();
        any
    }
}

fn placed(cell: usize, spawn: Spawn) -> PlacedTile {
    PlacedTile {
        cell,
        tile: spawn.tile,
        hint: spawn.chance_state.hint,
    }
}
