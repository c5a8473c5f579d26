//! Luck by the values of a model.

use std::sync::Arc;

use afterstate::game::{Game, Shape, State};
use afterstate::judge::StateValues;

use crate::LabError;
use crate::agent::{Agent, BoardState, board_state};
use crate::error::game_on;

/// A model by which the luck of the player is measured.
#[derive(Clone)]
pub struct LuckModel {
    /// Its name in errors and reports.
    pub label: String,
    /// Its game.
    pub game: String,
    /// Its board.
    pub shape: Shape,
    /// Its values.
    pub agent: Arc<dyn Agent>,
}

impl LuckModel {
    /// Refuses a model of another game than that of the records.
    pub(super) fn check(&self, path: &std::path::Path, judged: String) -> Result<(), LabError> {
        let own = game_on(&self.game, self.shape);
        if own == judged {
            return Ok(());
        }
        Err(LabError::OtherGame {
            model: self.label.clone(),
            game: own,
            records: path.to_owned(),
            judged,
        })
    }
}

/// Values by an agent: the spawn reward, and Q of the best slide.
pub(super) struct ByAgent(pub(super) Arc<dyn Agent>);

impl<G: Game> StateValues<G> for ByAgent {
    fn values(&self, game: &G, states: &[(State<G::Board>, u32)], values: &mut Vec<f64>) {
        let boards = states.iter().map(|&(state, _)| board_state(game, state));
        let boards: Vec<BoardState> = boards.collect();
        let analyses = self.0.analyze(&boards);
        for (analysis, (_, reward)) in analyses.into_iter().zip(states) {
            let Some(analysis) = analysis else {
                values.clear();
                return;
            };
            let totals = analysis.values.legal();
            let best = totals.map(|(_, value)| f64::from(value.total));
            // The game is over without a slide.
            let best = best.reduce(f64::max).unwrap_or(0.0);
            values.push(f64::from(*reward) + best);
        }
    }
}
