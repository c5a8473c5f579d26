//! Agents: a value function with its game and its policy, type-erased.
//!
//! An [`Agent`] plays, records and analyses; a [`StoredAgent`] is also written to and read from
//! files, and a [`TrainableAgent`] learns. The implementations are generic over game and network, so that no string
//! and no dynamic call remains inside values, updates or slides. Threads share agents: evaluation
//! and analysis may run while an agent trains.

mod baseline;
mod batch;
mod batched;
#[cfg(feature = "deep")]
pub(crate) mod deep;
mod explain;
mod external;
mod ntuple;
mod replay;
mod search;

use std::ops::Range;
use std::sync::Arc;

use afterstate::episode::{Episode, play_interleaved_from, play_on};
use afterstate::format::native::{Metadata, NativeError, StoredParts};
use afterstate::game::{ChanceState, Direction, Game, State};
use afterstate::learn::GameChain;
use afterstate::policy::Policy;
use afterstate::random::{Rng, game_rng};
use afterstate::replay::TrainingStats;
use afterstate::tally::{Outcome, Start, Tally};
use afterstate::value::{ActionValues, Decision};

pub use baseline::Baseline;
use batch::analyze_each;
pub use batch::{BoardBatch, BoardResults, BoardSlides, BoardValues, board_slides, board_values};
pub use explain::{Explanation, Successor};
pub use external::{ExternalKind, ExternalSpec, ExternalValues};
pub(crate) use ntuple::{analyze_states, ntuple_agent, reserve};
pub(crate) use replay::replay_agent;
pub(crate) use search::{ValueAgent, search_agent};

use crate::LabError;
use crate::disk::AtomicFile;
use crate::recorder::{Recorder, Sink, evaluation_rng};
use crate::search::SearchSpec;
use crate::share::{share, share_out};
use crate::spec::TdSpec;
use crate::tables::StoredTables;

/// The games of a round of play or training.
pub struct RoundSpec<'a> {
    /// Their numbers.
    pub numbers: Range<u64>,
    /// The seed of the run.
    pub seed: u64,
    /// How many threads play.
    pub threads: usize,
    /// Polled before each game: whether to stop.
    pub stop: &'a (dyn Fn() -> bool + Sync),
    /// Called after each game.
    pub on_game: &'a (dyn Fn(&Outcome) + Sync),
    /// A round of replay training also ends after this many iterations.
    pub max_iterations: u64,
    /// The same for updates.
    pub max_updates: u64,
    /// Called after each iteration of replay training, with the games that ended in it.
    pub on_iteration: &'a (dyn Fn(&TrainingStats, &[Outcome]) + Sync),
}

impl<'a> RoundSpec<'a> {
    /// A round that reports nothing and does not stop.
    pub fn new(numbers: Range<u64>, seed: u64, threads: usize) -> RoundSpec<'a> {
        RoundSpec {
            numbers,
            seed,
            threads,
            stop: &|| false,
            on_game: &|_| (),
            max_iterations: u64::MAX,
            max_updates: u64::MAX,
            on_iteration: &|_, _| (),
        }
    }
}

/// The results of a round of training.
pub struct RoundResult {
    /// The games, by number, without a gap.
    pub outcomes: Vec<Outcome>,
    /// The games that began in a given state: restarts, and those of a carousel.
    pub restarts: Tally,
    /// Whether every update was finite.
    pub finite: bool,
    /// The sums of replay training.
    pub stats: Option<TrainingStats>,
}

/// The weights of a table where they lie in memory, for programs in other languages: an array of
/// 32-bit floats with an axis for each cell of its pattern, which an agent keeps alive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WeightArray {
    /// The pattern, as in files.
    pub name: String,
    /// The address of the weight for empty cells.
    pub address: usize,
    /// The length of each axis.
    pub shape: Vec<usize>,
    /// For each axis, the distance in bytes of neighbours.
    pub strides: Vec<usize>,
}

/// A state of any game, as numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BoardState {
    /// The tile indices in row-major order.
    pub tiles: Vec<u8>,
    /// The chance state.
    pub chance_state: ChanceState,
}

/// A state of a game as numbers.
pub(crate) fn board_state<G: Game>(game: &G, state: State<G::Board>) -> BoardState {
    BoardState {
        tiles: (0..game.shape().cells()).map(|i| state.cell(i)).collect(),
        chance_state: game.chance_state(state),
    }
}

/// A move with which games start.
#[derive(Clone, Copy, Debug)]
pub struct FirstMove<'a> {
    /// The state before it.
    pub state: &'a BoardState,
    /// Its direction.
    pub direction: Direction,
}

/// An agent's analysis of a state.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StateAnalysis {
    /// The reward of each slide; `None` if it is illegal.
    pub rewards: [Option<u32>; 4],
    /// The value of each legal slide.
    pub values: ActionValues,
    /// The slide that the agent would make; `None` if the game is over.
    pub chosen: Option<Direction>,
}

impl StateAnalysis {
    /// The analysis of a state in which the game is over.
    pub const OVER: Self = Self {
        rewards: [None; 4],
        values: ActionValues::NONE,
        chosen: None,
    };

    /// Reward plus value of a slide; `None` if it is illegal, or the agent has no value of it.
    pub fn total(&self, direction: Direction) -> Option<f64> {
        let total = f64::from(self.values.get(direction)?.total);
        total.is_finite().then_some(total)
    }

    /// The largest total of all slides.
    pub fn best_total(&self) -> Option<f64> {
        let totals = Direction::ALL.into_iter();
        let totals = totals.filter_map(|direction| self.total(direction));
        totals.reduce(f64::max)
    }

    /// The largest total minus that of a slide.
    pub fn loss(&self, direction: Direction) -> Option<f64> {
        Some(self.best_total()? - self.total(direction)?)
    }

    /// The analysis of a decision.
    pub(crate) fn of<G: Game>(
        decision: &Decision<G>,
        values: ActionValues,
        chosen: Direction,
    ) -> Self {
        let reward = |direction| decision.slides().get(direction).map(|slide| slide.reward());
        Self {
            rewards: Direction::ALL.map(reward),
            values,
            chosen: Some(chosen),
        }
    }
}

/// Follows the analysis of a state.
pub struct SearchObserver<'a> {
    /// Polled during a search: whether to stop it.
    pub stop: &'a (dyn Fn() -> bool + Sync),
    /// Called after each complete ply of a search, with its number and what it has found.
    pub on_ply: &'a (dyn Fn(u8, &StateAnalysis) + Sync),
}

impl<'a> SearchObserver<'a> {
    /// Stops a search, and does not follow its plies.
    pub fn until(stop: &'a (dyn Fn() -> bool + Sync)) -> Self {
        Self {
            stop,
            on_ply: &|_, _| (),
        }
    }
}

/// A policy: maps tile indices in row-major order and a chance state to the moves it may choose,
/// each with the same probability; `None` if they are not a state of the game.
pub type PolicyFn<'a> = Box<dyn FnMut(&[u8], ChanceState) -> Option<Vec<Direction>> + Send + 'a>;

/// A type-erased value function with its game.
pub trait Agent: Send + Sync {
    /// How it chooses its moves, in one word: `1ply`, `random`.
    fn search(&self) -> &str {
        "1ply"
    }

    /// Whether its moves depend on the time that it has for them, and so on the machine.
    fn is_timed(&self) -> bool {
        false
    }

    /// The tile whose chance, in percent, its values are; `None` if they are points of the score.
    fn target(&self) -> Option<u8> {
        None
    }

    /// How many random numbers it takes for each move from the stream of the spawns, in a game of an
    /// evaluation; `None` if that depends on the values of moves, as with random ties.
    fn draws_per_move(&self) -> Option<u32> {
        Some(0)
    }

    /// Plays without learning, and passes a record of each game to the sink, if there is one.
    fn play(&self, round: &RoundSpec<'_>, sink: Option<Sink<'_>>) -> Vec<Outcome>;

    /// Plays on from a state without learning. Every game starts with the same move, and the random
    /// stream of game n starts with the spawn after it, so games with other first moves are paired
    /// by number. The score of an outcome counts from the first move on. `None` if the move is
    /// illegal, or the board is not a state of the game.
    fn play_from(&self, first: FirstMove<'_>, round: &RoundSpec<'_>) -> Option<Vec<Outcome>>;

    /// Analyses many states; `None` for a board that is not a state of the game.
    fn analyze(&self, boards: &[BoardState]) -> Vec<Option<StateAnalysis>>;

    /// The same; if `stop` returns true, the analyses of the last boards may be missing, and others
    /// may be those of a shallower search.
    fn analyze_many(
        &self,
        boards: &[BoardState],
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Vec<Option<StateAnalysis>> {
        match stop() {
            true => Vec::new(),
            false => self.analyze(boards),
        }
    }

    /// Evaluates many boards, or some of them if `stop` returns true; for use by [`board_values`].
    ///
    /// # Errors
    /// With the number of the first board that no game can reach.
    fn evaluate_boards(
        &self,
        boards: &BoardBatch<'_>,
        places: &mut BoardResults<'_>,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<(), usize> {
        analyze_each(self, boards, places, stop)
    }

    /// The weights of its tables where they lie in memory; none for an agent without tables.
    fn weights(&self) -> Vec<WeightArray> {
        Vec::new()
    }

    /// Analyses one state, ply by ply if it searches. `None` if it was told to stop before the end, or
    /// the board is not a state of the game.
    fn analyze_watched(
        &self,
        board: &BoardState,
        watch: &SearchObserver<'_>,
    ) -> Option<StateAnalysis> {
        let found = self.analyze(std::slice::from_ref(board)).pop().flatten();
        found.filter(|_| !(watch.stop)())
    }

    /// The same, without looking at single plies.
    fn analyze_until(
        &self,
        board: &BoardState,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Option<StateAnalysis> {
        self.analyze_watched(board, &SearchObserver::until(stop))
    }

    /// Its policy, as a function of boards; for use on one thread.
    fn policy_fn(&self) -> PolicyFn<'_>;

    /// The memory it takes, in bytes.
    fn bytes(&self) -> u64;

    /// An agent that searches over the values of this one.
    ///
    /// # Errors
    /// When it has no values, or the search does not fit its game.
    fn with_search(self: Arc<Self>, _: &SearchSpec) -> Result<Arc<dyn Agent>, LabError> {
        Err(LabError::NoSearch(self.search().to_owned()))
    }

    /// How the value of a slide is found: every lookup of the afterstate, or of the state before the
    /// slide for a network of states. `None` for an agent without tuples, for an illegal slide, and
    /// for a board that is not a state of the game.
    fn explain(&self, _: &BoardState, _: Direction) -> Option<Explanation> {
        None
    }

    /// The SHA-256 digest of its network and all weights; `None` for an agent without weights.
    fn digest(&self) -> Option<[u8; 32]> {
        None
    }
}

/// An agent that learns.
pub trait TrainableAgent: StoredAgent {
    /// Plays and learns. All games of a round are in the same phase of the learner.
    fn learn(&self, round: &RoundSpec<'_>, learner: &TdSpec) -> RoundResult;

    /// Repairs what concurrent updates may have lost; called between rounds.
    fn refresh(&self, _threads: usize) {}

    /// The board of the game that ended last, of an agent that learns from a replay buffer; without
    /// one, the board of its first environment.
    fn last_board(&self) -> Option<BoardState> {
        None
    }
}

/// An agent that is written to files and read from them.
pub trait StoredAgent: Agent {
    /// Whether a checkpoint is drafted during a round: see [`crate::run`].
    fn drafts(&self) -> bool {
        true
    }

    /// Writes it on `threads` threads to a temporary file, which the caller commits.
    ///
    /// # Errors
    /// When writing fails or a weight is not finite.
    fn write(
        &self,
        metadata: &Metadata,
        keep: StoredParts,
        output: &AtomicFile,
        threads: usize,
    ) -> Result<(), NativeError>;

    /// Fills a new agent.
    ///
    /// # Errors
    /// When the file does not hold this agent.
    fn read(&self, saved: &StoredTables, keep: StoredParts) -> Result<(), NativeError>;
}

/// Starts a game with its random stream.
pub(crate) type StartFn<'a, G> = dyn Fn(&mut Rng) -> Episode<G> + Sync + 'a;

/// Starts games with the initial tiles.
pub(crate) fn initial<G: Game>(game: &G) -> impl Fn(&mut Rng) -> Episode<G> + Sync {
    move |rng| Episode::start(game, rng)
}

/// Starts games with a given move; `None` if it is illegal.
pub(crate) fn with_first_move<'g, G: Game>(
    game: &'g G,
    first: FirstMove<'_>,
) -> Option<impl Fn(&mut Rng) -> Episode<G> + Sync + use<'g, G>> {
    let BoardState {
        tiles,
        chance_state,
    } = first.state;
    let state = game.state(tiles, *chance_state)?;
    let slide = game.slides(state).get(first.direction)?;
    let outcome = Outcome {
        start: Start::Given,
        ..Outcome::default()
    };
    Some(move |rng: &mut Rng| {
        let mut episode = Episode::in_progress(game, state, 0, outcome);
        episode.advance(game, slide, rng);
        episode
    })
}

/// Plays the games of an evaluation; each thread has its own policies.
pub(crate) fn play_games<G: Game, P: Policy<G>>(
    game: &G,
    round: &RoundSpec<'_>,
    policy: impl Fn() -> P + Sync,
    start: &StartFn<'_, G>,
    sink: Option<Sink<'_>>,
) -> Vec<Outcome> {
    let rng = |number| evaluation_rng(round.seed, number);
    let Some(sink) = sink else {
        return share_out(round.threads, round.numbers.clone(), round.stop, |next| {
            let mut played = Vec::new();
            play_interleaved_from(
                game,
                &mut [policy(), policy()],
                |_, rng| start(rng),
                || next().map(|number| (number, rng(number))),
                |number, outcome| {
                    (round.on_game)(&outcome);
                    played.push((number, outcome));
                },
            );
            played
        });
    };
    share(round.threads, round.numbers.clone(), round.stop, || {
        // Compiled once for each game, and not for each network: writing takes longer than
        // choosing.
        let mut policy: Box<dyn Policy<G> + '_> = Box::new(policy());
        move |number| {
            let mut recorder = recorder(game, sink, round.seed, number);
            let mut rng = rng(number);
            let episode = start(&mut rng);
            let outcome = play_on(game, episode, &mut policy, &mut recorder, &mut rng);
            (round.on_game)(&outcome);
            outcome
        }
    })
}

/// The recorder of a game of an evaluation.
fn recorder<'s, G: Game>(game: &G, sink: Sink<'s>, seed: u64, number: u64) -> Recorder<'s, G> {
    Recorder::new(*game, sink, seed, number)
}

/// Plays the games of a training round on threads, and those that follow from them; each thread has
/// its own player.
pub(crate) fn learn_games<G: Game, C: GameChain<G>>(
    game: &G,
    round: &RoundSpec<'_>,
    learner: &TdSpec,
    make: impl Fn() -> C + Sync,
) -> RoundResult {
    use std::sync::atomic::{AtomicBool, Ordering};
    let diverged = AtomicBool::new(false);
    let stop = || diverged.load(Ordering::Relaxed) || (round.stop)();
    let played = share(round.threads, round.numbers.clone(), stop, || {
        let mut chain = make();
        let diverged = &diverged;
        move |number| {
            let player = chain.player();
            player.set_learning_rate(learner.learning_rate.at(number));
            let mut whole = Outcome::default();
            let mut restarts = Tally::default();
            let mut rng = game_rng(round.seed, number);
            chain.play(game, &mut rng, |outcome| {
                match outcome.start {
                    Start::Initial => whole = outcome,
                    Start::Given => restarts.add(&outcome),
                }
                (round.on_game)(&outcome);
            });
            if !chain.player().td_errors().is_finite() {
                diverged.store(true, Ordering::Relaxed);
            }
            (whole, restarts)
        }
    });
    let mut result = RoundResult {
        outcomes: Vec::with_capacity(played.len()),
        restarts: Tally::default(),
        finite: !diverged.into_inner(),
        stats: None,
    };
    for (outcome, restarts) in played {
        result.outcomes.push(outcome);
        result.restarts.merge(&restarts);
    }
    result
}
