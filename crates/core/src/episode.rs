//! Episodes: the only code that makes and counts moves.
//!
//! An [`Episode`] is a game in progress. Everything that plays drives episodes: [`play`] plays one
//! game to its end, [`play_interleaved`] a few in turn, so that memory for one is fetched while the
//! others move, and [`play_batched`] many side by side, for value functions that are fast in
//! batches. The replay trainer ([`crate::replay`]) and the referee of the lab drive their own.

use crate::game::{Direction, Game, Slide, Spawn, State};
use crate::policy::Policy;
use crate::random::Rng;
use crate::tally::{Outcome, Start};
use crate::value::Decision;
use crate::{Value, game::After};

/// One move: the state, the slide, and their rewards.
#[derive(Clone, Copy, Debug)]
pub struct Step<G: Game> {
    /// The state before the slide.
    pub state: State<G::Board>,
    /// The slide.
    pub direction: Direction,
    /// The afterstate.
    pub after: After<G::Board>,
    /// The reward of the slide.
    pub reward: u32,
    /// The reward of the spawn that led to `state`: 0 in most games, and in the first step.
    pub spawn_reward: u32,
}

impl<G: Game> Step<G> {
    /// A slide of a decision. `spawn_reward` is the reward of the spawn before it.
    #[inline(always)]
    pub fn new(decision: &Decision<G>, slide: Slide<G::Board>, spawn_reward: u32) -> Self {
        Self {
            state: decision.state(),
            direction: slide.direction(),
            after: slide.after(),
            reward: slide.reward(),
            spawn_reward,
        }
    }
}

/// The sum of |delta| over all updates, which detects diverged weights: a NaN or infinite weight
/// makes the next delta that reads it, and so this sum, not finite.
#[derive(Clone, Copy, Debug, Default)]
pub struct TdErrorStats(f64);

impl TdErrorStats {
    /// Counts the error of an update.
    #[inline(always)]
    pub fn add(&mut self, delta: Value) {
        self.0 += f64::from(delta.abs());
    }

    /// The sum.
    pub fn total(&self) -> f64 {
        self.0
    }

    /// Whether every error so far was finite.
    pub fn is_finite(&self) -> bool {
        self.0.is_finite()
    }
}

/// Observes an episode and may learn from it.
pub trait Learner<G: Game> {
    /// Called after a slide and before its spawn.
    fn step(&mut self, step: &Step<G>);

    /// Called when the game is over in this state, with the reward of its last spawn.
    fn finish(&mut self, state: State<G::Board>, spawn_reward: u32);

    /// Changes the learning rate from now on.
    fn set_learning_rate(&mut self, _: Value) {}

    /// The errors of all updates so far.
    fn td_errors(&self) -> TdErrorStats {
        TdErrorStats::default()
    }
}

impl<G: Game, L: Learner<G> + ?Sized> Learner<G> for &mut L {
    #[inline(always)]
    fn step(&mut self, step: &Step<G>) {
        (**self).step(step);
    }

    #[inline(always)]
    fn finish(&mut self, state: State<G::Board>, spawn_reward: u32) {
        (**self).finish(state, spawn_reward);
    }

    fn set_learning_rate(&mut self, learning_rate: Value) {
        (**self).set_learning_rate(learning_rate);
    }

    fn td_errors(&self) -> TdErrorStats {
        (**self).td_errors()
    }
}

impl<G: Game, L: Learner<G> + ?Sized> Learner<G> for Box<L> {
    fn step(&mut self, step: &Step<G>) {
        (**self).step(step);
    }

    fn finish(&mut self, state: State<G::Board>, spawn_reward: u32) {
        (**self).finish(state, spawn_reward);
    }

    fn set_learning_rate(&mut self, learning_rate: Value) {
        (**self).set_learning_rate(learning_rate);
    }

    fn td_errors(&self) -> TdErrorStats {
        (**self).td_errors()
    }
}

/// Learns nothing: for evaluation.
#[derive(Clone, Copy, Debug)]
pub struct NoLearner;

impl<G: Game> Learner<G> for NoLearner {
    #[inline(always)]
    fn step(&mut self, _: &Step<G>) {}
    fn finish(&mut self, _: State<G::Board>, _: u32) {}
}

/// Makes the moves of an episode and learns from them: any [`Policy`] with any [`Learner`], as a
/// pair, or both in one, so that they can share what the choice has read
/// ([`OnPolicyForward`](crate::learn::OnPolicyForward)).
pub trait LearningPolicy<G: Game> {
    /// Chooses a slide and observes it. `spawn_reward` is the reward of the spawn before it.
    fn act(
        &mut self,
        game: &G,
        decision: &Decision<G>,
        spawn_reward: u32,
        rng: &mut Rng,
    ) -> Slide<G::Board>;

    /// Called when the game is over in this state, with the reward of its last spawn.
    fn finish(&mut self, state: State<G::Board>, spawn_reward: u32);

    /// Changes the learning rate from now on.
    fn set_learning_rate(&mut self, learning_rate: Value);

    /// The errors of all updates so far.
    fn td_errors(&self) -> TdErrorStats;
}

impl<G: Game, P: Policy<G>, L: Learner<G>> LearningPolicy<G> for (P, L) {
    #[inline(always)]
    fn act(
        &mut self,
        game: &G,
        decision: &Decision<G>,
        spawn_reward: u32,
        rng: &mut Rng,
    ) -> Slide<G::Board> {
        let slide = self.0.choose(game, decision, rng);
        self.1.step(&Step::new(decision, slide, spawn_reward));
        slide
    }

    #[inline(always)]
    fn finish(&mut self, state: State<G::Board>, spawn_reward: u32) {
        self.1.finish(state, spawn_reward);
    }

    fn set_learning_rate(&mut self, learning_rate: Value) {
        self.1.set_learning_rate(learning_rate);
    }

    fn td_errors(&self) -> TdErrorStats {
        self.1.td_errors()
    }
}

impl<G: Game, P: LearningPolicy<G> + ?Sized> LearningPolicy<G> for Box<P> {
    fn act(
        &mut self,
        game: &G,
        decision: &Decision<G>,
        spawn_reward: u32,
        rng: &mut Rng,
    ) -> Slide<G::Board> {
        (**self).act(game, decision, spawn_reward, rng)
    }

    fn finish(&mut self, state: State<G::Board>, spawn_reward: u32) {
        (**self).finish(state, spawn_reward);
    }

    fn set_learning_rate(&mut self, learning_rate: Value) {
        (**self).set_learning_rate(learning_rate);
    }

    fn td_errors(&self) -> TdErrorStats {
        (**self).td_errors()
    }
}

/// A game in progress.
#[derive(Clone, Debug)]
pub struct Episode<G: Game> {
    state: State<G::Board>,
    /// `None` once the game is over.
    decision: Option<Decision<G>>,
    /// The reward of the last spawn.
    spawn_reward: u32,
    outcome: Outcome,
}

impl<G: Game> Episode<G> {
    /// Starts a new game.
    #[inline(always)]
    pub fn start(game: &G, rng: &mut Rng) -> Self {
        Self::from_state(game, game.start(rng), Start::Initial)
    }

    /// Starts a game in a given state. Its outcome is marked, because its score is not that of a
    /// whole game.
    #[inline(always)]
    pub fn start_from(game: &G, state: State<G::Board>) -> Self {
        Self::from_state(game, state, Start::Given)
    }

    /// The same with a random spawn after a given afterstate.
    #[inline(always)]
    pub fn start_after(game: &G, after: After<G::Board>, rng: &mut Rng) -> Self {
        let (cell, spawn) = game.draw_spawn(after, rng);
        Self::start_from(game, game.place(after, cell, spawn))
    }

    #[inline(always)]
    fn from_state(game: &G, state: State<G::Board>, start: Start) -> Self {
        let outcome = Outcome {
            score: game.initial_score(state),
            start,
            ..Outcome::default()
        };
        // The initial score includes the rewards of all spawns so far.
        Self::in_progress(game, state, 0, outcome)
    }

    /// Continues a game that was interrupted in a state, with its outcome so far. `spawn_reward` is
    /// the reward of the spawn that led to the state: a learner has not seen it yet.
    #[inline(always)]
    pub fn in_progress(
        game: &G,
        state: State<G::Board>,
        spawn_reward: u32,
        outcome: Outcome,
    ) -> Self {
        Self {
            state,
            decision: Decision::new(game, state),
            spawn_reward,
            outcome,
        }
    }

    /// The state.
    #[inline(always)]
    pub fn state(&self) -> State<G::Board> {
        self.state
    }

    /// The decision to make, or `None` if the game is over.
    #[inline(always)]
    pub fn decision(&self) -> Option<&Decision<G>> {
        self.decision.as_ref()
    }

    /// The reward of the spawn that led to the state; 0 at the start.
    #[inline(always)]
    pub fn spawn_reward(&self) -> u32 {
        self.spawn_reward
    }

    /// The score and the moves so far; the largest tile is only set at the end.
    #[inline(always)]
    pub fn outcome(&self) -> Outcome {
        self.outcome
    }

    /// The outcome of a game that is over.
    #[inline(always)]
    pub fn finished(&self, game: &G) -> Option<Outcome> {
        self.decision.is_none().then(|| Outcome {
            largest: game.tile_value(game.max_tile(self.state)),
            ..self.outcome
        })
    }

    /// Makes a slide of the current decision, then a random spawn. Returns the sum of their
    /// rewards.
    #[inline(always)]
    pub fn advance(&mut self, game: &G, slide: Slide<G::Board>, rng: &mut Rng) -> u32 {
        let drawn = game.draw_spawn(slide.after(), rng);
        self.advance_by(game, slide, drawn)
    }

    /// The same with the cell and the tile of a spawn that was drawn elsewhere.
    #[inline(always)]
    pub fn advance_by(
        &mut self,
        game: &G,
        slide: Slide<G::Board>,
        (cell, spawn): (usize, Spawn),
    ) -> u32 {
        debug_assert!(
            self.decision
                .is_some_and(|decision| decision.slides().get(slide.direction()) == Some(slide)),
            "the slide belongs to another decision"
        );
        self.state = game.place(slide.after(), cell, spawn);
        self.spawn_reward = game.spawn_reward(spawn.tile);
        self.decision = Decision::new(game, self.state);
        let earned = slide.reward() + self.spawn_reward;
        self.outcome.moves += 1;
        self.outcome.score += u64::from(earned);
        earned
    }

    /// Makes a move and a spawn. Returns the outcome if the game is over after them.
    #[inline(always)]
    fn turn(
        &mut self,
        game: &G,
        player: &mut impl LearningPolicy<G>,
        rng: &mut Rng,
    ) -> Option<Outcome> {
        if let Some(decision) = &self.decision {
            let slide = player.act(game, decision, self.spawn_reward, rng);
            self.advance(game, slide, rng);
        }
        let outcome = self.finished(game)?;
        player.finish(self.state, self.spawn_reward);
        Some(outcome)
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
    play_as(game, &mut (policy, learner), rng)
}

/// Plays one game to its end with a player.
#[inline(always)]
pub fn play_as<G: Game>(game: &G, player: &mut impl LearningPolicy<G>, rng: &mut Rng) -> Outcome {
    play_to_end(game, Episode::start(game, rng), player, rng)
}

/// Plays a game from its current state to its end.
#[inline(always)]
pub fn play_on<G: Game>(
    game: &G,
    episode: Episode<G>,
    policy: &mut impl Policy<G>,
    learner: &mut impl Learner<G>,
    rng: &mut Rng,
) -> Outcome {
    play_to_end(game, episode, &mut (policy, learner), rng)
}

#[inline(always)]
pub(crate) fn play_to_end<G: Game>(
    game: &G,
    mut episode: Episode<G>,
    player: &mut impl LearningPolicy<G>,
    rng: &mut Rng,
) -> Outcome {
    loop {
        if let Some(outcome) = episode.turn(game, player, rng) {
            return outcome;
        }
    }
}

/// Plays games in turn, one move in each, until `next` yields no further (number, RNG): the same
/// games as one after another. Memory that a policy will read for one game is fetched while the
/// others move.
#[inline(always)]
pub fn play_interleaved<G: Game, P: Policy<G>>(
    game: &G,
    policies: &mut [P],
    next: impl FnMut() -> Option<(u64, Rng)>,
    finished: impl FnMut(u64, Outcome),
) {
    let start = |_, rng: &mut Rng| Episode::start(game, rng);
    play_interleaved_from(game, policies, start, next, finished);
}

/// The same with a source of starts: `start` returns the episode of a game number.
#[inline(always)]
pub fn play_interleaved_from<G: Game, P: Policy<G>>(
    game: &G,
    policies: &mut [P],
    mut start: impl FnMut(u64, &mut Rng) -> Episode<G>,
    mut next: impl FnMut() -> Option<(u64, Rng)>,
    mut finished: impl FnMut(u64, Outcome),
) {
    let look = |policy: &mut P, episode: &Episode<G>| {
        if let Some(decision) = &episode.decision {
            policy.look(game, decision);
        }
    };
    let mut begin = |policy: &mut P| {
        next().map(|(number, mut rng)| {
            let episode = start(number, &mut rng);
            look(policy, &episode);
            (number, rng, episode)
        })
    };
    let mut running: Vec<_> = policies
        .iter_mut()
        .map_while(|policy| begin(policy).map(|begun| (policy, begun)))
        .collect();
    while !running.is_empty() {
        running.retain_mut(|(policy, (number, rng, episode))| {
            match episode.turn(game, &mut (&mut **policy, NoLearner), rng) {
                None => look(policy, episode),
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

/// Plays up to `most` games side by side, one move in each, until `next` yields no further (number,
/// RNG, learner). `choose` gets all decisions at once. These are the same games as one after
/// another, if its answers do not depend on each other.
pub fn play_batched<G: Game, L: Learner<G>>(
    game: &G,
    most: usize,
    choose: impl FnMut(&[Decision<G>]) -> Vec<Slide<G::Board>>,
    next: impl FnMut() -> Option<(u64, Rng, L)>,
    finished: impl FnMut(u64, Outcome),
) {
    let start = |_, rng: &mut Rng| Episode::start(game, rng);
    play_batched_from(game, most, start, choose, next, finished);
}

/// The same with a source of starts: `start` returns the episode of a game number.
pub fn play_batched_from<G: Game, L: Learner<G>>(
    game: &G,
    most: usize,
    mut start: impl FnMut(u64, &mut Rng) -> Episode<G>,
    mut choose: impl FnMut(&[Decision<G>]) -> Vec<Slide<G::Board>>,
    mut next: impl FnMut() -> Option<(u64, Rng, L)>,
    mut finished: impl FnMut(u64, Outcome),
) {
    let mut begin = || {
        next().map(|(number, mut rng, learner)| {
            let episode = start(number, &mut rng);
            (number, rng, learner, episode)
        })
    };
    let mut running: Vec<_> = std::iter::from_fn(&mut begin).take(most).collect();
    while !running.is_empty() {
        let decisions: Vec<Decision<G>> = running
            .iter()
            .filter_map(|(.., episode)| episode.decision)
            .collect();
        // Given starts may all be over.
        let chosen = match decisions.is_empty() {
            true => Vec::new(),
            false => choose(&decisions),
        };
        assert_eq!(chosen.len(), decisions.len(), "a slide for each decision");
        let mut chosen = chosen.into_iter();
        running.retain_mut(|game_in_progress| {
            let (number, rng, learner, episode) = game_in_progress;
            let fixed = FixedMove(episode.decision.and_then(|_| chosen.next()));
            if let Some(outcome) = episode.turn(game, &mut (fixed, learner), rng) {
                finished(*number, outcome);
                match begin() {
                    Some(begun) => *game_in_progress = begun,
                    None => return false,
                }
            }
            true
        });
    }
}

/// A policy that makes a slide chosen in advance.
struct FixedMove<B>(Option<Slide<B>>);

impl<G: Game> Policy<G> for FixedMove<G::Board> {
    fn choose(&mut self, _: &G, _: &Decision<G>, _: &mut Rng) -> Slide<G::Board> {
        self.0.expect("a slide was chosen for this decision")
    }
}
