//! The definition of an exact value, written down: every position by itself, remembered in a map.
//!
//! V(s) = max over slides of r + d (mean of V over new tiles); 0 where no slide is legal.

use std::collections::HashMap;

use super::Goal;
use crate::game::Game;

/// Values of states as they were asked for.
pub struct Recursive<G: Game> {
    game: G,
    goal: Goal,
    values: HashMap<G::State, f64>,
}

impl<G: Game> Recursive<G> {
    /// Nothing is known yet.
    pub fn new(game: G, goal: Goal) -> Self {
        Self {
            game,
            goal,
            values: HashMap::new(),
        }
    }

    /// The value of the start of a game.
    pub fn start(&mut self) -> f64 {
        let game = self.game;
        let mut mean = 0.0;
        game.for_each_start(|state, chance| mean += chance * self.value(state));
        mean
    }

    /// The value of a state.
    pub fn value(&mut self, state: G::State) -> f64 {
        if let Some(&value) = self.values.get(&state) {
            return value;
        }
        let game = self.game;
        let value = self.goal.settled(&game, state).unwrap_or_else(|| {
            let mut best: Option<f64> = None;
            for (_, after, reward) in game.slides(state).legal() {
                let mut mean = 0.0;
                game.for_each_spawn(after, |next, chance| mean += chance * self.value(next));
                let total = self.goal.total(reward, mean);
                best = Some(best.map_or(total, |best| best.max(total)));
            }
            best.unwrap_or(0.0)
        });
        self.values.insert(state, value);
        value
    }

    /// All that is known.
    pub fn values(&self) -> &HashMap<G::State, f64> {
        &self.values
    }
}
