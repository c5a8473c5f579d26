//! Sessions that begin on a given board, where tiles go, and spawns that are good or bad for the
//! player.

use std::sync::Arc;

use afterstate::format::episode::RecordedMove;
use afterstate::game::{After, Direction, Game, GridBoard, Spawn};
use afterstate::judge::{PlacedTile, Reason};
use serde::{Deserialize, Serialize};

use super::{Session, TurnState};
use crate::LabError;
use crate::agent::{Agent, BoardState, StateAnalysis, board_state};
use crate::board;
use crate::error::RecordError;

/// How new tiles are chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SpawnChoice {
    /// By chance.
    #[default]
    Random,
    /// By hand.
    Manual,
    /// The tile after which the player's best move has the least value, by an agent.
    Worst,
    /// The tile after which it has the greatest value.
    Best,
}

impl SpawnChoice {
    /// Which tile an agent is to choose, in words; `None` if none.
    pub fn wanted(self) -> Option<&'static str> {
        match self {
            Self::Random | Self::Manual => None,
            Self::Worst => Some("the worst"),
            Self::Best => Some("the best"),
        }
    }
}

impl Session {
    /// A game that begins on a board, with the score 0. Its record has the actions from there on, and
    /// is no record of a whole game.
    ///
    /// # Errors
    /// When no game can reach the board.
    pub fn on_board(game: &str, board: &board::GameBoard, seed: u64) -> Result<Self, LabError> {
        let mut session = Self::new(game, board.shape(), seed, 0)?;
        let state = session.grid.state(board.tiles(), board.chance_state());
        let state = state.ok_or_else(|| {
            let text = board.text();
            LabError::Board(format!(
                "the board `{text}` cannot occur in {}",
                session.game_on()
            ))
        })?;
        session.moments[0].board = TurnState::Slide(state, session.grid.slides(state));
        session.initial_tiles = 0;
        Ok(session)
    }

    /// The same with the actions of a record that was made of such a game.
    ///
    /// # Errors
    /// When no game can reach the board, or the line is not a record of it.
    pub fn open_on_board(
        game: &str,
        board: &board::GameBoard,
        line: &[u8],
        seed: u64,
    ) -> Result<Self, RecordError> {
        let session = Self::on_board(game, board, seed);
        let session = session.map_err(|error| RecordError::Game(Box::new(error)))?;
        session.replayed(line)
    }

    /// Whether the game began on a given board, and not on the empty one.
    pub fn is_on_board(&self) -> bool {
        self.initial_tiles == 0
    }

    /// All actions, also those that were undone: the first [`Session::made`] of them are made.
    pub fn actions(&self) -> &[RecordedMove] {
        &self.actions
    }

    /// The number of actions that are made and not undone.
    pub fn made(&self) -> usize {
        self.made
    }

    /// The position as text, as [`board::GameBoard`] reads it; `None` where a tile is to spawn.
    pub fn text(&self) -> Option<String> {
        let state = self.state()?;
        let board =
            board::GameBoard::new(&self.name, self.shape(), state.tiles, state.chance_state);
        // The name is that of a game.
        board.ok().map(|board| board.text())
    }

    /// The cell to which a slide moves the tile of each cell; `None` for an empty cell.
    pub fn destinations(&self, direction: Direction) -> Vec<Option<usize>> {
        self.grid_board().destinations(self.rules(), direction)
    }

    /// Spawns the worst or the best tile for the player, by the values of an agent; of equal ones the
    /// first. Other choices and initial tiles come by chance. `None` if it is not the turn of chance.
    ///
    /// # Errors
    /// When the agent has no values of these boards; then nothing is changed.
    pub fn spawn_by(
        &mut self,
        choice: SpawnChoice,
        agent: &Arc<dyn Agent>,
    ) -> Result<Option<PlacedTile>, LabError> {
        let TurnState::Spawn(after) = self.moment().board else {
            return Ok(None);
        };
        if self.initial_tiles_left() > 0 {
            return Ok(self.spawn_random());
        }
        let Some(placed) = self.chosen_spawn(after, choice, agent)? else {
            return Ok(self.spawn_random());
        };
        // It is one of the possible spawns.
        let allowed: Result<(), Reason> = self.spawn(placed);
        debug_assert_eq!(allowed, Ok(()));
        Ok(Some(placed))
    }

    /// The tile that [`Session::spawn_by`] would spawn after a slide; `None` if it comes by chance, or
    /// the slide is not possible.
    ///
    /// # Errors
    /// When the agent has no values of these boards.
    pub fn spawn_after(
        &self,
        direction: Direction,
        choice: SpawnChoice,
        agent: &Arc<dyn Agent>,
    ) -> Result<Option<PlacedTile>, LabError> {
        let TurnState::Slide(_, slides) = self.moment().board else {
            return Ok(None);
        };
        let slide = slides.get(direction);
        slide.map_or(Ok(None), |slide| {
            self.chosen_spawn(slide.after(), choice, agent)
        })
    }

    /// The worst or the best tile for the player on an afterstate; `None` for other choices.
    fn chosen_spawn(
        &self,
        after: After<GridBoard>,
        choice: SpawnChoice,
        agent: &Arc<dyn Agent>,
    ) -> Result<Option<PlacedTile>, LabError> {
        if choice.wanted().is_none() {
            return Ok(None);
        }
        let possible = self.spawns_on(after);
        let states = possible.iter();
        let states = states.map(|one| self.state_after(after, one.placed));
        let states: Vec<BoardState> = states.collect();
        let mut chosen: Option<(f64, PlacedTile)> = None;
        for (one, analysis) in possible.iter().zip(agent.analyze(&states)) {
            let best = analysis.and_then(|it| match it.rewards == StateAnalysis::OVER.rewards {
                true => Some(0.0),
                false => it.best_total(),
            });
            let Some(best) = best else {
                return Err(LabError::NoSearch(agent.search().to_owned()));
            };
            let value = best + f64::from(self.rules().spawn_reward(one.placed.tile));
            let is_better = |(most, _): (f64, PlacedTile)| match choice {
                SpawnChoice::Worst => value < most,
                _ => value > most,
            };
            if chosen.is_none_or(is_better) {
                chosen = Some((value, one.placed));
            }
        }
        Ok(chosen.map(|(_, placed)| placed))
    }

    /// The state after a possible spawn.
    fn state_after(&self, after: After<GridBoard>, placed: PlacedTile) -> BoardState {
        let mut spawned = Spawn::of(placed.tile);
        self.grid.for_each_new_tile(after, |spawn, _| {
            if (spawn.tile, spawn.chance_state.hint) == (placed.tile, placed.hint) {
                spawned = spawn;
            }
        });
        board_state(&self.grid, self.grid.place(after, placed.cell, spawned))
    }
}

#[cfg(test)]
mod tests {
    use afterstate::game::{Direction, Shape};

    use super::*;
    use crate::agent::Baseline;
    use crate::session::Turn;

    fn on_board(text: &str) -> Session {
        let board = board::GameBoard::parse(text, "2048", Shape::FOUR).unwrap();
        Session::on_board("2048", &board, 1).unwrap()
    }

    #[test]
    fn a_game_begins_on_a_board_and_is_opened_again() {
        let text = "2,2,0,0/0,0,0,0/0,0,0,0/0,0,0,4";
        let mut session = on_board(text);
        assert_eq!(session.text().as_deref(), Some(text));
        assert!(session.is_started() && session.is_on_board());
        assert_eq!((session.turn(), session.undo()), (Turn::Slide, false));
        assert_eq!(session.destinations(Direction::Left)[..2], [Some(0); 2]);
        session.slide(Direction::Left).unwrap();
        session.spawn_random();
        let board = board::GameBoard::parse(text, "2048", Shape::FOUR).unwrap();
        let again = Session::open_on_board("2048", &board, &session.line(), 1).unwrap();
        assert_eq!(again.values(), session.values());
        assert_eq!((again.score(), again.moves()), (4, 1));
        let full = "2,4,8,16/2,4,8,16/2,4,8,16/2,4,8,1048576";
        let board = board::GameBoard::parse(full, "2048", Shape::FOUR);
        assert!(board.is_err() || Session::on_board("2048", &board.unwrap(), 1).is_err());
    }

    #[test]
    fn the_worst_spawn_takes_the_merge_away() {
        // After the slide, cell 7 is empty between two 8, and cell 15 below them. Only a tile in cell
        // 7 keeps them apart; elsewhere, they merge to 16.
        let greedy = Baseline::Greedy.agent("2048", Shape::FOUR).unwrap();
        let text = "2,16,4,8/4,32,64,0/2,16,4,8/0,4,32,128";
        let spawned = |choice| {
            let mut session = on_board(text);
            session.slide(Direction::Left).unwrap();
            let placed = session.spawn_by(choice, &greedy).unwrap().unwrap();
            let board = session.state().unwrap();
            let found = greedy.analyze(&[board])[0].unwrap();
            (placed.cell, found.best_total().unwrap())
        };
        let (worst, best) = (spawned(SpawnChoice::Worst), spawned(SpawnChoice::Best));
        assert_eq!((worst.0, best.0), (7, 15));
        assert!(worst.1 < best.1, "{worst:?} {best:?}");
        let mut session = on_board(text);
        assert_eq!(session.spawn_by(SpawnChoice::Worst, &greedy).unwrap(), None);
        let after = |direction| session.spawn_after(direction, SpawnChoice::Worst, &greedy);
        assert_eq!(after(Direction::Left).unwrap().unwrap().cell, worst.0);
        assert_eq!(session.actions().len(), 0, "nothing is made");
    }
}
