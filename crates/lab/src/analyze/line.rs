//! How a game may go on: the principal variation of each move.
//!
//! The player makes the best move by the contender's values or search. Of the most probable spawns
//! we take the one whose state has the median value (the lower one of two), so a line shows neither
//! good luck nor bad. Values of spawns are those of 1-ply: there are up to 25 of them for each move.

use afterstate::game::{After, Direction, Game, Spawn, State, each_cell};
use serde::{Deserialize, Serialize};

use crate::LabError;
use crate::agent::{Agent, BoardState, board_state};
use crate::board::{GameBoard, cell_name};
use crate::direction_names;
use crate::evaluate::Contender;
use crate::games::{GameVisitor, with_game};

/// The most moves of a line.
pub const LINE_MOVES: usize = 5;

/// A move of a line, and the spawn after it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LineMove {
    /// The move.
    #[serde(with = "direction_names")]
    pub direction: Direction,
    /// The spawn after it; `None` after the last move.
    pub spawn: Option<LineSpawn>,
}

/// A spawn of a line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LineSpawn {
    /// The value of the tile.
    pub tile: u64,
    /// Its cell, as in `c2`: the third column from the left, the second row from the top.
    pub cell: String,
}

/// A line as text, as in `left, 2 at c2, up`.
pub fn line_text(line: &[LineMove]) -> String {
    let mut parts = Vec::new();
    for one in line {
        parts.push(one.direction.name().to_owned());
        let spawn = one.spawn.as_ref();
        parts.extend(spawn.map(|spawn| format!("{} at {}", spawn.tile, spawn.cell)));
    }
    parts.join(", ")
}

/// The lines of the legal ones of some moves. `values` is the contender without its search. Each
/// line analyses up to four boards by the contender. If `stop` returns true, lines end early.
///
/// # Errors
/// When there is no such game.
pub fn lines(
    contender: &Contender,
    values: &dyn Agent,
    board: &GameBoard,
    moves: &[Direction],
    stop: &(dyn Fn() -> bool + Sync),
) -> Result<[Option<Vec<LineMove>>; 4], LabError> {
    let visitor = LineVisitor {
        agent: &*contender.agent,
        values,
        board,
        moves,
        stop,
    };
    with_game(&contender.game, contender.shape, visitor)
}

struct LineVisitor<'a> {
    agent: &'a dyn Agent,
    values: &'a dyn Agent,
    board: &'a GameBoard,
    moves: &'a [Direction],
    stop: &'a (dyn Fn() -> bool + Sync),
}

impl GameVisitor for LineVisitor<'_> {
    type Output = [Option<Vec<LineMove>>; 4];

    fn visit<G: Game>(self, game: G) -> Self::Output {
        let state = game.state(self.board.tiles(), self.board.chance_state());
        Direction::ALL.map(|direction| {
            let is_wanted = self.moves.contains(&direction);
            is_wanted.then(|| self.line(&game, state?, direction))?
        })
    }
}

impl LineVisitor<'_> {
    /// The line of a move; `None` if it is illegal.
    fn line<G: Game>(
        &self,
        game: &G,
        mut state: State<G::Board>,
        mut direction: Direction,
    ) -> Option<Vec<LineMove>> {
        let mut line: Vec<LineMove> = Vec::new();
        loop {
            let after = game.slides(state).get(direction);
            let Some(after) = after.map(|slide| slide.after()) else {
                // The first move may be illegal, and no other is.
                return (!line.is_empty()).then_some(line);
            };
            line.push(LineMove {
                direction,
                spawn: None,
            });
            if line.len() == LINE_MOVES {
                return Some(line);
            }
            let mut spawns: Vec<(usize, Spawn, f64)> = Vec::new();
            game.for_each_new_tile(after, |spawn, p| {
                spawns.extend(each_cell(game.spawn_cells(after)).map(|cell| (cell, spawn, p)));
            });
            let Some((cell, spawn)) = self.typical(game, after, &spawns) else {
                return Some(line);
            };
            state = game.place(after, cell, spawn);
            if let Some(last) = line.last_mut() {
                last.spawn = Some(LineSpawn {
                    tile: game.tile_value(spawn.tile),
                    cell: cell_name(game.shape(), cell),
                });
            }
            let next = board_state(game, state);
            let found = self.agent.analyze_until(&next, self.stop);
            match found.and_then(|found| found.chosen) {
                Some(chosen) => direction = chosen,
                None => return Some(line),
            }
        }
    }

    /// Of the most probable spawns, the one with the median value.
    fn typical<G: Game>(
        &self,
        game: &G,
        after: After<G::Board>,
        spawns: &[(usize, Spawn, f64)],
    ) -> Option<(usize, Spawn)> {
        let most = spawns.iter().map(|&(.., p)| p).fold(0.0, f64::max);
        let likely = spawns.iter().filter(|(.., p)| *p > most - 1e-9);
        let likely: Vec<(usize, Spawn)> = likely.map(|&(cell, spawn, _)| (cell, spawn)).collect();
        let states = likely.iter().map(|&(cell, spawn)| {
            let state = game.place(after, cell, spawn);
            board_state(game, state)
        });
        let states: Vec<BoardState> = states.collect();
        let found = self.values.analyze(&states).into_iter();
        let value = found.map(|analysis| {
            let values = analysis?.values;
            let totals = values.legal().map(|(_, value)| value.total);
            totals.reduce(f32::max)
        });
        // A state without a move has the value 0.
        let value = value.map(|value| value.unwrap_or(0.0));
        let mut ranked: Vec<(f32, (usize, Spawn))> = value.zip(likely).collect();
        ranked.sort_by(|a, b| a.0.total_cmp(&b.0));
        let middle = ranked.len().checked_sub(1)? / 2;
        ranked.get(middle).map(|&(_, spawn)| spawn)
    }
}
