//! Expectimax as its formula says: a recursion without a table, batches or prefetching.
//!
//! It is slow, and the yardstick of the fast search: both have the same values, bit for bit.

use super::{SpawnDepth, spawn_term};
use crate::Value;
use crate::game::{After, Game, State};
use crate::value::{ActionValue, ActionValues, Decision, ValueFunction};

/// The values of all slides of a decision, `plies` moves deep. New tiles with a probability below
/// `rare_below` are searched one ply less: see
/// [`SearchOptions::rare_below`](super::SearchOptions::rare_below).
///
/// # Panics
/// When `plies` is 0, or the value function does not fit the game.
pub fn action_values<G: Game, V: ValueFunction<G>>(
    game: &G,
    values: &V,
    decision: &Decision<G>,
    plies: u8,
    rare_below: f64,
) -> ActionValues {
    assert!(plies > 0, "a search needs at least one ply");
    values.assert_fits(game);
    let search = Plain {
        game,
        values,
        spawn_depth: SpawnDepth { rare_below },
    };
    search.action_values(decision, plies)
}

struct Plain<'a, G, V> {
    game: &'a G,
    values: &'a V,
    spawn_depth: SpawnDepth,
}

impl<G: Game, V: ValueFunction<G>> Plain<'_, G, V> {
    fn action_values(&self, decision: &Decision<G>, plies: u8) -> ActionValues {
        if plies == 1 {
            let mut lookup = V::Lookup::default();
            return self.values.action_values(self.game, decision, &mut lookup);
        }
        let mut values = ActionValues::default();
        for slide in decision.slides().legal() {
            let value = self.afterstate_value(slide.after(), plies - 1);
            let total = slide.reward() as Value + value;
            values.set(slide.direction(), ActionValue { value, total });
        }
        values
    }

    /// The expectation over all spawns.
    fn afterstate_value(&self, after: After<G::Board>, plies: u8) -> Value {
        let cells = self.game.spawn_cells(after).count_ones();
        let mut sum = 0.0;
        self.game.for_each_spawn(after, |state, reward, chance| {
            let value = self.state_value(state, self.spawn_depth.plies(plies, chance, cells));
            sum += spawn_term(chance, reward, self.values.discount(), value);
        });
        sum as Value
    }

    /// The largest total of all slides; 0 if the game is over.
    fn state_value(&self, state: State<G::Board>, plies: u8) -> Value {
        let Some(decision) = Decision::new(self.game, state) else {
            return 0.0;
        };
        let values = self.action_values(&decision, plies);
        let best = values.best().and_then(|best| values.get(best));
        best.map_or(0.0, |best| best.total)
    }
}
