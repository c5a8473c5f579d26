//! The judge: replays episode records and checks that they follow the rules.
//!
//! `line -> EpisodeRecord -> every action against the game -> Outcome`, and over all episodes
//! `spawns -> p-value`.
//!
//! A valid record could have been played; `frequency.rs` tests whether its spawns have the right
//! frequencies.

mod frequency;

use std::fmt;

use serde::{Deserialize, Serialize};
use thiserror::Error;

pub use frequency::{Frequency, Test};

use crate::format::episode::{Action, EpisodeRecord, RecordedMove};
use crate::game::{After, Direction, Game, Spawn, State, each_cell};
use crate::tally::{Outcome, Tally};

/// The first rule that an episode violates.
#[derive(Clone, Debug, PartialEq, Error)]
#[error("column {column}: {reason}")]
pub struct Fault {
    /// The number of the action in the episode, from 1; `None` if the fault concerns the whole
    /// episode.
    pub action: Option<usize>,
    /// Its column in the line, from 1.
    pub column: usize,
    /// What is wrong with it.
    pub reason: Reason,
}

/// What can be wrong with an episode.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum Reason {
    /// A slide where a new tile is due.
    #[error("a slide where a new tile is due")]
    TileDue,
    /// A new tile where a slide is due.
    #[error("a new tile where a slide is due")]
    SlideDue,
    /// The record ends before the initial tiles are complete.
    #[error("the record ends with {found} of {expected} initial tiles")]
    NoStart {
        /// The tiles in the record.
        found: usize,
        /// The number of initial tiles.
        expected: usize,
    },
    /// A slide that changes nothing.
    #[error("a slide {} changes nothing", .0.name())]
    Illegal(Direction),
    /// A reward that differs from that of the action.
    #[error("a reward of {found}, but the action earns {expected}")]
    Reward {
        /// As recorded.
        found: u64,
        /// By the rules.
        expected: u64,
    },
    /// A cell that is not empty.
    #[error("a new tile in cell {0}, which is not empty")]
    Taken(u8),
    /// A cell that the board does not have.
    #[error("a new tile in cell {0}, which is not on the board")]
    NoCell(u8),
    /// An empty cell in which no tile may spawn after this slide.
    #[error(
        "a new tile in cell {found}, but after this slide it spawns in one of {}",
        list(expected)
    )]
    Edge {
        /// As recorded.
        found: u8,
        /// By the rules.
        expected: Vec<usize>,
    },
    /// A tile that cannot spawn now.
    #[error(
        "a new tile of index {found}, but the possible ones are {}",
        list(expected)
    )]
    Tile {
        /// As recorded.
        found: u8,
        /// By the rules.
        expected: Vec<usize>,
    },
    /// A hint that cannot be shown now.
    #[error("the hint is {found}, but the possible ones are {}", list(expected))]
    Hint {
        /// As recorded.
        found: u8,
        /// By the rules.
        expected: Vec<usize>,
    },
    /// A spawn that is possible, but not the one that was drawn.
    #[error("a new tile {found}, but the one that was drawn is {expected}")]
    NotDrawn {
        /// As recorded.
        found: Placed,
        /// As drawn.
        expected: Placed,
    },
    /// An end time before the start time.
    #[error("closed at {closed} ms, before it was opened at {opened} ms")]
    Backwards {
        /// The start time.
        opened: u64,
        /// The end time.
        closed: u64,
    },
    /// Actions that take longer than the game.
    #[error("its actions take {actions} ms, but the game took {whole} ms")]
    TooLong {
        /// The sum of their times.
        actions: u64,
        /// From start to end.
        whole: u64,
    },
}

/// A tile in a cell, with the hint after it; 0 where the game shows none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placed {
    /// The cell, in row-major order.
    pub cell: usize,
    /// The tile's index.
    pub tile: u8,
    /// The hint: see [`ChanceState::hint`](crate::game::ChanceState::hint).
    pub hint: u8,
}

impl fmt::Display for Placed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "of index {} in cell {}", self.tile, self.cell)?;
        match self.hint {
            0 => Ok(()),
            hint => write!(f, " with the hint {hint}"),
        }
    }
}

/// Returns the spawn after an afterstate: the cell, and the tile.
pub type Draw<'d, G> = dyn FnMut(After<<G as Game>::Board>) -> (usize, Spawn) + 'd;

fn list(numbers: &[usize]) -> String {
    let numbers: Vec<String> = numbers.iter().map(usize::to_string).collect();
    numbers.join(", ")
}

/// The statistics of all episodes so far.
#[derive(Clone, Debug)]
pub struct Judge<G: Game> {
    game: G,
    tally: Tally,
    unfinished: u64,
    millis: u64,
    player: Share,
    environment: Share,
    drawn: Drawn,
}

/// What one side did in all valid episodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Share {
    /// Its actions: slides, or new tiles.
    pub moves: u64,
    /// The time that they took, in milliseconds, as recorded.
    pub millis: u64,
}

impl Share {
    fn add(&mut self, millis: u64) {
        self.moves += 1;
        self.millis = self.millis.saturating_add(millis);
    }

    /// Actions per second; `None` if no time was recorded.
    pub fn speed(&self) -> Option<f64> {
        (self.millis > 0).then(|| 1000.0 * self.moves as f64 / self.millis as f64)
    }
}

/// The spawns so far.
#[derive(Clone, Debug)]
struct Drawn {
    cells: Frequency,
    tiles: Frequency,
    hints: Frequency,
}

/// The number of tile indices that records can express.
const TILES: usize = 36;
/// Hints, and no hint.
const HINTS: usize = 5;

impl<G: Game> Judge<G> {
    /// Creates a judge of this game.
    pub fn new(game: G) -> Self {
        Self {
            drawn: Drawn {
                cells: Frequency::new(game.shape().cells()),
                tiles: Frequency::new(usize::from(game.largest_tile()) + 1),
                hints: Frequency::new(HINTS),
            },
            game,
            tally: Tally::default(),
            unfinished: 0,
            millis: 0,
            player: Share::default(),
            environment: Share::default(),
        }
    }

    /// The statistics of all valid episodes. The seconds are those from start to end.
    pub fn tally(&self) -> Tally {
        Tally {
            seconds: self.millis as f64 / 1000.0,
            ..self.tally.clone()
        }
    }

    /// How many of them end before the game is over.
    pub fn unfinished(&self) -> u64 {
        self.unfinished
    }

    /// The slides, and the new tiles.
    pub fn shares(&self) -> (Share, Share) {
        (self.player, self.environment)
    }

    /// Tests whether spawns have the expected frequencies: by cell, by tile, and by hint.
    pub fn tests(&self) -> impl Iterator<Item = (&'static str, Test)> {
        let all = [
            ("cells of new tiles", &self.drawn.cells),
            ("new tiles", &self.drawn.tiles),
            ("tiles shown", &self.drawn.hints),
        ];
        all.into_iter()
            .filter_map(|(name, frequency)| Some((name, frequency.test()?)))
    }

    /// Replays an episode and counts it.
    ///
    /// # Errors
    /// When it violates the rules; it is not counted then.
    pub fn watch(&mut self, episode: &EpisodeRecord) -> Result<Outcome, Fault> {
        self.replay(episode, None)
    }

    /// The same for a game whose spawns are known: `draw` is called for each of them in turn.
    ///
    /// # Errors
    /// When it violates the rules, or a spawn is not the one that was drawn.
    pub fn watch_drawn(
        &mut self,
        episode: &EpisodeRecord,
        draw: &mut Draw<'_, G>,
    ) -> Result<Outcome, Fault> {
        self.replay(episode, Some(draw))
    }

    fn replay(
        &mut self,
        episode: &EpisodeRecord,
        draw: Option<&mut Draw<'_, G>>,
    ) -> Result<Outcome, Fault> {
        let (opened, closed) = (episode.opened.at, episode.closed.at);
        let of_times = |reason| Fault {
            action: None,
            column: episode.closed_at,
            reason,
        };
        let whole = closed
            .checked_sub(opened)
            .ok_or_else(|| of_times(Reason::Backwards { opened, closed }))?;
        let actions = episode
            .moves
            .iter()
            .fold(0, |sum: u64, one| sum.saturating_add(one.millis));
        // Each end of an interval is truncated to whole milliseconds.
        if actions.saturating_sub(1) > whole {
            return Err(of_times(Reason::TooLong { actions, whole }));
        }
        let replay = Replay {
            game: self.game,
            drawn: self.drawn.clone(),
            outcome: Outcome::default(),
            draw,
        };
        let replayed = replay.run(&episode.moves);
        let (outcome, over, drawn) = replayed.map_err(|(number, reason)| {
            let one = episode.moves.get(number);
            Fault {
                action: one.map(|_| number + 1),
                column: one.map_or(episode.closed_at, |one| one.column),
                reason,
            }
        })?;
        self.drawn = drawn;
        self.tally.add(&outcome);
        self.unfinished += u64::from(!over);
        self.millis = self.millis.saturating_add(whole);
        for one in &episode.moves {
            match one.action {
                Action::Slide(_) => self.player.add(one.millis),
                Action::Place { .. } => self.environment.add(one.millis),
            }
        }
        Ok(outcome)
    }
}

/// The replay of one episode.
struct Replay<'a, 'd, G: Game> {
    game: G,
    drawn: Drawn,
    outcome: Outcome,
    /// The spawns, if they are known.
    draw: Option<&'a mut Draw<'d, G>>,
}

impl<G: Game> Replay<'_, '_, G> {
    /// The outcome so far, whether the game is over, and the spawns until then; or the number of
    /// the invalid action.
    fn run(mut self, moves: &[RecordedMove]) -> Result<(Outcome, bool, Drawn), (usize, Reason)> {
        let game = self.game;
        let first = game.rules().initial_tiles(game.shape());
        let mut state = None;
        let mut after = Some(game.empty());
        for (number, one) in moves.iter().enumerate() {
            let fault = |reason| (number, reason);
            match (after.take(), state.take()) {
                (Some(position), _) => {
                    let placed = self.place(position, one).map_err(fault)?;
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
        let (largest, over) = match (state, after) {
            (Some(state), _) => {
                let over = !game.slides(state).any();
                (tiles(&|i| state.cell(i)), over)
            }
            (None, Some(after)) => (tiles(&|i| after.cell(i)), false),
            (None, None) => (None, false),
        };
        self.outcome.largest = game.tile_value(largest.unwrap_or(0));
        Ok((self.outcome, over, self.drawn))
    }

    fn slide(
        &mut self,
        state: State<G::Board>,
        one: &RecordedMove,
    ) -> Result<After<G::Board>, Reason> {
        let Action::Slide(direction) = one.action else {
            return Err(Reason::SlideDue);
        };
        let slide = self.game.slides(state).get(direction);
        let slide = slide.ok_or(Reason::Illegal(direction))?;
        let expected = u64::from(slide.reward());
        if one.reward != expected {
            let found = one.reward;
            return Err(Reason::Reward { found, expected });
        }
        self.outcome.score += expected;
        self.outcome.moves += 1;
        Ok(slide.after())
    }

    fn place(
        &mut self,
        after: After<G::Board>,
        one: &RecordedMove,
    ) -> Result<State<G::Board>, Reason> {
        let Action::Place { cell, tile, hint } = one.action else {
            return Err(Reason::TileDue);
        };
        let game = self.game;
        let (spawn_cells, at) = (game.spawn_cells(after), usize::from(cell));
        if at >= game.shape().cells() {
            return Err(Reason::NoCell(cell));
        }
        if after.cell(at) != 0 {
            return Err(Reason::Taken(cell));
        }
        if spawn_cells >> cell & 1 == 0 {
            let expected = each_cell(spawn_cells).collect();
            return Err(Reason::Edge {
                found: cell,
                expected,
            });
        }
        let spawn = self.spawn(after, tile, hint)?;
        // Not every program records spawn rewards; those that do must be right.
        let expected = u64::from(game.spawn_reward(tile));
        if one.reward != 0 && one.reward != expected {
            let found = one.reward;
            return Err(Reason::Reward { found, expected });
        }
        if let Some(draw) = &mut self.draw {
            let (cell, spawn) = draw(after);
            let found = Placed {
                cell: at,
                tile,
                hint,
            };
            let (tile, hint) = (spawn.tile, spawn.chance_state.hint);
            let expected = Placed { cell, tile, hint };
            if found != expected {
                return Err(Reason::NotDrawn { found, expected });
            }
        }
        self.outcome.score += expected;
        let chance = 1.0 / f64::from(spawn_cells.count_ones());
        let chances = each_cell(spawn_cells).map(|cell| (cell, chance));
        self.drawn.cells.see(at, chances);
        Ok(game.place(after, at, spawn))
    }

    /// The spawn, as the rules describe it.
    fn spawn(&mut self, after: After<G::Board>, tile: u8, hint: u8) -> Result<Spawn, Reason> {
        let (mut tiles, mut hints) = ([0.0; TILES], [0.0; HINTS]);
        let mut found = None;
        self.game.for_each_new_tile(after, |spawn, p| {
            tiles[usize::from(spawn.tile)] += p;
            if spawn.tile == tile {
                hints[usize::from(spawn.chance_state.hint)] += p;
                if spawn.chance_state.hint == hint {
                    found = Some(spawn);
                }
            }
        });
        let possible = |chances: &[f64]| -> Vec<usize> {
            let all = chances.iter().enumerate();
            all.filter(|(_, p)| **p > 0.0)
                .map(|(number, _)| number)
                .collect()
        };
        let chance = tiles.get(usize::from(tile)).copied().unwrap_or(0.0);
        if chance == 0.0 {
            let expected = possible(&tiles);
            return Err(Reason::Tile {
                found: tile,
                expected,
            });
        }
        let spawn = found.ok_or_else(|| Reason::Hint {
            found: hint,
            expected: possible(&hints),
        })?;
        let each = |chances: &[f64], whole: f64| -> Vec<(usize, f64)> {
            let possible = possible(chances).into_iter();
            possible
                .map(|number| (number, chances[number] / whole))
                .collect()
        };
        self.drawn
            .tiles
            .see(tile.into(), each(&tiles, 1.0).into_iter());
        self.drawn
            .hints
            .see(hint.into(), each(&hints, chance).into_iter());
        Ok(spawn)
    }
}

#[cfg(test)]
mod tests;
