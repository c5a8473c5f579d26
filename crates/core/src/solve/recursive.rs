//! The definition of an exact value: recursive, position by position, with memoisation.
//!
//! V(s) = max over slides of r + (mean of c + d V over spawns with reward c); 0 where no slide is
//! legal.

use std::collections::HashMap;

use super::{Criterion, Ending};
use crate::game::{Game, State};

/// Values of states, computed on demand.
pub struct Recursive<G: Game> {
    game: G,
    ending: Ending,
    criterion: Criterion,
    values: HashMap<State<G::Board>, f64>,
}

impl<G: Game> Recursive<G> {
    /// Creates an empty cache of values.
    pub fn new(game: G, ending: Ending, criterion: Criterion) -> Self {
        Self {
            game,
            ending,
            criterion,
            values: HashMap::new(),
        }
    }

    /// The expected value of a new game.
    pub fn start(&mut self) -> f64 {
        let (game, Criterion { goal, spawn_mode }) = (self.game, self.criterion);
        let mut starts = Vec::new();
        game.for_each_start(|state, p| starts.push((state, p)));
        let value = starts
            .into_iter()
            .fold(spawn_mode.nothing(), |all, (state, p)| {
                let value = goal.started(game.initial_score(state), self.value(state));
                spawn_mode.and(all, value, p)
            });
        goal.bounded(value)
    }

    /// The value of a state.
    pub fn value(&mut self, state: State<G::Board>) -> f64 {
        if let Some(&value) = self.values.get(&state) {
            return value;
        }
        let game = self.game;
        let value = match self.criterion.goal.settled(&game, state) {
            Some(value) => value,
            None if self.ending.is_over(&game, state) => 0.0,
            None => {
                let mut best: Option<f64> = None;
                for slide in game.slides(state).legal() {
                    let mut next = Vec::new();
                    game.for_each_spawn(slide.after(), |state, spawn_reward, p| {
                        next.push((state, spawn_reward, p))
                    });
                    let total = self
                        .criterion
                        .goal
                        .total(slide.reward(), self.expected(&next));
                    best = Some(best.map_or(total, |best| best.max(total)));
                }
                best.unwrap_or(0.0)
            }
        };
        self.values.insert(state, value);
        value
    }

    fn expected(&mut self, next: &[(State<G::Board>, u32, f64)]) -> f64 {
        let Criterion { goal, spawn_mode } = self.criterion;
        next.iter()
            .fold(spawn_mode.nothing(), |all, &(state, spawn_reward, p)| {
                spawn_mode.and(all, goal.spawned(spawn_reward, self.value(state)), p)
            })
    }

    /// All values computed so far.
    pub fn values(&self) -> &HashMap<State<G::Board>, f64> {
        &self.values
    }
}
