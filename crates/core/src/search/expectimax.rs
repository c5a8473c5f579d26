//! The search policy.

use super::leaves::{LeafValues, Leaves};
use super::table::TranspositionTable;
use super::tree::{Context, TREE_PLIES, Tree};
use super::{Depth, SpawnDepth, downgraded, spawn_term};
use crate::Value;
use crate::game::{After, Direction, Game, PositionKey, Slide, State};
use crate::policy::Policy;
use crate::random::Rng;
use crate::value::{ActionValue, ActionValues, Decision, ValueFunction};

/// How to search.
#[derive(Clone, Debug, PartialEq)]
pub struct SearchOptions {
    /// How deep. With a [`StopCondition`], the most plies.
    pub depth: Depth,
    /// New tiles with a probability below this are searched one ply less, but at least one; 0
    /// searches all alike. In 2048, 0.2 selects the 4-tiles, half of all spawns, which have a tenth
    /// of the probability.
    pub rare_below: f64,
    /// Boards with a tile of this index or a larger one are searched with their large tiles lowered
    /// by a step: see [`downgraded`].
    pub downgrade_from: Option<u8>,
}

impl SearchOptions {
    /// A search without cut-offs and downgrading.
    pub fn new(depth: Depth) -> Self {
        Self {
            depth,
            rare_below: 0.0,
            downgrade_from: None,
        }
    }
}

/// Decides when the search of a move ends, for example by a clock, which this crate does not have.
pub trait StopCondition: Send {
    /// Called when the search of a move begins.
    fn begin(&mut self);

    /// Polled during the search: whether to end it. It is called for every few thousand positions.
    fn is_over(&mut self) -> bool;

    /// Called after each complete ply, with what it has found.
    fn searched(&mut self, _: &SearchResult) {}
}

/// What a search has found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SearchResult {
    /// The values of all legal slides. On a downgraded board, they are those of that board.
    pub values: ActionValues,
    /// The slide of the largest total, the first of equal ones.
    pub best: Direction,
    /// The plies that were searched.
    pub plies: u8,
}

/// One of several threads that help with a search: see [`Expectimax::help`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Helper {
    /// Its number, from 0.
    pub number: usize,
    /// The number of helpers.
    pub of: usize,
    /// Whether the search that it helps deepens ply by ply.
    pub deepening: bool,
}

impl Helper {
    /// What smaller searches need is not in the table, or found as fast as in it.
    pub const LEAST_PLIES: u8 = TREE_PLIES + 2;
}

/// Chooses moves by expectimax search.
pub struct Expectimax<'v, G: Game> {
    leaves: Box<dyn LeafValues<G> + 'v>,
    table: &'v TranspositionTable,
    options: SearchOptions,
    limit: Option<Box<dyn StopCondition + 'v>>,
    /// Whether the limit has ended the search, so that values are no longer complete.
    stopped: bool,
    tree: Tree<G>,
}

impl<'v, G: Game> Expectimax<'v, G> {
    /// A search over a value function. Threads may share the table with other searches over the
    /// same value function and with the same [`SearchOptions::rare_below`].
    ///
    /// # Panics
    /// When the value function does not fit the game.
    pub fn new<V: ValueFunction<G>>(
        game: &G,
        values: &'v V,
        options: SearchOptions,
        table: &'v TranspositionTable,
    ) -> Self {
        values.assert_fits(game);
        Self {
            leaves: Box::new(Leaves::new(values)),
            table,
            options,
            limit: None,
            stopped: false,
            tree: Tree::new(),
        }
    }

    /// Deepens each search by one ply after the other, until the limit ends it. The result is that
    /// of the last complete ply.
    pub fn with_limit(mut self, limit: impl StopCondition + 'v) -> Self {
        self.limit = Some(Box::new(limit));
        self
    }

    /// The number of positions that the value function has evaluated so far.
    pub fn evaluated(&self) -> u64 {
        self.tree.evaluated
    }

    /// Searches a decision.
    pub fn search(&mut self, game: &G, decision: &Decision<G>) -> SearchResult {
        let lower = self.lowered(game, decision);
        let most = self.most_plies(game, decision);
        let decision = lower.as_ref().unwrap_or(decision);
        self.stopped = false;
        if let Some(limit) = &mut self.limit {
            limit.begin();
        }
        let first = if self.limit.is_some() { 1 } else { most };
        let mut found = None;
        for plies in first..=most {
            let values = self.action_values(game, decision, plies);
            if self.stopped {
                break;
            }
            found = Some(self.completed(values, plies));
        }
        found.unwrap_or_else(|| {
            // Even one ply took longer than the limit.
            let limit = self.limit.take();
            self.stopped = false;
            let values = self.action_values(game, decision, 1);
            self.limit = limit;
            self.completed(values, 1)
        })
    }

    /// The result of a complete ply.
    fn completed(&mut self, values: ActionValues, plies: u8) -> SearchResult {
        let found = SearchResult {
            values,
            best: values.best().expect("a decision has a legal slide"),
            plies,
        };
        if let Some(limit) = &mut self.limit {
            limit.searched(&found);
        }
        found
    }

    /// The decision of the downgraded board, if it is to be searched instead.
    fn lowered(&self, game: &G, decision: &Decision<G>) -> Option<Decision<G>> {
        let from = self.options.downgrade_from?;
        let lower = downgraded(game, decision.state(), from)?;
        Decision::new(game, lower)
    }

    /// The most plies of the search of a decision.
    fn most_plies(&self, game: &G, decision: &Decision<G>) -> u8 {
        let state = decision.state();
        let empty = (0..game.shape().cells()).filter(|&i| state.cell(i) == 0);
        self.options.depth.plies(empty.count())
    }

    /// The values of all slides of a decision, `plies` moves deep.
    ///
    /// # Panics
    /// When `plies` is 0.
    pub fn action_values(&mut self, game: &G, decision: &Decision<G>, plies: u8) -> ActionValues {
        assert!(plies > 0, "a search needs at least one ply");
        if plies == 1 {
            let mut values = Vec::with_capacity(1);
            self.leaves
                .decisions(game, std::slice::from_ref(decision), &mut values);
            self.tree.evaluated += 1;
            return values.pop().unwrap_or_default();
        }
        let below = self.below(game, decision, plies - 1);
        let mut values = ActionValues::default();
        for slide in decision.slides().legal() {
            let value = below[slide.direction() as usize].unwrap_or(Value::NAN);
            let total = slide.reward() as Value + value;
            values.set(slide.direction(), ActionValue { value, total });
        }
        values
    }

    /// Helps another thread that searches the same decision with the same table: searches the states
    /// behind its slides, the last ones first, while the other begins with the first, and leaves their
    /// values in the table. The limit of this search ends the help.
    ///
    /// The values of the search do not depend on it: what is in the table is a function of the position
    /// and the depth.
    pub fn help(&mut self, game: &G, decision: &Decision<G>, helper: Helper) {
        let lower = self.lowered(game, decision);
        let most = self.most_plies(game, decision);
        let decision = lower.as_ref().unwrap_or(decision);
        let depth = self.spawn_depth();
        let least = Helper::LEAST_PLIES;
        let first = if helper.deepening { least } else { most };
        for plies in first.max(least)..=most {
            let mut states = Vec::new();
            for slide in decision.slides().legal() {
                let cells = game.spawn_cells(slide.after()).count_ones();
                game.for_each_spawn(slide.after(), |state, _, chance| {
                    states.push((state, depth.plies(plies - 1, chance, cells)));
                });
            }
            for &(state, plies) in states
                .iter()
                .rev()
                .skip(helper.number)
                .step_by(helper.of.max(1))
            {
                if self.is_stopped() {
                    return;
                }
                self.state_value(game, state, plies);
            }
        }
    }

    /// The value of a state, searched `plies` moves deep: the work of one thread when several share a
    /// search.
    ///
    /// # Panics
    /// When `plies` is 0.
    pub fn state_value(&mut self, game: &G, state: State<G::Board>, plies: u8) -> Value {
        assert!(plies > 0, "a search needs at least one ply");
        let Some(decision) = Decision::new(game, state) else {
            return 0.0;
        };
        let values = self.action_values(game, &decision, plies);
        let best = values.best().and_then(|best| values.get(best));
        best.map_or(0.0, |best| best.total)
    }

    /// The values of the afterstates of all legal slides, each searched `plies` more moves.
    fn below(&mut self, game: &G, decision: &Decision<G>, plies: u8) -> [Option<Value>; 4] {
        if self.is_stopped() {
            return [Some(0.0); 4];
        }
        if plies <= TREE_PLIES {
            let context = Context {
                game,
                table: self.table,
                spawn_depth: self.spawn_depth(),
                by_state: self.leaves.by_state(),
                discount: self.leaves.discount(),
            };
            let leaves = &mut *self.leaves;
            return self.tree.search(&context, leaves, decision.slides(), plies);
        }
        let mut values = [None; 4];
        for slide in decision.slides().legal() {
            let value = self.afterstate_value(game, slide.after(), plies);
            values[slide.direction() as usize] = Some(value);
        }
        values
    }

    /// The expectation over all spawns after an afterstate.
    fn afterstate_value(&mut self, game: &G, after: After<G::Board>, plies: u8) -> Value {
        if let Some(value) = self.table.get(after.key().words(), plies) {
            return value;
        }
        let (depth, discount) = (self.spawn_depth(), self.leaves.discount());
        let cells = game.spawn_cells(after).count_ones();
        let mut sum = 0.0;
        game.for_each_spawn(after, |state, reward, chance| {
            let value = self.state_value(game, state, depth.plies(plies, chance, cells));
            sum += spawn_term(chance, reward, discount, value);
        });
        let value = sum as Value;
        if !self.stopped {
            self.table.set(after.key().words(), plies, value);
        }
        value
    }

    fn spawn_depth(&self) -> SpawnDepth {
        SpawnDepth {
            rare_below: self.options.rare_below,
        }
    }

    fn is_stopped(&mut self) -> bool {
        if let Some(limit) = &mut self.limit {
            self.stopped = self.stopped || limit.is_over();
        }
        self.stopped
    }
}

impl<G: Game> Policy<G> for Expectimax<'_, G> {
    fn choose(&mut self, game: &G, decision: &Decision<G>, _: &mut Rng) -> Slide<G::Board> {
        let best = self.search(game, decision).best;
        let slide = decision.slides().get(best);
        // The slides of a downgraded board are legal where those of the board are.
        slide.expect("the same slides are legal")
    }
}
