//! The definition of an exact value, written down: every position by itself, remembered in a map.
//!
//! V(s) = max over slides of r + (mean of c + d V over new tiles, which bring c); 0 where no slide is legal.

use std::collections::HashMap;

use super::{Aim, Ending};
use crate::game::Game;

/// Values of states as they were asked for.
pub struct Recursive<G: Game> {
    game: G,
    ending: Ending,
    aim: Aim,
    values: HashMap<G::State, f64>,
}

impl<G: Game> Recursive<G> {
    /// Nothing is known yet.
    pub fn new(game: G, ending: Ending, aim: Aim) -> Self {
        Self {
            game,
            ending,
            aim,
            values: HashMap::new(),
        }
    }

    /// The value of the start of a game.
    pub fn start(&mut self) -> f64 {
        let (game, Aim { goal, chance }) = (self.game, self.aim);
        let mut starts = Vec::new();
        game.for_each_start(|state, p| starts.push((state, p)));
        let value = starts
            .into_iter()
            .fold(chance.nothing(), |all, (state, p)| {
                let value = goal.started(game.score_of_start(state), self.value(state));
                chance.and(all, value, p)
            });
        goal.bounded(value)
    }

    /// The value of a state.
    pub fn value(&mut self, state: G::State) -> f64 {
        if let Some(&value) = self.values.get(&state) {
            return value;
        }
        let game = self.game;
        let value = match self.aim.goal.settled(&game, state) {
            Some(value) => value,
            None if self.ending.is_over(&game, state) => 0.0,
            None => {
                let mut best: Option<f64> = None;
                for (_, after, reward) in game.slides(state).legal() {
                    let mut next = Vec::new();
                    game.for_each_spawn(after, |state, brought, p| next.push((state, brought, p)));
                    let total = self.aim.goal.total(reward, self.expected(&next));
                    best = Some(best.map_or(total, |best| best.max(total)));
                }
                best.unwrap_or(0.0)
            }
        };
        self.values.insert(state, value);
        value
    }

    fn expected(&mut self, next: &[(G::State, u32, f64)]) -> f64 {
        let Aim { goal, chance } = self.aim;
        next.iter()
            .fold(chance.nothing(), |all, &(state, brought, p)| {
                chance.and(all, goal.brought(brought, self.value(state)), p)
            })
    }

    /// All that is known.
    pub fn values(&self) -> &HashMap<G::State, f64> {
        &self.values
    }
}
