//! The value function at the end of a search, behind one virtual call for all leaves of a tree: the
//! search is compiled once for each game, and not for each value function.

use crate::Value;
use crate::game::{After, Game};
use crate::value::{ActionValues, Decision, ValueFunction};

/// Evaluates many leaves at once.
pub(super) trait LeafValues<G: Game>: Send {
    /// Whether a value depends on the state before the slide, and not on the afterstate alone.
    fn by_state(&self) -> bool;

    /// The discount of the value function.
    fn discount(&self) -> Value;

    /// Replaces `values` by those of many afterstates, in order.
    ///
    /// # Panics
    /// When values depend on the state.
    fn afterstates(&mut self, game: &G, afters: &[After<G::Board>], values: &mut Vec<Value>);

    /// Replaces `values` by those of many decisions, in order.
    fn decisions(&mut self, game: &G, decisions: &[Decision<G>], values: &mut Vec<ActionValues>);
}

/// A value function with its reusable lookups.
pub(super) struct Leaves<'v, G: Game, V: ValueFunction<G>> {
    values: &'v V,
    lookups: [V::Lookup; 2],
}

impl<'v, G: Game, V: ValueFunction<G>> Leaves<'v, G, V> {
    pub(super) fn new(values: &'v V) -> Self {
        Self {
            values,
            lookups: Default::default(),
        }
    }
}

impl<G: Game, V: ValueFunction<G>> LeafValues<G> for Leaves<'_, G, V> {
    fn by_state(&self) -> bool {
        self.values.by_afterstate().is_none()
    }

    fn discount(&self) -> Value {
        self.values.discount()
    }

    fn afterstates(&mut self, game: &G, afters: &[After<G::Board>], values: &mut Vec<Value>) {
        let found = self.values.by_afterstate();
        let found = found.expect("the value function has values of afterstates");
        found.afterstate_values(game, afters, &mut self.lookups, values);
    }

    fn decisions(&mut self, game: &G, decisions: &[Decision<G>], values: &mut Vec<ActionValues>) {
        self.values.batch(game, decisions, values);
    }
}
