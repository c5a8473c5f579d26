//! Policies: which slide to make.
//!
//! [`Greedy`] takes the largest value of any [`ValueFunction`]; [`Random`] is the baseline of every table.

use crate::Value;
use crate::game::{Direction, Game, Slide, State};
use crate::random::Rng;
use crate::value::{ActionValue, Decision, Pending, ValueFunction};

/// Chooses moves.
pub trait Policy<G: Game> {
    /// What a learner may reuse of the choice: see [`ValueFunction::Estimate`].
    type Estimate: Copy;

    /// Announces a decision some time before it has to be made, so that memory can be fetched meanwhile.
    #[inline(always)]
    fn look(&mut self, _game: &G, _decision: &Decision<G>) {}

    /// The slide to make.
    fn choose(
        &mut self,
        game: &G,
        decision: &Decision<G>,
        rng: &mut Rng,
    ) -> (Slide<G::Board>, Self::Estimate);
}

impl<G: Game, P: Policy<G> + ?Sized> Policy<G> for Box<P> {
    type Estimate = P::Estimate;

    fn look(&mut self, game: &G, decision: &Decision<G>) {
        (**self).look(game, decision);
    }

    fn choose(
        &mut self,
        game: &G,
        decision: &Decision<G>,
        rng: &mut Rng,
    ) -> (Slide<G::Board>, Self::Estimate) {
        (**self).choose(game, decision, rng)
    }
}

/// Which of equally good moves is made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ties {
    /// The first direction.
    #[default]
    Order,
    /// Each of them with the same probability.
    Random,
}

/// Picks the move with the largest reward plus value.
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
    /// When the value function is made for another board.
    pub fn new(game: &G, values: &'v V, ties: Ties) -> Self {
        assert!(
            values.fits(game),
            "the value function is made for another board or other spawns"
        );
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
}

impl<G: Game, V: ValueFunction<G>> Policy<G> for Greedy<'_, G, V> {
    type Estimate = V::Estimate;

    #[inline(always)]
    fn look(&mut self, game: &G, decision: &Decision<G>) {
        self.values.locate(game, decision, &mut self.lookup);
        self.looked = Some(decision.state());
    }

    #[inline(always)]
    fn choose(
        &mut self,
        game: &G,
        decision: &Decision<G>,
        rng: &mut Rng,
    ) -> (Slide<G::Board>, V::Estimate) {
        // Slides are a function of the state, so what was found for an equal state is found for this one.
        let pending = match self.looked.take() {
            Some(looked) if looked == decision.state() => Pending::resume(decision, &self.lookup),
            _ => Pending::begin(self.values, game, decision, &mut self.lookup),
        };
        let mut best: Option<(Slide<G::Board>, ActionValue)> = None;
        let mut best_total = Value::NEG_INFINITY;
        let mut equals = 1;
        let ties = self.ties;
        self.values.evaluate(game, &pending, |slide, value| {
            let wins = if best.is_none() {
                true
            } else if value.total == best_total && ties == Ties::Random {
                equals += 1;
                rng.below(equals) == 0
            } else {
                // A NaN beats nothing, and nothing beats it: the learner stops the run.
                value.total > best_total
            };
            if value.total > best_total {
                equals = 1;
            }
            if wins {
                best = Some((slide, value));
                best_total = value.total;
            }
        });
        let (slide, value) = best.expect("a decision has a legal slide");
        (slide, V::estimate(value))
    }
}

/// Moves at random: the baseline of every table.
#[derive(Clone, Copy, Debug)]
pub struct Random;

impl<G: Game> Policy<G> for Random {
    type Estimate = ();

    fn choose(
        &mut self,
        _: &G,
        decision: &Decision<G>,
        rng: &mut Rng,
    ) -> (Slide<G::Board>, Self::Estimate) {
        let slides = decision.slides();
        let count = slides.legal().count() as u32;
        let pick = rng.below(count) as usize;
        let slide = slides.legal().nth(pick);
        (slide.expect("a decision has a legal slide"), ())
    }
}

/// Takes the largest reward and looks no further; equal rewards have the same probability.
#[derive(Clone, Copy, Debug)]
pub struct GreedyReward;

impl<G: Game> Policy<G> for GreedyReward {
    type Estimate = ();

    fn choose(
        &mut self,
        _: &G,
        decision: &Decision<G>,
        rng: &mut Rng,
    ) -> (Slide<G::Board>, Self::Estimate) {
        let slides = decision.slides();
        let most = slides.legal().map(|slide| slide.reward()).max();
        let best = slides.legal().filter(|slide| Some(slide.reward()) == most);
        let pick = rng.below(best.clone().count() as u32) as usize;
        let slide = best.clone().nth(pick);
        (slide.expect("a decision has a legal slide"), ())
    }
}
