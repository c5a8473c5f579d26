//! The replay of one episode: every action against the rules, and what the tests of spawns need.

use super::allowed::{AllowedSpawn, allowed_spawn, possible};
use super::identity::{Identity, LN_BEGINNING};
use super::neighbours::{SURROUNDINGS, TILES};
use super::spawns::{Recent, SpawnTests};
use super::{Context, PlacedTile, Reason, ReplayEvent, ReplayObserver, SideTotals, SpawnSource};
use crate::format::episode::{Action, RecordedMove};
use crate::game::{After, Direction, Game, Shape, State, each_cell};
use crate::tally::Outcome;

/// The actions of a game in which luck is always measured, if that is done by a model.
const MODEL_ALWAYS: usize = 64;

/// A valid episode.
#[derive(Clone, Debug)]
pub struct Replayed {
    pub(super) outcome: Outcome,
    pub(super) end: RecordEnd,
    pub(super) spawns: SpawnTests,
    pub(super) ln_probability: f64,
    pub(super) ln_beginning: f64,
    pub(super) identity: Identity,
    /// Opened and closed.
    pub(super) times: (u64, u64),
    pub(super) player: SideTotals,
    pub(super) environment: SideTotals,
    /// The longest time of a slide, in milliseconds.
    pub(super) longest: u64,
}

/// How a record ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecordEnd {
    /// No slide is legal: the game is over.
    Over,
    /// With a new tile, and these slides are legal.
    Slides(Vec<Direction>),
    /// With a slide, after which a new tile is due.
    Slide,
}

impl Replayed {
    /// Score, moves and largest tile.
    pub fn outcome(&self) -> Outcome {
        self.outcome
    }

    /// How it ends.
    pub fn end(&self) -> &RecordEnd {
        &self.end
    }

    /// The logarithm of the probability of its spawns, given its slides.
    pub fn ln_probability(&self) -> f64 {
        self.ln_probability
    }

    /// The same for the spawns of its beginning.
    pub fn ln_beginning(&self) -> f64 {
        self.ln_beginning
    }

    /// The start and the end time, in milliseconds since 1970.
    pub fn times(&self) -> (u64, u64) {
        self.times
    }

    /// The longest time of a slide, in milliseconds, as recorded.
    pub fn longest_slide(&self) -> u64 {
        self.longest
    }

    /// Which game it is, apart from names and times.
    pub fn identity(&self) -> Identity {
        self.identity
    }
}

/// The replay of one episode.
pub(super) struct Replay<'a, 'd, 'o, G: Game> {
    context: &'a Context<G>,
    spawns: SpawnTests,
    recent_cells: Recent,
    recent_tiles: Recent,
    outcome: Outcome,
    ln_probability: f64,
    /// The number of actions after which no two games are equal by chance, and the logarithm of
    /// the probability of their spawns.
    beginning: Option<(usize, f64)>,
    /// The spawns, if they are known.
    source: Option<&'a mut SpawnSource<'d, G>>,
    observer: Option<&'a mut ReplayObserver<'o, G>>,
    /// Selects the positions in which luck is measured by a model.
    key: u64,
    /// The number of the action.
    number: usize,
    successors: Successors<G>,
}

/// What may follow an afterstate.
struct Successors<G: Game> {
    /// Each state with the reward of its spawn.
    states: Vec<(State<G::Board>, u32)>,
    chances: Vec<f64>,
    values: Vec<f64>,
}

impl<G: Game> Default for Successors<G> {
    fn default() -> Self {
        Self {
            states: Vec::new(),
            chances: Vec::new(),
            values: Vec::new(),
        }
    }
}

impl<'a, 'd, 'o, G: Game> Replay<'a, 'd, 'o, G> {
    pub(super) fn new(
        context: &'a Context<G>,
        key: u64,
        source: Option<&'a mut SpawnSource<'d, G>>,
        observer: Option<&'a mut ReplayObserver<'o, G>>,
    ) -> Self {
        let spawns = context.spawns();
        Self {
            recent_cells: Recent::new(context.game.shape().cells()),
            recent_tiles: Recent::new(TILES),
            context,
            spawns,
            outcome: Outcome::default(),
            ln_probability: 0.0,
            beginning: None,
            source,
            observer,
            key,
            number: 0,
            successors: Successors::default(),
        }
    }

    /// The episode, or the number of the invalid action.
    pub(super) fn run(mut self, moves: &[RecordedMove]) -> Result<Replayed, (usize, Reason)> {
        let game = self.context.game;
        let first = game.rules().initial_tiles(game.shape());
        let mut state = None;
        let mut after = Some(game.empty());
        for (number, one) in moves.iter().enumerate() {
            let fault = |reason| (number, reason);
            match (after.take(), state.take()) {
                (Some(position), _) => {
                    self.number = number;
                    let placed = self.place(position, one, number >= first).map_err(fault)?;
                    if number + 1 < first {
                        after = Some(game.as_afterstate(placed));
                    } else {
                        state = Some(placed);
                    }
                }
                (None, Some(position)) => after = Some(self.slide(position, one).map_err(fault)?),
                (None, None) => {}
            }
        }
        let (found, expected) = (moves.len(), first);
        if found < expected {
            return Err((found, Reason::NoStart { found, expected }));
        }
        // A record may end with a slide or with a spawn.
        let tiles = |cell: &dyn Fn(usize) -> u8| (0..game.shape().cells()).map(cell).max();
        let (largest, end) = match (state, after) {
            (Some(state), _) => {
                let slides = game.slides(state);
                let end = match slides.any() {
                    true => {
                        RecordEnd::Slides(slides.legal().map(|slide| slide.direction()).collect())
                    }
                    false => RecordEnd::Over,
                };
                (tiles(&|i| state.cell(i)), end)
            }
            (None, Some(after)) => (tiles(&|i| after.cell(i)), RecordEnd::Slide),
            (None, None) => (None, RecordEnd::Slide),
        };
        self.outcome.largest = game.tile_value(largest.unwrap_or(0));
        let whole = (moves.len(), self.ln_probability);
        let (begins, ln_beginning) = self.beginning.unwrap_or(whole);
        Ok(Replayed {
            outcome: self.outcome,
            end,
            spawns: self.spawns,
            ln_probability: self.ln_probability,
            identity: self.context.images.identity(moves, begins),
            ln_beginning,
            times: (0, 0),
            player: SideTotals::default(),
            environment: SideTotals::default(),
            longest: 0,
        })
    }

    fn slide(
        &mut self,
        state: State<G::Board>,
        one: &RecordedMove,
    ) -> Result<After<G::Board>, Reason> {
        let Action::Slide(direction) = one.action else {
            return Err(Reason::SlideDue);
        };
        let slide = self.context.game.slides(state).get(direction);
        let slide = slide.ok_or(Reason::Illegal(direction))?;
        let expected = u64::from(slide.reward());
        if one.reward != expected {
            let found = one.reward;
            return Err(Reason::Reward { found, expected });
        }
        self.outcome.score += expected;
        self.outcome.moves += 1;
        if let Some(observer) = &mut self.observer {
            observer(ReplayEvent::Slide { state, slide });
        }
        Ok(slide.after())
    }

    fn place(
        &mut self,
        after: After<G::Board>,
        one: &RecordedMove,
        follows_slide: bool,
    ) -> Result<State<G::Board>, Reason> {
        let Action::Place { cell, tile, hint } = one.action else {
            return Err(Reason::TileDue);
        };
        let game = self.context.game;
        let at = usize::from(cell);
        let found = PlacedTile {
            cell: at,
            tile,
            hint,
        };
        let allowed = allowed_spawn(&game, after, found)?;
        // Not every program records spawn rewards; those that do must be right.
        let expected = u64::from(game.spawn_reward(tile));
        if one.reward != 0 && one.reward != expected {
            let found = one.reward;
            return Err(Reason::Reward { found, expected });
        }
        if let Some(source) = &mut self.source {
            let (cell, spawn) = source(after);
            let (tile, hint) = (spawn.tile, spawn.chance_state.hint);
            let expected = PlacedTile { cell, tile, hint };
            if found != expected {
                return Err(Reason::NotDrawn { found, expected });
            }
        }
        self.outcome.score += expected;
        let state = game.place(after, at, allowed.spawn);
        self.see_tile(tile, hint, allowed);
        self.see_cell(after, at, tile);
        if self.ln_probability < LN_BEGINNING && self.beginning.is_none() {
            self.beginning = Some((self.number + 1, self.ln_probability));
        }
        if follows_slide {
            self.see_luck(after, state);
            if let Some(observer) = &mut self.observer {
                let cell = at;
                observer(ReplayEvent::Spawn { after, cell, state });
            }
        }
        Ok(state)
    }

    /// Counts the cell of a tile, given everything before it.
    fn see_cell(&mut self, after: After<G::Board>, at: usize, tile: u8) {
        let shape = self.context.game.shape();
        let spawn_cells = self.context.game.spawn_cells(after);
        let chance = 1.0 / f64::from(spawn_cells.count_ones());
        self.ln_probability += chance.ln();
        let chances = each_cell(spawn_cells).map(|cell| (cell, chance));
        self.spawns.cells.see(at, chances.clone());
        let past = &mut self.spawns.past_cells;
        self.recent_cells.see(past, at, chances);

        let mut cells = [0; Shape::MAX_CELLS];
        for (i, cell) in cells[..shape.cells()].iter_mut().enumerate() {
            *cell = after.cell(i);
        }
        let neighbours = &self.context.neighbours;
        let mut kinds = [0.0; SURROUNDINGS];
        for cell in each_cell(spawn_cells) {
            kinds[neighbours.kind(&cells, cell, tile)] += chance;
        }
        let drawn = neighbours.kind(&cells, at, tile);
        self.spawns.surroundings.see(drawn, possible(&kinds));
    }

    /// Counts the value of the state that a spawn led to, given all that it might have led to.
    fn see_luck(&mut self, after: After<G::Board>, state: State<G::Board>) {
        let Context {
            game,
            values,
            neighbours,
            ..
        } = self.context;
        if !self.tests_luck() {
            return;
        }
        let next = &mut self.successors;
        next.states.clear();
        next.chances.clear();
        next.values.clear();
        game.for_each_spawn(after, |state, reward, chance| {
            next.states.push((state, reward));
            next.chances.push(chance);
        });
        match values {
            Some(values) => values.values(game, &next.states, &mut next.values),
            None => {
                let states = next.states.iter();
                let each = states.map(|&(state, _)| neighbours.value(game, state));
                next.values.extend(each);
            }
        }
        let drawn = next.states.iter().position(|(it, _)| *it == state);
        let Some(&drawn) = drawn.and_then(|place| next.values.get(place)) else {
            return;
        };
        let numbers = next.values.iter().zip(&next.chances).map(|(x, p)| (*x, *p));
        self.spawns.luck.see(drawn, numbers);
    }

    /// Whether the luck of this spawn is measured. By the built-in values always: a forger who
    /// knew which positions are left out would choose the tiles there. By a model, which is some
    /// twenty times slower, in the first moves and then in one of sixteen positions. The key is a
    /// hash of the whole line, so of fair draws they are a random sample. A forger can try names
    /// for a record until none of the chosen tiles is in it: only the built-in values find that.
    fn tests_luck(&self) -> bool {
        if self.context.values.is_none() || self.number < MODEL_ALWAYS {
            return true;
        }
        let mixed = (self.key ^ self.number as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        (mixed ^ mixed >> 32).wrapping_mul(0xD6E8_FEB8_6659_FD93) >> 60 == 0
    }

    /// Counts a tile and the hint after it, given everything before it.
    fn see_tile(&mut self, tile: u8, hint: u8, allowed: AllowedSpawn) {
        let AllowedSpawn {
            tiles, mut hints, ..
        } = allowed;
        self.ln_probability += hints[usize::from(hint)].ln();
        let chance = tiles[usize::from(tile)];
        hints.iter_mut().for_each(|p| *p /= chance);
        self.spawns.tiles.see(tile.into(), possible(&tiles));
        self.spawns.hints.see(hint.into(), possible(&hints));
        let past = &mut self.spawns.past_tiles;
        self.recent_tiles.see(past, tile.into(), possible(&tiles));
    }
}
