//! Value functions: the value of the rest of the game after each legal slide of a state.
//!
//! `State -> Decision -> ValueFunction -> ActionValues -> Policy`
//!
//! Everything that evaluates moves is a [`ValueFunction`]: n-tuple networks of afterstates and of
//! states, deep networks, exact solutions. Everything that uses these values, such as a policy, a
//! search or an analysis, is written once for all of them.
//!
//! Evaluation has two steps, so that cache misses of several positions overlap: [`Pending::begin`]
//! locates what will be read and prefetches it, [`ValueFunction::evaluate`] reads it. A [`Pending`]
//! ties both to one decision, so that only the slides that were looked up can be evaluated.
//!
//! To add a value function, implement [`ValueFunction`] in a file of its own: with `by_afterstate`, if
//! values depend on afterstates alone, so that a search evaluates each once; and `Trainable`, if learners
//! update it. In the lab it needs a variant of `AgentSpec` in `spec.rs`, an agent in `agent/`, and arms in
//! `new_agent` of `trainer.rs` and `open_agent` of `model.rs`. One of another language is an
//! `ExternalValues` (`agent/external.rs`).

use crate::Value;
use crate::game::{After, Direction, Game, Slide, Slides, State};

/// A state in which the player has a legal slide, with its slides.
#[derive(Clone, Copy, Debug)]
pub struct Decision<G: Game> {
    state: State<G::Board>,
    slides: Slides<G::Board>,
}

impl<G: Game> Decision<G> {
    /// The decision in a state, or `None` if the game is over.
    #[inline(always)]
    pub fn new(game: &G, state: State<G::Board>) -> Option<Self> {
        let slides = game.slides(state);
        slides.any().then_some(Self { state, slides })
    }

    /// The state.
    #[inline(always)]
    pub fn state(&self) -> State<G::Board> {
        self.state
    }

    /// Its slides, of which at least one is legal.
    #[inline(always)]
    pub fn slides(&self) -> &Slides<G::Board> {
        &self.slides
    }

    /// The slide in this direction, or the first legal one where that is none.
    pub fn slide_or_first(&self, direction: Option<Direction>) -> Slide<G::Board> {
        let chosen = direction.and_then(|direction| self.slides.get(direction));
        let slide = chosen.or_else(|| self.slides.legal().next());
        slide.expect("a decision has a legal slide")
    }
}

/// The value of one slide.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ActionValue {
    /// The value of the rest of the game after the slide, discounted.
    pub value: Value,
    /// Q(s, a), the slide's reward plus that value: what a greedy policy maximises.
    pub total: Value,
}

/// The values of all legal slides of a state, by [`Direction`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ActionValues([Option<ActionValue>; 4]);

impl ActionValues {
    /// The values where no slide is legal.
    pub const NONE: Self = Self([None; 4]);

    /// The value of a slide; `None` if it is illegal.
    pub fn get(&self, direction: Direction) -> Option<ActionValue> {
        self.0[direction as usize]
    }

    /// Sets the value of a legal slide.
    pub fn set(&mut self, direction: Direction, value: ActionValue) {
        self.0[direction as usize] = Some(value);
    }

    /// The values of the legal slides, in order of direction.
    pub fn legal(&self) -> impl Iterator<Item = (Direction, ActionValue)> + '_ {
        let each = Direction::ALL.into_iter().zip(self.0);
        each.filter_map(|(direction, value)| Some((direction, value?)))
    }

    /// Calls `visit` for the slides of a decision whose values these are.
    pub fn visit_legal<G: Game>(
        &self,
        decision: &Decision<G>,
        mut visit: impl FnMut(Slide<G::Board>, ActionValue),
    ) {
        for slide in decision.slides().legal() {
            if let Some(value) = self.get(slide.direction()) {
                visit(slide, value);
            }
        }
    }

    /// The direction of the largest total, the first of equal ones. A NaN never compares as larger.
    pub fn best(&self) -> Option<Direction> {
        let larger = |a: (Direction, ActionValue), b: (Direction, ActionValue)| {
            if b.1.total > a.1.total { b } else { a }
        };
        self.legal().reduce(larger).map(|(direction, _)| direction)
    }
}

/// A decision whose values are located and may be read.
#[derive(Debug)]
pub struct Pending<'p, G: Game, L> {
    decision: &'p Decision<G>,
    lookup: &'p L,
}

impl<'p, G: Game, L> Pending<'p, G, L> {
    /// Locates what `values` will read for a decision, and prefetches it.
    #[inline(always)]
    pub fn begin<V: ValueFunction<G, Lookup = L>>(
        values: &V,
        game: &G,
        decision: &'p Decision<G>,
        lookup: &'p mut L,
    ) -> Self {
        values.locate(game, decision, lookup);
        Self { decision, lookup }
    }

    /// Resumes a decision that began with an equal copy of it.
    #[inline(always)]
    pub(crate) fn resume(decision: &'p Decision<G>, lookup: &'p L) -> Self {
        Self { decision, lookup }
    }

    /// The decision.
    #[inline(always)]
    pub fn decision(&self) -> &'p Decision<G> {
        self.decision
    }

    /// What was located for it.
    #[inline(always)]
    pub fn lookup(&self) -> &'p L {
        self.lookup
    }
}

/// The value of an afterstate, whichever slide leads to it.
pub trait AfterstateValues<G: Game>: Send + Sync {
    /// As in [`ValueFunction`].
    type Lookup: Default + Send;

    /// Replaces `values` by the values of many afterstates, in order: each is that of
    /// [`ActionValue::value`] for a slide that leads there. Two lookups are reused in turn, so that
    /// some afterstates are prefetched while others are read.
    ///
    /// # Panics
    /// In debug builds, when an afterstate has another shape than the value function.
    fn afterstate_values(
        &self,
        game: &G,
        afters: &[After<G::Board>],
        lookups: &mut [Self::Lookup; 2],
        values: &mut Vec<Value>,
    );
}

/// The value of the rest of the game after each slide.
pub trait ValueFunction<G: Game>: Send + Sync + Sized {
    /// Where the values of one decision are: indices, buffers. Reused for every decision.
    type Lookup: Default + Send;

    /// Locates what [`ValueFunction::evaluate`] will read, and prefetches it. [`Pending::begin`]
    /// calls it.
    fn locate(&self, game: &G, decision: &Decision<G>, lookup: &mut Self::Lookup);

    /// Visits every legal slide with its value, in order of direction.
    fn evaluate(
        &self,
        game: &G,
        pending: &Pending<'_, G, Self::Lookup>,
        visit: impl FnMut(Slide<G::Board>, ActionValue),
    );

    /// Whether it belongs to the board and the spawns of this game.
    fn fits(&self, game: &G) -> bool;

    /// The discount gamma of the next position's value.
    fn discount(&self) -> Value;

    /// Itself, if the value of a slide depends on its afterstate alone. A search then evaluates
    /// each afterstate once, however many slides lead to it.
    fn by_afterstate(&self) -> Option<&dyn AfterstateValues<G, Lookup = Self::Lookup>> {
        None
    }

    /// Refuses a game with another board or other spawns.
    ///
    /// # Panics
    /// When the value function does not fit the game.
    fn assert_fits(&self, game: &G) {
        assert!(
            self.fits(game),
            "the value function is made for another board or other spawns"
        );
    }

    /// The values of one decision.
    ///
    /// # Panics
    /// When the value function does not fit the game.
    fn action_values(
        &self,
        game: &G,
        decision: &Decision<G>,
        lookup: &mut Self::Lookup,
    ) -> ActionValues {
        self.assert_fits(game);
        let pending = Pending::begin(self, game, decision, lookup);
        let mut values = ActionValues::default();
        self.evaluate(game, &pending, |slide, value| {
            values.set(slide.direction(), value);
        });
        values
    }

    /// Replaces `values` by the values of many decisions, in order. The next decision is looked up
    /// before the values of the current one are read.
    ///
    /// # Panics
    /// When the value function does not fit the game.
    fn batch(&self, game: &G, decisions: &[Decision<G>], values: &mut Vec<ActionValues>) {
        self.assert_fits(game);
        values.clear();
        let mut lookups = <[Self::Lookup; 2]>::default();
        let (mut here, mut next) = lookups.split_at_mut(1);
        if let Some(first) = decisions.first() {
            self.locate(game, first, &mut here[0]);
        }
        for (n, decision) in decisions.iter().enumerate() {
            if let Some(following) = decisions.get(n + 1) {
                self.locate(game, following, &mut next[0]);
            }
            let mut found = ActionValues::default();
            let pending = Pending::resume(decision, &here[0]);
            self.evaluate(game, &pending, |slide, value| {
                found.set(slide.direction(), value);
            });
            values.push(found);
            std::mem::swap(&mut here, &mut next);
        }
    }
}
