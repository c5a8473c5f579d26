//! Policies: which slide to make.
//!
//! [`Greedy`] maximises the values of any [`ValueFunction`]; [`Random`] is the usual baseline.
//!
//! To add a policy, implement [`Policy`], and in the lab an agent that uses the values of any other agent,
//! as `agent/search.rs` does.

use crate::Value;
use crate::game::{Direction, Game, Slide, State};
use crate::random::Rng;
use crate::value::{ActionValue, Decision, Pending, ValueFunction};

/// Chooses moves.
pub trait Policy<G: Game> {
    /// Announces a decision before it has to be made, so that memory can be prefetched.
    #[inline(always)]
    fn look(&mut self, _game: &G, _decision: &Decision<G>) {}

    /// Chooses a slide.
    fn choose(&mut self, game: &G, decision: &Decision<G>, rng: &mut Rng) -> Slide<G::Board>;
}

macro_rules! forward_policy {
    ($($pointer:ty),*) => {$(
        impl<G: Game, P: Policy<G> + ?Sized> Policy<G> for $pointer {
            #[inline(always)]
            fn look(&mut self, game: &G, decision: &Decision<G>) {
                (**self).look(game, decision);
            }

            #[inline(always)]
            fn choose(
                &mut self,
                game: &G,
                decision: &Decision<G>,
                rng: &mut Rng,
            ) -> Slide<G::Board> {
                (**self).choose(game, decision, rng)
            }
        }
    )*};
}

forward_policy!(Box<P>, &mut P);

/// How to break ties between equally good moves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ties {
    /// The first direction.
    #[default]
    Order,
    /// Any of them, with equal probability.
    Random,
}

/// Chooses the move with the largest reward plus value.
pub struct Greedy<'v, G: Game, V: ValueFunction<G>> {
    values: &'v V,
    ties: Ties,
    /// The state that was looked up last.
    looked: Option<State<G::Board>>,
    lookup: V::Lookup,
}

impl<'v, G: Game, V: ValueFunction<G>> Greedy<'v, G, V> {
    /// The greedy policy of a value function.
    ///
    /// # Panics
    /// When the value function does not fit the game.
    pub fn new(game: &G, values: &'v V, ties: Ties) -> Self {
        values.assert_fits(game);
        Self {
            values,
            ties,
            looked: None,
            lookup: V::Lookup::default(),
        }
    }

    /// All moves that [`Policy::choose`] may choose, each with the same probability.
    pub fn choices(&mut self, game: &G, decision: &Decision<G>) -> Vec<Direction> {
        self.looked = None;
        let values = self.values.action_values(game, decision, &mut self.lookup);
        let totals = || values.legal().map(|(_, value)| value.total);
        let best = totals().reduce(Value::max);
        let equal = values
            .legal()
            .filter(|(_, value)| Some(value.total) == best);
        let most = match self.ties {
            Ties::Order => 1,
            Ties::Random => Direction::ALL.len(),
        };
        equal.map(|(direction, _)| direction).take(most).collect()
    }

    /// Chooses a slide, with the value that chose it.
    #[inline(always)]
    pub(crate) fn choose_with_value(
        &mut self,
        game: &G,
        decision: &Decision<G>,
        rng: &mut Rng,
    ) -> (Slide<G::Board>, ActionValue) {
        // Slides are a function of the state, so the lookup of an equal state is valid for this
        // one.
        let pending = match self.looked.take() {
            Some(looked) if looked == decision.state() => Pending::resume(decision, &self.lookup),
            _ => Pending::begin(self.values, game, decision, &mut self.lookup),
        };
        // Only what the comparison needs is kept in the loop: the slide is read once, at the end.
        let mut best: Option<Direction> = None;
        let (mut best_value, mut best_total) = (0.0, Value::NEG_INFINITY);
        let mut equals = 1;
        let ties = self.ties;
        self.values.evaluate(game, &pending, |slide, value| {
            // Comparisons with NaN are false; the learner detects it and stops the run.
            let larger = value.total > best_total;
            let wins = if larger || best.is_none() {
                equals = 1;
                true
            } else if ties == Ties::Random && value.total == best_total {
                equals += 1;
                rng.below(equals) == 0
            } else {
                false
            };
            if wins {
                best = Some(slide.direction());
                (best_value, best_total) = (value.value, value.total);
            }
        });
        let slide = best.and_then(|direction| decision.slides().get(direction));
        let (value, total) = (best_value, best_total);
        let slide = slide.expect("a decision has a legal slide");
        (slide, ActionValue { value, total })
    }
}

impl<G: Game, V: ValueFunction<G>> Policy<G> for Greedy<'_, G, V> {
    #[inline(always)]
    fn look(&mut self, game: &G, decision: &Decision<G>) {
        self.values.locate(game, decision, &mut self.lookup);
        self.looked = Some(decision.state());
    }

    #[inline(always)]
    fn choose(&mut self, game: &G, decision: &Decision<G>, rng: &mut Rng) -> Slide<G::Board> {
        self.choose_with_value(game, decision, rng).0
    }
}

/// Random moves: the usual baseline.
#[derive(Clone, Copy, Debug)]
pub struct Random;

impl<G: Game> Policy<G> for Random {
    fn choose(&mut self, _: &G, decision: &Decision<G>, rng: &mut Rng) -> Slide<G::Board> {
        let slides = decision.slides();
        let count = slides.legal().count() as u32;
        let pick = rng.below(count) as usize;
        let slide = slides.legal().nth(pick);
        slide.expect("a decision has a legal slide")
    }
}

/// Maximises the immediate reward; ties are broken at random.
#[derive(Clone, Copy, Debug)]
pub struct GreedyReward;

impl<G: Game> Policy<G> for GreedyReward {
    fn choose(&mut self, _: &G, decision: &Decision<G>, rng: &mut Rng) -> Slide<G::Board> {
        let slides = decision.slides();
        let most = slides.legal().map(|slide| slide.reward()).max();
        let best = slides.legal().filter(|slide| Some(slide.reward()) == most);
        let pick = rng.below(best.clone().count() as u32) as usize;
        let slide = best.clone().nth(pick);
        slide.expect("a decision has a legal slide")
    }
}
