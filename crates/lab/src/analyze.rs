//! Analysis of a board: the value of each move, its chances by rollouts, and the best line.

mod line;
mod rollouts;
#[cfg(test)]
mod tests;

use std::ops::Sub;
use std::sync::{Mutex, PoisonError};

use afterstate::game::Direction;
use serde::{Deserialize, Deserializer, Serialize};

use crate::LabError;
use crate::agent::{BoardState, SearchObserver, StateAnalysis};
use crate::board::GameBoard;
use crate::control::{Control, Event, Job, Progress, Status, Task, Unit};
use crate::direction_names;
use crate::evaluate::Contender;
use crate::numbers::decimals;
use crate::report::ModelInfo;
pub use line::{LINE_MOVES, LineMove, LineSpawn, line_text, lines};
pub use rollouts::{
    RolloutInfo, RolloutOptions, RolloutScore, Rollouts, TileChance, chance_of, rollouts,
};

/// The analysis of a board with values of type `V`; the JSON of `analyze --json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Analysis<V> {
    /// The file of the model or the solution; `None` for an agent without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelInfo>,
    /// The game.
    pub game: String,
    /// Its board, as in `3x3`.
    pub board: String,
    /// The board that was analysed, in one line.
    #[serde(default)]
    pub position: String,
    /// How the values were found: `1ply`, `3ply`, `exact`.
    #[serde(default)]
    pub search: String,
    /// The plies that were searched; `None` without a search.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plies: Option<u8>,
    /// Whether the search was stopped before its end: the values are those of its last complete ply.
    #[serde(default)]
    pub interrupted: bool,
    /// How the rollouts were played, if there are any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rollouts: Option<RolloutInfo>,
    /// Fields that only a solution has.
    #[serde(flatten)]
    pub exact: Option<Exact>,
    /// The best direction for the score; `None` if the game is over.
    #[serde(with = "direction_names::option")]
    pub best: Option<Direction>,
    /// Up, right, down and left.
    pub moves: Vec<Move<V>>,
}

/// The part of an analysis that only a solution has.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Exact {
    /// The discount per move.
    pub discount: f64,
    /// The target tile, if the solution has one.
    pub target: Option<u64>,
    /// The best direction for the target; `None` if the game is over, or the target is unreachable.
    #[serde(with = "direction_names::option")]
    pub best_for_target: Option<Direction>,
}

impl<V> Analysis<V> {
    /// Adds the results of rollouts.
    pub fn add_rollouts(&mut self, rollouts: Rollouts) {
        self.rollouts = Some(rollouts.info);
        for (one, found) in self.moves.iter_mut().zip(rollouts.moves) {
            (one.chances, one.rest) = found.unzip();
        }
    }

    /// Adds the line of each legal move.
    pub fn add_lines(&mut self, lines: [Option<Vec<LineMove>>; 4]) {
        for (one, line) in self.moves.iter_mut().zip(lines) {
            one.line = line;
        }
    }

    /// The best direction for the target, if there is one.
    pub fn best_for_target(&self) -> Option<Direction> {
        self.exact.as_ref()?.best_for_target
    }
}

/// The analysis of one direction. In JSON every direction has the same keys; what is not known, or
/// was not asked for, is null.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Move<V> {
    /// The direction; its name in JSON.
    #[serde(with = "direction_names")]
    pub direction: Direction,
    /// Whether it changes the board.
    pub legal: bool,
    /// Its immediate reward.
    pub reward: Option<u32>,
    /// The value of the rest of the game after it; `None` where the agent has no estimate.
    pub value: Option<V>,
    /// What the agent maximises: reward plus value.
    pub total: Option<V>,
    /// The largest total of all moves minus this one.
    pub loss: Option<V>,
    /// The probability of reaching the target, where there is one and the move is legal.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "present"
    )]
    pub win_probability: Option<Option<f64>>,
    /// The largest of these probabilities minus that of the move, in percentage points.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub win_loss: Option<f64>,
    /// By rollouts: the chance of each of the next tiles.
    #[serde(default)]
    pub chances: Option<Vec<TileChance>>,
    /// By rollouts: the score of the rest of the game after the move.
    #[serde(default)]
    pub rest: Option<RolloutScore>,
    /// How the game may go on: this move, a typical spawn, the best move, and so on.
    #[serde(default)]
    pub line: Option<Vec<LineMove>>,
}

/// A field that is there, even if it is null.
fn present<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Option<f64>>, D::Error> {
    Option::deserialize(from).map(Some)
}

impl<V> Move<V> {
    /// An illegal direction.
    pub(crate) fn illegal(direction: Direction) -> Self {
        Self {
            direction,
            legal: false,
            reward: None,
            value: None,
            total: None,
            loss: None,
            win_probability: None,
            win_loss: None,
            chances: None,
            rest: None,
            line: None,
        }
    }
}

/// Sets what each move of a solution loses against the best; for other agents see
/// [`crate::agent::StateAnalysis::loss`].
pub(crate) fn set_losses<V: Copy + PartialOrd + Sub<Output = V>>(moves: &mut [Move<V>]) {
    let totals = moves.iter().filter_map(|one| one.total);
    let most = totals.reduce(|a, b| if b > a { b } else { a });
    for one in moves {
        one.loss = most.zip(one.total).map(|(most, total)| most - total);
    }
}

/// Sets what each move of a solution loses of the chance of its target.
pub(crate) fn set_win_losses<V>(moves: &mut [Move<V>]) {
    let chances = moves.iter().filter_map(|one| one.win_probability.flatten());
    let most = chances.reduce(f64::max);
    for one in moves {
        let chance = one.win_probability.flatten();
        one.win_loss = most.zip(chance).map(|(most, p)| 100.0 * (most - p));
    }
}

/// The first of the moves with the largest value.
pub(crate) fn best<V>(
    moves: &[Move<V>],
    worth: impl Fn(&Move<V>) -> Option<f64>,
) -> Option<Direction> {
    let mut best: Option<(Direction, f64)> = None;
    for m in moves {
        if let Some(worth) = worth(m).filter(|&worth| best.is_none_or(|(_, most)| worth > most)) {
            best = Some((m.direction, worth));
        }
    }
    best.map(|(direction, _)| direction)
}

/// Analyses the text of a board: see [`crate::board`].
///
/// # Errors
/// When the text is not a board of the contender's game.
pub fn analyze(contender: &Contender, text: &str) -> Result<Analysis<f32>, LabError> {
    let board = GameBoard::parse(text, &contender.game, contender.shape)?;
    analyze_board(contender, &board)
}

/// Analyses a board.
///
/// # Errors
/// When no game can reach the board.
pub fn analyze_board(contender: &Contender, board: &GameBoard) -> Result<Analysis<f32>, LabError> {
    let found = contender.agent.analyze(&[state_of(board)]).pop().flatten();
    let found = found.ok_or_else(|| impossible(contender, board))?;
    Ok(report(contender, board, &found))
}

/// The same, ply by ply if the contender searches: each ply is a progress event. If the control is
/// cancelled, the values are those of the last complete ply.
///
/// # Errors
/// When no game can reach the board.
pub fn deepen(
    contender: &Contender,
    board: &GameBoard,
    control: &Control,
) -> Result<Analysis<f32>, LabError> {
    let job = Job {
        task: Task::Analyze,
        subject: contender.label.clone(),
        total: None,
        unit: Unit::Plies,
    };
    let work = || {
        let last = Mutex::new(None);
        let on_ply = |plies: u8, found: &StateAnalysis| {
            *last.lock().unwrap_or_else(PoisonError::into_inner) = Some((plies, *found));
            control.emit(Event::Progress(ply(plies, found)));
        };
        let stop = || control.is_cancelled();
        let watch = SearchObserver {
            stop: &stop,
            on_ply: &on_ply,
        };
        let complete = contender.agent.analyze_watched(&state_of(board), &watch);
        let last = last.into_inner().unwrap_or_else(PoisonError::into_inner);
        match complete.or(last.map(|(_, found)| found)) {
            Some(found) => Ok(Analysis {
                plies: last.map(|(plies, _)| plies),
                interrupted: complete.is_none(),
                ..report(contender, board, &found)
            }),
            // It was stopped before anything was found, which without a search takes no time.
            None if control.is_cancelled() => analyze_board(contender, board),
            None => Err(impossible(contender, board)),
        }
    };
    control.run(job, work, |done| {
        let found = done.as_ref().ok()?;
        let plies = found.plies.unwrap_or_default();
        Some((Status::of(!found.interrupted), plies.into()))
    })
}

/// The progress of a search that has completed a ply.
fn ply(plies: u8, found: &StateAnalysis) -> Progress {
    let best = found.chosen.map_or("-", Direction::name);
    let total = found.best_total().unwrap_or_default();
    Progress {
        unit: Unit::Plies,
        ..Progress::stage(
            Task::Analyze,
            format!("{plies}ply: {best}, {}", decimals(total, 1)),
            0.0,
            plies.into(),
        )
    }
}

/// The report of an analysis.
fn report(contender: &Contender, board: &GameBoard, analysis: &StateAnalysis) -> Analysis<f32> {
    let of = |direction: Direction| {
        let reward = analysis.rewards[direction as usize];
        let Some(reward) = reward else {
            return Move::illegal(direction);
        };
        // A network with three outputs has no value for the fourth slide.
        let value = analysis.values.get(direction);
        let value = value.filter(|value| value.total.is_finite());
        Move {
            legal: true,
            reward: Some(reward),
            value: value.map(|value| value.value),
            total: value.map(|value| value.total),
            loss: analysis.loss(direction).map(|loss| loss as f32),
            ..Move::illegal(direction)
        }
    };
    let moves = Direction::ALL.map(of);
    Analysis {
        model: contender.model.clone(),
        game: contender.game.clone(),
        board: contender.shape.to_string(),
        position: board.text(),
        search: contender.agent.search().to_owned(),
        plies: None,
        interrupted: false,
        rollouts: None,
        exact: None,
        best: analysis.chosen,
        moves: moves.into(),
    }
}

/// The board as an agent reads it.
fn state_of(board: &GameBoard) -> BoardState {
    BoardState {
        tiles: board.tiles().to_vec(),
        chance_state: board.chance_state(),
    }
}

fn impossible(contender: &Contender, board: &GameBoard) -> LabError {
    LabError::Board(format!(
        "the board `{}` cannot occur in {}: its tiles are larger than the board allows",
        board.text(),
        contender.game_on()
    ))
}
