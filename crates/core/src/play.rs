//! The one episode loop, and what it is made of: a policy that chooses steps, a learner that
//! watches them.
//!
//! [`Greedy`] finds the weights of all four afterstates and asks the processor for all of them before it sums
//! the first: 0.75 of the speed without (benchmarks/2026-11-16.md).

use std::marker::PhantomData;

use crate::Value;
use crate::game::{Direction, Game, Position, Slides};
use crate::learn::Surprise;
use crate::ntuple::{Cells, Expecting, Indices, Network, Number, Tables, Weight, value};
use crate::random::Rng;
use crate::tally::Outcome;

/// One move: where from, where to, what it earned, and what the player thought of it.
#[derive(Clone, Copy, Debug)]
pub struct Step<G: Game> {
    /// The position before the slide.
    pub state: G::State,
    /// The slide.
    pub direction: Direction,
    /// The position after it.
    pub after: G::After,
    /// What the slide earned.
    pub reward: u32,
    /// What the tile that made `state` brought: 0 in most games, and at the first step.
    pub brought: u32,
    /// What the rest of the game is worth from `after`, as the policy saw it when it chose.
    pub value: Value,
}

impl<G: Game> Step<G> {
    /// A slide by someone who does not know what came before it.
    #[inline(always)]
    pub fn new(state: G::State, slide: (Direction, G::After, u32), value: Value) -> Self {
        let (direction, after, reward) = slide;
        Self {
            state,
            direction,
            after,
            reward,
            brought: 0,
            value,
        }
    }
}

/// Chooses moves.
pub trait Policy<G: Game> {
    /// Hears of a state some time before it has to choose there, so that what it will read can be on its way.
    #[inline(always)]
    fn look(&mut self, _game: &G, _state: G::State) {}

    /// A legal step, or `None` when the game is over.
    fn choose(&mut self, game: &G, state: G::State, rng: &mut Rng) -> Option<Step<G>>;
}

impl<G: Game, P: Policy<G> + ?Sized> Policy<G> for Box<P> {
    fn look(&mut self, game: &G, state: G::State) {
        (**self).look(game, state);
    }

    fn choose(&mut self, game: &G, state: G::State, rng: &mut Rng) -> Option<Step<G>> {
        (**self).choose(game, state, rng)
    }
}

/// Watches a game and learns from it, or not.
pub trait Learner<G: Game> {
    /// A step was made.
    fn step(&mut self, step: &Step<G>);
    /// The game is over in this state, whose last tile brought so much.
    fn finish(&mut self, state: G::State, brought: u32);
    /// Changes the learning rate from now on.
    fn set_rate(&mut self, _: Value) {}
    /// How far off the network was in all updates so far.
    fn surprise(&self) -> Surprise {
        Surprise::default()
    }
}

/// Learns nothing: for evaluation.
#[derive(Clone, Copy, Debug)]
pub struct Watch;

impl<G: Game> Learner<G> for Watch {
    #[inline(always)]
    fn step(&mut self, _: &Step<G>) {}
    fn finish(&mut self, _: G::State, _brought: u32) {}
}

/// A game that is being played.
struct Episode<G: Game> {
    state: G::State,
    /// What its last tile brought.
    brought: u32,
    outcome: Outcome,
}

impl<G: Game> Episode<G> {
    #[inline(always)]
    fn start(game: &G, rng: &mut Rng) -> Self {
        let state = game.start(rng);
        Self {
            state,
            brought: 0,
            outcome: Outcome {
                score: game.score_of_start(state),
                ..Outcome::default()
            },
        }
    }

    /// A move and a new tile, or the end of the game.
    #[inline(always)]
    fn turn(
        &mut self,
        game: &G,
        policy: &mut impl Policy<G>,
        learner: &mut impl Learner<G>,
        rng: &mut Rng,
    ) -> Option<Outcome> {
        let Some(mut step) = policy.choose(game, self.state, rng) else {
            learner.finish(self.state, self.brought);
            self.outcome.largest = game.face(game.largest(self.state));
            return Some(self.outcome);
        };
        step.brought = self.brought;
        self.outcome.moves += 1;
        learner.step(&step);
        let (cell, arrival) = game.draw(step.after, rng);
        self.state = game.place(step.after, cell, arrival);
        self.brought = game.brings(arrival.tile);
        self.outcome.score += u64::from(step.reward) + u64::from(self.brought);
        None
    }
}

/// Plays one game to its end.
#[inline(always)]
pub fn play<G: Game>(
    game: &G,
    policy: &mut impl Policy<G>,
    learner: &mut impl Learner<G>,
    rng: &mut Rng,
) -> Outcome {
    let mut episode = Episode::start(game, rng);
    loop {
        if let Some(outcome) = episode.turn(game, policy, learner, rng) {
            return outcome;
        }
    }
}

/// Plays games in turn, a move in each, while `next` has numbers and luck for more of them: the same games as one after another.
/// What a policy will read in one game comes while it moves in the others.
#[inline(always)]
pub fn play_in_turn<G: Game, P: Policy<G>>(
    game: &G,
    policies: &mut [P],
    mut next: impl FnMut() -> Option<(u64, Rng)>,
    mut finished: impl FnMut(u64, Outcome),
) {
    let mut begin = |policy: &mut P| {
        next().map(|(number, mut rng)| {
            let episode = Episode::start(game, &mut rng);
            policy.look(game, episode.state);
            (number, rng, episode)
        })
    };
    let mut seats: Vec<_> = policies
        .iter_mut()
        .map_while(|policy| begin(policy).map(|begun| (policy, begun)))
        .collect();
    while !seats.is_empty() {
        seats.retain_mut(|(policy, (number, rng, episode))| {
            match episode.turn(game, *policy, &mut Watch, rng) {
                None => policy.look(game, episode.state),
                Some(outcome) => {
                    finished(*number, outcome);
                    match begin(policy) {
                        Some(begun) => (*number, *rng, *episode) = begun,
                        None => return false,
                    }
                }
            }
            true
        });
    }
}

/// Plays games side by side, a move in each, while `next` has numbers, luck and someone who watches for more of them. `choose` is asked
/// for all of them at once: the same games as one after another, if its answers do not depend on each other.
pub fn play_together<G: Game, L: Learner<G>>(
    game: &G,
    most: usize,
    mut choose: impl FnMut(&[G::State]) -> Vec<Option<Direction>>,
    mut next: impl FnMut() -> Option<(u64, Rng, L)>,
    mut finished: impl FnMut(u64, Outcome),
) {
    let mut begin = || {
        next().map(|(number, mut rng, learner)| {
            let episode = Episode::start(game, &mut rng);
            (number, rng, learner, episode)
        })
    };
    let mut seats: Vec<_> = std::iter::from_fn(&mut begin).take(most).collect();
    while !seats.is_empty() {
        let states: Vec<G::State> = seats.iter().map(|(.., episode)| episode.state).collect();
        let mut chosen = choose(&states).into_iter();
        seats.retain_mut(|seat| {
            let (number, rng, learner, episode) = seat;
            let mut told = Told(chosen.next().flatten());
            if let Some(outcome) = episode.turn(game, &mut told, learner, rng) {
                finished(*number, outcome);
                match begin() {
                    Some(begun) => *seat = begun,
                    None => return false,
                }
            }
            true
        });
    }
}

/// Makes the move it was told.
struct Told(Option<Direction>);

impl<G: Game> Policy<G> for Told {
    fn choose(&mut self, game: &G, state: G::State, _: &mut Rng) -> Option<Step<G>> {
        let direction = self.0?;
        let (after, reward) = game.slides(state).get(direction)?;
        Some(Step::new(state, (direction, after, reward), 0.0))
    }
}

/// What a network's value is a function of. Between one visited position and the next, a game earns
/// the `after` of the first and the `before` of the second.
pub trait Viewpoint<G: Game>: Send + Sync + 'static {
    /// The kind of position.
    type Position: Position;
    /// The kind of network that values it.
    type Network: Network;

    /// The value of what follows a slide, whose weights are in a lane of `cells`.
    fn worth(
        network: &Self::Network,
        game: &G,
        after: G::After,
        cells: Cells<'_, Self::Network>,
        lane: usize,
    ) -> Value;

    /// The position that a step visits.
    fn visited(step: &Step<G>) -> Visit<Self::Position>;

    /// The value of the visited position, which `step` may know already; `room` is for its indices.
    fn value(network: &Self::Network, step: &Step<G>, room: &mut Indices) -> Value;
}

/// A position on the path of a game, and the reward of its move on the side where it falls.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Visit<P> {
    /// The position.
    pub position: P,
    /// Earned on the way into the position.
    pub before: Value,
    /// Earned on the way out of it.
    pub after: Value,
}

/// V is a function of afterstates: a move is worth r + V(s').
#[derive(Clone, Copy, Debug)]
pub struct Afterstates<W>(PhantomData<W>);

impl<G: Game, W: Weight> Viewpoint<G> for Afterstates<W> {
    type Position = G::After;
    type Network = Tables<W>;

    #[inline(always)]
    fn worth(_: &Tables<W>, _: &G, _: G::After, cells: Cells<'_, Tables<W>>, lane: usize) -> Value {
        value(cells, lane)
    }

    #[inline(always)]
    fn visited(step: &Step<G>) -> Visit<G::After> {
        Visit {
            position: step.after,
            before: (step.brought + step.reward) as Value,
            after: 0.0,
        }
    }

    #[inline(always)]
    fn value(_: &Tables<W>, step: &Step<G>, _: &mut Indices) -> Value {
        step.value
    }
}

/// V is a function of states: a move is worth r + E[V(s'')] over every possible new tile.
#[derive(Clone, Copy, Debug)]
pub struct States<W>(PhantomData<W>);

impl<G: Game, W: Weight<Cell = Number>> Viewpoint<G> for States<W> {
    type Position = G::State;
    type Network = Expecting<W>;

    #[inline(always)]
    fn worth(
        network: &Expecting<W>,
        game: &G,
        after: G::After,
        cells: Cells<'_, Expecting<W>>,
        lane: usize,
    ) -> Value {
        network.expectation(cells, lane, game.entries(after).count_ones())
    }

    #[inline(always)]
    fn visited(step: &Step<G>) -> Visit<G::State> {
        Visit {
            position: step.state,
            before: step.brought as Value,
            after: step.reward as Value,
        }
    }

    #[inline(always)]
    fn value(network: &Expecting<W>, step: &Step<G>, room: &mut Indices) -> Value {
        network.find([step.state; 4], room);
        value(network.cells(room), 0)
    }
}

/// How equal moves are settled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ties {
    /// The first direction wins.
    Order,
    /// Each of them with the same chance.
    Random,
}

/// Picks the move with the largest reward plus value.
pub struct Greedy<'n, G: Game, V: Viewpoint<G>> {
    network: &'n V::Network,
    ties: Ties,
    /// The state looked at last, and what its slides lead to.
    seen: Option<(G::State, Slides<G::After>)>,
    /// Their weights, a lane for each direction.
    at: Indices,
}

impl<'n, G: Game, V: Viewpoint<G>> Greedy<'n, G, V> {
    /// A player by this network.
    pub fn new(network: &'n V::Network, ties: Ties) -> Self {
        Self {
            network,
            ties,
            seen: None,
            at: Indices::default(),
        }
    }
}

impl<G: Game, V: Viewpoint<G>> Greedy<'_, G, V> {
    /// The slides of a state, whose weights are asked for.
    #[inline(always)]
    fn see(&mut self, game: &G, state: G::State) -> Slides<G::After> {
        self.seen = None;
        let slides = game.slides(state);
        self.network.find(slides.afters(), &mut self.at);
        let cells = self.network.cells(&self.at);
        for (direction, ..) in slides.legal() {
            cells.prefetch(direction as usize);
        }
        slides
    }

    /// All moves that [`Policy::choose`] may choose, each with the same chance; none when the game is over.
    pub fn choices(&mut self, game: &G, state: G::State) -> impl Iterator<Item = Direction> {
        let slides = self.see(game, state);
        let cells = self.network.cells(&self.at);
        let total = |(direction, after, reward): (Direction, G::After, u32)| {
            let value = V::worth(self.network, game, after, cells, direction as usize);
            (direction, reward as Value + value)
        };
        let totals: Vec<(Direction, Value)> = slides.legal().map(total).collect();
        let best = totals.iter().map(|&(_, total)| total).reduce(Value::max);
        let most = match self.ties {
            Ties::Order => 1,
            Ties::Random => totals.len(),
        };
        let equals = totals.into_iter().filter(move |&(_, t)| Some(t) == best);
        equals.map(|(direction, _)| direction).take(most)
    }
}

impl<G: Game, V: Viewpoint<G>> Policy<G> for Greedy<'_, G, V> {
    #[inline(always)]
    fn look(&mut self, game: &G, state: G::State) {
        let slides = self.see(game, state);
        self.seen = Some((state, slides));
    }

    #[inline(always)]
    fn choose(&mut self, game: &G, state: G::State, rng: &mut Rng) -> Option<Step<G>> {
        let mut best: Option<Step<G>> = None;
        let mut best_total = Value::NEG_INFINITY;
        let mut equals = 1;
        let slides = match self.seen {
            Some((seen, slides)) if seen == state => slides,
            _ => self.see(game, state),
        };
        let cells = self.network.cells(&self.at);
        for (direction, after, reward) in slides.legal() {
            let value = V::worth(self.network, game, after, cells, direction as usize);
            let total = reward as Value + value;
            let wins = if best.is_none() {
                true
            } else if total == best_total && self.ties == Ties::Random {
                equals += 1;
                rng.below(equals) == 0
            } else {
                // A NaN beats nothing, and nothing beats it: the learner stops the run.
                total > best_total
            };
            if total > best_total {
                equals = 1;
            }
            if wins {
                best = Some(Step::new(state, (direction, after, reward), value));
                best_total = total;
            }
        }
        best
    }
}

/// Moves at random: the baseline of every table.
#[derive(Clone, Copy, Debug)]
pub struct Random;

impl<G: Game> Policy<G> for Random {
    fn choose(&mut self, game: &G, state: G::State, rng: &mut Rng) -> Option<Step<G>> {
        let slides = game.slides(state);
        let count = slides.legal().count() as u32;
        let pick = if count == 0 {
            return None;
        } else {
            rng.below(count) as usize
        };
        Some(Step::new(state, slides.legal().nth(pick)?, 0.0))
    }
}
